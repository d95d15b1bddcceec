"""Instances of tensor subclasses: around the memory of a tensor, or with a declared geometry and no memory.

Note [Wrapper subclasses]
    A wrapper subclass shows shape, strides, dtype, device and layout as they were declared, and has
    the keys that go with them, so that autograd, autocast and transforms treat it as a tensor of that kind.  It
    has no memory: every operator ends in its class's ``__torch_dispatch__``, which knows what is inside.
"""

from __future__ import annotations

import weakref
from typing import Any

from minitorch.core.device import default_device
from minitorch.core.device import device as device_class
from minitorch.core.dtype import get_default_dtype
from minitorch.core.layout import strided
from minitorch.core.memory_format import contiguous_format, format_strides
from minitorch.core.meta_array import MetaArray
from minitorch.dispatch.keys import BACKEND_MASK, FUNCTIONALITY_MASK, PYTHON_KEYS, parse_key
from minitorch.dispatch.local_state import current
from minitorch.dispatch.namespace import OpOverload, overload_of
from minitorch.dispatch.tensor_keys import inference_keys, python_keys, tensor_keys
from minitorch.tensor.base import TensorBase

_FUNCTIONALITY_OF_LAYOUT = {
    "sparse_coo": "Sparse",
    "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsr", "sparse_bsr": "SparseCsr", "sparse_bsc": "SparseCsr",
    "jagged": "NestedTensor",
}  # fmt: skip
_POLICIES = (None, "strides", "sizes")


class DeclaredArray(MetaArray):
    """The handle of a wrapper subclass: a declared geometry (Note [Wrapper subclasses]).

    Attributes
    ----------
    declared_device : device
    declared_layout : layout
    """

    __slots__ = ("declared_device", "declared_layout")

    # NumPy must refuse a wrapper that reaches a kernel by mistake, not take it for an object.
    __array_ufunc__ = None

    def __init__(self, shape: Any, dtype: Any, strides: Any, offset: Any, storage_size: Any, device: Any, layout: Any):
        super().__init__(shape, dtype, strides, offset, storage_size)
        self.declared_device = device
        self.declared_layout = layout

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise _without_memory(self.shape)


def _without_memory(shape: Any) -> RuntimeError:
    return RuntimeError(
        f"Cannot access the memory of a wrapper subclass (of shape {list(shape)}): it has none. Read what the wrapper holds, or "
        "let its __torch_dispatch__ handle the operator."
    )


class AskingArray(MetaArray):
    """The handle of a wrapper subclass that is asked for its geometry, each time, by ``__torch_dispatch__``."""

    __slots__ = ("_asks_device", "_asks_layout", "_declared", "_policy", "_tensor")

    __array_ufunc__ = None

    def __init__(self, declared: DeclaredArray, tensor: Any, policy: str | None, asks_device: bool, asks_layout: bool):
        self._declared = declared
        self._tensor = weakref.ref(tensor)
        self._policy = policy
        self._asks_device = asks_device
        self._asks_layout = asks_layout
        self.dtype = declared.dtype
        self._storage_size = declared.storage_size

    def _ask(self, name: str) -> Any:
        tensor: Any = self._tensor()
        cls: Any = type(tensor)
        result = cls.__torch_dispatch__(_operator(name), (cls,), (tensor,), {})
        if result is NotImplemented:
            raise TypeError(
                f"Multiple dispatch failed for '{name}'; {cls.__name__}.__torch_dispatch__ returned NotImplemented, but the "
                "tensor was made to be asked for it: answer there, or leave the dispatch policy away"
            )
        return result

    @property
    def shape(self) -> tuple:  # type: ignore[override]
        return tuple(self._ask("aten::sym_size")) if self._policy == "sizes" else self._declared.shape

    @property
    def ndim(self) -> int:
        return self._ask("aten::dim") if self._policy == "sizes" else self._declared.ndim

    @property
    def size(self) -> int:
        return self._ask("aten::sym_numel") if self._policy == "sizes" else self._declared.size

    @property
    def strides(self) -> tuple:  # type: ignore[override]
        if self._policy is None:
            return self._declared.strides
        return tuple([step * self.dtype.itemsize for step in self._ask("aten::sym_stride")])

    @property
    def offset(self) -> int:  # type: ignore[override]
        if self._policy != "sizes":
            return self._declared.offset
        return self._ask("aten::sym_storage_offset") * self.dtype.itemsize

    @property
    def declared_device(self) -> Any:
        return self._ask("prim::device") if self._asks_device else self._declared.declared_device

    @property
    def declared_layout(self) -> Any:
        return self._ask("prim::layout") if self._asks_layout else self._declared.declared_layout

    def is_contiguous(self, memory_format: Any) -> bool | None:
        """Return the class's answer; None where it is not asked."""
        if self._policy is None:
            return None
        if memory_format is contiguous_format:
            return bool(self._ask("aten::is_contiguous"))
        tensor: Any = self._tensor()
        cls: Any = type(tensor)
        operator = _operator("aten::is_contiguous.memory_format")
        return bool(cls.__torch_dispatch__(operator, (cls,), (tensor, memory_format), {}))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise _without_memory(self._declared.shape)


