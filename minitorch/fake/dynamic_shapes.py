"""Operators whose results depend on elements, where a shape environment gives what is unknown symbols.

A function of `UNKNOWN` gets the mode and the operator's arguments, which its Meta kernel has found right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.core.checks import _check
from minitorch.core.dtype import bool_, float32, float64, int64, uint8
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase

UNKNOWN: dict[str, Callable[..., Any]] = {}


def unknown(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what operators of ``aten`` return."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            UNKNOWN["aten::" + name] = fn
        return fn

    return register


def new_size(mode: Any, least: int = 0, most: Any = None) -> Any:
    """Return a size that is known only when the operator runs on real data."""
    size = mode.shape_env.create_unbacked_size(least)
    if most is not None:
        _check(size <= most)
    return size


def remembered(tensor: Any, name: str, make: Callable[[], Any]) -> Any:
    """Return what was found of the elements of a tensor, again as long as these do not change."""
    version = None if tensor.is_inference() else tensor._version
    found = tensor.found.get(name) if tensor.found is not None else None
    if found is not None and found[0] == version:
        return found[1]
    value = make()
    tensor.found = {**(tensor.found or {}), name: (version, value)}
    return value


@unknown("_local_scalar_dense")
def scalar(mode: Any, self: Any) -> Any:
    """The element of a tensor, as a symbolic number of its kind."""
    env = mode.shape_env
    if self.dtype is bool_:
        return remembered(self, "element", env.create_unbacked_symbool)
    make = env.create_unbacked_symfloat if self.dtype.is_floating_point else env.create_unbacked_symint
    return remembered(self, "element", make)


def count_of_ones(mode: Any, tensor: Any) -> Any:
    """Return how many elements of a tensor are not zero: the same symbol for all that ask, so that what they make fits."""
    return remembered(tensor, "ones", lambda: new_size(mode))


@unknown("nonzero")
def nonzero(mode: Any, self: Any) -> Any:
    """The places, in the memory of a tensor that lists them by dimension."""
    return F.t(F.empty([self.ndim, count_of_ones(mode, self)], dtype=int64, device=self.device))


@unknown("masked_select")
def masked_select(mode: Any, self: Any, mask: Any) -> Any:
    """As many elements as the mask has ones."""
    size = count_of_ones(mode, mask) if mask.shape == self.shape else new_size(mode)
    return F.new_empty(self, [size])


@unknown("repeat_interleave.Tensor")
def repeat_interleave(mode: Any, repeats: Any, *, output_size: Any = None) -> Any:
    """As many places as the repeats add up to."""
    return F.new_empty(repeats, [new_size(mode)])


@unknown("bincount")
def bincount(mode: Any, self: Any, weights: Any = None, minlength: int = 0) -> Any:
    """One count for each value up to the largest."""
    dtype = int64 if weights is None else float32 if weights.dtype is float32 else float64
    return F.new_empty(self, [new_size(mode, minlength)], dtype=dtype)


def _unique(mode: Any, self: Any, dim: Any, inverse: bool, counts: bool, positions: list) -> tuple:
    size = new_size(mode)
    if dim is None:
        values = F.new_empty(self, [size])
    else:
        rest = [*self.shape[:dim], *self.shape[dim + 1 :]] if self.ndim else []
        values = F.movedim(F.new_empty(self, [size, *rest]), 0, dim)
    return (
        values,
        F.new_empty(self, positions if inverse else [0], dtype=int64),
        F.new_empty(self, [size if counts else 0], dtype=int64),
    )


@unknown("_unique2")
def unique(
    mode: Any, self: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple:
    """The different elements, where each came from, and how many there are of each."""
    return _unique(mode, self, None, return_inverse, return_counts, list(self.shape))


@unknown("unique_dim")
def unique_dim(
    mode: Any, self: Any, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple:
    """The different slices."""
    dim %= max(self.ndim, 1)
    return _unique(mode, self, dim, return_inverse, return_counts, [self.shape[dim]])


@unknown("unique_consecutive")
def unique_consecutive(
    mode: Any, self: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple:
    """The elements, or slices, that differ from the one before."""
    if dim is None:
        return _unique(mode, self, None, return_inverse, return_counts, list(self.shape))
    dim %= max(self.ndim, 1)
    return _unique(mode, self, dim, return_inverse, return_counts, [self.shape[dim]])


@unknown("index.Tensor", "_unsafe_index.Tensor")
def index(mode: Any, self: Any, indices: list) -> Any:
    """A mask stands for the places of its ones."""
    expanded: list[Any] = []
    for item in indices:
        if isinstance(item, TensorBase) and item.dtype in (bool_, uint8):
            places = F.nonzero(item)
            expanded += [F.select(places, 1, d) for d in range(item.ndim)]
        else:
            expanded.append(item)
    return F.index(self, expanded)
