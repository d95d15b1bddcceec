"""Shapes of products of what sparse matrices consist of."""

from __future__ import annotations

from minitorch.errors import NeedsElementsError
from minitorch.ops.shapes.common import MetaArray, check
from minitorch.ops.shapes.registry import shape


def _check_entries(name, columns, values, dense):
    check(dense.ndim == 2, f"{name}(): the dense operand must be a matrix, but has {dense.ndim} dimensions")
    check(
        columns.ndim == 1 and values.shape == columns.shape,
        f"{name}(): there must be a value for each of {tuple(columns.shape)} indices, but they have shape {tuple(values.shape)}",
    )
    check(
        values.dtype == dense.dtype,
        f"{name}(): expected operands to have the same dtype, but got: {values.dtype} != {dense.dtype}",
    )


@shape("_segment_mm")
def segment_mm_shape(offsets, columns, values, dense):
    _check_entries("_segment_mm", columns, values, dense)
    return MetaArray((offsets.shape[0] - 1, dense.shape[1]), values.dtype)


@shape("_segment_mm_transposed")
def segment_mm_transposed_shape(offsets, columns, values, dense, count):
    _check_entries("_segment_mm_transposed", columns, values, dense)
    check(
        offsets.shape[0] - 1 == dense.shape[0],
        f"_segment_mm_transposed(): there are {offsets.shape[0] - 1} segments and {dense.shape[0]} rows",
    )
    return MetaArray((count, dense.shape[1]), values.dtype)


@shape("_entries_mm")
def entries_mm_shape(rows, columns, values, dense, count):
    _check_entries("_entries_mm", columns, values, dense)
    return MetaArray((count, dense.shape[1]), values.dtype)


@shape("_sampled_products")
def sampled_products_shape(rows, columns, mat1, mat2):
    check(
        mat1.ndim == 2 and mat2.ndim == 2 and mat1.shape[1] == mat2.shape[1],
        f"_sampled_products(): rows of different lengths: {tuple(mat1.shape)} and {tuple(mat2.shape)}",
    )
    return MetaArray(rows.shape, mat1.dtype)


@shape("_segment_matmul")
def segment_matmul_shape(offsets, columns, values, other_offsets, other_columns, other_values, count):
    raise NeedsElementsError("_segment_matmul", "how many entries a product of sparse matrices has")


@shape("_segment_solve")
def segment_solve_shape(offsets, columns, values, dense):
    _check_entries("_segment_solve", columns, values, dense)
    return MetaArray(dense.shape, dense.dtype)
