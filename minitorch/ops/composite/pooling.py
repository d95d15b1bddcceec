"""Pooling of one dimension, and pooling without indices, written with the other operators."""

from __future__ import annotations

from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_implicit


def _check_1d(self, name):
    # Without channels the first of two dimensions is no batch, and may not be empty either.
    if self.dim() not in (2, 3) or 0 in self.shape[self.dim() - 2 :]:
        raise RuntimeError(
            f"{name}(): Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got: {list(self.shape)}"
        )


def _row(values):
    """Return window arguments of one dimension as those of two, the first of size 1."""
    return [1, *values] if len(values) else []


@composite_implicit("max_pool1d")
def max_pool1d_composite(
    self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False
):
    _check_1d(self, "max_pool1d")
    return F.max_pool2d(
        self.unsqueeze(-2), _row(kernel_size), _row(stride), [0, *padding], _row(dilation),
        ceil_mode,
    ).squeeze(-2)  # fmt: skip


@composite_implicit("max_pool1d_with_indices")
def max_pool1d_with_indices_composite(
    self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False
):
    _check_1d(self, "max_pool1d")
    values, indices = F.max_pool2d_with_indices(
        self.unsqueeze(-2), _row(kernel_size), _row(stride), [0, *padding], _row(dilation),
        ceil_mode,
    )  # fmt: skip
    return values.squeeze(-2), indices.squeeze(-2)


@composite_implicit("max_pool3d")
def max_pool3d_composite(
    self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False
):
    return F.max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


@composite_implicit("avg_pool1d")
def avg_pool1d_composite(
    self, kernel_size, stride=(), padding=(0,), ceil_mode=False, count_include_pad=True
):
    _check_1d(self, "avg_pool1d")
    return F.avg_pool2d(
        self.unsqueeze(-2), _row(kernel_size), _row(stride), [0, *padding], ceil_mode,
        count_include_pad,
    ).squeeze(-2)  # fmt: skip


@composite_implicit("adaptive_avg_pool1d")
def adaptive_avg_pool1d_composite(self, output_size):
    _check_1d(self, "adaptive_avg_pool1d")
    return F._adaptive_avg_pool2d(self.unsqueeze(-2), [1, *output_size]).squeeze(-2)


@composite_implicit("adaptive_avg_pool2d")
def adaptive_avg_pool2d_composite(self, output_size):
    return F._adaptive_avg_pool2d(self, output_size)


@composite_implicit("adaptive_avg_pool3d")
def adaptive_avg_pool3d_composite(self, output_size):
    return F._adaptive_avg_pool3d(self, output_size)


@composite_implicit("adaptive_max_pool1d")
def adaptive_max_pool1d_composite(self, output_size):
    _check_1d(self, "adaptive_max_pool1d")
    values, indices = F.adaptive_max_pool2d(self.unsqueeze(-2), [1, *output_size])
    return values.squeeze(-2), indices.squeeze(-2)
