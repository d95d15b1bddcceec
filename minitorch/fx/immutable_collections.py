"""Lists and dictionaries that cannot be changed: what a node's arguments are made of.

A graph keeps track of who uses which value.  That holds only while arguments change through ``node.args = ...``.
"""

from __future__ import annotations

from typing import Any, NoReturn

from minitorch.core.pytree import register_pytree_node

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"{type(self).__name__!r} object does not support mutation: a graph would not notice. "
        "Copy it, change the copy, and assign that: node.args = (...) or node.kwargs = {...}"
    )


class immutable_list(list):
    """A list that cannot be changed."""

    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse  # type: ignore[assignment]
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self):
        return type(self), (tuple(self),)


class immutable_dict(dict):
    """A dictionary that cannot be changed."""

    __delitem__ = __ior__ = __setitem__ = _refuse  # type: ignore[assignment]
    clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return type(self), (tuple(self.items()),)


register_pytree_node(immutable_list, lambda tree: (list(tree), None), lambda children, context: immutable_list(children))
register_pytree_node(
    immutable_dict,
    lambda tree: (list(tree.values()), list(tree)),
    lambda children, context: immutable_dict(zip(context, children, strict=True)),
)
