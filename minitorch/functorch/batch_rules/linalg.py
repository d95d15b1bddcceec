"""Batch rules of products.

Note [Folded products]
    Where only one operand of a product of matrices is batched, its examples are more rows (or columns) of one
    matrix: one product of two matrices does for all.  Where both are, it is a product of batches (bmm).
"""

from __future__ import annotations

from math import prod
from typing import Any

from minitorch.core.layout import strided
from minitorch.functorch.layout import batched, padded, rank, sizes, to_front
from minitorch.functorch.leading import aligned, merged, one_example, regrouped, with_batch_at
from minitorch.functorch.rules import batch_rule
from minitorch.ops import functions as F
from minitorch.ops.assemble import operator_named

_mm = operator_named("mm")
_mv = operator_named("mv")
_dot = operator_named("dot")
_vdot = operator_named("vdot")
_bmm = operator_named("bmm")
_baddbmm = operator_named("baddbmm")
_addmm = operator_named("addmm")
_addmv = operator_named("addmv")
_addbmm = operator_named("addbmm")
_addr = operator_named("addr")
_linear = operator_named("linear")
_cross = operator_named("linalg_cross")


def _check_product(op: Any, in_dims: tuple, args: tuple, *ranks: int) -> None:
    """Raise what `op` raises for one example, if its operands have other ranks or sizes than a product of them."""
    shapes = [sizes(a, d) for a, d in zip(args, in_dims, strict=True)]
    a, b = shapes
    fits = (len(a), len(b)) == ranks and a[-1] == (b[-2] if ranks[1] > 1 else b[-1])
    if not fits or args[0].dtype != args[1].dtype or (ranks[0] == 3 and a[0] != b[0]):
        one_example(op, in_dims, args)


@batch_rule("mm")
def mm_rule(info: Any, in_dims: tuple, a: Any, b: Any) -> tuple[Any, Any]:
    _check_product(_mm, in_dims, (a, b), 2, 2)
    a_dim, b_dim = in_dims
    if b_dim is None and a.layout is strided:  # Note [Folded products]
        at = 1 if a_dim == 1 else 0
        rows = a if at else to_front(a, a_dim)
        return regrouped(_mm.call((merged(rows, 0), b), None), 0, rows.shape[0], rows.shape[1]), at
    if a_dim is None and b_dim == 0 and a.layout is not strided and b.layout is strided:
        b, b_dim = F.transpose(b, 0, 1), 1  # one sparse matrix, which is not repeated
    if a_dim is None and b_dim != 0 and b.layout is strided:
        return regrouped(_mm.call((a, merged(b, 1)), None), 1, b.shape[1], b.shape[2]), b_dim
    return _bmm.call((batched(a, a_dim, info.batch_size), batched(b, b_dim, info.batch_size)), None), 0


@batch_rule("mv")
def mv_rule(info: Any, in_dims: tuple, matrix: Any, vector: Any) -> tuple[Any, Any]:
    _check_product(_mv, in_dims, (matrix, vector), 2, 1)
    matrix_dim, vector_dim = in_dims
    if vector_dim is None and matrix.layout is strided:
        at = 1 if matrix_dim == 1 else 0
        rows = matrix if at else to_front(matrix, matrix_dim)
        return regrouped(_mv.call((merged(rows, 0), vector), None), 0, rows.shape[0], rows.shape[1]), at
    if matrix_dim is None:
        columns = vector if vector_dim == 1 else F.t(vector)
        return _mm.call((matrix, columns), None), 1
    vectors = F.unsqueeze(batched(vector, vector_dim, info.batch_size), 2)
    return F.squeeze(_bmm.call((to_front(matrix, matrix_dim), vectors), None), 2), 0


@batch_rule("dot")
def dot_rule(info: Any, in_dims: tuple, a: Any, b: Any) -> tuple[Any, Any]:
    _check_product(_dot, in_dims, (a, b), 1, 1)
    a_dim, b_dim = in_dims
    if b_dim is None:
        return _mv.call((to_front(a, a_dim), b), None), 0
    if a_dim is None:
        return _mv.call((to_front(b, b_dim), a), None), 0
    rows, columns = F.unsqueeze(to_front(a, a_dim), 1), F.unsqueeze(to_front(b, b_dim), 2)
    return F.reshape(_bmm.call((rows, columns), None), [info.batch_size]), 0


