"""Calls without any tensor: ``add(2, 3)`` computes with 0-dim tensors, ``cat([])`` says what it wants.

Taken where an operator has no kernel for such a call, so that no ordinary call pays for it.
"""

from __future__ import annotations

from typing import Any

from minitorch.dispatch import operator
from minitorch.dispatch.operator import raise_missing
from minitorch.tensor.base import TensorBase

_NEEDS_TENSORS = {
    "aten::cat": (ValueError, "cat(): expected a non-empty list of Tensors"),
    "aten::stack": (RuntimeError, "stack expects a non-empty TensorList"),
}


def call_without_tensors(op: Any, args: tuple, kwargs: dict | None) -> Any:
    """Run an operator that takes numbers for tensors (spec R10) on 0-dim tensors of them; raise for any other."""
    if op.allow_numbers:
        from minitorch.tensor.creation import tensor

        places = {index for index, *_ in op.positions}
        converted = tuple(
            tensor(value) if i in places and isinstance(value, (bool, int, float, complex)) else value
            for i, value in enumerate(args)
        )
        if any(isinstance(value, TensorBase) for value in converted):
            return op.call(converted, kwargs)
    error = _NEEDS_TENSORS.get(op.qualname)
    if error is not None:
        raise error[0](error[1])
    return raise_missing(op, 0)


def register() -> None:
    """Tell the dispatcher."""
    operator.without_tensors = call_without_tensors
