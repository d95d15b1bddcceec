"""Which classes and functions of the user a file may name (Note [Safe loading] in `reading`)."""

from __future__ import annotations

from typing import Any

_allowed: dict[tuple[str, str], Any] = {}


def _named(item: Any) -> tuple[tuple[str, str], Any]:
    if isinstance(item, tuple):
        value, path = item
        module, _, name = path.rpartition(".")
        return (module, name), value
    module = item.__module__
    if module.partition(".")[0] == "minitorch":
        module = f"torch{module.removeprefix('minitorch')}"  # as files name the classes of this package
    return (module, item.__qualname__), item


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow files to name classes or functions, and to call them.

    Parameters
    ----------
    safe_globals : list
        Classes and functions, or pairs of one and the dotted path that files name it by.

    Examples
    --------
    >>> from collections import Counter
    >>> minitorch.serialization.add_safe_globals([Counter])
    >>> minitorch.serialization.get_safe_globals()
    [<class 'collections.Counter'>]
    >>> minitorch.serialization.clear_safe_globals()
    """
    for item in safe_globals:
        key, value = _named(item)
        _allowed[key] = value


def get_safe_globals() -> list[Any]:
    """Return what `add_safe_globals` has allowed."""
    return list(_allowed.values())


def clear_safe_globals() -> None:
    """Allow nothing beyond what files of tensors need."""
    _allowed.clear()


def user_globals() -> dict[tuple[str, str], Any]:
    """Return what is allowed, by module and name."""
    return dict(_allowed)


class safe_globals:
    """Scope: files may name these classes and functions as well.

    Parameters
    ----------
    safe_globals : list
        As for `add_safe_globals`.
    """

    def __init__(self, safe_globals: list[Any]):
        self._added = safe_globals
        self._before: dict[tuple[str, str], Any] = {}

    def __enter__(self) -> None:
        self._before = dict(_allowed)
        add_safe_globals(self._added)

    def __exit__(self, *exception: Any) -> None:
        _allowed.clear()
        _allowed.update(self._before)
