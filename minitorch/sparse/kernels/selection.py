"""Parts of sparse tensors: rows, slices, triangles, and what indices and masks choose.

Note [What a selection returns]
    Whole rows and slices of a sparse tensor are sparse.  Single elements, as many as an index or a mask asks for, are
    a dense tensor: it is no larger than what asked for them.
"""

from __future__ import annotations

from minitorch.core.dtype import bool_, int64
from minitorch.ops import functions as F
from minitorch.ops.shapes.common import broadcast_shapes, check, normalize_dim
from minitorch.sparse.handles import compressed, coo, is_coo, is_sparse, same_pattern
from minitorch.sparse.kernels.shapes import view
from minitorch.sparse.pattern import all_sparse, constructed, entries_at, in_layout_of, to_coo, values_at, with_zeros
from minitorch.sparse.refusal import Unsupported
from minitorch.sparse.registration import COO, CSR, sparse_kernel
from minitorch.tensor.wrapper import has_values

# ---------------------------------------------------------------- one row, a slice


def _entries(handle, mask):
    """Return the positions of the entries that a mask holds for."""
    if not has_values(mask):  # Note [Patterns without elements]
        return F.arange(mask.shape[0], device=mask.device)
    return F.reshape(F.nonzero(mask), [-1])


def _place(index, size, dim, shape):
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return index % size


@sparse_kernel("select.int", "select_copy.int", layouts=(COO,))
def select(self, dim, index):
    handle = self.handle
    if not self.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = normalize_dim(dim, self.ndim, "select")
    index = _place(index, self.shape[dim], dim, self.shape)
    shape = [*self.shape[:dim], *self.shape[dim + 1 :]]
    n = handle.sparse_dim
    if dim >= n:
        return constructed(shape, handle.indices, F.select(handle.values, dim - n + 1, index))
    kept = _entries(handle, F.eq(F.select(handle.indices, 0, dim), index))
    values = F.index_select(handle.values, 0, kept)
    if n == 1:
        return F.sum(values, [0], dtype=values.dtype) if values.dtype is not bool_ else F.any(values, 0)
    rows = [F.index_select(F.select(handle.indices, 0, d), 0, kept) for d in range(n) if d != dim]
    return constructed(shape, F.stack(rows), values)


@sparse_kernel("select.int", "select_copy.int", layouts=(CSR,))
def compressed_select(self, dim, index):
    handle = self.handle
    dim = normalize_dim(dim, self.ndim, "select")
    lead = handle.batch_dim
    if lead <= dim < lead + 2:
        check(not lead, "select(): selecting sparse dimensions is not supported for batched tensors of a compressed layout")
        chosen = F.select(to_coo(self), dim, index)
        return with_zeros(chosen) if is_sparse(chosen) else chosen
    index = _place(index, self.shape[dim], dim, self.shape)
    shape = [*self.shape[:dim], *self.shape[dim + 1 :]]
    if dim < lead:
        return compressed(handle.declared_layout, shape, *[F.select(c, dim, index) for c in handle.components()])
    values = F.select(handle.values, dim - 1 + len(handle.block_mark), index)
    return compressed(handle.declared_layout, shape, handle.compressed, handle.plain, values)


def _bounds(start, end, step, size):
    check(step > 0, f"slice step must be positive, got {step}", ValueError)
    return range(*slice(start, end, step).indices(size))


@sparse_kernel("slice.Tensor", layouts=(COO,))
def slice_kernel(self, dim=0, start=None, end=None, step=1):
    handle = self.handle
    dim = normalize_dim(dim, self.ndim, "slice")
    places = _bounds(start, end, step, self.shape[dim])
    shape = [*self.shape[:dim], len(places), *self.shape[dim + 1 :]]
    n = handle.sparse_dim
    if dim >= n:
        return coo(shape, handle.indices, F.slice(handle.values, dim - n + 1, start, end, step), handle.coalesced)
    if len(places) == self.shape[dim]:
        return coo(shape, handle.indices, handle.values, handle.coalesced)
    row = F.sub(F.select(handle.indices, 0, dim), places.start)
    inside = F.logical_and(F.ge(row, 0), F.lt(row, len(places) * step))
    if step != 1:
        inside = F.logical_and(inside, F.eq(F.remainder(row, step), 0))
        row = F.floor_divide(row, step)
    kept = _entries(handle, inside)
    rows = [F.index_select(row if d == dim else F.select(handle.indices, 0, d), 0, kept) for d in range(n)]
    return coo(shape, F.stack(rows), F.index_select(handle.values, 0, kept), handle.coalesced)


