"""Conversions of sparse tensors between layouts, and to dense ones."""

from __future__ import annotations

from minitorch.core.layout import sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from minitorch.ops import functions as F
from minitorch.ops.shapes.common import check
from minitorch.sparse import convert
from minitorch.sparse.handles import is_coo
from minitorch.sparse.registration import COO, sparse_kernel


@sparse_kernel("_to_dense")
def to_dense(self, dtype=None, masked_grad=None):
    dense = convert.to_dense(self)
    return dense if dtype is None else F.to(dense, dtype)


@sparse_kernel("_to_sparse")
def to_sparse(self, *, layout=None, blocksize=None, dense_dim=None):
    return convert.to_layout(self, layout, blocksize, dense_dim)


@sparse_kernel("_to_sparse.sparse_dim")
def to_sparse_sparse_dim(self, sparse_dim):
    own = self.handle.sparse_dim if is_coo(self) else self.handle.batch_dim + 2
    check(
        sparse_dim == own,
        f"to_sparse(): conversion from {self.layout} with sparse_dim={sparse_dim} is not supported: the tensor's own is {own}; "
        "use to_dense().to_sparse(sparse_dim)",
    )
    return convert.to_layout(self)


@sparse_kernel("_to_sparse_csr")
def to_sparse_csr(self, dense_dim=None):
    return convert.to_layout(self, sparse_csr, None, dense_dim)


@sparse_kernel("_to_sparse_csc")
def to_sparse_csc(self, dense_dim=None):
    return convert.to_layout(self, sparse_csc, None, dense_dim)


@sparse_kernel("_to_sparse_bsr")
def to_sparse_bsr(self, blocksize, dense_dim=None):
    return convert.to_layout(self, sparse_bsr, blocksize, dense_dim)


@sparse_kernel("_to_sparse_bsc")
def to_sparse_bsc(self, blocksize, dense_dim=None):
    return convert.to_layout(self, sparse_bsc, blocksize, dense_dim)


@sparse_kernel("_coalesce", layouts=(COO,))
def coalesce(self):
    return convert.coalesced(self)


