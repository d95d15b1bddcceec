"""Modules of quantized models, by what they are: fused, trained with fake quantization, quantized."""

from importlib import import_module

__all__ = ["intrinsic", "qat", "quantized"]


def __getattr__(name):
    if name in __all__:  # imported when first named
        return import_module(f"minitorch.ao.nn.{name}")
    raise AttributeError(f"module 'minitorch.ao.nn' has no attribute {name!r}")
