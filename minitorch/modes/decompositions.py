"""Operators that are one kernel here and a composite in PyTorch: modes see what they consist of.

``linear`` has a kernel and a derivative of its own, because a call of one operator costs less than
three.  Handlers, and tracers built on them, are promised the pieces (spec P9): where a handler will
see the call and autograd takes part in it, the kernel here runs in place of PythonTLSSnapshot's
fallback and makes fresh calls of the pieces.  Below autograd the operator is seen whole, as a
composite is there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minitorch.dispatch.keys import AUTOGRAD_KEYS
from minitorch.dispatch.operator import OPERATORS, Entry
from minitorch.modes.python_key import SnapshotKernel
from minitorch.ops import functions as F


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """Multiply by the transposed weight, and add the bias."""
    if bias is not None and input.ndim == 2:
        return F.addmm(bias, input, F.t(weight))
    if bias is not None and bias.ndim == 1 and input.ndim and input.is_contiguous():
        rows = F.view(input, [math.prod(input.shape[:-1]), input.shape[-1]])
        product = F.addmm(bias, rows, F.t(weight))
        return F.view(product, [*input.shape[:-1], weight.shape[0]])
    product = F.matmul(input, F.t(weight))
    return product if bias is None else F.add(product, bias)


def max_pool2d(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Pool, and forget where the maxima were."""
    return F.max_pool2d_with_indices(self, *args, **kwargs)[0]


def square(self: Any) -> Any:
    """Raise to the power of two."""
    return F.pow(self, 2)


class DecomposingKernel(SnapshotKernel):
    """Runs a composite where autograd takes part in a call, and passes the call on elsewhere."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        if entry.key_set & AUTOGRAD_KEYS:
            return self.fn(*args, **(kwargs or {}))
        return SnapshotKernel.run(self, op, entry, args, kwargs)


DECOMPOSED: dict[str, Callable[..., Any]] = {"linear": linear, "max_pool2d": max_pool2d, "square": square}


def register() -> None:
    """Register the kernels."""
    for name, fn in DECOMPOSED.items():
        OPERATORS["aten::" + name].register("PythonTLSSnapshot", DecomposingKernel(fn))
