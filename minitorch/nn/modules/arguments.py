"""Arguments that may be a number or one number per dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def _repeated(count: int) -> Callable[[Any], tuple]:
    def expand(value: Any) -> tuple:
        return tuple(value) if isinstance(value, Iterable) else (value,) * count

    expand.__name__ = f"expand_to_{count}"
    return expand


single = _repeated(1)
pair = _repeated(2)
triple = _repeated(3)
quadruple = _repeated(4)
sextuple = _repeated(6)


def reversed_pairs(padding: tuple) -> list[int]:
    """Return padding per dimension as `functional.pad` takes it: last first, both sides."""
    result = []
    for p in reversed(padding):
        result += [p, p]
    return result
