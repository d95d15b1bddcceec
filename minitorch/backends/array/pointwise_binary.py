"""Kernels of the pointwise operators of two and three operands that are no ufuncs."""

from __future__ import annotations

from minitorch.backends.array.common import constant, is_low_precision
from minitorch.backends.array.elementwise import (
    as_type,
    elementwise,
    order_of,
    out_of,
    pointwise,
    promoted,
    store,
)
from minitorch.backends.array.registry import array_kernel
from minitorch.ops.shapes.pointwise import RULES, check_alpha, is_bool

# ---------------------------------------------------------------- sums and differences


_NUMBERS = (float, int)


def _scaled_sum(xp, ufunc, self, other, alpha, rule):
    """Return ``ufunc(self, alpha * other)`` in the promoted type."""
    if _plain_pair(self, other) and type(alpha) in _NUMBERS:
        term = xp.multiply(other, constant(xp, alpha, other.dtype))
        return ufunc(self, term, term if term.flags.c_contiguous else None)
    dtype = promoted((self, other))
    check_alpha("add", dtype, alpha)
    compute, result = rule.types(dtype)
    a = as_type(xp, self, compute)
    b = xp.multiply(as_type(xp, other, compute), as_type(xp, alpha, compute))
    whole = b.ndim and b.shape == a.shape and b.flags.c_contiguous
    out = ufunc(a, b, out=b if whole else None)
    return out if out.dtype == result else out.astype(result)


def _plain_pair(self, other) -> bool:
    """Return whether both are arrays of one shape and one type, float32 or float64."""
    if not hasattr(self, "dtype") or not hasattr(other, "dtype"):
        return False
    dtype = self.dtype
    return dtype.char in "fd" and other.dtype is dtype and self.ndim > 0 and self.shape == other.shape


@array_kernel("add.Tensor", "add.Scalar", ufunc=lambda xp: xp.add, fast="fiuc")
def add_kernel(xp, self, other, alpha=1):
    if alpha == 1 and type(alpha) is int:
        return elementwise(xp, _add, (self, other), RULES["add.Tensor"])
    return _scaled_sum(xp, xp.add, self, other, alpha, RULES["add.Tensor"])


@array_kernel("add_.Tensor")
def add_inplace_kernel(xp, self, other, alpha=1):
    """Add in place where that is simple; else return the sum."""
    if _plain_pair(self, other) and type(alpha) in _NUMBERS:
        return xp.add(self, xp.multiply(other, constant(xp, alpha, self.dtype)), self)
    return add_kernel(xp, self, other, alpha)


@array_kernel("sub_.Tensor")
def sub_inplace_kernel(xp, self, other, alpha=1):
    """Subtract in place where that is simple; else return the difference."""
    if _plain_pair(self, other) and type(alpha) in _NUMBERS:
        return xp.subtract(self, xp.multiply(other, constant(xp, alpha, self.dtype)), self)
    return sub_kernel(xp, self, other, alpha)


def _add(xp, a, b):
    return xp.add(a, b)


@array_kernel("sub.Tensor", "sub.Scalar", ufunc=lambda xp: xp.subtract, fast="fiuc")
def sub_kernel(xp, self, other, alpha=1):
    if is_bool(self) or is_bool(other):
        raise ValueError("bool")
    if alpha == 1 and type(alpha) is int:
        return elementwise(xp, _subtract, (self, other), RULES["sub.Tensor"])
    return _scaled_sum(xp, xp.subtract, self, other, alpha, RULES["sub.Tensor"])


def _subtract(xp, a, b):
    return xp.subtract(a, b)


@array_kernel("rsub.Tensor", "rsub.Scalar")
def rsub_kernel(xp, self, other, alpha=1):
    return sub_kernel(xp, other, self, alpha)


# ---------------------------------------------------------------- division


