"""Kernels of batch, layer, group and root-mean-square normalization.

Means over rows are products with a vector of 1/n, sums of squares are `vecdot`: BLAS does both
several times faster than NumPy's reductions where rows are short.
"""

from __future__ import annotations

from math import prod, sqrt

from minitorch.backends.array.common import constant, contiguous, is_low_precision
from minitorch.backends.array.layout import keeps_format
from minitorch.backends.array.precision import rounded, widen
from minitorch.backends.array.registry import array_kernel

_weights: dict = {}


def _mean_weights(xp, n, dtype):
    """Return a vector of `n` times 1/n."""
    key = (xp, n, dtype)
    found = _weights.get(key)
    if found is None:
        if len(_weights) > 256:
            _weights.clear()
        found = _weights[key] = xp.full(n, 1.0 / n if n else 0.0, dtype)
    return found


def _wide(*arrays):
    return [None if a is None else widen(a) for a in arrays]


# ---------------------------------------------------------------- batch norm


def _planes(xp, array):
    """Return a contiguous (batch, channels, elements) view or copy of `array`."""
    array = contiguous(xp, array)
    return array.reshape(array.shape[0], array.shape[1], prod(array.shape[2:]))


def _channel_total(xp, planes):
    """Return the sums over all but dimension 1."""
    if planes.shape[2] == 1:
        return xp.add.reduce(planes[:, :, 0], axis=0)
    return xp.add.reduce(xp.add.reduce(planes, axis=2), axis=0)


def _channel_dot(xp, a, b):
    """Return the sums of products over all but dimension 1."""
    if a.shape[2] == 1:
        return xp.add.reduce(a[:, :, 0] * b[:, :, 0], axis=0)
    return xp.add.reduce(xp.vecdot(a, b), axis=0)


@array_kernel("native_batch_norm")
@keeps_format
def native_batch_norm_kernel(
    xp, input, weight, bias, running_mean, running_var, training, momentum, eps
):
    dtype = input.dtype
    if is_low_precision(dtype):
        x, weight, bias = _wide(input, weight, bias)
        out, mean, invstd = native_batch_norm_kernel(
            xp, x, weight, bias, running_mean, running_var, training, momentum, eps
        )
        return out.astype(dtype), mean, invstd
    if input.size == 0:
        empty = xp.zeros(input.shape[1:2], dtype)
        return xp.empty(input.shape, dtype), empty, empty.copy()
    if input.ndim < 2:  # compiled, an index out of a tuple's range is not found out
        raise ValueError("no dimension of channels")
    channels = input.shape[1]
    for parameter in (weight, bias, running_mean, running_var):
        if parameter is not None and parameter.shape != (channels,):
            raise ValueError("wrong number of channels")
    if dtype.kind != "f":
        raise ValueError("not a floating type")
    x = _planes(xp, input)
    if not training:
        scale = 1.0 / xp.sqrt(widen(running_var) + running_mean.dtype.type(eps))
        if weight is not None:
            scale = scale * weight
        shift = -widen(running_mean) * scale
        if bias is not None:
            shift = shift + bias
        scale = scale.astype(dtype, copy=False)
        out = x * scale[:, None]
        out += shift.astype(dtype, copy=False)[:, None]
        empty = xp.empty((0,), dtype)
        return out.reshape(input.shape), empty, empty.copy()
    n = x.shape[0] * x.shape[2]
    mean = _channel_total(xp, x)
    mean /= n
    out = x - mean[:, None]
    var = _channel_dot(xp, out, out)
    var /= n
    if running_mean is not None:
        _update(xp, running_mean, mean, momentum)
    if running_var is not None:
        unbiased = var * (n / (n - 1)) if n > 1 else var * xp.nan
        _update(xp, running_var, unbiased, momentum)
    var += eps
    xp.sqrt(var, out=var)
    invstd = xp.reciprocal(var, out=var)
    out *= (invstd if weight is None else invstd * weight)[:, None]
    if bias is not None:
        out += bias[:, None]
    return out.reshape(input.shape), mean, invstd


def _update(xp, running, value, momentum):
    """Move running statistics towards `value`, in place."""
    moved = widen(running) * (1.0 - momentum) + value * momentum
    running[...] = moved.astype(running.dtype, copy=False)


