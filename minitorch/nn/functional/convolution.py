"""Convolutions, and the sliding windows that they are made of."""

from __future__ import annotations

from typing import Any

from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "fold", "unfold",
]  # fmt: skip

conv1d = F.conv1d
conv2d = F.conv2d
conv3d = F.conv3d
conv_transpose1d = F.conv_transpose1d
conv_transpose2d = F.conv_transpose2d
conv_transpose3d = F.conv_transpose3d
conv_tbc = F.conv_tbc


def _pair(value: Any) -> list[int]:
    return [value, value] if isinstance(value, int) else list(value)


def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Return the sliding windows of a batch of images as columns.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, height, width)
    kernel_size, dilation, padding, stride : int or tuple of two

    Returns
    -------
    Tensor, shape (batch, channels * kernel elements, windows)
    """
    return F.im2col(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Return the images whose windows are the columns of `input`; overlaps are summed."""
    return F.col2im(
        input, _pair(output_size), _pair(kernel_size), _pair(dilation), _pair(padding),
        _pair(stride),
    )  # fmt: skip
