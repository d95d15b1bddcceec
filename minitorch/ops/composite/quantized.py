"""What makes quantized tensors of ordinary ones: it loads their kernels, one of which then stands here.

`minitorch.quantized.registration` registers above these composites, so each runs once at most.
"""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import float32
from minitorch.dispatch.operator import OPERATORS
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_explicit, composite_implicit
from minitorch.tensor.components import load_kernels


def _loads_kernels(name: str) -> None:
    def load_quantized_kernels(*args: Any, **kwargs: Any) -> Any:
        load_kernels("Quantized")
        return OPERATORS["aten::" + name].call(args, kwargs)

    composite_explicit(name)(load_quantized_kernels)


MAKERS = (
    "quantize_per_tensor",
    "quantize_per_tensor.tensor_qparams",
    "quantize_per_tensor.tensors",
    "quantize_per_tensor_dynamic",
    "quantize_per_channel",
    "_make_per_tensor_quantized_tensor",
    "_make_per_channel_quantized_tensor",
    "_empty_per_channel_affine_quantized",
    "_choose_qparams_per_tensor",
    "choose_qparams_optimized",
    "_int_mm",
    "_weight_int8pack_mm",
)
for _name in MAKERS:
    _loads_kernels(_name)


@composite_explicit("dequantize.self")
def dequantize_composite(self: Any) -> Any:
    return F.to(self, float32)


@composite_implicit("dequantize.tensors", "dequantize.list")
def dequantize_list_composite(tensors: Any) -> Any:
    return [F.dequantize(tensor) for tensor in tensors]


@composite_implicit("dequantize.tensor")
def dequantize_tensor_composite(qtensor: Any) -> Any:
    return F.dequantize(qtensor)


@composite_implicit("dequantize.any")
def dequantize_any_composite(tensors: Any) -> Any:
    if isinstance(tensors, (list, tuple)):
        return type(tensors)(dequantize_any_composite(item) for item in tensors)
    return F.dequantize(tensors) if hasattr(tensors, "key_set") else tensors
