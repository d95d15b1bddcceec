"""A device whose memory nobody else may touch: what tests and pages show backends with.

`ToyArray` is opaque: it has a handle's shape, strides and dtype, and refuses to be a NumPy array.  The bytes are in a
"device memory" that only `ToyBackend` and its kernels read.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from minitorch.backends import Backend, NoKernel, register_backend


class ToyArray:
    """A handle: a view of a block of device memory."""

    def __init__(self, memory: np.ndarray, index: int = 0):
        self._memory = memory
        self.device_index = index

    shape = property(lambda self: self._memory.shape)
    strides = property(lambda self: self._memory.strides)
    dtype = property(lambda self: self._memory.dtype)
    ndim = property(lambda self: self._memory.ndim)
    size = property(lambda self: self._memory.size)
    itemsize = property(lambda self: self._memory.itemsize)
    nbytes = property(lambda self: self._memory.nbytes)

    def __array__(self, dtype=None, copy=None):
        raise TypeError("the memory of the toy device cannot be seen from the host")


def address(array: ToyArray) -> int:
    return array._memory.__array_interface__["data"][0]


class ToyBackend(Backend):
    """The seven methods that a backend must have, and the number of devices."""

    array_type = ToyArray

    def __init__(self, devices: int = 1):
        self.devices = devices

    def device_count(self):
        return self.devices

    def nbytes(self, root):
        return root.nbytes

    def offset(self, root, handle):
        return address(handle) - address(root)

    def strided(self, root, shape, strides, offset, dtype):
        block = root._memory.reshape(-1).view(np.uint8)
        if 0 in shape:
            return ToyArray(np.ndarray(shape, dtype, block[:0]), root.device_index)
        start = block[offset : offset + dtype.itemsize].view(dtype)
        if dtype.kind == "V":
            return ToyArray(np.ndarray(shape, dtype, block, offset, strides), root.device_index)
        return ToyArray(as_strided(start, shape, strides), root.device_index)

    def address(self, handle):
        return address(handle)

    def allocate(self, nbytes):
        return ToyArray(np.full(nbytes, 0xAB, np.uint8), self.current_device())

    def from_host(self, array, index):
        assert array.flags.c_contiguous
        return ToyArray(array.copy(), index)

    def to_host(self, handle):
        return np.ascontiguousarray(handle._memory).reshape(handle.shape)

    def copy_(self, target, source):
        if target.dtype != source.dtype:
            raise NoKernel(f"the toy device does not convert {source.dtype} to {target.dtype}")
        np.copyto(target._memory, source._memory)


def made(values, like: ToyArray) -> ToyArray:
    """Return new device memory with values, row by row."""
    return ToyArray(np.array(values, order="C"), like.device_index)


def register_toy(name: str = "toy", **options) -> ToyBackend:
    """Register the backend without a kernel of its own."""
    return register_backend(name, ToyBackend(**options))


def add_some_kernels(backend: ToyBackend) -> None:
    """Register a handful of kernels: what an author writes first."""

    @backend.kernel("mul.Tensor")
    def mul(x, y):
        if not isinstance(y, ToyArray) or x.dtype != y.dtype:
            raise NoKernel("the toy device multiplies tensors of one dtype")
        try:
            return made(x._memory * y._memory, x)
        except ValueError:
            raise NoKernel("these shapes do not broadcast") from None

    @backend.kernel("relu")
    def relu(x):
        return made(np.maximum(x._memory, 0), x)

    @backend.kernel("mm")
    def mm(x, y):
        if x.dtype != np.float32 or y.dtype != np.float32 or x.shape[1:] != y.shape[:1] or y.ndim != 2:
            raise NoKernel("the toy device multiplies matrices of float32")
        return made(x._memory @ y._memory, x)

    @backend.kernel("zero_")
    def zero_(x):
        x._memory.fill(0)

    @backend.kernel("max.dim")
    def max_dim(x, dim, keepdim=False):
        if not x.ndim or not x.size:
            raise NoKernel("the toy device looks for the largest of several")
        indices = x._memory.argmax(dim)
        values = x._memory.max(dim)
        if keepdim:
            indices, values = np.expand_dims(indices, dim), np.expand_dims(values, dim)
        return made(values, x), made(np.asarray(indices, np.int64), x)


def register_with_kernels() -> None:
    """Register the backend with its handful of kernels: what the conformance kit is told to import."""
    add_some_kernels(register_toy())
