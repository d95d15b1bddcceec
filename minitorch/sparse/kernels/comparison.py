"""Operators of two sparse tensors that are zero where both are: on the union of their patterns."""

from __future__ import annotations

from typing import Any

from minitorch.ops import functions as F
from minitorch.ops.assemble import operator_named
from minitorch.sparse.handles import coo, is_sparse, same_pattern
from minitorch.sparse.kernels.arithmetic import is_number
from minitorch.sparse.pattern import alike, in_layout_of, is_same_pattern, to_coo, union, values_at, with_zeros
from minitorch.sparse.refusal import Unsupported
from minitorch.sparse.registration import sparse_kernel
from minitorch.tensor.wrapper import has_values

# Zero at two zeros.
OF_UNION = (
    "atan2", "bitwise_or.Tensor", "bitwise_xor.Tensor", "copysign.Tensor", "fmax", "fmin", "gt.Tensor", "hypot", "logical_or",
    "logical_xor", "lt.Tensor", "maximum", "minimum", "ne.Tensor", "nextafter",
)  # fmt: skip
# Zero also where one is, so that the other may be dense.
OF_INTERSECTION = ("bitwise_and.Tensor", "logical_and")
# Not zero at two zeros.
REFUSED = ("eq.Tensor", "ge.Tensor", "le.Tensor", "logical_not")


def aligned(name: str, *tensors: Any) -> tuple[Any, list]:
    """Return sparse tensors of one shape on the union of their patterns: the indices there, and the values of each."""
    return union(alike(name, *[with_zeros(to_coo(t)) for t in tensors]))


def _of_union(name: str) -> Any:
    op = operator_named(name)

    def union_kernel(self, other):
        if not (is_sparse(self) and is_sparse(other)):
            return _beside_dense(op, self, other)
        if is_same_pattern(self, other) and not (hasattr(self.handle, "coalesced") and not self.handle.coalesced):
            return same_pattern(self, op.call((self.handle.values, other.handle.values), None))
        indices, (a, b) = aligned(op.basename, self, other)
        return in_layout_of(coo(self.shape, indices, op.call((a, b), None), True), self)

    return union_kernel


def _beside_dense(op: Any, self: Any, other: Any) -> Any:
    """Run an operator of a sparse tensor and a number or a dense tensor, where zero stays zero."""
    sparse, dense = (self, other) if is_sparse(self) else (other, self)
    if is_number(dense) and is_sparse(self):
        number = dense.item() if hasattr(dense, "item") else dense
        zero = F.zeros([1], dtype=sparse.dtype, device="cpu")
        if not bool(F.ne(op.call((zero, F.scalar_tensor(number, device="cpu")), None), 0)):
            tensor = with_zeros(sparse)
            return same_pattern(tensor, op.call((tensor.handle.values, dense), None))
    raise Unsupported("beside a dense operand the result would be dense")


def _of_intersection(name: str) -> Any:
    op = operator_named(name)
    of_union = _of_union(name)

    def intersection_kernel(self, other):
        if is_sparse(self) and is_sparse(other):
            return of_union(self, other)
        sparse, dense = (self, other) if is_sparse(self) else (other, self)
        sparse = with_zeros(sparse)
        at = dense if is_number(dense) else values_at(sparse, F.expand(dense, list(sparse.shape)))
        pair = (sparse.handle.values, at) if is_sparse(self) else (at, sparse.handle.values)
        return same_pattern(sparse, op.call(pair, None))

    return intersection_kernel


for _name in OF_UNION:
    sparse_kernel(_name)(_of_union(_name))
for _name in OF_INTERSECTION:
    sparse_kernel(_name)(_of_intersection(_name))


@sparse_kernel("equal")
def equal(self, other):
    """Return whether two tensors have the same shape and elements; their patterns may differ."""
    if not (is_sparse(self) and is_sparse(other)):
        raise Unsupported("equal() compares sparse tensors with one another; compare to_dense() with a dense one")
    if tuple(self.shape) != tuple(other.shape):
        return False
    _, (a, b) = aligned("equal", self, other)
    return F.equal(a, b)


@sparse_kernel("allclose")
def allclose(self, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    if not (is_sparse(self) and is_sparse(other)):
        raise Unsupported("allclose() compares sparse tensors with one another; compare to_dense() with a dense one")
    _, (a, b) = aligned("allclose", self, other)
    return F.allclose(a, b, rtol, atol, equal_nan)


@sparse_kernel("where.self")
def where(condition, self, other):
    """Choose between two sparse tensors, or a sparse one and zero."""
    if not _may_choose(self) or not _may_choose(other):
        raise Unsupported("where() chooses between sparse tensors, or a sparse one and zero, else the result would be dense")
    sparse = [t for t in (self, other) if is_sparse(t)]
    if not sparse:
        return _where_condition(condition, self, other)
    given = [*sparse, condition] if is_sparse(condition) else sparse
    indices, values = aligned("where", *given)
    pattern = coo(sparse[0].shape, indices, values[0], True)
    taken = iter(values)
    a = next(taken) if is_sparse(self) else self
    b = next(taken) if is_sparse(other) else other
    if is_sparse(condition):
        chosen = next(taken)
    else:
        chosen = values_at(pattern, F.expand(condition, list(pattern.shape)))
    return in_layout_of(same_pattern(pattern, F.where(chosen, a, b)), sparse[0])


def _may_choose(value):
    if is_sparse(value):
        return True
    return is_number(value) and (not has_values(value) or not bool(F.ne(value, 0)))


def _where_condition(condition, self, other):
    tensor = with_zeros(condition)
    return same_pattern(tensor, F.where(tensor.handle.values, self, other))


@sparse_kernel("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(self, mask, value):
    """Fill with zero, or where a sparse mask of a sparse tensor says so."""
    if not is_sparse(self):
        raise Unsupported("masked_fill() of a dense tensor takes a dense mask")
    if is_sparse(mask):
        indices, (values, chosen) = aligned("masked_fill", self, mask)
        result = coo(self.shape, indices, F.masked_fill(values, chosen, value), True)
        return in_layout_of(result, self)
    number = value.item() if hasattr(value, "item") else value
    if number != 0:
        raise Unsupported("filling with what is not zero by a dense mask makes the result dense")
    tensor = with_zeros(self)
    chosen = values_at(tensor, F.expand(mask, list(tensor.shape)))
    return same_pattern(tensor, F.masked_fill(tensor.handle.values, chosen, value))


def _refused(name: str) -> Any:
    def refused_kernel(*args, **kwargs):
        raise Unsupported("it is not zero where its operands are, so the result would be dense")

    return refused_kernel


for _name in REFUSED:
    sparse_kernel(_name)(_refused(_name))


@sparse_kernel("threshold_backward")
def threshold_backward(grad_output, self, threshold):
    if not (is_sparse(grad_output) and is_sparse(self)):
        raise Unsupported("a dense operand")
    if is_same_pattern(grad_output, self):
        return same_pattern(self, F.threshold_backward(grad_output.handle.values, self.handle.values, threshold))
    indices, (grad, at) = aligned("threshold_backward", grad_output, self)
    return in_layout_of(coo(self.shape, indices, F.threshold_backward(grad, at, threshold), True), self)
