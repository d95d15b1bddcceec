"""Sparse tensors of zeros: without any value."""

from __future__ import annotations

from minitorch.core.dtype import int64
from minitorch.core.layout import sparse_coo, strided
from minitorch.ops import functions as F
from minitorch.ops.shapes.common import check
from minitorch.sparse.handles import (
    BLOCKED,
    BY_ROWS,
    CompressedHandle,
    compressed,
    coo,
    is_compressed,
    is_coo,
    is_sparse,
)
from minitorch.sparse.refusal import Unsupported
from minitorch.sparse.registration import COO, sparse_kernel
from minitorch.tensor.components import tensor_of


def empty_coo(size, sparse_dim, dtype, device):
    """Return a tensor of layout ``sparse_coo`` without values; dimensions from `sparse_dim` on are dense."""
    indices = F.empty([sparse_dim, 0], dtype=int64, device=device)
    values = F.empty([0, *size[sparse_dim:]], dtype=dtype, device=device)
    return coo(size, indices, values, True)


def empty_compressed(name, size, layout, dtype, device, blocksize=(1, 1), dense_dim=0, index_dtype=int64):
    """Return a compressed tensor without values."""
    check(
        len(size) >= 2 + dense_dim,
        f"{name}(): a tensor of layout {layout} has at least 2 dimensions, but size is {list(size)}",
    )
    batch_dim = len(size) - 2 - dense_dim
    batches, dense = list(size[:batch_dim]), list(size[batch_dim + 2 :])
    counts = [n // b for n, b in zip(size[batch_dim : batch_dim + 2], blocksize, strict=True)]
    outer = counts[0 if layout in BY_ROWS else 1]
    block = list(blocksize) if layout in BLOCKED else []
    return compressed(
        layout, size, F.zeros([*batches, outer + 1], dtype=index_dtype, device=device),
        F.empty([*batches, 0], dtype=index_dtype, device=device),
        F.empty([*batches, 0, *block, *dense], dtype=dtype, device=device),
    )  # fmt: skip


@sparse_kernel("_sparse_coo_tensor_with_dims", layouts=(COO,))
def sparse_coo_tensor_with_dims(
    sparse_dim, dense_dim, size, *, dtype=None, layout=None, device=None, pin_memory=False
):  # fmt: skip
    check(
        len(size) == sparse_dim + dense_dim,
        f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, "
        f"dense_dim = {dense_dim}",
    )
    return empty_coo(size, sparse_dim, dtype, device)


def _empty(name, size, dtype, layout, device):
    check(all(n >= 0 for n in size), f"{name}(): sizes must not be negative, but size is {list(size)}")
    if layout is sparse_coo:
        return empty_coo(size, len(size), dtype, device)
    check(
        layout not in BLOCKED,
        f"{name}(): expected sparse compressed (non-block) tensor layout but got {layout}: nothing says how large a block is; "
        "use sparse_bsr_tensor() or sparse_bsc_tensor()",
    )
    return empty_compressed(name, size, layout, dtype, device)


@sparse_kernel("empty.memory_format")
def empty(size, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return _empty("empty", size, dtype, layout, device)


@sparse_kernel("zeros")
def zeros(size, *, dtype=None, layout=None, device=None, pin_memory=None):
    return _empty("zeros", size, dtype, layout, device)


def _like(name, tensor, dtype, layout, device):
    dtype, device = dtype or tensor.dtype, device or tensor.device
    layout = tensor.layout if layout is None else layout
    shape = list(tensor.shape)
    if layout is strided:
        return None
    handle = tensor.handle
    if layout is sparse_coo:
        return empty_coo(shape, handle.sparse_dim if is_coo(tensor) else len(shape), dtype, device)
    if isinstance(handle, CompressedHandle):
        blocksize = handle.blocksize if layout in BLOCKED else (1, 1)
        return empty_compressed(
            name, shape, layout, dtype, device, blocksize, handle.dense_dim, handle.plain.dtype
        )
    return _empty(name, shape, dtype, layout, device)


@sparse_kernel("zeros_like")
def zeros_like(self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    result = _like("zeros_like", self, dtype, layout, device)
    if result is None:
        return F.zeros(list(self.shape), dtype=dtype or self.dtype, device=device or self.device)
    return result


def _filled_like(name, self, fill, dtype, layout, device):
    """Return a compressed tensor with the pattern of another one and the values that `fill` makes."""
    if not is_compressed(self) or layout not in (None, self.layout):
        raise Unsupported(f"{name}() keeps the pattern of a compressed tensor; of other layouts all elements would have values")
    handle = self.handle
    device = device or self.device
    indices = [F._to_copy(t, device=device) for t in handle.components()[:-1]]
    return tensor_of(handle.with_components((*indices, fill(handle.values, dtype or self.dtype, device))))


def _register_filled(name):
    function = getattr(F, name)

    def kernel(self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
        if layout is strided:
            return function(F.empty(list(self.shape), dtype=dtype or self.dtype, device=device or self.device))
        fill = lambda values, dtype, device: function(values, dtype=dtype, device=device)  # noqa: E731
        return _filled_like(name, self, fill, dtype, layout, device)

    sparse_kernel(name)(kernel)


for _name in ("ones_like", "rand_like", "randn_like"):
    _register_filled(_name)


@sparse_kernel("full_like")
def full_like(self, fill_value, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    if layout is strided:
        return F.full(list(self.shape), fill_value, dtype=dtype or self.dtype, device=device or self.device)
    fill = lambda values, dtype, device: F.full_like(values, fill_value, dtype=dtype, device=device)  # noqa: E731
    return _filled_like("full_like", self, fill, dtype, layout, device)


@sparse_kernel("empty_like")
def empty_like(self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    if is_sparse(self) and layout in (None, self.layout) and self.layout is not sparse_coo:
        # As in PyTorch: the pattern of a compressed tensor, with values that are not set.
        handle = self.handle
        device = device or self.device
        indices = [F._to_copy(t, device=device) for t in handle.components()[:-1]]
        values = F.empty_like(handle.values, dtype=dtype or self.dtype, device=device)
        return tensor_of(handle.with_components((*indices, values)))
    result = _like("empty_like", self, dtype, layout, device)
    if result is None:
        return F.empty(list(self.shape), dtype=dtype or self.dtype, device=device or self.device)
    return result


