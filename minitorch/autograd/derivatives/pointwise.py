"""Derivatives of the pointwise operators.

A gradient is the incoming one times the conjugate of the derivative (PyTorch's convention for
complex numbers); `conj` costs nothing for real operands.
"""

from __future__ import annotations

import math

from minitorch.autograd.derivatives.registry import derivative
from minitorch.core.symbolic import is_symbolic
from minitorch.ops import functions as F

_LN_2 = math.log(2.0)
_LN_10 = math.log(10.0)


def conj(x):
    """Return the conjugate of a tensor or number: the operand itself unless it is complex."""
    kind = type(x)
    if kind is float or kind is int or kind is bool:
        return x
    if kind is complex:
        return x.conjugate()
    if is_symbolic(x):
        return x
    return x.conj_physical() if x.dtype.is_complex else x


def zeros(grad):
    """Return the gradient of a function that is constant between its jumps."""
    return F.zeros_like(grad)


def masked(grad, mask):
    """Return `grad` where `mask` holds and zero elsewhere."""
    return F.where(mask, grad, 0)


# ---------------------------------------------------------------- sums, products, quotients

derivative(
    "add.Tensor",
    self=lambda grad: grad,
    other=lambda grad, alpha: grad if alpha == 1 else grad * conj(alpha),
    result="elementwise",
)
derivative("add.Scalar", self=lambda grad: grad, result="elementwise")
derivative(
    "sub.Tensor",
    self=lambda grad: grad,
    other=lambda grad, alpha: -grad if alpha == 1 else grad * -conj(alpha),
    result="elementwise",
)
derivative("sub.Scalar", self=lambda grad: grad, result="elementwise")
derivative(
    "rsub.Tensor",
    self=lambda grad, alpha: -grad if alpha == 1 else grad * -conj(alpha),
    other=lambda grad: grad,
    result="elementwise",
)
derivative(
    "rsub.Scalar",
    self=lambda grad, alpha: -grad if alpha == 1 else grad * -conj(alpha),
    result="elementwise",
)
derivative(
    "mul.Tensor",
    self=lambda grad, other: grad * conj(other),
    other=lambda grad, self: grad * conj(self),
    result="elementwise",
)
derivative("mul.Scalar", self=lambda grad, other: grad * conj(other), result="elementwise")


def div_other(grad, self, other):
    divisor = conj(other)
    return -(grad / divisor) * (conj(self) / divisor)


derivative(
    "div.Tensor",
    self=lambda grad, other: grad / conj(other),
    other=div_other,
    result="elementwise",
)
derivative("div.Scalar", self=lambda grad, other: grad / conj(other), result="elementwise")
derivative(
    "div.Tensor_mode",
    self=lambda grad, other, rounding_mode: (
        grad / conj(other) if rounding_mode is None else zeros(grad)
    ),
    other=lambda grad, self, other, rounding_mode: (
        div_other(grad, self, other) if rounding_mode is None else zeros(grad)
    ),
    result="elementwise",
)
derivative(
    "div.Scalar_mode",
    self=lambda grad, other, rounding_mode: (
        grad / conj(other) if rounding_mode is None else zeros(grad)
    ),
    result="elementwise",
)
derivative(
    "remainder.Tensor",
    self=lambda grad: grad,
    other=lambda grad, self, other: grad * -F.div(self, other, rounding_mode="floor"),
    result="elementwise",
)
derivative("remainder.Scalar", self=lambda grad: grad, result="elementwise")
derivative(
    "remainder.Scalar_Tensor",
    other=lambda grad, self, other: grad * -F.div(self, other, rounding_mode="floor"),
    result="elementwise",
)
derivative(
    "fmod.Tensor",
    self=lambda grad: grad,
    other=lambda grad, self, other: grad * -F.div(self, other, rounding_mode="trunc"),
    result="elementwise",
)
derivative("fmod.Scalar", self=lambda grad: grad, result="elementwise")
derivative(
    "reciprocal",
    self=lambda grad, result: -grad * conj(result * result),
    result="elementwise",
)
derivative("neg", self=lambda grad: -grad, result="linear")
derivative("square", self=lambda grad, self: grad * (conj(self) * 2), result="elementwise")


# ---------------------------------------------------------------- sign and size


def abs_tangent(self_p, self_t):
    if self_p.dtype.is_complex:
        return F.real(self_t * conj(F.sgn(self_p)))
    return self_t * F.sgn(self_p)


def sgn_self(grad, self, result):
    """Return the part of `grad` across the direction of `self`, over the size of `self`."""
    if not self.dtype.is_complex:
        return zeros(grad)
    size = F.abs(self)
    across = grad - result * F.real(grad * conj(result))
    return F.where(size == 0, 0, across / size)


