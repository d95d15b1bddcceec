"""What makes sparse tensors out of dense ones, and what asks a tensor whether it is sparse.

The kernels are in the package `sparse`, which is imported when the first sparse tensor is made.
"""

from __future__ import annotations

from importlib import import_module

from minitorch.core.layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_explicit, composite_implicit
from minitorch.ops.shapes.common import check


def _kernels(name):
    return import_module(f"minitorch.sparse.{name}")


@composite_explicit("_sparse_coo_tensor_with_dims_and_tensors")
def sparse_coo_tensor_with_dims_and_tensors(
    sparse_dim, dense_dim, size, indices, values, *, dtype=None, layout=None, device=None, pin_memory=False, is_coalesced=None
):  # fmt: skip
    return _kernels("handles").coo(size, indices, values, bool(is_coalesced))


@composite_implicit("_sparse_coo_tensor_unsafe")
def sparse_coo_tensor_unsafe(
    indices, values, size, *, dtype=None, layout=None, device=None, pin_memory=None, is_coalesced=None
):  # fmt: skip
    sparse_dim = indices.shape[0]
    return F._sparse_coo_tensor_with_dims_and_tensors(
        sparse_dim, values.ndim - 1, size, indices, values, dtype=values.dtype, layout=sparse_coo, device=values.device,
        is_coalesced=is_coalesced,
    )  # fmt: skip


@composite_explicit("_sparse_compressed_tensor_unsafe")
def sparse_compressed_tensor_unsafe(
    compressed_indices, plain_indices, values, size, *, dtype=None, layout=None, device=None, pin_memory=None
):  # fmt: skip
    return _kernels("handles").compressed(layout, size, compressed_indices, plain_indices, values)


@composite_implicit("to_sparse.sparse_dim")
def to_sparse_sparse_dim(self, sparse_dim):
    check(
        0 <= sparse_dim <= self.ndim,
        f"to_sparse(): sparse_dim must be between 0 and the number of dimensions, {self.ndim}, but is {sparse_dim}",
    )
    return F._to_sparse(self, sparse_dim)


@composite_implicit("to_sparse")
def to_sparse(self, *, layout=None, blocksize=None, dense_dim=None):
    return F._to_sparse(self, layout=layout, blocksize=blocksize, dense_dim=dense_dim)


@composite_implicit("to_sparse_csr")
def to_sparse_csr(self, dense_dim=None):
    return F._to_sparse(self, layout=sparse_csr, dense_dim=dense_dim)


@composite_implicit("to_sparse_csc")
def to_sparse_csc(self, dense_dim=None):
    return F._to_sparse(self, layout=sparse_csc, dense_dim=dense_dim)


@composite_implicit("to_sparse_bsr")
def to_sparse_bsr(self, blocksize, dense_dim=None):
    return F._to_sparse(self, layout=sparse_bsr, blocksize=blocksize, dense_dim=dense_dim)


@composite_implicit("to_sparse_bsc")
def to_sparse_bsc(self, blocksize, dense_dim=None):
    return F._to_sparse(self, layout=sparse_bsc, blocksize=blocksize, dense_dim=dense_dim)


@composite_explicit("_to_sparse.sparse_dim")
def dense_to_sparse_dim(self, sparse_dim):
    return _kernels("convert").dense_to_coo(self, sparse_dim)


@composite_explicit("_to_sparse")
def dense_to_sparse(self, *, layout=None, blocksize=None, dense_dim=None):
    return _kernels("convert").from_dense(self, layout, blocksize, dense_dim)


@composite_implicit("to_dense")
def to_dense(self, dtype=None, *, masked_grad=None):
    if self.layout is strided:
        return self if dtype is None else self.to(dtype)
    return F._to_dense(self, dtype, masked_grad)


@composite_implicit("coalesce")
def coalesce(self):
    check(self.layout is sparse_coo, f"coalesce(): expected a tensor of layout sparse_coo, but its layout is {self.layout}")
    return self if F.is_coalesced(self) else F._coalesce(self)
