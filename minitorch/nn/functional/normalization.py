"""Normalization."""

from __future__ import annotations

from typing import Any

from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = [
    "batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "normalize",
    "rms_norm",
]  # fmt: skip

_layer_norm = F.layer_norm
_native_batch_norm = F.native_batch_norm


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Return `input` normalized over all dimensions but the second.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, ...)
    running_mean, running_var : Tensor or None, shape (channels,)
        Used when not training; when training, moved in place towards the batch's statistics.
    weight, bias : Tensor, optional, shape (channels,)
    momentum : float
        The share of the new statistics.
    """
    if training:
        check_more_than_one(tuple(input.shape))
    return _native_batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )[0]


def check_more_than_one(shape: tuple) -> None:
    """Raise where a channel has a single value, whose variance is 0."""
    count = shape[0] if shape else 1
    for n in shape[2:]:
        count *= n
    if count == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size "
            f"torch.Size({list(shape)})"
        )


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Return `input` normalized over its last dimensions, which are `normalized_shape`."""
    return _layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Return `input` divided by its root mean square over the last dimensions."""
    return F.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Return `input` normalized within each group of channels of each example."""
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    sizes = tuple(input.shape)
    check_more_than_one((sizes[0] * sizes[1] // num_groups, num_groups, *sizes[2:]))
    return F.group_norm(input, num_groups, weight, bias, eps)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Return `input` normalized within each channel of each example."""
    if use_input_stats:
        sizes = tuple(input.shape)
        count = 1
        for n in sizes[2:]:
            count *= n
        if count == 1:
            raise ValueError(
                "Expected more than 1 spatial element when training, got input size "
                f"torch.Size({list(sizes)})"
            )
    return F.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Return `input` divided by a power of the mean square of `size` neighbouring channels."""
    ndim = input.dim()
    if ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {ndim} dimensions)"
        )
    if input.numel() == 0:
        return input
    square = input.mul(input)
    # The channels become the rows of images of one channel.
    images = square.reshape(input.shape[0], 1, input.shape[1], -1)
    padded = F.constant_pad_nd(images, [0, 0, size // 2, (size - 1) // 2])
    mean = F.avg_pool2d(padded, [size, 1], [1]).reshape(input.shape)
    return input / mean.mul(alpha).add(k).pow(beta)


def normalize(
    input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Return `input` divided by its p-norm along `dim`, which is taken as at least `eps`."""
    denominator = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    if out is None:
        return input / denominator
    return F.div(input, denominator, out=out)
