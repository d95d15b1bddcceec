"""The dispatch modes of a thread: which are active, and which runs next (spec P4, P5, U7).

Note [Order of modes]
    The mode entered last runs first, and the modes that the library itself works with, the
    *infra modes*, after all of the user's, however they were entered: each has a slot of its
    own at the bottom of the stack (`InfraSlot`), the functional one above the proxy's above the
    fake one.  A slot holds one mode; another that enters takes its place until it leaves.

The stack is a tuple that is replaced as a whole, so whoever changes it for a while keeps the
old one and puts it back.  While it is not empty, every call meets the Python key.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from minitorch.dispatch.keys import PYTHON_KEYS
from minitorch.dispatch.local_state import current


class InfraSlot(IntEnum):
    """The places of infra modes in the stack, lowest first."""

    FAKE = 0
    PROXY = 1
    FUNCTIONAL = 2


def mode_stack() -> tuple[Any, ...]:
    """Return the active modes; the last is the next to run."""
    return current().dispatch_modes or ()


def set_mode_stack(modes: tuple[Any, ...]) -> None:
    """Make `modes` the active ones of this thread."""
    state = current()
    state.dispatch_modes = modes or None  # type: ignore[assignment]
    state.included = state.included | PYTHON_KEYS if modes else state.included & ~PYTHON_KEYS


def slot_of_mode(mode: Any) -> InfraSlot | None:
    """Return the slot of an infra mode; None for a mode of the user's."""
    return getattr(mode, "_mode_key", None)


def is_infra_mode(mode: Any) -> bool:
    """Return whether a mode is one of the library's own."""
    return slot_of_mode(mode) is not None


def stack_with(modes: tuple[Any, ...], mode: Any) -> tuple[Any, ...]:
    """Return the stack after `mode` entered (Note [Order of modes])."""
    slot = slot_of_mode(mode)
    if slot is None:
        return (*modes, mode)
    infra = [m for m in modes if is_infra_mode(m) and slot_of_mode(m) != slot]
    infra.append(mode)
    users = [m for m in modes if not is_infra_mode(m)]
    return (*sorted(infra, key=lambda m: m._mode_key), *users)


def current_dispatch_mode() -> Any:
    """Return the mode that runs next, None where none is active."""
    modes = current().dispatch_modes
    return modes[-1] if modes else None


def infra_mode(slot: InfraSlot) -> Any:
    """Return the mode in an infra slot, None where that is empty."""
    return next((mode for mode in mode_stack() if slot_of_mode(mode) == slot), None)


def in_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Return whether any mode is active; only whether one of the user's is, without infra modes."""
    modes = mode_stack()
    return bool(modes) and (include_infra_modes or not is_infra_mode(modes[-1]))


@contextmanager
def disable_all_modes() -> Iterator[tuple[Any, ...]]:
    """Scope: no mode is active.  Gives the modes that were, the next to run last."""
    modes = mode_stack()
    set_mode_stack(())
    try:
        yield modes
    finally:
        set_mode_stack(modes)


@contextmanager
def pop_mode_temporarily() -> Iterator[Any]:
    """Scope: the mode that runs next is not active.  Gives that mode.

    Raises
    ------
    RuntimeError
        If none is active.
    """
    modes = mode_stack()
    if not modes:
        raise RuntimeError("no dispatch mode is active in this thread, so there is none to leave")
    set_mode_stack(modes[:-1])
    try:
        yield modes[-1]
    finally:
        set_mode_stack(modes)
