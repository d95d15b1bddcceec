"""The table of composite kernels: operators written with other operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

IMPLICIT: dict[str, Callable[..., Any]] = {}
EXPLICIT: dict[str, Callable[..., Any]] = {}


def _registrar(table: dict[str, Callable[..., Any]], names: tuple[str, ...]):
    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            if name in IMPLICIT or name in EXPLICIT:
                raise ValueError(f"{name} has a composite kernel already")
            table[name] = fn
        return fn

    return register


def composite_implicit(*names: str):
    """Register a composite whose derivative follows from its parts."""
    return _registrar(IMPLICIT, names)


def composite_explicit(*names: str):
    """Register a composite that has a derivative formula of its own."""
    return _registrar(EXPLICIT, names)
