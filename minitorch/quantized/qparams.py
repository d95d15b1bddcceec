"""Scales and zero points chosen from the range of values."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.core.dtype import dtype as dtype_class
from minitorch.core.dtype import quantized_limits
from minitorch.ops import functions as F
from minitorch.quantized.handle import PerTensor

_SMALL_SCALE = float(np.float32(6.1e-5))


def params_of_range(least: float, greatest: float, low: int, high: int) -> PerTensor:
    """Return the affine parameters by which integers from `low` to `high` cover a range of numbers, widened to have 0.

    The zero point is the integer nearest to 0's place, computed from the end of the range where the error is smaller; a
    scale below 6.1e-5 is widened to it.
    """
    with np.errstate(all="ignore"):
        least, greatest = min(least, 0.0), max(greatest, 0.0)
        scale = float((np.float64(greatest) - least) / (high - low))
        if np.float32(scale) == 0 or np.isinf(np.float32(1) / np.float32(scale)):
            scale = 0.1
        if scale < _SMALL_SCALE:
            wider = np.float32(_SMALL_SCALE) / np.float32(scale)
            scale = _SMALL_SCALE
            if least == 0.0:
                greatest = float(np.float32(scale * (high - low)))
            elif greatest == 0.0:
                least = -float(np.float32(scale * (high - low)))
            else:
                least, greatest = float(np.float32(least) * wider), float(np.float32(greatest) * wider)
        from_least = low - least / scale
        from_greatest = high - greatest / scale
        error_least = abs(low) - abs(least / scale)
        error_greatest = abs(high) - abs(greatest / scale)
        place = from_least if error_least < error_greatest else from_greatest
        if not np.isfinite(place):
            return PerTensor(scale, 0)
        zero_point = low if place < low else high if place > high else int(np.rint(place))
    return PerTensor(scale, zero_point)


def choose_qparams(name: str, x: Any, dtype: dtype_class, reduce_range: bool) -> PerTensor:
    """Return the parameters that cover the values of a float32 tensor.

    `reduce_range` leaves one bit unused.

    Raises
    ------
    RuntimeError
        If a value is infinite or NaN; `name` is the operator that cannot have that.
    """
    low, high = quantized_limits(dtype)
    if reduce_range:
        low, high = (low // 2, high // 2)
    if not x.numel():
        return params_of_range(0.0, 0.0, low, high)
    least, greatest = (float(v.item()) for v in F.aminmax(x))
    if not np.isfinite(greatest - least):
        raise RuntimeError(
            f"{name}: no scale covers the values, which go from {least} to {greatest}: the least one should be less than or "
            "equal to the greatest one, and both finite. Remove infinities and NaN (nan_to_num, clamp), or compute with floats "
            "(dequantize())"
        )
    return params_of_range(least, greatest, low, high)


def narrowed_range(row: Any, n_bins: int, ratio: float, bit_width: int) -> tuple[Any, Any]:
    """Return the range for which a row of float32 numbers loses least when it is quantized with few bits.

    From both ends the range is narrowed in steps of one bin, each time at the end where that costs less, until ``1 - ratio``
    of it is left; the range before the first step that makes the loss greater is taken, wherever it is the best so far.
    """
    single = np.float32
    least, greatest = single(row.min()), single(row.max())
    step = single((greatest - least) / single(n_bins))
    narrowest = single(int(n_bins * (1.0 - single(ratio)))) * step
    low, high, best_range = least, greatest, (least, greatest)
    loss = best = _loss(row, low, high, bit_width)
    while low + narrowest < high:
        left, right = _loss(row, low + step, high, bit_width), _loss(row, low, high - step, bit_width)
        if loss < left and loss < right and loss < best:
            best, best_range = loss, (low, high)
        if left < right:
            low, loss = low + step, left
        else:
            high, loss = high - step, right
    return best_range


def _loss(row: Any, low: Any, high: Any, bit_width: int) -> Any:
    """Return the distance of a row from itself quantized, with parameters of float16."""
    low = np.float32(np.float16(low))
    top = np.float32((1 << bit_width) - 1)
    span = np.float32(high) - low
    scale = np.float32(np.float16(span / top)) if span else np.float32(1)
    inverse = np.float32(1) / scale if scale else np.float32(1)
    rounded = np.clip(np.rint((row - low) * inverse), 0, top) * scale + low
    return np.sqrt(np.square(row - rounded).sum(dtype=np.float32))
