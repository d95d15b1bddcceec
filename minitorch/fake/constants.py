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

    def fold(self, func: Any, args: tuple, kwargs: dict, results: list) -> None:
        """Run an operator on the constants that stand beside its arguments, and put what comes out beside its results."""
        value = func.call(known(args), {name: known(v) for name, v in kwargs.items()} or None)
        for fake, constant in zip(results, flat(value), strict=True):
            if fake.constant is not constant and constant.numel() <= LARGEST:
                self.set(fake, constant)


def known(value: Any) -> Any:
    """Return an argument with constants in place of fake tensors."""
    constant = getattr(value, "constant", None)
    if constant is not None:
        return constant
    return type(value)(known(item) for item in value) if type(value) in (list, tuple) else value


def flat(result: Any) -> list:
    """Return the results of a call as a list."""
    if isinstance(result, (list, tuple)):
        return [item for part in result for item in flat(part)]
    return [result]
