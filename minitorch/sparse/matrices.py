"""What products and reductions see of a sparse tensor: one matrix of elements, whatever the layout.

Note [One matrix]
    A block stands for its elements, and a batch of matrices for one matrix with them along its diagonal.  So
    each product is written once, and comes down to what devices have kernels for (Note [Entries and segments]).
"""

from __future__ import annotations

from math import prod
from typing import Any

from minitorch.core.layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from minitorch.errors import NeedsElementsError
from minitorch.ops import functions as F
from minitorch.ops.composite.sparse_products import rows_of
from minitorch.ops.shapes.common import check
from minitorch.sparse.convert import coordinates, linear_positions, offsets_of
from minitorch.sparse.handles import CompressedHandle, CooHandle, compressed, coo
from minitorch.tensor.wrapper import has_values


class Matrix:
    """A sparse matrix: entries, and, where they are ordered by rows or by columns, where those begin.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns, of all matrices of a batch.
    rows, columns : Tensor or None
        Indices of the entries; None where offsets stand for them.
    offsets : Tensor or None
        Where the entries of each row (or column, whichever is None) begin.
    values : Tensor
        Of shape (entries,).
    """

    __slots__ = ("columns", "offsets", "rows", "shape", "values")

    def __init__(self, shape: tuple, rows: Any, columns: Any, values: Any, offsets: Any = None):
        self.shape = shape
        self.rows = rows
        self.columns = columns
        self.values = values
        self.offsets = offsets

    def transposed(self) -> Matrix:
        return Matrix(self.shape[::-1], self.columns, self.rows, self.values, self.offsets)

    def entries(self) -> tuple[Any, Any]:
        """Return the row and the column of each entry, in the order of the values."""
        count = self.values.shape[0]
        rows = rows_of(self.offsets, count) if self.rows is None else self.rows
        columns = rows_of(self.offsets, count) if self.columns is None else self.columns
        return rows, columns

    def by_rows(self) -> Matrix:
        """Return the matrix with its entries in the order of rows and, within each, of columns."""
        if self.offsets is not None and self.rows is None:
            return self
        rows, columns = self.entries()
        if self.offsets is None:  # by columns they are in order of rows within each already
            order = F.argsort(columns, stable=True)
            rows, columns = F.index_select(rows, 0, order), F.index_select(columns, 0, order)
            values = F.index_select(self.values, 0, order)
        else:
            values = self.values
        order = F.argsort(rows, stable=True)
        rows, columns = F.index_select(rows, 0, order), F.index_select(columns, 0, order)
        offsets = offsets_of(rows, self.shape[0]).to(columns.dtype)
        return Matrix(self.shape, None, columns, F.index_select(values, 0, order), offsets)

    def times(self, dense: Any) -> Any:
        """Return the product with a dense matrix."""
        if self.offsets is None:
            return F._entries_mm(self.rows, self.columns, self.values, dense, self.shape[0])
        if self.rows is None:
            return F._segment_mm(self.offsets, self.columns, self.values, dense)
        return F._segment_mm_transposed(self.offsets, self.rows, self.values, dense, self.shape[0])


def batch_of(handle: Any) -> tuple:
    """Return the batch dimensions of a tensor of matrices."""
    return tuple(handle.shape[: len(handle.shape) - handle.dense_dim - 2])


def matrix_of(tensor: Any, name: str) -> Matrix:
    """Return a sparse tensor of matrices as one matrix (Note [One matrix]).

    Raises
    ------
    RuntimeError
        If its values are not numbers but have dense dimensions.
    """
    handle = tensor.handle
    check(
        handle.dense_dim == 0,
        f"{name}(): scalar values expected, but each value has {handle.dense_dim} dense dimensions; move them with "
        "to_dense().to_sparse()",
    )
    batch = batch_of(handle)
    count = prod(batch)
    n, m = handle.shape[-2:]
    if isinstance(handle, CooHandle):
        rows, columns = F.select(handle.indices, 0, -2), F.select(handle.indices, 0, -1)
        if batch:
            number = linear_positions(handle.indices, batch) if len(batch) > 1 else F.select(handle.indices, 0, 0)
            rows, columns = F.add(rows, F.mul(number, n)), F.add(columns, F.mul(number, m))
        if handle.coalesced:
            return Matrix((count * n, count * m), None, columns, handle.values, offsets_of(rows, count * n))
        return Matrix((count * n, count * m), rows, columns, handle.values)
    return _compressed_matrix(handle, count, n, m)


