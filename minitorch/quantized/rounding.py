"""How numbers become integers, and integers numbers again.

Note [The rounding rule]
    ``q = clamp(round(x * (1 / scale) + zero_point))``: half to even, the reciprocal rounded to float32, the sum rounded to
    float32 before it is rounded to an integer.  Of 8 bits and one scale the product is not rounded before the zero point is
    added; of all others it is, to float32.  That is PyTorch's arithmetic where its kernels are those for AVX2, with fused
    multiplications, bit for bit.  It is computed in float64, where the product of two float32 is exact, so that no device
    can round in another way: the operators before the last rounding are all exact, whether fused or not.

    Infinities saturate.  NaN becomes what it becomes there: the greatest integer (one scale, 8 bits), the integer 0 (a scale
    for each channel, 8 bits), the least one (qint32).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.core.dtype import dtype as dtype_class
from minitorch.core.dtype import float32, float64, int32, qint32, quantized_limits, uint8
from minitorch.ops import functions as F
from minitorch.quantized.handle import INTEGERS, PACKED, PerChannel, PerTensor


def float32_of(value: float) -> float:
    """Return a Python float rounded to float32."""
    with np.errstate(all="ignore"):
        return float(np.float32(value))


def reciprocal(scale: float) -> float:
    """Return ``1 / scale`` as kernels multiply with it: rounded to float32."""
    with np.errstate(all="ignore"):
        return float(np.float32(1) / np.float32(scale))


def _along(values: Any, ndim: int, axis: int) -> Any:
    """Return a row of values as a tensor that broadcasts along `axis`."""
    return F.reshape(values, [-1 if i == axis else 1 for i in range(ndim)])


def _rounded(wide: Any, low: int, high: int, nan: int, dtype: dtype_class) -> Any:
    """Return float64 values, rounded to float32 and then to integers between two bounds.

    `fmin` and `fmax` take the other operand for NaN, so that their order says which bound it becomes.
    """
    # The bounds of qint32 are exact in float64 alone.
    work = float64 if dtype is int32 else float32
    values = F.to(F.round_(F.to(wide, float32)), work)
    least, greatest = (F.full([], float(bound), dtype=work, device=wide.device) for bound in (low, high))
    if nan == high:
        return F.to(F.fmax(F.fmin(values, greatest), least), dtype)
    if nan != low:
        values = F.masked_fill_(values, F.isnan(values), float(nan))
    return F.to(F.fmin(F.fmax(values, least), greatest), dtype)


def quantize_ints(x: Any, params: PerTensor | PerChannel, dtype: dtype_class) -> Any:
    """Return the integers of float32 values (Note [The rounding rule])."""
    low, high = quantized_limits(dtype)
    kind = INTEGERS[dtype]
    wide = F.to(x, float64)
    if isinstance(params, PerTensor):
        product = F.mul(wide, reciprocal(params.scale))
        if dtype is qint32:
            product = F.to(F.to(product, float32), float64)
            return _rounded(F.add(product, float32_of(params.zero_point)), low, high, low, kind)
        return _rounded(F.add_(product, params.zero_point) if params.zero_point else product, low, high, high, kind)
    inverse = F.to(F.reciprocal(F.to(F.to(params.scales, float32), float64)), float32)
    if params.float_qparams:  # a scale of 0 counts as 1
        inverse = F.masked_fill(inverse, F.eq(F.to(params.scales, float32), 0), 1.0)
    inverse = _along(F.to(inverse, float64), x.ndim, params.axis)
    zero_points = _along(F.to(F.to(params.zero_points, float32), float64), x.ndim, params.axis)
    product = F.mul(wide, inverse)
    if not params.float_qparams:
        product = F.to(F.to(product, float32), float64)
    return _rounded(F.add(product, zero_points), low, high, low if dtype is qint32 else 0, kind)


def dequantize_ints(ints: Any, params: PerTensor | PerChannel) -> Any:
    """Return the float32 values that integers stand for.

    With one scale ``scale * (q - zero_point)``, where scale is a float32 and the difference an int32 (which wraps as one)
    made a float32.  With a scale for each channel the difference is one of float32, and the product is computed in float64 and
    rounded once.
    """
    if isinstance(params, PerTensor):
        difference = F.sub(F.to(ints, int32), params.zero_point) if params.zero_point else ints
        return F.mul(F.to(difference, float32), float32_of(params.scale))
    zero_points = _along(F.to(params.zero_points, float32), ints.ndim, params.axis)
    difference = F.sub(F.to(ints, float32), zero_points)
    if params.float_qparams:
        return F.mul(difference, _along(params.scales, ints.ndim, params.axis))
    return F.to(F.mul(F.to(difference, float64), _along(params.scales, ints.ndim, params.axis)), float32)


def pack(ints: Any, dtype: dtype_class) -> Any:
    """Return small integers as a row of bytes, several in each, the first in the lowest bits."""
    count = PACKED[dtype]
    bits = 8 // count
    flat = F.reshape(ints, [-1])
    missing = -flat.numel() % count
    if missing:
        flat = F.constant_pad_nd(flat, [0, missing])
    parts = F.unbind(F.to(F.reshape(flat, [-1, count]), int32), 1)
    result = parts[0]
    for place, part in enumerate(parts[1:], 1):
        result = F.add(result, F.mul(part, 1 << (bits * place)))
    return F.to(result, uint8)


def unpack(packed: Any, dtype: dtype_class, shape: tuple) -> Any:
    """Return the integers of a row of bytes, one an element: uint8."""
    count = PACKED[dtype]
    bits = 8 // count
    wide = F.to(packed, int32)
    parts = [
        F.bitwise_and(F.bitwise_right_shift(wide, bits * place) if place else wide, (1 << bits) - 1)
        for place in range(count)
    ]
    size = 1
    for n in shape:
        size *= n
    flat = F.slice(F.reshape(F.stack(parts, 1), [-1]), 0, 0, size)
    return F.to(F.reshape(flat, list(shape)), uint8)
