"""Ranges of quantized dtypes, and the parameters that map a range of numbers to one."""

from __future__ import annotations

import warnings
from typing import Any

import minitorch

PER_CHANNEL_SCHEMES = ("per_channel_affine", "per_channel_symmetric", "per_channel_affine_float_qparams")

# Bits and signedness of what a dtype holds.
_BITS = {
    "qint8": (8, True), "int8": (8, True), "quint8": (8, False), "uint8": (8, False), "qint32": (32, True), "int32": (32, True),
    "int16": (16, True), "uint16": (16, False), "quint4x2": (4, False), "quint2x4": (2, False),
}  # fmt: skip
SYMMETRIC = ("per_tensor_symmetric", "per_channel_symmetric")


def scheme_name(qscheme: Any) -> str:
    """Return ``"per_tensor_affine"`` of `minitorch.per_tensor_affine`; empty for None."""
    return "" if qscheme is None else qscheme.name


def is_per_channel(qscheme: Any) -> bool:
    """Return whether a scheme has parameters of each channel."""
    return scheme_name(qscheme) in PER_CHANNEL_SCHEMES


def is_per_tensor(qscheme: Any) -> bool:
    """Return whether a scheme has one scale and zero point for the whole tensor."""
    return scheme_name(qscheme) in ("per_tensor_affine", "per_tensor_symmetric")


def is_quantizable_dtype(dtype: Any) -> bool:
    """Return whether tensors of a dtype hold integers of a grid."""
    return getattr(dtype, "name", None) in _BITS


def bits_of(dtype: Any) -> int:
    """Return how many bits an element of a dtype has: 8 of quint8, 4 of quint4x2."""
    return _BITS[dtype.name][0]


def dtype_range(dtype: Any) -> tuple[int, int]:
    """Return the least and the greatest integer of a dtype.

    Raises
    ------
    ValueError
        If it is no dtype of quantized tensors.
    """
    if not is_quantizable_dtype(dtype):
        raise ValueError(
            f"{dtype} has no range to quantize to; use qint8, quint8, qint32, quint4x2 or an integer dtype"
        )
    bits, signed = _BITS[dtype.name]
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)


def quantization_range(quant_min: int | None, quant_max: int | None, dtype: Any, reduce_range: bool) -> tuple[int, int]:
    """Return the range of integers of an observer: that of its dtype or a given one, halved where it is reduced.

    Raises
    ------
    AssertionError
        If the given range does not fit the dtype, or does not contain 0.
    """
    if quant_min is None or quant_max is None:
        low, high = dtype_range(dtype)
    else:
        check_range(quant_min, quant_max)
        low, high = quant_min, quant_max
        limit = 2 ** bits_of(dtype)
        if not 0 < high - low + 1 <= limit:
            raise AssertionError(
                f"the quantization range [{low}, {high}] has {high - low + 1} numbers; of {dtype} "
                f"it must be positive and not exceed {limit}"
            )
    return (low // 2, high // 2) if reduce_range else (low, high)


def check_range(quant_min: int, quant_max: int) -> None:
    """Raise `AssertionError` unless a range of integers contains 0, and is none of a single number."""
    if not quant_min <= 0 <= quant_max:
        raise AssertionError(f"a quantization range must include 0, but it is [{quant_min}, {quant_max}]")
    if not quant_min < quant_max:
        raise AssertionError(f"quant_min must be less than quant_max, but they are {quant_min} and {quant_max}")


def has_valid_range(min_val: Any, max_val: Any) -> bool:
    """Return whether an observer has seen something; warn if not.

    Raises
    ------
    AssertionError
        If a minimum exceeds its maximum.
    """
    if min_val.numel() == 0 or max_val.numel() == 0:
        seen = False
    elif min_val.dim() == 0 or max_val.dim() == 0:
        seen = not (min_val == float("inf") and max_val == float("-inf"))
        if seen and not min_val <= max_val:
            raise AssertionError(
                f"the observed minimum {min_val.item()} should be less than the maximum {max_val.item()}"
            )
    else:
        seen = True
        if not (min_val <= max_val).all():
            raise AssertionError(
                f"the observed minima {min_val.tolist()} should be less than the maxima {max_val.tolist()}"
            )
    if not seen:
        warnings.warn(
            "an observer has seen nothing yet: its scale is 1 and its zero point 0; run the model on examples before its "
            "parameters are asked for",
            stacklevel=4,
        )
    return seen


def determine_qparams(
    min_val: Any, max_val: Any, quant_min: int, quant_max: int, dtype: Any, eps: Any, custom_range: bool, qscheme: Any
) -> tuple[Any, Any]:
    """Return the scale and zero point for numbers between `min_val` and `max_val`.

    The range is widened to contain 0, so that 0 stays exact.  A symmetric scheme takes the same range on both sides; its zero
    point is 0, or the middle of an unsigned range.  With floating parameters (of embeddings) the range is taken as it is.

    Parameters
    ----------
    min_val, max_val : Tensor, shape () or (channels,), float32
    eps : Tensor, shape (1,)
        The least scale.
    custom_range : bool
        Whether `quant_min` and `quant_max` were given rather than those of the dtype.

    Returns
    -------
    scale : Tensor, shape (1,) or (channels,), float32
    zero_point : Tensor, of the same shape, int32, int64 of a symmetric scheme, floating for per_channel_affine_float_qparams
    """
    if not has_valid_range(min_val, max_val):
        return minitorch.tensor([1.0], device=min_val.device), minitorch.tensor([0], device=min_val.device)
    name = scheme_name(qscheme)
    low = minitorch.minimum(min_val, minitorch.zeros_like(min_val))
    high = minitorch.maximum(max_val, minitorch.zeros_like(max_val))
    steps = float(quant_max - quant_min)
    eps = eps.reshape([])
    zero_point = minitorch.zeros(low.size(), dtype=minitorch.int64, device=low.device)
    if name in SYMMETRIC:
        high = minitorch.maximum(-low, high)
        scale = minitorch.maximum(high / (steps / 2), eps)
        if dtype.name in ("quint8", "uint8"):
            zero_point = zero_point.new_full(zero_point.size(), (quant_min + quant_max) // 2 if custom_range else 128)
        elif dtype.name == "uint16":
            zero_point = zero_point.new_full(zero_point.size(), 2**15)
    elif name == "per_channel_affine_float_qparams":
        scale = (max_val - min_val) / steps
        scale = minitorch.where(scale > eps, scale, minitorch.ones_like(scale))
        zero_point = -1 * min_val / scale
    else:
        scale = minitorch.maximum((high - low) / steps, eps)
        zero_point = quant_min - minitorch.round(low / scale).to(minitorch.int32)
        zero_point = minitorch.clamp(zero_point, quant_min, quant_max)
    if not scale.dim():
        scale, zero_point = scale.reshape([1]), zero_point.reshape([1])
    return scale, zero_point
