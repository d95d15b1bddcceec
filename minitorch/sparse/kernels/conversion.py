"""Conversions, copies and moves of sparse tensors."""

from __future__ import annotations

from minitorch.core.layout import sparse_coo, sparse_csc, sparse_csr
from minitorch.ops import functions as F
from minitorch.sparse import convert
from minitorch.sparse.handles import is_coo, is_sparse
from minitorch.sparse.refusal import Unsupported
from minitorch.sparse.registration import COO, sparse_kernel
from minitorch.tensor.components import tensor_of


@sparse_kernel("_to_dense")
def to_dense(self, dtype=None, masked_grad=None):
    dense = convert.to_dense(self)
    return dense if dtype is None else F.to(dense, dtype)


@sparse_kernel("_to_sparse")
def to_sparse(self, *, layout=None, blocksize=None, dense_dim=None):
    layout = sparse_coo if layout is None else layout
    if layout is self.layout:
        return self
    if layout is sparse_coo:
        return convert.compressed_to_coo(self)
    if layout not in (sparse_csr, sparse_csc):
        raise Unsupported("conversion to this layout")
    return convert.coo_to_compressed(self if is_coo(self) else convert.compressed_to_coo(self), layout)


@sparse_kernel("_coalesce", layouts=(COO,))
def coalesce(self):
    return convert.coalesced(self)


@sparse_kernel("clone")
def clone(self, *, memory_format=None):
    handle = self.handle
    return tensor_of(handle.with_components(tuple([F.clone(t) for t in handle.components()])))


@sparse_kernel("copy_")
def copy_(self, src, non_blocking=False):
    if not (is_sparse(self) and is_sparse(src) and type(self.handle) is type(src.handle)):
        raise Unsupported("copy_() between a sparse and a dense tensor, or between layouts")
    handle = src.handle
    device, dtype = self.device, self.dtype
    parts = [F.clone(t) for t in handle.components()]
    parts = [t.to(device) for t in parts]
    parts[-1] = parts[-1].to(dtype)
    self.handle.assign(handle.with_components(tuple(parts)))
    self.shape_cache = None
    return self
