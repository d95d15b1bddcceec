"""Axes, shapes and result types of reductions, as NumPy has them."""

from __future__ import annotations

import numpy as np

from minitorch.backends.opencl.ctypes import BOOL, FLOAT32, INT64, is_narrow

_UINT64 = np.dtype(np.uint64)
_WIDENED = {
    **{np.dtype(t): INT64 for t in ("?", "i1", "i2", "i4", "i8")},
    **{np.dtype(t): _UINT64 for t in ("u1", "u2", "u4", "u8")},
}


def normal_axes(axis, ndim: int) -> tuple[int, ...]:
    """Return an ``axis`` argument as sorted places.

    Raises
    ------
    numpy.exceptions.AxisError
        If there is no such axis.
    ValueError
        If one is named twice.
    """
    if axis is None:
        return tuple(range(ndim))
    axes = []
    for a in axis if isinstance(axis, (tuple, list)) else (axis,):
        place = int(a)
        if ndim == 0 and place in (0, -1):
            continue
        if not -ndim <= place < ndim:
            raise np.exceptions.AxisError(place, ndim)
        axes.append(place % ndim)
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(axes))


def reduced_shape(shape, axes, keepdims: bool) -> tuple:
    """Return the shape that is left."""
    if keepdims:
        return tuple([1 if a in axes else n for a, n in enumerate(shape)])
    return tuple([n for a, n in enumerate(shape) if a not in axes])


def sum_dtype(op: str, dtype: np.dtype) -> np.dtype:
    """Return NumPy's result type of a reduction."""
    if op.startswith("logical_"):
        return BOOL
    return _WIDENED.get(dtype, dtype) if op in ("add", "multiply") else dtype


def wide_type(dtype: np.dtype) -> np.dtype:
    """Return the type to compute in: float32 for float16 and bfloat16, else the type itself."""
    return FLOAT32 if is_narrow(dtype) else dtype