def _check_divisor(xp, divisor) -> None:
    """Raise if an integer divisor is zero."""
    if divisor.dtype.kind in "iu" and not xp.all(divisor):
        raise RuntimeError("ZeroDivisionError: an integer divisor is zero")


def _divide(xp, a, b):
    return xp.true_divide(a, b)


def _floor_divide(xp, a, b):
    _check_divisor(xp, b)
    return xp.floor_divide(a, b)


def _trunc_divide(xp, a, b):
    if a.dtype.kind == "f":
        ratio = xp.divide(a, b)
        return xp.trunc(ratio, out=out_of(ratio))
    _check_divisor(xp, b)
    quotient = xp.floor_divide(a, b)
    inexact = xp.multiply(quotient, b) != a
    return quotient + (inexact & ((a < 0) != (b < 0)))


@array_kernel("div.Tensor_mode", "div.Scalar_mode")
def div_mode_kernel(xp, self, other, *, rounding_mode):
    if rounding_mode is None:
        return elementwise(xp, _divide, (self, other), RULES["div.Tensor"])
    fn = {"floor": _floor_divide, "trunc": _trunc_divide}[rounding_mode]
    if fn is _trunc_divide and is_low_precision(promoted((self, other))):
        # The quotient is rounded to the narrow type, and only then towards zero.
        quotient = elementwise(xp, _divide, (self, other), RULES["div.Tensor"])
        return xp.trunc(quotient.astype(xp.float32)).astype(quotient.dtype)
    return elementwise(xp, fn, (self, other), RULES["div.Tensor_mode"])


pointwise(
    "floor_divide", "floor_divide.Scalar", ufunc=lambda xp: xp.floor_divide, fast="f"
)(_floor_divide)


@pointwise(
    "remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor",
    ufunc=lambda xp: xp.remainder, fast="f",
)
def remainder_kernel(xp, a, b):
    _check_divisor(xp, b)
    return xp.remainder(a, b)


@pointwise("fmod.Tensor", "fmod.Scalar", ufunc=lambda xp: xp.fmod, fast="f")
def fmod_kernel(xp, a, b):
    _check_divisor(xp, b)
    return xp.fmod(a, b)


# ---------------------------------------------------------------- powers


def _power(xp, base, exponent):
    if base.dtype.kind in "iu":
        return _integer_power(xp, base, exponent)
    return xp.power(base, exponent)


def _integer_power(xp, base, exponent):
    """Return an integer power; where the exponent is negative, the quotient rounded to zero."""
    if exponent.dtype.kind == "u" or not xp.any(exponent < 0):
        return xp.power(base, exponent)
    zero = exponent.dtype.type(0)
    result = xp.power(base, xp.maximum(exponent, zero))
    of_minus_one = xp.where(exponent % 2 == 0, 1, -1)
    inverse = xp.where(base == 1, 1, xp.where(base == -1, of_minus_one, 0))
    return xp.where(exponent < 0, inverse.astype(base.dtype), result)


pointwise("pow.Tensor_Tensor", ufunc=lambda xp: xp.power, fast="f")(_power)
pointwise("pow.Scalar")(_power)
pointwise("float_power.Tensor_Tensor", "float_power.Tensor_Scalar", "float_power.Scalar")(_power)


def power_of_number(xp, x, exponent):
    """Return a floating or complex array raised to a Python number, by products where exact."""
    if exponent == 2:
        return xp.multiply(x, x)
    if exponent == 3:
        square = xp.multiply(x, x)
        return xp.multiply(square, x, out=out_of(square))
    if exponent == 1:
        return x.copy(order=order_of(x))
    if exponent == 0:
        return xp.ones_like(x, order=order_of(x))
    if exponent == -1:
        return xp.reciprocal(x)
    if exponent == 0.5:
        return xp.sqrt(x)
    if exponent == -0.5:
        root = xp.sqrt(x)
        return xp.reciprocal(root, out=out_of(root))
    if exponent == -2:
        square = xp.multiply(x, x)
        return xp.reciprocal(square, out=out_of(square))
    return xp.power(x, exponent)


