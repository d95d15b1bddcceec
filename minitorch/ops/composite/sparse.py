"""What makes sparse tensors out of dense ones, and what asks a tensor whether it is sparse.

The kernels are in the package `sparse`, which is imported when the first sparse tensor is made.
"""

from __future__ import annotations

from importlib import import_module

from minitorch.core.dtype import int32, int64
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
    return _kernels("handles").coo(size, F.detach(indices), F.detach(values), bool(is_coalesced))


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
    _kernels("invariants").check_compressed_layout("_sparse_compressed_tensor_unsafe", layout)
    return _kernels("handles").compressed(layout, size, F.detach(compressed_indices), F.detach(plain_indices), F.detach(values))


def _coo_of_tensors(indices, values, size, dtype, device, is_coalesced):
    values = values.to(device=device or values.device, dtype=dtype or values.dtype)
    return _kernels("construction").coo_checked(indices.to(device=values.device, dtype=int64), values, size, is_coalesced)


@composite_implicit("sparse_coo_tensor.indices")
def sparse_coo_tensor_indices(
    indices, values, *, dtype=None, layout=None, device=None, pin_memory=None, is_coalesced=None
):  # fmt: skip
    return _coo_of_tensors(indices, values, None, dtype, device, is_coalesced)


@composite_implicit("sparse_coo_tensor.indices_size")
def sparse_coo_tensor_indices_size(
    indices, values, size, *, dtype=None, layout=None, device=None, pin_memory=None, is_coalesced=None
):  # fmt: skip
    return _coo_of_tensors(indices, values, size, dtype, device, is_coalesced)


@composite_explicit("sparse_coo_tensor.size")
def sparse_coo_tensor_size(size, *, dtype=None, layout=None, device=None, pin_memory=False):
    return F._sparse_coo_tensor_with_dims(len(size), 0, size, dtype=dtype, layout=sparse_coo, device=device)


@composite_explicit("_validate_sparse_coo_tensor_args")
def validate_sparse_coo_tensor_args(indices, values, size, is_coalesced=None, check_pinning=None):
    invariants = _kernels("invariants")
    invariants.check_coo(indices, values, size, is_coalesced, invariants.EVERYTHING)


@composite_explicit("_validate_sparse_compressed_tensor_args")
def validate_sparse_compressed_tensor_args(compressed_indices, plain_indices, values, size, layout, check_pinning=None):
    invariants = _kernels("invariants")
    invariants.check_compressed_layout("_validate_sparse_compressed_tensor_args", layout)
    invariants.check_compressed(compressed_indices, plain_indices, values, size, layout, invariants.EVERYTHING)


def _compressed_of_tensors(compressed, plain, values, size, layout, dtype, device):
    _kernels("invariants").check_compressed_layout("sparse_compressed_tensor", layout)
    values = values.to(device=device or values.device, dtype=dtype or values.dtype)
    compressed, plain = compressed.to(values.device), plain.to(values.device)
    return _kernels("construction").compressed_checked(compressed, plain, values, size, layout)


@composite_implicit("sparse_compressed_tensor.comp_plain_value_size")
def sparse_compressed_tensor_size(
    compressed_indices, plain_indices, values, size, *, dtype=None, layout=None, device=None, pin_memory=False
):  # fmt: skip
    return _compressed_of_tensors(compressed_indices, plain_indices, values, size, layout, dtype, device)


@composite_implicit("sparse_compressed_tensor.comp_plain_value")
def sparse_compressed_tensor(
    compressed_indices, plain_indices, values, *, dtype=None, layout=None, device=None, pin_memory=False
):  # fmt: skip
    return _compressed_of_tensors(compressed_indices, plain_indices, values, None, layout, dtype, device)


def _register_constructors(own, sized, inferred, unsafe, validate):
    """Register the constructors of one compressed layout, which are those of all of them with a layout."""

    def with_size(
        compressed_indices, plain_indices, values, size, *, dtype=None, layout=None, device=None, pin_memory=False
    ):  # fmt: skip
        return _compressed_of_tensors(compressed_indices, plain_indices, values, size, own, dtype, device)

    def without_size(compressed_indices, plain_indices, values, *, dtype=None, layout=None, device=None, pin_memory=False):
        return _compressed_of_tensors(compressed_indices, plain_indices, values, None, own, dtype, device)

    def unchecked(
        compressed_indices, plain_indices, values, size, *, dtype=None, layout=None, device=None, pin_memory=None
    ):  # fmt: skip
        return F._sparse_compressed_tensor_unsafe(
            compressed_indices, plain_indices, values, size, dtype=dtype, layout=own, device=device
        )

    def checked(compressed_indices, plain_indices, values, size, check_pinning=None):
        return F._validate_sparse_compressed_tensor_args(compressed_indices, plain_indices, values, size, own)

    composite_implicit(sized)(with_size)
    composite_implicit(inferred)(without_size)
    composite_implicit(unsafe)(unchecked)
    composite_implicit(validate)(checked)


