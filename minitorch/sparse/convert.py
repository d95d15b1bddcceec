"""Conversions between layouts, as functions of tensors without history.

Of tensors without elements (meta, fake) it is not known how many of them are not zero: as in PyTorch a result has no values
where that is asked, and keeps those that there are where it is not.

Note [Entries]
    A compressed tensor of any batch dimensions is taken for one of a single batch dimension: an *entry* has a batch, an
    outer place (which row of a layout by rows, counted in blocks), an inner one and a value, whose first dimensions are
    those of the block.  Between layouts of one blocksize entries change their order alone.
"""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import bool_, int64
from minitorch.core.layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from minitorch.ops import functions as F
from minitorch.ops.shapes.common import check
from minitorch.sparse.handles import (
    BLOCKED,
    BY_ROWS,
    COMPRESSED,
    CompressedHandle,
    CooHandle,
    compressed,
    coo,
    is_compressed,
    is_coo,
)
from minitorch.tensor.wrapper import has_values

METHOD_OF = {
    sparse_csr: "to_sparse_csr", sparse_csc: "to_sparse_csc", sparse_bsr: "to_sparse_bsr", sparse_bsc: "to_sparse_bsc",
    sparse_coo: "to_sparse",
}  # fmt: skip


def product(sizes: Any) -> int:
    """Return the product of sizes."""
    count = 1
    for n in sizes:
        count *= n
    return count


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


def _add_at(target: Any, positions: Any, values: Any) -> Any:
    """Return `target` with `values` added at positions of its first dimension; of bool, or'ed."""
    if values.dtype is bool_:
        return F.index_put(target, [positions], values, True)
    return F.index_add(target, 0, positions, values)


# ---------------------------------------------------------------- coordinates


def dense_to_coo(dense: Any, sparse_dim: int | None = None) -> Any:
    """Return a dense tensor as one of layout ``sparse_coo``, whose last dimensions are dense."""
    sparse_dim = dense.ndim if sparse_dim is None else sparse_dim
    if not has_values(dense):
        indices = F.new_empty(dense, [sparse_dim, 0], dtype=int64)
        return coo(dense.shape, indices, F.new_empty(dense, [0, *dense.shape[sparse_dim:]]), True)
    mask = F.ne(dense, 0)
    if sparse_dim < dense.ndim:
        mask = F.any(F.flatten(mask, sparse_dim), -1)
    if not sparse_dim:  # one value, or none where it is zero
        count = int(F.any(mask)) if dense.numel() else 0
        values = F.unsqueeze(dense, 0)
        values = F.clone(F.slice(values, 0, 0, count))
        return coo(dense.shape, F.zeros([0, count], dtype=int64, device=dense.device), values, True)
    indices = F.t(F.nonzero(mask))
    values = F.index(dense, list(F.unbind(indices)))
    return coo(dense.shape, F.contiguous(indices), values, True)


def coo_to_dense(tensor: Any) -> Any:
    """Return a tensor of layout ``sparse_coo`` as a dense one; values at one index are added."""
    handle: CooHandle = tensor.handle
    sizes = handle.shape[: handle.sparse_dim]
    values = handle.values
    flat = F.new_zeros(values, [product(sizes), *values.shape[1:]])
    if handle.nnz and flat.numel():
        positions = linear_positions(handle.indices, sizes)
        if handle.coalesced:
            flat = F.index_copy(flat, 0, positions, values)
        else:
            flat = _add_at(flat, positions, values)
    return F.reshape(flat, list(handle.shape))


def coalesced(tensor: Any) -> Any:
    """Return the same tensor with each index once, in lexicographic order."""
    handle: CooHandle = tensor.handle
    if handle.coalesced:
        return tensor
    if handle.nnz < 2 or not has_values(tensor):
        return coo(handle.shape, F.clone(handle.indices), F.clone(handle.values), True)
    sizes = handle.shape[: handle.sparse_dim]
    positions = linear_positions(handle.indices, sizes)
    unique, inverse, _ = F._unique2(positions, True, True)
    values = handle.values
    summed = F.new_zeros(values, [unique.shape[0], *values.shape[1:]])
    summed = _add_at(summed, inverse, values)
    return coo(handle.shape, coordinates(unique, sizes), summed, True)


