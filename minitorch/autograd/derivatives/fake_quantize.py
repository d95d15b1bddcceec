"""Derivatives of fake quantization: the gradient passes straight through where the grid was not left."""

from __future__ import annotations

from minitorch.autograd.derivatives.registry import derivative
from minitorch.ops import functions as F


def _where_kept(backward):
    return lambda grads, mask: None if grads[0] is None else backward(grads[0], mask)


derivative(
    "fake_quantize_per_tensor_affine_cachemask",
    self=_where_kept(lambda grad, mask: F.fake_quantize_per_tensor_affine_cachemask_backward(grad, mask)),
)
derivative(
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    self=_where_kept(lambda grad, mask: F.fake_quantize_per_tensor_affine_cachemask_backward(grad, mask)),
)
derivative(
    "fake_quantize_per_channel_affine_cachemask",
    self=_where_kept(lambda grad, mask: F.fake_quantize_per_channel_affine_cachemask_backward(grad, mask)),
)


def learnable_per_tensor_backward(needs, grad, self, scale, zero_point, quant_min, quant_max, grad_factor):
    return F._fake_quantize_learnable_per_tensor_affine_backward(
        grad, self, scale, zero_point, quant_min, quant_max, grad_factor
    )


def learnable_per_channel_backward(needs, grad, self, scale, zero_point, axis, quant_min, quant_max, grad_factor):
    return F._fake_quantize_learnable_per_channel_affine_backward(
        grad, self, scale, zero_point, axis, quant_min, quant_max, grad_factor
    )


LEARNED = ("self", "scale", "zero_point")
derivative("_fake_quantize_learnable_per_tensor_affine", jointly={LEARNED: learnable_per_tensor_backward})
derivative("_fake_quantize_learnable_per_channel_affine", jointly={LEARNED: learnable_per_channel_backward})
