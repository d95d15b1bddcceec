"""Memory of CPU tensors that several processes see: anonymous files, mapped by each of them."""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
import weakref
from typing import Any

import numpy as np

from minitorch.tensor.memory import memory_of
from minitorch.tensor.storage import BorrowedStorage
from minitorch.tensor.wrapper import WrapperHandle

_BYTE = np.dtype("uint8")


class SharedBuffer(mmap.mmap):
    """A mapped file without a name.  The memory is given back when no process maps it any more."""

    descriptor: int

    def __del__(self) -> None:
        os.close(self.descriptor)


# By device and inode: a file that comes to a process twice is mapped once.
_MAPPED: weakref.WeakValueDictionary[tuple[int, int], SharedBuffer] = weakref.WeakValueDictionary()


def allocate(nbytes: int) -> np.ndarray:
    """Return `nbytes` bytes, zeros, that other processes can map."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("minitorch", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, nbytes)
    return attach(descriptor, nbytes)


def attach(descriptor: int, nbytes: int) -> np.ndarray:
    """Return the bytes of a file that this or another process has allocated; the descriptor is given away."""
    state = os.fstat(descriptor)
    key = state.st_dev, state.st_ino
    buffer = _MAPPED.get(key)
    if buffer is None:
        buffer = SharedBuffer(descriptor, nbytes)
        buffer.descriptor = descriptor
        _MAPPED[key] = buffer
    else:
        os.close(descriptor)
    return np.frombuffer(buffer, _BYTE)


def buffer_of(array: Any) -> SharedBuffer | None:
    """Return the shared memory that an array shows, if it does."""
    while isinstance(array, np.ndarray):
        array = array.base
    if isinstance(array, memoryview):
        array = array.obj
    return array if isinstance(array, SharedBuffer) else None


def is_shared(tensor: Any) -> bool:
    """Return whether a tensor's memory can be seen by other processes."""
    return buffer_of(tensor.handle) is not None


def share(tensor: Any) -> Any:
    """Do what `Tensor.share_memory_` does."""
    handle = tensor.handle
    # Of other devices, and of what stands for another tensor, there is nothing to move; elements are copied when sent.
    if isinstance(handle, WrapperHandle) or not isinstance(handle, np.ndarray) or not handle.size or is_shared(tensor):
        return tensor
    if os.name != "posix":
        raise NotImplementedError("share_memory_(): memory is shared on POSIX systems only; tensors are sent as copies here")
    counter = tensor.counter_of()
    cell = tensor.storage_of()
    # Known to: the tensor, perhaps as its version counter too, the two names here, and the call that counts.
    if sys.getrefcount(cell) > 3 + 2 * (counter is cell):
        raise RuntimeError(
            f"share_memory_(): other tensors show the memory of this one, shape {tuple(handle.shape)}, and would not move "
            "with it. Share it before its views are made, or share its clone()."
        )
    memory = memory_of(tensor)
    nbytes = memory.nbytes(cell.root)
    root = allocate(nbytes)
    root[:] = memory.strided(cell.root, (nbytes,), (1,), 0, _BYTE)
    moved = BorrowedStorage()  # it cannot grow
    moved.root = root
    tensor.handle = memory.strided(root, handle.shape, handle.strides, memory.offset(cell.root, handle), handle.dtype)
    tensor.version_counter, tensor.storage_cell = counter, moved
    return tensor
