"""Softmax of sparse tensors: of the entries alone, as if all others were minus infinity."""

from __future__ import annotations

from math import inf, prod
from typing import Any

from minitorch.ops import functions as F
from minitorch.ops.shapes.common import check, normalize_dim
from minitorch.sparse.convert import linear_positions
from minitorch.sparse.handles import is_coo, is_sparse, same_pattern
from minitorch.sparse.matrices import matrix_of, values_at
from minitorch.sparse.refusal import Unsupported
from minitorch.sparse.registration import sparse_kernel
from minitorch.tensor.wrapper import has_values

# So many rows for each entry, most of them without any, are less work than counting those that have some.
_SPARE = 2


class _Dense:
    """The entries along a dense dimension: each value is its own row."""

    def __init__(self, dim: int):
        self.dim = dim

    def maximum(self, values: Any) -> Any:
        return F.amax(values, [self.dim], True)

    def sum(self, values: Any) -> Any:
        return F.sum(values, [self.dim], True)


class _Grouped:
    """The entries of one row each, along a sparse dimension."""

    def __init__(self, group: Any, count: int):
        self.group = group
        self.count = count

    def maximum(self, values: Any) -> Any:
        lowest = F.new_full(values, [self.count, *values.shape[1:]], -inf)
        return F.index_select(F.index_reduce(lowest, 0, self.group, values, "amax"), 0, self.group)

    def sum(self, values: Any) -> Any:
        zeros = F.new_zeros(values, [self.count, *values.shape[1:]])
        return F.index_select(F.index_add(zeros, 0, self.group, values), 0, self.group)


def rows_along(self: Any, dim: int, name: str) -> tuple[Any, Any]:
    """Return how entries are summed along a dimension, and the values as it takes them."""
    handle = self.handle
    values = handle.values
    if is_coo(self):
        dim = normalize_dim(dim, self.ndim, name)
        if dim >= handle.sparse_dim:
            return _Dense(dim - handle.sparse_dim + 1), values
        kept = [d for d in range(handle.sparse_dim) if d != dim]
        if not kept:
            return _Grouped(F.new_zeros(handle.indices, [handle.nnz]), 1), values
        indices = F.stack([F.select(handle.indices, 0, d) for d in kept])
        sizes = [handle.shape[d] for d in kept]
        positions, count = linear_positions(indices, sizes), prod(sizes)
        if count <= _SPARE * handle.nnz or not has_values(positions):
            return _Grouped(positions, count), values
        found, group, _ = F._unique2(positions, True, True)
        return _Grouped(group, found.shape[0]), values
    dim = normalize_dim(dim, self.ndim, name)
    if handle.dense_dim or dim < handle.batch_dim:
        raise Unsupported(f"{name}() along a batch dimension, or with dense dimensions; to_sparse() first")
    matrix = matrix_of(self, name)
    by_rows = dim == self.ndim - 1
    return _Grouped(matrix.entries()[0 if by_rows else 1].long(), matrix.shape[0 if by_rows else 1]), F.flatten(values)


def _with_values(self: Any, values: Any) -> Any:
    return same_pattern(self, F.reshape(values, list(self.handle.values.shape)))


def _softmax(self, dim, half_to_float, name):
    check(is_sparse(self), f"{name}(): expected a sparse tensor, but its layout is {self.layout}")
    check(
        self.is_floating_point(),
        f"{name}(): not implemented for {self.dtype.scalar_name}; pass dtype=",
        NotImplementedError,
    )
    check(not half_to_float, f"{name}(): half to float conversion is not supported")
    if is_coo(self):
        self = F.coalesce(self)
    rows, values = rows_along(self, dim, name)
    if not values.numel():
        return _with_values(self, F.clone(values))
    shifted = F.sub(values, rows.maximum(values))
    powers = F.exp(shifted)
    if name == "log_softmax":
        return _with_values(self, F.sub(shifted, F.log(rows.sum(powers))))
    return _with_values(self, F.div(powers, rows.sum(powers)))


@sparse_kernel("_sparse_softmax")
def sparse_softmax(self, dim, half_to_float):
    return _softmax(self, dim, half_to_float, "softmax")


@sparse_kernel("_sparse_log_softmax")
def sparse_log_softmax(self, dim, half_to_float):
    return _softmax(self, dim, half_to_float, "log_softmax")


@sparse_kernel("_softmax", "_log_softmax")
def refused(self, dim, half_to_float):
    raise Unsupported(
        "a softmax in which zeros take part is dense; minitorch.sparse.softmax() and log_softmax() are of the entries alone"
    )


def _backward(grad_output, output, dim, name):
    rows, values = rows_along(output, dim, name)
    grad = F.reshape(values_at(grad_output, output), list(values.shape))
    if not values.numel():
        return _with_values(output, grad)
    if name == "log_softmax":
        return _with_values(output, F.sub(grad, F.mul(F.exp(values), rows.sum(grad))))
    return _with_values(output, F.mul(values, F.sub(grad, rows.sum(F.mul(values, grad)))))


@sparse_kernel("_sparse_softmax_backward_data")
def sparse_softmax_backward(grad_output, output, dim, self):
    return _backward(grad_output, output, dim, "softmax")


@sparse_kernel("_sparse_log_softmax_backward_data")
def sparse_log_softmax_backward(grad_output, output, dim, self):
    return _backward(grad_output, output, dim, "log_softmax")
