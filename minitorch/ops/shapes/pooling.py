"""Shapes, types and argument errors of pooling."""

from __future__ import annotations

import numpy as np

from minitorch.ops.shapes.activation import check_floating
from minitorch.ops.shapes.common import MetaArray, check, keeps_format
from minitorch.ops.shapes.registry import shape

INT64 = np.dtype(np.int64)


def _expand(values, d, name, what):
    check(
        len(values) in (1, d),
        f"{name}(): {what} must either be a single int, or a tuple of {d} ints, got {values}",
    )
    return tuple(values) * d if len(values) == 1 else tuple(values)


def pooled_size(size, kernel, stride, padding, dilation, ceil_mode):
    """Return how many windows of pooling fit a length."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return span // stride + 1
    count = -(-span // stride) + 1
    return count - 1 if (count - 1) * stride >= size + padding else count


def _pooled(self, d, kernel_size, stride, padding, dilation, ceil_mode, name):
    """Return the shape of the pooled array."""
    kernel = _expand(kernel_size, d, name, "kernel_size")
    if len(stride):
        stride = _expand(stride, d, name, "stride")
    else:
        stride = kernel
    padding = _expand(padding, d, name, "padding")
    dilation = _expand(dilation, d, name, "dilation")
    check(min(kernel) > 0, f"{name}(): kernel size should be greater than zero, but got {kernel}")
    check(min(stride) > 0, f"{name}(): stride should be greater than zero, but got {stride}")
    check(min(dilation) > 0, f"{name}(): dilation should be greater than zero, but got {dilation}")
    check(
        self.ndim in (d + 1, d + 2) and 0 not in self.shape[self.ndim - d - 1 :],
        f"{name}(): non-empty {d + 1}D or {d + 2}D (batch mode) tensor expected for input, got "
        f"shape {list(self.shape)}",
    )
    for k, p, t in zip(kernel, padding, dilation, strict=True):
        check(p >= 0, f"{name}(): pad must be non-negative, but got pad: {p}")
        check(
            2 * p <= t * (k - 1) + 1,
            f"{name}(): pad should be at most half of effective kernel size, but got pad={p}, "
            f"kernel_size={k} and dilation={t}",
        )
    out = tuple(
        pooled_size(n, k, s, p, t, ceil_mode)
        for n, k, s, p, t in zip(self.shape[-d:], kernel, stride, padding, dilation, strict=True)
    )
    check(
        min(out) > 0,
        f"{name}(): Given input size: {self.shape[-d - 1 :]}. Calculated output size: "
        f"{(self.shape[-d - 1], *out)}. Output size is too small",
    )
    return (*self.shape[:-d], *out)


def _check_numbers(self, name):
    check(
        self.dtype.kind not in "bc",
        f"{name}(): not implemented for bool and complex inputs; convert with .float() first",
        NotImplementedError,
    )


@shape("max_pool2d")
@keeps_format
def max_pool2d_shape(
    self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False
):
    _check_numbers(self, "max_pool2d")
    result = _pooled(self, 2, kernel_size, stride, padding, dilation, ceil_mode, "max_pool2d")
    return MetaArray(result, self.dtype)


@shape("max_pool2d_backward")
def max_pool2d_backward_shape(
    grad_output, self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False
):
    name = "max_pool2d_backward"
    expected = _pooled(self, 2, kernel_size, stride, padding, dilation, ceil_mode, name)
    _check_grad(grad_output, expected, name)
    return MetaArray(self.shape, grad_output.dtype)


def _check_grad(grad_output, expected, name):
    check(
        grad_output.shape == tuple(expected),
        f"{name}(): expected grad_output to have shape {tuple(expected)}, got {grad_output.shape}",
    )


def _with_indices(self, d, kernel_size, stride, padding, dilation, ceil_mode):
    name = f"max_pool{d}d_with_indices"
    _check_numbers(self, name)
    result = _pooled(self, d, kernel_size, stride, padding, dilation, ceil_mode, name)
    return MetaArray(result, self.dtype), MetaArray(result, INT64)


@shape("max_pool2d_with_indices")
@keeps_format
def max_pool2d_with_indices_shape(
    self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False
):
    return _with_indices(self, 2, kernel_size, stride, padding, dilation, ceil_mode)


@shape("max_pool3d_with_indices")
@keeps_format
def max_pool3d_with_indices_shape(
    self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False
):
    return _with_indices(self, 3, kernel_size, stride, padding, dilation, ceil_mode)


@shape("max_pool2d_with_indices_backward")
def max_pool2d_with_indices_backward_shape(
    grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices
):
    name = "max_pool2d_with_indices_backward"
    expected = _pooled(self, 2, kernel_size, stride, padding, dilation, ceil_mode, name)
    _check_grad(grad_output, expected, name)
    return MetaArray(self.shape, grad_output.dtype)


@shape("max_pool3d_with_indices_backward")
def max_pool3d_with_indices_backward_shape(
    grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices
):
    name = "max_pool3d_with_indices_backward"
    expected = _pooled(self, 3, kernel_size, stride, padding, dilation, ceil_mode, name)
    _check_grad(grad_output, expected, name)
    return MetaArray(self.shape, grad_output.dtype)


def _average(self, d, kernel_size, stride, padding, ceil_mode, divisor_override):
    name = f"avg_pool{d}d"
    _check_numbers(self, name)
    check(divisor_override != 0, f"{name}(): divisor must be not zero")
    kernel = _expand(kernel_size, d, name, "kernel_size")
    return _pooled(self, d, kernel, stride, padding, (1,), ceil_mode, name)


@shape("avg_pool2d")
@keeps_format
def avg_pool2d_shape(
    self, kernel_size, stride=(), padding=(0,), ceil_mode=False, count_include_pad=True,
    divisor_override=None,
):  # fmt: skip
    result = _average(self, 2, kernel_size, stride, padding, ceil_mode, divisor_override)
    return MetaArray(result, self.dtype)


@shape("avg_pool3d")
def avg_pool3d_shape(
    self, kernel_size, stride=(), padding=(0,), ceil_mode=False, count_include_pad=True,
    divisor_override=None,
):  # fmt: skip
    result = _average(self, 3, kernel_size, stride, padding, ceil_mode, divisor_override)
    return MetaArray(result, self.dtype)


@shape("avg_pool2d_backward")
def avg_pool2d_backward_shape(
    grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad,
    divisor_override,
):  # fmt: skip
    expected = _average(self, 2, kernel_size, stride, padding, ceil_mode, divisor_override)
    _check_grad(grad_output, expected, "avg_pool2d_backward")
    return MetaArray(self.shape, grad_output.dtype)


@shape("avg_pool3d_backward")
def avg_pool3d_backward_shape(
    grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad,
    divisor_override,
):  # fmt: skip
    expected = _average(self, 3, kernel_size, stride, padding, ceil_mode, divisor_override)
    _check_grad(grad_output, expected, "avg_pool3d_backward")
    return MetaArray(self.shape, grad_output.dtype)


def _adaptive(self, d, output_size, name):
    check(
        len(output_size) == d,
        f"{name}(): internal error: output_size.size() must be {d}, got {list(output_size)}",
    )
    check(
        self.ndim in (d + 1, d + 2),
        f"{name}(): Expected {d + 1}D or {d + 2}D tensor, but got {list(self.shape)}",
    )
    check(
        0 not in self.shape[1:],
        f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has "
        f"sizes {list(self.shape)}",
    )
    check(
        min(output_size) >= 0,
        f"{name}(): elements of output_size must be greater than or equal to 0, got "
        f"{list(output_size)}",
    )
    check_floating(self, name)
    return (*self.shape[:-d], *output_size)


@shape("_adaptive_avg_pool2d")
@keeps_format
def adaptive_avg_pool2d_shape(self, output_size):
    return MetaArray(_adaptive(self, 2, output_size, "adaptive_avg_pool2d"), self.dtype)


@shape("_adaptive_avg_pool3d")
def adaptive_avg_pool3d_shape(self, output_size):
    return MetaArray(_adaptive(self, 3, output_size, "adaptive_avg_pool3d"), self.dtype)


@shape("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward")
def adaptive_avg_pool_backward_shape(grad_output, self):
    check(
        0 not in grad_output.shape[1:],
        "adaptive_avg_pool_backward(): Expected grad_output to have non-zero size for non-batch "
        f"dimensions, but it has {list(grad_output.shape)}",
    )
    return MetaArray(self.shape, grad_output.dtype)


@shape("adaptive_max_pool2d")
@keeps_format
def adaptive_max_pool2d_shape(self, output_size):
    result = _adaptive(self, 2, output_size, "adaptive_max_pool2d")
    return MetaArray(result, self.dtype), MetaArray(result, INT64)


@shape("adaptive_max_pool3d")
def adaptive_max_pool3d_shape(self, output_size):
    result = _adaptive(self, 3, output_size, "adaptive_max_pool3d")
    return MetaArray(result, self.dtype), MetaArray(result, INT64)


@shape("adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward")
def adaptive_max_pool_backward_shape(grad_output, self, indices):
    check(
        grad_output.shape == indices.shape,
        f"adaptive_max_pool_backward(): grad_output has shape {grad_output.shape}, indices "
        f"{indices.shape}; they must be equal",
    )
    return MetaArray(self.shape, grad_output.dtype)


def _unpool(self, indices, d, output_size, name):
    check(
        indices.dtype == INT64,
        f"{name}(): elements in indices should be type int64, got {indices.dtype}",
    )
    check(
        len(output_size) == d,
        f"{name}(): There should be exactly {d} elements in output_size, but got "
        f"{len(output_size)}",
    )
    check(
        self.ndim in (d + 1, d + 2) and 0 not in self.shape[1:],
        f"{name}(): Input to {name} should be a {d + 1}d or {d + 2}d Tensor with non-zero sizes, "
        f"but got {list(self.shape)}",
    )
    check(
        self.shape == indices.shape,
        f"{name}(): Expected shape of indices to be same as that of the input tensor "
        f"({self.shape}) but got indices tensor with shape: {indices.shape}",
    )
    return MetaArray((*self.shape[:-d], *output_size), self.dtype)


@shape("max_unpool2d")
@keeps_format
def max_unpool2d_shape(self, indices, output_size):
    return _unpool(self, indices, 2, output_size, "max_unpooling2d")


@shape("max_unpool3d")
def max_unpool3d_shape(self, indices, output_size, stride, padding):
    check(len(stride) == 3, "max_unpooling3d(): There should be exactly 3 elements in stride")
    check(len(padding) == 3, "max_unpooling3d(): There should be exactly 3 elements in padding")
    check(min(stride) > 0, f"max_unpooling3d(): strides should be greater than zero, got {stride}")
    return _unpool(self, indices, 3, output_size, "max_unpooling3d")