def _operator(name: str) -> OpOverload:
    return overload_of(name)


def class_keys(cls: type, keys: int) -> int:
    """Return the key set of an instance of `cls`: the Python keys go with ``__torch_dispatch__``."""
    if not defines_dispatch(cls):
        return keys & ~PYTHON_KEYS
    return python_keys(keys)


def defines_dispatch(cls: type) -> bool:
    """Return whether a class handles operators itself."""
    handler = getattr(cls, "__torch_dispatch__", None)
    return handler is not None and getattr(handler, "__func__", handler) is not _disabled_torch_dispatch


def _disabled_torch_dispatch(cls: type, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
    """Stand for ``__torch_dispatch__`` in classes that do not want it: they are as tensors without it."""
    return func(*args, **(kwargs or {}))


disabled_torch_dispatch_impl = classmethod(_disabled_torch_dispatch)


def is_wrapper_subclass(tensor: Any) -> bool:
    """Return whether a tensor has a declared geometry and no memory (Note [Wrapper subclasses])."""
    return isinstance(tensor.handle, (DeclaredArray, AskingArray))


def is_traceable_wrapper_subclass(value: Any) -> bool:
    """Return whether a value is a tensor, or a class of tensors, that says which tensors it is made of.

    Such classes define ``__tensor_flatten__`` and ``__tensor_unflatten__``.
    """
    cls = value if isinstance(value, type) else type(value)
    return (
        issubclass(cls, TensorBase) and defines_dispatch(cls)
        and hasattr(cls, "__tensor_flatten__") and hasattr(cls, "__tensor_unflatten__")
    )  # fmt: skip


def make_subclass(cls: Any, data: TensorBase, require_grad: bool = False, *, device_for_backend_keys: Any = None) -> Any:
    """Return an instance of `cls` that shows the memory of `data`, without its history.

    Parameters
    ----------
    cls : type
        A subclass of `Tensor`.
    data : Tensor
    require_grad : bool
    device_for_backend_keys : device, optional
        Calls are dispatched as those on tensors of this device, whatever memory `data` is in.

    Raises
    ------
    TypeError
        If `cls` is no subclass of `Tensor`, or `data` no tensor.
    RuntimeError
        If a gradient is asked for, and the dtype has none.
    """
    if not (isinstance(cls, type) and issubclass(cls, TensorBase)):
        raise TypeError(f"_make_subclass: cls must be a subclass of Tensor, but is {cls!r}")
    if not isinstance(data, TensorBase):
        raise TypeError(f"_make_subclass(): argument 'data' must be Tensor, not {type(data).__name__}")
    source: Any = data
    keys = source.key_set
    if device_for_backend_keys is not None:
        backend = parse_key(device_class(device_for_backend_keys).key_name).bits & BACKEND_MASK
        keys = keys & FUNCTIONALITY_MASK | backend
    result: Any = TensorBase.__new__(cls)
    result.handle, result.key_set = source.handle, class_keys(cls, keys)
    result.storage_cell, result.version_counter = source.storage_of(), source.version_counter
    result.tracked = True
    if require_grad:
        _ask_for_gradient(result)
    return result


def _ask_for_gradient(tensor: Any) -> None:
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        raise RuntimeError(f"Only Tensors of floating point and complex dtype can require gradients, and not {tensor.dtype}")
    tensor.requires_grad_flag = True


def make_wrapper_subclass(
    cls: Any,
    size: Any,
    strides: Any = None,
    storage_offset: Any = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    storage_size: Any = None,
) -> Any:
    """Return an instance of a wrapper subclass: a declared geometry without memory (Note [Wrapper subclasses]).

    Parameters
    ----------
    cls : type
        A subclass of `Tensor` that defines ``__torch_dispatch__``.
    size : sequence of int
    strides : sequence of int, optional
        In elements; those of `memory_format`, or row-major, when omitted.
    storage_offset : int, optional
        In elements.
    memory_format, dtype, layout, device
        What the tensor says of itself; PyTorch's defaults when omitted.
    pin_memory : bool
        Accepted, and of no consequence: there is no memory.
    requires_grad : bool
    dispatch_sizes_strides_policy : {None, "strides", "sizes"}
        Whether strides, or sizes too, are asked of ``__torch_dispatch__`` each time.
    dispatch_device, dispatch_layout : bool
        Whether the device and the layout are.
    storage_size : int, optional
        Bytes of the storage that it claims; the extent when omitted.

    Raises
    ------
    TypeError
        If `cls` defines no ``__torch_dispatch__``.
    ValueError
        For another policy.
    RuntimeError
        If a gradient is asked for, and the dtype has none.

    Examples
    --------
    >>> class Described(minitorch.Tensor):
    ...     @classmethod
    ...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
    ...         return NotImplemented
    >>> x = minitorch.Tensor._make_wrapper_subclass(Described, (2, 3), dtype=minitorch.int8, device="meta")
    >>> x.shape, x.dtype, x.device
    (torch.Size([2, 3]), torch.int8, device(type='meta'))
    """
    if not (isinstance(cls, type) and issubclass(cls, TensorBase)):
        raise TypeError(f"_make_wrapper_subclass: cls must be a subclass of Tensor, but is {cls!r}")
    if not defines_dispatch(cls):
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__: without memory, nothing else can run its operators")
    if dispatch_sizes_strides_policy not in _POLICIES:
        raise ValueError(f"Unknown sizes_strides_policy: {dispatch_sizes_strides_policy}; expected 'strides' or 'sizes'")
    dtype = get_default_dtype() if dtype is None else dtype
    device = default_device() if device is None else device_class(device)
    shape = tuple(size)
    itemsize = dtype.np.itemsize
    if strides is not None:
        if len(strides) != len(shape):
            raise RuntimeError(
                f"_make_wrapper_subclass: mismatch in length of strides and shape: {len(strides)} and {len(shape)}"
            )
        steps: Any = tuple([step * itemsize for step in strides])
    elif memory_format is not None and memory_format is not contiguous_format:
        steps = format_strides(shape, itemsize, memory_format)
    else:
        steps = None
    offset = (storage_offset or 0) * itemsize
    handle = DeclaredArray(shape, dtype.np, steps, offset, storage_size, device, layout)
    keys = tensor_keys(_FUNCTIONALITY_OF_LAYOUT.get(layout.name, "Dense"), device.key_name)
    result: Any = TensorBase.__new__(cls)
    result.handle = handle
    result.key_set = python_keys(inference_keys(keys) if current().inference_mode else keys)
    result.tracked = True
    if dispatch_sizes_strides_policy is not None or dispatch_device or dispatch_layout:
        result.handle = AskingArray(handle, result, dispatch_sizes_strides_policy, dispatch_device, dispatch_layout)
    if requires_grad:
        _ask_for_gradient(result)
    return result
