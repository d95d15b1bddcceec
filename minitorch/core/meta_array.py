"""`MetaArray`: an array's shape, strides and dtype without its elements."""

from __future__ import annotations

import numpy as np


def contiguous_strides(shape, itemsize: int) -> tuple:
    """Return the row-major strides, in bytes, of an array of `shape`."""
    strides = []
    step = itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def is_contiguous(array) -> bool:
    """Return whether `array` is row-major without gaps."""
    flags = getattr(array, "flags", None)
    if flags is not None:
        return flags.c_contiguous
    step = array.dtype.itemsize
    if 0 in array.shape:
        return True
    for n, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if n != 1:
            if stride != step:
                return False
            step *= n
    return True


class Geometry:
    """What follows from the `shape` and `dtype` of something that stands for an array; named and counted as NumPy's."""

    __slots__ = ()

    shape: tuple
    dtype: np.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        count = 1
        for n in self.shape:
            count *= n
        return count

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize


class MetaArray(Geometry):
    """Shape, byte strides, byte offset and dtype of an array that has no memory.

    It is the handle of meta tensors and what shape functions return.  The attributes
    are named and counted as NumPy's, so that a shape function reads either.

    Parameters
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    strides : tuple of int, optional
        In bytes; row-major when omitted.
    offset : int
        Bytes from the start of the storage to the first element.
    storage_size : int, optional
        Bytes of the storage; the extent of the array when omitted.
    """

    __slots__ = ("__weakref__", "_storage_size", "dtype", "offset", "shape", "strides")

    def __init__(self, shape, dtype, strides=None, offset=0, storage_size=None):
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        if strides is None:
            strides = contiguous_strides(self.shape, self.dtype.itemsize)
        self.strides = tuple(strides)
        self.offset = offset
        self._storage_size = storage_size

    @property
    def storage_size(self) -> int:
        """Bytes of the storage that this array is a view of."""
        if self._storage_size is not None:
            return self._storage_size
        if self.size == 0:
            return self.offset
        last = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True) if s > 0)
        return self.offset + last + self.dtype.itemsize

    def view(self, shape, strides, offset=None, dtype=None) -> MetaArray:
        """Return another view of the same storage."""
        return MetaArray(
            shape,
            self.dtype if dtype is None else dtype,
            strides,
            self.offset if offset is None else offset,
            self.storage_size,
        )

    def with_geometry(self, other: MetaArray) -> MetaArray:
        """Return the handle of `other`'s geometry for a tensor of the same kind as this one's."""
        return other

    def __repr__(self) -> str:
        return f"MetaArray(shape={self.shape}, dtype={self.dtype}, strides={self.strides})"
