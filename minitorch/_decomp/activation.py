"""Activations and their gradients."""

from __future__ import annotations

import math

from minitorch._decomp.common import decomposition, widened
from minitorch.ops import functions as F

_KAPPA = math.sqrt(2 / math.pi)


@decomposition("gelu")
def gelu(self, *, approximate="none"):
    if approximate == "tanh":
        return 0.5 * self * (1 + F.tanh(_KAPPA * (self + 0.044715 * self * self * self)))
    return 0.5 * self * (1 + F.erf(self * math.sqrt(0.5)))


@decomposition("gelu_backward")
def gelu_backward(grad_output, self, *, approximate="none"):
    if approximate == "tanh":
        t = F.tanh(_KAPPA * (self + 0.044715 * self * self * self))
        inner = _KAPPA * (1 + 3 * 0.044715 * self * self)
        return grad_output * (0.5 * (1 + t) + 0.5 * self * (1 - t * t) * inner)
    cdf = 0.5 * (1 + F.erf(self * math.sqrt(0.5)))
    pdf = F.exp(self * self * -0.5) * (1 / math.sqrt(2 * math.pi))
    return grad_output * (cdf + self * pdf)


@decomposition("silu")
def silu(self):
    return self * F.sigmoid(self)


@decomposition("silu_backward")
def silu_backward(grad_output, self):
    s = F.sigmoid(self)
    return grad_output * s * (1 + self * (1 - s))


@decomposition("mish")
def mish(self):
    return self * F.tanh(F.softplus(self))


@decomposition("sigmoid_backward")
def sigmoid_backward(grad_output, output):
    return grad_output * (output * (1 - output)).conj_physical()


@decomposition("tanh_backward")
def tanh_backward(grad_output, output):
    return grad_output * (1 - output * output).conj_physical()


@decomposition("threshold_backward", rounds_once=False)
def threshold_backward(grad_output, self, threshold):
    return F.where(self <= threshold, 0, grad_output)


@decomposition("hardtanh", rounds_once=False)
def hardtanh(self, min_val=-1, max_val=1):
    return F.clamp(self, min_val, max_val)


@decomposition("hardtanh_backward", rounds_once=False)
def hardtanh_backward(grad_output, self, min_val, max_val):
    return F.where((self <= min_val) | (self >= max_val), 0, grad_output)


@decomposition("hardsigmoid")
def hardsigmoid(self):
    return F.clamp(self + 3, 0, 6) / 6


@decomposition("hardsigmoid_backward")
def hardsigmoid_backward(grad_output, self):
    return F.where((self > -3) & (self < 3), grad_output * (1 / 6), 0)


@decomposition("hardswish")
def hardswish(self):
    return self * F.clamp(self + 3, 0, 6) / 6


@decomposition("leaky_relu")
def leaky_relu(self, negative_slope=0.01):
    return F.where(self > 0, self, self * negative_slope)


@decomposition("leaky_relu_backward")
def leaky_relu_backward(grad_output, self, negative_slope, self_is_result):
    return F.where(self > 0, grad_output, grad_output * negative_slope)


@decomposition("elu")
def elu(self, alpha=1, scale=1, input_scale=1):
    return F.where(self > 0, self * scale, F.expm1(self * input_scale) * (alpha * scale))


@decomposition("elu_backward")
def elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result):
    negative = alpha * scale
    if is_result:
        slope = (self_or_result + negative) * input_scale
    else:
        slope = F.exp(self_or_result * input_scale) * (input_scale * negative)
    return F.where(self_or_result <= 0, grad_output * slope, grad_output * scale)


@decomposition("softplus")
def softplus(self, beta=1, threshold=20):
    scaled = self * beta
    return F.where(scaled > threshold, self, F.log1p(F.exp(scaled)) / beta)


@decomposition("softplus_backward")
def softplus_backward(grad_output, self, beta, threshold):
    scaled = self * beta
    z = F.exp(scaled)
    return F.where(scaled > threshold, grad_output, grad_output * z / (z + 1))


@decomposition("glu")
def glu(self, dim=-1):
    a, b = F.chunk(self, 2, dim)
    return a * F.sigmoid(b)


@decomposition("glu_backward")
def glu_backward(grad_output, self, dim):
    a, b = F.chunk(self, 2, dim)
    s = F.sigmoid(b)
    first = grad_output * s
    return F.cat([first, first * (1 - s) * a], dim)


@decomposition("_softmax", rounds_once=False)
def softmax(self, dim, half_to_float):
    x = widened(self)
    if x.numel() == 0:
        result = F.exp(x)
    else:
        e = F.exp(x - F.amax(x, [dim], True))
        result = e / F.sum(e, [dim], True)
    return result if half_to_float else result.to(self.dtype)


@decomposition("_log_softmax", rounds_once=False)
def log_softmax(self, dim, half_to_float):
    x = widened(self)
    if x.numel() == 0:
        result = x
    else:
        shifted = x - F.amax(x, [dim], True)
        result = shifted - F.log(F.sum(F.exp(shifted), [dim], True))
    return result if half_to_float else result.to(self.dtype)


@decomposition("_softmax_backward_data", rounds_once=False)
def softmax_backward(grad_output, output, dim, input_dtype):
    grad, result = widened(grad_output), widened(output)
    weighted = grad * result
    return (weighted - result * F.sum(weighted, [dim], True)).to(input_dtype)


@decomposition("_log_softmax_backward_data", rounds_once=False)
def log_softmax_backward(grad_output, output, dim, input_dtype):
    grad, result = widened(grad_output), widened(output)
    return (grad - F.exp(result) * F.sum(grad, [dim], True)).to(input_dtype)
