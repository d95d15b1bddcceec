"""Shapes of look-ups whose size is given, and of hashes."""

from __future__ import annotations

import numpy as np

from minitorch.ops.shapes.common import MetaArray, check, normalize_dims, reduced_shape
from minitorch.ops.shapes.reductions import check_not_empty
from minitorch.ops.shapes.registry import shape

INT64 = np.dtype(np.int64)


@shape("nonzero_static")
def nonzero_static_shape(self, *, size, fill_value=-1):
    check(size >= 0, f"nonzero_static(): 'size' must be an non-negative integer, got {size}")
    return MetaArray((size, self.ndim), INT64)


@shape("hash_tensor")
def hash_tensor_shape(self, dim=(), *, keepdim=False, mode=0):
    check(mode == 0, f"hash_tensor(): unknown mode {mode}; 0 is the exclusive or")
    check(self.dtype.kind != "c", "hash_tensor(): complex tensors have no hash", NotImplementedError)
    dims = normalize_dims(dim, self.ndim, "hash_tensor")
    check_not_empty(self, dims, "hash_tensor", bool(dim))
    return MetaArray(reduced_shape(self.shape, dims, keepdim), np.dtype(np.uint64))
