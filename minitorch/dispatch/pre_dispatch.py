"""The modes of the PreDispatch key: handlers that see calls above autograd, and composites whole (spec D4).

They have a small stack of their own: the functional mode's slot above the proxy's, or a single mode of the
user's (a schema check).  While it is not empty every call meets the PreDispatch key, whose kernel asks the uppermost
mode, with that one off; with an empty stack the kernel passes calls on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitorch.dispatch.keys import PRE_DISPATCH
from minitorch.dispatch.local_state import current
from minitorch.dispatch.mode_stack import InfraSlot, slot_of_mode

_STACK = "pre-dispatch modes"  # in the thread's `extra`


def pre_dispatch_modes() -> tuple[Any, ...]:
    """Return the active modes of the PreDispatch key; the last is the next to run."""
    return current().extra.get(_STACK, ())


def pre_dispatch_mode(slot: InfraSlot) -> Any:
    """Return the mode in an infra slot of the PreDispatch key, None where that is empty."""
    return next((mode for mode in pre_dispatch_modes() if slot_of_mode(mode) == slot), None)


def set_pre_dispatch_modes(modes: tuple[Any, ...]) -> None:
    """Make `modes` the active ones of the PreDispatch key in this thread."""
    state = current()
    if modes:
        state.extra[_STACK] = modes
        state.included |= PRE_DISPATCH
    else:
        state.extra.pop(_STACK, None)
        state.included &= ~PRE_DISPATCH


def pre_dispatch_stack_with(modes: tuple[Any, ...], mode: Any) -> tuple[Any, ...]:
    """Return the stack after `mode` entered.

    Raises
    ------
    RuntimeError
        If it would stand beside a mode that must be alone there, or where there is no slot for it.
    """
    slot = slot_of_mode(mode)
    if slot not in (None, InfraSlot.PROXY, InfraSlot.FUNCTIONAL):
        raise RuntimeError(f"{type(mode).__name__}: the PreDispatch key has no slot for it; use it as an ordinary mode")
    alone = next((m for m in modes if slot is None or slot_of_mode(m) is None), None)
    if alone is not None:
        raise RuntimeError(
            f"{type(mode).__name__} cannot enter the PreDispatch key beside {type(alone).__name__}: a mode of the user's is "
            "alone there. Leave the one before entering the other."
        )
    if slot is None:
        return (mode,)
    others = [m for m in modes if slot_of_mode(m) != slot]
    return tuple(sorted((*others, mode), key=lambda m: m._mode_key))


@contextmanager
def handled_by() -> Iterator[Any]:
    """Scope in which the uppermost mode handles a call: it is off meanwhile.  Gives that mode."""
    modes = pre_dispatch_modes()
    set_pre_dispatch_modes(modes[:-1])
    try:
        yield modes[-1]
    finally:
        set_pre_dispatch_modes(modes)
