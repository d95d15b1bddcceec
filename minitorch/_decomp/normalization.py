"""Normalizations and their gradients, made of means and element-wise operators."""

from __future__ import annotations

from minitorch._decomp.common import decomposition, widened
from minitorch.ops import functions as F


def _normalized(x, dims, eps):
    """Return x with mean 0 and variance 1 over some dimensions, the mean, and 1 / standard deviation."""
    mean = F.mean(x, dims, True)
    off = x - mean
    rstd = F.rsqrt(F.mean(off * off, dims, True) + eps)
    return off * rstd, mean, rstd


# The statistics of half formats are kept in float32.


@decomposition("native_layer_norm", rounds_once=False)
def native_layer_norm(input, normalized_shape, weight, bias, eps):
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    out, mean, rstd = _normalized(widened(input), dims, eps)
    if weight is not None:
        out = out * widened(weight)
    if bias is not None:
        out = out + widened(bias)
    return out.to(input.dtype), mean, rstd


@decomposition("native_layer_norm_backward", rounds_once=False)
def native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask):
    lead = input.dim() - len(normalized_shape)
    inner, outer = list(range(lead, input.dim())), list(range(lead))
    grad = widened(grad_out)
    z = (widened(input) - mean) * rstd
    by_z = grad if weight is None else grad * widened(weight)
    d_input = d_weight = d_bias = None
    if output_mask[0]:
        d_input = ((by_z - F.mean(by_z, inner, True) - z * F.mean(by_z * z, inner, True)) * rstd).to(input.dtype)
    if output_mask[1] and weight is not None:
        d_weight = F.sum(grad * z, outer) if outer else grad * z
    if output_mask[2] and bias is not None:
        d_bias = F.sum(grad, outer) if outer else F.clone(grad)
    return d_input, d_weight, d_bias


@decomposition("native_group_norm", rounds_once=False)
def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    x = F.reshape(widened(input), [N, group, -1])
    out, mean, rstd = _normalized(x, [2], eps)
    out = F.reshape(out, list(input.shape))
    shape = [1, C] + [1] * (input.dim() - 2)
    if weight is not None:
        out = out * F.reshape(widened(weight), shape)
    if bias is not None:
        out = out + F.reshape(widened(bias), shape)
    return out.to(input.dtype), F.reshape(mean, [N, group]), F.reshape(rstd, [N, group])


def _by_channel(t, x):
    """Return a tensor with one element a channel in the shape that broadcasts to `x`."""
    return F.reshape(t, [1, x.shape[1]] + [1] * (x.dim() - 2))


def _channel_dims(x):
    return [0, *range(2, x.dim())]


@decomposition("_native_batch_norm_legit_functional")
def native_batch_norm_functional(input, weight, bias, running_mean, running_var, training, momentum, eps):
    if training:
        dims = _channel_dims(input)
        out, mean, rstd = _normalized(input, dims, eps)
        mean, invstd = F.reshape(mean, [-1]), F.reshape(rstd, [-1])
        count = input.numel() // max(input.shape[1], 1)
        off = input - _by_channel(mean, input)
        unbiased = F.sum(off * off, dims) / (count - 1)
        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * unbiased
    else:
        rstd = F.rsqrt(running_var + eps)
        out = (input - _by_channel(running_mean, input)) * _by_channel(rstd, input)
        mean = invstd = F.zeros([0], dtype=running_mean.dtype, device=input.device)
        running_mean, running_var = F.clone(running_mean), F.clone(running_var)
    if weight is not None:
        out = out * _by_channel(weight, input)
    if bias is not None:
        out = out + _by_channel(bias, input)
    return out, mean, invstd, running_mean, running_var


@decomposition("native_batch_norm_backward")
def native_batch_norm_backward(
    grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask
):
    dims = _channel_dims(input)
    if train:
        mean, invstd = save_mean, save_invstd
    else:
        mean, invstd = running_mean, F.rsqrt(running_var + eps)
    rstd = _by_channel(invstd, input)
    z = (input - _by_channel(mean, input)) * rstd
    by_z = grad_out if weight is None else grad_out * _by_channel(weight, input)
    d_input = d_weight = d_bias = None
    if output_mask[0] and train:
        d_input = (by_z - F.mean(by_z, dims, True) - z * F.mean(by_z * z, dims, True)) * rstd
    elif output_mask[0]:
        d_input = by_z * rstd
    if output_mask[1]:
        d_weight = F.sum(grad_out * z, dims)
    if output_mask[2]:
        d_bias = F.sum(grad_out, dims)
    return d_input, d_weight, d_bias