def angle_self(grad, self):
    if not self.dtype.is_complex:
        return zeros(grad)
    squared_size = F.square(F.abs(self))
    return F.where(squared_size == 0, 0, grad * (self * 1j) / squared_size)


def angle_tangent(self_p, self_t):
    if not self_p.dtype.is_complex:
        return zeros(self_t)
    squared_size = F.square(F.abs(self_p))
    return F.where(squared_size == 0, 0, F.imag(self_t * conj(self_p)) / squared_size)


derivative("abs", self=lambda grad, self: grad * F.sgn(self), result=abs_tangent)
derivative(
    "sgn",
    self=sgn_self,
    result=lambda self_p, self_t, result: sgn_self(self_t, self_p, result),
)
derivative("sign", self=zeros, result="elementwise")
derivative("signbit")
derivative("angle", self=angle_self, result=angle_tangent)
derivative(
    "conj_physical",
    self=lambda grad: conj(grad),
    result=lambda self_t: conj(self_t),
)


def copysign_self(grad, self, result):
    """Return `grad` with the sign that the operator changed; zero where `self` is zero."""
    return F.where(self == 0, 0, grad * (result / self))


derivative(
    "copysign.Tensor",
    self=copysign_self,
    other=zeros,
    result="elementwise",
)
derivative("copysign.Scalar", self=copysign_self, result="elementwise")


# ---------------------------------------------------------------- powers


def pow_self(grad, self, exponent):
    """Return the gradient of the base, for a number as the exponent."""
    if exponent == 0:
        return zeros(grad)
    if exponent == 2:
        return grad * (conj(self) * 2)
    return grad * conj(F.pow(self, exponent - 1) * exponent)


def pow_self_of_tensor(grad, self, exponent):
    slope = F.pow(self, exponent - 1) * exponent
    return F.where(exponent == 0, 0, grad * conj(slope))


def pow_exponent(grad, self, exponent, result):
    """Return the gradient of the exponent: zero where the base is, unless its power is infinite."""
    slope = grad * conj(result * F.log(self))
    at_zero = F.logical_and(self == 0, F.real(exponent) >= 0)
    return F.where(at_zero, 0, slope)


def pow_exponent_of_number(grad, self, exponent, result):
    if self == 0:
        return F.where(F.real(exponent) >= 0, 0, grad * conj(result * -math.inf))
    if isinstance(self, complex) or result.dtype.is_complex or self < 0:
        return grad * conj(result * F.log(F.scalar_tensor(self, dtype=result.dtype)))
    return grad * (result * math.log(self))


derivative("pow.Tensor_Scalar", self=pow_self, result="elementwise")
derivative(
    "pow.Tensor_Tensor", self=pow_self_of_tensor, exponent=pow_exponent, result="elementwise"
)
derivative("pow.Scalar", exponent=pow_exponent_of_number, result="elementwise")
derivative("float_power.Tensor_Scalar", self=pow_self, result="elementwise")
derivative(
    "float_power.Tensor_Tensor",
    self=pow_self_of_tensor,
    exponent=pow_exponent,
    result="elementwise",
)
derivative("float_power.Scalar", exponent=pow_exponent_of_number, result="elementwise")
derivative("sqrt", self=lambda grad, result: grad / (conj(result) * 2), result="elementwise")
derivative(
    "rsqrt",
    self=lambda grad, result: grad * conj(F.pow(result, 3) * -0.5),
    result="elementwise",
)


# ---------------------------------------------------------------- exponentials, logarithms

derivative("exp", self=lambda grad, result: grad * conj(result), result="elementwise")
derivative("exp2", self=lambda grad, result: grad * conj(result) * _LN_2, result="elementwise")
derivative("expm1", self=lambda grad, result: grad * (conj(result) + 1), result="elementwise")
derivative("log", self=lambda grad, self: grad / conj(self), result="elementwise")
derivative("log2", self=lambda grad, self: grad / (conj(self) * _LN_2), result="elementwise")
derivative("log10", self=lambda grad, self: grad / (conj(self) * _LN_10), result="elementwise")
derivative("log1p", self=lambda grad, self: grad / (conj(self) + 1), result="elementwise")
derivative(
    "sigmoid", self=lambda grad, result: F.sigmoid_backward(grad, result), result="elementwise"
)
derivative(
    "logit", self=lambda grad, self, eps: F.logit_backward(grad, self, eps), result="elementwise"
)
derivative(
    "xlogy.Tensor",
    self=lambda grad, self, other: F.where(
        F.logical_and(self == 0, other <= 0), 0, F.xlogy(grad, other)
    ),
    other=lambda grad, self, other: grad * self / other,
    result="elementwise",
)
derivative(
    "xlogy.Scalar_Self",
    other=lambda grad, self, other: grad * self / other,
    result="elementwise",
)
derivative(
    "xlogy.Scalar_Other",
    self=lambda grad, self, other: (
        F.xlogy(grad, other) if other > 0 else F.where(self == 0, 0, F.xlogy(grad, other))
    ),
    result="elementwise",
)
derivative(
    "logaddexp",
    self=lambda grad, self, other: grad / (1 + F.exp(conj(other) - conj(self))),
    other=lambda grad, self, other: grad / (1 + F.exp(conj(self) - conj(other))),
    result="elementwise",
)
derivative(
    "logaddexp2",
    self=lambda grad, self, other: grad / (1 + F.exp2(other - self)),
    other=lambda grad, self, other: grad / (1 + F.exp2(self - other)),
    result="elementwise",
)
derivative(
    "frexp.Tensor",
    self=lambda grad, exponent: grad / F.pow(2.0, exponent),
)


