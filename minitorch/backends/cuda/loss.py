"""The negative log likelihood: losses, their sum and the check of the classes in one launch."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minitorch.backends import NoKernel
from minitorch.backends.cuda import checks, programs
from minitorch.backends.cuda.library import library
from minitorch.backends.cuda.overrides import override
from minitorch.backends.cuda.programs import floating, rows

_NONE = 0


def _operands(self: Any, target: Any, weight: Any) -> tuple:
    """Return (classes, rest) and the row-major operands."""
    floating(self, weight)
    shape = self.shape if self.ndim != 1 else (1, *self.shape)
    if self.ndim == 1:
        fits = target.size == 1 and target.ndim <= 1
    else:
        fits = self.ndim > 1 and target.shape == (shape[0], *shape[2:])
    if not fits or 0 in shape or (weight is not None and weight.shape != (shape[1],)):
        raise NoKernel("operands that do not fit, or none")
    checks.index_type(target)
    return shape[1], prod(shape[2:]), rows(self), rows(target), None if weight is None else rows(weight)


def _forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple:
    classes, rest, x, t, w = _operands(self, target, weight)
    loss = programs.empty(target.shape if reduction == _NONE else (), self.dtype)
    total, found = programs.empty((), self.dtype), checks.report()
    function = programs.kernel("loss", "nll_forward", T=self.dtype, I=t.dtype)
    threads = programs.block_for(t.size)
    programs.launch(
        function, 1, threads, x, t, w, loss, total, found, t.size, classes, rest, ignore_index, np.int32(reduction)
    )
    value = checks.wrong(found)
    if value is not None:
        raise IndexError(
            f"nll_loss: Target {value} is out of bounds. Classes are 0 to {classes - 1}, and ignore_index is {ignore_index}."
        )
    return loss, total


@override("nll_loss_forward")
def nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple:
    if self.ndim > 2:
        raise NoKernel("more than two dimensions")
    return _forward(self, target, weight, reduction, ignore_index)


@override("nll_loss2d_forward")
def nll_loss2d_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple:
    if self.ndim != 4:
        raise NoKernel("not four dimensions")
    return _forward(self, target, weight, reduction, ignore_index)


@override("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(
    grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total_weight: Any
) -> Any:
    classes, rest, _, t, w = _operands(self, target, weight)
    floating(self, grad_output, total_weight)
    if grad_output.size != (t.size if reduction == _NONE else 1) or total_weight.size != 1:
        raise NoKernel("a gradient of another shape")
    result = library().zeros(self.shape, self.dtype)
    function = programs.kernel("loss", "nll_backward", T=self.dtype, I=t.dtype)
    args = (
        rows(grad_output),
        t,
        w,
        rows(total_weight),
        result,
        t.size,
        classes,
        rest,
        ignore_index,
        np.int32(reduction),
    )
    programs.over(function, t.size, *args)
    return result
