"""Derivatives through quantization, straight: rounding counts as the identity, and what saturates gets no gradient."""

from minitorch.autograd.derivatives.registry import derivative
from minitorch.core.dtype import quantized_limits
from minitorch.ops import functions as F


def _where_inside(grad, self, inverse, zero_point, dtype):
    """Return the gradient where a value was not clamped."""
    low, high = quantized_limits(dtype)
    place = F.round(F.add(F.mul(self, inverse), zero_point))
    return F.mul(grad, F.logical_and(F.ge(place, low), F.le(place, high)))


def _per_tensor(grad, self, scale, zero_point, dtype):
    return _where_inside(grad, self, 1.0 / scale if scale else float("inf"), zero_point, dtype)


def _per_channel(grad, self, scales, zero_points, axis, dtype):
    shape = [-1 if i == axis else 1 for i in range(self.ndim)]
    inverse = F.reshape(F.to(F.reciprocal(scales), self.dtype), shape)
    return _where_inside(grad, self, inverse, F.reshape(F.to(zero_points, self.dtype), shape), dtype)


def _dynamic(grad):
    return grad


derivative(
    "quantize_per_tensor",
    self=_per_tensor,
    result=lambda self_p, self_t, scale, zero_point, dtype: _per_tensor(self_t, self_p, scale, zero_point, dtype),
)
derivative(
    "quantize_per_tensor.tensor_qparams",
    self=lambda grad, self, scale, zero_point, dtype: _per_tensor(grad, self, scale.item(), zero_point.item(), dtype),
)
derivative(
    "quantize_per_tensor.tensors",
    tensors=lambda grads, tensors, scales, zero_points, dtype: [
        None if g is None else _per_tensor(g, t, s, z, dtype)
        for g, t, s, z in zip(grads, tensors, scales.tolist(), zero_points.tolist(), strict=True)
    ],
)
derivative("quantize_per_tensor_dynamic", self=_dynamic, result=lambda self_t: self_t)
derivative(
    "quantize_per_channel",
    self=_per_channel,
    result=lambda self_p, self_t, scales, zero_points, axis, dtype: _per_channel(
        self_t, self_p, scales, zero_points, axis, dtype
    ),
)
derivative("dequantize.self", self=lambda grad: grad, result=lambda self_t: self_t)
derivative("int_repr")