# ---------------------------------------------------------------- trigonometry


def acosh_self(grad, self):
    if self.dtype.is_complex:
        return grad * conj(F.rsqrt(self - 1) * F.rsqrt(self + 1))
    return grad * F.rsqrt(self * self - 1)


derivative("sin", self=lambda grad, self: grad * conj(F.cos(self)), result="elementwise")
derivative("cos", self=lambda grad, self: grad * conj(-F.sin(self)), result="elementwise")
derivative(
    "tan", self=lambda grad, result: grad * conj(result * result + 1), result="elementwise"
)
derivative("sinh", self=lambda grad, self: grad * conj(F.cosh(self)), result="elementwise")
derivative("cosh", self=lambda grad, self: grad * conj(F.sinh(self)), result="elementwise")
derivative("tanh", self=lambda grad, result: F.tanh_backward(grad, result), result="elementwise")
derivative(
    "asin", self=lambda grad, self: grad * conj(F.rsqrt(1 - self * self)), result="elementwise"
)
derivative(
    "acos", self=lambda grad, self: grad * -conj(F.rsqrt(1 - self * self)), result="elementwise"
)
derivative("atan", self=lambda grad, self: grad / conj(self * self + 1), result="elementwise")
derivative(
    "asinh", self=lambda grad, self: grad * conj(F.rsqrt(self * self + 1)), result="elementwise"
)
derivative("acosh", self=acosh_self, result="elementwise")
derivative("atanh", self=lambda grad, self: grad / conj(1 - self * self), result="elementwise")
derivative(
    "atan2",
    self=lambda grad, self, other: grad * (other / (self * self + other * other)),
    other=lambda grad, self, other: grad * (-self / (self * self + other * other)),
    result="elementwise",
)
derivative(
    "hypot",
    self=lambda grad, self, result: grad * (self / result),
    other=lambda grad, other, result: grad * (other / result),
    result="elementwise",
)


def sinc_self(grad, self):
    scaled = self * math.pi
    slope = (scaled * F.cos(scaled) - F.sin(scaled)) / (scaled * self)
    return F.where(self == 0, 0, grad * conj(slope))


derivative("sinc", self=sinc_self, result="elementwise")
derivative("deg2rad", self=lambda grad: F.deg2rad(grad), result="linear")
derivative("rad2deg", self=lambda grad: F.rad2deg(grad), result="linear")


# ---------------------------------------------------------------- rounding

derivative("floor", self=zeros, result="elementwise")
derivative("ceil", self=zeros, result="elementwise")
derivative("trunc", self=zeros, result="elementwise")
derivative("round", self=zeros, result="elementwise")
derivative("round.decimals", self=zeros, result="elementwise")
derivative("frac", self=lambda grad: grad, result="elementwise")


# ---------------------------------------------------------------- limits


def clamp_self(grad, self, min, max):
    if min is None:
        return masked(grad, self <= max)
    if max is None:
        return masked(grad, self >= min)
    return masked(grad, F.logical_and(self >= min, self <= max))


def clamp_min_of_tensor(grad, self, min, max):
    """Return the gradient of the lower limit: where it is the result."""
    below = self < min
    return masked(grad, below if max is None else F.logical_and(below, min < max))


def clamp_max_of_tensor(grad, self, min, max):
    """Return the gradient of the upper limit: it wins where the limits cross."""
    above = self > max
    return masked(grad, above if min is None else F.logical_or(above, max < min))


