"""Flattening by a known structure: what generated code does with nested arguments."""

from __future__ import annotations

from typing import Any

from minitorch.core.pytree import TreeSpec, tree_flatten

__all__ = ["tree_flatten_spec"]


def tree_flatten_spec(pytree: Any, spec: TreeSpec) -> list[Any]:
    """Return the leaves of nested arguments, which must be of the structure with which they were traced.

    Raises
    ------
    ValueError
        If they are not.
    """
    if isinstance(pytree, list):  # generated code writes a list of arguments
        pytree = tuple(pytree)
    leaves, found = tree_flatten(pytree)
    if found != spec:
        raise ValueError(f"the arguments are nested otherwise than when this was traced: expected {spec}, got {found}")
    return leaves
