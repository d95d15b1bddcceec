"""The kernels of the Python, PythonTLSSnapshot and PreDispatch keys: dispatch modes and ``__torch_dispatch__``.

Note [Where handlers run]
    A handler runs below everything that stands above the Python key: autograd, transforms and
    functionalization have done their part of the call, and what the handler calls does not meet
    them again.  Lazy conjugation, negation and zeros are no part of a call but of a tensor, and
    stay on; so does the Python dispatcher.  `enable_reentrant_dispatch` brings back what the
    thread had on when the call was made.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitorch.dispatch.dispatcher import register_fallback
from minitorch.dispatch.keys import (
    CONJUGATE,
    FUNCTIONALITY_MASK,
    NEGATIVE,
    PYTHON,
    PYTHON_DISPATCHER,
    PYTHON_KEYS,
    ZERO_TENSOR,
    full_after_bits,
    parse_key,
)
from minitorch.dispatch.local_state import current
from minitorch.dispatch.mode_stack import mode_stack, set_mode_stack
from minitorch.dispatch.operator import Entry, Kernel, KeyedObject
from minitorch.dispatch.pre_dispatch import handled_by, pre_dispatch_modes
from minitorch.dispatch.schema_matching import convert_returns

_AFTER_PRE_DISPATCH = full_after_bits(parse_key("PreDispatch"))
_AFTER_SNAPSHOT = full_after_bits(parse_key("PythonTLSSnapshot"))
_KEPT_ON = PYTHON_DISPATCHER | CONJUGATE | NEGATIVE | ZERO_TENSOR
# What is excluded in handlers: all that stands above Python (Note [Where handlers run]).
ABOVE_PYTHON = FUNCTIONALITY_MASK & ~(full_after_bits(parse_key("Python")) | PYTHON | _KEPT_ON)

_SNAPSHOT = "dispatch snapshot"  # in the thread's `extra`: (included, excluded)


class SnapshotKernel(Kernel):
    """Fallback of PythonTLSSnapshot: remembers the ambient sets for the handler that may come (spec P1)."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        below = op.entry_below(entry, _AFTER_SNAPSHOT)
        state = current()
        extra = state.extra
        if _SNAPSHOT in extra:
            return op.run_below(below, args, kwargs)
        extra[_SNAPSHOT] = (state.included, state.excluded)
        try:
            return op.run_below(below, args, kwargs)
        finally:
            extra.pop(_SNAPSHOT, None)


class PythonKeyKernel(Kernel):
    """Fallback of Python: asks the innermost mode, then the classes of the arguments (spec P2 to P8)."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        state = current()
        excluded = state.excluded
        state.excluded = excluded | ABOVE_PYTHON
        try:
            result = _handle(op, entry, args, {} if kwargs is None else kwargs)
        finally:
            state.excluded = excluded
        return convert_returns(op.schema, op.qualname, result)


class PreDispatchKernel(Kernel):
    """Fallback of PreDispatch: asks the key's own modes, above autograd and all transforms (spec D4)."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        if not pre_dispatch_modes():
            return op.run_below(op.entry_below(entry, _AFTER_PRE_DISPATCH), args, kwargs)
        with handled_by() as mode:
            result = _ask_mode(mode, op, (), args, {} if kwargs is None else kwargs, entry)
        if result is NotImplemented:
            raise TypeError(f"Multiple dispatch failed for '{op}'; {type(mode).__name__} at PreDispatch returned NotImplemented")
        return convert_returns(op.schema, op.qualname, result)


def _ask_mode(mode: Any, op: Any, types: tuple[type, ...], args: tuple, kwargs: dict, entry: Entry) -> Any:
    """Call what stands for a mode's handler of an operator, or the handler."""
    kind = type(mode)
    # Functions given to `py_impl` for a class count while the Python dispatcher is on (spec D2).
    if entry.key_set & PYTHON_DISPATCHER and kind in op.py_kernels:
        return op.py_kernels[kind](mode, *args, **kwargs)
    if kind in op.torch_dispatch_rules:
        return op.torch_dispatch_rules[kind](mode, op, types, args, kwargs)
    return mode.__torch_dispatch__(op, types, args, kwargs)


def _handle(op: Any, entry: Entry, args: tuple, kwargs: dict) -> Any:
    instances = _dispatching(args, kwargs)
    types = tuple(type(instance) for instance in instances)
    modes = mode_stack()
    declined = []
    if modes:
        mode = modes[-1]
        set_mode_stack(modes[:-1])
        try:
            result = _ask_mode(mode, op, types, args, kwargs, entry)
        finally:
            set_mode_stack(modes)
        if result is not NotImplemented:
            return result
        declined.append(type(mode))
    elif not instances:
        raise AssertionError(
            f"{op.qualname}: the call reached the Python key, but no dispatch mode is active and no argument's class "
            "defines __torch_dispatch__"
        )
    functions = op.py_kernels if entry.key_set & PYTHON_DISPATCHER else {}
    for cls in types:
        if cls in functions:
            result = functions[cls](*args, **kwargs)
        elif cls in op.torch_dispatch_rules:
            result = op.torch_dispatch_rules[cls](cls, op, types, args, kwargs)
        else:
            result = cls.__torch_dispatch__(op, types, args, kwargs)  # type: ignore[attr-defined]
        if result is not NotImplemented:
            return result
        declined.append(cls)
    raise TypeError(
        f"Multiple dispatch failed for '{op}'; all __torch_dispatch__ handlers returned NotImplemented: "
        f"{', '.join(cls.__name__ for cls in declined)}"
    )


def _dispatching(args: tuple, kwargs: dict) -> list[Any]:
    """Return the arguments that carry the Python key: each class once, subclasses before their bases."""
    found: list[Any] = []
    for value in (*args, *kwargs.values()):
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if not isinstance(item, KeyedObject) or not item.key_set & PYTHON:
                continue
            kind = type(item)
            if any(kind is type(other) for other in found):
                continue
            place = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
            found.insert(place, item)
    return found


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Scope, inside a handler: calls pass the levels again that were on when the handler's call was made.

    Raises
    ------
    RuntimeError
        If no handler is running in this thread.
    """
    state = current()
    snapshot = state.extra.pop(_SNAPSHOT, None)
    if snapshot is None:
        raise RuntimeError("enable_reentrant_dispatch: no __torch_dispatch__ handler is running in this thread")
    saved = (state.included, state.excluded)
    # The modes are those that are active in the handler.
    modes_now = PYTHON_KEYS if mode_stack() else 0
    state.included = snapshot[0] & ~PYTHON_KEYS | modes_now
    state.excluded = snapshot[1]
    try:
        yield
    finally:
        state.included, state.excluded = saved
        state.extra[_SNAPSHOT] = snapshot


def register() -> None:
    """Register the fallbacks of the three keys."""
    register_fallback("PreDispatch", PreDispatchKernel(None))
    register_fallback("Python", PythonKeyKernel(None))
    register_fallback("PythonTLSSnapshot", SnapshotKernel(None))
