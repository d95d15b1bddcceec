"""`make_tensor`: random tensors for tests."""

from __future__ import annotations

import math
import warnings
from typing import Any

from minitorch.core.dtype import dtype as dtype_class
from minitorch.core.dtype import finfo, float32, iinfo
from minitorch.ops import functions as F


def make_tensor(
    *shape: Any,
    dtype: dtype_class,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """Return a tensor of random elements, evenly distributed over ``[low, high)``.

    Parameters
    ----------
    *shape : int, or one sequence of int
    dtype, device
        Of the result.
    low, high : float, optional
        By default -9 and 9 for floating and complex dtypes, -9 and 10 for integers, 0 and 10 for
        uint8, 0 and 2 for bool.  Cut to what the dtype can hold.
    requires_grad : bool
    noncontiguous : bool
        Leave gaps between the elements (if there are two or more).
    exclude_zero : bool
        Put the smallest positive value (1 for integers) in place of zeros.
    memory_format : memory_format, optional

    Raises
    ------
    ValueError
        For bounds that are not in order or not for the dtype, or options that exclude each other.

    Examples
    --------
    >>> make_tensor(2, 3, dtype=minitorch.float32, device="cpu", low=0, high=1).shape
    torch.Size([2, 3])
    """
    sizes = list(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else list(shape)
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and "
            f"{memory_format=}"
        )
    is_float = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not is_float:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}"
        )
    low, high = _bounds(dtype, low, high)
    spread = noncontiguous and math.prod(sizes) > 1
    drawn = [*sizes[:-1], 2 * sizes[-1]] if spread else sizes
    result = _uniform(drawn, dtype, device, low, high) if is_float else _integers(drawn, dtype, device, low, high)
    if spread:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = finfo(dtype).tiny if is_float else 1
    return result.requires_grad_() if requires_grad else result


def _bounds(dtype: dtype_class, low: float | None, high: float | None) -> tuple[Any, Any]:
    """Return the bounds to draw from: whole numbers for integers, `high` itself excluded."""
    if dtype.is_floating_point or dtype.is_complex:
        info = finfo(dtype)
        lowest, highest, defaults = info.min, info.max, (-9, 9)
    elif dtype.name == "bool":
        lowest, highest, defaults = 0, 2, (0, 2)
    else:
        integer_info = iinfo(dtype)
        # The greatest int64 cannot be drawn: the bound above it is no int64.
        lowest, highest = integer_info.min, min(integer_info.max + 1, 2**63 - 1)
        defaults = (0, 10) if dtype.name == "uint8" else (-9, 10)
    low = defaults[0] if low is None else low
    high = defaults[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and (dtype.is_floating_point or dtype.is_complex):
        warnings.warn(
            "Passing `low==high` to `make_tensor` for floating or complex types is deprecated. Use `full(...)` instead.",
            FutureWarning,
            stacklevel=4,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < lowest or low >= highest:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports [{lowest}, "
            f"{highest})"
        )
    low, high = max(low, lowest), min(high, highest)
    if dtype.is_floating_point or dtype.is_complex:
        return low, high
    return math.ceil(low), math.ceil(high)


def _uniform(sizes: list, dtype: dtype_class, device: Any, low: float, high: float) -> Any:
    if dtype.is_complex:
        parts = _uniform([*sizes, 2], dtype.to_real(), device, low, high)
        return F.view_as_complex(parts)
    if dtype.itemsize == 1:
        return _uniform(sizes, float32, device, low, high).to(dtype)
    result = F.empty(sizes, dtype=dtype, device=device)
    if high - low >= finfo(dtype).max:
        return result.uniform_(low / 2, high / 2).mul_(2)
    return result.uniform_(low, high)


def _integers(sizes: list, dtype: dtype_class, device: Any, low: int, high: int) -> Any:
    return F.randint(low, high, sizes, dtype=dtype, device=device)
