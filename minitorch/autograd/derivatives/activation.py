"""Derivatives of the activations, and of their derivatives."""

from __future__ import annotations

import math

from minitorch.autograd.derivatives.registry import derivative
from minitorch.ops import functions as F

_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
_INV_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
_TANH_CUBIC = 0.044715


# ---------------------------------------------------------------- piecewise linear

derivative(
    "relu",
    self=lambda grad, result: F.threshold_backward(grad, result, 0),
    result="elementwise",
)
derivative(
    "threshold",
    self=lambda grad, self, threshold: F.threshold_backward(grad, self, threshold),
    result="elementwise",
)
derivative(
    "threshold_backward",
    grad_output=lambda grad, self, threshold: F.threshold_backward(grad, self, threshold),
    result="elementwise",
)
derivative(
    "hardtanh",
    self=lambda grad, self, min_val, max_val: F.hardtanh_backward(grad, self, min_val, max_val),
    result="elementwise",
)
derivative(
    "hardtanh_backward",
    grad_output=lambda grad, self, min_val, max_val: F.hardtanh_backward(
        grad, self, min_val, max_val
    ),
    result="elementwise",
)
derivative(
    "hardshrink",
    self=lambda grad, self, lambd: F.hardshrink_backward(grad, self, lambd),
    result="elementwise",
)
derivative(
    "hardshrink_backward",
    grad_out=lambda grad, self, lambd: F.hardshrink_backward(grad, self, lambd),
    result="elementwise",
)
derivative(
    "softshrink",
    self=lambda grad, self, lambd: F.softshrink_backward(grad, self, lambd),
    result="elementwise",
)
derivative(
    "softshrink_backward",
    grad_output=lambda grad, self, lambd: F.softshrink_backward(grad, self, lambd),
    result="elementwise",
)
derivative(
    "hardsigmoid",
    self=lambda grad, self: F.hardsigmoid_backward(grad, self),
    result="elementwise",
)
derivative(
    "hardsigmoid_backward",
    grad_output=lambda grad, self: F.hardsigmoid_backward(grad, self),
    result="elementwise",
)
derivative(
    "hardswish",
    self=lambda grad, self: F.hardswish_backward(grad, self),
    result="elementwise",
)
derivative(
    "hardswish_backward",
    grad_output=lambda grad, self: F.hardswish_backward(grad, self),
    self=lambda grad, grad_output, self: F.hardtanh_backward(
        grad * grad_output / 3.0, self, -3.0, 3.0
    ),
    result="elementwise",
)
derivative(
    "leaky_relu",
    self=lambda grad, self, negative_slope: F.leaky_relu_backward(
        grad, self, negative_slope, False
    ),
    result="elementwise",
)
derivative(
    "leaky_relu_backward",
    grad_output=lambda grad, self, negative_slope: F.leaky_relu_backward(
        grad, self, negative_slope, False
    ),
    result="elementwise",
)


def prelu_backward_backward(grads, grad_output, self, weight, needs):
    """Return the gradients of what `_prelu_kernel_backward` computes."""
    grad_self, grad_weight = grads
    positive = self > 0
    through_output = through_self = through_weight = None
    if grad_self is not None:
        through_output = F.where(positive, grad_self, weight * grad_self)
        through_weight = F.where(positive, 0.0, grad_self * grad_output)
    if grad_weight is not None:
        part = F.where(positive, 0.0, grad_weight * self)
        through_output = part if through_output is None else through_output + part
        through_self = F.where(positive, 0.0, grad_weight * grad_output)
    return through_output, through_self, through_weight


derivative(
    "_prelu_kernel",
    jointly={
        ("self", "weight"): lambda grad, self, weight, needs: F._prelu_kernel_backward(
            grad, self, weight
        )
    },
    result=lambda self_p, self_t, weight_p, weight_t: F.where(
        self_p > 0, self_t, weight_p * self_t + weight_t * self_p
    ),
)
derivative(
    "_prelu_kernel_backward",
    jointly={("grad_output", "self", "weight"): prelu_backward_backward},
)


# ---------------------------------------------------------------- exponential units