@array_kernel("pow.Tensor_Scalar")
def pow_scalar_kernel(xp, self, exponent):
    dtype = promoted((self, exponent))
    if dtype.kind in "fcV":
        compute, result = RULES["pow.Tensor_Scalar"].types(dtype)
        out = power_of_number(xp, as_type(xp, self, compute), exponent)
        return out if out.dtype == result else out.astype(result)
    base = as_type(xp, self, dtype)
    if dtype.kind == "b":
        return base | (not exponent)
    if exponent < 0:
        raise ValueError("negative power")
    return xp.power(base, dtype.type(exponent))


def _square(xp, x, two):
    return xp.multiply(x, x)


@array_kernel("square", ufunc=lambda xp: xp.square, fast="fiuc")
def square_kernel(xp, self):
    return elementwise(xp, _square, (self, 2), RULES["square"])


# ---------------------------------------------------------------- logarithms of two operands


@pointwise("xlogy.Tensor", "xlogy.Scalar_Other", "xlogy.Scalar_Self")
def xlogy_kernel(xp, x, y):
    result = xp.multiply(x, xp.log(y))
    return xp.where((x == 0) & ~xp.isnan(y), x.dtype.type(0), result)


@pointwise("logaddexp", ufunc=lambda xp: xp.logaddexp, fast="f")
def logaddexp_kernel(xp, a, b):
    if a.dtype.kind == "f":
        return xp.logaddexp(a, b)
    swap = a.real < b.real
    large = xp.where(swap, b, a)
    small = xp.where(swap, a, b)
    result = large + xp.log1p(xp.exp(small - large))
    # Equal infinite operands: their difference is NaN.
    same = (a == b) & xp.isinf(a.real)
    return xp.where(same, a, result)


# ---------------------------------------------------------------- other functions of two operands


@array_kernel("nextafter", ufunc=lambda xp: xp.nextafter, fast="f")
def nextafter_kernel(xp, self, other):
    """Take the neighbour in the operands' own type, never in a wider one."""
    _, dtype = RULES["nextafter"].types(promoted((self, other)))
    return xp.nextafter(as_type(xp, self, dtype), as_type(xp, other, dtype))


@array_kernel("heaviside")
def heaviside_kernel(xp, self, values):
    if self.dtype != values.dtype:
        raise ValueError("different types")
    return elementwise(xp, _heaviside, (self, values), RULES["heaviside"])


def _heaviside(xp, x, values):
    return xp.where(x == 0, values, (x > 0).astype(values.dtype))


def _bits(dtype) -> int:
    return 8 * dtype.itemsize


@pointwise(
    "bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar",
    "bitwise_left_shift.Scalar_Tensor",
)
def left_shift_kernel(xp, a, b):
    """Give 0 where the shift is negative or as long as the type."""
    valid = (b >= 0) & (b < _bits(a.dtype))
    return xp.where(valid, xp.left_shift(a, xp.where(valid, b, b.dtype.type(0))), a.dtype.type(0))


@pointwise(
    "bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar",
    "bitwise_right_shift.Scalar_Tensor",
)
def right_shift_kernel(xp, a, b):
    """Shift all bits out where the shift is negative or as long as the type."""
    most = b.dtype.type(_bits(a.dtype) - 1)
    valid = (b >= 0) & (b <= most)
    if a.dtype.kind == "i":
        return xp.right_shift(a, xp.where(valid, b, most))
    return xp.where(valid, xp.right_shift(a, xp.where(valid, b, most)), a.dtype.type(0))


# ---------------------------------------------------------------- three operands


def _lerp_number(xp, start, end, weight):
    """Interpolate from the nearer end, so that both ends come out exactly."""
    step = xp.subtract(end, start)
    if abs(weight) < 0.5:
        step = xp.multiply(step, weight, out=out_of(step))
        return xp.add(start, step, out=out_of(step) if step.flags.c_contiguous else None)
    step = xp.multiply(step, 1 - weight, out=out_of(step))
    return xp.subtract(end, step, out=out_of(step) if step.flags.c_contiguous else None)


