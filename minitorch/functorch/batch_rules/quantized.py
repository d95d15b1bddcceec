"""Batch rules of what makes quantized tensors and takes them apart: the examples share their parameters."""

from __future__ import annotations

from typing import Any

from minitorch.functorch.batch_rules.pointwise import pointwise
from minitorch.functorch.layout import to_front
from minitorch.functorch.rules import batch_rule, structure
from minitorch.ops import functions as F

structure(pointwise, "quantize_per_tensor", "dequantize.self", "int_repr")


def of_all(op: Any) -> Any:
    """Return the rule of what is the same for all examples, and no tensor."""

    def rule(info: Any, in_dims: tuple, self: Any) -> tuple[Any, Any]:
        return op.call1(self), None

    return rule


structure(of_all, "q_scale", "q_zero_point", "qscheme")


@batch_rule("quantize_per_channel")
def quantize_per_channel(
    info: Any, in_dims: tuple, self: Any, scales: Any, zero_points: Any, axis: int, dtype: Any
) -> tuple[Any, Any]:
    if in_dims[1] is not None or in_dims[2] is not None:
        raise RuntimeError("quantize_per_channel: under vmap the examples share their scales and zero points")
    return F.quantize_per_channel(to_front(self, in_dims[0]), scales, zero_points, axis + 1, dtype), 0
