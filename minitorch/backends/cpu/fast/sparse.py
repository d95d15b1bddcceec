"""Products of sparse matrices of float32 and float64, on all threads; the caller has compared indices with the sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from minitorch.backends.cpu.fast.jit import loop


@loop
def segment_loop(offsets, columns, values, dense, out):
    """Add up rows of products in `out`, which is zero."""
    width = dense.shape[1]
    for i in prange(offsets.size - 1):
        for p in range(offsets[i], offsets[i + 1]):
            column = columns[p]
            value = values[p]
            for j in range(width):
                out[i, j] += value * dense[column, j]


@loop
def sampled_loop(rows, columns, mat1, mat2, out):
    for p in prange(rows.size):
        a = mat1[rows[p]]
        b = mat2[columns[p]]
        total = out[p]
        for j in range(a.size):
            total += a[j] * b[j]
        out[p] = total


def segment_mm(offsets: Any, columns: Any, values: Any, dense: Any) -> Any:
    out = np.zeros((offsets.shape[0] - 1, dense.shape[1]), values.dtype)
    arrays = [np.ascontiguousarray(a) for a in (offsets, columns, values, dense)]
    segment_loop(*arrays, out)
    return out


def sampled_products(rows: Any, columns: Any, mat1: Any, mat2: Any) -> Any:
    out = np.zeros(rows.shape, mat1.dtype)
    sampled_loop(*[np.ascontiguousarray(a) for a in (rows, columns, mat1, mat2)], out)
    return out

