"""In-place changes of a sparse tensor's size, of its emptiness, and of what is known of its order."""

from __future__ import annotations

from minitorch.ops import functions as F
from minitorch.ops.shapes.common import check
from minitorch.sparse.handles import BLOCKED, BY_ROWS, CompressedHandle, CooHandle, is_coo
from minitorch.sparse.kernels.copies import become
from minitorch.sparse.kernels.factories import empty_compressed, empty_coo
from minitorch.sparse.refusal import Unsupported
from minitorch.sparse.registration import COO, CSR, sparse_kernel
from minitorch.sparse.sizes import check_dims, check_resize


@sparse_kernel("_coalesced_", layouts=(COO,))
def coalesced_(self, coalesced):
    self.handle.coalesced = coalesced
    return self


@sparse_kernel("zero_")
def zero_(self):
    handle = self.handle
    if is_coo(self):
        empty = empty_coo(list(handle.shape), handle.sparse_dim, self.dtype, self.device)
    else:
        empty = empty_compressed(
            "zero_", list(handle.shape), self.layout, self.dtype, self.device, handle.blocksize, handle.dense_dim,
            handle.plain.dtype,
        )  # fmt: skip
    return become(self, empty.handle)


@sparse_kernel("sparse_resize_", layouts=(COO,))
def sparse_resize_(self, size, sparse_dim, dense_dim):
    check_dims(size, sparse_dim, dense_dim)
    check_resize("sparse_resize_", self, size, sparse_dim, dense_dim)
    handle = self.handle
    if not handle.nnz:
        return become(self, empty_coo(list(size), sparse_dim, self.dtype, self.device).handle)
    values = handle.values
    padding = []
    for new, old in zip(reversed(size[sparse_dim:]), reversed(values.shape[1:]), strict=True):
        padding += [0, new - old]
    if any(padding):
        values = F.constant_pad_nd(values, padding)
    return become(self, CooHandle(tuple(size), handle.indices, values, handle.coalesced))


@sparse_kernel("sparse_resize_and_clear_", layouts=(COO,))
def sparse_resize_and_clear_(self, size, sparse_dim, dense_dim):
    check_dims(size, sparse_dim, dense_dim)
    return become(self, empty_coo(list(size), sparse_dim, self.dtype, self.device).handle)


@sparse_kernel("resize_as_sparse_", layouts=(COO,))
def resize_as_sparse_(self, the_template):
    check(
        is_coo(the_template),
        f"resize_as_sparse_(): the template must have layout torch.sparse_coo, but has {the_template.layout}",
    )
    return sparse_resize_(self, list(the_template.shape), the_template.handle.sparse_dim, the_template.handle.dense_dim)


@sparse_kernel("resize_as_sparse_", layouts=(CSR,))
def resize_as_sparse_compressed_(self, the_template):
    return resize_(self, list(the_template.shape))


@sparse_kernel("resize_", layouts=(CSR,))
def resize_(self, size, *, memory_format=None):
    """Change rows and columns; as in PyTorch columns may not become fewer, and rows that are cut off go with their entries."""
    handle: CompressedHandle = self.handle
    first = handle.batch_dim
    if list(size) == list(handle.shape):
        return self
    if len(size) != len(handle.shape) or first or handle.dense_dim or handle.declared_layout in BLOCKED:
        raise Unsupported("only rows and columns of a matrix of elements can be resized")
    outer, inner = (0, 1) if handle.declared_layout in BY_ROWS else (1, 0)
    check(
        size[inner] >= handle.shape[inner],
        f"resize_(): Resizing {('columns', 'rows')[outer]} of a {self.layout} tensor to a smaller value is not supported: from "
        f"{handle.shape[inner]} to {size[inner]}",
    )
    offsets, nnz, more = handle.compressed, handle.nnz, size[outer] - handle.shape[outer]
    if more > 0:
        offsets = F.cat([offsets, F.full([more], nnz, dtype=offsets.dtype, device=offsets.device)])
    elif more < 0:
        offsets = F.clone(F.slice(offsets, 0, 0, size[outer] + 1))
        nnz = int(F.select(offsets, 0, -1))
    plain, values = F.slice(handle.plain, 0, 0, nnz), F.slice(handle.values, 0, 0, nnz)
    return become(self, CompressedHandle(self.layout, tuple(size), offsets, plain, values))
