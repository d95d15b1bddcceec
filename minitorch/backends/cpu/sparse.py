"""Products of sparse matrices on the CPU: by SciPy where it is installed, else by NumPy.

Note [Sparse products on the CPU]
    SciPy's loops run on one thread.  Where the extra ``fast`` is installed those of numba (`fast.sparse`) stand in front of them
    for large operands: they take all threads, and are a quarter faster on one; but SciPy's product with one
    column is twice as fast.  Neither looks at indices, so they are compared with the sizes here: a pass over the indices,
    small beside the product.
"""

from __future__ import annotations

import os
from copy import copy
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from minitorch.backends.array.binding import ArrayKernel
from minitorch.backends.array.common import is_low_precision
from minitorch.backends.cpu.fast import table
from minitorch.dispatch.operator import OPERATORS
from minitorch.errors import LinAlgError

_LARGE = 8  # times the size from which other operators use numba
_CHUNK = 1 << 20  # elements of what NumPy gathers at a time


@cache
def scipy_sparse() -> Any:
    """Return ``scipy.sparse``, or None where SciPy is not installed."""
    try:
        return import_module("scipy.sparse")
    except ImportError:
        return None


@cache
def _fast() -> Any:
    """Return the module of loops of numba, or None."""
    if os.environ.get(table.SWITCH, "1") == "0" or not table.has_numba():
        return None
    try:
        return import_module("minitorch.backends.cpu.fast.sparse")
    except ImportError:  # numba refuses versions of NumPy that it does not know
        return None


@cache
def minimum() -> int:
    """Return from how many multiplications on numba's loops run: SciPy gains on smaller ones, which numba is not loaded for."""
    return _LARGE * table.minimum()


def _loops(products: int, dtype: Any) -> Any:
    """Return the loops for so many multiplications, or None."""
    if products < minimum() or dtype.char not in "fd":
        return None
    return _fast()


def check_indices(indices: Any, bound: int, name: str = "index") -> None:
    """Raise IndexError unless all indices are in ``range(bound)``."""
    if indices.size and int(_unsigned(indices).max()) >= bound:
        low, high = int(indices.min()), int(indices.max())
        wrong = low if low < 0 else high
        raise IndexError(f"sparse product: {name} {wrong} is out of bounds for a dimension of size {bound}")


def _unsigned(indices: Any) -> Any:
    """Return integers in which the negative ones are the largest, in the same memory."""
    return indices.view(np.uint32 if indices.itemsize == 4 else np.uint64)


def check_offsets(offsets: Any, count: int) -> None:
    """Raise IndexError unless offsets rise from 0 to `count` at most."""
    if offsets[0] < 0 or offsets[-1] > count or (offsets[1:] < offsets[:-1]).any():
        raise IndexError(f"sparse product: offsets of rows must rise from 0 to the number of entries, {count}")


def _wide(values: Any) -> Any:
    """Return numbers in a type that is computed in."""
    return values.astype(np.float32) if is_low_precision(values.dtype) else values


@cache
def _empty(kind: str) -> Any:
    return getattr(scipy_sparse(), kind)((0, 0))


def _compressed(kind: str, shape: tuple, values: Any, inner: Any, offsets: Any) -> Any:
    """Return SciPy's matrix around arrays: nothing is copied or looked at, and the types of indices stay."""
    matrix = copy(_empty(kind))  # its constructor takes longer than a small product
    matrix.data, matrix.indices, matrix.indptr = values, inner, offsets
    matrix._shape = shape
    return matrix


def segment_mm(xp: Any, offsets: Any, columns: Any, values: Any, dense: Any) -> Any:
    rows = offsets.shape[0] - 1
    check_offsets(offsets, columns.size)
    check_indices(columns, dense.shape[0])
    loops = _loops(values.size * dense.shape[1], values.dtype) if dense.shape[1] > 1 else None
    if loops is not None:
        return loops.segment_mm(offsets, columns, values, dense)
    if scipy_sparse() is None:
        return _added(np.repeat(np.arange(rows), np.diff(offsets)), columns, values, dense, rows)
    matrix = _compressed("csr_array", (rows, dense.shape[0]), _wide(values), columns, offsets)
    return (matrix @ _wide(dense)).astype(values.dtype, copy=False)


def segment_mm_transposed(xp: Any, offsets: Any, columns: Any, values: Any, dense: Any, count: int) -> Any:
    check_offsets(offsets, columns.size)
    check_indices(columns, count)
    if dense.shape[0] != offsets.shape[0] - 1:
        raise ValueError("sizes that do not fit")
    if scipy_sparse() is None:
        return _added(columns, np.repeat(np.arange(dense.shape[0]), np.diff(offsets)), values, dense, count)
    matrix = _compressed("csc_array", (count, dense.shape[0]), _wide(values), columns, offsets)
    return (matrix @ _wide(dense)).astype(values.dtype, copy=False)


def entries_mm(xp: Any, rows: Any, columns: Any, values: Any, dense: Any, count: int) -> Any:
    check_indices(rows, count)
    check_indices(columns, dense.shape[0])
    if scipy_sparse() is None:
        return _added(rows, columns, values, dense, count)
    matrix = copy(_empty("coo_array"))
    matrix.data, matrix.coords = _wide(values), (rows, columns)
    matrix._shape = (count, dense.shape[0])
    return (matrix @ _wide(dense)).astype(values.dtype, copy=False)


