"""Pooling and unpooling."""

from __future__ import annotations

from typing import Any

from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "fractional_max_pool2d", "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d", "fractional_max_pool3d_with_indices", "lp_pool1d", "lp_pool2d",
    "lp_pool3d", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices",
    "max_pool3d", "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip

avg_pool1d = F.avg_pool1d
avg_pool2d = F.avg_pool2d
avg_pool3d = F.avg_pool3d
adaptive_avg_pool1d = F.adaptive_avg_pool1d

_max_pool1d = F.max_pool1d
_max_pool2d = F.max_pool2d
_max_pool3d = F.max_pool3d


def max_pool1d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """Return the maxima of sliding windows, and where they are in the input."""
    return F.max_pool1d_with_indices(
        input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode
    )


def max_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """Return the maxima of sliding windows over the last dimension."""
    if return_indices:
        return max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool1d(
        input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode
    )


def max_pool2d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """Return the maxima of sliding windows, and their flat indices in each image."""
    return F.max_pool2d_with_indices(
        input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode
    )


def max_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """Return the maxima of sliding windows over the last two dimensions.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, height, width) or without batch
    kernel_size : int or tuple of two
    stride : int or tuple of two, optional
        The kernel size when omitted.
    padding, dilation : int or tuple of two
    ceil_mode : bool
        Let a last window reach beyond the input.
    return_indices : bool
        Return also the flat index of each maximum.
    """
    if return_indices:
        return max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool2d(
        input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode
    )


def max_pool3d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """Return the maxima of sliding windows, and their flat indices in each volume."""
    return F.max_pool3d_with_indices(
        input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode
    )


def max_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """Return the maxima of sliding windows over the last three dimensions."""
    if return_indices:
        return max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool3d(
        input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode
    )


def _adaptive_size(output_size: Any, input: Tensor, count: int) -> list[int]:
    """Return the output size with None replaced by the input's size."""
    if isinstance(output_size, int):
        return [output_size] * count
    output_size = tuple(output_size)
    if len(output_size) == 1:
        output_size = output_size * count
    if input.dim() <= len(output_size):
        raise ValueError(
            f"Input dimension should be at least {len(output_size) + 1}, got {input.dim()}"
        )
    if len(output_size) != count:
        raise RuntimeError(f"adaptive pooling: output_size must be {count} ints, got {len(output_size)}: {output_size}")
    sizes = tuple(input.shape)[-count:]
    return [n if given is None else given for given, n in zip(output_size, sizes, strict=True)]


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Return averages over windows chosen so that the result has `output_size`."""
    return F.adaptive_avg_pool2d(input, _adaptive_size(output_size, input, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Return averages over windows chosen so that the result has `output_size`."""
    return F.adaptive_avg_pool3d(input, _adaptive_size(output_size, input, 3))


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Any:
    """Return maxima over windows chosen for `output_size`, and where they are."""
    return F.adaptive_max_pool1d(input, output_size)


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Return maxima over windows chosen so that the result has `output_size`."""
    result = adaptive_max_pool1d_with_indices(input, output_size)
    return result if return_indices else result[0]


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Any:
    """Return maxima over windows chosen for `output_size`, and where they are."""
    return F.adaptive_max_pool2d(input, _adaptive_size(output_size, input, 2))


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Return maxima over windows chosen so that the result has `output_size`."""
    result = adaptive_max_pool2d_with_indices(input, output_size)
    return result if return_indices else result[0]


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Any:
    """Return maxima over windows chosen for `output_size`, and where they are."""
    return F.adaptive_max_pool3d(input, _adaptive_size(output_size, input, 3))


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Return maxima over windows chosen so that the result has `output_size`."""
    result = adaptive_max_pool3d_with_indices(input, output_size)
    return result if return_indices else result[0]


def _lp_pool(input: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool,
             pool: Any, count: int) -> Tensor:  # fmt: skip
    kernel = [kernel_size] * count if isinstance(kernel_size, int) else list(kernel_size)
    elements = 1
    for k in kernel:
        elements *= k
    mean = pool(
        input.pow(norm_type), kernel, kernel if stride is None else stride, 0, ceil_mode
    )
    return (mean.sign() * mean.abs().relu() * elements).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """Return the p-norms of sliding windows over the last dimension."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, avg_pool1d, 1)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """Return the p-norms of sliding windows over the last two dimensions."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, avg_pool2d, 2)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """Return the p-norms of sliding windows over the last three dimensions."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, avg_pool3d, 3)


