"""Derivatives of making, converting and taking apart sparse tensors."""

from __future__ import annotations

from minitorch.autograd.derivatives.registry import derivative
from minitorch.core.layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csr, strided
from minitorch.ops import functions as F

for _name in (
    "_indices", "_values", "indices", "crow_indices", "ccol_indices", "col_indices", "row_indices", "_coalesced_",
    "resize_as_sparse_", "sparse_resize_", "sparse_resize_and_clear_", "_validate_sparse_coo_tensor_args",
    "_validate_sparse_compressed_tensor_args", "_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo",
):  # fmt: skip
    derivative(_name)


def index_parts(tensor):
    """Return the compressed and the plain indices of a compressed tensor."""
    if tensor.layout in (sparse_csr, sparse_bsr):
        return F.crow_indices(tensor), F.col_indices(tensor)
    return F.ccol_indices(tensor), F.row_indices(tensor)


def blocksize_of(tensor):
    """Return the blocksize of a tensor in a blocked layout, None in others."""
    if tensor.layout not in (sparse_bsr, sparse_bsc):
        return None
    values = F.values(tensor)
    first = F.dense_dim(tensor)
    return list(values.shape[values.ndim - first - 2 : values.ndim - first])


def in_layout_of(grad, self):
    """Return a gradient in the layout of the tensor that it belongs to."""
    if grad.layout is self.layout:
        return grad
    if self.layout is strided:
        return F.to_dense(grad)
    if self.layout is sparse_coo:
        return F.to_sparse(grad, F.sparse_dim(self)) if grad.layout is strided else F.to_sparse(grad)
    dense_dim = F.dense_dim(self) if grad.layout is strided else None
    return F.to_sparse(grad, layout=self.layout, blocksize=blocksize_of(self), dense_dim=dense_dim)


def values_with_pattern(self, values):
    """Return the sparse tensor with the indices of `self`, and other values."""
    if self.layout is sparse_coo:
        return F._sparse_coo_tensor_unsafe(F._indices(self), values, self.shape, is_coalesced=F.is_coalesced(self))
    return F._sparse_compressed_tensor_unsafe(*index_parts(self), values, self.shape, layout=self.layout)


def coo_values_backward(grad, indices):
    """Return the values of a gradient at coordinates, which may come in any order and again."""
    sparse_dim = indices.shape[0]
    sizes = grad.shape[:sparse_dim]
    wanted = _positions(indices, sizes)
    if grad.layout is strided:
        count = 1
        for n in sizes:
            count *= n
        return F.index_select(F.reshape(grad, [count, *grad.shape[sparse_dim:]]), 0, wanted)
    grad = F.coalesce(grad if grad.layout is sparse_coo else F.to_sparse(grad))
    values, positions = F.values(grad), _positions(F.indices(grad), sizes)
    if not positions.shape[0]:
        return F.new_zeros(values, [wanted.shape[0], *values.shape[1:]])
    places = F.clamp(F.searchsorted(positions, wanted), max=positions.shape[0] - 1)
    found = F.reshape(F.index_select(positions, 0, places) == wanted, [wanted.shape[0], *[1] * (values.ndim - 1)])
    picked = F.index_select(values, 0, places)
    return F.where(found, picked, F.new_zeros(picked, []))


def _positions(indices, sizes):
    if not len(sizes):
        return F.new_zeros(indices, [indices.shape[1]])
    position = indices[0]
    for d in range(1, len(sizes)):
        position = position * sizes[d] + indices[d]
    return position


def coo_tangent(values_t, sparse_dim, dense_dim, size, indices, is_coalesced):
    """Return the tangent of a tensor of coordinates: the same places, with the values' tangents."""
    return F._sparse_coo_tensor_with_dims_and_tensors(
        sparse_dim, dense_dim, size, indices, values_t, dtype=values_t.dtype, layout=sparse_coo, device=values_t.device,
        is_coalesced=is_coalesced,
    )  # fmt: skip


def compressed_tangent(values_t, compressed_indices, plain_indices, size, layout):
    """Return the tangent of a compressed tensor: the same places, with the values' tangents."""
    return F._sparse_compressed_tensor_unsafe(
        compressed_indices, plain_indices, values_t, size, dtype=values_t.dtype, layout=layout, device=values_t.device
    )


# Tangents have places of their own, so most of these operators are not applied to them as they are: what is asked of a
# tangent is its values where the tensor has some.
derivative(
    "_sparse_coo_tensor_with_dims_and_tensors",
    values=lambda grad, indices: coo_values_backward(grad, indices),
    result=coo_tangent,
)
derivative(
    "_sparse_compressed_tensor_unsafe",
    values=lambda grad, result: F.values(F.sparse_mask(grad, result)),
    result=compressed_tangent,
)
derivative(
    "values",
    self=lambda grad, self: values_with_pattern(self, grad),
    result=lambda self_p, self_t: F.values(F.sparse_mask(self_t, self_p)),
)
derivative("_coalesce", self=lambda grad: grad, result="linear")
for _name in ("_to_sparse", "_to_sparse.sparse_dim", "_to_sparse_csr", "_to_sparse_csc", "_to_sparse_bsr", "_to_sparse_bsc"):
    derivative(
        _name,
        self=lambda grad, self: in_layout_of(grad, self),
        result=lambda self_p, self_t, result: F.sparse_mask(self_t, result),
    )
derivative(
    "_to_dense",
    self=lambda grad, self, masked_grad: F.to_dense_backward(grad, self, masked_grad),
    result=lambda self_t: F.to_dense(self_t),
)
derivative(
    "sparse_mask",
    self=lambda grad, self, mask: in_layout_of(F.sparse_mask(grad, mask), self),
    result=lambda self_t, mask: F.sparse_mask(self_t, mask),
)
