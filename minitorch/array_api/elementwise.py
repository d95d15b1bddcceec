"""Elementwise functions: positional arguments only, two operands promoted by the standard's rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minitorch as mt
from minitorch.array_api.data_types import is_scalar, operands, result_type


def _named(function: Callable[..., Any], name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _unary(name: str, kernel: Callable[..., Any], doc: str) -> Callable[..., mt.Tensor]:
    def unary(x: mt.Tensor, /) -> mt.Tensor:
        return kernel(x)

    return _named(unary, name, doc)


def _binary(name: str, kernel: Callable[..., Any], doc: str) -> Callable[..., mt.Tensor]:
    def binary(x1: Any, x2: Any, /) -> mt.Tensor:
        return kernel(*operands(name, x1, x2))

    return _named(binary, name, doc)


def sign(x: mt.Tensor, /) -> mt.Tensor:
    """Return -1, 0 or 1 for each element, ``x / abs(x)`` for a complex one; NaN stays NaN."""
    if x.dtype.is_complex:
        return mt.sgn(x)
    result = mt.sign(x)
    return mt.where(mt.isnan(x), x, result) if x.dtype.is_floating_point else result


def round(x: mt.Tensor, /) -> mt.Tensor:
    """Round each element to the nearest integer, halves to even; both parts of a complex one."""
    if x.dtype.is_complex:
        return mt.complex(mt.round(x.real), mt.round(x.imag))
    return mt.round(x)


def clip(x: mt.Tensor, /, min: Any = None, max: Any = None) -> mt.Tensor:
    """Limit each element to the range from `min` to `max`, which are numbers, arrays that broadcast, or None.

    The result has the dtype of `x`. A bound that is NaN gives NaN.

    Raises
    ------
    TypeError
        If a bound is of a higher kind than `x`: a float for an array of integers.
    """
    result = x.clone()
    for bound, choose in ((min, mt.maximum), (max, mt.minimum)):
        if bound is None:
            continue
        kind = result_type(x, bound)
        if kind.is_floating_point and not x.dtype.is_floating_point:
            raise TypeError(
                f"clip(): a bound of {bound} for an array of {x.dtype}; cast the array or the bound with astype()"
            )
        if is_scalar(bound):
            if not x.dtype.is_floating_point:
                # A number beyond the type's limits limits nothing, or everything.
                limits = mt.iinfo(x.dtype)
                bound = sorted((limits.min, bound, limits.max))[1]
            bound = mt.tensor(bound, dtype=kind, device=x.device)
        # Compared in the common type, and only then cast: a bound may lie beyond the limits of x's type.
        result = choose(result.to(kind), bound.to(kind))
    return result.to(x.dtype)


def expm1(x: mt.Tensor, /) -> mt.Tensor:
    """Return ``exp(x) - 1``, exact near zero."""
    if not x.dtype.is_complex:
        return mt.expm1(x)
    # PyTorch's formula for complex numbers makes NaN of infinite ones, and keeps the sign of a zero.
    return mt.where(mt.isfinite(x) & (x != 0), mt.expm1(x), mt.exp(x) - 1)


def floor_divide(x1: Any, x2: Any, /) -> mt.Tensor:
    """Return ``x1 // x2``, rounded down: also where one is infinite, which Python and PyTorch treat otherwise."""
    left, right = operands("floor_divide", x1, x2)
    result = mt.floor_divide(left, right)
    if not result.dtype.is_floating_point:
        return result
    return mt.where(mt.isinf(left) | mt.isinf(right), mt.floor(left / right), result)


def imag(x: mt.Tensor, /) -> mt.Tensor:
    """Return the imaginary parts; zeros for real numbers."""
    return mt.imag(x) if x.dtype.is_complex else mt.zeros_like(x)


