"""What single operators do with fake tensors, where that is not what their Meta kernels say.

A rule gets the mode, the operator and its arguments, and returns the result, or `PASS` to have the call go its
ordinary way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.core.dtype import bool_, uint8
from minitorch.fake import dynamic_shapes
from minitorch.tensor.base import TensorBase

PASS = object()
RULES: dict[str, Callable[..., Any]] = {}


def rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a rule for operators of ``aten``."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            RULES["aten::" + name] = fn
        return fn

    return register


def find_rule(func: Any) -> Callable[..., Any] | None:
    """Return the rule for an operator, None where there is none."""
    return RULES.get(func.qualname)


@rule("_local_scalar_dense")
def _item(mode: Any, func: Any, args: tuple, kwargs: dict) -> Any:
    return dynamic_shapes.scalar_of(mode, args[0]) if mode.allows_scalar_outputs else PASS


@rule("index.Tensor", "index.Tensor_out", "_unsafe_index.Tensor")
def _index(mode: Any, func: Any, args: tuple, kwargs: dict) -> Any:
    """A mask selects as many elements as it has ones."""
    indices = list(args[1])
    if not mode.allows_dynamic_shapes:
        return PASS
    if not any(isinstance(index, TensorBase) and index.dtype in (bool_, uint8) for index in indices):
        return PASS
    expanded: list[Any] = []
    for index in indices:
        if isinstance(index, TensorBase) and index.dtype in (bool_, uint8):
            places = index.nonzero()
            expanded += [places.select(1, d) for d in range(index.ndim)]
        else:
            expanded.append(index)
    return func(args[0], expanded, **kwargs)
