"""Kernels made of a backend's memory and copies alone: factories, views, and copies within and between devices."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.backends import storage_kernels
from minitorch.backends.array import registry
from minitorch.backends.array.binding import handle_of
from minitorch.backends.array.factories import full_kernel
from minitorch.backends.array.views import copy_kernel as host_copy_kernel
from minitorch.backends.array.views import fill_kernel, to_copy_kernel
from minitorch.backends.fallback import refusal
from minitorch.backends.kernels import share
from minitorch.backends.placement import index_of_call
from minitorch.core.device import cpu
from minitorch.core.dtype import from_numpy_dtype
from minitorch.core.meta_array import MetaArray
from minitorch.dispatch.keys import BACKEND_MASK, parse_key
from minitorch.dispatch.operator import OPERATORS, Kernel
from minitorch.dispatch.policy import NoKernel, current_policy, note_fallback
from minitorch.ops.shapes.registry import SHAPES
from minitorch.ops.shapes.views import copy_shape, copy_strides
from minitorch.tensor.base import TensorBase, make_storage
from minitorch.tensor.creation import wrap
from minitorch.tensor.memory import refuse_overlap

_CPU_BITS = parse_key("CPU").bits
_CPU_BIT = _CPU_BITS & BACKEND_MASK
_DENSE_OF_ANY = _CPU_BITS | BACKEND_MASK


class MemoryKernel(Kernel):
    """A kernel made of a backend's memory; `fn` is the operator's shape function."""

    __slots__ = ("backend",)

    def __init__(self, backend: Any, fn: Any = None):
        Kernel.__init__(self, fn)
        self.backend = backend

    def is_leaf(self, op: Any, entry: Any) -> bool:
        return True


class EmptyKernel(MemoryKernel):
    """``empty`` and its kind: memory of the geometry that the shape function gives."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        keywords = {name: handle_of(value) for name, value in kwargs.items()} if kwargs else {}
        geometry = self.fn(*[handle_of(a) for a in args], **keywords)
        index = index_of_call(self.backend, args, kwargs)
        return self.backend.new_empty(geometry.shape, geometry.strides, geometry.dtype, index)


def fill(backend: Any, handle: Any, one: np.ndarray) -> None:
    """Set all elements of a handle to the only one of an array: a copy of it, expanded (stride 0)."""
    if handle.size:
        moved = backend.from_host(one, backend.device_of(handle).index or 0)
        backend.copy_(handle, backend.strided(moved, tuple(handle.shape), (0,) * handle.ndim, 0, handle.dtype))


class FilledKernel(EmptyKernel):
    """``zeros``, ``full_like`` and their kind: memory like `EmptyKernel`'s, filled.

    Attributes
    ----------
    value : number or None
        None: the operator's last argument.
    """

    __slots__ = ("value",)

    def __init__(self, backend: Any, fn: Any, value: Any):
        EmptyKernel.__init__(self, backend, fn)
        self.value = value

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        result = EmptyKernel.run(self, op, entry, args, kwargs)
        value = args[-1] if self.value is None else self.value
        one = full_kernel(np, (1,), value, dtype=from_numpy_dtype(result.handle.dtype))
        fill(self.backend, result.handle, one)
        return result


class FillKernel(MemoryKernel):
    """``zero_`` and ``fill_``."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        target = args[0]
        fill(self.backend, target.handle, fill_kernel(np, np.empty(1, target.handle.dtype), args[1] if len(args) > 1 else 0))
        return target


class ViewKernel(MemoryKernel):
    """A view: the storage seen with the geometry that the shape function gives."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        source = args[0]
        backend = self.backend
        root = source.storage_of().root
        handle = source.handle
        geometry = MetaArray(handle.shape, handle.dtype, handle.strides, backend.offset(root, handle), 0)
        keywords = kwargs or {}
        result = self.fn(geometry, *args[1:], **keywords)
        if type(result) is list or type(result) is tuple:
            return [share(source, self.shown(root, item)) for item in result]
        return share(source, self.shown(root, result))

    def shown(self, root: Any, geometry: Any) -> Any:
        offset = geometry.offset if geometry.size else 0
        return self.backend.strided(root, geometry.shape, geometry.strides, offset, geometry.dtype)


