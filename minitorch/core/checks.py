"""`_check` and its kind: conditions that a program relies on; of symbolic sizes, ones that are assumed from then on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.core.symbolic import SymBool


def _check_with(error: type[Exception], cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise ``error(message())`` unless a condition holds."""
    if not isinstance(cond, (bool, SymBool)):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if isinstance(cond, SymBool) and cond.node.shape_env.assume(cond.node.expr):
        return
    if isinstance(cond, bool) and cond:
        return
    if message is None:
        raise error("Expected cond to be True, but got False.")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error(str(message()))


def _check(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise RuntimeError unless a condition holds.

    Parameters
    ----------
    cond : bool or SymBool
        A condition on symbolic sizes is taken for true from here on, also of those that only data decides.
    message : callable, optional
        Returns the text of the error.

    Examples
    --------
    >>> minitorch._check(1 < 2, lambda: "one is less than two")
    """
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise IndexError unless a condition holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise ValueError unless a condition holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise TypeError unless a condition holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise NotImplementedError unless a condition holds."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: Any, message: Callable[[], Any] | None = None, *, max: Any = None) -> None:
    """Raise RuntimeError unless a number can be a size: at least 0, at most `max`."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)
