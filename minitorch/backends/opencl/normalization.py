"""Kernels of layer, group, root-mean-square and batch normalization and their derivatives.

Narrow floating types are computed in float32, and so are their means and deviations returned.
"""

from __future__ import annotations

from math import nan, prod

import numpy as np

from minitorch import channels_last, channels_last_3d
from minitorch.backends import NoKernel, helpers
from minitorch.backends.opencl.array import CLArray, empty
from minitorch.backends.opencl.chains import along, computed, op, shaped
from minitorch.backends.opencl.ctypes import FLOAT32, is_narrow
from minitorch.backends.opencl.overrides import override
from minitorch.backends.opencl.pointwise import assign, cast
from minitorch.backends.opencl.reductions import reduce
from minitorch.backends.opencl.row_programs import ALONG, FULL, ROW, Let, Loop, contiguous, result_dtype, run


def _floating(dtype, *arrays) -> None:
    """Refuse operands whose types do not belong together."""
    for a in arrays:
        if a is not None and not (a.dtype == dtype or (is_narrow(a.dtype) and dtype == FLOAT32)):
            raise NoKernel("operands of several types")


def _affine(weight, bias) -> str:
    return (" * $w" if weight is not None else "") + (" + $b" if bias is not None else "")


def _rows(input: CLArray, normalized_shape) -> tuple[int, int, tuple]:
    """Return (rows, elements of one, shape of what there is one of for each row)."""
    count = len(normalized_shape)
    lead = input.shape[: len(input.shape) - count]
    if count == 0 or input.shape[len(lead) :] != tuple(normalized_shape) or 0 in input.shape:
        raise NoKernel("an empty input, or a normalized_shape that is not the input's")
    return prod(lead), prod(normalized_shape), lead + (1,) * count


def _parameter(parameter, shape):
    if parameter is None:
        return None
    if parameter.shape != tuple(shape):
        raise NoKernel(f"a parameter of shape {parameter.shape} for {tuple(shape)}")
    return ALONG, contiguous(parameter), False


_MOMENTS = (
    Loop(add={"s": "$x"}),
    Let("mu", "s / count"),
    Loop({"part": "$x - mu"}, add={"v": "part * part"}),
    Let("r", "1 / sqrt(v / count + eps)"),
    Let("mean", "mu", stored=True),
    Let("rstd", "r", stored=True),
)


@override("native_layer_norm")
def native_layer_norm(input, normalized_shape, weight, bias, eps):
    dtype = result_dtype(input)
    _floating(dtype, weight, bias)
    rows, n, kept = _rows(input, normalized_shape)
    x = contiguous(input)
    device = input.device
    out, mean, rstd = empty(input.shape, input.dtype, device), empty(kept, dtype, device), empty(kept, dtype, device)
    affine = _affine(weight, bias)
    program = (*_MOMENTS, Loop(store={"y": f"($x - mu) * r{affine}"}))
    arrays = {
        "x": (FULL, x, False), "w": _parameter(weight, normalized_shape), "b": _parameter(bias, normalized_shape),
        "y": (FULL, out, True), "mean": (ROW, mean, True), "rstd": (ROW, rstd, True),
    }  # fmt: skip
    run("layer_norm", program, arrays, {"count": n, "eps": eps}, dtype, rows, n, 1, device)
    return out, mean, rstd


def _normal(input, mean, rstd, dtype):
    """Return ``(input - mean) * rstd``, not computed yet."""
    return op("multiply", op("subtract", cast(input, dtype), cast(mean, dtype)), cast(rstd, dtype))