@batch_rule("vdot")
def vdot_rule(info: Any, in_dims: tuple, a: Any, b: Any) -> tuple[Any, Any]:
    _check_product(_vdot, in_dims, (a, b), 1, 1)
    return dot_rule(info, in_dims, F.conj_physical(a) if a.dtype.is_complex else a, b)


@batch_rule("bmm")
def bmm_rule(info: Any, in_dims: tuple, a: Any, b: Any) -> tuple[Any, Any]:
    _check_product(_bmm, in_dims, (a, b), 3, 3)
    a_dim, b_dim = in_dims
    if b_dim is None:  # Note [Folded products]
        rows = with_batch_at(a, a_dim, info.batch_size, 1)
        return regrouped(_bmm.call((merged(rows, 1), b), None), 1, rows.shape[1], rows.shape[2]), 1
    if a_dim is None:
        columns = b if b_dim == 3 else with_batch_at(b, b_dim, info.batch_size, 2)
        product = _bmm.call((a, merged(columns, 2)), None)
        return regrouped(product, 2, columns.shape[2], columns.shape[3]), 3 if b_dim == 3 else 2
    left, right = to_front(a, a_dim), to_front(b, b_dim)
    product = _bmm.call((merged(left, 0), merged(right, 0)), None)
    return regrouped(product, 0, left.shape[0], left.shape[1]), 0


# ---------------------------------------------------------------- products that are added to something


def _added(info: Any, self: Any, dim: int | None, left: Any, right: Any, factors: dict) -> Any:
    """Return beta * self + alpha * left @ right for batches of matrices; `self` broadcasts to the results."""
    return _baddbmm.call((aligned(self, dim, 2), left, right), factors)


@batch_rule("addmm")
def addmm_rule(info: Any, in_dims: tuple, self: Any, a: Any, b: Any, **factors: Any) -> tuple[Any, Any]:
    one_example(_addmm, in_dims, (self, a, b), factors)
    self_dim, a_dim, b_dim = in_dims
    if self_dim is None and b_dim is None and (self.ndim < 2 or self.shape[0] == 1):
        rows = to_front(a, a_dim)
        product = _addmm.call((self, merged(rows, 0), b), factors)
        return regrouped(product, 0, rows.shape[0], rows.shape[1]), 0
    left, right = batched(a, a_dim, info.batch_size), batched(b, b_dim, info.batch_size)
    return _added(info, self, self_dim, left, right, factors), 0


@batch_rule("addmv")
def addmv_rule(info: Any, in_dims: tuple, self: Any, matrix: Any, vector: Any, **factors: Any) -> tuple[Any, Any]:
    one_example(_addmv, in_dims, (self, matrix, vector), factors)
    self_dim, matrix_dim, vector_dim = in_dims
    left = batched(matrix, matrix_dim, info.batch_size)
    right = F.unsqueeze(batched(vector, vector_dim, info.batch_size), 2)
    summand = F.unsqueeze(aligned(self, self_dim, 1), 2)
    return F.squeeze(_baddbmm.call((summand, left, right), factors), 2), 0


@batch_rule("addbmm")
def addbmm_rule(info: Any, in_dims: tuple, self: Any, a: Any, b: Any, **factors: Any) -> tuple[Any, Any]:
    """Sum the products of a batch: a product of the matrices side by side with those one below the other."""
    one_example(_addbmm, in_dims, (self, a, b), factors)
    self_dim, a_dim, b_dim = in_dims
    left, right = batched(a, a_dim, info.batch_size), batched(b, b_dim, info.batch_size)
    left, right = merged(F.transpose(left, 1, 2), 2), merged(right, 1)
    return _added(info, self, self_dim, left, right, factors), 0