@array_kernel("native_batch_norm_backward")
def native_batch_norm_backward_kernel(
    xp, grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps,
    output_mask,
):  # fmt: skip
    dtype = grad_out.dtype
    if is_low_precision(dtype) or is_low_precision(input.dtype):
        narrow = input.dtype
        grad_out, input, weight = _wide(grad_out, input, weight)
        gx, gw, gb = native_batch_norm_backward_kernel(
            xp, grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train,
            eps, output_mask,
        )  # fmt: skip
        return rounded(gx, narrow), gw, gb
    need_input, need_weight, need_bias = output_mask
    if input.size == 0:
        zeros = xp.zeros(input.shape[1:2], dtype)
        return (
            xp.empty(input.shape, dtype) if need_input else None,
            zeros if need_weight else None,
            zeros.copy() if need_bias else None,
        )
    g = _planes(xp, grad_out)
    x = _planes(xp, input)
    n = x.shape[0] * x.shape[2]
    if train:
        mean, invstd = save_mean, save_invstd
    else:
        mean = widen(running_mean).astype(dtype, copy=False)
        invstd = (1.0 / xp.sqrt(widen(running_var) + eps)).astype(dtype, copy=False)
    total = _channel_total(xp, g) if train or need_bias else None
    grad_input = grad_weight = None
    if train or need_weight:
        d = x - mean[:, None]
        dot = _channel_dot(xp, g, d)
        if need_weight:
            grad_weight = dot * invstd
    if need_input:
        scale = invstd if weight is None else invstd * weight
        if train:
            # (g - mean(g) - d * invstd^2 * mean(g d)) * invstd * weight
            d *= (dot * invstd * invstd * (-1.0 / n))[:, None]
            d += g
            d -= (total / n)[:, None]
            d *= scale[:, None]
            grad_input = d.reshape(input.shape)
        else:
            grad_input = (g * scale[:, None]).reshape(input.shape)
    return grad_input, grad_weight, total if need_bias else None


# ---------------------------------------------------------------- layer norm


_TINY = 16


def _tiny_layer_norm(xp, input, n, eps):
    """Normalize the rows of a tiny array by Python's arithmetic: NumPy's fixed cost of ten calls is higher."""
    values = input.reshape(-1).tolist()
    out, means, rstds = [], [], []
    for start in range(0, len(values), n):
        row = values[start : start + n]
        mean = sum(row) / n
        centred = [v - mean for v in row]
        rstd = 1.0 / sqrt(sum([c * c for c in centred]) / n + eps)
        out += [c * rstd for c in centred]
        means.append(mean)
        rstds.append(rstd)
    dtype = input.dtype
    lead = (*input.shape[:-1], 1)
    return (
        xp.array(out, dtype).reshape(input.shape), xp.array(means, dtype).reshape(lead), xp.array(rstds, dtype).reshape(lead)
    )


@array_kernel("native_layer_norm")
def native_layer_norm_kernel(xp, input, normalized_shape, weight, bias, eps):
    dtype = input.dtype
    if dtype.char not in "fd":
        if not is_low_precision(dtype):
            raise ValueError("not a floating type")
        x, weight, bias = _wide(input, weight, bias)
        out, mean, rstd = native_layer_norm_kernel(xp, x, normalized_shape, weight, bias, eps)
        return out.astype(dtype), mean, rstd
    shape = input.shape
    count = len(normalized_shape)
    lead = shape[: input.ndim - count]
    if count == 1:
        n = normalized_shape[0]
        if not shape or shape[-1] != n:
            raise ValueError("wrong normalized_shape")
    else:
        if count == 0 or shape[input.ndim - count :] != tuple(normalized_shape):
            raise ValueError("wrong normalized_shape")
        n = prod(normalized_shape)
    plain = weight is None and bias is None
    if input.size <= _TINY and plain and count == 1 and n and eps > 0 and input.flags.c_contiguous and input.size:
        return _tiny_layer_norm(xp, input, n, eps)
    x = contiguous(xp, input).reshape(prod(lead), n)
    mean = xp.dot(x, _mean_weights(xp, n, dtype))
    out = x - mean[:, None]
    rstd = xp.vecdot(out, out)
    xp.multiply(rstd, constant(xp, 1.0 / n if n else xp.nan, dtype), rstd)
    xp.add(rstd, constant(xp, eps, dtype), rstd)
    xp.sqrt(rstd, rstd)
    xp.reciprocal(rstd, rstd)
    out *= rstd[:, None]
    if weight is not None:
        if weight.dtype is not dtype:
            raise ValueError("mixed types")
        if count == 1 and weight.shape == (n,):
            out *= weight
            if bias is not None:
                out += bias
        else:
            if weight.shape != tuple(normalized_shape):
                raise ValueError("wrong weight")
            out *= weight.reshape(n)
            if bias is not None:
                out += bias.reshape(n)
    elif bias is not None:
        out += bias.reshape(n)
    kept = lead + (1,) * count
    return out.reshape(shape), mean.reshape(kept), rstd.reshape(kept)


