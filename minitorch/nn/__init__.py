"""Neural networks: PyTorch's ``torch.nn``."""

from minitorch.nn import functional, init, parallel, utils
from minitorch.nn.modules import *
from minitorch.nn.modules.module import Module
from minitorch.nn.parallel import DataParallel
from minitorch.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter


def __getattr__(name):
    if name in ("attention", "intrinsic", "qat", "quantized"):  # imported when first named
        from importlib import import_module

        return import_module(f"minitorch.nn.{name}")
    raise AttributeError(f"module 'minitorch.nn' has no attribute {name!r}")