class UnsafeViewKernel(MemoryKernel):
    """``_unsafe_view``: the memory of a row-major tensor in another shape; no view for autograd."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        source = args[0]
        root = source.storage_of().root
        geometry = self.fn(source.handle, args[1])
        offset = self.backend.offset(root, source.handle) if geometry.size else 0
        result = self.backend.wrap(
            self.backend.strided(root, geometry.shape, geometry.strides, offset, geometry.dtype)
        )
        result.storage_cell = source.storage_of()
        return result


class ItemKernel(MemoryKernel):
    """``_local_scalar_dense``: the only element as a Python number."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        handle = args[0].handle
        if handle.size != 1:
            raise RuntimeError(f"a Tensor with {handle.size} elements cannot be converted to Scalar")
        array = self.backend.to_host(handle)
        return float(array.item()) if array.dtype.kind == "V" else array.item()


# ---------------------------------------------------------------- copies


def host_copy(array: np.ndarray, dtype: Any = None, memory_format: Any = None) -> np.ndarray:
    """Return a new array of the elements of `array`, cast and laid out as ``_to_copy`` does."""
    return to_copy_kernel(np, array, dtype=dtype, memory_format=memory_format)


def copy_within(backend: Any, op: Any, key_set: int, target: Any, source: Any) -> None:
    """Copy a handle into another on the same device; through the CPU where the backend cannot convert.

    Raises
    ------
    NotImplementedError
        If that is needed, and the policy is ``"error"``.
    """
    try:
        backend.copy_(target, source)
        return
    except NoKernel as missing:
        if target.dtype == source.dtype:
            raise
        where = backend.device_of(target)
        reason = str(missing) or f"it does not convert {source.dtype} to {target.dtype}"
        if current_policy() == "error":
            raise NotImplementedError(refusal(backend, op, key_set, where, reason)) from missing
    values = backend.to_host(source)
    converted = host_copy(values, from_numpy_dtype(target.dtype))
    backend.copy_(target, backend.tensor_from_host(converted, where.index or 0).handle)
    advice = f"Let {type(backend).__name__}.copy_ convert {source.dtype} to {target.dtype}."
    note_fallback(op.qualname, str(where), reason, values.nbytes + converted.nbytes, advice)


