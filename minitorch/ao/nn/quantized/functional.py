"""Functions of quantized tensors, PyTorch's ``torch.ao.nn.quantized.functional``."""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch.nn import functional as F

__all__ = [
    "adaptive_avg_pool2d", "avg_pool2d", "clamp", "conv1d", "conv2d", "conv3d", "elu", "hardswish", "hardtanh", "interpolate",
    "leaky_relu", "linear", "max_pool1d", "max_pool2d", "relu",
]  # fmt: skip

adaptive_avg_pool2d = F.adaptive_avg_pool2d
avg_pool2d = F.avg_pool2d
max_pool1d = F.max_pool1d
max_pool2d = F.max_pool2d
interpolate = F.interpolate
relu = F.relu


def _listed(value: Any, count: int) -> list[int]:
    return [value] * count if isinstance(value, int) else list(value)


def _conv(rank: int, input: Any, parameters: tuple, geometry: tuple, padding_mode: str, scale: float, zero_point: int) -> Any:
    if padding_mode != "zeros":
        raise NotImplementedError(f"conv{rank}d: Only zero-padding is supported, not {padding_mode!r}")
    operators = minitorch.ops.quantized
    *sides, groups = geometry
    packed = getattr(operators, f"conv{rank}d_prepack")(*parameters, *[_listed(side, rank) for side in sides], groups)
    return getattr(operators, f"conv{rank}d")(input, packed, scale, zero_point)


def conv1d(
    input: Any, weight: Any, bias: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
    padding_mode: str = "zeros", scale: float = 1.0, zero_point: int = 0, dtype: Any = None,
) -> Any:  # fmt: skip
    """Return the convolution of a quantized (N, C, L) with a quantized weight, with a scale and zero point."""
    return _conv(1, input, (weight, bias), (stride, padding, dilation, groups), padding_mode, scale, zero_point)


def conv2d(
    input: Any, weight: Any, bias: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
    padding_mode: str = "zeros", scale: float = 1.0, zero_point: int = 0, dtype: Any = None,
) -> Any:  # fmt: skip
    """Return the convolution of a quantized (N, C, H, W) with a quantized weight, with a scale and zero point."""
    return _conv(2, input, (weight, bias), (stride, padding, dilation, groups), padding_mode, scale, zero_point)


def conv3d(
    input: Any, weight: Any, bias: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
    padding_mode: str = "zeros", scale: float = 1.0, zero_point: int = 0, dtype: Any = None,
) -> Any:  # fmt: skip
    """Return the convolution of a quantized (N, C, D, H, W) with a quantized weight, with a scale and zero point."""
    return _conv(3, input, (weight, bias), (stride, padding, dilation, groups), padding_mode, scale, zero_point)


def linear(input: Any, weight: Any, bias: Any = None, scale: float | None = None, zero_point: int | None = None) -> Any:
    """Return ``input @ weight.T + bias`` of quantized tensors; scale and zero point are the input's unless given."""
    packed = minitorch.ops.quantized.linear_prepack(weight, bias)
    scale = input.q_scale() if scale is None else scale
    zero_point = input.q_zero_point() if zero_point is None else zero_point
    return minitorch.ops.quantized.linear(input, packed, scale, zero_point)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """Return the numbers clamped, with their scale and zero point."""
    return F.hardtanh(input, min_val, max_val, inplace)


def clamp(input: Any, min_: float, max_: float) -> Any:
    """Return the numbers clamped, with their scale and zero point."""
    return minitorch.clamp(input, min_, max_)


def elu(input: Any, scale: float, zero_point: int, alpha: float = 1.0) -> Any:
    """Return `nn.functional.elu` with a scale and zero point."""
    return minitorch.ops.quantized.elu(input, scale, zero_point, alpha)


def hardswish(input: Any, scale: float, zero_point: int) -> Any:
    """Return `nn.functional.hardswish` with a scale and zero point."""
    return minitorch.ops.quantized.hardswish(input, scale, zero_point)


def leaky_relu(
    input: Any,
    negative_slope: float = 0.01,
    inplace: bool = False,
    scale: float | None = None,
    zero_point: int | None = None,
) -> Any:
    """Return `nn.functional.leaky_relu`, with a scale and zero point if they are given."""
    if scale is not None and zero_point is not None:
        return minitorch.ops.quantized.leaky_relu(input, negative_slope, inplace, scale, zero_point)
    return F.leaky_relu(input, negative_slope, inplace)
