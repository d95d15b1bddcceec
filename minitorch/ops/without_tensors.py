"""Calls without any tensor: ``add(2, 3)`` computes with 0-dim tensors, ``cat([])`` says what it wants.

Taken where an operator has no kernel for such a call, so that no ordinary call pays for it.
"""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.operator import WITHOUT_TENSORS, raise_missing

_NEEDS_TENSORS = {
    "aten::cat": (ValueError, "cat(): expected a non-empty list of Tensors"),
    "aten::stack": (RuntimeError, "stack expects a non-empty TensorList"),
}


def call_without_tensors(op: Any, args: tuple, kwargs: dict | None) -> Any:
    """Run an operator that takes numbers for tensors on them; raise for any other."""
    if op.allow_numbers and args and isinstance(args[0], (bool, int, float, complex)):
        from minitorch.tensor.creation import tensor

        return op.call((tensor(args[0]), *args[1:]), kwargs)
    error = _NEEDS_TENSORS.get(op.qualname)
    if error is not None:
        raise error[0](error[1])
    return raise_missing(op, 0)


def register() -> None:
    """Tell the dispatcher."""
    WITHOUT_TENSORS[:] = [call_without_tensors]
