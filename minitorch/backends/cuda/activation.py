"""Activation functions that would be chains of calls, and dropout: one launch each."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.backends import NoKernel
from minitorch.backends.cuda import programs
from minitorch.backends.cuda.overrides import override
from minitorch.backends.cuda.programs import floating, rows
from minitorch.ops.shapes.random import check_dropout


def _run(name: str, *operands: Any) -> Any:
    x = operands[-1]  # before it comes a gradient, which may be an expanded number
    floating(*operands)
    if not x.flags.c_contiguous or any(a.shape != x.shape for a in operands):
        raise NoKernel("an operand that is not row-major, or several shapes")
    result = programs.empty(x.shape, x.dtype)
    programs.over(programs.kernel("activation", name, T=x.dtype), x.size, *[rows(a) for a in operands], result, x.size)
    return result


def _approximation(approximate: str) -> str:
    if approximate not in ("none", "tanh"):
        raise NoKernel(f"the approximation {approximate!r}")
    return "" if approximate == "none" else "_tanh"


@override("gelu")
def gelu(self: Any, *, approximate: str = "none") -> Any:
    return _run("gelu" + _approximation(approximate), self)


@override("gelu_backward")
def gelu_backward(grad_output: Any, self: Any, *, approximate: str = "none") -> Any:
    return _run(f"gelu{_approximation(approximate)}_backward", grad_output, self)


@override("silu")
def silu(self: Any) -> Any:
    return _run("silu", self)


@override("silu_backward")
def silu_backward(grad_output: Any, self: Any) -> Any:
    return _run("silu_backward", grad_output, self)


@override("native_dropout")
def native_dropout(input: Any, p: float, train: bool | None) -> Any:
    """Draw what `PhiloxGenerator.bernoulli_scalar` draws, without the numbers in between."""
    floating(input)
    if train is False or not input.flags.c_contiguous:
        raise NoKernel("no dropout, or not row-major")
    check_dropout(p)
    from minitorch.backends import backend_of

    generator: Any = backend_of("cuda").default_generator(input.device.id)  # type: ignore[union-attr]
    result, mask = programs.empty(input.shape, input.dtype), programs.empty(input.shape, np.dtype(bool))
    seed, first = generator.take(input.size)
    scale = float(input.dtype.type(0.0 if p == 1 else 1 / (1 - p)))
    keys = np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32)
    function = programs.kernel("dropout", "dropout", T=input.dtype)
    programs.over(function, input.size, input, result, mask, input.size, first, *keys, float(1 - p), scale)
    return result, mask