def elu_backward_of_self(grad, grad_output, alpha, scale, input_scale, is_result, self_or_result):
    """Return the second derivative of elu, in `self` or in the result as it was given."""
    x = self_or_result
    product = grad * grad_output
    if is_result:
        return F.where(x <= 0, product * input_scale, 0.0)
    curvature = F.exp(x * input_scale) * (alpha * scale * input_scale * input_scale)
    return F.where(x <= 0, product * curvature, 0.0)


derivative(
    "elu",
    self=lambda grad, self, alpha, scale, input_scale: F.elu_backward(
        grad, alpha, scale, input_scale, False, self
    ),
    result="elementwise",
)
derivative(
    "elu_backward",
    grad_output=lambda grad, alpha, scale, input_scale, is_result, self_or_result: F.elu_backward(
        grad, alpha, scale, input_scale, is_result, self_or_result
    ),
    self_or_result=elu_backward_of_self,
    result="elementwise",
)


def softplus_backward_of_self(grad, grad_output, self, beta, threshold):
    s = F.sigmoid(self * beta)
    slope = s * (1 - s) * beta
    return F.where(self * beta > threshold, 0.0, grad * grad_output * slope)


derivative(
    "softplus",
    self=lambda grad, self, beta, threshold: F.softplus_backward(grad, self, beta, threshold),
    result="elementwise",
)
derivative(
    "softplus_backward",
    grad_output=lambda grad, self, beta, threshold: F.softplus_backward(
        grad, self, beta, threshold
    ),
    self=softplus_backward_of_self,
    result="elementwise",
)


def log_sigmoid_backward_of_self(grad, grad_output, self):
    s = F.sigmoid(self)
    return -(grad * grad_output * s * (1 - s))


derivative(
    "log_sigmoid_forward",
    self=lambda grad, self, buffer: F.log_sigmoid_backward(grad, self, buffer),
)
derivative(
    "log_sigmoid_backward",
    grad_output=lambda grad, self, buffer: F.log_sigmoid_backward(grad, self, buffer),
    self=log_sigmoid_backward_of_self,
)


# ---------------------------------------------------------------- smooth units


def gelu_backward_of_self(grad, grad_output, self, approximate):
    """Return the second derivative of gelu times both gradients."""
    if approximate == "tanh":
        cubic = _SQRT_2_OVER_PI * _TANH_CUBIC
        z = self * (_SQRT_2_OVER_PI + cubic * self * self)
        slope = _SQRT_2_OVER_PI + 3 * cubic * self * self
        t = F.tanh(z)
        curvature = (1 - t * t) * (slope + 0.5 * self * (6 * cubic * self - 2 * t * slope * slope))
    else:
        density = F.exp(self * self * -0.5) * _INV_SQRT_2PI
        curvature = density * (2 - self * self)
    return grad * grad_output * curvature


derivative(
    "gelu",
    self=lambda grad, self, approximate: F.gelu_backward(grad, self, approximate=approximate),
    result="elementwise",
)
derivative(
    "gelu_backward",
    grad_output=lambda grad, self, approximate: F.gelu_backward(
        grad, self, approximate=approximate
    ),
    self=gelu_backward_of_self,
    result="elementwise",
)


def silu_self(grad, self):
    return F.silu_backward(grad, self.conj() if self.is_complex() else self)


def silu_backward_of_self(grad, grad_output, self):
    if self.is_complex():
        self, grad_output = self.conj(), grad_output.conj()
    s = F.sigmoid(self)
    return grad * grad_output * s * (1 - s) * (2 + self * (1 - 2 * s))


derivative("silu", self=silu_self, result="elementwise")
derivative(
    "silu_backward",
    grad_output=silu_self,
    self=silu_backward_of_self,
    result="elementwise",
)


def mish_backward_of_self(grad, grad_output, self):
    t = F.tanh(F.softplus(self))
    s = F.sigmoid(self)
    rest = 1 - t * t
    curvature = rest * s * (2 + self * (1 - s - 2 * t * s))
    return grad * grad_output * curvature


