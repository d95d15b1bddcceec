"""Operators of images written with other operators."""

from __future__ import annotations

from math import prod

from minitorch.core.dtype import int64
from minitorch.core.memory_format import suggested_format
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_implicit

# ---------------------------------------------------------------- padding


@composite_implicit("pad")
def pad_composite(self, pad, mode="constant", value=None):
    if mode == "constant":
        return F.constant_pad_nd(self, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'pad(): Padding mode "{mode}" doesn\'t take in value argument')
    if mode == "circular":
        return F._pad_circular(self, pad)
    choices = {
        "reflect": (F.reflection_pad1d, F.reflection_pad2d, F.reflection_pad3d),
        "replicate": (F.replication_pad1d, F.replication_pad2d, F.replication_pad3d),
    }.get(mode)
    if choices is None:
        raise NotImplementedError(
            f"pad(): Unrecognised padding mode {mode}; use constant, reflect, replicate or circular"
        )
    d = len(pad) // 2
    if d not in (1, 2, 3) or self.dim() not in (d + 1, d + 2) or len(pad) % 2:
        raise NotImplementedError(
            "pad(): Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now, "
            f"got an input of {self.dim()} dimensions and pad {list(pad)}"
        )
    return choices[d - 1](self, pad)


@composite_implicit("_pad_circular")
def pad_circular_composite(self, pad):
    d = len(pad) // 2
    if len(pad) % 2 or self.dim() not in (d + 1, d + 2):
        raise RuntimeError(
            f"pad(): Invalid padding size, expected {2 * (self.dim() - 2)} but got {len(pad)}"
        )
    result = self
    for i in range(d):
        axis = self.dim() - 1 - i
        before, after = pad[2 * i], pad[2 * i + 1]
        # Negative padding cuts first; what is left is then repeated.
        start = max(0, -before)
        n = self.shape[axis] - start - max(0, -after)
        before, after = max(0, before), max(0, after)
        if n < 0:
            raise RuntimeError("pad(): Negative padding value is resulting in an empty dimension")
        if before > n or after > n:
            raise RuntimeError("pad(): Padding value causes wrapping around more than once.")
        index = F.arange(-before, n + after, dtype=int64, device=self.device)
        result = result.index_select(axis, index.remainder(n) + start)
    return result


# ---------------------------------------------------------------- rearrangement


def _in_format_of(input, result, is_view=False):
    """Return `result` as a tensor of its own in the memory format that `input` suggests."""
    fmt = suggested_format(input.handle.shape, input.handle.strides)
    if is_view:
        return result.clone(memory_format=fmt)
    return result.contiguous(memory_format=fmt)


