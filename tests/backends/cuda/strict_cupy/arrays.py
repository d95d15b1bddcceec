"""Arrays of the stand-in: NumPy's, wrapped, on a numbered device, with memory that is watched."""

from __future__ import annotations

import ctypes
import threading
import weakref
from math import prod

import numpy as np

MARGIN = 64  # bytes on both sides of an allocation that nobody may write
FILL = 0xA7  # what they and uninitialised memory consist of: a strange number in every type
_guarded: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
_here = threading.local()


class CUDARuntimeError(RuntimeError):
    """What the driver reports."""


def current() -> int:
    return getattr(_here, "index", 0)


def set_current(index: int) -> None:
    _here.index = index


class Usage:
    """What each device has allocated, its limit, and what is asked for memory."""

    used: dict = {}
    limit: dict = {}
    allocator = None


class Device:
    """``cupy.cuda.Device``."""

    count = 1

    def __init__(self, device=None):
        self.id = current() if device is None else int(device)
        if not 0 <= self.id < Device.count:
            raise CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal")

    def use(self):
        set_current(self.id)

    def synchronize(self):
        pass

    def __enter__(self):
        self.__dict__.setdefault("_before", []).append(current())
        set_current(self.id)
        return self

    def __exit__(self, *raised):
        set_current(self._before.pop())

    def __eq__(self, other):
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self):
        return self.id


class OutOfMemoryError(MemoryError):
    """``cupy.cuda.memory.OutOfMemoryError``."""


def _freed(index, nbytes):
    Usage.used[index] -= nbytes


def allocate(shape, dtype, order="C"):
    """Return a NumPy array in watched memory, filled with strange numbers."""
    dtype = check_dtype(dtype)
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    nbytes = prod(shape) * dtype.itemsize
    return np.ndarray(shape, dtype, (Usage.allocator or malloc)(nbytes), MARGIN, order=order)


def malloc(nbytes):
    """Return a block of memory with its margins: what stands for a pointer here."""
    index = current()
    if nbytes > Usage.limit.get(index, 1 << 40) - Usage.used.get(index, 0):
        raise OutOfMemoryError(f"Out of memory allocating {nbytes:,} bytes")
    block = np.full(nbytes + 2 * MARGIN, FILL, np.uint8)
    _guarded[id(block)] = block
    Usage.used[index] = Usage.used.get(index, 0) + nbytes
    weakref.finalize(block, _freed, index, nbytes)
    return block


def check_dtype(dtype):
    dtype = np.dtype(dtype)
    if dtype.kind not in "biufc" and dtype.name != "bfloat16":
        raise TypeError(f"CuPy has no arrays of {dtype}")
    return dtype


def owner_of(array):
    """Return the array that owns the memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return getattr(array.base, "owner", array)


def check_margins(array):
    """Raise if a kernel wrote beside the memory of an array."""
    block = owner_of(array)
    if id(block) in _guarded and (np.any(block[:MARGIN] != FILL) or np.any(block[block.size - MARGIN :] != FILL)):
        raise RuntimeError("a kernel wrote beside the memory of an array")


class MemoryPointer:
    """``cupy.cuda.MemoryPointer``: an address in the memory of an array."""

    def __init__(self, owner, ptr, index):
        self.owner, self.ptr, self.device_id = owner, ptr, index

    def __add__(self, offset):
        return MemoryPointer(self.owner, self.ptr + int(offset), self.device_id)

    def copy_from_device_async(self, source, nbytes, stream=None):
        ctypes.memmove(self.ptr, source.ptr, nbytes)


def show(pointer, shape, dtype, strides):
    """Return a NumPy array over memory, which must hold all of it."""
    low = high = pointer.ptr
    if 0 not in shape:
        for n, step in zip(shape, strides, strict=True):
            low, high = min(low, low + (n - 1) * step), max(high, high + (n - 1) * step)
        high += dtype.itemsize
    block = pointer.owner
    start = block.__array_interface__["data"][0]
    first, end = (
        (start + MARGIN, start + block.size - MARGIN) if id(block) in _guarded else (start, start + _extent(block))
    )
    if 0 not in shape and not (first <= low and high <= end):
        raise ValueError(f"an array of {shape} {dtype} with strides {strides} leaves its memory")
    raw = (ctypes.c_char * max(high - low, 1)).from_address(low)
    raw.owner = block
    return np.ndarray(shape, dtype, raw, pointer.ptr - low, strides)


def _extent(array):
    low, high = np.lib.array_utils.byte_bounds(array)
    return high - low


class Flags:
    """``cupy.ndarray.flags``: without `writeable`."""

    def __init__(self, flags):
        self.c_contiguous, self.f_contiguous, self.owndata = flags.c_contiguous, flags.f_contiguous, flags.owndata
