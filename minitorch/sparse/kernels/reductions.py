"""Reductions of sparse tensors over any dimensions; elements that are not stored are zeros, and take part.

Note [Reduced patterns]
    Of layout ``sparse_coo``, the result has an entry for each place that one was reduced to; where all sparse dimensions
    are reduced it is dense.  Of a compressed layout, rows or columns remain only with ``keepdim``, as a matrix in the layout
    of elements of the same direction; a reduction over everything is a dense number.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod
from typing import Any

from minitorch.core.dtype import bool_, int64, uint8
from minitorch.errors import NeedsElementsError
from minitorch.ops import functions as F
from minitorch.ops.shapes.common import check, normalize_dims
from minitorch.ops.shapes.registry import SHAPES
from minitorch.sparse.convert import coordinates, linear_positions
from minitorch.sparse.handles import coo, is_coo
from minitorch.sparse.matrices import matrix_of, tensor_of_matrix
from minitorch.sparse.refusal import Unsupported
from minitorch.sparse.registration import CSR, sparse_kernel
from minitorch.tensor.wrapper import has_values


class Reduction:
    """How values are combined.

    Attributes
    ----------
    name : str
        ``"sum"``, ``"prod"``, ``"amax"`` or ``"amin"``.
    before, after : callable
        Maps of values, and of results given how many elements each was reduced from.
    identity : int, optional
        The extremum of nothing, where there is one.
    """

    def __init__(self, name: str, before: Callable | None = None, after: Callable | None = None, identity: int | None = None):
        self.name = name
        self.identity = identity
        self.before = before or (lambda values: values)
        self.after = after or (lambda result, count: result)

    def dense(self, values: Any, dims: list[int]) -> Any:
        """Reduce dimensions of a dense tensor."""
        if not dims:
            return values
        if self.name == "sum":
            return F.sum(values, dims, dtype=values.dtype)
        if self.name == "prod":
            for d in sorted(dims, reverse=True):
                values = F.prod(values, d, dtype=values.dtype)
            return values
        return F.amax(values, dims) if self.name == "amax" else F.amin(values, dims)

    def grouped(self, values: Any, group: Any, count: int) -> Any:
        """Reduce the first dimension to `count` groups, of which none is empty."""
        shape = [count, *values.shape[1:]]
        if self.name == "sum":
            return F.index_add(F.new_zeros(values, shape), 0, group, values)
        start = F.new_ones(values, shape)
        return F.index_reduce(start, 0, group, values, self.name, include_self=self.name == "prod")

    def with_zeros(self, result: Any, has_zeros: Any) -> Any:
        """Return the result, where it says so of more elements, that are zero."""
        if self.name == "sum":
            return result
        zero = F.new_zeros(result, [])
        if self.name != "prod":
            zero = F.maximum(result, zero) if self.name == "amax" else F.minimum(result, zero)
        if isinstance(has_zeros, bool):
            return F.expand(zero, result.shape) if has_zeros else result
        has_zeros = F.reshape(has_zeros, [-1] + [1] * (result.ndim - 1))
        return F.where(has_zeros, zero, result)


def _number_of(shape: Any, dims: Any) -> int:
    return prod(shape[d] for d in dims)


def reduced(self: Any, name: str, dims: tuple[int, ...], keepdim: bool, how: Reduction) -> Any:
    """Return a sparse tensor reduced over dimensions (Note [Reduced patterns])."""
    if len(dims) == self.ndim and not (keepdim and self.ndim):
        return _reduced_whole(self, how)
    if is_coo(self):
        return _reduced_coo(F.coalesce(self), dims, keepdim, how)
    handle = self.handle
    check(
        keepdim,
        f"{name}(): reduction operations on {str(self.layout).removeprefix('torch.')} tensors with keepdim=False is "
        "unsupported: a matrix remains only with keepdim=True; to_sparse() makes a tensor of layout sparse_coo, of which any "
        "dimensions can be reduced",
    )
    if handle.batch_dim or handle.dense_dim:
        raise Unsupported(f"{name}() over some dimensions of a batch or of dense dimensions; to_sparse() first")
    matrix = matrix_of(self, name)
    rows, columns = matrix.entries()
    entries = coo(matrix.shape, F.stack([rows.long(), columns.long()]), matrix.values)
    result = _reduced_coo(F.coalesce(entries), dims, True, how, True)
    result.handle.coalesced = True
    return tensor_of_matrix(matrix_of(result, name), self.layout, index_dtype=handle.plain.dtype)


def _reduced_whole(self: Any, how: Reduction) -> Any:
    if is_coo(self):
        self = F.coalesce(self)
    values = F.flatten(how.before(self.handle.values))
    count = values.shape[0]
    result = how.dense(values, [0]) if count else F.new_zeros(values, [])
    total = self.numel()
    if count == 0 == total:  # nothing at all: the reduction's identity, or the error of a dense tensor
        result = how.dense(values, [0])
    return how.after(how.with_zeros(result, count < total), total)


def _reduced_coo(self: Any, dims: tuple, keepdim: bool, how: Reduction, stay_sparse: bool = False) -> Any:
    handle = self.handle
    shape, sparse_dim = handle.shape, handle.sparse_dim
    total = _number_of(shape, dims)
    if not total:
        return _reduced_nothing(self, dims, keepdim, how, stay_sparse)
    inner = [d - sparse_dim + 1 for d in dims if d >= sparse_dim]
    values = how.dense(how.before(handle.values), inner)
    outer = [d for d in dims if d < sparse_dim]
    kept = [d for d in range(sparse_dim) if d not in dims]
    indices, coalesced = handle.indices, True
    if outer:
        indices = _rows(indices, kept)
        sizes = [shape[d] for d in kept]
        places = _number_of(shape, outer)
        if kept:
            if not has_values(indices):
                raise NeedsElementsError(how.name, "how many entries the result of a sparse tensor has")
            found, group, counts = F._unique2(linear_positions(indices, sizes), True, True, True)
            values = how.with_zeros(how.grouped(values, group, found.shape[0]), F.lt(counts, places))
            indices = coordinates(found, sizes)
        else:
            whole = how.dense(values, [0]) if values.shape[0] else F.new_zeros(values, values.shape[1:])
            values = F.unsqueeze(how.with_zeros(whole, handle.nnz < places), 0)
            indices = F.new_zeros(indices, [0, 1])
    values = how.after(values, total)
    result_shape = [1 if d in dims else n for d, n in enumerate(shape) if keepdim or d not in dims]
    if keepdim:
        values = F.reshape(values, [values.shape[0], *[1 if d in dims else shape[d] for d in range(sparse_dim, len(shape))]])
    if not kept and sparse_dim and not stay_sparse:
        return F.reshape(values, result_shape)
    if keepdim and outer:
        zeros = F.new_zeros(indices, [indices.shape[1]])
        rows = iter(F.unbind(indices)) if kept else iter(())
        indices = F.stack([zeros if d in dims else next(rows) for d in range(sparse_dim)])
        coalesced = False
    return coo(tuple(result_shape), indices, values, coalesced)


def _reduced_nothing(self: Any, dims: tuple, keepdim: bool, how: Reduction, stay_sparse: bool) -> Any:
    """Reduce a dimension of size 0: all places have the reduction's identity, so nothing about the result is sparse."""
    shape, sparse_dim = self.handle.shape, self.handle.sparse_dim
    result_shape = [1 if d in dims else n for d, n in enumerate(shape) if keepdim or d not in dims]
    nothing = how.before(F.new_zeros(self.handle.values, shape))
    found = how.dense(nothing, list(dims)) if how.identity is None else F.new_full(nothing, result_shape, how.identity)
    dense = F.reshape(how.after(found, 0), result_shape)
    kept = sparse_dim if keepdim else sum(d not in dims for d in range(sparse_dim))
    if not stay_sparse and all(d in dims for d in range(sparse_dim)):
        return dense
    return F._to_sparse(dense, kept)


