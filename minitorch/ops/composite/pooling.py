"""Pooling of one dimension, and pooling without indices, written with the other operators."""

from __future__ import annotations

from math import prod

from minitorch.core.dtype import int64
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


# ---------------------------------------------------------------- windows at random places


def _random_starts(samples, size, count, kernel):
    """Return where the windows along one dimension start, for each plane (Graham, 2014)."""
    steps = F.arange(count, device=samples.device)
    if count == 1:
        return (steps + (size - kernel)).expand([*samples.shape, 1])
    alpha = (size - kernel) / (count - 1)
    samples = samples.unsqueeze(-1)
    starts = ((steps.to(samples.dtype) + samples) * alpha).to(int64) - (samples * alpha).to(int64)
    return F.where(steps == count - 1, size - kernel, starts)


def _fractional(self, d, kernel_size, output_size, random_samples):
    name = f"fractional_max_pool{d}d"
    kernel = list(kernel_size) * d if len(kernel_size) == 1 else list(kernel_size)
    out = list(output_size) * d if len(output_size) == 1 else list(output_size)
    if self.dim() not in (d + 1, d + 2) or 0 in self.shape[self.dim() - d - 1 :]:
        raise RuntimeError(
            f"{name}(): Expected {d + 1}D or {d + 2}D tensor without empty dimensions, but got: {list(self.shape)}"
        )
    sizes = list(self.shape[-d:])
    for n, k, o in zip(sizes, kernel, out, strict=True):
        least = o + k - 1 if d == 2 else o + k  # volumes need one element more, as in PyTorch
        if n < least:
            raise RuntimeError(f"{name}(): kernel size {k} and output size {o} need at least {least} elements, got {n}")
    x = self if self.dim() == d + 2 else self.unsqueeze(0)
    if random_samples.dim() != 3 or random_samples.shape[0] < x.shape[0] or tuple(random_samples.shape[1:]) != (x.shape[1], d):
        raise RuntimeError(
            f"{name}(): expected random_samples of shape {[*x.shape[:2], d]}, or more in the first dimension, got "
            f"{list(random_samples.shape)}"
        )
    random_samples = random_samples.narrow(0, 0, x.shape[0])
    # Samples are given for the last dimension first in images, for the first one first in volumes.
    order = [1, 0] if d == 2 else [0, 1, 2]
    flat = 0
    for axis in range(d):
        starts = _random_starts(random_samples.select(-1, order[axis]), sizes[axis], out[axis], kernel[axis])
        along = starts.unsqueeze(-1) + F.arange(kernel[axis], device=self.device)
        shape = [1] * (2 * d)
        shape[axis], shape[d + axis] = out[axis], kernel[axis]
        flat = flat * sizes[axis] + along.reshape([*x.shape[:2], *shape])
    windows = flat.reshape([*x.shape[:2], prod(out), prod(kernel)])
    planes = x.reshape([*x.shape[:2], prod(sizes)])
    everywhere = windows.reshape([*x.shape[:2], prod(out) * prod(kernel)])
    values = planes.gather(2, everywhere).reshape(windows.shape)
    chosen = values.detach().argmax(-1, keepdim=True)
    indices = windows.gather(-1, chosen).reshape([*x.shape[:2], *out])
    result = values.gather(-1, chosen).reshape([*x.shape[:2], *out])
    return (result, indices) if x is self else (result.squeeze(0), indices.squeeze(0))


@composite_implicit("fractional_max_pool2d")
def fractional_max_pool2d_composite(self, kernel_size, output_size, random_samples):
    return _fractional(self, 2, kernel_size, output_size, random_samples)


@composite_implicit("fractional_max_pool3d")
def fractional_max_pool3d_composite(self, kernel_size, output_size, random_samples):
    return _fractional(self, 3, kernel_size, output_size, random_samples)
