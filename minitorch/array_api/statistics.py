"""Statistical and utility functions: reductions along `axis` (an int, several, none of them, or all), and cumulations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import minitorch as mt
from minitorch.array_api.data_types import SIGNED, UNSIGNED, result_type
from minitorch.ops.shapes.common import normalize_dims, reduced_shape

Axis = int | tuple[int, ...] | None


def _axes(x: mt.Tensor, axis: Axis) -> tuple[mt.Tensor, tuple[int, ...]]:
    """Return an array and its axes such that reducing these is reducing `axis` of `x`, also with ``keepdim``.

    For PyTorch no axes means all of them, for the standard none: then a new last axis of one element is reduced.
    """
    if axis is None:
        return x, tuple(range(x.ndim))
    if isinstance(axis, int):
        return x, (axis,)
    if axis or not x.ndim:
        return x, tuple(axis)
    return x.unsqueeze(-1), (-1,)


def _reduce(kernel: Callable[..., mt.Tensor], x: mt.Tensor, axis: Axis, keepdims: bool, **arguments: Any) -> mt.Tensor:
    expanded, axes = _axes(x, axis)
    result = kernel(expanded, axes, keepdim=keepdims, **arguments)
    return result.squeeze(-1) if keepdims and expanded is not x else result


def _prod(x: mt.Tensor, axes: tuple[int, ...], keepdim: bool, dtype: Any) -> mt.Tensor:
    """Return products over several axes: `minitorch.prod` takes one, so they are made one."""
    axes = normalize_dims(axes, x.ndim, "prod")
    kept = [a for a in range(x.ndim) if a not in axes]
    merged = mt.permute(x, (*kept, *axes)).reshape([*(x.shape[a] for a in kept), math.prod(x.shape[a] for a in axes)])
    result = mt.prod(merged, -1, dtype=dtype)
    return result.reshape(reduced_shape(x.shape, axes, True)) if keepdim else result


def _accumulated_dtype(x: mt.Tensor, dtype: Any) -> Any:
    """Return the type of a sum or product: integers are widened to 64 bits, signed or not as they are."""
    if dtype is not None:
        return dtype
    if x.dtype in SIGNED or x.dtype is mt.bool:
        return mt.int64
    return mt.uint64 if x.dtype in UNSIGNED else x.dtype


def sum(x: mt.Tensor, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> mt.Tensor:
    """Return the sums along `axis`. Integers are added in 64 bits, unsigned ones in uint64."""
    return _reduce(mt.sum, x, axis, keepdims, dtype=_accumulated_dtype(x, dtype))


def prod(x: mt.Tensor, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> mt.Tensor:
    """Return the products along `axis`. Integers are multiplied in 64 bits, unsigned ones in uint64."""
    return _reduce(_prod, x, axis, keepdims, dtype=_accumulated_dtype(x, dtype))


def max(x: mt.Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> mt.Tensor:
    """Return the largest elements along `axis`; NaN where there is one."""
    return _reduce(mt.amax, x, axis, keepdims)


def min(x: mt.Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> mt.Tensor:
    """Return the smallest elements along `axis`; NaN where there is one."""
    return _reduce(mt.amin, x, axis, keepdims)


def mean(x: mt.Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> mt.Tensor:
    """Return the means along `axis`."""
    return _reduce(mt.mean, x, axis, keepdims)


def var(x: mt.Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> mt.Tensor:
    """Return the variances along `axis`: squared distances to the mean, over the count less `correction`."""
    return _reduce(mt.var, x, axis, keepdims, correction=correction)


def std(x: mt.Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> mt.Tensor:
    """Return the standard deviations along `axis`: the roots of `var`."""
    return _reduce(mt.std, x, axis, keepdims, correction=correction)


def all(x: mt.Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> mt.Tensor:
    """Return whether all elements along `axis` are true (not zero), as bools."""
    return _reduce(mt.all, x.to(mt.bool), axis, keepdims)


def any(x: mt.Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> mt.Tensor:
    """Return whether any element along `axis` is true (not zero), as bools."""
    return _reduce(mt.any, x.to(mt.bool), axis, keepdims)


def count_nonzero(x: mt.Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> mt.Tensor:
    """Return how many elements along `axis` are not zero, as int64."""
    return _reduce(mt.sum, x.to(mt.bool), axis, keepdims)


def _cumulate(
    kernel: Callable[..., mt.Tensor],
    initial: int,
    x: mt.Tensor,
    axis: int | None,
    dtype: Any,
    include_initial: bool,
) -> mt.Tensor:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(
                f"{kernel.__name__}: axis is needed for an array of {x.ndim} dimensions; only one has a default"
            )
        axis = 0
    result = kernel(x, axis, dtype=_accumulated_dtype(x, dtype))
    if not include_initial:
        return result
    shape = list(x.shape)
    shape[axis] = 1
    return mt.cat([mt.full(shape, initial, dtype=result.dtype, device=x.device), result], axis)


def cumulative_sum(
    x: mt.Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> mt.Tensor:
    """Return the sums of the first elements along `axis`; with the sum of none, 0, before them if `include_initial`.

    Raises
    ------
    ValueError
        If `axis` is None and `x` has not just one dimension.
    """
    return _cumulate(mt.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: mt.Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> mt.Tensor:
    """Return the products of the first elements along `axis`; with that of none, 1, before them if `include_initial`.

    Raises
    ------
    ValueError
        If `axis` is None and `x` has not just one dimension.
    """
    return _cumulate(mt.cumprod, 1, x, axis, dtype, include_initial)


def diff(
    x: mt.Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: mt.Tensor | None = None,
    append: mt.Tensor | None = None,
) -> mt.Tensor:
    """Return the differences of neighbours along `axis`, `n` times, after joining `prepend` and `append` to `x`."""
    parts = [part for part in (prepend, x, append) if part is not None]
    kind = result_type(*parts)
    return mt.diff(mt.cat([part.to(kind) for part in parts], axis) if len(parts) > 1 else x, n=n, dim=axis)