class CloneKernel(MemoryKernel):
    """``clone``: new memory on the same device."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        own = self.backend.__dict__.get("_within_device", {}).get("clone")
        source = args[0].handle
        if own is not None:
            try:
                return self.backend.wrap(self.backend.finish(own(source, **(kwargs or {}))))
            except NoKernel:
                pass
        strides = copy_strides(source, (kwargs or {}).get("memory_format"))
        result = self.backend.new_empty(source.shape, strides, source.dtype, self.backend.device_of(source).index or 0)
        copy_within(self.backend, op, entry.key_set, result.handle, source)
        return result


class ToCopyKernel(MemoryKernel):
    """``_to_copy`` from or to the device: ``.to("npu")``, ``.cpu()``, and casts on it."""

    __slots__ = ()

    def is_leaf(self, op: Any, entry: Any) -> bool:
        return False

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        kwargs = kwargs or {}
        source, device = args[0], kwargs.get("device")
        dtype, memory_format = kwargs.get("dtype"), kwargs.get("memory_format")
        backend = self.backend
        handle = source.handle
        if not source.key_set & backend.backend_bit:
            if source.key_set & BACKEND_MASK != _CPU_BIT:
                source = op.redispatch_boxed(source.key_set & _DENSE_OF_ANY, (source,), {**kwargs, "device": cpu})
                return self.send(source.handle, backend.index_of(device))
            plain = dtype is None and memory_format is None
            return self.send(handle if plain else host_copy(handle, dtype, memory_format), backend.index_of(device))
        if device is not None and device.type != backend.name:
            return self.receive(handle, dtype, memory_format)
        here = backend.device_of(handle).index or 0
        there = here if device is None or device.index is None else backend.index_of(device)
        own = backend.__dict__.get("_within_device", {}).get("_to_copy")
        if own is not None and here == there:
            keywords = {name: value for name, value in kwargs.items() if name in ("dtype", "memory_format")}
            try:
                return backend.wrap(backend.finish(own(handle, **keywords)))
            except NoKernel:
                pass
        np_dtype = handle.dtype if dtype is None else dtype.np
        result = backend.new_empty(handle.shape, copy_strides(handle, memory_format, np_dtype.itemsize), np_dtype, there)
        copy_within(backend, op, entry.key_set, result.handle, handle)
        return result

    def send(self, array: np.ndarray, index: int) -> Any:
        """Return an array as a tensor on a device."""
        return self.backend.tensor_from_host(array, index)

    def receive(self, handle: Any, dtype: Any, memory_format: Any) -> Any:
        """Return the elements of a handle as a CPU tensor."""
        array = self.backend.host_array(handle, copy_strides(handle, memory_format))
        if dtype is not None and dtype.np != array.dtype:
            array = host_copy(array, dtype)
        return wrap(array)


class CopyKernel(MemoryKernel):
    """``copy_`` between any two tensors of which one is on the device."""

    __slots__ = ()

    def is_leaf(self, op: Any, entry: Any) -> bool:
        return False

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        target, source = args[0], args[1]
        backend = self.backend
        bit = backend.backend_bit
        values = source.handle if isinstance(source, TensorBase) else np.asarray(source)
        copy_shape(target.handle, values)
        if isinstance(source, TensorBase) and not source.key_set & (bit | _CPU_BIT):
            values = source.cpu().handle  # of another backend
        if not target.key_set & bit:
            values = backend.to_host(values)
            if target.key_set & _CPU_BIT:
                op.redispatch_boxed(_CPU_BITS, (target, wrap(values)), None)
            else:
                target.copy_(wrap(values))
            return target
        refuse_overlap("copy_", target.handle)
        if isinstance(values, np.ndarray):
            self.from_host(target, values)
            return target
        own = backend.__dict__.get("_within_device", {}).get("copy_")
        if own is not None:
            try:
                own(target.handle, values)
                return target
            except NoKernel:
                pass
        copy_within(backend, op, entry.key_set, target.handle, self.expanded(source, target.handle.shape))
        return target

    def from_host(self, target: Any, values: np.ndarray) -> None:
        handle = target.handle
        if values.dtype != handle.dtype:
            cast = np.empty(values.shape, handle.dtype)
            host_copy_kernel(np, cast, values)
            values = cast
        moved = self.backend.tensor_from_host(values, self.backend.device_of(handle).index or 0)
        self.backend.copy_(handle, self.expanded(moved, handle.shape))

    def expanded(self, source: Any, shape: tuple) -> Any:
        """Return the handle of a tensor, broadcast to a shape."""
        handle = source.handle
        if tuple(handle.shape) == tuple(shape):
            return handle
        lead = len(shape) - handle.ndim
        strides = [0] * lead
        for n, wanted, step in zip(handle.shape, shape[lead:], handle.strides, strict=True):
            strides.append(0 if n != wanted else step)
        cell = source.storage_cell or make_storage(handle)
        offset = self.backend.offset(cell.root, handle) if handle.size else 0
        return self.backend.strided(cell.root, tuple(shape), tuple(strides), offset, handle.dtype)


def register(backend: Any) -> None:
    """Register the kernels that need nothing but the backend's memory."""
    key = backend.key
    storage_kernels.register(key)
    for name in ("empty.memory_format", "empty_strided", "empty_permuted", "empty_like"):
        OPERATORS["aten::" + name].register(key, EmptyKernel(backend, SHAPES[name]))
    for name, value in (("zeros", 0), ("ones", 1), ("full", None), ("scalar_tensor", None)):
        OPERATORS["aten::" + name].register(key, FilledKernel(backend, SHAPES[name], value))
    for name, value in (("zeros_like", 0), ("ones_like", 1), ("full_like", None)):
        OPERATORS["aten::" + name].register(key, FilledKernel(backend, SHAPES[name], value))
    OPERATORS["aten::zero_"].register(key, FillKernel(backend, SHAPES["zero_"]))
    OPERATORS["aten::fill_.Scalar"].register(key, FillKernel(backend, SHAPES["fill.Scalar"]))
    for name in registry.VIEW_KERNELS:
        OPERATORS["aten::" + name].register(key, ViewKernel(backend, SHAPES[name]))
    for name, kind in (
        ("_unsafe_view", UnsafeViewKernel), ("_local_scalar_dense", ItemKernel), ("clone", CloneKernel),
        ("_to_copy", ToCopyKernel), ("copy_", CopyKernel),
    ):
        OPERATORS["aten::" + name].register(key, kind(backend, SHAPES.get(name)))
