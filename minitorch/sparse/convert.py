"""Conversions between layouts, as functions of tensors without history."""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import bool_, int64
from minitorch.core.layout import sparse_coo, sparse_csr
from minitorch.ops import functions as F
from minitorch.sparse.handles import CompressedHandle, CooHandle, compressed, coo, is_compressed, is_coo


def linear_positions(indices: Any, sizes: Any) -> Any:
    """Return the row-major position of each column of `indices` in an array of `sizes`.

    Returns
    -------
    Tensor
        int64, of shape (nnz,).
    """
    if not len(sizes):
        return F.new_zeros(indices, [indices.shape[1]])
    position = F.select(indices, 0, 0)
    for d in range(1, len(sizes)):
        position = F.add(F.mul(position, sizes[d]), F.select(indices, 0, d))
    return position


def coordinates(positions: Any, sizes: Any) -> Any:
    """Return the indices (dimensions, nnz) of row-major positions in an array of `sizes`."""
    rows = []
    for n in reversed(tuple(sizes)):
        n = max(int(n), 1)
        rows.append(F.remainder(positions, n))
        positions = F.floor_divide(positions, n)
    return F.stack(rows[::-1]) if rows else F.new_zeros(positions, [0, positions.shape[0]])


def offsets_of(sorted_rows: Any, count: int) -> Any:
    """Return where each of `count` rows begins among sorted row numbers, and at last how many there are (int64)."""
    bounds = F.arange(count + 1, dtype=sorted_rows.dtype, device=sorted_rows.device)
    return F.searchsorted(sorted_rows, bounds)


def rows_of(offsets: Any, nnz: int) -> Any:
    """Return the row number of each entry, the inverse of `offsets_of`."""
    counts = F.sub(F.slice(offsets, 0, 1), F.slice(offsets, 0, 0, -1))
    rows = F.arange(counts.shape[0], dtype=offsets.dtype, device=offsets.device)
    return F.repeat_interleave(rows, counts, output_size=nnz)


# ---------------------------------------------------------------- coordinates


def dense_to_coo(dense: Any, sparse_dim: int | None = None) -> Any:
    """Return a dense tensor as one of layout ``sparse_coo``, whose last dimensions are dense."""
    sparse_dim = dense.ndim if sparse_dim is None else sparse_dim
    mask = F.ne(dense, 0)
    if sparse_dim < dense.ndim:
        mask = F.any(F.flatten(mask, sparse_dim), -1)
    if not sparse_dim:  # one value, or none where it is zero
        count = int(F.any(mask)) if dense.numel() else 0
        values = F.unsqueeze(dense, 0)
        return coo(dense.shape, F.zeros([0, count], dtype=int64, device=dense.device), F.slice(values, 0, 0, count), True)
    indices = F.t(F.nonzero(mask))
    values = F.index(dense, list(F.unbind(indices)))
    return coo(dense.shape, F.contiguous(indices), values, True)


def coo_to_dense(tensor: Any) -> Any:
    """Return a tensor of layout ``sparse_coo`` as a dense one; values at one index are added."""
    handle: CooHandle = tensor.handle
    sizes = handle.shape[: handle.sparse_dim]
    count = 1
    for n in sizes:
        count *= n
    values = handle.values
    flat = F.new_zeros(values, [count, *values.shape[1:]])
    if handle.nnz:
        positions = linear_positions(handle.indices, sizes)
        if handle.coalesced:
            flat = F.index_copy(flat, 0, positions, values)
        else:
            flat = _add_at(flat, positions, values)
    return F.reshape(flat, list(handle.shape))


def _add_at(target: Any, positions: Any, values: Any) -> Any:
    """Return `target` with `values` added at positions of its first dimension; of bool, or'ed."""
    if values.dtype is bool_:
        return F.index_put(target, [positions], values, True)
    return F.index_add(target, 0, positions, values)


def coalesced(tensor: Any) -> Any:
    """Return the same tensor with each index once, in lexicographic order."""
    handle: CooHandle = tensor.handle
    if handle.coalesced:
        return tensor
    if handle.nnz < 2:
        return coo(handle.shape, handle.indices, handle.values, True)
    sizes = handle.shape[: handle.sparse_dim]
    positions = linear_positions(handle.indices, sizes)
    unique, inverse, _ = F._unique2(positions, True, True)
    values = handle.values
    summed = F.new_zeros(values, [unique.shape[0], *values.shape[1:]])
    summed = _add_at(summed, inverse, values)
    return coo(handle.shape, coordinates(unique, sizes), summed, True)


# ---------------------------------------------------------------- compressed


def coo_to_compressed(tensor: Any, layout: Any) -> Any:
    """Return a 2-D (and dense dimensions) tensor of layout ``sparse_coo`` as ``sparse_csr`` or ``sparse_csc``."""
    tensor = coalesced(tensor)
    handle: CooHandle = tensor.handle
    rows, columns = F.unbind(handle.indices)
    values = handle.values
    if layout is sparse_csr:
        return compressed(layout, handle.shape, offsets_of(rows, handle.shape[0]), columns, values)
    order = F.argsort(columns, stable=True)
    columns = F.index_select(columns, 0, order)
    rows = F.index_select(rows, 0, order)
    return compressed(layout, handle.shape, offsets_of(columns, handle.shape[1]), rows, F.index_select(values, 0, order))


def compressed_to_coo(tensor: Any) -> Any:
    """Return a tensor of a compressed layout of elements as one of layout ``sparse_coo``."""
    handle: CompressedHandle = tensor.handle
    outer = rows_of(handle.compressed, handle.nnz)
    inner = handle.plain
    values = handle.values
    if handle.by_rows:
        return coo(handle.shape, F.stack([outer.long(), inner.long()]), values, True)
    # By columns: put them into the order of rows.
    order = F.argsort(inner, stable=True)
    indices = F.stack([F.index_select(inner, 0, order).long(), F.index_select(outer, 0, order).long()])
    return coo(handle.shape, indices, F.index_select(values, 0, order), True)


def from_dense(dense: Any, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None) -> Any:
    """Return a dense tensor in a sparse layout; see ``Tensor.to_sparse``."""
    layout = sparse_coo if layout is None else layout
    if layout is sparse_coo:
        return dense_to_coo(dense, dense.ndim - (dense_dim or 0))
    return coo_to_compressed(dense_to_coo(dense, dense.ndim - (dense_dim or 0)), layout)


def to_dense(tensor: Any) -> Any:
    """Return a sparse tensor of any layout as a dense one."""
    if is_coo(tensor):
        return coo_to_dense(tensor)
    if is_compressed(tensor):
        return coo_to_dense(compressed_to_coo(tensor))
    return tensor
