"""Which level functionalization works at in this thread, and how it calls the operators below.

Note [Levels]
    Functionalization runs in one of two ways.  As a *mode* (`functionalization`, or wrappers used
    by themselves) it is level 0: wrappers are made by hand, and a call leaves the level by
    excluding its key.  As a *transform* it is an interpreter of the stack of `dispatch.transforms`,
    at that interpreter's level, and a call leaves it by `Interpreter.lower`, so that the next
    transform, or autograd outside of all of them, meets the call as if it were made there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, AUTOGRAD_KEYS, FUNCTIONALIZE
from minitorch.dispatch.local_state import ExcludeKeysGuard, current
from minitorch.dispatch.transforms import Interpreter, TransformType, interpreter_stack

DEAD = -2  # the level of a transform that has ended (spec G7)

# In the thread's `extra`.
_REAPPLY = "functionalization reapplies views"
_CUSTOM = "functionalization of custom operators"
# A wrapper takes part in autograd itself, so the tensor inside must not again.
_AT_AND_ABOVE = FUNCTIONALIZE | AUTOGRAD_KEYS | AD_INPLACE_OR_VIEW


def current_level() -> int:
    """Return the level whose wrappers a kernel of the Functionalize key takes apart (Note [Levels])."""
    stack = interpreter_stack()
    if stack and stack[-1].transform is TransformType.Functionalize:
        return stack[-1].level
    return 0


def transform_at(level: int) -> Interpreter | None:
    """Return the transform of a level; None for level 0, which is none.

    Raises
    ------
    RuntimeError
        If no transform is active at that level.
    """
    if level == 0:
        return None
    stack = interpreter_stack()
    if not 0 < level <= len(stack):
        raise RuntimeError(f"functionalization at level {level}: the levels of transforms here are 1 to {len(stack)}")
    return stack[level - 1]


def level_of(owner: Interpreter | None) -> int:
    """Return the level that a wrapper's transform has; `DEAD` if it has ended: numbers of levels are used again."""
    return 0 if owner is None else owner.level or DEAD


def below(level: int) -> AbstractContextManager:
    """Return the scope in which the operators below `level` are called, on unwrapped tensors."""
    if level == 0:
        return ExcludeKeysGuard(_AT_AND_ABOVE)
    stack = interpreter_stack()
    if stack and stack[-1].level == level:
        return stack[-1].lower()
    return nullcontext()  # the transform has left its level already, or ended


def reapplies_views() -> bool:
    """Return whether views are made again as views; if not, ``*_copy`` operators stand for them."""
    return current().extra.get(_REAPPLY, False)


def takes_custom_operators() -> bool:
    """Return whether calls of custom operators that change arguments become calls of `auto_functionalized`."""
    return current().extra.get(_CUSTOM, False)


@contextmanager
def functionalization(reapply_views: bool = False, custom_operators: bool = False) -> Iterator[None]:
    """Scope: every call of this thread reaches the Functionalize key.

    Factories then return functional tensors.  Scopes nest; on exit the one around is as it was.

    Parameters
    ----------
    reapply_views : bool
        Whether views are made with view operators below, or with ``*_copy`` operators.
    custom_operators : bool
        Whether a custom operator that changes arguments becomes a call of `auto_functionalized`; it is an error otherwise.

    Examples
    --------
    >>> from minitorch.functionalize import functionalization, unwrap
    >>> with functionalization(reapply_views=True):
    ...     x = minitorch.zeros(2)
    ...     x[0] = 1.0
    >>> x
    _to_functional_tensor(tensor([1., 0.]))
    >>> unwrap(x)
    tensor([1., 0.])
    """
    state = current()
    outer, outer_custom = state.extra.get(_REAPPLY), state.extra.get(_CUSTOM)
    added = FUNCTIONALIZE & ~state.included
    state.included |= added
    state.extra[_REAPPLY], state.extra[_CUSTOM] = reapply_views, custom_operators
    try:
        yield
    finally:
        state.included &= ~added
        _restore(_REAPPLY, outer)
        _restore(_CUSTOM, outer_custom)


def enable(*, reapply_views: bool = False) -> None:
    """Switch functionalization on in this thread, until `disable`.

    Raises
    ------
    RuntimeError
        If it is on already: this form does not nest (`functionalization` does).
    """
    state = current()
    if state.included & FUNCTIONALIZE:
        raise RuntimeError(
            "_enable_functionalization(): functionalization is enabled in this thread already, and nesting it in this way "
            "is not supported. Call _disable_functionalization() first, or use the scope minitorch.functionalize."
            "functionalization, which nests."
        )
    state.included |= FUNCTIONALIZE
    state.extra[_REAPPLY] = reapply_views


def disable() -> None:
    """Switch off what `enable` switched on."""
    current().included &= ~FUNCTIONALIZE
    _restore(_REAPPLY, None)


def _restore(name: str, value: bool | None) -> None:
    extra = current().extra
    if value is None:
        extra.pop(name, None)
    else:
        extra[name] = value