@array_kernel("native_layer_norm_backward")
def native_layer_norm_backward_kernel(
    xp, grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask
):
    dtype = grad_out.dtype
    if dtype.char not in "fd" or input.dtype is not dtype:
        narrow = input.dtype
        grad_out, input, weight, mean, rstd = _wide(grad_out, input, weight, mean, rstd)
        if grad_out.dtype.char not in "fd" or input.dtype != grad_out.dtype:
            raise ValueError("mixed types")
        gx, gw, gb = native_layer_norm_backward_kernel(
            xp, grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask
        )
        return rounded(gx, narrow), gw, gb
    need_input, need_weight, need_bias = output_mask
    n = prod(normalized_shape)
    rows = prod(input.shape[: input.ndim - len(normalized_shape)])
    g = contiguous(xp, grad_out).reshape(rows, n)
    rstd = rstd.reshape(rows, 1)
    grad_input = grad_weight = grad_bias = None
    if need_bias:
        grad_bias = xp.dot(xp.ones(rows, dtype), g).reshape(normalized_shape)
    if need_input or need_weight:
        normal = contiguous(xp, input).reshape(rows, n) - mean.reshape(rows, 1)
        normal *= rstd
        product = g * normal
        if need_weight:
            grad_weight = xp.dot(xp.ones(rows, dtype), product).reshape(normalized_shape)
        if need_input:
            shares = _mean_weights(xp, n, dtype)
            if weight is None:
                gx = g - xp.dot(g, shares)[:, None]
            else:
                weight = weight.reshape(n)
                shares = weight * shares
                gx = xp.multiply(g, weight)
                gx -= xp.dot(g, shares)[:, None]
            normal *= xp.dot(product, shares)[:, None]
            gx -= normal
            gx *= rstd
            grad_input = gx.reshape(input.shape)
    return grad_input, grad_weight, grad_bias


# ---------------------------------------------------------------- group norm


