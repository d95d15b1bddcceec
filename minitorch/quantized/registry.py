"""The table of kernels of the Quantized keys, filled by `kernels/` and registered by `registration`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.dispatch.keys import AUTOCAST_KEYS
from minitorch.dispatch.local_state import ExcludeKeysGuard, current
from minitorch.dispatch.operator import PythonKernel


class ExactKernel(PythonKernel):
    """A kernel that computes with dense operators, whose sums are exact in the dtypes it takes: autocast is off in it."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: Any) -> Any:
        if current().excluded & AUTOCAST_KEYS == AUTOCAST_KEYS:  # as it is by default
            return PythonKernel.run(self, op, entry, args, kwargs)
        with ExcludeKeysGuard(AUTOCAST_KEYS):
            return PythonKernel.run(self, op, entry, args, kwargs)


class NoQuantizedKernel(Exception):
    """Raised by a kernel for arguments that it is not for: the operator then runs as one without a kernel."""


BACKENDS = ("CPU", "CUDA", "XPU", "PrivateUse1", "PrivateUse2", "PrivateUse3", "Meta")
"""The backends that have quantized tensors; kernels are made of dense operators, and so are the same for all."""

KERNELS: dict[str, Callable[..., Any]] = {}
"""Operator -> kernel for quantized arguments."""
DENSE_KERNELS: dict[str, Callable[..., Any]] = {}
"""Operator -> kernel for ordinary arguments, of what makes quantized tensors; `ops.composite.quantized` calls for it."""


def _registrar(table: dict[str, Callable[..., Any]], names: tuple[str, ...]) -> Callable[[Any], Any]:
    def register(fn: Any) -> Any:
        for name in names:
            if name in table:
                raise ValueError(f"{name} has a quantized kernel already")
            table[name] = fn
        return fn

    return register


def quantized_kernel(*names: str) -> Callable[[Any], Any]:
    """Register the decorated function for operators with quantized arguments, on all backends."""
    return _registrar(KERNELS, names)


def dense_kernel(*names: str) -> Callable[[Any], Any]:
    """Register the decorated function for operators that make quantized tensors of ordinary ones."""
    return _registrar(DENSE_KERNELS, names)
