"""Fake quantization: floating numbers rounded to those that a quantized tensor could hold.

Note [The grid of fake quantization]
    An element x becomes ``(clamp(round(x * (1 / scale)) + zero_point, quant_min, quant_max) - zero_point) * scale``, where the
    rounding is half to even, and the reciprocal is computed in float32 whatever the type of x; so is, for one scale, the last
    product.  So training sees what a quantized tensor of the same parameters dequantizes to, save for ties: there the
    zero point is added before the rounding, as PyTorch's kernels do either.  Here a zero point that is floating (of
    embeddings) is as well.  NaN goes to the lower end of the grid, infinities to the ends.

Written with dense operators, so that it runs on every device; the gradient passes where the grid was not left.
"""

from __future__ import annotations

import numpy as np

from minitorch.core.dtype import bool_, float32, float64, int32, int64
from minitorch.ops import functions as F
from minitorch.ops.composite import moving_ranges  # noqa: F401 - the rest of the family
from minitorch.ops.composite.registry import composite_explicit, composite_implicit
from minitorch.ops.shapes.common import check, normalize_dim
from minitorch.tensor.wrapper import has_elements, has_values


def _check_range(quant_min, quant_max, name):
    check(
        quant_min <= quant_max,
        f"{name}: `quant_min` should be less than or equal to `quant_max`, but they are {quant_min} and {quant_max}",
    )


def _check_floating(self, name):
    check(
        self.is_floating_point(),
        f'"{name}" not implemented for {self.dtype}: what is fake quantized must be floating; convert it with .to(float32)',
        NotImplementedError,
    )


def _to_grid(self, inverse, scale, zero_point, quant_min, quant_max, round_last=False):
    """Return `self` on the grid, and where it had not left it (see the Note above)."""
    wide = self if self.dtype in (float32, float64) else self.to(float32)
    scaled = F.mul(wide, inverse)
    steps = F.round(F.add(scaled, zero_point)) if round_last else F.add(F.round(scaled), zero_point)
    mask = F.logical_and(F.ge(steps, quant_min), F.le(steps, quant_max))
    kept = F.nan_to_num(F.clamp(steps, quant_min, quant_max), nan=float(quant_min))
    kept = F.sub(kept, zero_point)
    if scale.__class__ is float or not scale.dim():
        kept = kept.to(float32)
    return F.mul(kept, scale).to(self.dtype), mask


# ---------------------------------------------------------------- one scale for the whole tensor


@composite_implicit("fake_quantize_per_tensor_affine")
def fake_quantize_per_tensor_affine(self, scale, zero_point, quant_min, quant_max):
    return F.fake_quantize_per_tensor_affine_cachemask(self, scale, zero_point, quant_min, quant_max)[0]


@composite_explicit("fake_quantize_per_tensor_affine_cachemask")
def fake_quantize_per_tensor_affine_cachemask(self, scale, zero_point, quant_min, quant_max):
    name = "fake_quantize_per_tensor_affine"
    _check_floating(self, name)
    _check_range(quant_min, quant_max, name)
    check(
        quant_min <= zero_point <= quant_max,
        f"{name}: `zero_point` must be between `quant_min` and `quant_max`, but {zero_point} is not in "
        f"[{quant_min}, {quant_max}]",
    )
    with np.errstate(all="ignore"):
        narrow = np.float32(scale)
        inverse = np.float32(1) / narrow
    return _to_grid(self, float(inverse), float(narrow), zero_point, quant_min, quant_max)


@composite_implicit("fake_quantize_per_tensor_affine.tensor_qparams")
def fake_quantize_per_tensor_affine_tensor_qparams(self, scale, zero_point, quant_min, quant_max):
    enabled = F.new_ones(self, [1], dtype=int64)
    return F._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
        self, scale, zero_point, enabled, quant_min, quant_max
    )[0]


def _single(tensor, what, name):
    check(
        tensor.numel() == 1,
        f"{name}: {what} must have one element, but has shape {list(tensor.shape)}; for one of each channel there is "
        "fake_quantize_per_channel_affine",
    )
    return tensor.reshape([])


