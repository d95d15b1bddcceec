"""Making modules of parts of a graph, in place."""

from __future__ import annotations

import copy
from collections.abc import Iterable

from minitorch.fx.graph import Graph
from minitorch.fx.graph_module import GraphModule
from minitorch.fx.node import Node
from minitorch.fx.passes.tools_common import lift_subgraph_as_module, stable_topological_sort, topo_sort
from minitorch.fx.proxy import Proxy

__all__ = ["erase_nodes", "fuse_as_graphmodule", "fuse_by_partitions", "insert_subgm", "topo_sort", "validate_partition"]


def validate_partition(partition: Iterable[Node]) -> bool:
    """Return whether nodes can become one: no way leads out of them and in again."""
    inside = set(partition)
    waiting = [user for node in inside for user in node.users if user not in inside]
    seen: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node in inside:
            return False
        if node not in seen:
            seen.add(node)
            waiting.extend(node.users)
    return True


def fuse_as_graphmodule(
    gm: GraphModule, nodes: list[Node], module_name: str, *, always_return_tuple: bool = False
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """Return a module of some nodes of a module's graph, which stays as it is.

    Parameters
    ----------
    nodes : list of Node
        In topological order.
    module_name : str
        The name of the new module's class.
    always_return_tuple : bool
        Also where there is a single output.

    Returns
    -------
    GraphModule, tuple of Node, tuple of Node
        The module, and the nodes of the old graph that are its inputs, and its outputs.

    Raises
    ------
    AssertionError
        If a node is not of the module, or the nodes cannot become one.
    """
    for node in nodes:
        if node.graph.owning_module is not gm or node._erased:
            raise AssertionError(f"{node} doesn't belong to passed in graph module {gm._get_name()}")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    inside = set(nodes)
    graph = Graph()
    copies: dict[Node, Node] = {}
    inputs: dict[Node, Node] = {}

    def new_node_of(node: Node) -> Node:
        if node in inside:
            return copies[node]
        if node not in inputs:
            inputs[node] = graph.placeholder(node.name, type_expr=node.type)
            inputs[node].meta = copy.copy(node.meta)
        return inputs[node]

    for node in nodes:
        copies[node] = graph.node_copy(node, new_node_of)
    outputs = tuple(node for node in nodes if any(user not in inside for user in node.users))
    values = tuple(copies[node] for node in outputs)
    graph.output(values[0] if len(values) == 1 and not always_return_tuple else values)
    # Inputs came up where they were first used: placeholders stand first.
    for placeholder in reversed(inputs.values()):
        graph._root.next.prepend(placeholder)
    fused, _ = lift_subgraph_as_module(gm, graph, class_name=module_name)
    return fused, tuple(inputs), outputs


def insert_subgm(
    gm: GraphModule,
    sub_gm: GraphModule,
    orig_inputs: tuple[Node, ...],
    orig_outputs: tuple[Node, ...],
    insertion_point: Node,
) -> GraphModule:
    """Call a module behind a node, and let its results stand for some nodes; return the module that has the graph."""
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    with gm.graph.inserting_after(insertion_point):
        call = gm.graph.call_module(name, orig_inputs)
        if len(orig_outputs) == 1 and not isinstance(sub_gm.graph.output_node().args[0], tuple):
            orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
            return gm
        for i, output in enumerate(orig_outputs):
            output.replace_all_uses_with(Proxy(call)[i].node, propagate_meta=True)
        call.meta["val"] = tuple(output.meta.get("val") for output in orig_outputs)
    return gm


def erase_nodes(gm: GraphModule, nodes: list[Node]) -> None:
    """Erase nodes, the last one first."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule, partitions: Iterable[Iterable[Node]], prefix: str = "fused_", always_return_tuple: bool = False
) -> GraphModule:
    """Replace each set of nodes by a call of a module ``fused_0``, ``fused_1``, ...; return the module."""
    for i, partition in enumerate(partitions):
        nodes = topo_sort(sorted(partition))
        fused, inputs, outputs = fuse_as_graphmodule(gm, nodes, f"{prefix}{i}", always_return_tuple=always_return_tuple)
        insert_subgm(gm, fused, inputs, outputs, nodes[-1])
        erase_nodes(gm, nodes)
    stable_topological_sort(gm)
    gm.graph.lint()
    gm.recompile()
    return gm
