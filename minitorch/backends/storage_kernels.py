"""Kernels that need the storage and not just the array, for any backend with a `Memory`."""

from __future__ import annotations

import numpy as np

from minitorch.core.meta_array import MetaArray
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW
from minitorch.dispatch.operator import OPERATORS, Kernel
from minitorch.tensor.base import TensorBase, new_tensor
from minitorch.tensor.memory import memory_of, storage_offset, strided_handle
from minitorch.tensor.storage import BorrowedStorage

_BYTE = np.dtype("uint8")


def contiguous_steps(shape) -> tuple:
    """Return row-major strides in elements."""
    steps, step = [], 1
    for n in reversed(shape):
        steps.append(step)
        step *= max(n, 1)
    return tuple(reversed(steps))


class AsStridedKernel(Kernel):
    """``as_strided`` on any backend that has a `Memory`."""

    __slots__ = ()

    def run(self, op, entry, args, kwargs):
        self_, size, stride, *rest = args
        offset = rest[0] if rest else None
        if len(size) != len(stride):
            raise RuntimeError(
                f"mismatch in length of strides and shape: {len(stride)} strides for {len(size)} dimensions"
            )
        for n in size:
            if n < 0:
                raise RuntimeError(f"as_strided: negative dimension {n} in size {list(size)}")
        if offset is None:
            offset = storage_offset(self_)
        if offset < 0:
            raise RuntimeError(f"as_strided: storage_offset must be non-negative, but got {offset}")
        handle = strided_handle(self_, tuple(size), tuple(stride), offset)
        result = new_tensor(handle, self_.key_set)
        result.storage_cell = self_.storage_of()
        if self_.key_set & AD_INPLACE_OR_VIEW:
            result.version_counter = self_.counter_of()
        return result


def resize(tensor: TensorBase, size: tuple) -> None:
    """Make `tensor` have shape `size`, row-major from its offset; its storage grows when too small."""
    if tuple(tensor.handle.shape) == tuple(size):
        return
    memory = memory_of(tensor)
    cell = tensor.storage_of()
    offset = storage_offset(tensor)
    itemsize = tensor.handle.itemsize
    count = 1
    for n in size:
        count *= n
    needed = (offset + count) * itemsize if count else 0
    if needed > memory.nbytes(cell.root):
        # Memory without a byte shares nothing: ``out=from_numpy(empty)`` may grow.
        if isinstance(cell, BorrowedStorage) and memory.nbytes(cell.root):
            raise RuntimeError(
                f"resize_: Trying to resize storage that is not resizable: shape {list(size)} needs {needed} bytes, and the "
                f"memory, of {memory.nbytes(cell.root)} bytes, belongs to another object. Call clone() first."
            )
        kept = memory.nbytes(cell.root)
        root = memory.allocate_beside(cell.root, needed)
        if kept:
            old = memory.strided(cell.root, (kept,), (1,), 0, _BYTE)
            memory.copy_(memory.strided(root, (kept,), (1,), 0, _BYTE), old)
        cell.root = root
    tensor.handle = memory.strided(
        cell.root, tuple(size), tuple([s * itemsize for s in contiguous_steps(size)]), offset * itemsize,
        tensor.handle.dtype,
    )
    tensor.shape_cache = None


class ResizeKernel(Kernel):
    """``resize_`` on any backend that has a `Memory`."""

    __slots__ = ()

    def run(self, op, entry, args, kwargs):
        tensor, size = args[0], args[1]
        for n in size:
            if n < 0:
                raise RuntimeError(f"resize_: negative dimension {n} in size {list(size)}")
        resize(tensor, tuple(size))
        return tensor


def register(key: str) -> None:
    """Register the kernels for a backend key."""
    OPERATORS["aten::as_strided"].register(key, AsStridedKernel())
    OPERATORS["aten::resize_"].register(key, ResizeKernel())


class MetaCopyKernel(Kernel):
    """``copy_`` where either side is a meta tensor: shapes are checked, and nothing moves."""

    __slots__ = ()

    def run(self, op, entry, args, kwargs):
        target, source = args[0], args[1]
        if isinstance(source, TensorBase):
            if isinstance(source.handle, MetaArray) and not isinstance(target.handle, MetaArray):
                raise NotImplementedError("Cannot copy out of meta tensor; no data!")
            self.fn(target.handle, source.handle)
        return target
