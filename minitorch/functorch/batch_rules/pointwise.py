"""Batch rules of operators that work element by element, with broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch.functorch.layout import lined_up, padded, rank, sizes
from minitorch.functorch.rules import RULES, Rule, batch_rule, inplace_batch_rule, structure
from minitorch.ops import functions as F
from minitorch.ops.assemble import operator_named
from minitorch.ops.composite import registry as composites
from minitorch.ops.registry import DECLARATIONS, POINTWISE
from minitorch.tensor.base import TensorBase


def pointwise(op: Any) -> Rule:
    """Return the rule of an operator whose tensors broadcast: line their dimensions up, the mapped one first."""

    # Kernels of gradients take it that the gradient has the shape of the input.
    same_shapes = op.basename.endswith("_backward")

    def rule(info: Any, in_dims: tuple, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        operands = [(i, a, d) for i, (a, d) in enumerate(zip(args, in_dims, strict=True)) if isinstance(a, TensorBase)]
        first = operands[0][2]
        if len(operands) == 1 or all(d == first and a.ndim == operands[0][1].ndim for _, a, d in operands):
            out_dim = first
        else:
            values, _ = lined_up(args, in_dims)
            if same_shapes:
                shape = list(np.broadcast_shapes(*[values[i].shape for i, _, _ in operands]))
                for i, _, _ in operands:
                    values[i] = F.expand(values[i], shape)
            args, out_dim = tuple(values), 0
        result = op.call(args, kwargs)
        return result, out_dim if isinstance(result, TensorBase) else [out_dim] * len(result)

    return rule


def pointwise_in_place(op: Any) -> Callable[..., None]:
    """Return the rule of such an operator that works in place: what is mapped is changed itself."""

    def rule(info: Any, in_dims: tuple, self: Any, *args: Any, **kwargs: Any) -> None:
        values, widest = lined_up((self, *args), in_dims)
        if widest > rank(self, in_dims[0]):
            raise RuntimeError(
                f"{op.basename}: output with shape {sizes(self, in_dims[0])} doesn't match the broadcast shape: an operand has "
                f"{widest} dimensions; an in-place operator cannot change the shape of its first argument"
            )
        op.call(tuple(values), kwargs or None)

    return rule


# Also those that are composites with a derivative of their own: one operator costs less than its parts.
structure(
    pointwise,
    *[
        name for name, declaration in DECLARATIONS.items()
        if POINTWISE[0] in declaration.tags and declaration.kind == "functional"
        and name not in composites.IMPLICIT and name not in composites.EXPLICIT and name not in RULES
    ],
)  # fmt: skip
for _name, _declaration in DECLARATIONS.items():
    if _declaration.kind == "inplace" and _declaration.functional in RULES and POINTWISE[0] in _declaration.tags:
        inplace_batch_rule(_name)(pointwise_in_place(operator_named(_name)))
structure(
    pointwise, "complex", "polar", "alias", "detach", "_conj", "_neg_view", "_conj_physical", "_conj_copy", "_neg_view_copy"
)


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