def _unpool_size(input: Tensor, kernel: list, stride: list, padding: list, output_size: Any):
    """Return the size that unpooling gives, checking the one that is wished."""
    sizes = tuple(input.shape)[-len(kernel) :]
    default = [
        (n - 1) * s + k - 2 * p
        for n, s, k, p in zip(sizes, stride, kernel, padding, strict=True)
    ]
    if output_size is None:
        return default
    output_size = list(output_size)
    if len(output_size) == len(kernel) + 2:
        output_size = output_size[2:]
    if len(output_size) != len(kernel):
        raise ValueError(
            f"output_size should be a sequence containing {len(kernel)} or {len(kernel) + 2} "
            f"elements, but it has a length of '{len(output_size)}'"
        )
    for wished, usual, s in zip(output_size, default, stride, strict=True):
        if not usual - s < wished < usual + s:
            raise ValueError(
                f"invalid output_size {output_size}: each size must be less than a stride away "
                f"from {default}"
            )
    return output_size


def _list(value: Any, count: int) -> list[int]:
    return [value] * count if isinstance(value, int) else list(value)


def _unpool(
    input: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any, count: int
) -> tuple[list, list, list]:
    kernel = _list(kernel_size, count)
    strides = kernel if stride is None else _list(stride, count)
    pads = _list(padding, count)
    return _unpool_size(input, kernel, strides, pads, output_size), strides, pads


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Return zeros with the elements of `input` at `indices`, as `max_pool1d` gave them."""
    size, _, _ = _unpool(input, kernel_size, stride, padding, output_size, 1)
    return F.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1]).squeeze(-1)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Return zeros with the elements of `input` at `indices`, as `max_pool2d` gave them."""
    size, _, _ = _unpool(input, kernel_size, stride, padding, output_size, 2)
    return F.max_unpool2d(input, indices, size)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Return zeros with the elements of `input` at `indices`, as `max_pool3d` gave them."""
    size, strides, pads = _unpool(input, kernel_size, stride, padding, output_size, 3)
    return F.max_unpool3d(input, indices, size, strides, pads)


# ---------------------------------------------------------------- windows at random places


def _fractional(
    operator: Any, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Tensor | None,
    count: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    name = f"fractional_max_pool{count}d"
    if input.dim() <= count:
        raise IndexError(f"{name}: expected an input of {count + 1} or {count + 2} dimensions, got {input.dim()}")
    if output_size is None:
        if output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        ratios = [output_ratio] * count if isinstance(output_ratio, float) else list(output_ratio)
        if len(ratios) != count:
            raise ValueError(f"{name} requires output_ratio to be a number or {count} of them, got {output_ratio}")
        output_size = [int(n * r) for n, r in zip(input.shape[-count:], ratios, strict=True)]
    if samples is None:
        batch = 1 if input.dim() == count + 1 else input.shape[0]
        samples = F.rand([batch, input.shape[-count - 1], count], dtype=input.dtype, device=input.device)
    return operator(input, _list(kernel_size, count), _list(output_size, count), samples)


def fractional_max_pool2d_with_indices(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return `fractional_max_pool2d`, and where in each plane its elements come from."""
    return _fractional(
        F.fractional_max_pool2d, input, kernel_size, output_size, output_ratio, _random_samples, 2
    )


def fractional_max_pool3d_with_indices(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return `fractional_max_pool3d`, and where in each volume its elements come from."""
    return _fractional(
        F.fractional_max_pool3d, input, kernel_size, output_size, output_ratio, _random_samples, 3
    )


def fractional_max_pool2d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """Return the maxima of windows that start at random places (Graham, 2014).

    Parameters
    ----------
    output_size : int or two of them
        How many windows; or else
    output_ratio : float or two of them
        how many for each element of the input, less than 1.
    """
    result = fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )
    return result if return_indices else result[0]


def fractional_max_pool3d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """Return the maxima of windows of volumes that start at random places; see `fractional_max_pool2d`."""
    result = fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )
    return result if return_indices else result[0]