derivative("clamp", self=clamp_self, result="elementwise")
derivative(
    "clamp.Tensor",
    self=clamp_self,
    min=clamp_min_of_tensor,
    max=clamp_max_of_tensor,
    result="elementwise",
)
derivative(
    "clamp_min", self=lambda grad, self, min: masked(grad, self >= min), result="elementwise"
)
derivative(
    "clamp_max", self=lambda grad, self, max: masked(grad, self <= max), result="elementwise"
)
derivative(
    "clamp_min.Tensor",
    self=lambda grad, self, min: masked(grad, self >= min),
    min=lambda grad, self, min: masked(grad, self < min),
    result="elementwise",
)
derivative(
    "clamp_max.Tensor",
    self=lambda grad, self, max: masked(grad, self <= max),
    max=lambda grad, self, max: masked(grad, self > max),
    result="elementwise",
)


def larger_self(grad, self, other):
    """Return the gradient where `self` is the larger operand, half of it where they tie."""
    return F.where(self == other, grad / 2, F.where(self < other, 0, grad))


derivative(
    "maximum",
    self=larger_self,
    other=lambda grad, self, other: larger_self(grad, other, self),
    result="elementwise",
)
derivative(
    "minimum",
    self=lambda grad, self, other: F.where(
        self == other, grad / 2, F.where(self > other, 0, grad)
    ),
    other=lambda grad, self, other: F.where(
        self == other, grad / 2, F.where(other > self, 0, grad)
    ),
    result="elementwise",
)
derivative(
    "fmax",
    self=lambda grad, self, other: masked(
        grad, F.logical_or(self >= other, F.isnan(other))
    ),
    other=lambda grad, self, other: F.where(
        F.logical_or(self >= other, F.isnan(other)), 0, grad
    ),
    result="elementwise",
)
derivative(
    "fmin",
    self=lambda grad, self, other: masked(
        grad, F.logical_or(self <= other, F.isnan(other))
    ),
    other=lambda grad, self, other: F.where(
        F.logical_or(self <= other, F.isnan(other)), 0, grad
    ),
    result="elementwise",
)
derivative(
    "nan_to_num",
    self=lambda grad, self: masked(grad, F.isfinite(self)),
    result="elementwise",
)
derivative(
    "nextafter",
    self=lambda grad, self, other: F.where(self == other, 0, grad),
    other=zeros,
    result="elementwise",
)


# ---------------------------------------------------------------- three operands


def quotient(value, divisor):
    return F.reciprocal(divisor) if value == 1 else value / divisor


derivative(
    "lerp.Scalar",
    self=lambda grad, weight: grad * (1 - conj(weight)),
    end=lambda grad, weight: grad * conj(weight),
    result="elementwise",
)
derivative(
    "lerp.Tensor",
    self=lambda grad, weight: grad * (1 - conj(weight)),
    end=lambda grad, weight: grad * conj(weight),
    weight=lambda grad, self, end: grad * conj(end - self),
    result="elementwise",
)
derivative(
    "addcmul",
    self=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * conj(tensor2 if value == 1 else tensor2 * value),
    tensor2=lambda grad, tensor1, value: grad * conj(tensor1 if value == 1 else tensor1 * value),
    result="elementwise",
)
derivative(
    "addcdiv",
    self=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * conj(quotient(value, tensor2)),
    tensor2=lambda grad, tensor1, tensor2, value: -grad
    * conj(quotient(value, tensor2) * (tensor1 / tensor2)),
    result="elementwise",
)


# ---------------------------------------------------------------- never differentiable

derivative("gcd")
derivative("lcm")
derivative("eq.Tensor")
derivative("eq.Scalar")
derivative("ne.Tensor")
derivative("ne.Scalar")
derivative("lt.Tensor")
derivative("lt.Scalar")
derivative("le.Tensor")
derivative("le.Scalar")
derivative("gt.Tensor")
derivative("gt.Scalar")
derivative("ge.Tensor")
derivative("ge.Scalar")
derivative("isnan")
derivative("isinf")
derivative("isfinite")
derivative("isposinf")
derivative("isneginf")
derivative("isreal")
derivative("logical_and")
derivative("logical_or")
derivative("logical_xor")
derivative("logical_not")
derivative("bitwise_not")
derivative("bitwise_and.Tensor")
derivative("bitwise_and.Scalar")
derivative("bitwise_and.Scalar_Tensor")
derivative("bitwise_or.Tensor")
derivative("bitwise_or.Scalar")
derivative("bitwise_or.Scalar_Tensor")
derivative("bitwise_xor.Tensor")
derivative("bitwise_xor.Scalar")
derivative("bitwise_xor.Scalar_Tensor")
derivative("bitwise_left_shift.Tensor")
derivative("bitwise_left_shift.Tensor_Scalar")
derivative("bitwise_left_shift.Scalar_Tensor")
derivative("bitwise_right_shift.Tensor")
derivative("bitwise_right_shift.Tensor_Scalar")
derivative("bitwise_right_shift.Scalar_Tensor")
