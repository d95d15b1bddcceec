"""Kernels of the pointwise operators: rows of ufuncs, and functions where NumPy lacks one.

The others of two and three operands are in `pointwise_binary`.
"""

from __future__ import annotations

import math

from minitorch.backends.array import pointwise_binary  # noqa: F401 - registers its kernels
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
from minitorch.ops.shapes.pointwise import RULES

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


def make_rsqrt(xp):
    """Return the inverse square root of floating arrays, bound to a namespace."""
    sqrt, divide = xp.sqrt, xp.divide
    ones = {xp.dtype(d): xp.asarray(1.0, dtype=d) for d in (xp.float32, xp.float64)}

    def rsqrt(x):
        root = sqrt(x)
        return divide(ones[x.dtype], root, out_of(root))

    return rsqrt


@pointwise("rsqrt", ufunc=make_rsqrt, fast="f")
def rsqrt_kernel(xp, x):
    return 1 / xp.sqrt(x)


# Note [Sigmoid by exp2]
# Where NumPy has Intel's vector library (AVX-512), its exp2 is twice as fast as its exp in float32,
# and the factor -log2(e) replaces the negation that exp would need.  Rounding x log2(e) costs a
# relative error of up to 6e-8 |x| where the result is small.  Elsewhere exp2 is the C library's,
# and half as fast as exp.  Constants are 0-dim arrays: a Python number costs each ufunc half a
# microsecond.


def has_vector_exp2(xp) -> bool:
    """Return whether `xp` computes float32 ``exp2`` by vector instructions."""
    core = getattr(getattr(xp, "_core", None), "_multiarray_umath", None)
    features = getattr(core, "__cpu_features__", {})
    return bool(features.get("AVX512_SKX"))


def make_sigmoid(xp):
    """Return the sigmoid of float32 and float64 arrays, bound to a namespace."""
    multiply, negative, exp, exp2, add, divide = (
        xp.multiply, xp.negative, xp.exp, xp.exp2, xp.add, xp.divide
    )
    single = xp.dtype(xp.float32) if has_vector_exp2(xp) else None
    factor = xp.asarray(-1.0 / math.log(2.0), dtype=xp.float32)
    ones = {xp.dtype(d): xp.asarray(1.0, dtype=d) for d in (xp.float32, xp.float64)}

    def sigmoid(x):
        dtype = x.dtype
        one = ones[dtype]
        if x.ndim == 0:
            return divide(one, add(one, exp(negative(x))))
        # exp overflows to infinity, whose inverse is right.
        if dtype is single:
            out = multiply(x, factor)
            exp2(out, out)
        else:
            out = negative(x)
            exp(out, out)
        add(out, one, out)
        return divide(one, out, out)

    return sigmoid


@pointwise("sigmoid", ufunc=make_sigmoid, fast="f")
def sigmoid_kernel(xp, x):
    if x.dtype.kind == "f":
        return make_sigmoid(xp)(x)
    return 1 / (1 + xp.exp(-x))


@pointwise("sinc")
def sinc_kernel(xp, x):
    zero = x == 0
    scaled = xp.where(zero, x.dtype.type(1), x) * math.pi
    return xp.where(zero, x.dtype.type(1), xp.sin(scaled) / scaled)


def make_sign(xp):
    """Return the sign of floating arrays: the masks' difference, which is 0 for NaN."""
    greater, less, subtract, int8 = xp.greater, xp.less, xp.subtract, xp.int8
    zeros = {xp.dtype(d): xp.asarray(0.0, dtype=d) for d in (xp.float32, xp.float64)}

    def sign(x):
        dtype = x.dtype
        zero = zeros[dtype]
        return subtract(greater(x, zero).view(int8), less(x, zero).view(int8)).astype(dtype)

    return sign


@pointwise("sign", ufunc=make_sign, fast="f")
def sign_kernel(xp, x):
    kind = x.dtype.kind
    if kind == "b":
        return x.copy(order=order_of(x))
    if kind == "f":
        return ((x > 0) * 1 - (x < 0) * 1).astype(x.dtype)
    return xp.sign(x)


@pointwise("sgn")
def sgn_kernel(xp, x):
    if x.dtype.kind == "c":
        size = xp.absolute(x)
        zero = size == 0
        return xp.where(zero, x.dtype.type(0), x / xp.where(zero, size.dtype.type(1), size))
    return sign_kernel(xp, x)


@pointwise("conj_physical", ufunc=lambda xp: xp.conjugate, fast="c")
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
