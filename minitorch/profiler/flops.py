"""Floating point operations of a call, by the formulas of `minitorch.utils.flop_counter`."""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.namespace import OpOverload
from minitorch.dispatch.operator import Operator
from minitorch.utils.flop_counter import flop_registry

# PyTorch's profiler counts these too; its flop counter does not.
_ONE_AN_ELEMENT = frozenset(("aten::add.Tensor", "aten::mul.Tensor"))


def count_flops(op: Operator, args: tuple, kwargs: dict[str, Any] | None, result: Any) -> int:
    """Return the operations of one call; 0 where nothing says how many.

    Parameters
    ----------
    result
        What the call returned: some formulas look at its shape.
    """
    if op.qualname in _ONE_AN_ELEMENT:
        return result.numel()
    if not isinstance(op, OpOverload):
        return 0
    formula = flop_registry.get(op.overloadpacket)
    if formula is None:
        return 0
    rest = {name: value for name, value in (kwargs or {}).items() if name != "out"}
    return formula(*args, **rest, out=result)