abs = _unary("abs", mt.abs, "Return the absolute values.")
acos = _unary("acos", mt.acos, "Return the inverse cosines.")
acosh = _unary("acosh", mt.acosh, "Return the inverse hyperbolic cosines.")
asin = _unary("asin", mt.asin, "Return the inverse sines.")
asinh = _unary("asinh", mt.asinh, "Return the inverse hyperbolic sines.")
atan = _unary("atan", mt.atan, "Return the inverse tangents.")
atanh = _unary("atanh", mt.atanh, "Return the inverse hyperbolic tangents.")
bitwise_invert = _unary("bitwise_invert", mt.bitwise_not, "Invert the bits of integers; the logical not of bools.")
ceil = _unary("ceil", mt.ceil, "Round up to integers.")
# Not `conj`, whose result is a view that other libraries cannot read.
conj = _unary("conj", mt.conj_physical, "Return the complex conjugates, in memory of their own.")
cos = _unary("cos", mt.cos, "Return the cosines.")
cosh = _unary("cosh", mt.cosh, "Return the hyperbolic cosines.")
exp = _unary("exp", mt.exp, "Return the exponentials.")
floor = _unary("floor", mt.floor, "Round down to integers.")
isfinite = _unary("isfinite", mt.isfinite, "Return where elements are neither infinite nor NaN.")
isinf = _unary("isinf", mt.isinf, "Return where elements are infinite.")
isnan = _unary("isnan", mt.isnan, "Return where elements are NaN.")
log = _unary("log", mt.log, "Return the natural logarithms.")
log10 = _unary("log10", mt.log10, "Return the logarithms to base 10.")
log1p = _unary("log1p", mt.log1p, "Return ``log(1 + x)``, exact near zero.")
log2 = _unary("log2", mt.log2, "Return the logarithms to base 2.")
logical_not = _unary("logical_not", mt.logical_not, "Return where elements are false.")
negative = _unary("negative", mt.negative, "Return the elements with the other sign.")
positive = _unary("positive", mt.positive, "Return the elements as they are.")
real = _unary("real", mt.real, "Return the real parts.")
reciprocal = _unary("reciprocal", mt.reciprocal, "Return ``1 / x``.")
signbit = _unary("signbit", mt.signbit, "Return where the sign bit is set: also of -0.0.")
sin = _unary("sin", mt.sin, "Return the sines.")
sinh = _unary("sinh", mt.sinh, "Return the hyperbolic sines.")
sqrt = _unary("sqrt", mt.sqrt, "Return the square roots.")
square = _unary("square", mt.square, "Return ``x * x``.")
tan = _unary("tan", mt.tan, "Return the tangents.")
tanh = _unary("tanh", mt.tanh, "Return the hyperbolic tangents.")
trunc = _unary("trunc", mt.trunc, "Round towards zero to integers.")

add = _binary("add", mt.add, "Return ``x1 + x2``.")
atan2 = _binary("atan2", mt.atan2, "Return the angles of the points ``(x2, x1)``.")
bitwise_and = _binary("bitwise_and", mt.bitwise_and, "Return ``x1 & x2``.")
bitwise_left_shift = _binary("bitwise_left_shift", mt.bitwise_left_shift, "Return ``x1 << x2``.")
bitwise_or = _binary("bitwise_or", mt.bitwise_or, "Return ``x1 | x2``.")
bitwise_right_shift = _binary("bitwise_right_shift", mt.bitwise_right_shift, "Return ``x1 >> x2``.")
bitwise_xor = _binary("bitwise_xor", mt.bitwise_xor, "Return ``x1 ^ x2``.")
copysign = _binary("copysign", mt.copysign, "Return the magnitudes of `x1` with the signs of `x2`.")
divide = _binary("divide", mt.true_divide, "Return ``x1 / x2``.")
equal = _binary("equal", mt.eq, "Return ``x1 == x2``, elementwise (`minitorch.equal` compares all at once).")
greater = _binary("greater", mt.gt, "Return ``x1 > x2``.")
greater_equal = _binary("greater_equal", mt.ge, "Return ``x1 >= x2``.")
hypot = _binary("hypot", mt.hypot, "Return ``sqrt(x1**2 + x2**2)`` without overflow on the way.")
less = _binary("less", mt.lt, "Return ``x1 < x2``.")
less_equal = _binary("less_equal", mt.le, "Return ``x1 <= x2``.")
logaddexp = _binary("logaddexp", mt.logaddexp, "Return ``log(exp(x1) + exp(x2))`` without overflow on the way.")
logical_and = _binary("logical_and", mt.logical_and, "Return where both are true.")
logical_or = _binary("logical_or", mt.logical_or, "Return where either is true.")
logical_xor = _binary("logical_xor", mt.logical_xor, "Return where just one is true.")
maximum = _binary("maximum", mt.maximum, "Return the larger of both; NaN where either is.")
minimum = _binary("minimum", mt.minimum, "Return the smaller of both; NaN where either is.")
multiply = _binary("multiply", mt.multiply, "Return ``x1 * x2``.")
nextafter = _binary("nextafter", mt.nextafter, "Return the next number after `x1` in the direction of `x2`.")
not_equal = _binary("not_equal", mt.ne, "Return ``x1 != x2``.")
pow = _binary("pow", mt.pow, "Return `x1` to the power of `x2`.")
remainder = _binary("remainder", mt.remainder, "Return ``x1 % x2``, with the sign of `x2`.")
subtract = _binary("subtract", mt.subtract, "Return ``x1 - x2``.")
