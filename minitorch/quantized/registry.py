"""The table of kernels of the Quantized keys, filled by `kernels/` and registered by `registration`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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
