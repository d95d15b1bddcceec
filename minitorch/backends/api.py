"""`Backend`: what a device's author writes.  `register_backend` does the rest.

Note [What a backend must have]
    ``array_type`` and seven methods: `nbytes`, `offset`, `strided`, `allocate`, `from_host`, `to_host` and `copy_`.  With
    them every operator runs on the device: views, factories and copies are made of these, and what has no kernel
    runs on the CPU (`fallback`).  All else is for speed, or for devices of which there are several.

Note [Handles of a backend]
    What a tensor holds; its class is `array_type`.  It has NumPy's ``shape``, ``strides`` (in bytes), ``dtype`` (a
    ``numpy.dtype``), ``ndim``, ``size``, ``itemsize`` and ``nbytes``.  Nothing else is asked of it: in particular it
    needs no arithmetic, and need not be convertible to a NumPy array.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from minitorch.backends.generators import HostGenerator
from minitorch.core.device import device as device_class
from minitorch.core.generator import LATEST_SEED, Generator
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, AUTOGRAD_KEYS, BACKENDS
from minitorch.dispatch.local_state import current
from minitorch.dispatch.tensor_keys import tensor_keys
from minitorch.tensor.base import TensorBase, make_storage, new_tensor
from minitorch.tensor.memory import Memory

_NORMAL_KEYS = AD_INPLACE_OR_VIEW | AUTOGRAD_KEYS
_BYTE = np.dtype(np.uint8)


def extent(shape: Any, strides: Any, itemsize: int) -> int:
    """Return the bytes from the first element to the end of the last; strides in bytes, none negative."""
    if 0 in shape:
        return 0
    return sum([(n - 1) * step for n, step in zip(shape, strides, strict=True)]) + itemsize


class Backend(Memory):
    """A device: its memory, copies, random numbers and kernels.  Sub-class it, and `register_backend` an instance.

    Attributes
    ----------
    array_type : type
        The class of the handles (Note [Handles of a backend]).
    namespace : module or object, optional
        A NumPy-like namespace of functions of handles; `bind_array_kernels` makes kernels of it.
    namespace_writes : bool
        Whether its ufuncs write into a third operand: ``xp.add(x, y, x)``.
    to_host_shares : bool
        False says that `to_host` always returns memory that nobody else holds, which saves a copy.
    autocast_dtypes : tuple of dtype
        What ``autocast`` may compute in on this device.
    generator_type : type
        The class of its generators.
    device_functions : dict of str to callable
        Further functions of the device module: ``{"memory_allocated": ...}``.
    name, key : str
        The device type and the backend key; set by `register_backend`.

    Notes
    -----
    What a sub-class must define is in Note [What a backend must have].
    """

    array_type: Any = None
    namespace: Any = None
    namespace_writes = False
    to_host_shares = True
    autocast_dtypes: tuple = ()
    generator_type: type[Generator] = HostGenerator
    device_functions: dict[str, Callable] = {}
    name = ""
    key = ""

    # What `register_backend` sets: the key set of the tensors, and the bit of the backend in it.
    key_set = 0
    backend_bit = 0

    def _missing(self, signature: str, purpose: str) -> NotImplementedError:
        kind = type(self)
        return NotImplementedError(
            f"the backend {self.name or kind.__name__!r} has no method {signature}; {purpose} needs it. "
            f"Define it in {kind.__module__}.{kind.__qualname__}."
        )

    @cached_property
    def several(self) -> bool:
        """Whether there are several devices, so that each call must be told which it is for."""
        return self.device_count() > 1

    # -- memory ------------------------------------------------------------------------

    def device_of(self, handle: Any) -> device_class:
        """Return the device of a handle: number ``handle.device_index`` unless overridden, 0 where it has none."""
        return device_class(self.name, getattr(handle, "device_index", 0))

    def nbytes(self, root: Any) -> int:
        """Return the size in bytes of the storage that `root`, a handle, owns."""
        raise self._missing("nbytes(root)", "the size of a storage")

    def offset(self, root: Any, handle: Any) -> int:
        """Return the bytes from the start of the storage of `root` to the first element of `handle`."""
        raise self._missing("offset(root, handle)", "every view")

    def strided(self, root: Any, shape: tuple, strides: tuple, offset: int, dtype: Any) -> Any:
        """Return a handle that shows the storage of `root`: no copy.  Strides and offset are bytes, and checked."""
        raise self._missing("strided(root, shape, strides, offset, dtype)", "every view")

    def address(self, handle: Any) -> int:
        """Return a number that tells the first element of this handle from those of others; 0 for none."""
        return id(handle)

    def allocate(self, nbytes: int) -> Any:
        """Return a handle of `nbytes` new bytes (dtype uint8, one dimension) on the current device."""
        raise self._missing("allocate(nbytes)", "every operator that makes a new tensor")

    def allocate_beside(self, root: Any, nbytes: int) -> Any:
        """Return what `allocate` does, on the device of `root`."""
        with self.on_device(self.device_of(root).index or 0):
            return self.allocate(nbytes)

    # -- copies ------------------------------------------------------------------------

    def from_host(self, array: np.ndarray, index: int) -> Any:
        """Return a handle of new memory on device `index`, of the elements of a row-major NumPy array."""
        raise self._missing("from_host(array, index)", "a copy to the device")

    def to_host(self, handle: Any) -> np.ndarray:
        """Return the elements as a NumPy array, new or shared with the device; waits until they are computed."""
        raise self._missing("to_host(handle)", "a copy from the device, and printing")

    def copy_(self, target: Any, source: Any) -> None:
        """Copy `source` into `target`: equal shapes, any strides, `source` may be expanded.

        Dtypes may differ; raise `NoKernel` for those that this cannot convert: the CPU does it then.
        """
        raise self._missing("copy_(target, source)", "a copy within the device, and every in-place operator")

    def finish(self, array: Any) -> Any:
        """Return a kernel's result in its final form, before a tensor is made of it."""
        return array

    # -- devices -----------------------------------------------------------------------

    def device_count(self) -> int:
        """Return how many devices there are."""
        return 1

    def is_available(self) -> bool:
        """Return whether there is a device."""
        return self.device_count() > 0

    def current_device(self) -> int:
        """Return the number of the device that new tensors of this thread are on."""
        return getattr(self._local, "index", 0)

    def set_device(self, index: int) -> None:
        """Set `current_device` in this thread."""
        self.check_index(index)
        self._local.index = index

    def exchange_device(self, index: int) -> int:
        """Do what `set_device` does, and return the number before; a negative number changes nothing."""
        before = self.current_device()
        if index >= 0 and index != before:
            self.set_device(index)
        return before

    def synchronize(self, index: int | None = None) -> None:
        """Wait until everything that was begun on a device (None: the current one) is done."""

    def check_index(self, index: int) -> None:
        """Raise RuntimeError unless there is a device of this number."""
        count = self.device_count()
        if not 0 <= index < count:
            raise RuntimeError(
                f"invalid device ordinal: {self.name}:{index} was asked for, and there "
                f"{'is one device' if count == 1 else f'are {count} devices'} of type {self.name}"
            )

    def index_of(self, device: Any) -> int:
        """Return the number that a device, its name, a number or None (the current one) stands for."""
        if isinstance(device, str):
            device = device_class(device)
        if isinstance(device, device_class):
            if device.type != self.name:
                raise ValueError(f"expected a device of type {self.name}, but got {device}")
            device = device.index
        if device is None:
            return self.current_device()
        self.check_index(device)
        return device

    @contextmanager
    def on_device(self, index: int) -> Iterator[None]:
        """Scope: `current_device` is `index`."""
        before = self.exchange_device(index)
        try:
            yield
        finally:
            self.exchange_device(before)

    @property
    def _local(self) -> Any:
        found = self.__dict__.get("_thread_local")
        if found is None:
            found = self.__dict__.setdefault("_thread_local", threading.local())
        return found

    # -- random numbers ----------------------------------------------------------------

    def new_generator(self, index: int) -> Generator:
        """Return a new generator of device `index`."""
        return self.generator_type(device_class(self.name, index))

    def default_generator(self, index: int | None = None) -> Generator:
        """Return the generator of draws on a device (None: the current one) that name none."""
        index = self.index_of(index)
        generators = self.__dict__.setdefault("_default_generators", {})
        found = generators.get(index)
        if found is None:
            made = self.new_generator(index)
            if LATEST_SEED:
                made.manual_seed(LATEST_SEED[0])
            else:
                made.seed()
            found = generators.setdefault(index, made)
        return found

    def manual_seed(self, seed: int) -> None:
        """Seed the default generator of the current device."""
        self.default_generator().manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Seed the default generators of all devices."""
        for index in range(self.device_count()):
            self.default_generator(index).manual_seed(seed)

    def get_rng_state(self, device: Any = None) -> Any:
        """Return the state of a device's default generator, a CPU tensor of uint8."""
        from minitorch.tensor.creation import wrap

        return wrap(self.default_generator(self.index_of(device)).state_array())

    def set_rng_state(self, new_state: Any, device: Any = None) -> None:
        """Continue from what `get_rng_state` returned."""
        self.default_generator(self.index_of(device)).set_state_array(new_state.cpu().handle)

    # -- handles and tensors -----------------------------------------------------------

    def wrap(self, handle: Any) -> Any:
        """Return a new tensor around a handle whose memory nobody else shows."""
        return new_tensor(handle, self.key_set & ~_NORMAL_KEYS if current().inference_mode else self.key_set)

    def unwrap(self, tensor: Any) -> Any:
        """Return the handle of a tensor of this backend."""
        if not isinstance(tensor, TensorBase) or not isinstance(tensor.handle, self.array_type):
            where = tensor.device if isinstance(tensor, TensorBase) else type(tensor).__name__
            raise TypeError(f"expected a tensor on the device {self.name}, but got {where}")
        return tensor.handle

    def new_empty(self, shape: Any, strides: Any, dtype: Any, index: int) -> Any:
        """Return a tensor of uninitialised memory on device `index`; strides in bytes."""
        if self.several:
            with self.on_device(index):
                root = self.allocate(extent(shape, strides, dtype.itemsize))
        else:
            root = self.allocate(extent(shape, strides, dtype.itemsize))
        result = self.wrap(self.strided(root, tuple(shape), tuple(strides), 0, dtype))
        result.storage_cell = make_storage(root)
        return result

    def host_array(self, handle: Any, strides: tuple | None = None) -> np.ndarray:
        """Return a copy on the CPU that nobody else holds, in the given strides (in bytes)."""
        array = self.to_host(handle)
        if strides is not None and array.strides != strides and array.size:
            block = np.empty(extent(array.shape, strides, array.itemsize), _BYTE)
            result = np.ndarray(array.shape, array.dtype, block, 0, strides)
            np.copyto(result, array)
            return result
        if self.to_host_shares or not array.flags.writeable:
            return array.copy(order="K")
        return array

    def tensor_from_host(self, array: np.ndarray, index: int) -> Any:
        """Return a tensor on device `index` of the elements of an array, in its order of dimensions."""
        if array.flags.c_contiguous:
            return self.wrap(self.from_host(array, index))
        axes = sorted(range(array.ndim), key=lambda d: (-abs(array.strides[d]), d))
        rows = np.ascontiguousarray(array.transpose(axes))
        root = self.from_host(rows, index)
        strides = [0] * array.ndim
        for place, axis in enumerate(axes):
            strides[axis] = rows.strides[place]
        result = self.wrap(self.strided(root, array.shape, tuple(strides), 0, array.dtype))
        result.storage_cell = make_storage(root)
        return result

    # -- kernels -----------------------------------------------------------------------

    def kernel(self, *names: str) -> Callable[[Callable], Callable]:
        """Register a function of handles as the kernel of operators: ``@backend.kernel("add.Tensor")``.

        Its arguments are the operator's, in schema order, with handles for tensors (arguments equal to their default
        are left out).  It returns a new handle, or a tuple or list of them; in-place and ``out=`` operators write into
        the handle they are given, or return what is to be written; view operators return a handle that shows the
        same memory.  It raises `NoKernel` for what it cannot do, before it writes.

        Parameters
        ----------
        *names : str
            ``"add.Tensor"``, ``"relu"``; with the namespace for operators outside ``aten``.

        Raises
        ------
        LookupError
            If there is no such operator.
        """
        from minitorch.backends.kernels import register_kernels

        def register(fn: Callable) -> Callable:
            if self.key:
                register_kernels(self, names, fn)
            else:
                self.__dict__.setdefault("_waiting_kernels", []).append((names, fn))
            return fn

        return register

    def adopt_key(self, name: str, key: str) -> None:
        """Become the backend of a key: what `register_backend` calls first."""
        if self.array_type is None:
            raise TypeError(
                f"the backend {name!r} has no array_type: set it to the class of its handles in "
                f"{type(self).__module__}.{type(self).__qualname__}"
            )
        self.name, self.key = name, key
        self.key_set = tensor_keys("Dense", key)
        self.backend_bit = 1 << BACKENDS.index(key)
