"""The values of a tensor at the places where a sparse one has entries."""

from __future__ import annotations

from typing import Any

from minitorch.ops import functions as F
from minitorch.ops.shapes.common import check
from minitorch.sparse import pattern
from minitorch.sparse.convert import coalesced, entries_of, linear_positions, product, unblocked
from minitorch.sparse.handles import BLOCKED, is_coo, is_sparse
from minitorch.sparse.refusal import Unsupported


def sparse_sizes(tensor: Any) -> tuple:
    """Return the dimensions of a sparse tensor that are not dense."""
    return tuple(tensor.handle.shape[: tensor.ndim - tensor.handle.dense_dim])


def element_positions(tensor: Any) -> Any:
    """Return the row-major position of each element of a sparse tensor among its sparse dimensions, in its order."""
    if is_coo(tensor):
        return linear_positions(tensor.handle.indices, sparse_sizes(tensor))
    entries = entries_of(tensor)
    if tensor.handle.declared_layout in BLOCKED:
        entries = unblocked(entries, tensor.handle.blocksize)
    return entries.keys(True)


def element_values(tensor: Any) -> Any:
    """Return the values that go with `element_positions`, of shape (n, *dense dimensions)."""
    handle = tensor.handle
    dense = tuple(handle.shape[tensor.ndim - handle.dense_dim :])
    leading = handle.values.shape[: handle.values.ndim - len(dense)]
    return F.reshape(handle.values, [product(leading), *dense])


def sorted_elements(tensor: Any) -> tuple[Any, Any]:
    """Return positions in order, each once, and their values."""
    if is_coo(tensor):
        tensor = coalesced(tensor)
        return element_positions(tensor), tensor.handle.values
    positions, values = element_positions(tensor), element_values(tensor)
    order = F.argsort(positions, stable=True)
    return F.index_select(positions, 0, order), F.index_select(values, 0, order)


def pick(positions: Any, values: Any, wanted: Any) -> Any:
    """Return the values at `wanted` positions, zero where there is none; `positions` are in order, each once."""
    if not positions.shape[0]:
        return F.new_zeros(values, [wanted.shape[0], *values.shape[1:]])
    places = F.clamp(F.searchsorted(positions, wanted), max=positions.shape[0] - 1)
    found = F.eq(F.index_select(positions, 0, places), wanted)
    picked = F.index_select(values, 0, places)
    found = F.reshape(found, [wanted.shape[0], *[1] * (values.ndim - 1)])
    return F.where(found, picked, F.new_zeros(picked, []))


def values_at(tensor: Any, mask: Any) -> Any:
    """Return the values that a tensor, dense or sparse, has where `mask` has entries, in the shape of the mask's values.

    Raises
    ------
    RuntimeError
        If their shapes differ.
    """
    check(
        tuple(tensor.shape) == tuple(mask.shape),
        f"sparse_mask(): operands have incompatible sizes; self has size {list(tensor.shape)} but mask has size "
        f"{list(mask.shape)}",
    )
    if not is_sparse(tensor):
        return pattern.values_at(mask, tensor)
    own = mask.handle
    shape = [*own.values.shape]
    if tensor.handle.dense_dim != own.dense_dim:
        raise Unsupported(
            f"the tensor has dense_dim()={tensor.handle.dense_dim} and the mask dense_dim()={own.dense_dim}; they must be equal"
        )
    return F.reshape(pick(*sorted_elements(tensor), element_positions(mask)), shape)
