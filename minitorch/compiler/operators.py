"""What a node of a functional graph does, as far as moving, merging and repeating it are concerned."""

from __future__ import annotations

import operator
from typing import Any

from minitorch.dispatch.namespace import OpOverload
from minitorch.fx.node import Node

# Cheap although nothing says so: they write memory at most once and compute next to nothing.
_CHEAP = frozenset(
    "aten::" + name
    for name in (
        "_to_copy", "arange", "arange.start", "arange.start_step", "cat", "clone", "constant_pad_nd", "copy", "full",
        "full_like", "lift_fresh_copy", "masked_fill.Scalar", "ones", "ones_like", "repeat", "scalar_tensor", "select_scatter",
        "slice_scatter", "stack", "tril", "triu", "where.self", "zeros", "zeros_like",
    )
)  # fmt: skip
_UNINITIALISED = frozenset(
    "aten::" + name for name in ("empty.memory_format", "empty_like", "empty_strided", "new_empty", "new_empty_strided")
)


def is_random(node: Node) -> bool:
    """Return whether a node draws random numbers."""
    return isinstance(node.target, OpOverload) and "nondeterministic_seeded" in node.target.tags


def is_writing(node: Node) -> bool:
    """Return whether a node changes a tensor."""
    target: Any = node.target
    return isinstance(target, OpOverload) and any(a.is_write for a in target._schema.arguments)


def is_impure(node: Node) -> bool:
    """Return whether a node must run even if nobody uses what it returns."""
    if node.op in ("placeholder", "output") or is_random(node) or is_writing(node):
        return True
    if node.op != "call_function":
        return node.op != "get_attr"
    if isinstance(node.target, OpOverload) and not node.target._schema.returns:
        return True  # an assertion, or something that only its author knows
    is_functional = isinstance(node.target, OpOverload) or getattr(node.target, "is_functional", False)
    return not (is_functional or is_scalar_arithmetic(node))


def is_scalar_arithmetic(node: Node) -> bool:
    """Return whether a node picks an element, or computes with sizes."""
    return node.op == "call_function" and getattr(node.target, "__module__", "") in ("_operator", "math")


def is_view(node: Node) -> bool:
    """Return whether what a node returns shares memory with an argument, or is an element of such a result."""
    if node.target is operator.getitem:
        return is_view(node.args[0])  # type: ignore[arg-type]
    return isinstance(node.target, OpOverload) and node.target.is_view


def is_cheap(node: Node) -> bool:
    """Return whether computing a node once more costs less than keeping what it computed."""
    if node.op == "get_attr" or node.target is operator.getitem or is_scalar_arithmetic(node):
        return True
    target = node.target
    if not isinstance(target, OpOverload) or is_random(node) or is_writing(node):
        return False
    return target.is_view or "pointwise" in target.tags or target.qualname in _CHEAP


def is_deterministic(node: Node) -> bool:
    """Return whether two such nodes with equal arguments compute the same."""
    return (
        node.op == "call_function"
        and not is_impure(node)
        and not (isinstance(node.target, OpOverload) and node.target.qualname in _UNINITIALISED)
    )


def source_of(node: Node) -> Node:
    """Return the node in whose memory what a node returns lies: through views, itself where it is none."""
    while is_view(node):
        inputs = node.all_input_nodes
        if not inputs:
            break
        node = inputs[0]
    return node
