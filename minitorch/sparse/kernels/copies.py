"""Copies, casts and moves of sparse tensors, and tensors like them."""

from __future__ import annotations

from minitorch.core.layout import sparse_coo
from minitorch.ops import functions as F
from minitorch.ops.shapes.common import check
from minitorch.sparse import convert
from minitorch.sparse.handles import is_sparse
from minitorch.sparse.registration import COO, sparse_kernel
from minitorch.sparse.sizes import check_resize
from minitorch.tensor.components import tensor_of


def map_components(tensor, fn):
    """Return the tensor whose components are what `fn` makes of those of another."""
    handle = tensor.handle
    return tensor_of(handle.with_components(tuple([fn(t) for t in handle.components()])))


def become(tensor, handle):
    """Give a tensor, and all that share its handle, other components; return it."""
    tensor.handle.assign(handle)
    tensor.shape_cache = None
    return tensor


@sparse_kernel("clone")
def clone(self, *, memory_format=None):
    return map_components(self, F.clone)


@sparse_kernel("_to_copy")
def to_copy(
    self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None
):  # fmt: skip
    check(
        layout in (None, self.layout),
        f"to(options) doesn't support converting to a different layout, but got self.layout being {self.layout} and "
        f"options.layout set as {layout}: use to_sparse(layout=...) or to_dense()",
    )
    handle = self.handle
    moved = [
        F._to_copy(t, device=device, non_blocking=non_blocking) if device is not None else F.clone(t)
        for t in handle.components()[:-1]
    ]
    values = handle.components()[-1]
    moved.append(F._to_copy(values, dtype=dtype or values.dtype, device=device or values.device, non_blocking=non_blocking))
    return tensor_of(handle.with_components(tuple(moved)))


@sparse_kernel("copy_")
def copy_(self, src, non_blocking=False):
    check(
        is_sparse(self) and is_sparse(src),
        f"copy_(): copy between dense and sparse Tensors is not implemented: self has layout {self.layout} and src has layout "
        f"{src.layout}; convert one of them with to_dense() or to_sparse()",
    )
    check(
        self.layout is src.layout,
        f"copy_(): copy of tensors of different layouts, {src.layout} into {self.layout}, is not supported; convert one first",
    )
    check(
        self.layout is sparse_coo or tuple(self.shape) == tuple(src.shape),
        f"copy_(): only copies between compressed tensors of the same size are supported, but self has shape "
        f"{list(self.shape)} and src {list(src.shape)}",
    )
    if self.layout is sparse_coo:
        check_resize("copy_", self, src.shape, src.handle.sparse_dim, src.handle.dense_dim)
    copied = to_copy(src, dtype=self.dtype, device=self.device, non_blocking=non_blocking)
    return become(self, copied.handle)


@sparse_kernel("copy_sparse_to_sparse_", layouts=(COO,))
def copy_sparse_to_sparse_(self, src, non_blocking=False):
    return copy_(self, src, non_blocking)


@sparse_kernel("_local_scalar_dense")
def local_scalar_dense(self):
    check(self.numel() == 1, f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return F._local_scalar_dense(convert.to_dense(self))
