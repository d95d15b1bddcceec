"""Elementwise functions in one pass; see `minitorch.backends.cpu.loops`."""

from __future__ import annotations

import numpy as np

from minitorch.backends.cpu.fast.loops_in_use import LOOPS, fits


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


_gelu = {"none": unary(LOOPS.gelu_loop), "tanh": unary(LOOPS.gelu_tanh_loop)}
_gelu_backward = {"none": binary(LOOPS.gelu_backward_loop), "tanh": binary(LOOPS.gelu_tanh_backward_loop)}


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
    LOOPS.threshold_backward_loop(grad_output.reshape(-1), self.reshape(-1), np.float32(threshold), out.reshape(-1))
    return out


KERNELS = {
    "exp": unary(LOOPS.exp_loop),
    "log": unary(LOOPS.log_loop),
    "relu": unary(LOOPS.relu_loop),
    "sigmoid": unary(LOOPS.sigmoid_loop),
    "silu": unary(LOOPS.silu_loop),
    "gelu": gelu_kernel,
    "sigmoid_backward": binary(LOOPS.sigmoid_backward_loop),
    "silu_backward": binary(LOOPS.silu_backward_loop),
    "gelu_backward": gelu_backward_kernel,
    "tanh_backward": binary(LOOPS.tanh_backward_loop),
    "threshold_backward": threshold_backward_kernel,
}