@composite_explicit("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams")
def fake_quantize_cachemask_tensor_qparams(self, scale, zero_point, fake_quant_enabled, quant_min, quant_max):
    name = "fake_quantize_per_tensor_affine"
    _check_floating(self, name)
    _check_range(quant_min, quant_max, name)
    scale = _single(scale, "scale", name).to(float32)
    # Integers of the grid are exact in float32; the type of `self` then decides that of the steps.
    zero_point = _single(zero_point, "zero_point", name).to(int32)
    enabled = _single(fake_quant_enabled, "fake_quant_enabled", name) != 0
    output, mask = _to_grid(self, F.reciprocal(scale), scale, zero_point, quant_min, quant_max)
    return F.where(enabled, output, self), F.logical_or(mask, F.logical_not(enabled))


@composite_implicit(
    "fake_quantize_per_tensor_affine_cachemask_backward", "fake_quantize_per_channel_affine_cachemask_backward"
)
def fake_quantize_cachemask_backward(grad, mask):
    name = "fake_quantize_cachemask_backward"
    check(mask.dtype is bool_, f"{name}: mask must be bool, but its dtype is {mask.dtype}")
    check(
        mask.numel() == grad.numel(),
        f"{name}: `mask` and `grad` are not the same size: `mask` has {mask.numel()} elements and `grad` {grad.numel()}",
    )
    return F.mul(grad, mask)


# ---------------------------------------------------------------- one scale for each channel


def _channel_parameters(self, scale, zero_point, axis, name):
    """Return the parameters as tensors that broadcast with `self`, after the checks that both forms share."""
    check(scale.dim() == 1, f"{name}: scale should be a 1-D tensor, but has shape {list(scale.shape)}")
    check(zero_point.dim() == 1, f"{name}: zero_point should be a 1-D tensor, but has shape {list(zero_point.shape)}")
    check(
        scale.numel() == zero_point.numel(),
        f"{name}: scale and zero-point need to have the same dimensions, but there are {scale.numel()} scales and "
        f"{zero_point.numel()} zero points",
    )
    normalize_dim(axis, self.dim())
    check(
        axis >= 0,
        f"{name}: `axis` must be between 0 and number of dimensions of input, but is {axis}; count from the front",
    )
    check(
        scale.numel() == self.size(axis),
        f"{name}: dimensions of scale and zero-point are not consistent with input tensor: there are {scale.numel()} scales, "
        f"and dimension {axis} of the input has size {self.size(axis)}",
    )
    shape = [1] * self.dim()
    shape[axis] = scale.numel()
    return scale.reshape(shape).to(float32), zero_point.reshape(shape)


@composite_implicit("fake_quantize_per_channel_affine")
def fake_quantize_per_channel_affine(self, scale, zero_point, axis, quant_min, quant_max):
    return F.fake_quantize_per_channel_affine_cachemask(self, scale, zero_point, axis, quant_min, quant_max)[0]


@composite_explicit("fake_quantize_per_channel_affine_cachemask")
def fake_quantize_per_channel_affine_cachemask(self, scale, zero_point, axis, quant_min, quant_max):
    name = "fake_quantize_per_channel_affine"
    _check_floating(self, name)
    _check_range(quant_min, quant_max, name)
    check(
        scale.dtype.name in ("float32", "bfloat16"),
        f"{name}: scale must be float32 or bfloat16, but its dtype is {scale.dtype}",
    )
    check(
        zero_point.dtype is int32 or zero_point.is_floating_point(),
        f"{name}: zero_point must be int32 or floating, but its dtype is {zero_point.dtype}; convert it with .to(int32)",
    )
    scale, zero_point = _channel_parameters(self, scale, zero_point, axis, name)
    if not zero_point.is_floating_point() and has_values(zero_point) and has_elements(zero_point):
        low, high = zero_point.min().item(), zero_point.max().item()
        check(
            quant_min <= low and high <= quant_max,
            f"{name}: `zero_point` must be between `quant_min` and `quant_max`, but they range from {low} to {high}, which "
            f"is not in [{quant_min}, {quant_max}]",
        )
    round_last = zero_point.is_floating_point()
    return _to_grid(self, F.reciprocal(scale), scale, zero_point, quant_min, quant_max, round_last)


# ---------------------------------------------------------------- learnable parameters


def _checked_learnable(scale, zero_point, quant_min, quant_max, name):
    check(scale.dtype is float32, f"{name}: scale must be float32, but its dtype is {scale.dtype}")
    check(
        zero_point.dtype is float32,
        f"{name}: zero_point must be float32, as it is learned, but its dtype is {zero_point.dtype}",
    )
    check(
        quant_min <= 0 <= quant_max,
        f"{name}: `quant_min` must be at most 0 and `quant_max` at least 0, but they are {quant_min} and {quant_max}",
    )