@override("native_layer_norm_backward")
def native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask):
    dtype = result_dtype(input)
    _floating(dtype, grad_out, mean, rstd, weight)
    rows, n, kept = _rows(input, normalized_shape)
    if grad_out.shape != input.shape:
        raise NoKernel("the gradient has another shape")
    device = input.device
    g, x, mean, rstd = contiguous(grad_out), contiguous(input), contiguous(mean), contiguous(rstd)
    grad_input = grad_weight = grad_bias = None
    if output_mask[0]:
        grad_input = empty(input.shape, input.dtype, device)
        scaled = "$g * $w" if weight is not None else "$g"
        lets = {"h": "($x - $mean) * $rstd", "k": scaled}
        program = (
            Loop(lets, add={"a": "k", "c": "k * h"}),
            Let("ma", "a / count"),
            Let("mc", "c / count"),
            Loop(lets, store={"dx": "(k - ma - h * mc) * $rstd"}),
        )
        arrays = {
            "g": (FULL, g, False), "x": (FULL, x, False), "w": _parameter(weight, normalized_shape),
            "mean": (ROW, mean, False), "rstd": (ROW, rstd, False), "dx": (FULL, grad_input, True),
        }  # fmt: skip
        run("layer_norm_backward", program, arrays, {"count": n}, dtype, rows, n, 1, device)
    flat = cast(shaped(g, (rows, n)), dtype)
    if output_mask[1]:
        normal = _normal(shaped(x, (rows, n)), shaped(mean, (rows, 1)), shaped(rstd, (rows, 1)), dtype)
        grad_weight = shaped(reduce("add", op("multiply", flat, normal), 0), tuple(normalized_shape))
    if output_mask[2]:
        grad_bias = shaped(reduce("add", flat, 0), tuple(normalized_shape))
    return grad_input, grad_weight, grad_bias


@override("_fused_rms_norm")
def fused_rms_norm(input, normalized_shape, weight, eps):
    dtype = result_dtype(input)
    _floating(dtype, weight)
    rows, n, kept = _rows(input, normalized_shape)
    if eps is None:
        eps = float(np.finfo(np.float32 if is_narrow(input.dtype) else dtype).eps)
    device = input.device
    out, rstd = empty(input.shape, input.dtype, device), empty(kept, dtype, device)
    program = (
        Loop(add={"s": "$x * $x"}),
        Let("r", "1 / sqrt(s / count + eps)"),
        Let("rstd", "r", stored=True),
        Loop(store={"y": f"$x * r{_affine(weight, None)}"}),
    )
    arrays = {
        "x": (FULL, contiguous(input), False), "w": _parameter(weight, normalized_shape), "y": (FULL, out, True),
        "rstd": (ROW, rstd, True),
    }  # fmt: skip
    run("rms_norm", program, arrays, {"count": n, "eps": eps}, dtype, rows, n, 1, device)
    return out, rstd


@override("_fused_rms_norm_backward")
def fused_rms_norm_backward(grad_out, input, normalized_shape, rstd, weight, output_mask):
    dtype = result_dtype(input)
    _floating(dtype, grad_out, rstd, weight)
    rows, n, kept = _rows(input, normalized_shape)
    if grad_out.shape != input.shape:
        raise NoKernel("the gradient has another shape")
    device = input.device
    g, x, rstd = contiguous(grad_out), contiguous(input), contiguous(rstd)
    grad_input = grad_weight = None
    if output_mask[0]:
        grad_input = empty(input.shape, input.dtype, device)
        lets = {"h": "$x * $rstd", "k": "$g * $w" if weight is not None else "$g"}
        program = (
            Loop(lets, add={"c": "k * h"}),
            Let("mc", "c / count"),
            Loop(lets, store={"dx": "(k - h * mc) * $rstd"}),
        )
        arrays = {
            "g": (FULL, g, False), "x": (FULL, x, False), "w": _parameter(weight, normalized_shape),
            "rstd": (ROW, rstd, False), "dx": (FULL, grad_input, True),
        }  # fmt: skip
        run("rms_norm_backward", program, arrays, {"count": n}, dtype, rows, n, 1, device)
    if output_mask[1] and weight is not None:
        normal = op("multiply", cast(shaped(x, (rows, n)), dtype), cast(shaped(rstd, (rows, 1)), dtype))
        product = op("multiply", cast(shaped(g, (rows, n)), dtype), normal)
        grad_weight = shaped(reduce("add", product, 0), tuple(normalized_shape))
    return grad_input, grad_weight


# ---------------------------------------------------------------- group norm


