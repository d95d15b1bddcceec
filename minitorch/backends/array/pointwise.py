"""Kernels of the pointwise operators: rows of ufuncs, and functions where NumPy lacks one."""

from __future__ import annotations

import math

from minitorch.backends.array.activation import in_blocks
from minitorch.backends.array.common import is_low_precision
from minitorch.backends.array.elementwise import (
    as_type,
    elementwise,
    order_of,
    out_of,
    pointwise,
    promoted,
    ufunc_rows,
)
from minitorch.backends.array.registry import array_kernel
from minitorch.ops.shapes.pointwise import RULES, is_bool

# ---------------------------------------------------------------- ufuncs as they stand

ufunc_rows(
    (lambda xp: xp.exp, "fc", "exp"),
    (lambda xp: xp.exp2, "fc", "exp2"),
    (lambda xp: xp.expm1, "fc", "expm1"),
    (lambda xp: xp.log, "fc", "log"),
    (lambda xp: xp.log2, "fc", "log2"),
    (lambda xp: xp.log10, "fc", "log10"),
    (lambda xp: xp.log1p, "fc", "log1p"),
    (lambda xp: xp.sqrt, "fc", "sqrt"),
    (lambda xp: xp.reciprocal, "fc", "reciprocal"),
    (lambda xp: xp.sin, "fc", "sin"),
    (lambda xp: xp.cos, "fc", "cos"),
    (lambda xp: xp.tan, "fc", "tan"),
    (lambda xp: xp.arcsin, "fc", "asin"),
    (lambda xp: xp.arccos, "fc", "acos"),
    (lambda xp: xp.arctan, "fc", "atan"),
    (lambda xp: xp.sinh, "fc", "sinh"),
    (lambda xp: xp.cosh, "fc", "cosh"),
    (lambda xp: xp.tanh, "fc", "tanh"),
    (lambda xp: xp.arcsinh, "fc", "asinh"),
    (lambda xp: xp.arccosh, "fc", "acosh"),
    (lambda xp: xp.arctanh, "fc", "atanh"),
    (lambda xp: xp.deg2rad, "f", "deg2rad"),
    (lambda xp: xp.rad2deg, "f", "rad2deg"),
    (lambda xp: xp.negative, "fiuc", "neg"),
    (lambda xp: xp.absolute, "fiu", "abs"),
    (lambda xp: xp.invert, "iub", "bitwise_not"),
    (lambda xp: xp.signbit, "f", "signbit"),
    (lambda xp: xp.isnan, "fiucb", "isnan"),
    (lambda xp: xp.isinf, "fiucb", "isinf"),
    (lambda xp: xp.isfinite, "fiucb", "isfinite"),
    (lambda xp: xp.logical_not, "fiucb", "logical_not"),
    # two operands
    (lambda xp: xp.multiply, "fiucb", "mul.Tensor", "mul.Scalar"),
    (lambda xp: xp.true_divide, "fc", "div.Tensor", "div.Scalar"),
    (lambda xp: xp.arctan2, "f", "atan2"),
    (lambda xp: xp.hypot, "f", "hypot"),
    (lambda xp: xp.logaddexp2, "f", "logaddexp2"),
    (lambda xp: xp.copysign, "f", "copysign.Tensor", "copysign.Scalar"),
    (lambda xp: xp.maximum, "fiub", "maximum"),
    (lambda xp: xp.minimum, "fiub", "minimum"),
    (lambda xp: xp.fmax, "fiub", "fmax"),
    (lambda xp: xp.fmin, "fiub", "fmin"),
    (lambda xp: xp.gcd, "iu", "gcd"),
    (lambda xp: xp.lcm, "iu", "lcm"),
    (lambda xp: xp.equal, "fiucb", "eq.Tensor", "eq.Scalar"),
    (lambda xp: xp.not_equal, "fiucb", "ne.Tensor", "ne.Scalar"),
    (lambda xp: xp.less, "fiub", "lt.Tensor", "lt.Scalar"),
    (lambda xp: xp.less_equal, "fiub", "le.Tensor", "le.Scalar"),
    (lambda xp: xp.greater, "fiub", "gt.Tensor", "gt.Scalar"),
    (lambda xp: xp.greater_equal, "fiub", "ge.Tensor", "ge.Scalar"),
    (lambda xp: xp.logical_and, "fiucb", "logical_and"),
    (lambda xp: xp.logical_or, "fiucb", "logical_or"),
    (lambda xp: xp.logical_xor, "fiucb", "logical_xor"),
    (
        lambda xp: xp.bitwise_and, "iub",
        "bitwise_and.Tensor", "bitwise_and.Scalar", "bitwise_and.Scalar_Tensor",
    ),
    (
        lambda xp: xp.bitwise_or, "iub",
        "bitwise_or.Tensor", "bitwise_or.Scalar", "bitwise_or.Scalar_Tensor",
    ),
    (
        lambda xp: xp.bitwise_xor, "iub",
        "bitwise_xor.Tensor", "bitwise_xor.Scalar", "bitwise_xor.Scalar_Tensor",
    ),
)


