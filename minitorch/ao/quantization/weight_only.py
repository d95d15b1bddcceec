"""`quantize_weights_`: the weights of linear maps in 8 or 4 bits, in one call, without examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch import nn
from minitorch.ao.nn.quantized.weight_only import Int4WeightLinear, Int8WeightLinear
from minitorch.nn.modules.module import Module

__all__ = ["quantize_weights_"]


def quantize_weights_(
    model: Module, bits: int = 8, group_size: int = 32, filter_fn: Callable[[Module, str], bool] | None = None
) -> Module:
    """Put linear maps with quantized weights in the place of those of a model, in place; return the model.

    Inputs, results and what is computed stay in floating point.  Gradients flow through, to inputs and to what else
    learns; the weights themselves no longer do.

    Parameters
    ----------
    model : Module
    bits : {8, 4}
        8: a scale for each row (`Int8WeightLinear`); 4: a scale and a least value for each group of a row (`Int4WeightLinear`).
    group_size : int
        Of 4 bits: how many numbers of a row share a scale.  Rows that it does not divide are left alone.
    filter_fn : callable, optional
        ``filter_fn(module, name)``: whether a linear map is quantized.

    Returns
    -------
    Module
        `model`, or the new module if it is a linear map itself.

    Raises
    ------
    ValueError
        If `bits` is neither 8 nor 4.

    Examples
    --------
    >>> from minitorch.ao.quantization.weight_only import quantize_weights_
    >>> model = minitorch.nn.Sequential(minitorch.nn.Linear(64, 8), minitorch.nn.ReLU())
    >>> quantize_weights_(model, bits=4)
    Sequential(
      (0): Int4WeightLinear(in_features=64, out_features=8, bias=True, group_size=32)
      (1): ReLU()
    )
    """
    if bits not in (8, 4):
        raise ValueError(f"quantize_weights_: bits must be 8 or 4, not {bits}")

    def made(linear: Any) -> Module:
        return Int8WeightLinear.from_float(linear) if bits == 8 else Int4WeightLinear.from_float(linear, group_size)

    def wanted(module: Module, name: str) -> bool:
        fits = type(module) is nn.Linear and (bits == 8 or module.in_features % group_size == 0)
        return fits and (filter_fn is None or filter_fn(module, name))

    if wanted(model, ""):
        return made(model)
    for name, module in list(model.named_modules()):
        for child_name, child in list(module.named_children()):
            if wanted(child, f"{name}.{child_name}" if name else child_name):
                setattr(module, child_name, made(child))
    return model
