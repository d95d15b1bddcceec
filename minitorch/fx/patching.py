"""Replacing functions and methods while a function is traced, and `wrap`.

Calls of modules, and of functions that know nothing of proxies, are noticed by replacing them for the time of tracing.
The replacements act in the thread that traces; in others they pass the call on.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

from minitorch.fx.naming import from_torch
from minitorch.fx.proxy import find_proxy
from minitorch.fx.recorded_calls import recorded_arguments

__all__ = ["Patcher", "create_wrapped_function", "wrap"]

# Functions to record as a whole: by the id of the globals that they are in, and their name there.
_wrapped: dict[tuple[int, str], dict[str, Any]] = {}
_MISSING = object()
# Replacements are undone in reverse order, which those of two threads would not be.
_one_at_a_time = threading.RLock()


def wrap(fn_or_name: Any) -> Any:
    """Let calls of a function be recorded as such, instead of what it does; return what was given.

    Parameters
    ----------
    fn_or_name : callable or str
        A function of the module in which this is called, at its top level; as a decorator too.  A builtin such as
        ``"len"`` is recorded where that module calls it.

    Raises
    ------
    RuntimeError
        If it is neither a function nor a name.
    NotImplementedError
        If it is not called at the top level of a module.

    Examples
    --------
    >>> from minitorch import fx
    >>> @fx.wrap
    ... def double(x):
    ...     return x + x
    >>> def f(x):
    ...     return double(x)
    >>> fx.symbolic_trace(f).graph.find_nodes(op="call_function", target=double)
    [double]
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    _wrapped[(id(caller.f_globals), name)] = caller.f_globals
    return fn_or_name


def forget_wrapped(variables: int) -> None:
    """Undo `wrap` for the functions in some globals, given by their id."""
    for key in [key for key in _wrapped if key[0] == variables]:
        del _wrapped[key]


def create_wrapped_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that records a call that has a proxy, and otherwise runs."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        args, kwargs = recorded_arguments(function, args, kwargs)
        result = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        if not from_torch(function):
            result.node.meta["is_wrapped"] = True  # generated code says so: tracing it anew gives the same
        return result

    return call


class Patcher:
    """Scope of replacements, which are undone in reverse order when it is left."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._visited: set[int] = set()
        self._thread = threading.get_ident()

    def patch(self, variables: dict[str, Any], name: str, function: Callable[..., Any]) -> None:
        """Replace a global variable, or hide a builtin by one."""
        old = variables.get(name, _MISSING)
        if getattr(old, "_replaced_for_tracing", False):
            return
        function._replaced_for_tracing = True  # type: ignore[attr-defined]
        variables[name] = function
        if old is _MISSING:
            self._undo.append(lambda: variables.pop(name, None))
        else:
            self._undo.append(lambda: variables.__setitem__(name, old))

    def patch_method(self, cls: type, name: str, function: Callable[..., Any]) -> None:
        """Replace a method; other threads go on with the old one."""
        old = getattr(cls, name)
        thread = self._thread

        @functools.wraps(old)
        def call(*args: Any, **kwargs: Any) -> Any:
            return (function if threading.get_ident() == thread else old)(*args, **kwargs)

        setattr(cls, name, call)
        self._undo.append(lambda: setattr(cls, name, old))

    def patch_wrapped(self) -> None:
        """Replace what `wrap` was called for."""
        for (_, name), variables in list(_wrapped.items()):
            old = variables.get(name, getattr(builtins, name, None))
            if callable(old):
                self.patch(variables, name, create_wrapped_function(old))

    def autowrap(self, variables: dict[str, Any], ids: set[int]) -> None:
        """Replace the global variables whose values are certain functions."""
        if id(variables) in self._visited:
            return
        self._visited.add(id(variables))
        for name, value in list(variables.items()):
            if not name.startswith("_") and callable(value) and id(value) in ids:
                self.patch(variables, name, create_wrapped_function(value))

    def __enter__(self) -> Patcher:
        _one_at_a_time.acquire()
        return self

    def __exit__(self, *exc_info: Any) -> None:
        try:
            while self._undo:
                self._undo.pop()()
        finally:
            self._visited.clear()
            _one_at_a_time.release()