def format_strides(array: CLArray) -> tuple | None:
    """Return dense strides in the memory format of an array of images; None for row-major."""
    if array.ndim not in (4, 5) or (array.flags.c_contiguous and array.shape[-1] != 1):
        return None
    if helpers.suggested_format(array.shape, array.strides) not in (channels_last, channels_last_3d):
        return None
    strides = [0] * array.ndim
    step = array.dtype.itemsize
    for axis in (1, *range(array.ndim - 1, 1, -1), 0):
        strides[axis] = step
        step *= array.shape[axis]
    return tuple(strides)


def _group_shape(N, C, HxW, group):
    return N, group, C // group, HxW


@override("native_group_norm")
def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    dtype = result_dtype(input)
    _floating(dtype, weight, bias)
    if group <= 0 or C % group or input.size != N * C * HxW or input.size == 0:
        raise NoKernel("an empty input, or groups that do not fit")
    for parameter in (weight, bias):
        _parameter(parameter, (C,))
    input.settle()
    strides = format_strides(input)
    x = contiguous(input)
    device = input.device
    n = C // group * HxW
    mean, rstd = empty((N, group), dtype, device), empty((N, group), dtype, device)
    arrays = {"x": (FULL, x, False), "mean": (ROW, mean, True), "rstd": (ROW, rstd, True)}
    run("moments", _MOMENTS, arrays, {"count": n, "eps": eps}, dtype, N * group, n, 1, device)
    shape = _group_shape(N, C, HxW, group)
    per_row, per_channel = (N, group, 1, 1), (1, group, C // group, 1)
    y = _normal(shaped(x, shape), shaped(mean, per_row), shaped(rstd, per_row), dtype)
    if weight is not None:
        y = op("multiply", y, cast(shaped(contiguous(weight), per_channel), dtype))
    if bias is not None:
        y = op("add", y, cast(shaped(contiguous(bias), per_channel), dtype))
    out = shaped(computed(y, input.dtype), input.shape)
    return out if strides is None else computed(out, None, strides), mean, rstd


@override("native_group_norm_backward")
def native_group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask):
    dtype = result_dtype(input)
    _floating(dtype, grad_out, mean, rstd, weight)
    if input.size == 0 or grad_out.size != input.size:
        raise NoKernel("an empty input, or a gradient of another shape")
    shape = _group_shape(N, C, HxW, group)
    per_row, per_channel = (N, group, 1, 1), (1, group, C // group, 1)
    g = cast(shaped(contiguous(grad_out), shape), dtype)
    mean, rstd = cast(shaped(contiguous(mean), per_row), dtype), cast(shaped(contiguous(rstd), per_row), dtype)
    normal = op("multiply", op("subtract", cast(shaped(contiguous(input), shape), dtype), mean), rstd)
    sums = reduce("add", g, 3, keepdims=True)
    dots = reduce("add", op("multiply", g, normal), 3, keepdims=True)
    grad_input = grad_weight = grad_bias = None
    if output_mask[0]:
        scaled, sums_of_scaled, dots_of_scaled = g, sums, dots
        if weight is not None:
            w = cast(shaped(contiguous(weight), per_channel), dtype)
            scaled, sums_of_scaled, dots_of_scaled = op("multiply", g, w), op("multiply", sums, w), op("multiply", dots, w)
        count = C // group * HxW
        a = reduce("add", sums_of_scaled, 2, keepdims=True, post="mean", number=count)
        b = reduce("add", dots_of_scaled, 2, keepdims=True, post="mean", number=count)
        rest = op("subtract", op("subtract", scaled, a), op("multiply", normal, b))
        grad_input = shaped(computed(op("multiply", rest, rstd), input.dtype), input.shape)
    if output_mask[1]:
        grad_weight = shaped(reduce("add", dots, 0), (C,))
    if output_mask[2]:
        grad_bias = shaped(reduce("add", sums, 0), (C,))
    return grad_input, grad_weight, grad_bias


# ---------------------------------------------------------------- batch norm


def _channels(parameter, dtype, ndim):
    """Return a vector over dimension 1, not computed yet."""
    return None if parameter is None else cast(along(parameter, ndim, 1), dtype)


def _check_batch(input, *parameters):
    if input.ndim < 2 or input.size == 0:
        raise NoKernel("an input without elements or channels")
    for parameter in parameters:
        _parameter(parameter, input.shape[1:2])


def _update(running, value, momentum):
    """Move running statistics towards `value`, in place."""
    kept = op("multiply", cast(running, value.dtype), 1.0 - momentum)
    assign(running, cast(op("add", kept, op("multiply", value, momentum)), running.dtype))


@override("native_batch_norm")
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    dtype = result_dtype(input)
    _floating(dtype, weight, bias, running_mean, running_var)
    _check_batch(input, weight, bias, running_mean, running_var)
    input.settle()
    ndim, device = input.ndim, input.device
    x = cast(input, dtype)
    w, b = _channels(weight, dtype, ndim), _channels(bias, dtype, ndim)
    if not training:
        root = op("sqrt", op("add", cast(running_var, dtype), float(eps)))
        invstd = op("reciprocal", root).settle()
        scale = along(invstd, ndim, 1)
        y = op("subtract", x, _channels(running_mean, dtype, ndim))
        save_mean, save_invstd = empty((0,), dtype, device).settle(), empty((0,), dtype, device).settle()
    else:
        axes = (0, *range(2, ndim))
        n = input.size // input.shape[1]
        save_mean = reduce("add", x, axes, post="mean", number=n)
        y = op("subtract", x, along(save_mean, ndim, 1))
        var = reduce("add", op("multiply", y, y), axes, post="mean", number=n)
        if running_mean is not None:
            _update(running_mean, save_mean, momentum)
        if running_var is not None:
            _update(running_var, op("multiply", var, n / (n - 1) if n > 1 else nan), momentum)
        save_invstd = op("reciprocal", op("sqrt", op("add", var, float(eps)))).settle()
        scale = along(save_invstd, ndim, 1)
    y = op("multiply", y, scale if w is None else op("multiply", scale, w))
    if b is not None:
        y = op("add", y, b)
    return computed(y, input.dtype, format_strides(input)), save_mean, save_invstd


@override("native_batch_norm_backward")
def native_batch_norm_backward(
    grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask
):
    dtype = result_dtype(input)
    _floating(dtype, grad_out, weight, running_mean, running_var, save_mean, save_invstd)
    _check_batch(input, weight)
    if grad_out.shape != input.shape:
        raise NoKernel("the gradient has another shape")
    ndim = input.ndim
    need_input, need_weight, need_bias = output_mask
    axes = (0, *range(2, ndim))
    n = input.size // input.shape[1]
    g = cast(grad_out.settle(), dtype)
    if train:
        mean, invstd = cast(save_mean, dtype), cast(save_invstd, dtype).settle()
    else:
        mean = cast(running_mean, dtype)
        invstd = op("reciprocal", op("sqrt", op("add", cast(running_var, dtype), float(eps)))).settle()
    centred = op("subtract", cast(input.settle(), dtype), along(mean.settle(), ndim, 1))
    total = reduce("add", g, axes) if train or need_bias else None
    grad_input = grad_weight = dot = None
    if train or need_weight:
        dot = reduce("add", op("multiply", g, centred), axes)
        if need_weight:
            grad_weight = computed(op("multiply", dot, invstd))
    if need_input:
        scale = invstd if weight is None else op("multiply", invstd, cast(weight, dtype)).settle()
        if train:
            # (g - mean(g) - d * invstd^2 * mean(g d)) * invstd * weight
            slope = op("multiply", op("multiply", dot, op("multiply", invstd, invstd)), 1.0 / n).settle()
            shift = op("multiply", total, 1.0 / n).settle()
            rest = op("subtract", g, along(shift, ndim, 1))
            g = op("subtract", rest, op("multiply", centred, along(slope, ndim, 1)))
        grad_input = computed(op("multiply", g, along(scale, ndim, 1)), input.dtype)
    return grad_input, grad_weight, total if need_bias else None
