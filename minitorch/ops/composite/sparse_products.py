"""Products of what sparse matrices consist of, for devices without kernels of their own.

Note [Entries and segments]
    The entries of a sparse matrix are rows, columns and values, of one length.  Where they are ordered by rows, *offsets*
    say where the entries of each row begin, and at last how many there are: a *segment* for each row.  Kernels of the
    sparse layouts come down to these products, whatever the layout.
"""

from __future__ import annotations

from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_explicit


def rows_of(offsets, count):
    """Return the row of each of `count` entries."""
    sizes = F.sub(F.slice(offsets, 0, 1), F.slice(offsets, 0, 0, -1))
    rows = F.arange(sizes.shape[0], dtype=offsets.dtype, device=offsets.device)
    return F.repeat_interleave(rows, sizes, output_size=count)


@composite_explicit("_segment_mm")
def segment_mm(offsets, columns, values, dense):
    """Return the product of a matrix, whose segments are rows, with a dense one."""
    return F._entries_mm(rows_of(offsets, columns.shape[0]), columns, values, dense, offsets.shape[0] - 1)


@composite_explicit("_segment_mm_transposed")
def segment_mm_transposed(offsets, columns, values, dense, count):
    """Return the product of the transpose of a matrix, whose segments are rows, with a dense one."""
    return F._entries_mm(columns, rows_of(offsets, columns.shape[0]), values, dense, count)


@composite_explicit("_entries_mm")
def entries_mm(rows, columns, values, dense, count):
    """Return the product of a matrix of `count` rows, given by entries in any order, with a dense one."""
    products = F.mul(F.index_select(dense, 0, columns), F.unsqueeze(values, 1))
    return F.index_add(F.new_zeros(dense, [count, dense.shape[1]]), 0, rows, products)


@composite_explicit("_sampled_products")
def sampled_products(rows, columns, mat1, mat2):
    """Return the entries of ``mat1 @ mat2.T`` at rows and columns."""
    return F.sum(F.mul(F.index_select(mat1, 0, rows), F.index_select(mat2, 0, columns)), [1], dtype=mat1.dtype)


@composite_explicit("_segment_matmul")
def segment_matmul(offsets, columns, values, other_offsets, other_columns, other_values, count):
    """Return offsets, columns and values of the product of two matrices whose segments are rows; `count` columns."""
    starts = F.index_select(other_offsets, 0, columns)
    lengths = F.sub(F.index_select(other_offsets, 0, F.add(columns, 1)), starts)
    ends = F.cumsum(lengths, 0)
    total = int(ends[-1]) if columns.shape[0] else 0
    # Each entry meets those of one row of the other matrix: `owner` is the entry, `met` what it meets.
    order = F.arange(columns.shape[0], device=columns.device)
    owner = F.repeat_interleave(order, lengths, output_size=total)
    place = F.sub(F.arange(total, device=columns.device), F.index_select(F.sub(ends, lengths), 0, owner))
    met = F.add(F.index_select(starts, 0, owner), place)
    rows = F.index_select(rows_of(offsets, columns.shape[0]), 0, owner)
    positions = F.add(F.mul(rows.long(), count), F.index_select(other_columns, 0, met))
    products = F.mul(F.index_select(values, 0, owner), F.index_select(other_values, 0, met))
    unique, inverse, _ = F._unique2(positions, True, True)
    summed = F.index_add(F.new_zeros(products, [unique.shape[0]]), 0, inverse, products)
    width = max(count, 1)
    rows = F.floor_divide(unique, width)
    bounds = F.arange(offsets.shape[0], device=rows.device)
    return (
        F.searchsorted(rows, bounds).to(offsets.dtype),
        F.remainder(unique, width).to(columns.dtype),
        summed,
    )