_register_constructors(
    sparse_csr, "sparse_csr_tensor.crow_col_value_size", "sparse_csr_tensor.crow_col_value", "_sparse_csr_tensor_unsafe",
    "_validate_sparse_csr_tensor_args",
)  # fmt: skip
_register_constructors(
    sparse_csc, "sparse_csc_tensor.ccol_row_value_size", "sparse_csc_tensor.ccol_row_value", "_sparse_csc_tensor_unsafe",
    "_validate_sparse_csc_tensor_args",
)  # fmt: skip
_register_constructors(
    sparse_bsr, "sparse_bsr_tensor.crow_col_value_size", "sparse_bsr_tensor.crow_col_value", "_sparse_bsr_tensor_unsafe",
    "_validate_sparse_bsr_tensor_args",
)  # fmt: skip
_register_constructors(
    sparse_bsc, "sparse_bsc_tensor.ccol_row_value_size", "sparse_bsc_tensor.ccol_row_value", "_sparse_bsc_tensor_unsafe",
    "_validate_sparse_bsc_tensor_args",
)  # fmt: skip


@composite_implicit("to_sparse.sparse_dim")
def to_sparse_sparse_dim(self, sparse_dim):
    check(
        0 <= sparse_dim <= self.ndim,
        f"to_sparse(): sparse_dim argument must be in [0, {self.ndim}], the number of dimensions, but {sparse_dim} is given",
    )
    check(sparse_dim > 0 or self.ndim == 0, "to_sparse(): sparse_dim argument must be > 0 for a tensor that has dimensions")
    if self.layout is sparse_coo and F.sparse_dim(self) == sparse_dim:
        return self
    return F._to_sparse(self, sparse_dim)


@composite_implicit("to_sparse")
def to_sparse(self, *, layout=None, blocksize=None, dense_dim=None):
    if layout is strided and self.layout is strided:
        return self
    if (sparse_coo if layout is None else layout) is self.layout:
        if blocksize is None or tuple(blocksize) == self.handle.blocksize:
            _kernels("convert").check_conversion(self, self.layout, blocksize, dense_dim)
            return self
    return F._to_sparse(self, layout=layout, blocksize=blocksize, dense_dim=dense_dim)


def _same(self, layout, blocksize, dense_dim):
    """Return whether a tensor has a compressed layout already, after a look at the other arguments."""
    if self.layout is not layout or (blocksize is not None and tuple(blocksize) != self.handle.blocksize):
        return False
    _kernels("convert").check_conversion(self, layout, blocksize, dense_dim)
    return True


@composite_implicit("to_sparse_csr")
def to_sparse_csr(self, dense_dim=None):
    return self if _same(self, sparse_csr, None, dense_dim) else F._to_sparse_csr(self, dense_dim)


@composite_implicit("to_sparse_csc")
def to_sparse_csc(self, dense_dim=None):
    return self if _same(self, sparse_csc, None, dense_dim) else F._to_sparse_csc(self, dense_dim)


@composite_implicit("to_sparse_bsr")
def to_sparse_bsr(self, blocksize, dense_dim=None):
    return self if _same(self, sparse_bsr, blocksize, dense_dim) else F._to_sparse_bsr(self, blocksize, dense_dim)


@composite_implicit("to_sparse_bsc")
def to_sparse_bsc(self, blocksize, dense_dim=None):
    return self if _same(self, sparse_bsc, blocksize, dense_dim) else F._to_sparse_bsc(self, blocksize, dense_dim)


@composite_explicit("_to_sparse.sparse_dim")
def dense_to_sparse_dim(self, sparse_dim):
    return _kernels("convert").dense_to_coo(self, sparse_dim)


@composite_explicit("_to_sparse")
def dense_to_sparse(self, *, layout=None, blocksize=None, dense_dim=None):
    return _kernels("convert").to_layout(self, layout, blocksize, dense_dim)


@composite_explicit("_to_sparse_csr")
def dense_to_sparse_csr(self, dense_dim=None):
    return _kernels("convert").to_layout(self, sparse_csr, None, dense_dim)


@composite_explicit("_to_sparse_csc")
def dense_to_sparse_csc(self, dense_dim=None):
    return _kernels("convert").to_layout(self, sparse_csc, None, dense_dim)


