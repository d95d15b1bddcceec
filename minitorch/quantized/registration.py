"""Registers the kernels of quantized tensors; called when the first one is made."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from minitorch.dispatch.keys import FUNCTIONALITIES
from minitorch.dispatch.operator import OPERATORS, Kernel, missing_handlers
from minitorch.ops.derived import DerivedInplace
from minitorch.quantized.fallback import quantized_fallback, without_kernel
from minitorch.quantized.handle import is_quantized
from minitorch.quantized.kernels.construction import write
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


class QuantizedInplace(Kernel):
    """Runs an in-place operator: the target keeps its parameters, which its base and its views have, too."""

    __slots__ = ("functional",)

    def __init__(self, functional: Any):
        Kernel.__init__(self, None)
        self.functional = functional

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        target = args[0]
        kernel = KERNELS.get(self.functional.unqualified)
        keywords = kwargs or {}
        if kernel is None or not is_quantized(target):
            return quantized_fallback(op, *args, **keywords)
        try:
            result = kernel(*args, **keywords)
        except NoQuantizedKernel:
            return quantized_fallback(op, *args, **keywords)
        if tuple(result.shape) != tuple(target.shape):
            raise RuntimeError(
                f"{op.basename}: output with shape {list(target.shape)} doesn't match the broadcast shape "
                f"{list(result.shape)}; an in-place operator cannot change the shape of its first argument"
            )
        if not is_quantized(result):
            raise RuntimeError(
                f"{op.basename}: result type {result.dtype.scalar_name} can't be cast to the desired output type "
                f"{target.dtype.scalar_name}"
            )
        return write(target, result)


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
    for op in list(OPERATORS.values()):
        kernel = op.kernels.get("CompositeExplicitAutograd")
        if kernel and isinstance(kernel[-1], DerivedInplace) and op.unqualified not in KERNELS:
            for backend in BACKENDS:
                op.register("Quantized" + backend, QuantizedInplace(kernel[-1].functional))
    missing_handlers[FUNCTIONALITIES.index("Quantized")] = without_kernel
