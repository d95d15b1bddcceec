"""Sums, products, quotients and powers of sparse tensors, dense ones and numbers.

Note [Sparse arithmetic]
    A product has entries where its sparse operands have them, a sum where one of them has; a sum with a dense tensor
    is dense.  Dense operands are broadcast, and a sparse one where a dense operand of a product has more dimensions.
    Of two sparse layouts the result is in that of the first.
"""

from __future__ import annotations

from minitorch.core.dtype import bool_
from minitorch.core.promotion import promote_types
from minitorch.ops import functions as F
from minitorch.ops.assemble import operator_named
from minitorch.ops.derived import check_cast
from minitorch.ops.shapes.common import broadcast_shapes, check
from minitorch.sparse import convert
from minitorch.sparse.convert import product
from minitorch.sparse.handles import compressed, coo, is_compressed, is_coo, is_sparse, same_pattern
from minitorch.sparse.pattern import (
    alike,
    in_layout_of,
    is_same_pattern,
    matches,
    to_coo,
    union,
    values_at,
    with_zeros,
)
from minitorch.sparse.refusal import Unsupported
from minitorch.sparse.registration import COO, CSR, sparse_kernel


def is_number(value) -> bool:
    """Return whether an operand is a number, or a dense tensor of no dimension, which is none less."""
    return not is_sparse(value) and (not hasattr(value, "shape") or not value.ndim)


# ---------------------------------------------------------------- sums


def _add_sparse(self, other, alpha, name):
    """Return ``self + alpha * other`` of two sparse tensors, in the layout of the first."""
    if is_same_pattern(self, other) and (is_compressed(self) or self.handle.coalesced):
        return same_pattern(self, F.add(self.handle.values, other.handle.values, alpha=alpha))
    first, second = alike(name, to_coo(self), to_coo(other))
    if first.handle.coalesced and second.handle.coalesced:
        indices, (a, b) = union([first, second])
        return in_layout_of(coo(first.shape, indices, F.add(a, b, alpha=alpha), True), self)
    # Not added up yet: the values of both, one after the other.
    a, b = first.handle, second.handle
    values = F.cat(_promoted(a.values, b.values if alpha == 1 else F.mul(b.values, alpha)))
    result = coo(a.shape, F.cat([a.indices, b.indices], 1), values, values.shape[0] < 2)
    return in_layout_of(result, self)


def _promoted(*values):
    dtype = values[0].dtype
    for v in values[1:]:
        dtype = promote_types(dtype, v.dtype)
    return [F.to(v, dtype) for v in values]


def _add_to_dense(dense, other, alpha):
    """Return ``dense + alpha * other`` of a dense and a sparse tensor: dense."""
    shape = broadcast_shapes(tuple(dense.shape), tuple(other.shape))
    sparse = with_zeros(to_coo(other))
    if tuple(sparse.shape) != shape:
        # Smaller than the dense result.
        return F.add(dense, F.to_dense(sparse), alpha=alpha)
    handle = sparse.handle
    values = handle.values if alpha == 1 else F.mul(handle.values, alpha)
    dense, values = _promoted(dense, values)
    total = F.clone(F.expand(dense, list(shape))) if tuple(dense.shape) == shape else F.contiguous(F.expand(dense, list(shape)))
    sizes = shape[: handle.sparse_dim]
    flat = F.reshape(total, [product(sizes), *shape[handle.sparse_dim :]])
    positions = convert.linear_positions(handle.indices, sizes)
    if flat.dtype is bool_:
        flat = F.index_put(flat, [positions], values, True)
    else:
        flat = F.index_add(flat, 0, positions, values)
    return F.reshape(flat, list(shape))


@sparse_kernel("add.Tensor")
def add(self, other, *, alpha=1):
    if is_sparse(self) and is_sparse(other):
        return _add_sparse(self, other, alpha, "add")
    if is_sparse(self):
        if is_number(other) or is_coo(self):
            raise Unsupported(
                "add(sparse, dense) is not supported, because the result is dense; use add(dense, sparse)"
                if not is_number(other) else "the sum of a sparse tensor and a number is dense"
            )  # fmt: skip
        if alpha != 1:
            other = F.mul(other, alpha)
        return _add_to_dense(other, self, 1)
    if is_number(self):
        raise Unsupported("the sum of a number and a sparse tensor is dense")
    return _add_to_dense(self, other, alpha)