def _first(tensor, what, name):
    check(tensor.dim() > 0, f"{name}: {what} must have shape [1], but has no dimension", IndexError)
    return F.select(tensor, 0, 0)


def _learnable(self, scale, zero_point, quant_min, quant_max):
    """Return `self` on the grid whose zero point is the nearest integer, where it had not left it, and that zero point.

    Half to even, for results and for gradients; PyTorch's gradient for one scale takes halves up.
    """
    nearest = F.clamp(F.round(zero_point), quant_min, quant_max)
    output, mask = _to_grid(self, F.reciprocal(scale), scale, nearest, quant_min, quant_max)
    return output, mask, nearest


def _learnable_gradients(grad, self, scale, zero_point, quant_min, quant_max, grad_factor):
    """Return the gradients of the input, and, for each element, of the scale and the zero point."""
    output, mask, nearest = _learnable(self, scale, zero_point, quant_min, quant_max)
    inverse = F.reciprocal(scale)
    below = F.add(F.round(F.mul(self, inverse)), nearest) < quant_min
    outside = F.where(below, F.sub(quant_min, nearest), F.sub(quant_max, nearest))
    slope = F.where(mask, F.mul(F.sub(output, self), inverse), outside)
    for_scale = F.mul(F.mul(grad, slope), grad_factor)
    for_zero_point = F.mul(F.where(mask, F.zeros_like(grad), F.mul(grad, F.neg(scale))), grad_factor)
    return F.mul(grad, mask), for_scale, for_zero_point


@composite_explicit("_fake_quantize_learnable_per_tensor_affine")
def fake_quantize_learnable_per_tensor_affine(self, scale, zero_point, quant_min, quant_max, grad_factor=1.0):
    name = "_fake_quantize_learnable_per_tensor_affine"
    _check_floating(self, name)
    _checked_learnable(scale, zero_point, quant_min, quant_max, name)
    return _learnable(self, _first(scale, "scale", name), _first(zero_point, "zero_point", name), quant_min, quant_max)[0]


@composite_implicit("_fake_quantize_learnable_per_tensor_affine_backward")
def fake_quantize_learnable_per_tensor_affine_backward(
    grad, self, scale, zero_point, quant_min, quant_max, grad_factor=1.0
):
    name = "_fake_quantize_learnable_per_tensor_affine"
    _checked_learnable(scale, zero_point, quant_min, quant_max, name)
    first = _first(scale, "scale", name), _first(zero_point, "zero_point", name)
    input_grad, for_scale, for_zero_point = _learnable_gradients(grad, self, *first, quant_min, quant_max, grad_factor)
    return input_grad, for_scale.sum().reshape([1]), for_zero_point.sum().reshape([1])


@composite_explicit("_fake_quantize_learnable_per_channel_affine")
def fake_quantize_learnable_per_channel_affine(self, scale, zero_point, axis, quant_min, quant_max, grad_factor=1.0):
    name = "_fake_quantize_learnable_per_channel_affine"
    _check_floating(self, name)
    _checked_learnable(scale, zero_point, quant_min, quant_max, name)
    scale, zero_point = _channel_parameters(self, scale, zero_point, axis, name)
    return _learnable(self, scale, zero_point, quant_min, quant_max)[0]


@composite_implicit("_fake_quantize_learnable_per_channel_affine_backward")
def fake_quantize_learnable_per_channel_affine_backward(
    grad, self, scale, zero_point, axis, quant_min, quant_max, grad_factor=1.0
):
    name = "_fake_quantize_learnable_per_channel_affine"
    _checked_learnable(scale, zero_point, quant_min, quant_max, name)
    wide_scale, wide_zero_point = _channel_parameters(self, scale, zero_point, axis, name)
    input_grad, for_scale, for_zero_point = _learnable_gradients(
        grad, self, wide_scale, wide_zero_point, quant_min, quant_max, grad_factor
    )
    others = [d for d in range(self.dim()) if d != axis]
    if others:
        for_scale, for_zero_point = for_scale.sum(others), for_zero_point.sum(others)
    return input_grad, for_scale, for_zero_point
