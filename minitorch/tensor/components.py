"""Tensors whose elements are in other tensors: sparse and quantized ones.

Note [Components]
    The handle of such a tensor is a `ComponentHandle`: it has the shape and the dtype that are shown, and holds the
    tensors that the elements are made of (indices and values; integers and scales), its *components*.  They are ordinary
    tensors of the same device, without history: autograd knows of the whole tensor alone.  A kernel at the tensor's own key
    (SparseCPU, ...) takes the components, computes with dense operators, which find the device by themselves, and puts the
    result together.  So a kernel is written once for all devices, and one for a device (SciPy's products) stands in front
    of it.

    What makes such tensors is imported when the first one is made (`load_kernels`).
"""

from __future__ import annotations

import threading
from functools import partial
from importlib import import_module
from typing import Any

from minitorch.core.layout import strided
from minitorch.core.meta_array import Geometry, contiguous_strides
from minitorch.dispatch.keys import BACKEND_MASK, BACKENDS
from minitorch.dispatch.local_state import current
from minitorch.dispatch.namespace import namespace_loaders
from minitorch.dispatch.tensor_keys import inference_keys, tensor_keys
from minitorch.tensor.base import TensorBase, new_tensor

# Functionality -> the module that registers its kernels, by ``register()``.
_MODULES = {
    "Sparse": "minitorch.sparse.registration",
    "SparseCsr": "minitorch.sparse.registration",
    "Quantized": "minitorch.quantized.registration",
}
_loaded: set[str] = set()
_lock = threading.RLock()
_keys: dict[tuple[str, int], tuple[int, int]] = {}


class ComponentHandle(Geometry):
    """The handle of a tensor whose elements are in other tensors (Note [Components]).

    Attributes
    ----------
    functionality : str
        ``"Sparse"``, ``"SparseCsr"`` or ``"Quantized"``.
    declared_layout : layout
    """

    __slots__ = ("__weakref__",)

    functionality = ""
    declared_layout: Any = strided
    # NumPy must refuse it where it reaches a kernel by mistake, not take it for an object.
    __array_ufunc__ = None

    def components(self) -> tuple:
        """Return the tensors that the elements are made of."""
        raise NotImplementedError

    def with_components(self, components: tuple) -> ComponentHandle:
        """Return the handle of the same geometry with other components."""
        raise NotImplementedError

    def tensor(self) -> Any:
        """Return a new tensor around the handle."""
        return tensor_of(self)

    def memory_tensor(self) -> Any:
        """Return the component whose memory is that of the whole tensor, where there is such a one."""
        raise NotImplementedError(f"Cannot access storage of a {self.declared_layout} tensor: it is in several tensors")

    @property
    def strides(self) -> tuple:
        """Steps in bytes; of what has none, the row-major ones of its shape."""
        return contiguous_strides(tuple(self.shape), self.itemsize)

    @property
    def declared_device(self) -> Any:
        return self.components()[-1].device

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(f"a {self.declared_layout} tensor has no memory that NumPy could read: use to_dense() or dequantize()")


def load_kernels(functionality: str) -> None:
    """Register the kernels of a functionality, at its first use."""
    module = _MODULES[functionality]
    if module in _loaded:
        return
    with _lock:  # another thread may be at it
        if module not in _loaded:
            import_module(module).register()
            _loaded.add(module)


namespace_loaders["quantized"] = partial(load_kernels, "Quantized")


def tensor_of(handle: ComponentHandle) -> Any:
    """Return a tensor around a handle, with the key set that goes with it and with its components' device."""
    load_kernels(handle.functionality)
    backend = (handle.components()[-1].key_set & BACKEND_MASK).bit_length() - 1
    found = _keys.get((handle.functionality, backend))
    if found is None:
        keys = tensor_keys(handle.functionality, BACKENDS[backend])
        found = _keys[handle.functionality, backend] = keys, inference_keys(keys)
    return new_tensor(handle, found[1] if current().inference_mode else found[0])


def rebuild_of_components(handle: ComponentHandle) -> Any:
    """Return a tensor around a handle that was pickled."""
    return handle.tensor()


def has_components(value: Any) -> bool:
    """Return whether a value is a tensor that is made of other tensors."""
    return isinstance(value, TensorBase) and isinstance(value.handle, ComponentHandle)
