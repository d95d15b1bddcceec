"""NumPy arrays as memory: offsets in a storage, and strided views of it."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from minitorch.backends.array.common import protect_overlap
from minitorch.core.device import device
from minitorch.tensor.memory import Memory

_CPU = device("cpu")


def address_of(array: np.ndarray) -> int:
    """Return the address of an array's first element."""
    return array.__array_interface__["data"][0]


def flat_bytes(root: np.ndarray) -> np.ndarray:
    """Return the memory of `root` as a row of bytes, from its lowest address to its highest."""
    if root.flags.c_contiguous:
        return root.reshape(-1).view(np.uint8)
    if root.flags.f_contiguous:
        return root.T.reshape(-1).view(np.uint8)
    low, high = np.lib.array_utils.byte_bounds(root)
    corner = root[tuple([slice(-1, None) if s < 0 else slice(0, 1) for s in root.strides])]
    lowest = as_strided(corner, (1,), (root.itemsize,)).view(np.uint8)
    return as_strided(lowest, (high - low,), (1,))


class NumpyMemory(Memory):
    """Memory of the CPU backend."""

    array_type = np.ndarray

    def device_of(self, handle):
        return _CPU

    def nbytes(self, root):
        if root.flags.c_contiguous or root.flags.f_contiguous:
            return root.nbytes
        low, high = np.lib.array_utils.byte_bounds(root)
        return high - low

    def offset(self, root, handle):
        start = address_of(root)
        if not (root.flags.c_contiguous or root.flags.f_contiguous):
            start = np.lib.array_utils.byte_bounds(root)[0]
        offset = address_of(handle) - start
        if not handle.size and not 0 <= offset <= root.nbytes:
            return 0  # what `strided` made for no elements lies elsewhere
        return offset

    def strided(self, root, shape, strides, offset, dtype):
        flat = flat_bytes(root)
        if 0 in shape or flat.size == 0:
            return np.empty(shape, dtype)
        # The constructor is faster than as_strided, knows float8, and lets negative strides go back.
        return protect_overlap(np.ndarray(shape, dtype, flat, offset, strides))

    def writable(self, root, handle):
        if handle.flags.writeable or not root.flags.writeable:
            return None
        result = self.strided(root, handle.shape, handle.strides, self.offset(root, handle), handle.dtype)
        result.flags.writeable = True
        return result

    def address(self, handle):
        return address_of(handle) if handle.size else 0

    def allocate(self, nbytes):
        return np.empty(nbytes, np.uint8)

    def copy_(self, target, source):
        np.copyto(target, source, casting="unsafe")

    def to_host(self, handle):
        return handle

    def from_host(self, array, index):
        return array.copy()

    def share_with_host(self, handle):
        return handle
