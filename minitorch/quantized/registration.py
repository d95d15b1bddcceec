"""Registers the kernels of quantized tensors; called when the first one is made."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from minitorch.dispatch.dispatcher import register_fallback
from minitorch.dispatch.operator import OPERATORS, FallbackKernel
from minitorch.quantized.fallback import quantized_fallback
from minitorch.quantized.registry import BACKENDS, DENSE_KERNELS, KERNELS, ExactKernel, NoQuantizedKernel

_LIBRARY = ("pointwise", "products", "convolutions", "embeddings", "recurrent")
_FAMILIES = ("construction", "views", "selection", "pointwise", "pooling", "products")


class QuantizedKernel(ExactKernel):
    """A kernel of `registry.KERNELS`; what it is not for goes to the fallback."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: Any) -> Any:
        try:
            return ExactKernel.run(self, op, entry, args, kwargs)
        except NoQuantizedKernel:
            return quantized_fallback(op, *args, **(kwargs or {}))


def register() -> None:
    """Register the kernels, the fallback for operators without one, and the operators of ``minitorch.ops.quantized``."""
    for family in _FAMILIES:
        import_module(f"minitorch.quantized.kernels.{family}")
    for family in _LIBRARY:
        import_module(f"minitorch.quantized.library.{family}")
    for name, fn in DENSE_KERNELS.items():
        OPERATORS["aten::" + name].register("CompositeExplicitAutograd", ExactKernel(fn))
    for name, fn in KERNELS.items():
        op = OPERATORS["aten::" + name]
        for backend in BACKENDS:
            op.register("Quantized" + backend, QuantizedKernel(fn))
    for backend in BACKENDS:
        register_fallback("Quantized" + backend, FallbackKernel(quantized_fallback))
