"""Thread-local state: the ambient key sets, grad mode, and what else a thread carries.

One object per thread holds it all.  A new thread starts from the defaults and inherits
nothing (spec R5).  This module is on the path of every operator call: it is compiled
where a compiler exists, with its types in `local_state.pxd`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from minitorch.dispatch.keys import (
    AD_INPLACE_OR_VIEW,
    AUTOGRAD_KEYS,
    DEFAULT_EXCLUDED,
    DEFAULT_INCLUDED,
)

COMPILED = not __file__.endswith(".py")

# Called once in every thread that uses the library, when its state is made.
_thread_start_hooks: list[Callable[[], None]] = []


class LocalState:
    """What one thread carries: ambient key sets, grad mode, hooks and modes."""

    __slots__ = (
        "anomaly",
        "anomaly_check_nan",
        "default_device",
        "dispatch_modes",
        "evaluating_node",
        "excluded",
        "extra",
        "forward_grad_enabled",
        "function_disabled",
        "function_modes",
        "grad_enabled",
        "ident",
        "included",
        "inference_mode",
        "saved_tensor_hooks",
        "saved_tensor_hooks_disabled",
        "trace",
        "view_replay",
    )

    def __init__(self):
        self.included = DEFAULT_INCLUDED
        self.excluded = DEFAULT_EXCLUDED
        self.ident = 0
        self.grad_enabled = True
        self.inference_mode = False
        self.forward_grad_enabled = True
        self.view_replay = False
        self.trace = 0
        self.anomaly = False
        self.anomaly_check_nan = True
        self.function_disabled = False
        self.saved_tensor_hooks = None  # innermost (pack, unpack), linked: (pack, unpack, outer)
        self.saved_tensor_hooks_disabled = None  # the message of the scope that forbids them
        self.function_modes = None  # list of active __torch_function__ modes, or None
        self.dispatch_modes = None
        self.default_device = None
        self.evaluating_node = None
        self.extra = {}


class _Local(threading.local):
    def __init__(self):
        self.state = LocalState()
        for hook in _thread_start_hooks:
            hook()


_local = _Local()
_last_state = _local.state


def current() -> LocalState:
    """Return this thread's state.

    Compiled, the last state is kept and recognised by the interpreter's number for the
    thread, which is never used twice; that saves the look-up in `threading.local`.
    """
    global _last_state
    if COMPILED:
        ident = PyThreadState_GetID(PyThreadState_Get())  # noqa: F821 (declared in the .pxd)
        last: LocalState = _last_state
        if last.ident == ident:
            return last
        state = _local.state
        state.ident = ident
        _last_state = state
        return state
    return _local.state


def on_thread_start(hook: Callable[[], None]) -> None:
    """Run `hook` now, and in each thread whose state is made later."""
    _thread_start_hooks.append(hook)
    hook()


class _KeyGuard:
    """Base of the scopes that change an ambient key set and undo exactly what they changed."""

    __slots__ = ("_added", "_bits")

    def __init__(self, keys: Any):
        self._bits = keys if isinstance(keys, int) else keys.bits
        self._added = 0


class ExcludeKeysGuard(_KeyGuard):
    """Scope: the functionalities of `keys` are excluded; on exit, those that it added are not."""

    __slots__ = ()

    def __enter__(self):
        state = current()
        self._added = self._bits & ~state.excluded
        state.excluded |= self._added
        return self

    def __exit__(self, *exc_info):
        state = current()
        state.excluded &= ~self._added


class IncludeKeysGuard(_KeyGuard):
    """Scope: `keys` take part in every call; on exit, those that it added do not."""

    __slots__ = ()

    def __enter__(self):
        state = current()
        self._added = self._bits & ~state.included
        state.included |= self._added
        return self

    def __exit__(self, *exc_info):
        state = current()
        state.included &= ~self._added


class ForceKeysGuard:
    """Scope: both ambient sets are replaced, and restored on exit."""

    __slots__ = ("_excluded", "_included", "_saved")

    def __init__(self, included: Any, excluded: Any):
        self._included = included if isinstance(included, int) else included.bits
        self._excluded = excluded if isinstance(excluded, int) else excluded.bits
        self._saved = (0, 0)

    def __enter__(self):
        state = current()
        self._saved = (state.included, state.excluded)
        state.included, state.excluded = self._included, self._excluded
        return self

    def __exit__(self, *exc_info):
        state = current()
        state.included, state.excluded = self._saved


class PreserveKeysGuard:
    """Scope: whatever happens to the ambient sets inside is undone on exit."""

    __slots__ = ("_saved",)

    def __enter__(self):
        state = current()
        self._saved = (state.included, state.excluded)
        return self

    def __exit__(self, *exc_info):
        state = current()
        state.included, state.excluded = self._saved


class SetExcludedGuard:
    """Scope: `key` is excluded or not, as `excluded` says; the old membership comes back on exit."""

    __slots__ = ("_bits", "_excluded", "_old")

    def __init__(self, key: Any, excluded: bool):
        self._bits = key if isinstance(key, int) else key.bits
        self._excluded = excluded
        self._old = 0

    def __enter__(self):
        state = current()
        self._old = state.excluded & self._bits
        if self._excluded:
            state.excluded |= self._bits
        else:
            state.excluded &= ~self._bits
        return self

    def __exit__(self, *exc_info):
        state = current()
        state.excluded = (state.excluded & ~self._bits) | self._old


def below_autograd() -> ExcludeKeysGuard:
    """Return a scope in which autograd does not run at all."""
    return ExcludeKeysGuard(AUTOGRAD_KEYS)


def below_ad_inplace_or_view() -> ExcludeKeysGuard:
    """Return a scope below autograd and below version and view bookkeeping."""
    return ExcludeKeysGuard(AUTOGRAD_KEYS | AD_INPLACE_OR_VIEW)
