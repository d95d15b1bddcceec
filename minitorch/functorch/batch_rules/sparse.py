"""Batch rules of making sparse tensors, of taking them apart, and of what asks for their places.

Note [Mapped dimensions of sparse tensors]
    Coordinate tensors that share their places have the mapped dimension first among the dense ones; those with places of
    their own have it first among the sparse ones.  Compressed tensors have it first among the batch dimensions: all have
    equally many values.
"""

from __future__ import annotations

from typing import Any

from minitorch.core.layout import sparse_coo, strided
from minitorch.functorch.layout import batched, move, to_front
from minitorch.functorch.rules import Rule, batch_rule, structure
from minitorch.ops import functions as F
from minitorch.ops.assemble import operator_named


@batch_rule("_sparse_coo_tensor_with_dims_and_tensors")
def coo_rule(
    info: Any, in_dims: tuple, sparse_dim: int, dense_dim: int, size: Any, indices: Any, values: Any, **kwargs: Any
) -> tuple[Any, Any]:
    index_dim, value_dim = in_dims[3], in_dims[4]
    make = operator_named("_sparse_coo_tensor_with_dims_and_tensors")
    count = info.batch_size
    if index_dim is None:
        shape = [*size[:sparse_dim], count, *size[sparse_dim:]]
        return make.call((sparse_dim, dense_dim + 1, shape, indices, move(values, value_dim, 1)), kwargs or None), sparse_dim
    indices, values = to_front(indices, index_dim), batched(values, value_dim, count)
    nnz = indices.shape[2]
    example = F.repeat_interleave(F.arange(count, dtype=indices.dtype, device=indices.device), nnz)
    flat = F.reshape(F.transpose(indices, 0, 1), [sparse_dim, count * nnz])
    places = F.cat([F.unsqueeze(example, 0), flat])
    values = F.reshape(values, [count * nnz, *values.shape[2:]])
    return make.call((sparse_dim + 1, dense_dim, [count, *size], places, values), kwargs or None), 0


@batch_rule("_sparse_compressed_tensor_unsafe")
def compressed_rule(
    info: Any, in_dims: tuple, compressed: Any, plain: Any, values: Any, size: Any, **kwargs: Any
) -> tuple[Any, Any]:
    make = operator_named("_sparse_compressed_tensor_unsafe")
    parts = [batched(t, d, info.batch_size) for t, d in zip((compressed, plain, values), in_dims, strict=False)]
    return make.call((*[F.contiguous(t) for t in parts], [info.batch_size, *size]), kwargs or None), 0


def _same_place(op: Any) -> Rule:
    """Return the rule of an operator whose result has the dimensions of its first argument."""

    def rule(info: Any, in_dims: tuple, self: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        return op.call((self, *args), kwargs or None), in_dims[0]

    return rule


structure(_same_place, "_to_dense", "_coalesce")


def _dims(self: Any) -> tuple[int, int]:
    """Return how many batch (of coordinates: sparse) dimensions there are, and where the dense ones begin."""
    dense = self.ndim - F.dense_dim(self)
    return (dense, dense) if self.layout is sparse_coo else (dense - 2, dense)


def _differs(op: Any) -> RuntimeError:
    return RuntimeError(
        f"vmap: {op.basename}(): the examples have places of their own, and perhaps not equally many. Use to_dense() or "
        "operators of whole tensors."
    )


def _of_values(op: Any) -> Rule:
    """Return the rule of an operator that returns the values."""

    def rule(info: Any, in_dims: tuple, self: Any) -> tuple[Any, Any]:
        (dim,) = in_dims
        first, dense = _dims(self)
        result = op.call((self,), None)
        if dim >= dense:
            return result, result.ndim - (self.ndim - dim)
        if self.layout is sparse_coo:
            raise _differs(op)
        return result, dim

    return rule


def _of_places(op: Any) -> Rule:
    """Return the rule of an operator that returns indices: examples that differ in their values alone share them."""

    def rule(info: Any, in_dims: tuple, self: Any) -> tuple[Any, Any]:
        (dim,) = in_dims
        first, dense = _dims(self)
        if dim >= dense:
            return op.call((self,), None), None
        if self.layout is sparse_coo:
            raise _differs(op)
        return op.call((self,), None), dim

    return rule


structure(_of_values, "values", "_values")
structure(_of_places, "indices", "_indices", "crow_indices", "col_indices", "ccol_indices", "row_indices")


def _number(op: Any, counts: str) -> Rule:
    """Return the rule of an operator that counts dimensions; those of an example."""

    def rule(info: Any, in_dims: tuple, self: Any) -> tuple[Any, Any]:
        (dim,) = in_dims
        number = op.call((self,), None)
        if self.layout is strided:
            return (number - 1 if counts == "dense" else number), None
        is_dense = dim >= _dims(self)[1]
        mapped = is_dense if counts == "dense" else self.layout is sparse_coo and not is_dense
        return number - mapped, None

    return rule


structure(_number, "sparse_dim", counts="sparse")
structure(_number, "dense_dim", counts="dense")


@batch_rule("is_coalesced")
def is_coalesced_rule(info: Any, in_dims: tuple, self: Any) -> tuple[Any, Any]:
    return F.is_coalesced(self), None


@batch_rule("sparse_mask")
def sparse_mask_rule(info: Any, in_dims: tuple, self: Any, mask: Any) -> tuple[Any, Any]:
    self_dim, mask_dim = in_dims
    op = operator_named("sparse_mask")
    if mask_dim is not None:  # the mask says where the mapped dimension is
        if self.layout is strided:
            self = move(batched(self, self_dim, info.batch_size), 0, mask_dim)
        elif self_dim != mask_dim:
            raise _differs(op)
        return op.call((self, mask), None), mask_dim
    # One mask for all: the mapped dimension is one of each value.
    pattern = _widened(mask, info.batch_size)
    at = _dims(pattern)[1]
    if self.layout is not strided and self_dim != at:
        raise _differs(op)
    return op.call((move(self, self_dim, at) if self.layout is strided else self, pattern), None), at


def _widened(mask: Any, count: int) -> Any:
    """Return a mask with one more dense dimension of `count`, its first one."""
    values = F._values(mask) if mask.layout is sparse_coo else F.values(mask)
    at = values.ndim - F.dense_dim(mask)
    values = F.expand(F.unsqueeze(values, at), [*values.shape[:at], count, *values.shape[at:]])
    first = _dims(mask)[1]
    shape = [*mask.shape[:first], count, *mask.shape[first:]]
    if mask.layout is sparse_coo:
        return F._sparse_coo_tensor_unsafe(F._indices(mask), values, shape, is_coalesced=F.is_coalesced(mask))
    by_rows = mask.layout.name in ("sparse_csr", "sparse_bsr")
    parts = (F.crow_indices, F.col_indices) if by_rows else (F.ccol_indices, F.row_indices)
    return F._sparse_compressed_tensor_unsafe(*[part(mask) for part in parts], values, shape, layout=mask.layout)
