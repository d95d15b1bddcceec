"""`F`: the operators by base name, for the tensor layer.

The table of operators is a layer above; it says how to find one with `set_finder`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class _Operators:
    """Attributes are the public functions, found on first use."""

    def __getattr__(self, name: str) -> Any:
        function = _finder[0](name)
        if function is None:
            raise AttributeError(f"no operator is called {name!r}")
        setattr(self, name, function)
        return function


_finder: list[Callable[[str], Any]] = []
F = _Operators()


def set_finder(finder: Callable[[str], Any]) -> None:
    """Say how a public function is found by its base name."""
    _finder[:] = [finder]
