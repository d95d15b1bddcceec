"""Tensors in the arguments and results of operators, for the tools that look at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from minitorch.tensor.tensor import Tensor


def tensors_in(value: Any) -> Iterator[Any]:
    """Yield the tensors in nested lists, tuples and dictionaries."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)


def mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """Return nested lists, tuples and dictionaries with ``change(item)`` in place of each item."""
    if isinstance(value, (list, tuple)):
        return type(value)([mapped(change, item) for item in value])
    if isinstance(value, dict):
        return {key: mapped(change, item) for key, item in value.items()}
    return change(value)
