"""Copies, casts and moves of sparse tensors, and tensors like them."""

from __future__ import annotations

from minitorch.core.layout import sparse_coo
from minitorch.ops import functions as F
from minitorch.ops.shapes.common import check
from minitorch.sparse.handles import is_sparse
from minitorch.sparse.refusal import Unsupported
from minitorch.sparse.registration import sparse_kernel
from minitorch.tensor.components import tensor_of


def map_components(tensor, fn):
    """Return the tensor whose components are what `fn` makes of those of another."""
    handle = tensor.handle
    return tensor_of(handle.with_components(tuple([fn(t) for t in handle.components()])))


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
    if not (is_sparse(self) and is_sparse(src)):
        raise Unsupported("copy_() between a sparse and a dense tensor is not supported; convert one of them first")
    check(
        self.layout is src.layout,
        f"copy_(): copy of tensors of different layouts, {src.layout} into {self.layout}, is not supported; convert one first",
    )
    check(
        self.layout is sparse_coo or tuple(self.shape) == tuple(src.shape),
        f"copy_(): only copies between compressed tensors of the same size are supported, but self has shape "
        f"{list(self.shape)} and src {list(src.shape)}",
    )
    copied = to_copy(src, dtype=self.dtype, device=self.device, non_blocking=non_blocking)
    self.handle.assign(copied.handle)
    self.shape_cache = None
    return self


