"""Modules without initialization, and weights of convolutions in another memory format."""

from __future__ import annotations

import inspect
from typing import Any

from minitorch.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from minitorch.nn.modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format", "skip_init"]


def skip_init(module_cls: type, *args: Any, **kwargs: Any) -> Any:
    """Return a module whose parameters are uninitialized memory, for those that are set anyway.

    Parameters
    ----------
    module_cls : type
        A module class that takes ``device``, and passes it on to all parameters.
    *args, **kwargs
        What it is made with.

    Raises
    ------
    RuntimeError
        If it is no such class.

    Examples
    --------
    >>> minitorch.nn.utils.skip_init(minitorch.nn.Linear, 5, 1)
    Linear(in_features=5, out_features=1, bias=True)
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)


def _convert(module: Module, kinds: tuple[type, ...], memory_format: Any) -> Module:
    for part in module.modules():
        if isinstance(part, kinds):
            weight: Any = part.weight
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Give the weights of all 2-d convolutions in a module a memory format, and return the module."""
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Give the weights of all 3-d convolutions in a module a memory format, and return the module."""
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
