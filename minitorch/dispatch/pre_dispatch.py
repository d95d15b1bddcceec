"""The modes that see calls above autograd: a small stack of its own at the PreDispatch key (spec D4).

Only infra modes stand there: that of a trace, and that of functionalization.  The key's kernel takes the
mode that runs next off the stack while its handler runs, and passes a call on where there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitorch.dispatch.dispatcher import register_fallback
from minitorch.dispatch.keys import PRE_DISPATCH, full_after_bits, parse_key
from minitorch.dispatch.local_state import current
from minitorch.dispatch.mode_stack import slot_of_mode
from minitorch.dispatch.operator import Entry, Kernel
from minitorch.dispatch.schema_matching import convert_returns

_STACK = "pre-dispatch modes"  # in the thread's `extra`
_AFTER = full_after_bits(parse_key("PreDispatch"))


def pre_dispatch_stack() -> tuple[Any, ...]:
    """Return the active modes; the last is the next to run."""
    return current().extra.get(_STACK, ())


def set_pre_dispatch_stack(modes: tuple[Any, ...]) -> None:
    """Make `modes` the active ones of this thread."""
    state = current()
    if modes:
        state.extra[_STACK] = modes
        state.included |= PRE_DISPATCH
    else:
        state.extra.pop(_STACK, None)
        state.included &= ~PRE_DISPATCH


def pre_dispatch_mode(slot: Any) -> Any:
    """Return the active mode of an infra slot, None if there is none."""
    return next((mode for mode in pre_dispatch_stack() if slot_of_mode(mode) == slot), None)


@contextmanager
def pre_dispatch(mode: Any) -> Iterator[Any]:
    """Scope: an infra mode sees calls above autograd.

    Raises
    ------
    AssertionError
        If it is no infra mode, or another is in its slot.
    """
    slot = slot_of_mode(mode)
    modes = pre_dispatch_stack()
    if slot is None:
        raise AssertionError(f"pre_dispatch: {type(mode).__name__} is no infra mode; enter it with `with`, below autograd")
    if pre_dispatch_mode(slot) is not None:
        raise AssertionError(f"pre_dispatch: there is a mode in the slot {slot.name} already")
    set_pre_dispatch_stack(tuple(sorted((*modes, mode), key=lambda m: m._mode_key)))
    try:
        yield mode
    finally:
        set_pre_dispatch_stack(modes)


@contextmanager
def disable_pre_dispatch() -> Iterator[None]:
    """Scope: no mode sees calls above autograd."""
    modes = pre_dispatch_stack()
    set_pre_dispatch_stack(())
    try:
        yield
    finally:
        set_pre_dispatch_stack(modes)


def record_grad_mode(enabled: bool) -> None:
    """Tell the modes that grad mode was switched: above autograd that is part of the program."""
    for mode in pre_dispatch_stack():
        record = getattr(mode, "record_grad_mode", None)
        if record is not None:
            record(enabled)


class PreDispatchKernel(Kernel):
    """The fallback of PreDispatch: asks the mode that runs next, and passes the call on if there is none."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        modes = pre_dispatch_stack()
        if not modes:
            return op.run_below(op.entry_below(entry, _AFTER), args, kwargs)
        mode = modes[-1]
        set_pre_dispatch_stack(modes[:-1])
        try:
            result = mode.__torch_dispatch__(op, (), args, kwargs or {})
        finally:
            set_pre_dispatch_stack(modes)
        if result is NotImplemented:
            return op.run_below(op.entry_below(entry, _AFTER), args, kwargs)
        return convert_returns(op.schema, op.qualname, result)


register_fallback("PreDispatch", PreDispatchKernel())
