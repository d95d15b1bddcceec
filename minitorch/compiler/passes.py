"""Clean-ups of functional graphs: what nobody uses, and what is computed twice."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from minitorch.compiler.operators import is_deterministic, is_impure, source_of
from minitorch.fx.graph import Graph
from minitorch.fx.node import Node


def remove_dead_code(graph: Graph) -> bool:
    """Remove nodes that nobody uses, from the end; random operators stay, as they move the stream of numbers.

    Returns
    -------
    bool
        Whether there were any.
    """
    removed = False
    for node in reversed(list(graph.nodes)):
        if not node.users and not is_impure(node):
            graph.erase_node(node)
            removed = True
    return removed


def merge_common_subexpressions(graph: Graph) -> int:
    """Let nodes that compute the same be one; return how many went.

    Random operators and uninitialised tensors are never the same.  Nor are results: each output of a graph has
    memory of its own, which its user may write to.
    """
    kept_apart = _in_memory_of_results(graph)
    known: dict[Hashable, Node] = {}
    merged = 0
    for node in list(graph.nodes):
        if not is_deterministic(node) or node in kept_apart:
            continue
        key = (node.target, _key(node.args), _key(node.kwargs))
        first = known.setdefault(key, node)
        if first is not node:
            node.replace_all_uses_with(first)
            graph.erase_node(node)
            merged += 1
    return merged


def _in_memory_of_results(graph: Graph) -> set[Node]:
    """Return the nodes in whose memory something lies that the graph returns."""
    sources = {source_of(node) for node in graph.output_node().all_input_nodes}
    return {node for node in graph.nodes if node.op != "output" and source_of(node) in sources}


def _key(value: Any) -> Hashable:
    if isinstance(value, (list, tuple)):
        return tuple([_key(item) for item in value])
    if isinstance(value, dict):
        return tuple([(name, _key(item)) for name, item in value.items()])
    if isinstance(value, slice):
        return "slice", _key((value.start, value.stop, value.step))
    # 1, 1.0 and True are equal and mean different dtypes; so do 0.0 and -0.0.
    return type(value), repr(value) if isinstance(value, float) else value


def clean(graph: Graph) -> None:
    """Remove what is computed twice and what nobody uses."""
    merge_common_subexpressions(graph)
    remove_dead_code(graph)
    graph.lint()
