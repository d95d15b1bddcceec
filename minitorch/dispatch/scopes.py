"""Scopes that switch the levels of a functionality on or off in this thread (spec R15).

Each returns a guard of `local_state`: it changes the ambient key sets by exactly the keys of its
functionality, nests, and undoes what it did when it ends, by an error too.
"""

from __future__ import annotations

from minitorch.core.device import device
from minitorch.dispatch.keys import (
    FUNCTIONALIZE,
    FUNCTORCH_LAYERS,
    PRE_DISPATCH,
    PYTHON_DISPATCHER,
    PYTHON_KEYS,
    DispatchKey,
)
from minitorch.dispatch.local_state import ExcludeKeysGuard, IncludeKeysGuard, SetExcludedGuard


def autocast_key(device_type: str) -> DispatchKey:
    """Return the autocast key of a device type.

    Raises
    ------
    ValueError
        If the device type has none.
    """
    key = DispatchKey.by_name.get(f"Autocast{device(device_type).key_name}")
    if key is None:
        raise ValueError(f"there is no autocast for the device type {device_type!r}")
    return key


def autocast_level(device_type: str, enabled: bool = True) -> SetExcludedGuard:
    """Return a scope in which the autocast level of one device type runs, or does not.

    All autocast keys are excluded by default; the scope changes that one alone.
    """
    return SetExcludedGuard(autocast_key(device_type), not enabled)


def disable_torch_dispatch() -> ExcludeKeysGuard:
    """Return a scope in which neither dispatch modes nor ``__torch_dispatch__`` handlers run."""
    return ExcludeKeysGuard(PYTHON_KEYS | PRE_DISPATCH)


def include_functorch_layers() -> IncludeKeysGuard:
    """Return a scope in which calls enter and leave through the stack of transforms."""
    return IncludeKeysGuard(FUNCTORCH_LAYERS)


def disable_functorch() -> ExcludeKeysGuard:
    """Return a scope in which calls pass the stack of transforms by."""
    return ExcludeKeysGuard(FUNCTORCH_LAYERS)


def include_functionalize() -> IncludeKeysGuard:
    """Return a scope in which every call reaches the functionalization level."""
    return IncludeKeysGuard(FUNCTIONALIZE)


def enable_python_dispatcher() -> IncludeKeysGuard:
    """Return a scope in which `py_impl` functions take part in dispatch."""
    return IncludeKeysGuard(PYTHON_DISPATCHER)


def disable_python_dispatcher() -> ExcludeKeysGuard:
    """Return a scope in which `py_impl` functions take no part in dispatch."""
    return ExcludeKeysGuard(PYTHON_DISPATCHER)


def enable_pre_dispatch() -> IncludeKeysGuard:
    """Return a scope in which calls are traced before they reach autograd."""
    return IncludeKeysGuard(PRE_DISPATCH)