def _lerp(xp, start, end, weight):
    step = end - start
    near = start + weight * step
    return xp.where(xp.absolute(weight) < 0.5, near, end - step * (1 - weight))


@array_kernel("lerp.Scalar")
def lerp_scalar_kernel(xp, self, end, weight):
    if self.dtype != end.dtype:
        raise ValueError("different types")
    return elementwise(
        xp, lambda xp, a, b: _lerp_number(xp, a, b, weight), (self, end), RULES["lerp.Scalar"]
    )


@array_kernel("lerp.Tensor")
def lerp_tensor_kernel(xp, self, end, weight):
    if self.dtype != end.dtype or (weight.ndim and weight.dtype != self.dtype):
        raise ValueError("different types")
    return elementwise(xp, _lerp, (self, end, weight), RULES["lerp.Tensor"])


@array_kernel("lerp_.Scalar")
def lerp_inplace_kernel(xp, self, end, weight):
    if not _plain_pair(self, end) or type(weight) not in _NUMBERS or not -0.5 < weight < 0.5:
        store(xp, "lerp_", self, lerp_scalar_kernel(xp, self, end, weight))
        return
    step = xp.subtract(end, self)
    xp.multiply(step, constant(xp, weight, self.dtype), step)
    xp.add(self, step, self)


def _add_scaled(xp, ufunc, self, tensor1, tensor2, value) -> None:
    """Add ``value * ufunc(tensor1, tensor2)`` to `self`."""
    term = ufunc(tensor1, tensor2)
    if value != 1:
        xp.multiply(term, constant(xp, value, self.dtype), term)
    xp.add(self, term, self)


def _sum_with(xp, self, term):
    whole = term.ndim and term.shape == self.shape and term.flags.c_contiguous
    return xp.add(self, term, out=term if whole else None)


def _scaled(xp, term, value):
    if value == 1:
        return term
    return xp.multiply(term, as_type(xp, value, term.dtype), out=out_of(term))


@array_kernel("addcmul")
def addcmul_kernel(xp, self, tensor1, tensor2, *, value=1):
    def addcmul(xp, x, a, b):
        return _sum_with(xp, x, _scaled(xp, xp.multiply(a, b), value))

    return elementwise(xp, addcmul, (self, tensor1, tensor2), RULES["addcmul"])


@array_kernel("addcmul_")
def addcmul_inplace_kernel(xp, self, tensor1, tensor2, *, value=1):
    if _plain_pair(self, tensor1) and _plain_pair(self, tensor2) and type(value) in _NUMBERS:
        _add_scaled(xp, xp.multiply, self, tensor1, tensor2, value)
    else:
        result = addcmul_kernel(xp, self, tensor1, tensor2, value=value)
        store(xp, "addcmul_", self, result)


@array_kernel("addcdiv")
def addcdiv_kernel(xp, self, tensor1, tensor2, *, value=1):
    if tensor1.dtype.kind in "biu" and tensor2.dtype.kind in "biu":
        raise ValueError("integers")

    def addcdiv(xp, x, a, b):
        return _sum_with(xp, x, _scaled(xp, xp.divide(a, b), value))

    return elementwise(xp, addcdiv, (self, tensor1, tensor2), RULES["addcdiv"])


@array_kernel("addcdiv_")
def addcdiv_inplace_kernel(xp, self, tensor1, tensor2, *, value=1):
    if _plain_pair(self, tensor1) and _plain_pair(self, tensor2) and type(value) in _NUMBERS:
        _add_scaled(xp, xp.divide, self, tensor1, tensor2, value)
    else:
        result = addcdiv_kernel(xp, self, tensor1, tensor2, value=value)
        store(xp, "addcdiv_", self, result)
