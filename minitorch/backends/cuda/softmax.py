"""Softmax, its logarithm and their derivatives: one pass over each row, in place of five calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.backends import NoKernel
from minitorch.backends.cuda import programs
from minitorch.backends.cuda.overrides import override
from minitorch.backends.cuda.programs import floating, outer_inner, rows

_SIDE_BY_SIDE = 32  # rows that lie so are walked by a thread each


def _run(name: str, inputs: tuple, result: Any, dim: int) -> Any:
    outer, n, inner = outer_inner(result.shape, dim)
    if not result.size:
        return result
    types = {"T": inputs[0].dtype, "O": result.dtype}
    count = outer * inner
    args = (*[rows(a) for a in inputs], result, count, n, inner)
    if inner >= _SIDE_BY_SIDE:
        programs.over(programs.kernel("softmax", name + "_columns", **types), count, *args)
    else:
        programs.launch(
            programs.kernel("softmax", name, **types), min(count, programs.GRID), programs.block_for(n), *args
        )
    return result


def _forward(name: str, x: Any, dim: int, half_to_float: bool) -> Any:
    floating(x)
    return _run(name, (x,), programs.empty(x.shape, np.dtype(np.float32) if half_to_float else x.dtype), dim)


@override("_softmax")
def softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    return _forward("softmax", self, dim, half_to_float)


@override("_log_softmax")
def log_softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    return _forward("log_softmax", self, dim, half_to_float)


def _backward(name: str, grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    floating(output, grad_output)
    if grad_output.shape != output.shape:
        raise NoKernel("gradient and result differ in shape")
    return _run(name, (grad_output, output), programs.empty(output.shape, input_dtype.np), dim)


@override("_softmax_backward_data")
def softmax_backward(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    return _backward("softmax_backward", grad_output, output, dim, input_dtype)


@override("_log_softmax_backward_data")
def log_softmax_backward(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    return _backward("log_softmax_backward", grad_output, output, dim, input_dtype)