def _compressed_matrix(handle: CompressedHandle, count: int, n: int, m: int) -> Matrix:
    by_rows = handle.by_rows
    height, width = handle.blocksize
    outer, inner = (n // height, m // width) if by_rows else (m // width, n // height)
    offsets, plain, values = handle.compressed, handle.plain, handle.values
    nnz = handle.nnz
    if handle.batch_dim:
        number = F.arange(count, dtype=offsets.dtype, device=offsets.device)
        starts = F.add(F.slice(F.reshape(offsets, [count, outer + 1]), 1, 0, -1), F.unsqueeze(F.mul(number, nnz), 1))
        offsets = F.cat([F.flatten(starts), F.new_full(offsets, [1], count * nnz)])
        plain = F.flatten(F.add(F.reshape(plain, [count, nnz]), F.unsqueeze(F.mul(number, inner), 1)))
        values = F.reshape(values, [count * nnz, *values.shape[handle.batch_dim + 1 :]])
    shape = (count * n, count * m)
    if not handle.block_mark:
        return Matrix(shape, None, plain, values, offsets) if by_rows else Matrix(shape, plain, None, values, offsets)
    along = rows_of(offsets, count * nnz)
    rows, columns = (along, plain) if by_rows else (plain, along)
    return Matrix(
        shape,
        F.flatten(F.expand(_spread(rows, height, 2), [count * nnz, height, width])),
        F.flatten(F.expand(_spread(columns, width, 1), [count * nnz, height, width])),
        F.flatten(values),
    )


def _spread(blocks: Any, size: int, place: int) -> Any:
    """Return the rows (or columns) of the elements of blocks, of shape (blocks, rows or 1, columns or 1)."""
    steps = F.arange(size, dtype=blocks.dtype, device=blocks.device)
    found = F.add(F.mul(F.unsqueeze(blocks, 1), size), steps)
    return F.unsqueeze(found, place)


def same_index_types(*matrices: Matrix) -> list[Matrix]:
    """Return matrices by rows whose indices are of one type."""
    wide = len({m.columns.dtype for m in matrices}) > 1
    if not wide:
        return list(matrices)
    return [Matrix(m.shape, None, m.columns.long(), m.values, m.offsets.long()) for m in matrices]


def product_of(left: Matrix, right: Matrix) -> Matrix:
    """Return the product of two sparse matrices, by rows."""
    left, right = same_index_types(left.by_rows(), right.by_rows())
    if not has_values(left.values):
        raise NeedsElementsError("mm", "how many entries the product of sparse matrices has")
    count = right.shape[1]
    offsets, columns, values = F._segment_matmul(
        left.offsets, left.columns, left.values, right.offsets, right.columns, right.values, count
    )
    return Matrix((left.shape[0], count), None, columns, values, offsets)


def sum_of(left: Matrix, right: Matrix) -> Matrix:
    """Return the sum of two sparse matrices of one shape, by rows, each entry once."""
    parts = [[t.long() for t in m.entries()] for m in (left, right)]
    indices = F.stack([F.cat([parts[0][i], parts[1][i]]) for i in (0, 1)])
    return matrix_of(F._coalesce(coo(left.shape, indices, F.cat([left.values, right.values]))), "add")


def tensor_of_matrix(matrix: Matrix, layout: Any, batch: tuple = (), index_dtype: Any = None) -> Any:
    """Return a matrix of elements as a tensor of a layout; with batch dimensions, one of layout ``sparse_coo``.

    Notes
    -----
    In the blocked layouts a matrix of elements would have to be cut into blocks: the result is in the layout of elements of the
    same direction.
    """
    layout = {sparse_bsr: sparse_csr, sparse_bsc: sparse_csc}.get(layout, layout)
    if layout is sparse_csc:
        by_columns = matrix.transposed().by_rows()
        return compressed(layout, matrix.shape, *_typed(by_columns, index_dtype), by_columns.values)
    matrix = matrix.by_rows()
    if layout is sparse_csr:
        return compressed(layout, matrix.shape, *_typed(matrix, index_dtype), matrix.values)
    assert layout is sparse_coo
    rows, columns = (t.long() for t in matrix.entries())
    if not batch:
        return coo(matrix.shape, F.stack([rows, columns]), matrix.values, True)
    count = prod(batch)
    n, m = matrix.shape[0] // max(count, 1), matrix.shape[1] // max(count, 1)
    number = coordinates(F.floor_divide(rows, max(n, 1)), batch)
    indices = F.cat([number, F.stack([F.remainder(rows, max(n, 1)), F.remainder(columns, max(m, 1))])])
    return coo((*batch, n, m), indices, matrix.values, True)


def _typed(matrix: Matrix, dtype: Any) -> tuple[Any, Any]:
    if dtype is None:
        return matrix.offsets, matrix.columns
    return matrix.offsets.to(dtype), matrix.columns.to(dtype)


def coordinates_of(pattern: Any) -> tuple:
    """Return the index of each entry of a sparse tensor, one tensor a dimension, the dense dimensions left out."""
    handle = pattern.handle
    if isinstance(handle, CooHandle):
        return tuple(F.unbind(handle.indices))
    matrix = matrix_of(pattern, "entries")
    rows, columns = (t.long() for t in matrix.entries())
    batch = batch_of(handle)
    if not batch:
        return rows, columns
    n, m = handle.shape[-2:]
    number = coordinates(F.floor_divide(rows, max(n, 1)), batch)
    return (*F.unbind(number), F.remainder(rows, max(n, 1)), F.remainder(columns, max(m, 1)))


def shares_pattern(tensor: Any, pattern: Any) -> bool:
    """Return whether two sparse tensors are known to have the same indices: they hold the very same ones."""
    a, b = tensor.handle, pattern.handle
    return type(a) is type(b) and a.shape == b.shape and all(
        [x is y for x, y in zip(a.components()[:-1], b.components()[:-1], strict=True)]
    )


def values_at(tensor: Any, pattern: Any) -> Any:
    """Return the elements of a dense or sparse tensor at the entries of another, as its values; zeros where there are none."""
    wanted = pattern.handle.values
    if not isinstance(tensor.handle, (CooHandle, CompressedHandle)):
        where = coordinates_of(pattern)
        found = F.index(tensor, list(where)) if where else F.unsqueeze(tensor, 0)
        return F.reshape(found, list(wanted.shape))
    if shares_pattern(tensor, pattern):
        return tensor.handle.values
    tensor = F.coalesce(tensor if isinstance(tensor.handle, CooHandle) else F._to_sparse(tensor, layout=sparse_coo))
    own = tensor.handle
    where = coordinates_of(pattern)
    sizes = own.shape[: own.sparse_dim]
    check(len(where) == own.sparse_dim, "sparse tensors of other dense dimensions cannot be compared entry by entry")
    if own.nnz == 0:
        return F.zeros_like(wanted)
    places = linear_positions(F.stack(list(where)), sizes)
    there = linear_positions(own.indices, sizes)
    found = F.clamp(F.searchsorted(there, places), max=own.nnz - 1)
    same = F.eq(F.index_select(there, 0, found), places)
    values = F.index_select(own.values, 0, found)
    values = F.where(F.reshape(same, [-1] + [1] * (values.ndim - 1)), values, 0)
    return F.reshape(values, list(wanted.shape))
