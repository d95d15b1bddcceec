"""Kernels of softmax, its logarithm and their derivatives."""

from __future__ import annotations

from math import prod

from minitorch.backends import NoKernel
from minitorch.backends.opencl.array import CLArray, empty
from minitorch.backends.opencl.ctypes import is_narrow
from minitorch.backends.opencl.overrides import override
from minitorch.backends.opencl.row_programs import FULL, Let, Loop, contiguous, result_dtype, run

_EXPONENTIALS = Loop(maximum={"m": "$x"})
# Numbers that are rounded when stored are computed twice.
_SOFTMAX_NARROW = (
    _EXPONENTIALS,
    Loop(add={"s": "exp($x - m)"}),
    Let("q", "1 / s"),
    Loop(store={"y": "exp($x - m) * q"}),
)
_SOFTMAX = (
    _EXPONENTIALS,
    Loop({"e": "exp($x - m)"}, add={"s": "e"}, store={"y": "e"}),
    Let("q", "1 / s"),
    Loop(store={"y": "$y * q"}),
)
_LOG_SOFTMAX = (
    _EXPONENTIALS,
    Loop(add={"s": "exp($x - m)"}),
    Let("q", "log(s)"),
    Loop(store={"y": "($x - m) - q"}),
)
_SOFTMAX_BACKWARD = (
    Loop(add={"s": "$g * $y"}),
    Loop(store={"d": "($g - s) * $y"}),
)
_LOG_SOFTMAX_BACKWARD = (
    Loop(add={"s": "$g"}),
    Loop(store={"d": "$g - exp($y) * s"}),
)


def rows_of(shape, dim: int) -> tuple[int, int, int]:
    """Return (outer, n, inner) of rows along a dimension.

    Raises
    ------
    NoKernel
        If there is no such dimension.
    """
    ndim = len(shape)
    if not -max(ndim, 1) <= dim < max(ndim, 1):
        raise NoKernel(f"there is no dimension {dim}")
    if ndim == 0:
        return 1, 1, 1
    dim %= ndim
    return prod(shape[:dim]), shape[dim], prod(shape[dim + 1 :])


def _forward(name, program, x: CLArray, dim, half_to_float) -> CLArray:
    dtype = result_dtype(x)
    outer, n, inner = rows_of(x.shape, dim)
    result = empty(x.shape, dtype if half_to_float else x.dtype, x.device)
    if 0 in x.shape:
        return result.settle()
    x = contiguous(x)
    run(name, program, {"x": (FULL, x, False), "y": (FULL, result, True)}, {}, dtype, outer, n, inner, x.device)
    return result


@override("_softmax")
def softmax(self, dim, half_to_float):
    narrow = is_narrow(self.dtype) and not half_to_float
    return _forward("softmax_narrow" if narrow else "softmax", _SOFTMAX_NARROW if narrow else _SOFTMAX, self, dim, half_to_float)


@override("_log_softmax")
def log_softmax(self, dim, half_to_float):
    return _forward("log_softmax", _LOG_SOFTMAX, self, dim, half_to_float)


def _backward(name, program, grad_output, output, dim, input_dtype) -> CLArray:
    dtype = result_dtype(output)
    outer, n, inner = rows_of(output.shape, dim)
    if grad_output.shape != output.shape or result_dtype(grad_output) != dtype:
        raise NoKernel("gradient and result differ in shape or type")
    result = empty(output.shape, input_dtype.np, output.device)
    if 0 in output.shape:
        return result.settle()
    arrays = {"g": (FULL, contiguous(grad_output), False), "y": (FULL, contiguous(output), False), "d": (FULL, result, True)}
    run(name, program, arrays, {}, dtype, outer, n, inner, output.device)
    return result


@override("_softmax_backward_data")
def softmax_backward_data(grad_output, output, dim, input_dtype):
    return _backward("softmax_backward", _SOFTMAX_BACKWARD, grad_output, output, dim, input_dtype)


@override("_log_softmax_backward_data")
def log_softmax_backward_data(grad_output, output, dim, input_dtype):
    return _backward("log_softmax_backward", _LOG_SOFTMAX_BACKWARD, grad_output, output, dim, input_dtype)
