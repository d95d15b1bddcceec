"""``torch.nn.grad``: gradients of convolutions, as functions."""

from __future__ import annotations

from typing import Any

from minitorch.nn.modules.utils import _ntuple
from minitorch.ops import functions as F

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _backward(
    dims: int, grad: Any, input: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int, which: int
) -> Any:
    expand = _ntuple(dims)
    mask = [which == 0, which == 1, False]
    zeros = (0,) * dims
    return F.convolution_backward(
        grad, input, weight, None, expand(stride), expand(padding), expand(dilation), False, zeros, groups, mask
    )[which]


def _input(
    dims: int, input_size: Any, weight: Any, grad_output: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    # Its values do not matter: memory for one is enough.
    input = grad_output.new_empty(1).expand(tuple(input_size))
    return _backward(dims, grad_output, input, weight, stride, padding, dilation, groups, 0)


def _weight(
    dims: int, input: Any, weight_size: Any, grad_output: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    weight = grad_output.new_empty(1).expand(tuple(weight_size))
    return _backward(dims, grad_output, input, weight, stride, padding, dilation, groups, 1)


def conv1d_input(
    input_size: Any,
    weight: Any,
    grad_output: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Return the gradient of `functional.conv1d` with respect to its input, shape `input_size`, from that of its output."""
    return _input(1, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Any,
    weight_size: Any,
    grad_output: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Return the gradient of `functional.conv1d` with respect to its weight, shape `weight_size`, from that of its output."""
    return _weight(1, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Any,
    weight: Any,
    grad_output: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Return the gradient of `functional.conv2d` with respect to its input, shape `input_size`, from that of its output.

    Examples
    --------
    >>> grad = conv2d_input((1, 1, 3, 3), minitorch.ones(1, 1, 2, 2), minitorch.ones(1, 1, 2, 2))
    >>> grad[0, 0].tolist()
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    return _input(2, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Any,
    weight_size: Any,
    grad_output: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Return the gradient of `functional.conv2d` with respect to its weight, shape `weight_size`, from that of its output."""
    return _weight(2, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Any,
    weight: Any,
    grad_output: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Return the gradient of `functional.conv3d` with respect to its input, shape `input_size`, from that of its output."""
    return _input(3, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Any,
    weight_size: Any,
    grad_output: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """Return the gradient of `functional.conv3d` with respect to its weight, shape `weight_size`, from that of its output."""
    return _weight(3, input, weight_size, grad_output, stride, padding, dilation, groups)
