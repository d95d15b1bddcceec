"""Derivatives of pooling."""

from __future__ import annotations

from minitorch.autograd.derivatives.registry import derivative
from minitorch.ops import functions as F


def gather_planes(tensor, indices, d):
    """Return the elements of the last `d` dimensions of `tensor` at flat `indices`."""
    flat = tensor.flatten(-d).gather(-1, indices.flatten(-d))
    return flat.reshape(indices.shape)


# ---------------------------------------------------------------- maxima


def _picked_by_max_pool2d(tensor, self, kernel_size, stride, padding, dilation, ceil_mode):
    """Return the elements of `tensor` where the windows of `self` have their maxima."""
    _, indices = F.max_pool2d_with_indices(
        self.detach(), kernel_size, stride, padding, dilation, ceil_mode
    )
    return gather_planes(tensor, indices, 2)


derivative(
    "max_pool2d",
    self=lambda grad, self, kernel_size, stride, padding, dilation, ceil_mode: (
        F.max_pool2d_backward(grad, self, kernel_size, stride, padding, dilation, ceil_mode)
    ),
    result=lambda self_p, self_t, kernel_size, stride, padding, dilation, ceil_mode: (
        _picked_by_max_pool2d(
            self_t, self_p, kernel_size, stride, padding, dilation, ceil_mode
        )
    ),
)
derivative(
    "max_pool2d_backward",
    grad_output=lambda grad, self, kernel_size, stride, padding, dilation, ceil_mode: (
        _picked_by_max_pool2d(grad, self, kernel_size, stride, padding, dilation, ceil_mode)
    ),
    result="linear",
)
derivative(
    "max_pool2d_with_indices",
    self=lambda grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1: (
        F.max_pool2d_with_indices_backward(
            grad, self, kernel_size, stride or kernel_size, padding, dilation, ceil_mode, result1
        )
    ),
    result=lambda self_t, result1: gather_planes(self_t, result1, 2),
)
derivative(
    "max_pool2d_with_indices_backward",
    grad_output=lambda grad, indices: gather_planes(grad, indices, 2),
    result="linear",
)
derivative(
    "max_pool3d_with_indices",
    self=lambda grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1: (
        F.max_pool3d_with_indices_backward(
            grad, self, kernel_size, stride or kernel_size, padding, dilation, ceil_mode, result1
        )
    ),
    result=lambda self_t, result1: gather_planes(self_t, result1, 3),
)
derivative(
    "max_pool3d_with_indices_backward",
    grad_output=lambda grad, indices: gather_planes(grad, indices, 3),
    result="linear",
)
derivative(
    "adaptive_max_pool2d",
    self=lambda grad, self, result1: F.adaptive_max_pool2d_backward(grad, self, result1),
    result=lambda self_t, result1: gather_planes(self_t, result1, 2),
)
derivative(
    "adaptive_max_pool2d_backward",
    grad_output=lambda grad, indices: gather_planes(grad, indices, 2),
    result="linear",
)
derivative(
    "adaptive_max_pool3d",
    self=lambda grad, self, result1: F.adaptive_max_pool3d_backward(grad, self, result1),
    result=lambda self_t, result1: gather_planes(self_t, result1, 3),
)
derivative(
    "adaptive_max_pool3d_backward",
    grad_output=lambda grad, indices: gather_planes(grad, indices, 3),
    result="linear",
)
derivative(
    "max_unpool2d",
    self=lambda grad, indices: gather_planes(grad, indices, 2),
    result="linear",
)
derivative(
    "max_unpool3d",
    self=lambda grad, indices: gather_planes(grad, indices, 3),
    result="linear",
)

# ---------------------------------------------------------------- averages

derivative(
    "avg_pool2d",
    self=lambda grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad,
    divisor_override: F.avg_pool2d_backward(
        grad, self, kernel_size, stride or kernel_size, padding, ceil_mode, count_include_pad,
        divisor_override,
    ),
    result="linear",
)  # fmt: skip
derivative(
    "avg_pool2d_backward",
    grad_output=lambda grad, kernel_size, stride, padding, ceil_mode, count_include_pad,
    divisor_override: F.avg_pool2d(
        grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    ),
    result="linear",
)  # fmt: skip
derivative(
    "avg_pool3d",
    self=lambda grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad,
    divisor_override: F.avg_pool3d_backward(
        grad, self, kernel_size, stride or kernel_size, padding, ceil_mode, count_include_pad,
        divisor_override,
    ),
    result="linear",
)  # fmt: skip
derivative(
    "avg_pool3d_backward",
    grad_output=lambda grad, kernel_size, stride, padding, ceil_mode, count_include_pad,
    divisor_override: F.avg_pool3d(
        grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    ),
    result="linear",
)  # fmt: skip
derivative(
    "_adaptive_avg_pool2d",
    self=lambda grad, self: F._adaptive_avg_pool2d_backward(grad, self),
    result="linear",
)
derivative(
    "_adaptive_avg_pool2d_backward",
    grad_output=lambda grad, grad_output: F._adaptive_avg_pool2d(
        grad, list(grad_output.shape[-2:])
    ),
    result="linear",
)
derivative(
    "_adaptive_avg_pool3d",
    self=lambda grad, self: F._adaptive_avg_pool3d_backward(grad, self),
    result="linear",
)
derivative(
    "_adaptive_avg_pool3d_backward",
    grad_output=lambda grad, grad_output: F._adaptive_avg_pool3d(
        grad, list(grad_output.shape[-3:])
    ),
    result="linear",
)
