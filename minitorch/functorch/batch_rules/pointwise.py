"""Batch rules of operators that work element by element, with broadcasting."""

from __future__ import annotations

from typing import Any

from minitorch.core.promotion import promote_types
from minitorch.functorch.layout import batched, padded, rank
from minitorch.functorch.rules import RULES, Rule, batch_rule, structure
from minitorch.ops import functions as F
from minitorch.ops.composite import registry as composites
from minitorch.ops.registry import DECLARATIONS, POINTWISE
from minitorch.tensor.base import TensorBase


def pointwise(op: Any) -> Rule:
    """Return the rule of an operator whose tensors broadcast: line their dimensions up, the mapped one first."""

    one_shape = op.basename.endswith("_backward")  # derivatives need not broadcast, and some do not

    def rule(info: Any, in_dims: tuple, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        operands = [(i, a, d) for i, (a, d) in enumerate(zip(args, in_dims, strict=True)) if isinstance(a, TensorBase)]
        if one_shape and any(d is None for _, _, d in operands):
            whole = [
                batched(a, d, info.batch_size) if isinstance(a, TensorBase) else a
                for a, d in zip(args, in_dims, strict=True)
            ]
            return op.call(tuple(whole), kwargs), 0
        first = operands[0][2]
        if len(operands) == 1 or all(d == first and a.ndim == operands[0][1].ndim for _, a, d in operands):
            out_dim = first
        else:
            values, _ = lined_up(args, in_dims)
            args, out_dim = tuple(values), 0
        result = op.call(args, kwargs)
        return result, out_dim if isinstance(result, TensorBase) else [out_dim] * len(result)

    return rule


def lined_up(args: Any, in_dims: Any) -> tuple[list, int]:
    """Return arguments whose tensors broadcast with the mapped dimension first, and the rank of what examples broadcast to.

    They promote to the dtype to which examples promote.
    """
    operands = [(i, a, d) for i, (a, d) in enumerate(zip(args, in_dims, strict=True)) if isinstance(a, TensorBase)]
    ranks = [rank(a, d) for _, a, d in operands]
    widest = max(ranks, default=0)
    dims_dtype = example_dtype([a for (_, a, _), r in zip(operands, ranks, strict=True) if r]) if widest else None
    values = list(args)
    for (i, a, d), r in zip(operands, ranks, strict=True):
        if d is not None and r == 0 and dims_dtype is not None and not outranks(a.dtype, dims_dtype):
            # An example without dimensions has no say in the dtype; the batch of them would.
            a = F.to(a, dims_dtype)
        elif d is None and r == 0 and widest == 0:
            a = F.unsqueeze(a, 0)  # it has a say, as the examples have none with dimensions
        values[i] = padded(a, d, widest)
    return values, widest


def example_dtype(tensors: list[Any]) -> Any:
    """Return the dtype to which tensors promote that all have dimensions."""
    dtype = tensors[0].dtype
    for tensor in tensors[1:]:
        dtype = promote_types(dtype, tensor.dtype)
    return dtype


def outranks(dtype: Any, other: Any) -> bool:
    """Return whether a tensor without dimensions of `dtype` has a say beside ones of `other` that have some."""
    return _category(dtype) > _category(other)


def _category(dtype: Any) -> int:
    if dtype.is_complex:
        return 3
    if dtype.is_floating_point:
        return 2
    return 0 if dtype.scalar_name == "Bool" else 1


# Also those that are composites with a derivative of their own: one operator costs less than its parts.
structure(
    pointwise,
    *[
        name for name, declaration in DECLARATIONS.items()
        if POINTWISE[0] in declaration.tags and declaration.kind == "functional"
        and name not in composites.IMPLICIT and name not in composites.EXPLICIT and name not in RULES
    ],
)  # fmt: skip
structure(pointwise, "complex", "polar", "alias", "detach")


@batch_rule("where.self")
def where(info: Any, in_dims: tuple, condition: Any, self: Any, other: Any) -> tuple[Any, Any]:
    # The condition has a shape to broadcast, and no say in the dtype.
    (self, other), widest = lined_up((self, other), in_dims[1:])
    condition_rank = rank(condition, in_dims[0])
    widest = max(widest, condition_rank)
    self, other = (
        x if d is None else padded(x, 0, widest) for x, d in zip((self, other), in_dims[1:], strict=True)
    )  # fmt: skip
    return F.where(padded(condition, in_dims[0], widest), self, other), 0