@composite_explicit("_to_sparse_bsr")
def dense_to_sparse_bsr(self, blocksize, dense_dim=None):
    return _kernels("convert").to_layout(self, sparse_bsr, blocksize, dense_dim)


@composite_explicit("_to_sparse_bsc")
def dense_to_sparse_bsc(self, blocksize, dense_dim=None):
    return _kernels("convert").to_layout(self, sparse_bsc, blocksize, dense_dim)


@composite_implicit("to_dense")
def to_dense(self, dtype=None, *, masked_grad=None):
    if self.layout is strided:
        return self if dtype is None else self.to(dtype)
    return F._to_dense(self, dtype, masked_grad)


@composite_explicit("sparse_dim")
def sparse_dim_of_dense(self):
    return 0


@composite_explicit("dense_dim")
def dense_dim_of_dense(self):
    return self.ndim


def _refuse_part(name, wanted):
    @composite_explicit(name)
    def refuse(self):
        raise RuntimeError(f"{name}(): expected a tensor of layout {wanted}, but its layout is {self.layout}; convert it first")


for _name, _wanted in (
    ("is_coalesced", "sparse_coo (to_sparse())"), ("indices", "sparse_coo (to_sparse())"), ("values", "that is sparse"),
    ("crow_indices", "sparse_csr or sparse_bsr (to_sparse_csr())"),
    ("col_indices", "sparse_csr or sparse_bsr (to_sparse_csr())"),
    ("ccol_indices", "sparse_csc or sparse_bsc (to_sparse_csc())"),
    ("row_indices", "sparse_csc or sparse_bsc (to_sparse_csc())"),
):  # fmt: skip
    _refuse_part(_name, _wanted)


@composite_explicit("_convert_indices_from_coo_to_csr")
def convert_indices_from_coo_to_csr(self, size, *, out_int32=False):
    check(self.ndim == 1, f"_convert_indices_from_coo_to_csr(): indices must be 1-dimensional, but have shape {list(self.shape)}")
    offsets = _kernels("convert").offsets_of(self, size)
    return offsets.to(int32) if out_int32 else offsets


@composite_explicit("_convert_indices_from_csr_to_coo")
def convert_indices_from_csr_to_coo(crow_indices, col_indices, *, out_int32=False, transpose=False):
    convert = _kernels("convert")
    batches, nnz = tuple(col_indices.shape[:-1]), col_indices.shape[-1]
    check(
        tuple(crow_indices.shape[:-1]) == batches,
        f"_convert_indices_from_csr_to_coo(): batches differ: {list(crow_indices.shape)} and {list(col_indices.shape)}",
    )
    rows, count = crow_indices.shape[-1] - 1, convert.product(batches)
    offsets = F.reshape(crow_indices, [count, rows + 1])
    counts = F.reshape(F.sub(F.slice(offsets, 1, 1), F.slice(offsets, 1, 0, -1)), [count * rows])
    numbers = F.arange(count * rows, dtype=int64, device=counts.device)
    flat = F.repeat_interleave(numbers, counts, output_size=count * nnz)
    row, column = F.remainder(flat, max(rows, 1)), F.reshape(col_indices, [count * nnz])
    places = [column, row] if transpose else [row, column]
    if batches:
        places = [*F.unbind(convert.coordinates(F.floor_divide(flat, max(rows, 1)), batches)), *places]
    return F.stack([t.to(int32 if out_int32 else int64) for t in places])


@composite_implicit("coalesce")
def coalesce(self):
    check(self.layout is sparse_coo, f"coalesce(): expected a tensor of layout sparse_coo, but its layout is {self.layout}")
    return self if F.is_coalesced(self) else F._coalesce(self)


@composite_implicit("to_dense_backward")
def to_dense_backward(grad, input, masked_grad=None):
    if input.layout is strided:
        return F.to_dense(grad)
    if masked_grad is None or masked_grad:  # what is not specified has no gradient
        return F.sparse_mask(grad, F.coalesce(input) if input.layout is sparse_coo else input)
    if input.layout is sparse_coo:
        return F.to_sparse(grad, F.sparse_dim(input))
    blocksize = None
    if input.layout in (sparse_bsr, sparse_bsc):
        values, dense_dim = F.values(input), F.dense_dim(input)
        blocksize = list(values.shape[values.ndim - dense_dim - 2 : values.ndim - dense_dim])
    return F.to_sparse(grad, layout=input.layout, blocksize=blocksize, dense_dim=F.dense_dim(input))
