"""The order of nodes, and parts of graphs as modules."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from minitorch.fx.graph import Graph
from minitorch.fx.graph_module import GraphModule, get_attribute
from minitorch.fx.node import Node

__all__ = ["legalize_graph", "lift_subgraph_as_module", "stable_topological_sort", "topo_sort"]


def topo_sort(nodes: Iterable[Node]) -> list[Node]:
    """Return nodes so that each comes after those that it uses; otherwise in the order in which they are given.

    Raises
    ------
    AssertionError
        If nodes depend on one another in a circle.
    """
    nodes = list(nodes)
    place = {node: i for i, node in enumerate(nodes)}
    missing = {node: sum(1 for n in node.all_input_nodes if n in place) for node in nodes}
    ready = [place[node] for node in nodes if not missing[node]]
    result: list[Node] = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        result.append(node)
        for user in node.users:
            if user in missing:
                missing[user] -= 1
                if not missing[user]:
                    heapq.heappush(ready, place[user])
    if len(result) != len(nodes):
        circle = [node.name for node in nodes if missing[node]]
        raise AssertionError(f"topo_sort: these nodes depend on one another in a circle: {', '.join(circle)}")
    return result


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """Put the nodes of a module's graph in order, each after those that it uses; return the module."""
    order = topo_sort(gm.graph.nodes)
    for node in order:
        gm.graph._root.prepend(node)
    return gm


legalize_graph = stable_topological_sort


def lift_subgraph_as_module(
    gm: GraphModule, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[GraphModule, dict[str, str]]:
    """Return a module of a graph whose attributes are those of another module.

    Returns
    -------
    GraphModule
    dict of str to str
        Paths in `gm` of the submodules, by those in the new module.
    """
    root = {}
    paths: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        root[node.target] = get_attribute(gm, node.target)
        if node.op == "call_module":
            paths[f"{comp_name}.{node.target}" if comp_name else node.target] = node.target
    return GraphModule(root, subgraph, class_name), paths