# ---------------------------------------------------------------- compressed: entries (Note [Entries])


class Entries:
    """The entries of a compressed tensor, in any order (Note [Entries]).

    Attributes
    ----------
    batches : tuple of int
        The batch dimensions.
    rows, columns : int
        How many there are, counted in blocks.
    batch, row, column : Tensor
        int64, of shape (n,).
    values : Tensor
        Of shape (n, *block, *dense dimensions).
    """

    __slots__ = ("batch", "batches", "column", "columns", "row", "rows", "values")

    def __init__(self, batches: tuple, rows: int, columns: int, batch: Any, row: Any, column: Any, values: Any):
        self.batches, self.rows, self.columns = batches, rows, columns
        self.batch, self.row, self.column, self.values = batch, row, column, values

    def taken(self, order: Any) -> Entries:
        """Return those that `order` says, in its order."""
        picked = [F.index_select(t, 0, order) for t in (self.batch, self.row, self.column, self.values)]
        return Entries(self.batches, self.rows, self.columns, *picked)

    def keys(self, by_rows: bool) -> Any:
        """Return a number for each entry, that grows with batch, row and column (by columns: batch, column, row)."""
        outer, inner, count_outer, count_inner = (
            (self.row, self.column, self.rows, self.columns) if by_rows else (self.column, self.row, self.columns, self.rows)
        )
        return F.add(F.mul(F.add(F.mul(self.batch, count_outer), outer), count_inner), inner)

    def sorted(self, by_rows: bool) -> Entries:
        """Return them in the order of a compressed layout."""
        return self.taken(F.argsort(self.keys(by_rows), stable=True))


