"""Where steps come from: stack traces and other meta that stays with what is made of a node.

While a node is run by an `Interpreter` under `preserve_node_meta`, nodes recorded meanwhile take over its meta: so the
line of the model that a step came from is known however often its graph was traced again.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitorch.fx.node import Node

__all__ = [
    "annotate", "format_stack", "get_current_meta", "get_current_replay_node", "has_preserved_node_meta",
    "preserve_node_meta", "set_current_meta", "set_current_replay_node", "set_stack_trace",
]  # fmt: skip


class _State(threading.local):
    preserving = False
    replayed: Node | None = None

    def __init__(self) -> None:
        self.meta: dict[str, Any] = {}


_state = _State()


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Scope in which recorded nodes take over the meta of the node that is run."""
    old_preserving, old_meta = _state.preserving, _state.meta
    _state.preserving, _state.meta = enable, dict(old_meta)
    try:
        yield
    finally:
        _state.preserving, _state.meta = old_preserving, old_meta


def has_preserved_node_meta() -> bool:
    """Return whether a `preserve_node_meta` scope is open."""
    return _state.preserving


@contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Scope in which a node is the one that is run; without effect outside of `preserve_node_meta`."""
    if not _state.preserving or not node.meta:
        yield
        return
    old = _state.meta
    _state.meta = {**node.meta, "from_node": [*node.meta.get("from_node", ()), (node.name, node.target)]}
    try:
        yield
    finally:
        _state.meta = old


def get_current_meta() -> dict[str, Any]:
    """Return the meta of the node that is run, or an empty dictionary."""
    return _state.meta


def set_stack_trace(stack: list[str]) -> None:
    """Let recorded nodes have a stack trace, inside of `preserve_node_meta`."""
    if _state.preserving and stack:
        _state.meta["stack_trace"] = "".join(stack)


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Scope in which recorded nodes have these entries in ``meta["custom"]``, inside of `preserve_node_meta`."""
    if not _state.preserving:
        yield
        return
    old = _state.meta
    _state.meta = {**old, "custom": {**old.get("custom", {}), **annotation_dict}}
    try:
        yield
    finally:
        _state.meta = old


def format_stack() -> list[str]:
    """Return the stack trace of the node that is run, or else that of the caller, as lines."""
    if _state.preserving:
        return [_state.meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextmanager
def set_current_replay_node(node: Node | None) -> Iterator[None]:
    """Scope in which what is recorded replays a node of another graph."""
    old = _state.replayed
    _state.replayed = node
    try:
        yield
    finally:
        _state.replayed = old


def get_current_replay_node() -> Node | None:
    """Return the node that is replayed, or None."""
    return _state.replayed