def _rows(indices: Any, kept: list[int]) -> Any:
    return F.stack([F.select(indices, 0, d) for d in kept]) if kept else F.slice(indices, 0, 0, 0)


def _checked(operator: str, self: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the shape and dtype that the dense operator's result has; it raises for wrong arguments."""
    return SHAPES[operator](self.handle, *args, **kwargs)


def _dims(self: Any, dim: Any, name: str) -> tuple[int, ...]:
    return tuple(sorted(normalize_dims(dim, self.ndim, name)))


# ---------------------------------------------------------------- sums, means, products


def _result_dtype(self: Any, dtype: Any) -> Any:
    if dtype is not None:
        return dtype
    return self.dtype if self.dtype.is_floating_point or self.dtype.is_complex else int64


def _sum(self, dim, keepdim, dtype, name="sum", after=None):
    wanted = _result_dtype(self, dtype)
    how = Reduction("sum", lambda values: values.to(wanted), after)
    return reduced(self, name, _dims(self, dim, name), keepdim, how)


@sparse_kernel("sum", "_sparse_sum")
def sum_all(self, *, dtype=None):
    return _sum(self, None, False, dtype)


@sparse_kernel("_sparse_sum.dtype")
def sparse_sum_dtype(self, *, dtype):
    return _sum(self, None, False, dtype)


@sparse_kernel("sum.dim_IntList")
def sum_dim(self, dim, keepdim=False, *, dtype=None):
    _checked("sum.dim_IntList", self, dim, keepdim, dtype=dtype)
    return _sum(self, dim, keepdim, dtype)


@sparse_kernel("_sparse_sum.dim")
def sparse_sum_dim(self, dim):
    return sparse_sum_dim_dtype(self, dim, dtype=None)


@sparse_kernel("_sparse_sum.dim_dtype")
def sparse_sum_dim_dtype(self, dim, *, dtype):
    if not dim:  # other than in sum(), these are no dimensions
        return F.clone(self)
    return _sum(self, dim, False, dtype, "sparse.sum")


@sparse_kernel("_sparse_csr_sum.dim_dtype", layouts=(CSR,))
def csr_sum(self, dim, keepdim=False, *, dtype=None):
    return _sum(self, dim, keepdim, dtype)


def _divided(result, count):
    return F.div(result, count) if count else F.full_like(result, float("nan"))


@sparse_kernel("mean")
def mean_all(self, *, dtype=None):
    return mean_dim(self, None, False, dtype=dtype)


@sparse_kernel("mean.dim")
def mean_dim(self, dim, keepdim=False, *, dtype=None):
    _checked("mean.dim", self, dim, keepdim, dtype=dtype)
    return _sum(self, dim, keepdim, dtype, "mean", _divided)


def _prod(self, dims, keepdim, dtype):
    wanted = _result_dtype(self, dtype)
    return reduced(self, "prod", dims, keepdim, Reduction("prod", lambda values: values.to(wanted)))


@sparse_kernel("prod")
def prod_all(self, *, dtype=None):
    return _prod(self, _dims(self, None, "prod"), False, dtype)


@sparse_kernel("prod.dim_int")
def prod_dim(self, dim, keepdim=False, *, dtype=None):
    _checked("prod.dim_int", self, dim, keepdim, dtype=dtype)
    return _prod(self, _dims(self, [dim], "prod"), keepdim, dtype)


@sparse_kernel("_sparse_csr_prod.dim_dtype", layouts=(CSR,))
def csr_prod(self, dim, keepdim=False, *, dtype=None):
    return _prod(self, _dims(self, dim, "prod"), keepdim, dtype)


# ---------------------------------------------------------------- extrema, truth


def _extremum(name):
    def kernel(self, dim=(), keepdim=False):
        _checked(name, self, dim, keepdim)
        if self.dtype is bool_:
            return _truth(self, "any" if name == "amax" else "all", _dims(self, dim, name), keepdim)
        return reduced(self, name, _dims(self, dim, name), keepdim, Reduction(name))

    kernel.__name__ = f"{name}_kernel"
    return kernel


for _name in ("amax", "amin"):
    sparse_kernel(_name)(_extremum(_name))


def _truth(self, name, dims, keepdim):
    result = uint8 if self.dtype is uint8 and name in ("any", "all") else bool_
    how = Reduction(
        "amax" if name == "any" else "amin", lambda values: F.ne(values, 0).to(uint8), lambda found, count: found.to(result),
        int(name == "all"),
    )
    if self.numel() == 0 and len(dims) == self.ndim:
        return F.full([], name == "all", dtype=result, device=self.device)
    return reduced(self, name, dims, keepdim, how)


def _register_truth(name):
    @sparse_kernel(name)
    def whole(self):
        return _truth(self, name, _dims(self, None, name), False)

    @sparse_kernel(f"{name}.dim")
    def along(self, dim, keepdim=False):
        _checked(f"{name}.dim", self, dim, keepdim)
        return _truth(self, name, _dims(self, [dim], name), keepdim)

    @sparse_kernel(f"{name}.dims")
    def along_several(self, dim=None, keepdim=False):
        _checked(f"{name}.dims", self, dim, keepdim)
        return _truth(self, name, _dims(self, dim, name), keepdim)


_register_truth("any")
_register_truth("all")


# ---------------------------------------------------------------- norms


def _norm_of(ord: Any, dtype: Any) -> Reduction:
    def absolute(values):
        return F.abs(values if dtype is None else values.to(dtype))

    if ord == inf or ord == -inf:
        return Reduction("amax" if ord > 0 else "amin", absolute)
    if ord == 0:
        return Reduction("sum", lambda values: F.ne(values, 0).to(absolute(values).dtype))
    if ord == 1:
        return Reduction("sum", absolute)
    return Reduction(
        "sum", lambda values: F.pow(absolute(values), ord), lambda result, count: F.pow(result, 1.0 / ord)
    )


@sparse_kernel("linalg_vector_norm")
def vector_norm(self, ord=2, dim=None, keepdim=False, *, dtype=None):
    _checked("linalg_vector_norm", self, ord, dim, keepdim, dtype=dtype)
    if ord < 0 and ord != -inf:
        raise Unsupported(f"a norm of negative order {ord}, to which each zero is infinity")
    return reduced(self, "norm", _dims(self, dim, "norm"), keepdim, _norm_of(ord, dtype))