@batch_rule("baddbmm")
def baddbmm_rule(info: Any, in_dims: tuple, self: Any, a: Any, b: Any, **factors: Any) -> tuple[Any, Any]:
    example = one_example(_baddbmm, in_dims, (self, a, b), factors)
    self_dim, a_dim, b_dim = in_dims
    count = info.batch_size
    summand = F.expand(aligned(self, self_dim, 3), [count, *example.shape])
    operands = [merged(x, 0) for x in (summand, batched(a, a_dim, count), batched(b, b_dim, count))]
    return regrouped(_baddbmm.call(tuple(operands), factors), 0, count, example.shape[0]), 0


@batch_rule("addr")
def addr_rule(
    info: Any, in_dims: tuple, self: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1
) -> tuple[Any, Any]:
    dtype = one_example(_addr, in_dims, (self, a, b), {"beta": beta, "alpha": alpha}).dtype
    self, left, right = (
        padded(F.to(x, dtype), d, r) for x, d, r in zip((self, a, b), in_dims, (2, 1, 1), strict=True)
    )
    result = F.unsqueeze(left, -1) * F.unsqueeze(right, -2)
    if alpha != 1:
        result = result * alpha
    if beta != 0:  # what is multiplied by zero is not looked at, be it nan
        result = result + (self if beta == 1 else self * beta)
    elif in_dims[0] is not None and result.ndim == 2:
        result = F.expand(result, [info.batch_size, *result.shape])
    return F.to(result, dtype), 0


# ---------------------------------------------------------------- linear maps


@batch_rule("linear")
def linear_rule(info: Any, in_dims: tuple, x: Any, weight: Any, bias: Any = None) -> tuple[Any, Any]:
    x_dim, weight_dim, bias_dim = (*in_dims, None)[:3]
    shape, weight_shape = sizes(x, x_dim), sizes(weight, weight_dim)
    bias_shape = weight_shape[:1] if bias is None else sizes(bias, bias_dim)
    if (
        len(weight_shape) != 2 or not shape or shape[-1] != weight_shape[1] or bias_shape != weight_shape[:1]
        or x.dtype != weight.dtype or (bias is not None and bias.dtype != x.dtype)
    ):  # fmt: skip
        one_example(_linear, (x_dim, weight_dim, bias_dim), (x, weight, bias))
        if bias is not None:  # one number for all outputs
            bias = F.expand(F.reshape(bias, [] if bias_dim is None else [info.batch_size, 1]),
                            weight_shape[:1] if bias_dim is None else [info.batch_size, weight_shape[0]])  # fmt: skip
            bias_dim = None if bias_dim is None else 0
    if weight_dim is None:
        if bias_dim is None:
            return _linear.call((to_front(x, x_dim), weight, bias), None), 0
        product = _linear.call((to_front(x, x_dim), weight, None), None)
        if x_dim is None:
            product = F.unsqueeze(product, 0)
        return product + padded(bias, bias_dim, len(shape)), 0
    if x_dim is None and weight.layout is strided:
        # More outputs of one map.
        weights = merged(to_front(weight, weight_dim), 0)
        biases = None if bias is None else merged(batched(bias, bias_dim, info.batch_size), 0)
        result = _linear.call((x, weights, biases), None)
        return regrouped(result, len(shape) - 1, info.batch_size, weight_shape[0]), len(shape) - 1
    columns = F.transpose(to_front(weight, weight_dim), 1, 2)
    rows = F.reshape(batched(x, x_dim, info.batch_size), [info.batch_size, prod(shape[:-1]), shape[-1]])
    if bias is None:
        result = _bmm.call((rows, columns), None)
    else:
        summand = F.unsqueeze(aligned(bias, bias_dim, 1), 1)
        result = _baddbmm.call((summand, rows, columns), None)
    return F.reshape(result, [info.batch_size, *shape[:-1], weight_shape[0]]), 0



@batch_rule("linalg_cross")
def cross_rule(info: Any, in_dims: tuple, a: Any, b: Any, *, dim: int = -1) -> tuple[Any, Any]:
    one_example(_cross, in_dims, (a, b), {"dim": dim})
    found = rank(a, in_dims[0])
    return _cross.call((aligned(a, in_dims[0], found), aligned(b, in_dims[1], found)), {"dim": dim % found - found}), 0