@sparse_kernel("add_.Tensor")
def add_(self, other, *, alpha=1):
    """Add in place; to a dense tensor only where there are entries, so the step of an optimizer is as small as its gradient."""
    if not is_sparse(self) and tuple(self.shape) == tuple(other.shape) and self.is_contiguous():
        handle = with_zeros(to_coo(other)).handle
        values = handle.values if alpha == 1 else F.mul(handle.values, alpha)
        if values.dtype is self.dtype and self.dtype is not bool_:
            sizes = handle.shape[: handle.sparse_dim]
            flat = F.view(self, [product(sizes), *handle.shape[handle.sparse_dim :]])
            F.index_add_(flat, 0, convert.linear_positions(handle.indices, sizes), values)
            return self
    total = F.add(self, other, alpha=alpha)
    check(
        tuple(total.shape) == tuple(self.shape),
        f"add_: output with shape {list(self.shape)} doesn't match the broadcast shape {list(total.shape)}",
    )
    check_cast(operator_named("add_.Tensor"), total, self)
    if is_coo(total) and total.handle.nnz > total.numel():
        total = convert.coalesced(total)  # what is added to again and again must not grow on
    return F.copy_(self, total)


@sparse_kernel("sub_.Tensor")
def sub_(self, other, *, alpha=1):
    _check_no_bool(self, other)
    return add_(self, other, alpha=-alpha)


@sparse_kernel("sub.Tensor")
def sub(self, other, *, alpha=1):
    _check_no_bool(self, other)
    if is_sparse(self) and not is_sparse(other):
        raise Unsupported("the difference of a sparse and a dense operand is dense; use sub(to_dense(), other)")
    return add(self, other, alpha=-alpha)


def _check_no_bool(self, other):
    if any(getattr(x, "dtype", None) is bool_ for x in (self, other)):
        raise RuntimeError(
            "sub(): subtraction, the `-` operator, with a bool tensor is not supported; use the `^` or logical_xor() operator "
            "instead"
        )


@sparse_kernel("rsub.Tensor")
def rsub(self, other, *, alpha=1):
    return sub(other, self, alpha=alpha)


# ---------------------------------------------------------------- products


def _grown(sparse, shape):
    """Return a sparse tensor broadcast to a shape of more, or longer, dimensions."""
    return sparse if tuple(sparse.shape) == tuple(shape) else F._sparse_broadcast_to(sparse, list(shape))


def _mul_dense(sparse, dense, reverse):
    """Return the product of a sparse and a dense tensor: sparse, where the first one is."""
    if is_number(dense):
        values = sparse.handle.values
    else:
        shape = broadcast_shapes(tuple(sparse.shape), tuple(dense.shape))
        sparse = _grown(sparse, shape)
        values = sparse.handle.values
        dense = values_at(sparse, F.expand(dense, list(shape)))
    return same_pattern(sparse, F.mul(dense, values) if reverse else F.mul(values, dense))


@sparse_kernel("mul.Tensor")
def mul(self, other):
    if not is_sparse(other):
        return _mul_dense(self, other, False)
    if not is_sparse(self):
        return _mul_dense(other, self, True)
    if not other.ndim or not self.ndim:  # a sparse tensor of one element
        sparse, number = (self, other) if self.ndim or not other.ndim else (other, self)
        return same_pattern(sparse, F.mul(sparse.handle.values, F.to_dense(number)))
    if is_same_pattern(self, other) and (is_compressed(self) or self.handle.coalesced):
        return same_pattern(self, F.mul(self.handle.values, other.handle.values))
    return _mul_sparse(self, other)


def _mul_sparse(self, other):
    first, second = alike("mul", to_coo(self), to_coo(other))
    # The one that is not coalesced is gone through: each of its values times the one value there.
    if not second.handle.coalesced and first.handle.coalesced:
        probe, table, swapped = second, first, True
    else:
        probe, table, swapped = first, with_zeros(second), False
    hits, places = matches(probe.handle, table.handle)
    a = F.index_select(probe.handle.values, 0, hits)
    b = F.index_select(table.handle.values, 0, places)
    values = F.mul(b, a) if swapped else F.mul(a, b)
    is_sorted = probe.handle.coalesced or values.shape[0] < 2
    return in_layout_of(coo(first.shape, F.index_select(probe.handle.indices, 1, hits), values, is_sorted), self)


