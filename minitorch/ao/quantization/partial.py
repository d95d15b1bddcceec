"""Constructors with some arguments given: what a `QConfig` consists of, as each place gets an observer of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class PartialConstructor:
    """A class with some of its arguments given.

    Parameters
    ----------
    p : functools.partial
        The class and the arguments.

    Examples
    --------
    >>> from minitorch.ao.quantization import MinMaxObserver
    >>> MinMaxObserver.with_args(reduce_range=True)().reduce_range
    True
    """

    def __init__(self, p: functools.partial):
        self.p = p
        self.callable_args: dict[str, Callable[[], Any]] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        made = {name: make() for name, make in self.callable_args.items() if name not in keywords}
        return self.p(*args, **made, **keywords)

    def __repr__(self) -> str:
        return f"{self.p!r}{self.callable_args!r}"

    def with_args(self, **kwargs: Any) -> PartialConstructor:
        """Return one with further arguments given."""
        return with_args(self, **kwargs)

    def with_callable_args(self, **kwargs: Callable[[], Any]) -> PartialConstructor:
        """Return one with further arguments, which are called at each construction for the argument's value."""
        result = with_args(self)
        result.callable_args = {**self.callable_args, **kwargs}
        return result


def with_args(cls_or_self: Any, **kwargs: Any) -> PartialConstructor:
    """Return the constructor with arguments given."""
    result = PartialConstructor(functools.partial(cls_or_self, **kwargs))
    if isinstance(cls_or_self, PartialConstructor):
        result = PartialConstructor(functools.partial(cls_or_self.p, **kwargs))
        result.callable_args = dict(cls_or_self.callable_args)
    return result


def with_callable_args(cls_or_self: Any, **kwargs: Callable[[], Any]) -> PartialConstructor:
    """Return the constructor with arguments that are made anew at each construction."""
    return with_args(cls_or_self).with_callable_args(**kwargs)


def given(constructor: Any, name: str, default: Any = None) -> Any:
    """Return the argument that a `PartialConstructor` has been given, or `default`."""
    return constructor.p.keywords.get(name, default) if isinstance(constructor, PartialConstructor) else default
