"""Products of what sparse matrices consist of (Note [Entries and segments]), by ``cupyx.scipy.sparse``, which is cuSPARSE.

It has matrices of float32, float64 and complex numbers with indices of 32 bits, and looks at no index: all are
compared with the sizes first.  Narrow floating types are computed in float32, integers by gathering and atomic sums.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from minitorch.backends import NoKernel
from minitorch.backends.cuda.library import library
from minitorch.backends.cuda.overrides import override

_LARGEST = np.iinfo(np.int32).max
# The type in which sums of a type are made, where that is not the type itself.
_SUMS = {"b": np.int32, "h": np.int32, "B": np.uint32, "H": np.uint32, "l": np.uint64, "q": np.uint64}


@cache
def cupyx_sparse() -> Any:
    """Return ``cupyx.scipy.sparse``."""
    from cupyx.scipy import sparse  # type: ignore[import-not-found]

    return sparse


def check_indices(indices: Any, bound: int) -> None:
    """Raise IndexError unless all indices are in ``range(bound)``."""
    if indices.size:
        low, high = int(indices.min()), int(indices.max())
        if low < 0 or high >= bound:
            wrong = low if low < 0 else high
            raise IndexError(f"sparse product: index {wrong} is out of bounds for a dimension of size {bound}")


def check_offsets(offsets: Any, count: int) -> None:
    """Raise IndexError unless offsets rise from 0 to `count` at most."""
    if int(offsets[0]) < 0 or int(offsets[-1]) > count or bool((offsets[1:] < offsets[:-1]).any()):
        raise IndexError(f"sparse product: offsets of rows must rise from 0 to the number of entries, {count}")


def _wide(values: Any) -> Any:
    return values.astype(np.float32) if values.dtype.kind in "fV" and values.dtype.itemsize < 4 else values


def _rows_of(offsets: Any, count: int) -> Any:
    """Return the row of each entry."""
    entries = library().arange(count, dtype=offsets.dtype)
    return library().searchsorted(offsets, entries, side="right") - 1


def _matrix(offsets: Any, columns: Any, values: Any, count: int) -> Any:
    """Return the matrix of `count` columns whose segments are rows, or None for types that the library does not multiply."""
    if values.dtype.char not in "fdFD" or columns.size > _LARGEST or max(count, offsets.size) > _LARGEST:
        return None
    parts = values, columns.astype(np.int32), offsets.astype(np.int32)
    return cupyx_sparse().csr_matrix(parts, shape=(offsets.shape[0] - 1, count))


def _check_operands(columns: Any, values: Any, dense: Any) -> None:
    if dense.ndim != 2 or values.shape != columns.shape or values.dtype != dense.dtype:
        raise ValueError


@override("_segment_mm")
def segment_mm(offsets: Any, columns: Any, values: Any, dense: Any) -> Any:
    _check_operands(columns, values, dense)
    check_offsets(offsets, columns.size)
    check_indices(columns, dense.shape[0])
    matrix = _matrix(offsets, columns, _wide(values), dense.shape[0])
    if matrix is None or not columns.size or not dense.shape[1]:
        return _added(_rows_of(offsets, columns.size), columns, values, dense, offsets.shape[0] - 1)
    product = matrix @ library().ascontiguousarray(_wide(dense))
    return library().ascontiguousarray(product).astype(values.dtype, copy=False)


@override("_segment_mm_transposed")
def segment_mm_transposed(offsets: Any, columns: Any, values: Any, dense: Any, count: int) -> Any:
    _check_operands(columns, values, dense)
    check_offsets(offsets, columns.size)
    check_indices(columns, count)
    if dense.shape[0] != offsets.shape[0] - 1:
        raise ValueError
    matrix = _matrix(offsets, columns, _wide(values), count)
    if matrix is None or not columns.size or not dense.shape[1]:
        return _added(columns, _rows_of(offsets, columns.size), values, dense, count)
    product = matrix.T @ library().ascontiguousarray(_wide(dense))
    return library().ascontiguousarray(product).astype(values.dtype, copy=False)


@override("_entries_mm")
def entries_mm(rows: Any, columns: Any, values: Any, dense: Any, count: int) -> Any:
    _check_operands(columns, values, dense)
    check_indices(rows, count)
    check_indices(columns, dense.shape[0])
    order = library().argsort(rows)
    offsets = library().searchsorted(rows[order], library().arange(count + 1, dtype=rows.dtype))
    return segment_mm(offsets, columns[order], values[order], dense)


def _added(rows: Any, columns: Any, values: Any, dense: Any, count: int) -> Any:
    """Add up the products by atomic sums: integers, which wrap around alike in unsigned ones."""
    kind = _SUMS.get(values.dtype.char)
    wide, other = (_wide(values), _wide(dense)) if kind is None else (values.astype(kind), dense.astype(kind))
    out = library().zeros((count, dense.shape[1]), wide.dtype)
    if values.size and dense.shape[1]:
        library().add.at(out, rows, wide[:, None] * other[columns])
    return out.astype(values.dtype, copy=False)


@override("_sampled_products")
def sampled_products(rows: Any, columns: Any, mat1: Any, mat2: Any) -> Any:
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[1] or mat1.dtype != mat2.dtype:
        raise ValueError
    check_indices(rows, mat1.shape[0])
    check_indices(columns, mat2.shape[0])
    out = library().empty(rows.shape, mat1.dtype)
    step = max((1 << 24) // max(mat1.shape[1], 1), 1)
    for start in range(0, rows.size, step):
        part = slice(start, start + step)
        products = _wide(mat1[rows[part]]) * _wide(mat2[columns[part]])
        out[part] = products.sum(axis=1, dtype=products.dtype).astype(mat1.dtype)
    return out


@override("_segment_matmul")
def segment_matmul(
    offsets: Any, columns: Any, values: Any, other_offsets: Any, other_columns: Any, other_values: Any, count: int
) -> Any:
    inner = other_offsets.shape[0] - 1
    check_offsets(offsets, columns.size)
    check_offsets(other_offsets, other_columns.size)
    check_indices(columns, inner)
    check_indices(other_columns, count)
    left = _matrix(offsets, columns, _wide(values), inner)
    right = _matrix(other_offsets, other_columns, _wide(other_values), count)
    if left is None or right is None:
        raise NoKernel("cupyx multiplies sparse matrices of float32, float64 and complex numbers alone")
    product = left @ right
    product.sort_indices()
    return (
        product.indptr.astype(offsets.dtype),
        product.indices.astype(columns.dtype),
        product.data.astype(values.dtype),
    )
