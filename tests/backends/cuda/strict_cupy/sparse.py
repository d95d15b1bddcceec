"""``cupyx.scipy.sparse``: matrices by rows, of the types that cuSPARSE multiplies, around SciPy's."""

from __future__ import annotations

import types

import numpy as np

from strict_cupy.ndarray import ndarray, plain, wrap


class csr_matrix:
    """A matrix by rows (or the transpose of one, by columns), of float32, float64 or complex numbers and indices of 32 bits."""

    def __init__(self, parts, shape):
        data, indices, indptr = parts
        for part in parts:
            if not isinstance(part, ndarray):
                raise TypeError("a part is not an array of the device")
        if data.dtype.char not in "fdFD":
            raise ValueError(f"Only float32, float64, complex64 and complex128 are supported: {data.dtype}")
        if indices.dtype != np.int32 or indptr.dtype != np.int32:
            raise AssertionError("indices of other widths are copied by CuPy: copy them where it is seen")
        from scipy.sparse import csr_array

        self.set(csr_array((plain(data), plain(indices), plain(indptr)), shape=shape), data.device.id)

    def set(self, matrix, index):
        self.matrix, self.index = matrix, index
        return self

    @property
    def T(self):
        return csr_matrix.__new__(csr_matrix).set(self.matrix.T, self.index)

    data = property(lambda self: wrap(self.matrix.data, self.index))
    indices = property(lambda self: wrap(self.matrix.indices.astype(np.int32), self.index))
    indptr = property(lambda self: wrap(self.matrix.indptr.astype(np.int32), self.index))

    def sort_indices(self):
        self.matrix.sort_indices()

    def __matmul__(self, other):
        if isinstance(other, csr_matrix):
            return csr_matrix.__new__(csr_matrix).set(self.matrix @ other.matrix, self.index)
        if not isinstance(other, ndarray) or other.dtype != self.matrix.dtype or other.ndim != 2:
            raise AssertionError("CuPy converts what is not of the matrix's type: convert it where it is seen")
        return wrap(np.asfortranarray(self.matrix @ plain(other)), self.index)  # cuSPARSE writes columns


def make():
    module = types.ModuleType("cupyx.scipy.sparse")
    module.csr_matrix = csr_matrix
    return module
