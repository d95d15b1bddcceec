"""Operators of one sparse tensor, element by element: they work on the values alone, where zero stays zero."""

from __future__ import annotations

from typing import Any

from minitorch.ops import functions as F
from minitorch.ops.assemble import operator_named
from minitorch.sparse.handles import is_coo, is_sparse, same_pattern
from minitorch.sparse.pattern import constructed, with_zeros
from minitorch.sparse.refusal import Unsupported
from minitorch.sparse.registration import sparse_kernel

# Linear in the values: those at one index need not be added first.
LINEAR = (
    "_conj_physical", "alias", "conj_physical", "div.Scalar", "mul.Scalar", "neg",
)  # fmt: skip
# Zero at zero, whatever their other arguments are.
ZERO_AT_ZERO = (
    "abs", "angle", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "elu", "erf", "erfinv", "expm1", "floor",
    "frac", "gelu", "hardshrink", "hardswish", "isinf", "isnan", "isneginf", "isposinf", "leaky_relu", "log1p", "mish",
    "nan_to_num", "rad2deg", "relu", "round", "round.decimals", "sgn", "sign", "signbit", "silu", "sin",
    "sinh", "softshrink", "special_i1", "special_i1e", "special_bessel_j1", "sqrt", "square", "tan", "tanh", "trunc",
)  # fmt: skip
# Zero at zero for some of their other arguments: tried out.
SOMETIMES = (
    "bitwise_and.Scalar", "bitwise_left_shift.Tensor_Scalar", "bitwise_or.Scalar", "bitwise_right_shift.Tensor_Scalar",
    "bitwise_xor.Scalar", "clamp", "clamp_max", "clamp_min", "copysign.Scalar", "div.Scalar_mode", "eq.Scalar",
    "float_power.Tensor_Scalar", "floor_divide.Scalar", "fmod.Scalar", "ge.Scalar", "gt.Scalar", "hardtanh",
    "le.Scalar", "lt.Scalar", "ne.Scalar", "remainder.Scalar", "threshold", "xlogy.Scalar_Other", "special_xlog1py.other_scalar",
)  # fmt: skip


def _on_values(name: str, adds_first: bool) -> Any:
    op = operator_named(name)

    def on_values_kernel(self, *args, **kwargs):
        tensor = with_zeros(self) if adds_first else self
        return same_pattern(tensor, op.call((tensor.handle.values, *args), kwargs or None))

    return on_values_kernel


def is_zero_at_zero(op: Any, dtype: Any, args: tuple, kwargs: dict) -> bool:
    """Return whether an operator makes zero of a zero of a dtype; found out on the CPU, whatever the device."""
    result = op.call((F.zeros([1], dtype=dtype, device="cpu"), *args), kwargs or None)
    return not bool(F.ne(result, 0))


def _where_zero_stays(name: str) -> Any:
    op = operator_named(name)

    def where_zero_stays_kernel(self, *args, **kwargs):
        values = self.handle.values
        if any(is_sparse(a) or hasattr(a, "handle") for a in args):
            raise Unsupported("an argument that is a tensor, not a number")
        if not is_zero_at_zero(op, values.dtype, args, kwargs):
            raise Unsupported("with these arguments zero does not stay zero, so the result would be dense")
        tensor = with_zeros(self)
        return same_pattern(tensor, op.call((tensor.handle.values, *args), kwargs or None))

    return where_zero_stays_kernel


for _name in LINEAR:
    sparse_kernel(_name)(_on_values(_name, False))
for _name in ZERO_AT_ZERO:
    sparse_kernel(_name)(_on_values(_name, True))
for _name in SOMETIMES:
    sparse_kernel(_name)(_where_zero_stays(_name))


@sparse_kernel("pow.Tensor_Scalar")
def pow_kernel(self, exponent):
    if exponent == 0:
        raise Unsupported("the zeroth power of zero is one, so the result would be dense")
    # As in PyTorch a negative power is that of the values: what is not there stays zero.
    tensor = with_zeros(self)
    return same_pattern(tensor, F.pow(tensor.handle.values, exponent))


@sparse_kernel("native_dropout")
def native_dropout(input, p, train):
    tensor = with_zeros(input)
    values, mask = F.native_dropout(tensor.handle.values, p, train)
    return same_pattern(tensor, values), same_pattern(tensor, mask)


@sparse_kernel("_conj")
def conj_kernel(self):
    # Components are never read conjugated: who reads their memory need not ask.
    return same_pattern(self, F.conj_physical(self.handle.values))


@sparse_kernel("_neg_view")
def neg_view_kernel(self):
    return same_pattern(self, F.neg(self.handle.values))


@sparse_kernel("view_as_real")
def view_as_real_kernel(self):
    """Return the tensor with a dense dimension more, real and imaginary part; not known to be coalesced, as in PyTorch."""
    tensor = same_pattern(self, F.view_as_real(self.handle.values))
    return constructed(tensor.shape, tensor.handle.indices, tensor.handle.values) if is_coo(tensor) else tensor


@sparse_kernel("view_as_complex")
def view_as_complex_kernel(self):
    tensor = same_pattern(self, F.view_as_complex(F.contiguous(self.handle.values)))
    return constructed(tensor.shape, tensor.handle.indices, tensor.handle.values) if is_coo(tensor) else tensor
