"""Shapes, types and argument errors of normalization."""

from __future__ import annotations

import numpy as np

from minitorch.core.dtype import from_numpy_dtype
from minitorch.ops.shapes.activation import check_floating
from minitorch.ops.shapes.common import MetaArray, check, keeps_format
from minitorch.ops.shapes.registry import shape

FLOAT32 = np.dtype(np.float32)


def _statistics_dtype(dtype):
    """Return the type of means: float32 for narrow inputs."""
    return dtype if dtype.itemsize >= 4 else FLOAT32


def _check_channels(array, channels, what, name):
    check(
        array is None or array.shape == (channels,),
        f"{name}(): {what} should contain {channels} elements, one for each channel, got shape "
        f"{tuple(getattr(array, 'shape', ()))}",
    )


@shape("native_batch_norm")
@keeps_format
def native_batch_norm_shape(
    input, weight, bias, running_mean, running_var, training, momentum, eps
):
    name = "batch_norm"
    check_floating(input, name)
    if input.size == 0:
        statistics = MetaArray(input.shape[1:2], _statistics_dtype(input.dtype))
        return MetaArray(input.shape, input.dtype), statistics, statistics
    check(
        input.ndim >= 2,
        f"{name}(): expected an input with at least two dimensions, got shape {input.shape}",
    )
    channels = input.shape[1]
    for array, what in (
        (weight, "weight"),
        (bias, "bias"),
        (running_mean, "running_mean"),
        (running_var, "running_var"),
    ):
        _check_channels(array, channels, what, name)
    if not training:
        check(
            running_mean is not None and running_var is not None,
            f"{name}(): running_mean and running_var must be defined in evaluation mode",
        )
    statistics = MetaArray((channels,) if training else (0,), _statistics_dtype(input.dtype))
    return MetaArray(input.shape, input.dtype), statistics, statistics


@shape("native_batch_norm_backward")
def native_batch_norm_backward_shape(
    grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps,
    output_mask,
):  # fmt: skip
    check(
        grad_out.shape == input.shape,
        f"native_batch_norm_backward(): grad_out has shape {grad_out.shape}, input {input.shape}; "
        "they must be equal",
    )
    channels = MetaArray(input.shape[1:2], _statistics_dtype(input.dtype))
    need_input, need_weight, need_bias = output_mask
    return (
        MetaArray(input.shape, input.dtype) if need_input else None,
        channels if need_weight else None,
        channels if need_bias else None,
    )


def _normalized(input, normalized_shape, weight, bias, name):
    """Check a normalized shape, and return the shape of the statistics."""
    count = len(normalized_shape)
    normalized_shape = tuple(normalized_shape)
    check(
        count >= 1,
        f"{name}(): Expected normalized_shape to be at least 1-dimensional, i.e., containing at "
        f"least one element, but got normalized_shape = {list(normalized_shape)}",
    )
    check_floating(input, name)
    for array, what in ((weight, "weight"), (bias, "bias")):
        if array is None:
            continue
        check(
            array.shape == normalized_shape,
            f"{name}(): Expected {what} to be of same shape as normalized_shape, but got {what} "
            f"of shape {list(array.shape)} and normalized_shape = {list(normalized_shape)}",
        )
        if array.dtype != input.dtype and not (
            input.dtype.itemsize < 4 and array.dtype == FLOAT32
        ):
            raise RuntimeError(
                f"{name}(): expected scalar type {from_numpy_dtype(input.dtype).scalar_name} but "
                f"found {from_numpy_dtype(array.dtype).scalar_name} for {what}"
            )
    lead = input.ndim - count
    check(
        lead >= 0 and input.shape[lead:] == normalized_shape,
        f"{name}(): Given normalized_shape={list(normalized_shape)}, expected input with shape "
        f"[*, {', '.join(map(str, normalized_shape))}], but got input of size{list(input.shape)}",
    )
    return (*input.shape[:lead], *(1,) * count)


@shape("native_layer_norm")
def native_layer_norm_shape(input, normalized_shape, weight, bias, eps):
    kept = _normalized(input, normalized_shape, weight, bias, "layer_norm")
    statistics = MetaArray(kept, _statistics_dtype(input.dtype))
    return MetaArray(input.shape, input.dtype), statistics, statistics


@shape("native_layer_norm_backward")
def native_layer_norm_backward_shape(
    grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask
):
    _normalized(input, normalized_shape, weight, bias, "layer_norm_backward")
    check(
        grad_out.shape == input.shape,
        f"layer_norm_backward(): grad_out has shape {grad_out.shape}, input {input.shape}; they "
        "must be equal",
    )
    parameter = MetaArray(tuple(normalized_shape), _statistics_dtype(input.dtype))
    need_input, need_weight, need_bias = output_mask
    return (
        MetaArray(input.shape, input.dtype) if need_input else None,
        parameter if need_weight else None,
        parameter if need_bias else None,
    )


@shape("native_group_norm")
@keeps_format
def native_group_norm_shape(input, weight, bias, N, C, HxW, group, eps):
    name = "group_norm"
    check_floating(input, name)
    check(group > 0, f"{name}(): Expected num groups to be greater than 0, got {group}")
    check(
        C % group == 0,
        f"{name}(): Expected number of channels in input to be divisible by num_groups, but got "
        f"input of shape {list(input.shape)} and num_groups={group}",
    )
    for array, what in ((weight, "weight"), (bias, "bias")):
        _check_channels(array, C, what, name)
    check(
        input.size == N * C * HxW,
        f"{name}(): Expected input of {N} * {C} * {HxW} elements, got shape {list(input.shape)}",
    )
    statistics = MetaArray((N, group), _statistics_dtype(input.dtype))
    return MetaArray(input.shape, input.dtype), statistics, statistics


@shape("native_group_norm_backward")
def native_group_norm_backward_shape(
    grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask
):
    parameter = MetaArray((C,), _statistics_dtype(input.dtype))
    need_input, need_weight, need_bias = output_mask
    return (
        MetaArray(input.shape, input.dtype) if need_input else None,
        parameter if need_weight else None,
        parameter if need_bias else None,
    )


@shape("_fused_rms_norm")
def fused_rms_norm_shape(input, normalized_shape, weight, eps):
    kept = _normalized(input, normalized_shape, weight, None, "rms_norm")
    return MetaArray(input.shape, input.dtype), MetaArray(kept, _statistics_dtype(input.dtype))


@shape("_fused_rms_norm_backward")
def fused_rms_norm_backward_shape(grad_out, input, normalized_shape, rstd, weight, output_mask):
    need_input, need_weight = output_mask
    parameter = MetaArray(tuple(normalized_shape), _statistics_dtype(input.dtype))
    return (
        MetaArray(input.shape, input.dtype) if need_input else None,
        parameter if need_weight and weight is not None else None,
    )