# ---------------------------------------------------------------- one operand


@pointwise("rsqrt")
def rsqrt_kernel(xp, x):
    root = xp.sqrt(x)
    return xp.reciprocal(root, out=out_of(root))


def _sigmoid_chain(xp, out, x):
    # exp overflows to infinity, whose inverse is right.
    xp.negative(x, out=out)
    xp.exp(out, out=out)
    xp.add(out, 1.0, out=out)
    xp.reciprocal(out, out=out)


@pointwise("sigmoid")
def sigmoid_kernel(xp, x):
    return in_blocks(xp, _sigmoid_chain, (x,))


@pointwise("sinc")
def sinc_kernel(xp, x):
    zero = x == 0
    scaled = xp.where(zero, x.dtype.type(1), x) * math.pi
    return xp.where(zero, x.dtype.type(1), xp.sin(scaled) / scaled)


@pointwise("sign")
def sign_kernel(xp, x):
    """Subtract the masks of negative from that of positive elements; NaN gives 0."""
    kind = x.dtype.kind
    if kind == "b":
        return x.copy(order=order_of(x))
    if kind == "u":
        return (x != 0).astype(x.dtype)
    positive = xp.asarray(x > 0).view(xp.int8)
    return xp.subtract(positive, xp.asarray(x < 0).view(xp.int8)).astype(x.dtype)


@pointwise("sgn")
def sgn_kernel(xp, x):
    if x.dtype.kind == "c":
        size = xp.absolute(x)
        zero = size == 0
        return xp.where(zero, x.dtype.type(0), x / xp.where(zero, size.dtype.type(1), size))
    return sign_kernel(xp, x)


@pointwise("conj_physical")
def conj_physical_kernel(xp, x):
    return xp.conjugate(x) if x.dtype.kind == "c" else x.copy(order=order_of(x))


@pointwise("angle")
def angle_kernel(xp, x):
    if x.dtype.kind == "c":
        return xp.arctan2(x.imag, x.real)
    angle = xp.multiply(xp.less(x, 0), x.dtype.type(math.pi))
    return xp.where(xp.isnan(x), x, angle)


@pointwise("isposinf")
def isposinf_kernel(xp, x):
    return x == xp.inf if x.dtype.kind == "f" else xp.zeros_like(x, dtype=bool, order=order_of(x))


@pointwise("isneginf")
def isneginf_kernel(xp, x):
    return x == -xp.inf if x.dtype.kind == "f" else xp.zeros_like(x, dtype=bool, order=order_of(x))


@pointwise("isreal")
def isreal_kernel(xp, x):
    return x.imag == 0 if x.dtype.kind == "c" else xp.ones_like(x, dtype=bool, order=order_of(x))


def _rounding(name, ufunc):
    @pointwise(name, ufunc=ufunc, fast="f")
    def rounding_kernel(xp, x):
        return ufunc(xp)(x) if x.dtype.kind == "f" else x.copy(order=order_of(x))


_rounding("floor", lambda xp: xp.floor)
_rounding("ceil", lambda xp: xp.ceil)
_rounding("trunc", lambda xp: xp.trunc)
_rounding("round", lambda xp: xp.rint)


@array_kernel("round.decimals")
def round_decimals_kernel(xp, self, *, decimals):
    def round_decimals(xp, x):
        scale = 10.0 ** abs(decimals)
        if decimals > 0:
            return xp.rint(x * scale) / scale
        return xp.rint(x / scale) * scale

    if decimals == 0:
        return elementwise(xp, lambda xp, x: xp.rint(x), (self,), RULES["round"])
    return elementwise(xp, round_decimals, (self,), RULES["round.decimals"])


@pointwise("frac")
def frac_kernel(xp, x):
    whole = xp.trunc(x)
    return xp.subtract(x, whole, out=out_of(whole))


@array_kernel("frexp.Tensor")
def frexp_kernel(xp, self):
    compute, result = RULES["frexp.Tensor"].types(self.dtype)
    mantissa, exponent = xp.frexp(as_type(xp, self, compute))
    exponent = xp.where(xp.isfinite(mantissa), exponent, exponent.dtype.type(0))
    return as_type(xp, mantissa, result), exponent.astype(xp.int32, copy=False)


@array_kernel("logit")
def logit_kernel(xp, self, eps=None):
    def logit(xp, x):
        if eps is not None:
            x = xp.clip(x, eps, 1.0 - eps)
        rest = xp.subtract(1.0, x)
        ratio = xp.divide(x, rest, out=out_of(rest))
        return xp.log(ratio, out=out_of(ratio))

    return elementwise(xp, logit, (self,), RULES["logit"])


@array_kernel("nan_to_num")
def nan_to_num_kernel(xp, self, nan=None, posinf=None, neginf=None):
    dtype = self.dtype
    kind = dtype.kind
    if kind in "biu":
        return self.copy(order=order_of(self))
    result = self.copy(order=order_of(self))
    parts = (result.real, result.imag) if kind == "c" else (result,)
    largest = _largest(xp, parts[0].dtype)
    for part in parts:
        part[xp.isnan(part)] = 0.0 if nan is None else nan
        part[part == xp.inf] = largest if posinf is None else posinf
        part[part == -xp.inf] = -largest if neginf is None else neginf
    return result


