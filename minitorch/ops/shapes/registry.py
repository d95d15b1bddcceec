"""The table of shape functions: kernels of Meta, of fake tensors, and the source of argument errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SHAPES: dict[str, Callable[..., Any]] = {}


def shape(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function of handles as the shape function of operators `names`."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            if name in SHAPES:
                raise ValueError(f"{name} has a shape function already: {SHAPES[name].__qualname__}")
            SHAPES[name] = fn
        return fn

    return register
