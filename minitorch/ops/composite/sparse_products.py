"""Products of sparse matrices, and of what they consist of, for devices without kernels of their own.

Note [Entries and segments]
    The entries of a sparse matrix are rows, columns and values, of one length.  Where they are ordered by rows, *offsets*
    say where the entries of each row begin, and at last how many there are: a *segment* for each row.  Kernels of the
    sparse layouts come down to these products, whatever the layout.
"""

from __future__ import annotations

from math import prod

from minitorch.core.dtype import int64
from minitorch.core.layout import sparse_coo, sparse_csc, sparse_csr, strided
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_explicit, composite_implicit
from minitorch.ops.shapes.common import check


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


# ---------------------------------------------------------------- what operators on any tensor call


def is_sparse(tensor):
    """Return whether a tensor has a sparse layout."""
    return tensor.layout is not strided


def sparse_matmul(self, other):
    """Return ``matmul`` of batches of matrices, or of one and a batch, of which one at least is sparse."""
    if other.ndim == 1:
        return F.squeeze(sparse_matmul(self, F.unsqueeze(other, 1)), -1)
    if self.ndim == 1:
        return F.squeeze(sparse_matmul(F.unsqueeze(self, 0), other), -2)
    check(
        self.shape[-1] == other.shape[-2],
        f"matmul(): shapes cannot be multiplied: {tuple(self.shape)} and {tuple(other.shape)}; "
        "self.shape[-1] must equal other.shape[-2]",
    )
    if self.ndim == 2 and not is_sparse(other):  # more columns of one product
        *lead, inner, width = other.shape
        columns = F.reshape(F.movedim(other, -2, 0), [inner, prod(lead) * width])
        return F.movedim(F.reshape(F.mm(self, columns), [self.shape[0], *lead, width]), 0, -2)
    if other.ndim == 2 and not is_sparse(self):  # more rows
        *lead, inner = self.shape
        return F.reshape(F.mm(F.reshape(self, [prod(lead), inner]), other), [*lead, other.shape[1]])
    count = (self if self.ndim > 2 else other).shape[0]
    batches = [F.unsqueeze(t, 0) if t.ndim == 2 else t for t in (self, other)]
    for t in batches:
        check(
            t.ndim == 3 and t.shape[0] in (1, count),
            f"matmul(): a batch of sparse matrices has three dimensions, and the other operand as many matrices or one; got "
            f"{tuple(self.shape)} and {tuple(other.shape)}",
        )
    left, right = (t if t.shape[0] == count else F.expand(t, [count, *t.shape[1:]]) for t in batches)
    return F.bmm(left, right)


# ---------------------------------------------------------------- what minitorch.sparse calls


@composite_implicit("_sparse_mm")
def sparse_mm(sparse, dense):
    """Multiply; the gradient of a sparse factor has the entries of that factor."""
    if is_sparse(sparse) and is_sparse(dense):
        return F._sparse_sparse_matmul(sparse, dense)
    if is_sparse(sparse):
        return F._sparse_addmm(F.new_zeros(dense, [1, 1]), sparse, dense, beta=0)
    if is_sparse(dense):
        product = F._sparse_addmm(F.new_zeros(sparse, [1, 1]), F.transpose(dense, 0, 1), F.t(sparse), beta=0)
        return F.t(product)
    return F.mm(sparse, dense)


@composite_implicit("_sparse_mm.reduce")
def sparse_mm_reduce(sparse, dense, reduce):
    check(is_sparse(sparse), f"sparse.mm() with reduce: the first matrix must be sparse, but its layout is {sparse.layout}")
    rows = sparse if sparse.layout is sparse_csr else F.to_sparse_csr(sparse)
    return F._sparse_mm_reduce_impl(rows, dense, reduce)[0]


@composite_implicit("smm")
def smm(self, mat2):
    check(
        self.layout is sparse_coo,
        f"smm(): the first matrix must have layout sparse_coo, but its layout is {self.layout}; use to_sparse()",
    )
    size = [self.shape[0], mat2.shape[1]] if self.ndim == mat2.ndim == 2 else list(self.shape)
    indices = F.zeros([len(size), 0], dtype=int64, device=self.device)
    nothing = F._sparse_coo_tensor_unsafe(indices, F.new_zeros(mat2, [0]), size, is_coalesced=True)
    return F.sspaddmm(nothing, self, mat2, beta=0, alpha=1)


def _cast(self, dtype):
    return self if dtype is None or dtype is self.dtype else self.to(dtype)


@composite_implicit("_sparse_softmax.int")
def sparse_softmax(self, dim, dtype=None):
    return F._sparse_softmax(_cast(self, dtype), dim, False)


@composite_implicit("_sparse_log_softmax.int")
def sparse_log_softmax(self, dim, dtype=None):
    return F._sparse_log_softmax(_cast(self, dtype), dim, False)


@composite_explicit("_spdiags")
def spdiags(diagonals, offsets, shape, layout=None):
    """Return the sparse matrix with rows of `diagonals` on the diagonals of the offsets."""
    name = "spdiags()"
    layouts = (sparse_coo, sparse_csr, sparse_csc)
    check(
        layout is None or layout in layouts,
        f"{name}: only output layouts (sparse_coo, sparse_csr, sparse_csc) are supported, got {layout}",
    )
    check(len(shape) == 2, f"{name}: output shape must be 2-dimensional, got {len(shape)} dimensions")
    check(diagonals.ndim in (1, 2), f"{name}: diagonals must be vector or matrix, got {diagonals.ndim} dimensions")
    check(offsets.ndim in (0, 1), f"{name}: offsets must be scalar or vector, got {offsets.ndim} dimensions")
    check(
        offsets.dtype is int64,
        f"{name}: offsets must be of type int64, got {offsets.dtype}; convert with .long()",
    )
    diagonals, offsets = F.atleast_2d(diagonals), F.atleast_1d(offsets)
    check(
        offsets.shape[0] == diagonals.shape[0],
        f"{name}: the number of diagonals ({diagonals.shape[0]}) does not match the number of offsets ({offsets.shape[0]})",
    )
    check(
        F.unique_dim(offsets, 0)[0].shape[0] == offsets.shape[0],
        f"{name}: offset tensor contains duplicate values; each diagonal is given once",
    )
    rows, columns, there = diagonal_places(diagonals.shape, offsets, shape)
    indices = F.stack([F.masked_select(rows, there), F.masked_select(columns, there)])
    result = F._sparse_coo_tensor_unsafe(indices, F.masked_select(diagonals, there), list(shape))
    if layout in (None, sparse_coo):
        return result
    return F._to_sparse(result, layout=layout)


def diagonal_places(diagonals_shape, offsets, shape):
    """Return rows and columns of the elements of diagonals, column by column, and whether the matrix has them."""
    columns = F.expand(F.arange(diagonals_shape[1], device=offsets.device), diagonals_shape)
    rows = F.sub(columns, F.unsqueeze(offsets, 1))
    there = F.logical_and(F.logical_and(F.ge(rows, 0), F.lt(rows, shape[0])), F.lt(columns, shape[1]))
    return rows, columns, there