derivative("mish", self=lambda grad, self: F.mish_backward(grad, self), result="elementwise")
derivative(
    "mish_backward",
    grad_output=lambda grad, self: F.mish_backward(grad, self),
    self=mish_backward_of_self,
    result="elementwise",
)
derivative(
    "sigmoid_backward",
    grad_output=lambda grad, output: F.sigmoid_backward(grad, output.conj()),
    output=lambda grad, grad_output, output: grad.conj() * grad_output * (1 - 2 * output.conj()),
    result=lambda grad_output_p, grad_output_t, output_p, output_t: (
        F.sigmoid_backward(grad_output_t, output_p) + grad_output_p * ((1 - 2 * output_p) * output_t).conj()
    ),
)
derivative(
    "tanh_backward",
    grad_output=lambda grad, output: F.tanh_backward(grad, output.conj()),
    output=lambda grad, grad_output, output: grad.conj() * grad_output * (-2 * output.conj()),
    result=lambda grad_output_p, grad_output_t, output_p, output_t: (
        F.tanh_backward(grad_output_t, output_p) - grad_output_p * (2 * output_p * output_t).conj()
    ),
)


def logit_backward_of_self(grad, grad_output, self, eps):
    curvature = (2 * self - 1) / (self * (1 - self)) ** 2
    result = grad * grad_output * curvature
    if eps is None:
        return result
    return F.where((self < eps) | (self > 1 - eps), 0.0, result)


derivative(
    "logit_backward",
    grad_output=lambda grad, self, eps: F.logit_backward(grad, self, eps),
    self=logit_backward_of_self,
    result="elementwise",
)


def glu_backward_of_self(grad, grad_output, self, dim):
    a, b = F.chunk(self, 2, dim)
    grad_a, grad_b = F.chunk(grad, 2, dim)
    s = F.sigmoid(b)
    slope = grad_output * s * (1 - s)
    for_b = slope * (grad_a + grad_b * a * (1 - 2 * s))
    return F.cat([grad_b * slope, for_b], dim)


def glu_backward_of_grad_output(grad, self, dim):
    a, b = F.chunk(self, 2, dim)
    grad_a, grad_b = F.chunk(grad, 2, dim)
    s = F.sigmoid(b)
    return s * (grad_a + grad_b * a * (1 - s))


def glu_tangent(self_p, self_t, dim):
    return glu_backward_of_grad_output(self_t, self_p, dim)


derivative(
    "glu", self=lambda grad, self, dim: F.glu_backward(grad, self, dim), result=glu_tangent
)
derivative(
    "glu_backward", grad_output=glu_backward_of_grad_output, self=glu_backward_of_self
)


# ---------------------------------------------------------------- softmax


def softmax_tangent(self_t, result, dim):
    return result * (self_t - (result * self_t).sum(dim, keepdim=True))


def log_softmax_tangent(self_t, result, dim):
    return self_t - (F.exp(result) * self_t).sum(dim, keepdim=True)


def softmax_backward_of_output(grad, grad_output, output, dim):
    inner = (grad_output * output).sum(dim, keepdim=True)
    return grad * (grad_output - inner) - grad_output * (grad * output).sum(dim, keepdim=True)


def log_softmax_backward_of_output(grad, grad_output, output, dim):
    return -(grad * F.exp(output) * grad_output.sum(dim, keepdim=True))


derivative(
    "_softmax",
    self=lambda grad, result, dim: F._softmax_backward_data(grad, result, dim, result.dtype),
    result=softmax_tangent,
)
derivative(
    "_softmax_backward_data",
    grad_output=lambda grad, output, dim, input_dtype: F._softmax_backward_data(
        grad.to(output.dtype), output, dim, input_dtype
    ),
    output=softmax_backward_of_output,
)
derivative(
    "_log_softmax",
    self=lambda grad, result, dim: F._log_softmax_backward_data(
        grad, result, dim, result.dtype
    ),
    result=log_softmax_tangent,
)
derivative(
    "_log_softmax_backward_data",
    grad_output=lambda grad, output, dim: grad
    - (grad * F.exp(output)).sum(dim, keepdim=True),
    output=log_softmax_backward_of_output,
)