def _largest(xp, dtype):
    if is_low_precision(dtype) and dtype != xp.float16:
        import ml_dtypes

        return ml_dtypes.finfo(dtype).max
    return xp.finfo(dtype).max


# ---------------------------------------------------------------- sums and differences


def _scaled_sum(xp, ufunc, self, other, alpha, rule):
    """Return ``ufunc(self, alpha * other)`` in the promoted type."""
    dtype = promoted((self, other))
    compute, result = rule.types(dtype)
    kind = dtype.kind
    if (isinstance(alpha, bool) and kind != "b") or (
        isinstance(alpha, float) and kind in "biu" or isinstance(alpha, complex) and kind != "c"
    ):
        raise ValueError("alpha")
    a = as_type(xp, self, compute)
    b = xp.multiply(as_type(xp, other, compute), as_type(xp, alpha, compute))
    whole = b.ndim and b.shape == a.shape and b.flags.c_contiguous
    out = ufunc(a, b, out=b if whole else None)
    return out if out.dtype == result else out.astype(result)


@array_kernel("add.Tensor", "add.Scalar", ufunc=lambda xp: xp.add, fast="fiuc")
def add_kernel(xp, self, other, alpha=1):
    if alpha == 1 and type(alpha) is int:
        return elementwise(xp, _add, (self, other), RULES["add.Tensor"])
    return _scaled_sum(xp, xp.add, self, other, alpha, RULES["add.Tensor"])


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


# ---------------------------------------------------------------- limits


def _clip(xp, x, low, high):
    """Return `x` within limits of its type, either None; NaN in any of them gives NaN.

    The two-sided clip is several times as fast as a maximum with a scalar.
    """
    if x.dtype.kind == "f":
        return x.clip(-xp.inf if low is None else low, xp.inf if high is None else high)
    if low is not None:
        x = xp.maximum(x, low)
    return x if high is None else xp.minimum(x, high)


def _clamp(xp, self, low, high, rule):
    if low is None and high is None:
        raise ValueError("no limit")
    if self.dtype.char in "fd" and type(low) is not complex and type(high) is not complex:
        return _clip(xp, self, low, high)
    dtype = promoted([v for v in (self, low, high) if v is not None])
    compute, result = rule.types(dtype)
    if dtype.kind in "iu":  # raises OverflowError where a limit does not fit
        low = None if low is None else dtype.type(low)
        high = None if high is None else dtype.type(high)
    out = _clip(xp, as_type(xp, self, compute), low, high)
    return out if out.dtype == result else out.astype(result)


@array_kernel("clamp")
def clamp_kernel(xp, self, min=None, max=None):
    return _clamp(xp, self, min, max, RULES["clamp"])


@array_kernel("clamp_min")
def clamp_min_kernel(xp, self, min):
    return _clamp(xp, self, min, None, RULES["clamp_min"])


@array_kernel("clamp_max")
def clamp_max_kernel(xp, self, max):
    return _clamp(xp, self, None, max, RULES["clamp_max"])


@array_kernel("clamp.Tensor")
def clamp_tensor_kernel(xp, self, min=None, max=None):
    if max is None:
        return clamp_min_tensor_kernel(xp, self, min)
    if min is None:
        return clamp_max_tensor_kernel(xp, self, max)
    return elementwise(xp, _clamp_between, (self, min, max), RULES["clamp.Tensor"])


def _clamp_between(xp, x, low, high):
    return xp.minimum(xp.maximum(x, low), high)


@pointwise("clamp_min.Tensor")
def clamp_min_tensor_kernel(xp, x, low):
    return xp.maximum(x, low)


@pointwise("clamp_max.Tensor")
def clamp_max_tensor_kernel(xp, x, high):
    return xp.minimum(x, high)


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


def _sum_with(xp, self, term):
    whole = term.ndim and term.shape == self.shape and term.flags.c_contiguous
    return xp.add(self, term, out=term if whole else None)


@array_kernel("addcmul")
def addcmul_kernel(xp, self, tensor1, tensor2, *, value=1):
    def addcmul(xp, x, a, b):
        term = xp.multiply(a, b)
        if value != 1:
            term = xp.multiply(term, as_type(xp, value, term.dtype), out=out_of(term))
        return _sum_with(xp, x, term)

    return elementwise(xp, addcmul, (self, tensor1, tensor2), RULES["addcmul"])


@array_kernel("addcdiv")
def addcdiv_kernel(xp, self, tensor1, tensor2, *, value=1):
    if tensor1.dtype.kind in "biu" and tensor2.dtype.kind in "biu":
        raise ValueError("integers")

    def addcdiv(xp, x, a, b):
        term = xp.divide(a, b)
        if value != 1:
            term = xp.multiply(term, as_type(xp, value, term.dtype), out=out_of(term))
        return _sum_with(xp, x, term)

    return elementwise(xp, addcdiv, (self, tensor1, tensor2), RULES["addcdiv"])