@array_kernel("native_group_norm")
@keeps_format
def native_group_norm_kernel(xp, input, weight, bias, N, C, HxW, group, eps):
    dtype = input.dtype
    if is_low_precision(dtype):
        x, weight, bias = _wide(input, weight, bias)
        out, mean, rstd = native_group_norm_kernel(xp, x, weight, bias, N, C, HxW, group, eps)
        return out.astype(dtype), mean, rstd
    if group <= 0 or C % group or input.size != N * C * HxW or dtype.kind != "f":
        raise ValueError("bad groups")
    for parameter in (weight, bias):
        if parameter is not None and parameter.shape != (C,):
            raise ValueError("bad parameter")
    n = C // group * HxW
    if input.size == 0:
        empty = xp.zeros((N, group), dtype)
        return xp.empty(input.shape, dtype), empty, empty + xp.nan
    x = contiguous(xp, input).reshape(N * group, n)
    mean = xp.dot(x, _mean_weights(xp, n, dtype))
    out = x - mean[:, None]
    rstd = xp.vecdot(out, out)
    rstd *= 1.0 / n
    rstd += eps
    xp.sqrt(rstd, out=rstd)
    xp.reciprocal(rstd, out=rstd)
    mean, rstd = mean.reshape(N, group), rstd.reshape(N, group)
    planes = out.reshape(N, group, C // group, HxW)
    scale = rstd[:, :, None]
    if weight is not None:
        scale = scale * weight.reshape(group, -1)
    planes *= scale[..., None]
    if bias is not None:
        planes += bias.reshape(group, -1, 1)
    return out.reshape(input.shape), mean, rstd


@array_kernel("native_group_norm_backward")
def native_group_norm_backward_kernel(
    xp, grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask
):
    dtype = input.dtype
    if is_low_precision(dtype) or is_low_precision(grad_out.dtype):
        wide = _wide(grad_out, input, mean, rstd, weight)
        gx, gw, gb = native_group_norm_backward_kernel(xp, *wide, N, C, HxW, group, output_mask)
        return rounded(gx, dtype), gw, gb
    need_input, need_weight, need_bias = output_mask
    per_group = C // group
    n = per_group * HxW
    shape = (N, group, per_group, HxW)
    if input.size == 0:
        return (
            xp.empty(input.shape, dtype) if need_input else None,
            xp.zeros(C, dtype) if need_weight else None,
            xp.zeros(C, dtype) if need_bias else None,
        )
    g = contiguous(xp, grad_out).reshape(shape)
    sums = g @ xp.ones(HxW, dtype)  # (N, group, per_group)
    grad_input = grad_weight = None
    if need_input or need_weight:
        normal = contiguous(xp, input).reshape(shape) - mean.reshape(N, group, 1, 1)
        normal *= rstd.reshape(N, group, 1, 1)
        dots = xp.vecdot(g, normal)
        if need_weight:
            grad_weight = xp.add.reduce(dots, axis=0).reshape(C)
        if need_input:
            if weight is not None:
                weight = weight.reshape(group, per_group)
                gx = g * weight[..., None]
                sums_of_weighted, dots = sums * weight, dots * weight
            else:
                gx = g.copy()
                sums_of_weighted = sums
            gx -= (sums_of_weighted.sum(axis=2) / n)[..., None, None]
            normal *= (dots.sum(axis=2) / n)[..., None, None]
            gx -= normal
            gx *= rstd.reshape(N, group, 1, 1)
            grad_input = gx.reshape(input.shape)
    grad_bias = xp.add.reduce(sums, axis=0).reshape(C) if need_bias else None
    return grad_input, grad_weight, grad_bias


# ---------------------------------------------------------------- root mean square


@array_kernel("_fused_rms_norm")
def fused_rms_norm_kernel(xp, input, normalized_shape, weight, eps):
    dtype = input.dtype
    if is_low_precision(dtype):
        x, weight = _wide(input, weight)
        out, rstd = fused_rms_norm_kernel(xp, x, normalized_shape, weight, eps)
        return out.astype(dtype), rstd
    count = len(normalized_shape)
    if (
        count == 0
        or input.shape[input.ndim - count :] != tuple(normalized_shape)
        or (weight is not None and weight.shape != tuple(normalized_shape))
        or dtype.kind != "f"
    ):
        raise ValueError("wrong normalized_shape")
    if eps is None:
        eps = float(xp.finfo(dtype).eps)
    n = prod(normalized_shape)
    lead = input.shape[: input.ndim - count]
    x = contiguous(xp, input).reshape(prod(lead), n)
    rstd = xp.vecdot(x, x)
    rstd *= 1.0 / n if n else xp.nan
    rstd += eps
    xp.sqrt(rstd, out=rstd)
    xp.reciprocal(rstd, out=rstd)
    out = x * rstd[:, None]
    if weight is not None:
        out *= weight.reshape(n)
    return out.reshape(input.shape), rstd.reshape(lead + (1,) * count)


@array_kernel("_fused_rms_norm_backward")
def fused_rms_norm_backward_kernel(
    xp, grad_out, input, normalized_shape, rstd, weight, output_mask
):
    dtype = input.dtype
    if is_low_precision(dtype) or is_low_precision(grad_out.dtype):
        grad_out, x, rstd, wide_weight = _wide(grad_out, input, rstd, weight)
        gx, gw = fused_rms_norm_backward_kernel(
            xp, grad_out, x, normalized_shape, rstd, wide_weight, output_mask
        )
        return rounded(gx, dtype), gw
    need_input, need_weight = output_mask
    n = prod(normalized_shape)
    rows = prod(input.shape[: input.ndim - len(normalized_shape)])
    g = contiguous(xp, grad_out).reshape(rows, n)
    rstd = rstd.reshape(rows, 1)
    normal = contiguous(xp, input).reshape(rows, n) * rstd
    product = g * normal
    grad_input = grad_weight = None
    if need_weight and weight is not None:
        grad_weight = xp.dot(xp.ones(rows, dtype), product).reshape(normalized_shape)
    if need_input:
        shares = _mean_weights(xp, n, dtype)
        if weight is None:
            gx = g.copy()
        else:
            weight = weight.reshape(n)
            shares = weight * shares
            gx = xp.multiply(g, weight)
        normal *= xp.dot(product, shares)[:, None]
        gx -= normal
        gx *= rstd
        grad_input = gx.reshape(input.shape)
    return grad_input, grad_weight
