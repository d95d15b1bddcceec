"""Reductions and normalizations of the elements that a mask selects, as torch.masked.

A mask is a bool tensor that broadcasts to the input; where it is False an element does not take
part.  Without a mask all do.  What nothing takes part in is the reduction's identity (0 for a
sum), or NaN where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from typing import Any

from minitorch.core.dtype import bool_, float32, iinfo, int64
from minitorch.ops import functions as F

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

_Dims = int | Sequence[int] | None


def _masked(input: Any, mask: Any, value: float, name: str) -> Any:
    """Return `input` with `value` where the mask is False."""
    return input if mask is None else F.where(_expanded(input, mask, name), input, value)


def _expanded(input: Any, mask: Any, name: str) -> Any:
    if mask.dim() > input.dim():
        raise IndexError(
            f"{name}(): the mask must broadcast to the input, but has {mask.dim()} dimensions where the input has "
            f"{input.dim()}"
        )
    return mask.to(bool_).expand(input.shape)


def _dims(input: Any, dim: _Dims, name: str) -> list[int]:
    """Return the dimensions to reduce, counted from the front; None stands for all."""
    ndim = input.dim()
    if dim is None:
        return list(range(ndim))
    given = [dim] if isinstance(dim, int) else list(dim)
    if not given:
        given = [0]
    bound = max(ndim, 1)
    for d in given:
        if not -bound <= d < bound:
            raise IndexError(
                f"{name}(): Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {d})"
            )
    result = [d % bound for d in given]
    if len(set(result)) != len(result):
        raise RuntimeError(f"{name}(): a dimension appears multiple times in dim={dim}")
    return result if ndim else []


def _is_floating(dtype: Any) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def _with_dtype(input: Any, dtype: Any, widen: bool = False) -> Any:
    """Return `input` in the type of the result; small integers are summed in int64."""
    if dtype is None and widen and not _is_floating(input.dtype):
        dtype = int64
    return input if dtype is None else input.to(dtype)


def _lowest(dtype: Any) -> Any:
    if dtype.is_floating_point:
        return -inf
    return False if dtype is bool_ else iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    if dtype.is_floating_point:
        return inf
    return True if dtype is bool_ else iinfo(dtype).max


# ---------------------------------------------------------------- reductions


def sum(input: Any, dim: _Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """Return the sum of the selected elements."""
    input = _with_dtype(input, dtype, True)
    dims = _dims(input, dim, "sum")
    input = _masked(input, mask, 0, "sum")
    return F.sum(input, dims, bool(keepdim)) if dims else input.clone()


def prod(input: Any, dim: _Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """Return the product of the selected elements."""
    input = _with_dtype(input, dtype, True)
    dims = _dims(input, dim, "prod")
    input = _masked(input, mask, 1, "prod")
    for d in sorted(dims, reverse=True):
        input = F.prod(input, d, bool(keepdim))
    return input if dims else input.clone()


def amax(input: Any, dim: _Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """Return the largest of the selected elements."""
    input = _with_dtype(input, dtype)
    dims = _dims(input, dim, "amax")
    return F.amax(_masked(input, mask, _lowest(input.dtype), "amax"), dims, bool(keepdim))


def amin(input: Any, dim: _Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """Return the smallest of the selected elements."""
    input = _with_dtype(input, dtype)
    dims = _dims(input, dim, "amin")
    return F.amin(_masked(input, mask, _highest(input.dtype), "amin"), dims, bool(keepdim))


def argmax(input: Any, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """Return the position of the largest selected element, in the type of the input as PyTorch does."""
    input = _with_dtype(input, dtype)
    found = F.argmax(_masked(input, mask, _lowest(input.dtype), "argmax"), dim, bool(keepdim))
    return found.to(input.dtype)


def argmin(input: Any, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """Return the position of the smallest selected element, in the type of the input as PyTorch does."""
    input = _with_dtype(input, dtype)
    found = F.argmin(_masked(input, mask, _highest(input.dtype), "argmin"), dim, bool(keepdim))
    return found.to(input.dtype)


def _counts(input: Any, dims: list[int], keepdim: bool, mask: Any, name: str) -> Any:
    """Return how many elements take part."""
    if mask is None:
        chosen = F.ones([1] * input.dim(), dtype=int64, device=input.device).expand(input.shape)
    else:
        chosen = _expanded(input, mask, name).to(int64)
    return F.sum(chosen, dims, keepdim) if dims else chosen


def mean(input: Any, dim: _Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """Return the mean of the selected elements."""
    if dtype is None and not _is_floating(input.dtype):
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {input.dtype}"
        )
    input = _with_dtype(input, dtype)
    dims = _dims(input, dim, "mean")
    total = sum(input, dim, keepdim=keepdim, mask=mask)
    return total / _counts(input, dims, bool(keepdim), mask, "mean")


def median(input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """Return the (lower) median of the selected elements."""
    input = _with_dtype(input, dtype)
    if not input.dtype.is_floating_point:
        if mask is not None and not bool(_expanded(input, mask, "median").all()):
            raise ValueError("median(): masked-out elements are only supported for floating types; pass dtype=")
        return F.median(input, dim, keepdim)[0]
    return F.nanmedian(_masked(input, mask, nan, "median"), dim, keepdim)[0]


def logsumexp(input: Any, dim: _Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """Return the logarithm of the sum of the exponentials of the selected elements."""
    input = _with_dtype(input, dtype)
    dims = _dims(input, dim, "logsumexp")
    least = -inf if _is_floating(input.dtype) else _lowest(input.dtype)
    return F.logsumexp(_masked(input, mask, least, "logsumexp"), dims, keepdim).to(input.dtype)


def logaddexp(input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None) -> Any:
    """Return ``log(exp(input) + exp(other))``; what is not selected adds nothing."""
    input, other = _with_dtype(input, dtype), _with_dtype(other, dtype)
    return F.logaddexp(_masked(input, input_mask, -inf, "logaddexp"), _masked(other, other_mask, -inf, "logaddexp"))


def norm(
    input: Any, ord: float | None = 2.0, dim: _Dims = None, *, keepdim: bool = False, dtype: Any = None,
    mask: Any = None,
) -> Any:  # fmt: skip
    """Return a norm of the selected elements, as a vector."""
    input = _with_dtype(input, dtype)
    order = 2.0 if ord is None else float(ord)
    dims = _dims(input, dim, "norm")
    return F.linalg_vector_norm(_masked(input, mask, inf if order == -inf else 0.0, "norm"), order, dims, bool(keepdim))


def _variance(
    input: Any, dim: _Dims, unbiased: bool | None, correction: float | None, keepdim: bool, dtype: Any, mask: Any,
    name: str,
) -> Any:  # fmt: skip
    if unbiased is not None and correction is not None:
        raise RuntimeError(f"{name}(): give either unbiased or correction, not both")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    if dtype is None and not _is_floating(input.dtype):
        dtype = float32
    input = _with_dtype(input, dtype)
    dims = _dims(input, dim, name)
    counts = _counts(input, dims, True, mask, name)
    center = F.sum(_masked(input, mask, 0, name), dims, True) / counts if dims else input
    distance = _masked(input - center, mask, 0, name)
    squares = F.real(distance * F.conj(distance)) if input.is_complex() else distance * distance
    total = F.sum(squares, dims, True) if dims else squares
    result = total / F.clamp_min((counts - correction).to(squares.dtype), 0)
    result = result.to(input.dtype)  # complex for a complex input, as in PyTorch
    if keepdim:
        return result
    for d in sorted(dims, reverse=True):
        result = F.squeeze(result, d)
    return result


def var(
    input: Any, dim: _Dims = None, unbiased: bool | None = None, *, correction: float | None = None,
    keepdim: bool = False, dtype: Any = None, mask: Any = None,
) -> Any:  # fmt: skip
    """Return the variance of the selected elements."""
    return _variance(input, dim, unbiased, correction, bool(keepdim), dtype, mask, "var")


def std(
    input: Any, dim: _Dims = None, unbiased: bool | None = None, *, correction: float | None = None,
    keepdim: bool = False, dtype: Any = None, mask: Any = None,
) -> Any:  # fmt: skip
    """Return the standard deviation of the selected elements."""
    return F.sqrt(_variance(input, dim, unbiased, correction, bool(keepdim), dtype, mask, "std"))


# ---------------------------------------------------------------- along a dimension


def cumsum(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Return the running sums of the selected elements."""
    return F.cumsum(_masked(_with_dtype(input, dtype, True), mask, 0, "cumsum"), dim)


def cumprod(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Return the running products of the selected elements."""
    return F.cumprod(_masked(_with_dtype(input, dtype, True), mask, 1, "cumprod"), dim)


def softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Return the softmax over the selected elements, 0 elsewhere."""
    return F.softmax(_masked(_with_dtype(input, dtype), mask, -inf, "softmax"), dim)


def log_softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Return the logarithm of the softmax over the selected elements."""
    return F.log_softmax(_masked(_with_dtype(input, dtype), mask, -inf, "log_softmax"), dim)


def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Return the softmax of the negated selected elements, 0 elsewhere."""
    return F.softmax(-_masked(_with_dtype(input, dtype), mask, inf, "softmin"), dim)


def normalize(input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None) -> Any:
    """Return the selected elements divided by their norm, 0 elsewhere."""
    input = _with_dtype(input, dtype)
    length = norm(input, ord, dim, keepdim=True, mask=mask)
    return _masked(input, mask, 0, "normalize") / F.clamp_min(length, eps)
