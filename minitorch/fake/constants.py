"""Fake tensors whose elements are known: what ``tensor(3)`` makes, and what is computed of such alone (spec M8).

Note [Known elements]
    A constant stands beside a fake tensor as a small real one.  An operator whose tensors are all constants
    also runs on these; one that writes to a constant and reads something unknown makes it unknown, with all
    other constants that show the same memory.
"""

from __future__ import annotations

import weakref
from typing import Any

# Of so many elements a tensor is remembered.
LARGEST = 1


class Constants:
    """The constants of one mode (Note [Known elements])."""

    def __init__(self) -> None:
        # id of a storage -> the fake tensors with constants that show it; they keep it alive.
        self._showing: dict[int, list[weakref.ref]] = {}

    def set(self, fake: Any, constant: Any) -> None:
        """Note the elements of a fake tensor."""
        fake.constant = constant
        key = id(fake.storage_of())

        def drop(ref: Any) -> None:
            refs = self._showing.get(key, [])
            if ref in refs:
                refs.remove(ref)
                if not refs:
                    self._showing.pop(key, None)

        self._showing.setdefault(key, []).append(weakref.ref(fake, drop))

    def forget(self, fake: Any) -> None:
        """Note that the memory of a fake tensor was written to."""
        cell = fake.storage_cell
        if cell is None or id(cell) not in self._showing:
            return
        for ref in self._showing.pop(id(cell)):
            other = ref()
            if other is not None and other.storage_cell is cell:
                other.constant = None


def elements(value: Any) -> Any:
    """Return an argument with constants in place of fake tensors."""
    constant = getattr(value, "constant", None)
    if constant is not None:
        return constant
    return type(value)(elements(item) for item in value) if type(value) in (list, tuple) else value