@composite_implicit("pixel_shuffle")
def pixel_shuffle_composite(self, upscale_factor):
    name = "pixel_shuffle"
    r = upscale_factor
    if self.dim() < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with "
            f"{self.dim()} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"{name} expects a positive upscale_factor, but got {r}")
    *lead, c, h, w = self.shape
    if c % (r * r):
        raise RuntimeError(
            f"{name} expects its input's 'channel' dimension to be divisible by the square of "
            f"upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    out = c // (r * r)
    n = len(lead)
    split = self.reshape(*lead, out, r, r, h, w)
    moved = split.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return _in_format_of(self, moved.reshape(*lead, out, h * r, w * r), r == 1)


@composite_implicit("pixel_unshuffle")
def pixel_unshuffle_composite(self, downscale_factor):
    name = "pixel_unshuffle"
    r = downscale_factor
    if self.dim() < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with "
            f"{self.dim()} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"{name} expects a positive downscale_factor, but got {r}")
    *lead, c, h, w = self.shape
    if h % r or w % r:
        raise RuntimeError(
            f"{name} expects height and width to be divisible by downscale_factor, but input has "
            f"height {h} and width {w}, and downscale_factor is {r}"
        )
    n = len(lead)
    split = self.reshape(*lead, c, h // r, r, w // r, r)
    moved = split.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return _in_format_of(self, moved.reshape(*lead, c * r * r, h // r, w // r), r == 1)


@composite_implicit("channel_shuffle")
def channel_shuffle_composite(self, groups):
    if self.dim() < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(self.shape)}"
        )
    n, c = self.shape[:2]
    if groups <= 0 or c % groups:
        raise RuntimeError(
            f"channel_shuffle: Number of channels must be divisible by groups. Got {c} channels "
            f"and {groups} groups."
        )
    rest = self.shape[2:]
    split = self.reshape(n, groups, c // groups, *rest)
    return _in_format_of(self, split.transpose(1, 2).reshape(self.shape), groups in (1, c))


# ---------------------------------------------------------------- sampling at a grid

_BILINEAR, _NEAREST, _BICUBIC = 0, 1, 2
_ZEROS, _BORDER, _REFLECTION = 0, 1, 2


def _check_grid(input, grid, name):
    if input.device != grid.device:
        raise RuntimeError(
            f"{name}(): expected input and grid to be on same device, but input is on "
            f"{input.device} and grid is on {grid.device}"
        )
    if input.dim() not in (4, 5) or input.dim() != grid.dim():
        raise RuntimeError(
            f"{name}(): expected 4D or 5D input and grid with same number of dimensions, but got "
            f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            f"{name}(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != input.dim() - 2:
        raise RuntimeError(
            f"{name}(): expected grid to have size {input.dim() - 2} in last dimension, but got "
            f"grid with sizes {list(grid.shape)}"
        )


@composite_implicit("grid_sampler")
def grid_sampler_composite(input, grid, interpolation_mode, padding_mode, align_corners):
    _check_grid(input, grid, "grid_sampler")
    sampler = F.grid_sampler_2d if input.dim() == 4 else F.grid_sampler_3d
    return sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def _unnormalized(coordinate, size, align_corners):
    """Return where a coordinate in [-1, 1] is in an image of `size`."""
    if align_corners:
        return (coordinate + 1) * ((size - 1) / 2)
    return ((coordinate + 1) * size - 1) / 2


def _reflected(position, low_twice, high_twice):
    """Return positions mirrored into [low, high], which are given doubled."""
    if low_twice == high_twice:
        return F.zeros_like(position)
    low, span = low_twice / 2, (high_twice - low_twice) / 2
    distance = (position - low).abs()
    extra = distance.fmod(span)
    flips = (distance / span).floor().detach()
    return F.where(flips.remainder(2) == 0, extra + low, span - extra + low)


def _within(position, size, padding_mode, align_corners):
    """Return positions moved into the image, as the padding mode says."""
    if padding_mode == _ZEROS:
        return position
    if padding_mode == _REFLECTION:
        if align_corners:
            position = _reflected(position, 0, 2 * (size - 1))
        else:
            position = _reflected(position, -1, 2 * size - 1)
    return position.clamp(0, size - 1)


def _picked(input, indices):
    """Return the elements at integer positions (one tensor per dimension); 0 outside."""
    n, c = input.shape[:2]
    sizes = input.shape[2:]
    inside = None
    flat = None
    for index, size in zip(indices, sizes, strict=True):
        good = (index >= 0) & (index < size)
        inside = good if inside is None else inside & good
        index = index.clamp(0, size - 1)
        flat = index if flat is None else flat * size + index
    out = flat.shape[1:]
    flat = flat.to(int64).reshape(n, 1, -1).expand(n, c, prod(out))
    values = input.reshape(n, c, -1).gather(2, flat).reshape(n, c, *out)
    return values * inside.unsqueeze(1)


def _sampled_linearly(input, positions):
    """Return the multilinear interpolation at `positions`."""
    lows = [p.detach().floor() for p in positions]
    shares = [p - low for p, low in zip(positions, lows, strict=True)]
    total = None
    for corner in range(2 ** len(positions)):
        indices, weight = [], None
        for k, (low, share) in enumerate(zip(lows, shares, strict=True)):
            upper = corner >> k & 1
            indices.append(low + upper)
            part = share if upper else 1 - share
            weight = part if weight is None else weight * part
        term = _picked(input, indices) * weight.unsqueeze(1)
        total = term if total is None else total + term
    return total


def _cubic_weights(t):
    """Return the weights of the four neighbours, for a share `t` past the second."""
    a = -0.75

    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _sampled_cubically(input, positions, padding_mode, align_corners):
    y, x = positions
    y0, x0 = y.detach().floor(), x.detach().floor()
    weights_y, weights_x = _cubic_weights(y - y0), _cubic_weights(x - x0)
    height, width = input.shape[2:]
    total = None
    for i, weight_y in enumerate(weights_y):
        row = _within(y0 + (i - 1), height, padding_mode, align_corners).round()
        for j, weight_x in enumerate(weights_x):
            column = _within(x0 + (j - 1), width, padding_mode, align_corners).round()
            term = _picked(input, [row, column]) * (weight_y * weight_x).unsqueeze(1)
            total = term if total is None else total + term
    return total


def _sample(input, grid, interpolation_mode, padding_mode, align_corners):
    sizes = input.shape[2:]
    d = len(sizes)
    # The grid's last dimension is (x, y[, z]); ours are (z,) y, x.
    positions = [
        _unnormalized(grid[..., d - 1 - k], sizes[k], align_corners) for k in range(d)
    ]
    if interpolation_mode == _BICUBIC:
        return _sampled_cubically(input, positions, padding_mode, align_corners)
    positions = [
        _within(p, n, padding_mode, align_corners)
        for p, n in zip(positions, sizes, strict=True)
    ]
    if interpolation_mode == _NEAREST:
        return _picked(input, [p.detach().round() for p in positions])
    return _sampled_linearly(input, positions)


@composite_implicit("grid_sampler_2d")
def grid_sampler_2d_composite(input, grid, interpolation_mode, padding_mode, align_corners):
    _check_grid(input, grid, "grid_sampler_2d")
    return _sample(input, grid, interpolation_mode, padding_mode, align_corners)


@composite_implicit("grid_sampler_3d")
def grid_sampler_3d_composite(input, grid, interpolation_mode, padding_mode, align_corners):
    _check_grid(input, grid, "grid_sampler_3d")
    if interpolation_mode == _BICUBIC:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    return _sample(input, grid, interpolation_mode, padding_mode, align_corners)


@composite_implicit("affine_grid_generator")
def affine_grid_generator_composite(theta, size, align_corners):
    """Return where each output element is taken from, in [-1, 1]: the affine map of its place."""
    spatial = size[2:]
    d = len(spatial)
    if theta.dim() != 3 or theta.shape[1:] != (d, d + 1):
        raise ValueError(
            f"Expected a batch of {d}D affine matrices of shape Nx{d}x{d + 1} for size "
            f"{list(size)}. Got {list(theta.shape)}."
        )
    axes = []
    for n in spatial:
        axis = F.linspace(-1.0, 1.0, n, dtype=theta.dtype, device=theta.device)
        if n <= 1:
            axis = F.zeros_like(axis)
        elif not align_corners:
            axis = axis * ((n - 1) / n)
        axes.append(axis)
    columns = []
    for k in reversed(range(d)):
        shape = [1] * d
        shape[k] = spatial[k]
        columns.append(axes[k].reshape(shape).expand(list(spatial)))
    columns.append(F.ones_like(columns[0]))
    base = F.stack(columns, -1).reshape(1, -1, d + 1).expand(theta.shape[0], prod(spatial), d + 1)
    return base.bmm(theta.transpose(1, 2)).reshape(theta.shape[0], *spatial, d)


@composite_implicit("_upsample_bilinear2d_aa.vec")
def upsample_bilinear2d_aa_vec_composite(input, output_size, align_corners, scale_factors):
    if (output_size is None) == (scale_factors is None):
        raise RuntimeError(
            "_upsample_bilinear2d_aa(): must specify exactly one of output_size and scale_factors"
        )
    scales = [None, None] if scale_factors is None else list(scale_factors)
    if output_size is None:
        output_size = [int(n * s) for n, s in zip(input.shape[2:], scales, strict=True)]
    return F._upsample_bilinear2d_aa(input, output_size, align_corners, *scales)
