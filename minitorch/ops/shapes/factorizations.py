"""Shapes, types and argument errors of factorizations."""

from __future__ import annotations

import numpy as np

from minitorch.core.dtype import from_numpy_dtype
from minitorch.ops.shapes.common import MetaArray, broadcast_shapes, check
from minitorch.ops.shapes.registry import shape

INT32 = np.dtype(np.int32)


def by_columns(shape_, dtype) -> MetaArray:
    """Return matrices whose columns are contiguous, as LAPACK keeps them."""
    rows = shape_[-2]
    strides, step = [], dtype.itemsize * max(shape_[-1], 1) * max(rows, 1)
    for n in reversed(shape_[:-2]):
        strides.insert(0, step)
        step *= max(n, 1)
    return MetaArray(shape_, dtype, (*strides, dtype.itemsize, dtype.itemsize * max(rows, 1)))


def _check_square(array, name):
    check(
        array.ndim >= 2 and array.shape[-1] == array.shape[-2],
        f"{name}: A must be batches of square matrices, but they have shape {list(array.shape)}",
    )
    check(
        array.dtype.char in "fdFD",
        f"{name}: Expected a floating point or complex tensor as input. Got "
        f"{from_numpy_dtype(array.dtype).scalar_name}",
    )


@shape("linalg_ldl_factor_ex")
def ldl_factor_shape(self, *, hermitian=False, check_errors=False):
    _check_square(self, "linalg.ldl_factor_ex")
    return (
        by_columns(self.shape, self.dtype), MetaArray(self.shape[:-1], INT32), MetaArray(self.shape[:-2], INT32),
    )  # fmt: skip


@shape("linalg_ldl_solve")
def ldl_solve_shape(LD, pivots, B, *, hermitian=False):
    name = "linalg.ldl_solve"
    _check_square(LD, name)
    check(B.ndim >= 2, f"{name}: Expected B to have at least 2 dimensions, but it has {B.ndim} dimensions instead")
    check(
        B.shape[-2] == LD.shape[-1],
        f"{name}: Incompatible shapes of LD and B: {list(LD.shape)} and {list(B.shape)}; each column of B must have as "
        "many elements as LD has rows",
    )
    check(
        pivots.shape == LD.shape[:-1],
        f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
        f"{list(pivots.shape)} instead",
    )
    check(pivots.dtype.kind in "iu", f"{name}: Expected pivots to be integers. Got {pivots.dtype}")
    check(
        LD.dtype == B.dtype,
        f"{name}: LD dtype {from_numpy_dtype(LD.dtype).name} does not match b dtype {from_numpy_dtype(B.dtype).name}",
    )
    return by_columns((*broadcast_shapes(LD.shape[:-2], B.shape[:-2]), *B.shape[-2:]), B.dtype)
