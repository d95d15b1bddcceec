"""Operators that move or change dimensions of sparse tensors.

Note [Shapes of sparse tensors]
    PyTorch calls these operators views; here, as there, the result shares values with its argument where the layout lets it,
    and in-place operators put new components into a tensor (Note [Sparse handles]).  Sparse dimensions stay before dense ones.
"""

from __future__ import annotations

from minitorch.core.layout import sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from minitorch.ops import functions as F
from minitorch.ops.shapes.common import check, normalize_dim, normalize_dims
from minitorch.ops.shapes.geometry import infer_size
from minitorch.sparse import convert
from minitorch.sparse.handles import compressed, coo
from minitorch.sparse.pattern import all_sparse, constructed, entry_keys, in_layout_of, to_coo
from minitorch.sparse.refusal import Unsupported
from minitorch.sparse.registration import COO, CSR, sparse_kernel
from minitorch.tensor.components import tensor_of

# What a transposed tensor of a compressed layout is.
FLIPPED = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}


def _swapped(order, i, j):
    order = list(order)
    order[i], order[j] = order[j], order[i]
    return order


# ---------------------------------------------------------------- order of dimensions


@sparse_kernel("transpose.int", layouts=(COO,))
def transpose(self, dim0, dim1):
    dim0, dim1 = (normalize_dim(d, self.ndim, "transpose") for d in (dim0, dim1))
    if dim0 == dim1:
        return tensor_of(self.handle)
    return permute(self, _swapped(range(self.ndim), dim0, dim1))


@sparse_kernel("permute", layouts=(COO,))
def permute(self, dims):
    handle = self.handle
    dims = _checked_order(self, dims)
    if dims == list(range(self.ndim)):
        return tensor_of(handle)
    n = handle.sparse_dim
    check(
        all(d < n for d in dims[:n]),
        f"permute(): a dimension cannot move between the {n} sparse and the {handle.dense_dim} dense ones of a tensor of "
        f"layout sparse_coo, but the order is {dims}; to_dense() first, or to_sparse(sparse_dim) of other sparse dimensions",
    )
    shape = [self.shape[d] for d in dims]
    values = handle.values
    if dims[n:] != list(range(n, self.ndim)):
        values = F.permute(values, [0] + [d - n + 1 for d in dims[n:]])
    if dims[:n] == list(range(n)):
        return coo(shape, handle.indices, values, handle.coalesced)
    return constructed(shape, F.stack([F.select(handle.indices, 0, d) for d in dims[:n]]), values)


def _checked_order(self, dims):
    order = [normalize_dim(d, self.ndim, "permute") for d in dims]
    check(
        sorted(order) == list(range(self.ndim)),
        f"permute(): the dims {list(dims)} are no order of the {self.ndim} dimensions of the tensor",
    )
    return order


@sparse_kernel("transpose.int", layouts=(CSR,))
def compressed_transpose(self, dim0, dim1):
    dim0, dim1 = (normalize_dim(d, self.ndim, "transpose") for d in (dim0, dim1))
    return compressed_permute(self, _swapped(range(self.ndim), dim0, dim1))


@sparse_kernel("permute", layouts=(CSR,))
def compressed_permute(self, dims):
    handle = self.handle
    dims = _checked_order(self, dims)
    if dims == list(range(self.ndim)):
        return tensor_of(handle)
    lead = handle.batch_dim
    batch, middle, dense = dims[:lead], dims[lead : lead + 2], dims[lead + 2 :]
    check(
        sorted(batch) == list(range(lead)) and sorted(middle) == [lead, lead + 1],
        f"transpose(): only dimensions of the same kind (batch, sparse, dense) can be exchanged, but of the order {dims} the "
        f"first {lead} are batch dimensions, then come two sparse ones",
    )
    layout = handle.declared_layout
    order = [*batch, lead]  # batches, entries
    block = [lead + 1, lead + 2] if handle.block_mark else []
    values = handle.values
    if middle[0] > middle[1]:
        layout = FLIPPED[layout]
        block = block[::-1]
    first_dense = lead + 1 + len(block)
    order += block + [first_dense + d - lead - 2 for d in dense]
    if order != list(range(values.ndim)):
        values = F.contiguous(F.permute(values, order))
    parts = [handle.compressed, handle.plain]
    if batch != list(range(lead)):
        parts = [F.contiguous(F.permute(p, [*batch, lead])) for p in parts]
    return compressed(layout, [self.shape[d] for d in dims], *parts, values)


