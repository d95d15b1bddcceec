"""Padding, resampling and sampling of images."""

from __future__ import annotations

import math
import warnings
from typing import Any

from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = [
    "affine_grid", "channel_shuffle", "grid_sample", "interpolate", "pad", "pixel_shuffle",
    "pixel_unshuffle", "upsample", "upsample_bilinear", "upsample_nearest",
]  # fmt: skip

channel_shuffle = F.channel_shuffle
pixel_shuffle = F.pixel_shuffle
pixel_unshuffle = F.pixel_unshuffle


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Return `input` with elements added (or, where negative, taken away) at its borders.

    Parameters
    ----------
    input : Tensor
    pad : sequence of int
        How many before and after, for the last dimension first.
    mode : {"constant", "reflect", "replicate", "circular"}
    value : float, optional
        What ``"constant"`` fills in; 0 when omitted.
    """
    if mode == "constant":
        return F.constant_pad_nd(input, pad, 0 if value is None else value)
    return F.pad(input, pad, mode, value)


def _nearest(exact: bool) -> tuple:
    if exact:
        return (
            F._upsample_nearest_exact1d, F._upsample_nearest_exact2d, F._upsample_nearest_exact3d,
        )  # fmt: skip
    return F.upsample_nearest1d, F.upsample_nearest2d, F.upsample_nearest3d


def _output_size(input: Tensor, size: Any, scale_factor: Any, recompute: bool | None) -> tuple:
    """Return the size of the result and the scales that positions are computed with."""
    d = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError(
                "recompute_scale_factor is not meaningful with an explicit size."
            )
        sizes = list(size) if isinstance(size, list | tuple) else [size] * d
        if len(sizes) != d:
            raise ValueError(
                f"Input and output must have the same number of spatial dimensions, but got input "
                f"with spatial dimensions of {list(input.shape[2:])} and output size of {size}. "
                "Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size in "
                "(o1, o2, ...,oK) format."
            )
        return [int(n) for n in sizes], [None] * d
    scales = list(scale_factor) if isinstance(scale_factor, list | tuple) else [scale_factor] * d
    if len(scales) != d:
        raise ValueError(
            f"Input and scale_factor must have the same number of spatial dimensions, but got "
            f"input with spatial dimensions of {list(input.shape[2:])} and scale_factor of shape "
            f"{scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            "scale_factor in (s1, s2, ...,sK) format."
        )
    scales = [float(s) for s in scales]
    sizes = [math.floor(float(n) * s) for n, s in zip(input.shape[2:], scales, strict=True)]
    return sizes, [None] * d if recompute else scales


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Return `input` resampled to `size`, or to `scale_factor` times its size.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, ...)
        With one to three further dimensions.
    size : int or sequence of int, optional
    scale_factor : float or sequence of float, optional
    mode : {"nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area"}
    align_corners : bool, optional
        Whether the centers of the corner elements, not their outer edges, stay in place.
    recompute_scale_factor : bool, optional
        Compute positions from the sizes, not from `scale_factor`.
    antialias : bool
        Widen the kernel when shrinking (bilinear and bicubic).
    """
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | "
                "bilinear | bicubic | trilinear"
            )
    elif align_corners is None:
        align_corners = False
    d = input.dim() - 2
    output_size, scales = _output_size(input, size, scale_factor, recompute_scale_factor)
    if antialias and not (mode in ("bilinear", "bicubic") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D "
            "tensor as input"
        )
    if d in (1, 2, 3):
        if mode == "nearest":
            return _nearest(False)[d - 1](input, output_size, *scales)
        if mode == "nearest-exact":
            return _nearest(True)[d - 1](input, output_size, *scales)
        if mode == "area":
            from minitorch.nn.functional import pooling

            pools = (
                pooling.adaptive_avg_pool1d, pooling.adaptive_avg_pool2d,
                pooling.adaptive_avg_pool3d,
            )  # fmt: skip
            return pools[d - 1](input, output_size)
    smooth = {
        ("linear", 1): F.upsample_linear1d,
        ("bilinear", 2): F._upsample_bilinear2d_aa if antialias else F.upsample_bilinear2d,
        ("trilinear", 3): F.upsample_trilinear3d,
        ("bicubic", 2): F._upsample_bicubic2d_aa if antialias else F.upsample_bicubic2d,
    }.get((mode, d))
    if smooth is None:
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | "
            f"area | nearest-exact (got {mode})"
        )
    return smooth(input, output_size, align_corners, *scales)


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Return `input` resampled; use `interpolate` instead."""
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Return `input` resampled to the nearest elements; use `interpolate` instead."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Return `input` resampled bilinearly with aligned corners; use `interpolate` instead."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


_INTERPOLATION = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDING = {"zeros": 0, "border": 1, "reflection": 2}


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Return `input` sampled at the positions `grid`.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, height, width) or with depth
    grid : Tensor, shape (batch, out height, out width, 2) or with depth and 3
        Positions (x, y[, z]), from -1 at one border to 1 at the other.
    mode : {"bilinear", "nearest", "bicubic"}
    padding_mode : {"zeros", "border", "reflection"}
        What is found outside.
    align_corners : bool, optional
        Whether -1 and 1 mean the centers of the corner elements or their outer edges.
    """
    if mode not in _INTERPOLATION:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or "
            f"'bicubic', but got: '{mode}'"
        )
    if padding_mode not in _PADDING:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False "
            "since 1.3.0. Please specify align_corners=True if the old behavior is desired.",
            stacklevel=2,
        )
        align_corners = False
    return F.grid_sampler(
        input, grid, _INTERPOLATION[mode], _PADDING[padding_mode], align_corners
    )


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Return the grid for `grid_sample` that an affine map gives.

    Parameters
    ----------
    theta : Tensor, shape (batch, 2, 3) or (batch, 3, 4)
    size : sequence of int
        The size of the output image, batch and channels included.
    """
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False "
            "since 1.3.0. Please specify align_corners=True if the old behavior is desired.",
            stacklevel=2,
        )
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {list(size)}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")
    return F.affine_grid_generator(theta, size, align_corners)
