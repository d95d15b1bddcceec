"""The way of a call through the dispatcher, as a picture."""

from __future__ import annotations

import os
import textwrap
from typing import Any

from minitorch.dispatch.introspect import explain
from minitorch.viz.picture import Picture

__all__ = ["dispatch_route"]

_WIDEST = 44
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


def dispatch_route(op: Any, /, *args: Any, **kwargs: Any) -> Picture:
    """Return which keys a call of an operator would go through, and which kernels would run there.

    The call is not made: the data are those of `minitorch.dispatch.explain`, which also says what is raised.

    Parameters
    ----------
    op : Operator, OpOverloadPacket or str
        ``minitorch.ops.aten.add``, ``"aten::add.Tensor"``.

    Returns
    -------
    Picture
        The arguments with their keys, the key set of the call, and below it a hop a level.

    Examples
    --------
    >>> dispatch_route("aten::exp", minitorch.ones(2)).nodes["hop 0"].lines[:2]
    ('AutogradCPU', 'autograd kernel')
    """
    found = explain(op, *args, **kwargs)
    picture = Picture(found.op)
    picture.node("call", found.op, *_wrapped(["key set:", *found.key_set] if found.key_set else ["key set: empty"]))
    for name, keys in found.arguments.items():
        picture.node(f"argument {name}", name, *_wrapped(keys), kind="input")
        picture.edge(f"argument {name}", "call")
    for title, keys in (("included by the thread", found.included), ("excluded by the thread", found.excluded)):
        if keys:
            picture.node(title, title, *_wrapped(keys), kind="key")
            picture.edge(title, "call")
    if found.fallthrough:
        picture.node("skipped", "skipped by the operator", *_wrapped(found.fallthrough), kind="key")
        picture.edge("skipped", "call")
    above, label = "call", "highest key"
    for i, hop in enumerate(found.hops):
        name = f"hop {i}"
        kind = "missing" if hop.reason == "missing" else "kernel"
        picture.node(name, hop.key, hop.reason, hop.kernel.removeprefix(_ROOT), kind=kind)
        picture.edge(above, name, label)
        above, label = name, "redispatch"
    return picture


def _wrapped(words: list[str]) -> list[str]:
    """Return the words in lines that a box has room for."""
    return textwrap.wrap(", ".join(words).replace(":,", ":"), _WIDEST)