@sparse_kernel("t")
def t(self):
    handle = self.handle
    if hasattr(handle, "sparse_dim"):
        check(
            handle.sparse_dim <= 2 and not handle.dense_dim,
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {handle.sparse_dim} sparse and "
            f"{handle.dense_dim} dense dimensions",
        )
    check(self.ndim <= 2, f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return F.transpose(self, 0, 1) if self.ndim == 2 else tensor_of(handle)


def _in_place_refused(name):
    def kernel(self, *args):
        raise RuntimeError(
            f"{name}(): a tensor of layout {self.layout} cannot be transposed in place, for the result has another layout; "
            f"use {name[:-1]}()"
        )

    return kernel


for _name in ("t_", "transpose_"):
    sparse_kernel(_name, layouts=(CSR,))(_in_place_refused(_name))


# ---------------------------------------------------------------- dimensions of size 1


@sparse_kernel("unsqueeze", layouts=(COO,))
def unsqueeze(self, dim):
    handle = self.handle
    dim = normalize_dim(dim, self.ndim + 1, "unsqueeze")
    shape = [*self.shape[:dim], 1, *self.shape[dim:]]
    if dim > handle.sparse_dim:
        values = F.unsqueeze(handle.values, dim - handle.sparse_dim + 1)
        return constructed(shape, handle.indices, values)
    row = F.new_zeros(handle.indices, [1, handle.nnz])
    before = F.slice(handle.indices, 0, 0, dim)
    return constructed(shape, F.cat([before, row, F.slice(handle.indices, 0, dim)]), handle.values)


def _without(self, dims):
    handle = self.handle
    gone = [d for d in dims if self.shape[d] == 1]
    if not gone:
        return tensor_of(handle)
    n = handle.sparse_dim
    kept = [d for d in range(n) if d not in gone]
    indices = F.stack([F.select(handle.indices, 0, d) for d in kept]) if kept else F.slice(handle.indices, 0, 0, 0)
    values = handle.values
    dense = [d - n + 1 for d in gone if d >= n]
    if dense:
        values = F.squeeze(values, dense)
    return coo([s for d, s in enumerate(self.shape) if d not in gone], indices, values, handle.coalesced)


@sparse_kernel("squeeze", layouts=(COO,))
def squeeze(self):
    return _without(self, range(self.ndim))


@sparse_kernel("squeeze.dim", layouts=(COO,))
def squeeze_dim(self, dim):
    return _without(self, [normalize_dim(dim, self.ndim, "squeeze")])


@sparse_kernel("squeeze.dims", layouts=(COO,))
def squeeze_dims(self, dim):
    return _without(self, [normalize_dim(d, self.ndim, "squeeze") for d in dim])


def _no_such_shape(name):
    def kernel(self, *args):
        raise Unsupported(
            f"{name}() of a compressed layout has other than two sparse dimensions as a result; to_sparse() makes a tensor that "
            "can have it"
        )

    return kernel


@sparse_kernel("unsqueeze", layouts=(CSR,))
def compressed_unsqueeze(self, dim):
    """Return the tensor as a batch of one, or with one more dense dimension."""
    handle = self.handle
    dim = normalize_dim(dim, self.ndim + 1, "unsqueeze")
    lead = handle.batch_dim
    shape = [*self.shape[:dim], 1, *self.shape[dim:]]
    if dim <= lead:
        return compressed(handle.declared_layout, shape, *[F.unsqueeze(c, dim) for c in handle.components()])
    if dim < lead + 2:
        return _no_such_shape("unsqueeze")(self)
    values = F.unsqueeze(handle.values, dim - 1 + len(handle.block_mark))
    return compressed(handle.declared_layout, shape, handle.compressed, handle.plain, values)


def _compressed_without(self, dims):
    handle = self.handle
    gone = [d for d in dims if self.shape[d] == 1]
    lead = handle.batch_dim
    if any(lead <= d < lead + 2 for d in gone):
        return _no_such_shape("squeeze")(self)
    parts = list(handle.components())
    batch = [d for d in gone if d < lead]
    if batch:
        parts = [F.squeeze(c, batch) for c in parts]
    dense = [d - 1 + len(handle.block_mark) - len(batch) for d in gone if d >= lead + 2]
    if dense:
        parts[-1] = F.squeeze(parts[-1], dense)
    return compressed(handle.declared_layout, [s for d, s in enumerate(self.shape) if d not in gone], *parts)


@sparse_kernel("squeeze", layouts=(CSR,))
def compressed_squeeze(self):
    return _compressed_without(self, range(self.ndim))


@sparse_kernel("squeeze.dim", layouts=(CSR,))
def compressed_squeeze_dim(self, dim):
    return _compressed_without(self, [normalize_dim(dim, self.ndim, "squeeze")])


@sparse_kernel("squeeze.dims", layouts=(CSR,))
def compressed_squeeze_dims(self, dim):
    return _compressed_without(self, [normalize_dim(d, self.ndim, "squeeze") for d in dim])


# ---------------------------------------------------------------- other shapes


@sparse_kernel("view", "_unsafe_view", layouts=(COO,))
def view(self, size):
    """Return the tensor in another shape: sparse dimensions among themselves, dense ones among themselves."""
    handle = self.handle
    size = list(infer_size(size, self.numel()))
    n = handle.sparse_dim
    count = 1
    for s in self.shape[:n]:
        count *= s
    split, product = 0, 1
    while split < len(size) and product * size[split] <= count and (product < count or size[split] == 1):
        product *= size[split]
        split += 1
    # Dimensions of size 1 at the border may be of either kind: those stay dense that were.
    while split and size[split - 1] == 1 and len(size) - split < handle.dense_dim:
        split -= 1
    if product != count or (0 in size):
        if 0 in size and not handle.dense_dim:
            split = len(size)
        else:
            return view(all_sparse(self), size)  # joins sparse and dense dimensions
    values = F.reshape(handle.values, [handle.nnz, *size[split:]])
    indices = convert.coordinates(entry_keys(handle), size[:split])
    return coo(size, indices, values, handle.coalesced)


@sparse_kernel("view", "_unsafe_view", layouts=(CSR,))
def compressed_view(self, size):
    if list(infer_size(size, self.numel())) == list(self.shape):
        return tensor_of(self.handle)
    return in_layout_of(view(to_coo(self), size), self)


@sparse_kernel("flip", layouts=(COO,))
def flip(self, dims):
    handle = self.handle
    rows = list(F.unbind(handle.indices))
    values = handle.values
    for d in normalize_dims(dims, self.ndim, "flip") if dims else ():
        if d < handle.sparse_dim:
            rows[d] = F.rsub(rows[d], self.shape[d] - 1)
        else:
            values = F.flip(values, [d - handle.sparse_dim + 1])
    return constructed(self.shape, F.stack(rows) if rows else handle.indices, values)


@sparse_kernel("roll", layouts=(COO,))
def roll(self, shifts, dims=()):
    handle = self.handle
    if not dims:
        return F.reshape(roll(view(all_sparse(self), [-1]), shifts, [0]), list(self.shape))
    check(len(shifts) == len(dims), f"roll(): shifts and dimensions must align, got {len(shifts)} shifts and {len(dims)} dims")
    rows = list(F.unbind(handle.indices))
    values = handle.values
    for shift, dim in zip(shifts, dims, strict=True):
        d = normalize_dim(dim, self.ndim, "roll")
        if d < handle.sparse_dim:
            rows[d] = F.remainder(F.add(rows[d], shift), max(self.shape[d], 1))
        else:
            values = F.roll(values, [shift], [d - handle.sparse_dim + 1])
    return constructed(self.shape, F.stack(rows) if rows else handle.indices, values)


@sparse_kernel("repeat", layouts=(COO,))
def repeat(self, repeats):
    handle = self.handle
    lead = len(repeats) - self.ndim
    check(
        lead >= 0,
        f"repeat(): number of dimensions of repeat dims ({len(repeats)}) can not be smaller than number of dimensions of "
        f"tensor ({self.ndim})",
    )
    shape = [*[1] * lead, *self.shape]
    tensor = view(self, shape) if lead else self
    for d, times in enumerate(repeats):
        if times != 1 and d < lead + handle.sparse_dim:
            tensor = F.cat([tensor] * times, d) if times else F.narrow(tensor, d, 0, 0)
    dense = list(repeats[lead + handle.sparse_dim :])
    inner = tensor.handle
    if all(times == 1 for times in dense):
        return tensor
    values = F.repeat(inner.values, [1, *dense])
    return coo([s * r for s, r in zip(shape, repeats, strict=True)], inner.indices, values, inner.coalesced)


def _by_coordinates(kernel):
    """Return the kernel of compressed layouts that goes by coordinates, and comes back."""

    def compressed_kernel(self, *args):
        return in_layout_of(kernel(to_coo(self), *args), self)

    return compressed_kernel


for _name, _kernel in (("flip", flip), ("roll", roll), ("repeat", repeat)):
    sparse_kernel(_name, layouts=(CSR,))(_by_coordinates(_kernel))
