"""`annotate`: a value with a type, in the graph."""

from __future__ import annotations

from typing import Any

from minitorch.fx.proxy import Proxy

__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:
    """Note the type of a value while it is traced, for the generated code; return the value.

    Raises
    ------
    RuntimeError
        If the value has another type already.
    """
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(f"Tried to annotate a value that already had a type on it! Existing type is {val.node.type}")
        val.node.type = type
    return val
