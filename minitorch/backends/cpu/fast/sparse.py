"""Products of sparse matrices of float32 and float64, on all threads; indices that are out of bounds are found on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from minitorch.backends.cpu.fast.jit import loop


@loop
def segment_loop(offsets, columns, values, dense, out):
    """Add up a row at a time; return how many indices were out of bounds."""
    bound = np.uint64(dense.shape[0])
    wrong = 0
    for i in prange(offsets.size - 1):
        row = out[i]
        for p in range(offsets[i], offsets[i + 1]):
            position = np.uint64(columns[p])  # negative ones become huge
            wrong += position >= bound
            source = dense[position if position < bound else np.uint64(0)]
            value = values[p]
            for j in range(source.size):
                row[j] += value * source[j]
    return wrong


@loop
def segment_vector_loop(offsets, columns, values, dense, out):
    """The same where the dense operand has one column."""
    bound = np.uint64(dense.size)
    wrong = 0
    for i in prange(offsets.size - 1):
        total = out[i]
        for p in range(offsets[i], offsets[i + 1]):
            position = np.uint64(columns[p])
            wrong += position >= bound
            total += values[p] * dense[position if position < bound else np.uint64(0)]
        out[i] = total
    return wrong


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
    count = offsets.shape[0] - 1
    out = np.zeros((count, dense.shape[1]), values.dtype)
    dense = np.ascontiguousarray(dense)
    if not dense.shape[0]:
        wrong = columns.size
    elif dense.shape[1] == 1:
        wrong = segment_vector_loop(offsets, columns, values, dense.reshape(-1), out.reshape(-1))
    else:
        wrong = segment_loop(offsets, columns, values, dense, out)
    if wrong:
        raise IndexError(f"sparse product: an index is out of bounds for a dimension of size {dense.shape[0]}")
    return out


def sampled_products(rows: Any, columns: Any, mat1: Any, mat2: Any) -> Any:
    """The caller has compared the indices with the sizes."""
    out = np.zeros(rows.shape, mat1.dtype)
    sampled_loop(rows, columns, np.ascontiguousarray(mat1), np.ascontiguousarray(mat2), out)
    return out

