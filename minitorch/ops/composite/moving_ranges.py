"""Fake quantization to the grid of moving averages of ranges, and how kernels choose a grid for a range."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.core.dtype import int32
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_implicit
from minitorch.ops.shapes.common import check, normalize_dim
from minitorch.tensor.creation import tensor

# Scales below it would overflow when they are inverted in half precision.
SMALLEST_SCALE = np.float32(6.1e-5)


def choose_qparams(
    min_val: Any, max_val: Any, quant_min: int, quant_max: int, symmetric: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return scales and zero points of ranges as kernels choose them, where they look at the numbers themselves.

    In double precision, and with the zero point from that end of the range whose error is smaller.

    Parameters
    ----------
    min_val, max_val : array_like, shape (n,), float32
    symmetric : bool
        Keep the zero point in the middle of ranges that contain 0 inside.

    Returns
    -------
    scale : ndarray, shape (n,), float32
    zero_point : ndarray, shape (n,), int32
    """
    low, high = np.array(min_val, np.float32, ndmin=1), np.array(max_val, np.float32, ndmin=1)
    inside = (low < 0) & (high > 0) if symmetric else np.zeros(low.shape, bool)
    half = (quant_max - quant_min) // 2
    with np.errstate(all="ignore"):
        # Division in float32, as the ends and the numbers of steps are.
        widest = np.maximum(np.abs(low / np.float32(-(half + 1))), np.abs(high / np.float32(half))).astype(np.float64)
        low = np.where(inside, (widest * -(half + 1)).astype(np.float32), low)
        high = np.where(inside, (widest * half).astype(np.float32), high)
        low, high = np.minimum(low, np.float32(0)), np.maximum(high, np.float32(0))
        scale = (high.astype(np.float64) - low) / (quant_max - quant_min)
        narrow = scale.astype(np.float32)
        scale = np.where((narrow == 0) | np.isinf(np.float32(1) / narrow), 0.1, scale)
        small = scale < SMALLEST_SCALE
        grown = SMALLEST_SCALE / scale.astype(np.float32)
        widest_range = SMALLEST_SCALE * np.float32(quant_max - quant_min)
        new_high = np.where(low == 0, widest_range, np.where(high == 0, high, high * grown))
        new_low = np.where(low == 0, low, np.where(high == 0, -widest_range, low * grown))
        low, high = np.where(small, new_low, low), np.where(small, new_high, high)
        scale = np.where(small, np.float64(SMALLEST_SCALE), scale)
        from_low, from_high = quant_min - low / scale, quant_max - high / scale
        error_low, error_high = abs(quant_min) + np.abs(low / scale), abs(quant_max) + np.abs(high / scale)
        zero_point = np.where(error_low < error_high, from_low, from_high)
        zero_point = np.where(inside, (quant_min + quant_max) / 2, zero_point)
        zero_point = np.clip(np.round(zero_point), quant_min, quant_max)
    return scale.astype(np.float32), zero_point.astype(np.int32)


def _ranges(self, ch_axis, per_row):
    """Return the least and the greatest number, of each channel where there is a row for each."""
    if not per_row:
        low, high = F.aminmax(self)
        return low.reshape([1]), high.reshape([1])
    rows = F.flatten(F.movedim(self, ch_axis, 0), 1)
    return F.aminmax(rows, dim=1)


def _average(running, newest, constant):
    """Take the newest ends of ranges into their moving average, in place; the first are taken as they are."""
    newest = newest.to(running.dtype)
    if running.numel() == newest.numel() and not F.isinf(running).all():
        newest = running.reshape(newest.shape) + constant * (newest - running.reshape(newest.shape))
    if running.numel() != newest.numel():
        running.resize_(newest.shape)
    running.copy_(newest.reshape(running.shape))


def _choose(running_min, running_max, scale, zero_point, quant_min, quant_max, symmetric):
    low, high = (t.detach().cpu().numpy().reshape(-1) for t in (running_min, running_max))
    for target, chosen in zip((scale, zero_point), choose_qparams(low, high, quant_min, quant_max, symmetric), strict=True):
        if target.numel() != len(chosen):
            target.resize_([len(chosen)])
        target.copy_(tensor(chosen.tolist(), dtype=target.dtype, device=target.device).reshape(target.shape))


@composite_implicit("fused_moving_avg_obs_fake_quant")
def fused_moving_avg_obs_fake_quant(
    self, observer_on, fake_quant_on, running_min, running_max, scale, zero_point, averaging_const, quant_min, quant_max,
    ch_axis, per_row_fake_quant=False, symmetric_quant=False,
):  # fmt: skip
    name = "fused_moving_avg_obs_fake_quant"
    if per_row_fake_quant:
        check(ch_axis < self.dim(), f"{name}: ch_axis must be < self.dim(), but they are {ch_axis} and {self.dim()}")
        ch_axis = normalize_dim(ch_axis, self.dim())
    check(
        zero_point.dtype is int32 or zero_point.is_floating_point(),
        f"{name}: zero_point must be int32 or floating, but its dtype is {zero_point.dtype}",
    )
    if self.numel() == 0:
        return self
    if observer_on.reshape([-1])[0].item():
        for running, newest in zip((running_min, running_max), _ranges(self.detach(), ch_axis, per_row_fake_quant), strict=True):
            _average(running, newest, averaging_const)
    if not fake_quant_on.reshape([-1])[0].item():
        return F.clone(self)
    if running_min.numel() and not F.isinf(running_min).any():  # something was seen
        _choose(running_min, running_max, scale, zero_point, quant_min, quant_max, symmetric_quant)
    if per_row_fake_quant:
        return F.fake_quantize_per_channel_affine(self, scale, zero_point, ch_axis, quant_min, quant_max)
    return F.fake_quantize_per_tensor_affine(self, scale, zero_point, quant_min, quant_max)
