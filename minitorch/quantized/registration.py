"""Registers the kernels of quantized tensors; called when the first one is made."""

from __future__ import annotations

from importlib import import_module

from minitorch.dispatch.dispatcher import register_fallback
from minitorch.dispatch.operator import OPERATORS, FallbackKernel, PythonKernel
from minitorch.quantized.fallback import quantized_fallback
from minitorch.quantized.registry import BACKENDS, DENSE_KERNELS, KERNELS

_FAMILIES = ("construction", "views")


def register() -> None:
    """Register the kernels, the fallback for operators without one, and the operators of ``minitorch.ops.quantized``."""
    for family in _FAMILIES:
        import_module(f"minitorch.quantized.kernels.{family}")
    for name, fn in DENSE_KERNELS.items():
        OPERATORS["aten::" + name].register("CompositeExplicitAutograd", PythonKernel(fn))
    for name, fn in KERNELS.items():
        op = OPERATORS["aten::" + name]
        for backend in BACKENDS:
            op.register("Quantized" + backend, PythonKernel(fn))
    for backend in BACKENDS:
        register_fallback("Quantized" + backend, FallbackKernel(quantized_fallback))