def _added(rows: Any, columns: Any, values: Any, dense: Any, count: int) -> Any:
    """Add up products row by row, without SciPy."""
    wide = _wide(values)
    out = np.zeros((count, dense.shape[1]), wide.dtype)
    step = max(_CHUNK // max(dense.shape[1], 1), 1)
    for start in range(0, values.size, step):
        part = slice(start, start + step)
        np.add.at(out, rows[part], wide[part, None] * _wide(dense[columns[part]]))
    return out.astype(values.dtype, copy=False)


def sampled_products(xp: Any, rows: Any, columns: Any, mat1: Any, mat2: Any) -> Any:
    check_indices(rows, mat1.shape[0])
    check_indices(columns, mat2.shape[0])
    if mat1.shape[1] != mat2.shape[1]:
        raise ValueError("sizes that do not fit")
    loops = _loops(rows.size * mat1.shape[1], mat1.dtype)
    if loops is not None and mat2.dtype == mat1.dtype:
        return loops.sampled_products(rows, columns, mat1, mat2)
    out = np.empty(rows.shape, mat1.dtype)
    step = max(_CHUNK // max(mat1.shape[1], 1), 1)
    for start in range(0, rows.size, step):
        part = slice(start, start + step)
        out[part] = np.einsum("ij,ij->i", _wide(mat1[rows[part]]), _wide(mat2[columns[part]]))
    return out


def segment_matmul(
    xp: Any, offsets: Any, columns: Any, values: Any, other_offsets: Any, other_columns: Any, other_values: Any, count: int
) -> Any:
    rows, inner = offsets.shape[0] - 1, other_offsets.shape[0] - 1
    check_offsets(offsets, columns.size)
    check_offsets(other_offsets, other_columns.size)
    check_indices(columns, inner)
    check_indices(other_columns, count)
    if scipy_sparse() is None:
        return _matmul(offsets, columns, values, other_offsets, other_columns, other_values, count)
    left = _compressed("csr_array", (rows, inner), _wide(values), columns, offsets)
    right = _compressed("csr_array", (inner, count), _wide(other_values), other_columns, other_offsets)
    product = left @ right
    product.sort_indices()
    return (
        product.indptr.astype(offsets.dtype, copy=False),
        product.indices.astype(columns.dtype, copy=False),
        product.data.astype(values.dtype, copy=False),
    )


def _matmul(offsets, columns, values, other_offsets, other_columns, other_values, count):
    """Multiply without SciPy: each entry meets those of one row of the other matrix."""
    starts = other_offsets[columns]
    lengths = other_offsets[columns + 1] - starts
    owner = np.repeat(np.arange(columns.size), lengths)
    met = np.arange(owner.size) - (np.cumsum(lengths) - lengths)[owner] + starts[owner]
    rows = np.repeat(np.arange(offsets.shape[0] - 1), np.diff(offsets))[owner]
    places, inverse = np.unique(rows * count + other_columns[met], return_inverse=True)
    wide = _wide(values)
    summed = np.zeros(places.size, wide.dtype)
    np.add.at(summed, inverse, wide[owner] * _wide(other_values)[met])
    bounds = np.searchsorted(places, np.arange(offsets.shape[0]) * count)
    return (
        bounds.astype(offsets.dtype, copy=False),
        (places % max(count, 1)).astype(columns.dtype, copy=False),
        summed.astype(values.dtype, copy=False),
    )


def segment_solve(xp: Any, offsets: Any, columns: Any, values: Any, dense: Any) -> Any:
    """Solve by SuperLU."""
    n = offsets.shape[0] - 1
    check_offsets(offsets, columns.size)
    check_indices(columns, n)
    if scipy_sparse() is None:
        raise NotImplementedError("the solution of a sparse system needs SciPy: pip install scipy")
    if values.dtype.char not in "fdFD":
        raise NotImplementedError(f"a sparse system of {values.dtype} is not solved; convert to float64")
    if not n or not dense.size:
        return np.zeros_like(dense)
    linalg = import_module("scipy.sparse.linalg")
    matrix = scipy_sparse().csr_array((values, columns, offsets), shape=(n, n)).tocsc()
    try:
        return np.ascontiguousarray(linalg.splu(matrix).solve(np.ascontiguousarray(dense)))
    except RuntimeError as error:
        raise LinAlgError(f"the sparse matrix is singular ({error}); there is no solution, or more than one") from None


KERNELS = {
    "_segment_solve": segment_solve,
    "_segment_mm": segment_mm,
    "_segment_mm_transposed": segment_mm_transposed,
    "_entries_mm": entries_mm,
    "_sampled_products": sampled_products,
    "_segment_matmul": segment_matmul,
}


def register(keys: int) -> None:
    """Register the kernels; `keys` is the key set of their results."""
    for name, fn in KERNELS.items():
        OPERATORS["aten::" + name].register("CPU", ArrayKernel(fn, np, np.ndarray, keys))