@sparse_kernel("mul_.Tensor")
def mul_(self, other):
    """Multiply in place; a dense tensor stays dense."""
    result = F.mul(self, other)
    check(
        tuple(result.shape) == tuple(self.shape),
        f"mul_: output with shape {list(self.shape)} doesn't match the broadcast shape {list(result.shape)}",
    )
    check_cast(operator_named("mul_.Tensor"), result, self)
    return F.copy_(self, result if is_sparse(self) else F.to_dense(result))


# ---------------------------------------------------------------- quotients and powers


def _divided(name, self, other, op, adds_first):
    if not is_sparse(self) or not is_number(other):
        raise Unsupported(
            f"{name}() of a sparse tensor takes a number or a dense tensor of no dimension as the divisor, for zero over zero is "
            "no zero; multiply by the reciprocal of a dense divisor, or divide the values()"
        )
    tensor = with_zeros(self) if adds_first else self
    return same_pattern(tensor, op(tensor.handle.values))


@sparse_kernel("div.Tensor")
def div(self, other):
    return _divided("div", self, other, lambda values: F.div(values, other), False)


@sparse_kernel("div.Tensor_mode")
def div_mode(self, other, *, rounding_mode):
    op = lambda values: F.div(values, other, rounding_mode=rounding_mode)  # noqa: E731
    return _divided("div", self, other, op, rounding_mode is not None)


@sparse_kernel("floor_divide")
def floor_divide(self, other):
    return _divided("floor_divide", self, other, lambda values: F.floor_divide(values, other), True)


@sparse_kernel("remainder.Tensor")
def remainder(self, other):
    return _divided("remainder", self, other, lambda values: F.remainder(values, other), True)


@sparse_kernel("fmod.Tensor")
def fmod(self, other):
    return _divided("fmod", self, other, lambda values: F.fmod(values, other), True)


# ---------------------------------------------------------------- shape of another


@sparse_kernel("_sparse_broadcast_to", layouts=(COO,))
def sparse_broadcast_to(self, size):
    """Return the tensor repeated along dimensions of size 1 and new leading ones; not coalesced, as in PyTorch."""
    handle = self.handle
    size = [self.shape[i - (len(size) - self.ndim)] if n == -1 else n for i, n in enumerate(size)]
    lead = len(size) - self.ndim
    if lead < 0 or any(n not in (1, size[lead + d]) for d, n in enumerate(self.shape)):
        raise RuntimeError(f"expand(): a sparse tensor of shape {tuple(self.shape)} cannot be expanded to {tuple(size)}")
    sparse_dim = handle.sparse_dim
    dense = size[lead + sparse_dim :]
    values = F.contiguous(F.expand(handle.values, [handle.nnz, *dense]))
    repeated = list(range(lead)) + [lead + d for d in range(sparse_dim) if self.shape[d] != size[lead + d]]
    count = 1
    for d in repeated:
        count *= size[d]
    if not repeated:
        return coo(size, handle.indices, values, handle.coalesced)
    nnz = handle.nnz
    spread = convert.coordinates(F.arange(count, device=values.device), [size[d] for d in repeated])
    rows = []
    for d in range(lead + sparse_dim):
        if d in repeated:
            rows.append(F.repeat_interleave(F.select(spread, 0, repeated.index(d)), nnz))
        else:
            rows.append(F.repeat(F.select(handle.indices, 0, d - lead), [count]))
    values = F.repeat(values, [count] + [1] * (values.ndim - 1))
    # In order if all copies come before what is copied.
    in_order = handle.coalesced and repeated == list(range(len(repeated)))
    return coo(size, F.stack(rows), values, in_order or values.shape[0] < 2)


@sparse_kernel("_sparse_broadcast_to", layouts=(CSR,))
def compressed_broadcast_to(self, size):
    """Return the tensor as a batch, or repeated along its rows or columns."""
    handle = self.handle
    lead = len(size) - self.ndim + handle.batch_dim
    size = [self.shape[i - (len(size) - self.ndim)] if n == -1 else n for i, n in enumerate(size)]
    if lead and list(size[lead:]) == list(self.shape[handle.batch_dim :]):
        parts = [F.contiguous(F.expand(c, [*size[:lead], *c.shape[handle.batch_dim :]])) for c in handle.components()]
        return compressed(handle.declared_layout, size, *parts)
    return in_layout_of(F._sparse_broadcast_to(to_coo(self), size), self)


@sparse_kernel("expand")
def expand(self, size, *, implicit=False):
    return F._sparse_broadcast_to(self, list(size))
