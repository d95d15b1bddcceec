"""Manipulation and indexing functions."""

from __future__ import annotations

from collections.abc import Sequence

import minitorch as mt
from minitorch.array_api.data_types import operands

Axis = int | tuple[int, ...] | None


def _tuple(axis: int | Sequence[int]) -> tuple[int, ...]:
    return (axis,) if isinstance(axis, int) else tuple(axis)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that arrays of these shapes broadcast to.

    Raises
    ------
    ValueError
        If they do not broadcast.
    """
    try:
        return tuple(mt.broadcast_shapes(*shapes))
    except RuntimeError as error:
        raise ValueError(str(error)) from error


def broadcast_arrays(*arrays: mt.Tensor) -> tuple[mt.Tensor, ...]:
    """Return views of the arrays with the shape that they broadcast to."""
    return tuple(mt.broadcast_tensors(*arrays))


def broadcast_to(x: mt.Tensor, /, shape: tuple[int, ...]) -> mt.Tensor:
    """Return a view of `x` with the shape `shape`."""
    return mt.broadcast_to(x, shape)


def concat(arrays: Sequence[mt.Tensor], /, *, axis: int | None = 0) -> mt.Tensor:
    """Join arrays along `axis`; if it is None, all their elements in one dimension. The dtypes are promoted."""
    parts = operands("concat", *arrays)
    return mt.cat([part.reshape(-1) for part in parts], 0) if axis is None else mt.cat(parts, axis)


def stack(arrays: Sequence[mt.Tensor], /, *, axis: int = 0) -> mt.Tensor:
    """Join arrays of the same shape along a new axis. The dtypes are promoted."""
    return mt.stack(operands("stack", *arrays), axis)


def unstack(x: mt.Tensor, /, *, axis: int = 0) -> tuple[mt.Tensor, ...]:
    """Split `x` along `axis` into views without it.

    Raises
    ------
    ValueError
        If `x` has no dimensions.
    """
    if not x.ndim:
        raise ValueError("unstack(): an array of no dimensions has no axis to split")
    return tuple(mt.unbind(x, axis))


def expand_dims(x: mt.Tensor, /, axis: int | tuple[int, ...]) -> mt.Tensor:
    """Return a view of `x` with new axes of length one, at the places `axis` of the result.

    Raises
    ------
    IndexError
        If a place is outside the result.
    ValueError
        If one is named twice.
    """
    axes = _tuple(axis)
    ndim = x.ndim + len(axes)
    places = []
    for one in axes:
        if not -ndim <= one < ndim:
            raise IndexError(f"expand_dims(): axis {one} is outside the {ndim} dimensions of the result")
        places.append(one % ndim)
    if len(set(places)) < len(places):
        raise ValueError(f"expand_dims(): axis {axis} names a place twice")
    for place in sorted(places):
        x = x.unsqueeze(place)
    return x


def squeeze(x: mt.Tensor, /, axis: int | tuple[int, ...]) -> mt.Tensor:
    """Return a view of `x` without the axes `axis`, which must be of length one.

    Raises
    ------
    ValueError
        If one is longer (PyTorch keeps such axes).
    """
    axes = _tuple(axis)
    for one in axes:
        if -x.ndim <= one < x.ndim and x.shape[one] != 1:
            raise ValueError(f"squeeze(): axis {one} has length {x.shape[one]}, not 1, in the shape {tuple(x.shape)}")
    return mt.squeeze(x, axes) if axes else x.view(x.shape)


def flip(x: mt.Tensor, /, *, axis: Axis = None) -> mt.Tensor:
    """Return `x` with the order along `axis` (all axes if None) reversed: a copy."""
    return mt.flip(x, tuple(range(x.ndim)) if axis is None else _tuple(axis))


def moveaxis(x: mt.Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> mt.Tensor:
    """Return a view of `x` with the axes `source` moved to `destination`."""
    return mt.movedim(x, source, destination)


def permute_dims(x: mt.Tensor, /, axes: tuple[int, ...]) -> mt.Tensor:
    """Return a view of `x` with its axes in the order `axes`."""
    return mt.permute(x, axes)


def repeat(x: mt.Tensor, repeats: int | mt.Tensor, /, *, axis: int | None = None) -> mt.Tensor:
    """Return `x` with each element along `axis` (of the flattened array if None) as often as `repeats` says."""
    if isinstance(repeats, mt.Tensor):
        repeats = repeats.to(mt.int64)
    return mt.repeat_interleave(x, repeats, axis)


def tile(x: mt.Tensor, repetitions: tuple[int, ...], /) -> mt.Tensor:
    """Return `x` laid out as often as `repetitions` says along each axis."""
    return mt.tile(x, repetitions)


def reshape(x: mt.Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> mt.Tensor:
    """Return the elements of `x` in another shape.

    Parameters
    ----------
    shape : tuple of int
        One may be -1: what is left.
    copy : bool, optional
        True always copies; False raises where a copy would be needed.

    Raises
    ------
    ValueError
        If ``copy=False`` cannot be kept.
    """
    shape = _tuple(shape)
    if copy:
        return mt.reshape(x.clone(memory_format=mt.contiguous_format), shape)
    if copy is False:
        try:
            return x.view(shape)
        except RuntimeError as error:
            raise ValueError(f"reshape(): copy=False, but {error}") from error
    return mt.reshape(x, shape)


def roll(x: mt.Tensor, /, shift: int | tuple[int, ...], *, axis: Axis = None) -> mt.Tensor:
    """Return `x` with its elements moved `shift` places along `axis`, round the end; one shift serves several axes."""
    if axis is None:
        return mt.roll(x, shift)
    axes = _tuple(axis)
    return mt.roll(x, _tuple(shift) * len(axes) if isinstance(shift, int) else shift, axes)


def _wrapped(indices: mt.Tensor, length: int) -> mt.Tensor:
    """Return indices counted from the start, as int64: index_select and gather take no negative ones."""
    indices = indices.to(mt.int64)
    return mt.where(indices < 0, indices + length, indices)


def take(x: mt.Tensor, indices: mt.Tensor, /, *, axis: int | None = None) -> mt.Tensor:
    """Return the elements of `x` at `indices` along `axis`, which may be left out if `x` has one dimension.

    Raises
    ------
    ValueError
        If `axis` is None and `x` has not just one dimension.
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take(): axis is needed for an array of {x.ndim} dimensions; only one has a default")
        axis = 0
    found = mt.index_select(x, axis, _wrapped(indices, x.shape[axis]).reshape(-1))
    axis %= x.ndim
    return found.reshape((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


def take_along_axis(x: mt.Tensor, indices: mt.Tensor, /, *, axis: int = -1) -> mt.Tensor:
    """Return for each element of `indices` the element of `x` there along `axis`, at its place along the others."""
    return mt.take_along_dim(x, _wrapped(indices, x.shape[axis]), axis)
