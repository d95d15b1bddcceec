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


def choose_qparams(x: Any, dtype: dtype_class, reduce_range: bool) -> PerTensor:
    """Return the parameters that cover the values of a float32 tensor.

    `reduce_range` leaves one bit unused.
    """
    low, high = quantized_limits(dtype)
    if reduce_range:
        low, high = (low // 2, high // 2)
    if not x.numel():
        return params_of_range(0.0, 0.0, low, high)
    least, greatest = F.aminmax(x)
    return params_of_range(float(least.item()), float(greatest.item()), low, high)
