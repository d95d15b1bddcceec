"""Tools that watch a program: modes that log, count, compare and check each operator call.

They work wherever operators run: in forward and backward, under transforms, on every device.
"""

from __future__ import annotations

from typing import Any

_PLACES = {
    "CrossReferenceError": "cross_reference",
    "CrossReferenceMode": "cross_reference",
    "DebugMode": "debug_mode",
    "Disagreement": "cross_reference",
    "FiniteCheckMode": "finite",
    "NonFiniteError": "finite",
    "OpCounterMode": "op_counter",
    "print_calls": "debug_mode",
}
__all__ = [*_PLACES, "SchemaCheckMode"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "SchemaCheckMode":
        from minitorch.modes.schema_check import SchemaCheckMode

        return SchemaCheckMode
    if name in _PLACES:
        return getattr(import_module(f"minitorch.utils.debug.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'minitorch.utils.debug' has no attribute {name!r}")
