"""Modules that stand for several in a row, in floating point; `qat` and `quantized` have their counterparts."""

from minitorch.ao.nn.intrinsic.modules import *
from minitorch.ao.nn.intrinsic.modules.fused import _FusedModule


def __getattr__(name):
    if name in ("qat", "quantized"):
        from importlib import import_module

        return import_module(f"minitorch.ao.nn.intrinsic.{name}")
    raise AttributeError(f"module 'minitorch.ao.nn.intrinsic' has no attribute {name!r}")
