"""Where the values of sparse tensors stand: patterns, brought together, and read out of dense tensors.

Note [Patterns without elements]
    How many entries a union or a selection has depends on the indices.  Of fake and meta tensors, which have none to look
    at, it has as many as it may have at most.
"""

from __future__ import annotations

from typing import Any

from minitorch.core.layout import sparse_coo
from minitorch.ops import functions as F
from minitorch.sparse import convert
from minitorch.sparse.handles import BLOCKED, CompressedHandle, CooHandle, coo, is_coo
from minitorch.sparse.refusal import Unsupported
from minitorch.tensor.wrapper import has_values


def to_coo(tensor: Any) -> Any:
    """Return a sparse tensor in layout ``sparse_coo``: itself if it is in that layout."""
    return tensor if is_coo(tensor) else F._to_sparse(tensor, layout=sparse_coo)


def in_layout_of(tensor: Any, like: Any) -> Any:
    """Return a tensor of layout ``sparse_coo`` in the layout of `like`, with its block size.

    Raises
    ------
    Unsupported
        If the layout cannot have the shape: it has two sparse dimensions, and whole blocks.
    """
    if is_coo(like):
        return tensor
    if not is_coo(tensor):
        return tensor if tensor.layout is like.layout else in_layout_of(to_coo(tensor), like)
    handle: CompressedHandle = like.handle
    layout = handle.declared_layout
    if tensor.handle.sparse_dim != 2 or handle.batch_dim:
        raise Unsupported(
            "the result has other than two sparse dimensions, or batches; to_sparse() makes a tensor that can have it"
        )
    if layout not in BLOCKED:
        return F._to_sparse(tensor, layout=layout)
    rows, columns = handle.blocksize
    if tensor.shape[0] % rows or tensor.shape[1] % columns:
        raise Unsupported(f"the result's shape {tuple(tensor.shape)} has no whole blocks of {rows} by {columns}")
    return F._to_sparse(tensor, layout=layout, blocksize=[rows, columns])


def constructed(shape: Any, indices: Any, values: Any, is_sorted: bool = False) -> Any:
    """Return a tensor of layout ``sparse_coo``, coalesced where PyTorch says so: with one value at most, or if `is_sorted`."""
    return coo(shape, indices, values, is_sorted or values.shape[0] < 2)


def with_zeros(tensor: Any) -> Any:
    """Return a coalesced or compressed tensor of the same elements: one in which no element is a sum."""
    return convert.coalesced(tensor) if is_coo(tensor) else tensor


def all_sparse(tensor: Any) -> Any:
    """Return a tensor of layout ``sparse_coo`` with its dense dimensions as sparse ones: an entry for each element."""
    handle: CooHandle = tensor.handle
    if not handle.dense_dim:
        return tensor
    dense = handle.values.shape[1:]
    count = 1
    for n in dense:
        count *= n
    there = convert.coordinates(F.arange(count, device=handle.values.device), dense)
    indices = F.cat([F.repeat_interleave(handle.indices, count, 1), F.repeat(there, [1, handle.nnz])])
    return coo(handle.shape, indices, F.reshape(handle.values, [-1]), handle.coalesced)


def is_same_pattern(first: Any, second: Any) -> bool:
    """Return whether two tensors are known, without a look at indices, to have their values at the same places."""
    a, b = first.handle, second.handle
    if type(a) is not type(b) or a.declared_layout is not b.declared_layout or tuple(a.shape) != tuple(b.shape):
        return False
    if isinstance(a, CooHandle):
        return _is_same(a.indices, b.indices) and a.values.shape == b.values.shape
    return _is_same(a.compressed, b.compressed) and _is_same(a.plain, b.plain) and a.values.shape == b.values.shape


def _is_same(first: Any, second: Any) -> bool:
    return first is second or first.handle is second.handle


def same_indices(first: CooHandle, second: CooHandle) -> bool:
    """Return whether two coalesced tensors have the same indices; of tensors without elements only if it is known."""
    if _is_same(first.indices, second.indices):
        return True
    if first.indices.shape != second.indices.shape or not has_values(first.indices):
        return False
    return bool(F.equal(first.indices, second.indices))


def alike(name: str, *tensors: Any) -> list:
    """Return tensors of layout ``sparse_coo`` with as many sparse dimensions each: all of them, where they differ.

    Raises
    ------
    RuntimeError
        If their shapes differ.
    """
    first = tensors[0].handle
    for other in tensors[1:]:
        if tuple(other.handle.shape) != tuple(first.shape):
            raise RuntimeError(
                f"{name}(): expected sizes of 'self' and 'other' to match, but {list(first.shape)} != "
                f"{list(other.handle.shape)}; a sparse tensor is not broadcast to the shape of another"
            )
    if any(t.handle.sparse_dim != first.sparse_dim for t in tensors):
        return [all_sparse(t) for t in tensors]
    return list(tensors)