@sparse_kernel("slice.Tensor", layouts=(CSR,))
def compressed_slice(self, dim=0, start=None, end=None, step=1):
    handle = self.handle
    dim = normalize_dim(dim, self.ndim, "slice")
    lead = handle.batch_dim
    if lead <= dim < lead + 2:
        if len(_bounds(start, end, step, self.shape[dim])) == self.shape[dim]:
            return compressed(handle.declared_layout, self.shape, *handle.components())
        return in_layout_of(slice_kernel(to_coo(self), dim, start, end, step), self)
    places = _bounds(start, end, step, self.shape[dim])
    shape = [*self.shape[:dim], len(places), *self.shape[dim + 1 :]]
    if dim < lead:
        return compressed(handle.declared_layout, shape, *[F.slice(c, dim, start, end, step) for c in handle.components()])
    values = F.slice(handle.values, dim - 1 + len(handle.block_mark), start, end, step)
    return compressed(handle.declared_layout, shape, handle.compressed, handle.plain, values)


@sparse_kernel("unbind.int")
def unbind(self, dim=0):
    dim = normalize_dim(dim, self.ndim, "unbind")
    return [F.select(self, dim, i) for i in range(self.shape[dim])]


@sparse_kernel("split.Tensor")
def split(self, split_size, dim=0):
    dim = normalize_dim(dim, self.ndim, "split")
    check(split_size >= 0, f"split expects split_size be non-negative, but got split_size={split_size}")
    size = self.shape[dim]
    check(split_size > 0 or not size, f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
    step = split_size or 1
    return [F.slice(self, dim, i, min(i + step, size)) for i in range(0, max(size, 1), step)]


@sparse_kernel("split_with_sizes")
def split_with_sizes(self, split_sizes, dim=0):
    dim = normalize_dim(dim, self.ndim, "split_with_sizes")
    check(
        sum(split_sizes) == self.shape[dim] and all(n >= 0 for n in split_sizes),
        f"split_with_sizes expects split_sizes to sum exactly to {self.shape[dim]} (input tensor's size at dimension {dim}), but "
        f"got split_sizes={list(split_sizes)}",
    )
    parts, start = [], 0
    for n in split_sizes:
        parts.append(F.slice(self, dim, start, start + n))
        start += n
    return parts


# ---------------------------------------------------------------- triangles


def _triangle(keeps):
    def kernel(self, diagonal=0):
        check(self.ndim >= 2, "tril(), triu(): input tensor must have at least 2 dimensions")
        handle = all_sparse(self).handle
        row, column = (F.select(handle.indices, 0, d) for d in (-2, -1))
        kept = _entries(handle, keeps(F.sub(column, row), diagonal))
        values = F.index_select(handle.values, 0, kept)
        return coo(self.shape, F.index_select(handle.indices, 1, kept), values, handle.coalesced)

    return kernel


_tril, _triu = _triangle(F.le), _triangle(F.ge)
sparse_kernel("tril", layouts=(COO,))(_tril)
sparse_kernel("triu", layouts=(COO,))(_triu)


@sparse_kernel("tril", layouts=(CSR,))
def compressed_tril(self, diagonal=0):
    return in_layout_of(_tril(to_coo(self), diagonal), self)


@sparse_kernel("triu", layouts=(CSR,))
def compressed_triu(self, diagonal=0):
    return in_layout_of(_triu(to_coo(self), diagonal), self)


@sparse_kernel("diagonal", layouts=(COO,))
def diagonal(self, offset=0, dim1=0, dim2=1):
    dim1, dim2 = (normalize_dim(d, self.ndim, "diagonal") for d in (dim1, dim2))
    check(dim1 != dim2, f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    handle = all_sparse(self).handle
    row, column = (F.select(handle.indices, 0, d) for d in (dim1, dim2))
    kept = _entries(handle, F.eq(F.sub(column, row), offset))
    length = max(min(self.shape[dim1] + min(offset, 0), self.shape[dim2] - max(offset, 0)), 0)
    rest = [d for d in range(self.ndim) if d not in (dim1, dim2)]
    along = row if offset >= 0 else column
    rows = [F.index_select(F.select(handle.indices, 0, d), 0, kept) for d in rest] + [F.index_select(along, 0, kept)]
    return constructed([*[self.shape[d] for d in rest], length], F.stack(rows), F.index_select(handle.values, 0, kept))


@sparse_kernel("diagonal", layouts=(CSR,))
def compressed_diagonal(self, offset=0, dim1=0, dim2=1):
    return F.diagonal(to_coo(self), offset, dim1, dim2)


# ---------------------------------------------------------------- by indices and masks


def _checked_index(name, index, size, dim, shape):
    """Return an index as int64, from the end where it is negative; raise IndexError where it is outside."""
    index = F.to(index, int64)
    if index.numel() and has_values(index):
        low, high = int(F.min(index)), int(F.max(index))
        if low < -size or high >= size:
            raise IndexError(
                f"{name}(): index contains {high if high >= size else low} that is out of range for tensor of size "
                f"{list(shape)} at dimension {dim}"
            )
        if low < 0:
            index = F.where(F.lt(index, 0), F.add(index, size), index)
    return index


@sparse_kernel("index_select", layouts=(COO,))
def index_select(self, dim, index):
    handle = self.handle
    if not self.ndim:
        raise IndexError("index_select() cannot be applied to a 0-dim tensor.")
    dim = normalize_dim(dim, self.ndim, "index_select")
    if index.ndim > 1:
        raise IndexError("index_select() argument index must be 1-D or a 0-D (scalar) tensor.")
    index = _checked_index("index_select", F.reshape(index, [-1]), self.shape[dim], dim, self.shape)
    count = index.shape[0]
    shape = [*self.shape[:dim], count, *self.shape[dim + 1 :]]
    n = handle.sparse_dim
    if dim >= n:
        return constructed(shape, handle.indices, F.index_select(handle.values, dim - n + 1, index))
    # Entries in the order of this dimension; those that one index wants stand together.
    row = F.select(handle.indices, 0, dim)
    order = None
    if dim or not handle.coalesced:
        order = F.argsort(row, stable=True)
        row = F.index_select(row, 0, order)
    first = F.searchsorted(row, index)
    counts = F.sub(F.searchsorted(row, index, right=True), first)
    # Note [Patterns without elements]
    total = int(F.sum(counts)) if count and has_values(counts) else handle.nnz if count else 0
    places = F.repeat_interleave(F.arange(count, device=index.device), counts, output_size=total)
    start = F.sub(F.cumsum(counts, 0), counts)  # where the entries of each index begin in the result
    within = F.sub(F.arange(total, device=index.device), F.index_select(start, 0, places))
    taken = F.add(F.index_select(first, 0, places), within)
    if order is not None:
        taken = F.index_select(order, 0, taken)
    rows = [places if d == dim else F.index_select(F.select(handle.indices, 0, d), 0, taken) for d in range(n)]
    return constructed(shape, F.stack(rows), F.index_select(handle.values, 0, taken))


@sparse_kernel("index_select", layouts=(CSR,))
def compressed_index_select(self, dim, index):
    handle = self.handle
    dim = normalize_dim(dim, self.ndim, "index_select")
    lead = handle.batch_dim
    if lead <= dim < lead + 2:
        return in_layout_of(with_zeros(index_select(to_coo(self), dim, index)), self)
    index = _checked_index("index_select", F.reshape(index, [-1]), self.shape[dim], dim, self.shape)
    shape = [*self.shape[:dim], index.shape[0], *self.shape[dim + 1 :]]
    if dim < lead:
        return compressed(handle.declared_layout, shape, *[F.index_select(c, dim, index) for c in handle.components()])
    values = F.index_select(handle.values, dim - 1 + len(handle.block_mark), index)
    return compressed(handle.declared_layout, shape, handle.compressed, handle.plain, values)


def spread_indices(tensor, indices):
    """Return the index tensors of ``x[indices]`` as int64 of one shape, masks taken apart, and where they begin.

    Raises
    ------
    Unsupported
        Where they are not for neighbouring dimensions: the result has these dimensions in front.
    """
    taken = []
    dim = 0
    for index in indices:
        if index is None:
            dim += 1
        elif index.dtype is bool_ or index.dtype.name == "uint8":
            mask = to_coo(index) if is_sparse(index) else index
            for d in range(index.ndim):
                if index.shape[d] != tensor.shape[dim + d]:
                    raise IndexError(
                        f"The shape of the mask {list(index.shape)} at index {d} does not match the shape of the indexed tensor "
                        f"{list(tensor.shape)} at index {dim + d}"
                    )
            places = list(F.unbind(F.nonzero(mask), 1))
            taken += [(dim + d, p) for d, p in enumerate(places)]
            dim += index.ndim
        else:
            taken.append((dim, _checked_index("index", index, tensor.shape[dim], dim, tensor.shape)))
            dim += 1
    dims = [d for d, _ in taken]
    if dims != list(range(dims[0], dims[0] + len(dims))):
        raise Unsupported("index tensors for dimensions that are not side by side")
    shape = broadcast_shapes(*[tuple(i.shape) for _, i in taken])
    return [F.expand(i, list(shape)) for _, i in taken], dims[0]


@sparse_kernel("index.Tensor", layouts=(COO,))
def index(self, indices):
    spread, first = spread_indices(self, indices)
    sizes = list(self.shape[first : first + len(spread)])
    n = self.handle.sparse_dim
    if first + len(spread) > n:
        if first < n:
            return index(all_sparse(self), indices)
        lead = [None] * (first - n + 1)
        values = F.index(self.handle.values, [*lead, *spread])
        return coo([*self.shape[:first], *spread[0].shape, *self.shape[first + len(spread) :]], self.handle.indices, values,
                   self.handle.coalesced)  # fmt: skip
    position = spread[0]
    for size, further in zip(sizes[1:], spread[1:], strict=True):
        position = F.add(F.mul(position, size), further)
    count = 1
    for size in sizes:
        count *= size
    rest = list(self.shape[first + len(spread) :])
    joined = view(self, [*self.shape[:first], count, *rest]) if len(spread) != 1 else self
    result = index_select(joined, first, F.reshape(position, [-1]))
    shape = [*self.shape[:first], *position.shape, *rest]
    if len(spread) == n:
        return F.reshape(F.to_dense(result), shape)
    return view(result, shape) if position.ndim != 1 else result


@sparse_kernel("index.Tensor", layouts=(CSR,))
def compressed_index(self, indices):
    result = F.index(to_coo(self), indices)
    return in_layout_of(with_zeros(result), self) if is_sparse(result) and result.handle.sparse_dim == 2 else result


@sparse_kernel("masked_select")
def masked_select(self, mask):
    """Return a dense tensor of the elements that a mask, dense or sparse, holds for (Note [What a selection returns])."""
    if not is_sparse(self):
        return F.index(self, list(F.unbind(F.nonzero(mask), 1)))
    check(
        tuple(mask.shape) == tuple(self.shape),
        f"masked_select(): the mask of a sparse tensor has its shape, but {tuple(mask.shape)} is not {tuple(self.shape)}",
    )
    tensor = all_sparse(to_coo(self))
    places = F.nonzero(to_coo(mask) if is_sparse(mask) else mask)
    return F.index(tensor, list(F.unbind(places, 1)))


@sparse_kernel("nonzero")
def nonzero(self):
    tensor = with_zeros(to_coo(self))
    handle = tensor.handle
    where = F.nonzero(handle.values)  # the entry, then its dense dimensions
    entry = F.select(where, 1, 0)
    found = F.t(F.index_select(handle.indices, 1, entry))
    return F.cat([found, F.slice(where, 1, 1)], 1) if handle.dense_dim else F.contiguous(found)


@sparse_kernel("count_nonzero")
def count_nonzero(self, dim=None):
    if dim is not None and self.ndim > 1:
        return F.sum(F.to(F.ne(self, 0), int64), [dim])
    return F.count_nonzero(with_zeros(self).handle.values)


@sparse_kernel("count_nonzero.dim_IntList")
def count_nonzero_dims(self, dim):
    if dim and len(set(dim)) != self.ndim:
        return F.sum(F.to(F.ne(self, 0), int64), list(dim))
    return F.count_nonzero(with_zeros(self).handle.values)


# ---------------------------------------------------------------- writing: what gradients of selections are


@sparse_kernel("select_backward", layouts=(COO,))
def select_backward(grad_output, input_sizes, dim, index):
    """Return the tensor of `input_sizes` whose row `index` is the argument, and that is zero elsewhere."""
    handle = grad_output.handle
    dim = normalize_dim(dim, len(input_sizes), "select")
    if dim > handle.sparse_dim:
        values = F.select_backward(
            handle.values, [handle.nnz, *input_sizes[handle.sparse_dim :]], dim - handle.sparse_dim + 1, index
        )
        return coo(input_sizes, handle.indices, values, handle.coalesced)
    row = F.new_full(handle.indices, [1, handle.nnz], index % input_sizes[dim])
    indices = F.cat([F.slice(handle.indices, 0, 0, dim), row, F.slice(handle.indices, 0, dim)])
    return coo(input_sizes, indices, handle.values, handle.coalesced)


@sparse_kernel("slice_backward", layouts=(COO,))
def slice_backward(grad_output, input_sizes, dim, start, end, step):
    handle = grad_output.handle
    dim = normalize_dim(dim, len(input_sizes), "slice")
    n = handle.sparse_dim
    if dim >= n:
        sizes = [handle.nnz, *input_sizes[n:]]
        values = F.slice_backward(handle.values, sizes, dim - n + 1, start, end, step)
        return coo(input_sizes, handle.indices, values, handle.coalesced)
    first = _bounds(start, end, step, input_sizes[dim]).start
    rows = list(F.unbind(handle.indices))
    rows[dim] = F.add(F.mul(rows[dim], step), first)
    return coo(input_sizes, F.stack(rows), handle.values, handle.coalesced)


@sparse_kernel("diagonal_backward", layouts=(COO,))
def diagonal_backward(grad_output, input_sizes, offset, dim1, dim2):
    handle = grad_output.handle
    dim1, dim2 = (normalize_dim(d, len(input_sizes), "diagonal") for d in (dim1, dim2))
    along = F.select(handle.indices, 0, -1)
    rows = list(F.unbind(F.slice(handle.indices, 0, 0, -1)))
    placed = {dim1: F.sub(along, min(offset, 0)), dim2: F.add(along, max(offset, 0))}
    for d in sorted(placed):
        rows.insert(d, placed[d])
    return constructed(input_sizes, F.stack(rows), handle.values)


@sparse_kernel("slice_backward", layouts=(CSR,))
def compressed_slice_backward(grad_output, input_sizes, dim, start, end, step):
    result = slice_backward(to_coo(grad_output), input_sizes, dim, start, end, step)
    return in_layout_of(result, grad_output)


@sparse_kernel("select_backward", layouts=(CSR,))
def compressed_select_backward(grad_output, input_sizes, dim, index):
    return select_backward(to_coo(grad_output), input_sizes, dim, index)


@sparse_kernel("index_add")
def index_add(self, dim, index, source, *, alpha=1):
    """Return a sparse tensor with the rows of another added where `index` says; or the sum of a dense and a sparse one."""
    if not is_sparse(source):
        raise Unsupported("a dense source of a sparse tensor")
    tensor = to_coo(source)
    handle = tensor.handle
    dim = normalize_dim(dim, self.ndim, "index_add")
    index = _checked_index("index_add", F.reshape(index, [-1]), self.shape[dim], dim, self.shape)
    n = handle.sparse_dim
    if dim >= n:
        zeros = F.new_zeros(handle.values, [handle.nnz, *self.shape[n:]])
        moved = coo(self.shape, handle.indices, F.index_add(zeros, dim - n + 1, index, handle.values), handle.coalesced)
    else:
        rows = list(F.unbind(handle.indices))
        rows[dim] = F.index_select(index, 0, rows[dim])
        moved = constructed(self.shape, F.stack(rows), handle.values)
    return F.add(self, moved if not is_sparse(self) else in_layout_of(moved, self), alpha=alpha)


@sparse_kernel("gather", "take", "scatter_add", "scatter.src", "scatter.value", "index_put")
def refused(*args, **kwargs):
    raise Unsupported("single elements of a sparse tensor are read with x[i, j] and are not written")


# ---------------------------------------------------------------- patterns


@sparse_kernel("_sparse_values_at")
def sparse_values_at(self, pattern):
    found = _values_there(self, pattern)
    # Not the component itself, which would get a history.
    return F.detach(found)


def _values_there(self, pattern):
    if not is_sparse(pattern):
        raise Unsupported("the pattern must be sparse")
    if not is_sparse(self):
        return values_at(pattern, F.expand(self, list(pattern.shape)))
    if self.handle is pattern.handle:
        return self.handle.values
    if self.layout is not pattern.layout:
        return entries_at(in_layout_of(with_zeros(to_coo(self)), pattern), pattern)
    tensor = with_zeros(self)
    if is_coo(pattern) and tensor.handle.sparse_dim != pattern.handle.sparse_dim:
        return F.reshape(entries_at(all_sparse(tensor), all_sparse(pattern)), list(pattern.handle.values.shape))
    return entries_at(tensor, pattern)


@sparse_kernel("_sparse_with_values")
def sparse_with_values(pattern, values):
    return same_pattern(pattern, F.detach(values))  # components have no history


