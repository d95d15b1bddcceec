"""Searching, sorting and set functions."""

from __future__ import annotations

from typing import Any, NamedTuple

import minitorch as mt
from minitorch.array_api.data_types import is_scalar, operands


def argmax(x: mt.Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> mt.Tensor:
    """Return where the largest element along `axis` is: the first, in the flattened array if `axis` is None."""
    return mt.argmax(x, axis, keepdim=keepdims)


def argmin(x: mt.Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> mt.Tensor:
    """Return where the smallest element along `axis` is: the first, in the flattened array if `axis` is None."""
    return mt.argmin(x, axis, keepdim=keepdims)


def nonzero(x: mt.Tensor, /) -> tuple[mt.Tensor, ...]:
    """Return the indices along each axis of the elements that are not zero.

    Raises
    ------
    ValueError
        If `x` has no dimensions.
    """
    if not x.ndim:
        raise ValueError("nonzero(): an array of no dimensions has no indices")
    return tuple(mt.nonzero(x, as_tuple=True))


def searchsorted(x1: mt.Tensor, x2: Any, /, *, side: str = "left", sorter: mt.Tensor | None = None) -> mt.Tensor:
    """Return where each element of `x2` belongs in the sorted `x1`, before equal ones or (``side="right"``) after.

    Parameters
    ----------
    x1 : Tensor, shape (n,)
        Sorted, or put in order by ``x1[sorter]``.
    x2 : Tensor or number

    Returns
    -------
    Tensor, the shape of `x2`, int64.

    Raises
    ------
    ValueError
        If `side` is neither "left" nor "right".
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted(): side must be 'left' or 'right', got {side!r}")
    ordered, values = operands("searchsorted", x1, x2)
    return mt.searchsorted(
        ordered.contiguous(), values.contiguous(), side=side, sorter=None if sorter is None else sorter.to(mt.int64)
    )


def where(condition: mt.Tensor, x1: Any, x2: Any, /) -> mt.Tensor:
    """Return `x1` where `condition` is true and `x2` elsewhere."""
    if is_scalar(x1) and is_scalar(x2):
        return mt.where(condition, x1, x2)
    return mt.where(condition, *operands("where", x1, x2))


def sort(x: mt.Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> mt.Tensor:
    """Return `x` with the elements along `axis` in order."""
    return mt.sort(x, dim=axis, descending=descending, stable=stable).values


def argsort(x: mt.Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> mt.Tensor:
    """Return the indices that put the elements along `axis` in order; equal ones stay as they are if `stable`."""
    return mt.argsort(x, dim=axis, descending=descending, stable=stable)


class UniqueAll(NamedTuple):
    """Result of `unique_all`."""

    values: mt.Tensor
    indices: mt.Tensor
    inverse_indices: mt.Tensor
    counts: mt.Tensor


class UniqueCounts(NamedTuple):
    """Result of `unique_counts`."""

    values: mt.Tensor
    counts: mt.Tensor


class UniqueInverse(NamedTuple):
    """Result of `unique_inverse`."""

    values: mt.Tensor
    inverse_indices: mt.Tensor


def _order(flat: mt.Tensor) -> mt.Tensor:
    """Return the stable order of elements, complex ones by their real and then their imaginary part."""
    if not flat.dtype.is_complex:
        return mt.argsort(flat, stable=True)
    order = mt.argsort(flat.imag, stable=True)
    return order[mt.argsort(flat.real[order], stable=True)]


def unique_all(x: mt.Tensor, /) -> UniqueAll:
    """Return the elements that differ, in order, and where they are. Each NaN differs from all others.

    Returns
    -------
    values : Tensor, shape (n,)
    indices : Tensor, shape (n,), int64
        Where in the flattened `x` each value comes first.
    inverse_indices : Tensor, the shape of `x`, int64
        Which value each element has.
    counts : Tensor, shape (n,), int64
        How often each value comes.

    Examples
    --------
    >>> import minitorch.array_api as xp
    >>> values, indices, inverse, counts = xp.unique_all(xp.asarray([3, 1, 3]))
    >>> values.tolist(), indices.tolist(), inverse.tolist(), counts.tolist()
    ([1, 3], [1, 0], [1, 0, 1], [1, 2])
    """
    flat = x.reshape(-1)
    order = _order(flat)
    ordered = flat[order]
    first = mt.ones(flat.shape, dtype=mt.bool, device=x.device)
    if flat.shape[0]:
        first[1:] = ordered[1:] != ordered[:-1]
    starts = mt.nonzero(first).reshape(-1)
    ends = mt.tensor([flat.shape[0]], device=x.device)
    inverse = mt.empty(flat.shape, dtype=mt.int64, device=x.device)
    inverse[order] = mt.cumsum(first, 0) - 1
    return UniqueAll(ordered[first], order[first], inverse.reshape(x.shape), mt.diff(starts, append=ends))


def unique_counts(x: mt.Tensor, /) -> UniqueCounts:
    """Return the elements that differ, in order, and how often each comes."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: mt.Tensor, /) -> UniqueInverse:
    """Return the elements that differ, in order, and which of them each element of `x` is."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: mt.Tensor, /) -> mt.Tensor:
    """Return the elements that differ, in order."""
    return unique_all(x).values


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> mt.Tensor:
    """Return which elements of `x1` are in `x2`; which are not if `invert`."""
    elements, tests = operands("isin", x1, x2)
    return mt.isin(elements, tests, invert=invert)