def union(tensors: list) -> tuple[Any, list]:
    """Return the union of the patterns of coalesced COO tensors of one shape: indices, and each tensor's values there.

    Returns
    -------
    indices : Tensor
        In lexicographic order.
    values : list of Tensor
        Of shape (nnz, *dense dimensions), zero where a tensor has no value.
    """
    handles = [t.handle for t in tensors]
    first = handles[0]
    if all(same_indices(first, h) for h in handles[1:]):
        return first.indices, [h.values for h in handles]
    sizes = first.shape[: first.sparse_dim]
    if not has_values(first.indices):  # Note [Patterns without elements]
        count = sum(h.nnz for h in handles)
        indices = F.new_empty(first.indices, [first.sparse_dim, count])
        return indices, [F.new_empty(h.values, [count, *h.values.shape[1:]]) for h in handles]
    positions = F.cat([convert.linear_positions(h.indices, sizes) for h in handles])
    together, places, _ = F._unique2(positions, True, True)
    values = []
    start = 0
    for h in handles:
        here = F.slice(places, 0, start, start + h.nnz)
        start += h.nnz
        spread = F.new_zeros(h.values, [together.shape[0], *h.values.shape[1:]])
        values.append(F.index_copy(spread, 0, here, h.values))
    return convert.coordinates(together, sizes), values


def matches(probe: Any, other: Any) -> tuple[Any, Any]:
    """Return which entries of one sparse tensor stand where an entry of another does, and which that is.

    Parameters
    ----------
    probe, other : CooHandle or CompressedHandle
        Of one layout, shape and block size; `other` is coalesced.

    Returns
    -------
    hits, places : Tensor
        int64: positions among the entries of `probe`, and of the same index among those of `other`.
    """
    wanted = entry_keys(probe)
    there = entry_keys(other)
    count = there.shape[0]
    if not count:
        none = F.new_zeros(wanted, [0])
        return none, none
    places = F.clamp(F.searchsorted(there, wanted), max=count - 1)
    if not has_values(wanted):  # Note [Patterns without elements]
        return F.arange(wanted.shape[0], device=wanted.device), places
    found = F.eq(F.index_select(there, 0, places), wanted)
    hits = F.reshape(F.nonzero(found), [-1])
    return hits, F.index_select(places, 0, hits)


def entry_keys(handle: Any) -> Any:
    """Return an int64 number for each entry, that says where it stands; the numbers of a coalesced tensor increase."""
    if isinstance(handle, CooHandle):
        return convert.linear_positions(handle.indices, handle.shape[: handle.sparse_dim])
    batch, row, column = entry_rows(handle)
    outer, inner = (row, column) if handle.by_rows else (column, row)
    lead = handle.batch_dim
    n, m = handle.shape[lead : lead + 2]
    height, width = handle.blocksize
    n, m = (n // height, m // width) if handle.by_rows else (m // width, n // height)
    return F.add(F.mul(F.add(F.mul(batch, n), outer), m), inner)


def entries_at(tensor: Any, pattern: Any) -> Any:
    """Return the values of a coalesced or compressed tensor at the entries of another; zero where it has none."""
    own, there = tensor.handle, pattern.handle
    if is_same_pattern(tensor, pattern):
        return own.values
    hits, places = matches(there, own)
    lead = 1 if isinstance(own, CooHandle) else own.plain.ndim
    shape = own.values.shape
    values = F.reshape(own.values, [convert.product(shape[:lead]), *shape[lead:]])
    found = F.new_zeros(values, [convert.product(there.values.shape[:lead]), *shape[lead:]])
    found = F.index_copy(found, 0, hits, F.index_select(values, 0, places))
    return F.reshape(found, list(there.values.shape))


def entry_rows(handle: CompressedHandle) -> list:
    """Return the batch (all batch dimensions as one), the row and the column of each entry of a compressed tensor.

    Each is a tensor of shape (batches * nnz,).
    """
    nnz = handle.nnz
    count = handle.compressed.shape[-1] - 1
    batches = 1
    for n in handle.shape[: handle.batch_dim]:
        batches *= n
    compressed = F.reshape(handle.compressed, [batches, count + 1]).long()
    counts = F.reshape(F.sub(F.slice(compressed, 1, 1), F.slice(compressed, 1, 0, -1)), [-1])
    numbers = F.arange(batches * count, dtype=counts.dtype, device=counts.device)
    numbers = F.repeat_interleave(numbers, counts, output_size=batches * nnz)
    outer = F.remainder(numbers, max(count, 1))
    inner = F.reshape(handle.plain, [-1]).long()
    rows = [outer, inner] if handle.by_rows else [inner, outer]
    return [F.floor_divide(numbers, max(count, 1)), *rows]


def values_at(tensor: Any, dense: Any) -> Any:
    """Return the elements of a dense tensor of the same shape at the pattern of a sparse one, in the order of its values.

    A dense tensor that is broadcast is read as it is: its shape may be one that no memory holds.
    """
    handle = tensor.handle
    if isinstance(handle, CooHandle):
        if not handle.sparse_dim:
            return F.expand(F.unsqueeze(dense, 0), [handle.nnz, *dense.shape])
        return F.index(dense, list(F.unbind(handle.indices)))
    batch, row, column = entry_rows(handle)
    lead = handle.batch_dim
    rest = list(handle.shape[lead + 2 :])
    height, width = handle.blocksize
    n, m = handle.shape[lead : lead + 2]
    batches = convert.product(handle.shape[:lead])  # -1 would have no meaning without elements
    blocks = F.reshape(dense, [batches, n // height, height, m // width, width, *rest])
    taken = F.index(F.transpose(blocks, 2, 3), [batch, row, column])
    return F.reshape(taken, list(handle.values.shape))
