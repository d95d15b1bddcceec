"""Batch rules of what makes quantized tensors of ordinary ones.

All examples of a quantized tensor have the same parameters, as it has one set of them: those that would be another for each
example are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.functorch.batch_rules.pointwise import pointwise
from minitorch.functorch.layout import rank, to_front
from minitorch.functorch.rules import Rule, batch_rule, refused, structure
from minitorch.ops import functions as F
from minitorch.ops.assemble import operator_named

structure(pointwise, "quantize_per_tensor", "_make_per_tensor_quantized_tensor", "dequantize.self", "int_repr")

_EACH = "each example would have a scale and a zero point of its own, and a quantized tensor has the same for all"
for _name in ("quantize_per_tensor_dynamic", "_choose_qparams_per_tensor"):
    structure(refused, _name, why=_EACH)


def _check_parameters(op: Any, dims: Sequence[Any]) -> None:
    if any([d is not None for d in dims]):
        raise RuntimeError(f"vmap: {op.basename}() with scales or zero points that are mapped is not possible: {_EACH}")


def _with_parameters(op: Any) -> Rule:
    """Return the rule of an operator of a tensor, a scale and a zero point."""

    def rule(info: Any, in_dims: tuple, x: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        _check_parameters(op, in_dims[1:3])
        return op.call((x, *args), kwargs), in_dims[0]

    return rule


def _with_channels(op: Any) -> Rule:
    """Return the rule of an operator of a tensor, scales, zero points and an axis."""

    def rule(
        info: Any, in_dims: tuple, x: Any, scales: Any, zero_points: Any, axis: int, *args: Any, **kwargs: Any
    ) -> tuple[Any, Any]:
        _check_parameters(op, in_dims[1:3])
        if not 0 <= axis < max(rank(x, in_dims[0]), 1):
            raise RuntimeError(
                f"{op.basename}: Channel axis out of range: axis is {axis}, of a tensor of {rank(x, in_dims[0])} dimensions"
            )
        return op.call((to_front(x, in_dims[0]), scales, zero_points, axis + 1, *args), kwargs), 0

    return rule


structure(_with_parameters, "quantize_per_tensor.tensor_qparams")
structure(_with_channels, "quantize_per_channel", "_make_per_channel_quantized_tensor")


@batch_rule("quantize_per_tensor.tensors")
def quantize_tensors_rule(
    info: Any, in_dims: tuple, tensors: Any, scales: Any, zero_points: Any, dtype: Any
) -> tuple[Any, Any]:
    op = operator_named("quantize_per_tensor.tensors")
    _check_parameters(op, in_dims[1:3])
    return op.call((tensors, scales, zero_points, dtype), None), list(in_dims[0])


def _example_by_example(op: Any) -> Rule:
    """Return the rule of a product of integers, which there is for one pair of matrices at a time."""

    def rule(info: Any, in_dims: tuple, *args: Any) -> tuple[Any, Any]:
        columns = [
            [a] * info.batch_size if d is None else F.unbind(to_front(a, d)) for a, d in zip(args, in_dims, strict=True)
        ]
        return F.stack([op.call(example, None) for example in zip(*columns, strict=True)]), 0

    return rule


structure(_example_by_example, "_int_mm", "_weight_int8pack_mm")


def _of_all(op: Any) -> Rule:
    """Return the rule of what is the same for all examples, and no tensor."""

    def rule(info: Any, in_dims: tuple, self: Any) -> tuple[Any, Any]:
        return op.call1(self), None

    return rule


structure(_of_all, "q_scale", "q_zero_point", "qscheme")
