"""Activation functions as one chain each, with the functions that OpenCL C has and NumPy lacks."""

from __future__ import annotations

import math

from minitorch.backends import NoKernel
from minitorch.backends.opencl.array import CLArray
from minitorch.backends.opencl.ctypes import FLOAT32, FLOAT64, is_narrow
from minitorch.backends.opencl.expression import lazy
from minitorch.backends.opencl.overrides import override
from minitorch.backends.opencl.pointwise import cast
from minitorch.backends.opencl.ufuncs import UFUNCS, where

exp, maximum = UFUNCS["exp"], UFUNCS["maximum"]


def _real_function(op: str, a: CLArray) -> CLArray:
    return lazy(op, (a,), a.dtype, a.device)


def _wide(*arrays: CLArray) -> list[CLArray]:
    """Return floating operands of one dtype in the type to compute in.

    Raises
    ------
    NoKernel
        For other operands.
    """
    dtype = arrays[0].dtype
    if any([a.dtype != dtype for a in arrays]):
        raise NoKernel("operands of several dtypes")
    if is_narrow(dtype):
        return [cast(a, FLOAT32) for a in arrays]
    if dtype not in (FLOAT32, FLOAT64):
        raise NoKernel("not a floating type")
    return list(arrays)


def _sigmoid(x):
    return _real_function("sigmoid", x)


@override("relu")
def relu(self):
    """Return the larger of each element and 0; NaN stays NaN."""
    if self.dtype.kind in "cb":
        raise NoKernel("not an ordered type")
    return maximum(self, self.dtype.type(0))


@override("threshold_backward")
def threshold_backward(grad_output, self, threshold):
    """Return the gradient where the input was above a threshold."""
    if self.dtype.kind not in "fV" or grad_output.dtype.kind not in "fV":
        raise NoKernel("not a floating type")
    (x,) = _wide(self)
    return where(x <= threshold, grad_output.dtype.type(0), grad_output)


@override("sigmoid")
def sigmoid(self):
    """Return ``1 / (1 + exp(-x))``."""
    (x,) = _wide(self)
    return cast(_sigmoid(x), self.dtype)


@override("sigmoid_backward")
def sigmoid_backward(grad_output, output):
    """Return the gradient of a sigmoid from its result."""
    g, y = _wide(grad_output, output)
    return cast(g * (1 - y) * y, grad_output.dtype)


@override("tanh_backward")
def tanh_backward(grad_output, output):
    """Return the gradient of tanh from its result."""
    g, y = _wide(grad_output, output)
    return cast(g * (1 - y * y), grad_output.dtype)


@override("silu")
def silu(self):
    """Return ``x * sigmoid(x)``."""
    (x,) = _wide(self)
    return cast(x / (exp(-x) + 1), self.dtype)


@override("silu_backward")
def silu_backward(grad_output, self):
    """Return the gradient of ``x * sigmoid(x)``."""
    g, x = _wide(grad_output, self)
    s = _sigmoid(x)
    return cast(g * s * (1 + x * (1 - s)), grad_output.dtype)


@override("gelu")
def gelu(self, *, approximate="none"):
    """Return ``x`` times the normal distribution function, or its approximation by tanh."""
    (x,) = _wide(self)
    if approximate == "tanh":
        inner = (x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)
        return cast(x * _sigmoid(inner * 2), self.dtype)  # (1 + tanh u) / 2, without the loss where u is far below 0
    if approximate != "none":
        raise NoKernel("unknown approximation")
    return cast(x * 0.5 * _real_function("erfc", x * -math.sqrt(0.5)), self.dtype)


@override("gelu_backward")
def gelu_backward(grad_output, self, *, approximate="none"):
    """Return the gradient of gelu."""
    g, x = _wide(grad_output, self)
    if approximate == "tanh":
        beta = math.sqrt(2 / math.pi)
        s = _sigmoid((x + x * x * x * 0.044715) * (2 * beta))
        slope = (x * x * (3 * 0.044715) + 1) * (2 * beta)
        result = g * (s + x * s * (1 - s) * slope)
    elif approximate == "none":
        below = _real_function("erfc", x * -math.sqrt(0.5)) * 0.5
        density = exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))
        result = g * (below + x * density)
    else:
        raise NoKernel("unknown approximation")
    return cast(result, grad_output.dtype)


def _special(name: str, op: str):
    @override(name)
    def function(self):
        if self.dtype.kind in "iub":
            return _real_function(op, cast(self, FLOAT32))
        (x,) = _wide(self)
        return cast(_real_function(op, x), self.dtype)

    function.__doc__ = f"Return ``{op}`` of each element, by the function of OpenCL C."


_special("erf", "erf")
_special("erfc", "erfc")
