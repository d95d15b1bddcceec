"""Scopes that say whether operations are recorded."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, AUTOGRAD_KEYS, PRE_DISPATCH
from minitorch.dispatch.local_state import LocalState, current
from minitorch.dispatch.pre_dispatch import pre_dispatch_modes
from minitorch.ops.overriding import overridable


def _set_grad_enabled(enabled: bool) -> None:
    """Switch recording on or off, at once."""
    state: LocalState = current()
    state.grad_enabled = enabled
    if state.included & PRE_DISPATCH:
        _record(enabled)


def _record(enabled: bool) -> None:
    """Tell the modes above autograd, where the switch is part of the program."""
    for mode in pre_dispatch_modes():
        record = getattr(mode, "record_grad_mode", None)
        if record is not None:
            record(enabled)


def _decorate(scope_factory: Any, function: Any) -> Any:
    """Return `function` (or generator function) run inside a fresh scope each time."""
    if inspect.isclass(function):
        function.__init__ = _decorate(scope_factory, function.__init__)
        return function
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generate(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            try:
                with scope_factory():
                    value = generator.send(None)
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        with scope_factory():
                            generator.close()
                        raise
                    except BaseException as error:
                        with scope_factory():
                            value = generator.throw(error)
                    else:
                        with scope_factory():
                            value = generator.send(sent)
            except StopIteration as stop:
                return stop.value

        return generate

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with scope_factory():
            return function(*args, **kwargs)

    return run


class _GradMode:
    """Base of `no_grad` and `enable_grad`; both serve as decorators, with or without parentheses."""

    __slots__ = ("_old",)
    _enabled = False

    def __new__(cls, function: Any = None) -> Any:
        self = object.__new__(cls)
        return self if function is None else _decorate(cls, function)

    def __enter__(self) -> None:
        state: LocalState = current()
        self._old = state.grad_enabled
        state.grad_enabled = self._enabled
        if state.included & PRE_DISPATCH:
            _record(self._enabled)

    def __exit__(self, *exc_info: Any) -> None:
        state: LocalState = current()
        state.grad_enabled = self._old
        if state.included & PRE_DISPATCH:
            _record(self._old)

    def __call__(self, function: Any) -> Any:
        return _decorate(type(self), function)

    def clone(self) -> Any:
        return type(self)()


class no_grad(_GradMode):
    """Scope or decorator: nothing is recorded for backward.

    Examples
    --------
    >>> x = minitorch.ones(2, requires_grad=True)
    >>> with minitorch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    __slots__ = ()


class enable_grad(_GradMode):
    """Scope or decorator: operations are recorded, also inside `no_grad`."""

    __slots__ = ()
    _enabled = True


class set_grad_enabled:
    """Switch recording on or off, at once; as a scope or decorator, for the scope."""

    __slots__ = ("_old", "mode")

    def __init__(self, mode: bool):
        state: LocalState = current()
        self._old = state.grad_enabled
        self.mode = mode
        _set_grad_enabled(mode)

    def __enter__(self) -> None:
        if current().grad_enabled != self.mode:
            _set_grad_enabled(self.mode)

    def __exit__(self, *exc_info: Any) -> None:
        _set_grad_enabled(self._old)

    def __call__(self, function: Any) -> Any:
        _set_grad_enabled(self._old)
        mode = self.mode
        return _decorate(lambda: set_grad_enabled(mode), function)


class inference_mode:
    """Scope or decorator: no recording, no version counters; new tensors are inference tensors (spec R15, R18)."""

    __slots__ = ("_old", "mode")

    def __new__(cls, mode: Any = True) -> Any:
        if isinstance(mode, bool):
            self = object.__new__(cls)
            self.mode = mode
            return self
        return _decorate(cls, mode)

    def __enter__(self) -> None:
        state: LocalState = current()
        self._old = (
            state.included, state.excluded, state.grad_enabled, state.inference_mode, state.forward_grad_enabled
        )
        if self.mode:
            state.included = state.included & ~AD_INPLACE_OR_VIEW
            state.excluded = state.excluded | AUTOGRAD_KEYS
        else:
            state.included = state.included | AD_INPLACE_OR_VIEW
            state.excluded = state.excluded & ~AUTOGRAD_KEYS
        state.grad_enabled = not self.mode
        state.forward_grad_enabled = not self.mode
        state.inference_mode = self.mode

    def __exit__(self, *exc_info: Any) -> None:
        state: LocalState = current()
        (
            state.included, state.excluded, state.grad_enabled, state.inference_mode, state.forward_grad_enabled
        ) = self._old

    def __call__(self, function: Any) -> Any:
        mode = self.mode
        return _decorate(lambda: inference_mode(mode), function)


class set_multithreading_enabled:
    """Say whether backward may use several threads; at once, and as a scope for the scope.

    The engine runs every backward pass in the thread that called it, so the setting is only
    remembered.
    """

    __slots__ = ("_old",)

    def __init__(self, mode: bool):
        extra = current().extra
        self._old = extra.get("multithreading", True)
        extra["multithreading"] = bool(mode)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc_info: Any) -> None:
        current().extra["multithreading"] = self._old


def is_multithreading_enabled() -> bool:
    """Return what `set_multithreading_enabled` set in this thread."""
    return current().extra.get("multithreading", True)


def is_grad_enabled() -> bool:
    """Return whether operations are recorded in this thread."""
    return current().grad_enabled


def is_inference_mode_enabled() -> bool:
    """Return whether inference mode is on in this thread."""
    return current().inference_mode


@overridable
def is_inference(tensor: Any) -> bool:
    """Return whether a tensor was made in inference mode."""
    return tensor.is_inference()
