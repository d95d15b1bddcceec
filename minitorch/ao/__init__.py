"""Architecture optimization, PyTorch's ``torch.ao``: quantized models (`ao.quantization`) and their modules (`ao.nn`)."""

from importlib import import_module

__all__ = ["nn", "quantization"]


def __getattr__(name):
    if name in __all__:  # imported when first named
        return import_module(f"minitorch.ao.{name}")
    raise AttributeError(f"module 'minitorch.ao' has no attribute {name!r}")