def entries_of(tensor: Any) -> Entries:
    """Return the entries of a compressed tensor, in their order."""
    handle: CompressedHandle = tensor.handle
    batches = tuple(handle.shape[: handle.batch_dim])
    count, nnz = product(batches), handle.nnz
    rows, columns = (n // b for n, b in zip(handle.shape[handle.batch_dim :][:2], handle.blocksize, strict=True))
    outer_count = rows if handle.by_rows else columns
    if batches:
        offsets = F.reshape(handle.compressed, [count, outer_count + 1])
        counts = F.sub(F.slice(offsets, 1, 1), F.slice(offsets, 1, 0, -1))
        numbers = F.arange(count * outer_count, dtype=int64, device=counts.device)
        flat = F.repeat_interleave(numbers, F.reshape(counts, [count * outer_count]), output_size=count * nnz)
        batch = F.floor_divide(flat, max(outer_count, 1))
        outer = F.remainder(flat, max(outer_count, 1))
    else:
        outer = rows_of(handle.compressed, nnz).long()
        batch = F.new_zeros(outer, [nnz])
    inner = F.reshape(handle.plain, [count * nnz]).long()
    values = F.reshape(handle.values, [count * nnz, *handle.values.shape[handle.batch_dim + 1 :]])
    row, column = (outer, inner) if handle.by_rows else (inner, outer)
    return Entries(batches, rows, columns, batch, row, column, values)


def compress(entries: Entries, layout: Any, index_dtype: Any) -> Any:
    """Return a compressed tensor of entries that are in its order, each once; their block is that of the tensor.

    Raises
    ------
    RuntimeError
        If batches have different numbers of entries.
    """
    by_rows = layout in BY_ROWS
    outer, outer_count, inner = (
        (entries.row, entries.rows, entries.column) if by_rows else (entries.column, entries.columns, entries.row)
    )
    batches = entries.batches
    count = product(batches)
    total = outer.shape[0]
    values = entries.values
    block = tuple(values.shape[1:3]) if layout in BLOCKED else (1, 1)
    dense = tuple(values.shape[3 if layout in BLOCKED else 1 :])
    shape = (*batches, entries.rows * block[0], entries.columns * block[1], *dense)
    if not batches:
        return compressed(layout, shape, offsets_of(outer, outer_count).to(index_dtype), inner.to(index_dtype), values)
    per_batch = total // count if count else 0
    offsets = offsets_of(F.add(F.mul(entries.batch, outer_count), outer), count * outer_count)
    starts = F.mul(F.arange(count, dtype=int64, device=outer.device), outer_count)
    own = F.index(offsets, [F.add(F.unsqueeze(starts, 1), F.arange(outer_count + 1, dtype=int64, device=outer.device))])
    own = F.sub(own, F.slice(own, 1, 0, 1))
    if count and has_values(outer):
        check(bool(F.all(F.eq(F.select(own, 1, -1), per_batch))), "Expect the same number of specified elements per batch.")
    return compressed(
        layout, shape, F.reshape(own, [*batches, outer_count + 1]).to(index_dtype),
        F.reshape(inner, [*batches, per_batch]).to(index_dtype), F.reshape(values, [*batches, per_batch, *values.shape[1:]]),
    )  # fmt: skip


def unblocked(entries: Entries, block: tuple) -> Entries:
    """Return the elements of entries that are blocks, block after block."""
    height, width = block
    n = entries.row.shape[0]
    total = n * height * width
    device = entries.row.device
    down = F.reshape(F.arange(height, dtype=int64, device=device), [1, height, 1])
    across = F.reshape(F.arange(width, dtype=int64, device=device), [1, 1, width])

    def spread(numbers: Any, scale: int, within: Any) -> Any:
        whole = F.add(F.mul(F.reshape(numbers, [n, 1, 1]), scale), within)
        return F.reshape(F.expand(whole, [n, height, width]), [total])

    nothing = F.new_zeros(down, [1, 1, 1])
    return Entries(
        entries.batches, entries.rows * height, entries.columns * width, spread(entries.batch, 1, nothing),
        spread(entries.row, height, down), spread(entries.column, width, across),
        F.reshape(entries.values, [total, *entries.values.shape[3:]]),
    )  # fmt: skip


def _blocked(entries: Entries, block: tuple, by_rows: bool) -> Entries:
    """Return entries that are elements as blocks, in the order of a layout."""
    height, width = block
    values = entries.values
    if not has_values(entries.row):  # how many blocks there are is not known
        nothing = F.new_empty(entries.row, [0])
        empty = F.new_empty(values, [0, height, width, *values.shape[1:]])
        rows, columns = entries.rows // height, entries.columns // width
        return Entries(entries.batches, rows, columns, nothing, nothing, nothing, empty)
    blocks = Entries(
        entries.batches, entries.rows // height, entries.columns // width, entries.batch,
        F.floor_divide(entries.row, height), F.floor_divide(entries.column, width), values,
    )  # fmt: skip
    unique, inverse, _ = F._unique2(blocks.keys(by_rows), True, True)
    within = F.add(F.mul(F.remainder(entries.row, height), width), F.remainder(entries.column, width))
    count = unique.shape[0]
    filled = F.new_zeros(values, [count * height * width, *values.shape[1:]])
    filled = _add_at(filled, F.add(F.mul(inverse, height * width), within), values)
    inner_count = blocks.columns if by_rows else blocks.rows
    outer_count = blocks.rows if by_rows else blocks.columns
    batch, outer, inner = F.unbind(coordinates(unique, (max(product(blocks.batches), 1), outer_count, inner_count)))
    row, column = (outer, inner) if by_rows else (inner, outer)
    values = F.reshape(filled, [count, height, width, *values.shape[1:]])
    return Entries(blocks.batches, blocks.rows, blocks.columns, batch, row, column, values)


# ---------------------------------------------------------------- compressed


def coo_to_compressed(tensor: Any, layout: Any, blocksize: Any = None) -> Any:
    """Return a tensor of layout ``sparse_coo`` in a compressed layout; sparse dimensions before the last two are batches."""
    tensor = coalesced(tensor)
    handle: CooHandle = tensor.handle
    *leading, row, column = F.unbind(handle.indices)
    batches = tuple(handle.shape[: handle.sparse_dim - 2])
    batch = linear_positions(F.stack(leading), batches) if leading else F.new_zeros(row, row.shape)
    rows, columns = handle.shape[handle.sparse_dim - 2 : handle.sparse_dim]
    entries = Entries(batches, rows, columns, batch, row, column, handle.values)
    if blocksize is not None:
        return compress(_blocked(entries, tuple(blocksize), layout in BY_ROWS), layout, int64)
    return compress(entries if layout in BY_ROWS else entries.sorted(False), layout, int64)


def compressed_to_coo(tensor: Any) -> Any:
    """Return a compressed tensor as one of layout ``sparse_coo``; batch dimensions are sparse ones.

    As in PyTorch entries stay in their order, so that of rows alone, or of one row of blocks, is coalesced.
    """
    handle: CompressedHandle = tensor.handle
    entries = entries_of(tensor)
    if handle.declared_layout in BLOCKED:
        entries = unblocked(entries, handle.blocksize)
    parts = [entries.row, entries.column]
    if handle.batch_dim:
        parts = [*F.unbind(coordinates(entries.batch, entries.batches)), *parts]
    return coo(handle.shape, F.stack(parts), entries.values, handle.declared_layout is sparse_csr)


def convert_compressed(tensor: Any, layout: Any, blocksize: Any = None) -> Any:
    """Return a compressed tensor in another compressed layout, or with another blocksize."""
    handle: CompressedHandle = tensor.handle
    index_dtype = handle.plain.dtype
    block = tuple(blocksize) if blocksize is not None else None
    if layout in BLOCKED and block is None:
        block = handle.blocksize
    entries = entries_of(tensor)
    by_rows = layout in BY_ROWS
    if (layout in BLOCKED) == (handle.declared_layout in BLOCKED) and (block is None or block == handle.blocksize):
        return compress(entries if by_rows is handle.by_rows else entries.sorted(by_rows), layout, index_dtype)
    if handle.declared_layout in BLOCKED:
        entries = unblocked(entries, handle.blocksize)
    entries = _blocked(entries, block, by_rows) if block is not None else entries.sorted(by_rows)
    return compress(entries, layout, index_dtype)


def _split_blocks(dense: Any, batch_dim: int, block: tuple) -> Any:
    """Return (*batch, rows, columns, *block, *dense dimensions) of (*batch, rows * ..., columns * ..., *dense dimensions)."""
    sizes = list(dense.shape)
    height, width = block
    rows, columns = sizes[batch_dim] // height, sizes[batch_dim + 1] // width
    split = F.reshape(dense, [*sizes[:batch_dim], rows, height, columns, width, *sizes[batch_dim + 2 :]])
    return F.transpose(split, batch_dim + 1, batch_dim + 2)


def dense_to_compressed(dense: Any, layout: Any, blocksize: Any = None, dense_dim: int = 0) -> Any:
    """Return a dense tensor in a compressed layout."""
    batch_dim = dense.ndim - 2 - dense_dim
    batches = tuple(dense.shape[:batch_dim])
    if blocksize is not None:
        dense = _split_blocks(dense, batch_dim, tuple(blocksize))
    rows, columns = dense.shape[batch_dim : batch_dim + 2]
    flat = F.reshape(dense, [product(batches), rows, columns, *dense.shape[batch_dim + 2 :]])
    mask = F.ne(flat, 0)
    if mask.ndim > 3:
        mask = F.any(F.flatten(mask, 3), -1)
    by_rows = layout in BY_ROWS
    if not has_values(dense):
        nothing = F.new_empty(flat, [0], dtype=int64)
        empty = F.new_empty(flat, [0, *flat.shape[3:]])
        return compress(Entries(batches, rows, columns, nothing, nothing, nothing, empty), layout, int64)
    batch, outer, inner = F.unbind(F.nonzero(mask if by_rows else F.transpose(mask, 1, 2)), 1)
    row, column = (outer, inner) if by_rows else (inner, outer)
    entries = Entries(batches, rows, columns, batch, row, column, F.index(flat, [batch, row, column]))
    return compress(entries, layout, int64)


def compressed_to_dense(tensor: Any) -> Any:
    """Return a compressed tensor as a dense one."""
    handle: CompressedHandle = tensor.handle
    entries = entries_of(tensor)
    values = entries.values
    count = product(entries.batches)
    flat = F.new_zeros(values, [count * entries.rows * entries.columns, *values.shape[1:]])
    if values.shape[0] and flat.numel():
        flat = _add_at(flat, entries.keys(True), values)
    if handle.declared_layout not in BLOCKED:
        return F.reshape(flat, list(handle.shape))
    blocks = F.reshape(flat, [count, entries.rows, entries.columns, *values.shape[1:]])
    return F.reshape(F.transpose(blocks, 2, 3), list(handle.shape))


# ---------------------------------------------------------------- any layout


def check_conversion(tensor: Any, layout: Any, blocksize: Any, dense_dim: int | None) -> None:
    """Raise RuntimeError where the arguments of ``to_sparse`` do not go with a tensor."""
    source = tensor.layout
    name = METHOD_OF[layout] if layout in METHOD_OF else "to_sparse"
    check(layout in METHOD_OF, f"{name}(): expected a sparse layout, but got {layout}")
    what = f"{name}(): conversion from {source} to {layout}"
    dense_source = not (is_coo(tensor) or is_compressed(tensor))
    if blocksize is not None:
        check(layout in BLOCKED, f"{what} with a blocksize is not supported: only sparse_bsr and sparse_bsc have blocks")
    else:
        check(layout not in BLOCKED or source in BLOCKED, f"{what} requires a blocksize, such as (2, 2)")
    if dense_source:
        compressed_dims = 2 if layout in COMPRESSED else 0
        check(
            tensor.ndim >= compressed_dims,
            f"{name}(): a tensor of layout {layout} has at least 2 dimensions, but the tensor has shape {list(tensor.shape)}",
        )
        most = tensor.ndim - compressed_dims
        check(
            dense_dim is None or 0 <= dense_dim <= most,
            f"{name}(): dense_dim argument must be in [0, {most}], but {dense_dim} is given",
        )
        first = tensor.ndim - 2 - (dense_dim or 0)
    else:
        check(dense_dim is None, f"{what} with a dense_dim argument is not supported: the tensor has its own")
        first = tensor.handle.sparse_dim - 2 if is_coo(tensor) else tensor.handle.batch_dim
        check(
            layout is sparse_coo or first >= 0,
            f"{what} is not supported for a tensor with sparse_dim()={first + 2}; it must be at least 2",
        )
    if blocksize is not None:
        check(len(blocksize) == 2, f"{name}(): blocksize must be two numbers, but is {tuple(blocksize)}")
        check(min(blocksize) > 0, f"{name}(): blocksize needs to be positive, but got {list(blocksize)}")
        sizes = tuple(tensor.shape[first : first + 2])
        check(
            all(n % b == 0 for n, b in zip(sizes, blocksize, strict=True)),
            f"{name}(): tensor sparse size {sizes} must be divisible by given blocksize {tuple(blocksize)}",
        )


def to_layout(tensor: Any, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None) -> Any:
    """Return a tensor of any layout in a sparse one; see ``Tensor.to_sparse``.

    Raises
    ------
    RuntimeError
        If the arguments do not go with the tensor.
    """
    layout = sparse_coo if layout is None else layout
    check_conversion(tensor, layout, blocksize, dense_dim)
    if is_coo(tensor):
        return tensor if layout is sparse_coo else coo_to_compressed(tensor, layout, blocksize)
    if is_compressed(tensor):
        if layout is sparse_coo:
            return compressed_to_coo(tensor)
        if layout is tensor.layout and (blocksize is None or tuple(blocksize) == tensor.handle.blocksize):
            return tensor
        return convert_compressed(tensor, layout, blocksize)
    if layout is sparse_coo:
        return dense_to_coo(tensor, tensor.ndim - (dense_dim or 0))
    return dense_to_compressed(tensor, layout, blocksize, dense_dim or 0)



def to_dense(tensor: Any) -> Any:
    """Return a sparse tensor of any layout as a dense one."""
    if is_coo(tensor):
        return coo_to_dense(tensor)
    if is_compressed(tensor):
        return compressed_to_dense(tensor)
    return tensor
