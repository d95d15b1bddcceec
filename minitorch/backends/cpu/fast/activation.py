"""Elementwise functions in one pass; see `minitorch.backends.array.activation` for the formulas."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from minitorch.backends.array.special import ERF_TANH
from minitorch.backends.cpu.fast.jit import ONE, ZERO, exp32, f, fits, log32, loop

# Note [Gelu by one exponential], in backends/array/activation.py
_G = [f(-c / (math.sqrt(0.5) * 2.0 ** (len(ERF_TANH) - 1 - i))) for i, c in enumerate(ERF_TANH)]
_G0, _G1, _G2, _G3, _G4, _G5, _G6 = _G
_CUBIC = f(-2.0 * math.sqrt(2.0 / math.pi) * 0.044715)
_LINEAR = f(-2.0 * math.sqrt(2.0 / math.pi))
_SLOPE_CUBIC = f(6.0 * math.sqrt(2.0 / math.pi) * 0.044715)
_SLOPE_LINEAR = f(2.0 * math.sqrt(2.0 / math.pi))
_INV_SQRT_2PI = f(1.0 / math.sqrt(2.0 * math.pi))
_MINUS_HALF = f(-0.5)


@loop
def exp_loop(x, out):
    for i in prange(x.size):
        out[i] = exp32(x[i])


@loop
def log_loop(x, out):
    for i in prange(x.size):
        out[i] = log32(x[i])


@loop
def relu_loop(x, out):
    for i in prange(x.size):
        out[i] = ZERO if x[i] < ZERO else x[i]


@loop
def sigmoid_loop(x, out):
    for i in prange(x.size):
        out[i] = ONE / (ONE + exp32(-x[i]))


@loop
def silu_loop(x, out):
    for i in prange(x.size):
        out[i] = x[i] / (ONE + exp32(-x[i]))


@loop
def gelu_loop(x, out):
    for i in prange(x.size):
        v = x[i]
        s = v * v
        p = (((((_G0 * s + _G1) * s + _G2) * s + _G3) * s + _G4) * s + _G5) * s + _G6
        out[i] = v / (ONE + exp32(v * p))


@loop
def gelu_tanh_loop(x, out):
    for i in prange(x.size):
        v = x[i]
        out[i] = v / (ONE + exp32(v * (v * v * _CUBIC + _LINEAR)))


@loop
def sigmoid_backward_loop(grad, y, out):
    for i in prange(grad.size):
        out[i] = grad[i] * ((ONE - y[i]) * y[i])


@loop
def tanh_backward_loop(grad, y, out):
    for i in prange(grad.size):
        out[i] = grad[i] * (ONE - y[i] * y[i])


@loop
def silu_backward_loop(grad, x, out):
    for i in prange(grad.size):
        s = ONE / (ONE + exp32(-x[i]))
        out[i] = grad[i] * (s * (ONE + x[i] * (ONE - s)))


@loop
def gelu_backward_loop(grad, x, out):
    for i in prange(grad.size):
        v = x[i]
        s = v * v
        p = (((((_G0 * s + _G1) * s + _G2) * s + _G3) * s + _G4) * s + _G5) * s + _G6
        cdf = ONE / (ONE + exp32(v * p))
        out[i] = grad[i] * (cdf + v * (exp32(s * _MINUS_HALF) * _INV_SQRT_2PI))


@loop
def gelu_tanh_backward_loop(grad, x, out):
    for i in prange(grad.size):
        v = x[i]
        q = v * v
        s = ONE / (ONE + exp32(v * (q * _CUBIC + _LINEAR)))
        out[i] = grad[i] * (s + v * (q * _SLOPE_CUBIC + _SLOPE_LINEAR) * (ONE - s) * s)


@loop
def threshold_backward_loop(grad, x, threshold, out):
    for i in prange(grad.size):
        out[i] = ZERO if x[i] <= threshold else grad[i]


def unary(run):
    """Return the kernel that runs a loop of one operand."""

    def unary_kernel(xp, self):
        if not fits(self):
            return NotImplemented
        out = xp.empty(self.shape, self.dtype)
        run(self.reshape(-1), out.reshape(-1))
        return out

    return unary_kernel


def binary(run):
    """Return the kernel that runs a loop of two operands of one shape."""

    def binary_kernel(xp, grad_output, self):
        if not fits(grad_output, self) or grad_output.shape != self.shape:
            return NotImplemented
        out = xp.empty(self.shape, self.dtype)
        run(grad_output.reshape(-1), self.reshape(-1), out.reshape(-1))
        return out

    return binary_kernel


_gelu = {"none": unary(gelu_loop), "tanh": unary(gelu_tanh_loop)}
_gelu_backward = {"none": binary(gelu_backward_loop), "tanh": binary(gelu_tanh_backward_loop)}


def gelu_kernel(xp, self, *, approximate="none"):
    kernel = _gelu.get(approximate)
    return NotImplemented if kernel is None else kernel(xp, self)


def gelu_backward_kernel(xp, grad_output, self, *, approximate="none"):
    kernel = _gelu_backward.get(approximate)
    return NotImplemented if kernel is None else kernel(xp, grad_output, self)


def threshold_backward_kernel(xp, grad_output, self, threshold):
    if not fits(grad_output, self) or grad_output.shape != self.shape:
        return NotImplemented
    out = xp.empty(self.shape, self.dtype)
    threshold_backward_loop(grad_output.reshape(-1), self.reshape(-1), np.float32(threshold), out.reshape(-1))
    return out


KERNELS = {
    "exp": unary(exp_loop),
    "log": unary(log_loop),
    "relu": unary(relu_loop),
    "sigmoid": unary(sigmoid_loop),
    "silu": unary(silu_loop),
    "gelu": gelu_kernel,
    "sigmoid_backward": binary(sigmoid_backward_loop),
    "silu_backward": binary(silu_backward_loop),
    "gelu_backward": gelu_backward_kernel,
    "tanh_backward": binary(tanh_backward_loop),
    "threshold_backward": threshold_backward_kernel,
}
