"""Symbolic sizes: the shape environment, and what a program asks of sizes without a guard.

The names are those of ``torch.fx.experimental.symbolic_shapes``.  They need SymPy (the extra ``symbolic``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy

from minitorch.core.symbolic import Symbolic, SymBool
from minitorch.fake.shape_env import (
    ConstraintViolationError,
    GuardOnDataDependentSymNode,
    ShapeEnv,
    ShapeGuard,
    SymNode,
)

__all__ = [
    "ConstraintViolationError",
    "GuardOnDataDependentSymNode",
    "ShapeEnv",
    "ShapeGuard",
    "SymNode",
    "free_symbols",
    "free_unbacked_symbols",
    "guard_bool",
    "guard_float",
    "guard_int",
    "guard_or_false",
    "guard_or_true",
    "guard_scalar",
    "guard_size_oblivious",
    "has_free_symbols",
    "has_free_unbacked_symbols",
    "has_symbolic_sizes_strides",
    "hint_int",
    "is_concrete_bool",
    "is_concrete_float",
    "is_concrete_int",
    "optimization_hint",
    "statically_known_false",
    "statically_known_true",
    "sym_and",
    "sym_eq",
    "sym_or",
]


def guard_int(a: Any) -> int:
    """Return an integer; of a symbolic one the value now, with the guard that it is this one."""
    return int(a)


def guard_float(a: Any) -> float:
    """Return a floating-point number; of a symbolic one the value now, with a guard."""
    return float(a)


def guard_bool(a: Any) -> bool:
    """Return a condition; of a symbolic one what it is now, with a guard."""
    return bool(a)


def guard_scalar(a: Any) -> Any:
    """Return a number of the same kind; of a symbolic one the value now, with a guard."""
    return a.node.evaluate() if isinstance(a, Symbolic) else a


def guard_size_oblivious(a: Any) -> bool:
    """Return a condition, which for sizes that only data decides may take these for at least 2."""
    return bool(a)


def guard_or_false(a: Any) -> bool:
    """Return a condition with a guard; False where only data decides it."""
    return _guard_or(a, False)


def guard_or_true(a: Any) -> bool:
    """Return a condition with a guard; True where only data decides it."""
    return _guard_or(a, True)


def _guard_or(a: Any, otherwise: bool) -> bool:
    try:
        return bool(a)
    except GuardOnDataDependentSymNode:
        return otherwise


def statically_known_true(x: Any) -> bool:
    """Return whether a condition holds whatever the sizes are; adds no guard."""
    return x.node.shape_env.decide(x.node.expr) is True if isinstance(x, SymBool) else bool(x)


def statically_known_false(x: Any) -> bool:
    """Return whether a condition fails whatever the sizes are; adds no guard."""
    return x.node.shape_env.decide(x.node.expr) is False if isinstance(x, SymBool) else not x


def hint_int(a: Any, fallback: int | None = None) -> int:
    """Return the value of an integer now, without a guard; `fallback` where only data decides it.

    Raises
    ------
    GuardOnDataDependentSymNode
        If only data decides it and there is no `fallback`.
    """
    if not isinstance(a, Symbolic):
        return int(a)
    hint = a.node.hint
    if hint is None:
        if fallback is None:
            raise GuardOnDataDependentSymNode(f"{a} has no value before the program runs on data")
        return fallback
    return int(hint)


def optimization_hint(a: Any, fallback: int | None = None) -> int:
    """Return the value of an integer now, for decisions that are right whatever it is."""
    return hint_int(a, fallback)


def _is_concrete(a: Any) -> bool:
    return not isinstance(a, Symbolic) or not a.node.expr.free_symbols


is_concrete_int = is_concrete_float = is_concrete_bool = _is_concrete


def free_symbols(val: Any) -> set[sympy.Symbol]:
    """Return the unknowns in a number, a tensor's geometry, or a container of these."""
    if isinstance(val, Symbolic):
        return set(val.node.expr.free_symbols)
    if isinstance(val, sympy.Basic):
        return set(val.free_symbols)
    if hasattr(val, "storage_offset") and hasattr(val, "stride"):
        return free_symbols((*val.shape, *val.stride(), val.storage_offset()))
    if isinstance(val, dict):
        return free_symbols(val.values())
    if isinstance(val, Iterable) and not isinstance(val, str):
        return set().union(*map(free_symbols, val))
    return set()


def has_free_symbols(val: Any) -> bool:
    """Return whether anything in a value is unknown."""
    return bool(free_symbols(val))


has_symbolic_sizes_strides = has_free_symbols


def free_unbacked_symbols(val: Any) -> set[sympy.Symbol]:
    """Return the unknowns in a value that only data decides."""
    return {symbol for symbol in free_symbols(val) if symbol.name.startswith(("u", "zuf"))}


def has_free_unbacked_symbols(val: Any) -> bool:
    """Return whether data decides anything in a value."""
    return bool(free_unbacked_symbols(val))


def sym_eq(x: Any, y: Any) -> Any:
    """Return whether two numbers, or sequences of these, are equal; a condition, where sizes are unknown."""
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        return len(x) == len(y) and sym_and(True, *map(sym_eq, x, y))
    return x == y


def sym_and(x: Any, *others: Any) -> Any:
    """Return whether all conditions hold, without a guard."""
    for other in others:
        x = x & other
    return x


def sym_or(x: Any, *others: Any) -> Any:
    """Return whether any of some conditions holds, without a guard."""
    for other in others:
        x = x | other
    return x
