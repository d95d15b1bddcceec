"""What a thread knows of autocast beside the keys: dtypes, the cache of casts, how deep it is in scopes.

Whether autocast is on for a device is not here: it is on where the device's autocast key is not excluded (spec C1).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from minitorch.core.dtype import dtype
from minitorch.dispatch.local_state import current

_NAME = "autocast"


class AutocastState:
    """One thread's state.

    Attributes
    ----------
    dtypes : dict of str to dtype
        What autocast computes in, by device type, where it was set.
    cache_enabled : bool
    nesting : int
        How many scopes the thread is in.
    scopes : list
        What each open scope restores.
    casts : dict
        The cache (`cached`).
    """

    __slots__ = ("cache_enabled", "casts", "dtypes", "nesting", "scopes")

    def __init__(self) -> None:
        self.dtypes: dict[str, dtype] = {}
        self.cache_enabled = True
        self.nesting = 0
        self.scopes: list[tuple] = []
        self.casts: dict[tuple[int, dtype], _Cast] = {}


def autocast_state() -> AutocastState:
    """Return this thread's state."""
    extra = current().extra
    found = extra.get(_NAME)
    if found is None:
        found = extra[_NAME] = AutocastState()
    return found


class _Cast:
    """A cast in the cache, and what it is the cast of.

    The graph of a cast keeps its source alive, so that the number of the source means nothing else meanwhile; a cast
    without a graph does not, hence the reference: the cast goes with its source.
    """

    __slots__ = ("handle", "result", "source", "version")

    def __init__(self, source: Any, result: Any, forget: Callable[[weakref.ref], None]):
        self.source = weakref.ref(source, forget)
        self.handle = source.handle
        self.version = source._version
        self.result = result

    def serves(self, tensor: Any) -> bool:
        """Return whether this is the cast of `tensor` as it is now, with the history that it must have."""
        return (
            self.source() is tensor
            and self.handle is tensor.handle
            and self.version == tensor._version
            and (self.result.requires_grad or not current().grad_enabled)
        )


def find_cast(state: AutocastState, tensor: Any, target: dtype) -> Any:
    """Return the cast of `tensor` that the cache holds and that can be used now, or None.

    One made without grad mode has no history; with grad mode it would lose the gradient (spec C6).  One from before
    the tensor was changed is not its cast any more.
    """
    found = state.casts.get((id(tensor), target))
    return found.result if found is not None and found.serves(tensor) else None


def keep_cast(state: AutocastState, tensor: Any, result: Any) -> None:
    """Put a cast into the cache."""
    casts, key = state.casts, (id(tensor), result.dtype)

    def forget(source: weakref.ref) -> None:
        found = casts.get(key)
        if found is not None and found.source is source:
            del casts[key]

    casts[key] = _Cast(tensor, result, forget)
