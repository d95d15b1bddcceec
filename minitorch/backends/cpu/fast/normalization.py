"""Layer and batch normalization of float32 arrays, forward and backward, each row or channel in cache."""

from __future__ import annotations

from math import prod

import numpy as np

from minitorch.backends.cpu.fast.loops_in_use import LOOPS, fits

f = np.float32


def _fitting(*optional) -> bool:
    return all(a is None or fits(a) for a in optional)


# ---------------------------------------------------------------- layer norm


_PARTS = 16


def layer_norm_kernel(xp, input, normalized_shape, weight, bias, eps):
    count = len(normalized_shape)
    shape = tuple(normalized_shape)
    n = prod(shape)
    if (
        not count
        or not n
        or input.shape[input.ndim - count :] != shape
        or not fits(input)
        or not _fitting(weight, bias)
    ):
        return NotImplemented
    if (weight is not None and weight.shape != shape) or (bias is not None and bias.shape != shape):
        return NotImplemented
    lead = input.shape[: input.ndim - count]
    rows = prod(lead)
    out = xp.empty(input.shape, input.dtype)
    mean, rstd = xp.empty(rows, input.dtype), xp.empty(rows, input.dtype)
    LOOPS.layer_norm_loop(
        input.reshape(rows, n), None if weight is None else weight.reshape(n), None if bias is None else bias.reshape(n),
        f(1.0 / n), f(eps), out.reshape(rows, n), mean, rstd,
    )  # fmt: skip
    kept = lead + (1,) * count
    return out, mean.reshape(kept), rstd.reshape(kept)


def layer_norm_backward_kernel(xp, grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask):
    if not fits(grad_out, input, mean, rstd) or not _fitting(weight) or grad_out.shape != input.shape:
        return NotImplemented
    n = prod(normalized_shape)
    rows = mean.size
    if rows * n != input.size:
        return NotImplemented
    grad, x = grad_out.reshape(rows, n), input.reshape(rows, n)
    mean, rstd = mean.reshape(rows), rstd.reshape(rows)
    need_input, need_weight, need_bias = output_mask
    grad_input = grad_weight = grad_bias = None
    if need_weight or need_bias:
        weight_parts, bias_parts = xp.zeros((2, min(_PARTS, rows), n), input.dtype)
        LOOPS.layer_norm_parameters_loop(grad, x, mean, rstd, weight_parts, bias_parts)
        if need_weight:
            grad_weight = xp.add.reduce(weight_parts, 0).reshape(normalized_shape)
        if need_bias:
            grad_bias = xp.add.reduce(bias_parts, 0).reshape(normalized_shape)
    if need_input:
        grad_input = xp.empty(input.shape, input.dtype)
        LOOPS.layer_norm_input_loop(
            grad, x, mean, rstd, None if weight is None else weight.reshape(n), f(1.0 / n), grad_input.reshape(rows, n)
        )
    return grad_input, grad_weight, grad_bias


# ---------------------------------------------------------------- batch norm


_SHORT_PLANE = 8  # shorter ones are the innermost loop's overhead


def _planes(array):
    return array.reshape(array.shape[0], array.shape[1], -1)


def _batch_fits(input, *parameters) -> bool:
    if input.ndim < 3 or not input.size or not fits(input) or prod(input.shape[2:]) < _SHORT_PLANE:
        return False
    return all(p is None or (fits(p) and p.shape == (input.shape[1],)) for p in parameters)


def batch_norm_kernel(xp, input, weight, bias, running_mean, running_var, training, momentum, eps):
    if not _batch_fits(input, weight, bias, running_mean, running_var):
        return NotImplemented
    x = _planes(input)
    channels = input.shape[1]
    dtype = input.dtype
    out = xp.empty(input.shape, dtype)
    if not training:
        if running_mean is None or running_var is None:
            return NotImplemented
        scale = 1.0 / xp.sqrt(running_var + f(eps))
        if weight is not None:
            scale *= weight
        shift = -running_mean * scale
        if bias is not None:
            shift += bias
        LOOPS.affine_loop(x, scale, shift, _planes(out))
        empty = xp.empty((0,), dtype)
        return out, empty, empty.copy()
    mean, square = xp.empty(channels, dtype), xp.empty(channels, dtype)
    LOOPS.batch_norm_statistics_loop(x, mean, square)
    n = x.shape[0] * x.shape[2]
    if running_mean is not None:
        _move(running_mean, mean, momentum)
    if running_var is not None:
        _move(running_var, square / (n - 1) if n > 1 else square * xp.nan, momentum)
    invstd = 1.0 / xp.sqrt(square / n + f(eps))
    scale = invstd if weight is None else invstd * weight
    LOOPS.normalize_loop(x, mean, scale, xp.zeros(channels, dtype) if bias is None else bias, _planes(out))
    return out, mean, invstd


def _move(running, value, momentum) -> None:
    running[...] = running * f(1.0 - momentum) + value * f(momentum)


def batch_norm_backward_kernel(
    xp, grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask
):
    if grad_out.shape != input.shape or not fits(grad_out) or not _batch_fits(input, weight):
        return NotImplemented
    channels = input.shape[1]
    if train:
        mean, invstd = save_mean, save_invstd
        if not _batch_fits(input, mean, invstd):
            return NotImplemented
    else:
        if running_mean is None or running_var is None or not _batch_fits(input, running_mean, running_var):
            return NotImplemented
        mean, invstd = running_mean, 1.0 / xp.sqrt(running_var + f(eps))
    need_input, need_weight, need_bias = output_mask
    grad, x = _planes(grad_out), _planes(input)
    total, dot = xp.empty((2, channels), input.dtype)
    LOOPS.batch_norm_sums_loop(grad, x, mean, total, dot)
    grad_input = None
    if need_input:
        scale = invstd if weight is None else invstd * weight
        grad_input = xp.empty(input.shape, input.dtype)
        if train:
            share = f(1.0 / (x.shape[0] * x.shape[2]))
            slope, centre = dot * invstd * invstd * share, total * share
            LOOPS.batch_norm_input_loop(grad, x, mean, scale, slope, centre, _planes(grad_input))
        else:
            LOOPS.affine_loop(grad, scale, xp.zeros(channels, input.dtype), _planes(grad_input))
    return grad_input, dot * invstd if need_weight else None, total if need_bias else None


KERNELS = {
    "native_layer_norm": layer_norm_kernel,
    "native_layer_norm_backward": layer_norm_backward_kernel,
    "native_batch_norm": batch_norm_kernel,
    "native_batch_norm_backward": batch_norm_backward_kernel,
}
