"""`split_module`: makes a module of each of several parts of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from minitorch.fx.graph import Graph
from minitorch.fx.graph_module import GraphModule, get_attribute
from minitorch.fx.node import Node, map_arg
from minitorch.nn.modules.module import Module

__all__ = ["split_module"]


class _Partition:
    """One part: its nodes, what comes in and goes out, and the graph that is made of it."""

    def __init__(self, name: str):
        self.name = name
        self.submodule = f"submod_{name}"
        self.nodes: list[Node] = []
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.dependencies: set[str] = set()
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.copies: dict[Node, Node] = {}
        self.attributes: dict[str, Any] = {}


def split_module(
    m: GraphModule,
    root_m: Module,
    split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool = False,
    keep_original_node_name: bool = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """Return a module that does what `m` does by calling a submodule for each of several parts.

    Parameters
    ----------
    m : GraphModule
        Stays as it is; submodules and parameters are shared.
    root_m : Module
        Not used; PyTorch's signature has it.
    split_callback : callable
        ``node -> number``: the part that a node belongs to.  Inputs, attributes and the output belong to none.
    qualname_map : dict, optional
        Filled with paths of submodules in `m`, by those in the result.
    keep_original_order : bool
        Call the parts in the order of their first nodes; by default in that of their dependencies.
    keep_original_node_name, keep_original_input_name : bool
        Nodes, and inputs, of the parts are named as they were; otherwise by their targets, and ``arg_0``, ``arg_1``, ...
    partition_affix : str, optional
        Parts are called ``submod_<affix>_0``.
    tuple_return : bool
        Parts return a tuple even of a single value.

    Raises
    ------
    RuntimeError
        If parts depend on one another in a circle.

    Examples
    --------
    >>> from minitorch import fx
    >>> from minitorch.fx.passes.split_module import split_module
    >>> module = fx.symbolic_trace(lambda x: minitorch.relu(x).sum())
    >>> parts = split_module(module, module, lambda node: 0 if node.target is minitorch.relu else 1)
    >>> [name for name, _ in parts.named_children()]
    ['submod_0', 'submod_1']
    """
    partitions = _divide(m, split_callback, partition_affix)
    order = list(partitions.values()) if keep_original_order else _in_order(partitions)
    for partition in order:
        _make_inputs(m, partition, keep_original_input_name)
    for partition in order:
        _copy_nodes(m, partition, keep_original_node_name, qualname_map)
    graph = Graph()
    attributes: dict[str, Any] = {}
    env: dict[Node, Node] = {}

    def take(nodes: Iterable[Node]) -> None:
        """Let the graph have inputs and attributes."""
        for node in nodes:
            if node in env:
                continue
            env[node] = graph.node_copy(node)
            if node.op == "get_attr":
                attributes[node.target] = get_attribute(m, node.target)

    taken = ("placeholder",) if keep_original_order else ("placeholder", "get_attr")
    take(node for node in m.graph.nodes if node.op in taken)
    for partition in order:
        take(node for node in partition.inputs if node.op == "get_attr")
        values = tuple(partition.copies[node] for node in partition.outputs)
        alone = len(values) == 1 and not tuple_return
        partition.graph.output(values[0] if alone else values)
        attributes[partition.submodule] = GraphModule(partition.attributes, partition.graph)
        call = graph.call_module(partition.submodule, tuple(env[node] for node in partition.inputs))
        _unpack(graph, call, partition, alone, env)
    take(node for node in m.graph.output_node().all_input_nodes if node.op == "get_attr")
    graph.output(map_arg(m.graph.output_node().args[0], lambda n: env[n]))
    result = GraphModule(attributes, graph)
    result.meta["partition_names"] = {partition.submodule for partition in order}
    return result


def _divide(m: GraphModule, split_callback: Callable[[Node], Any], affix: str | None) -> dict[str, _Partition]:
    """Return the parts by name, with what goes from one to another."""
    partitions: dict[str, _Partition] = {}
    part_of: dict[Node, _Partition] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = str(split_callback(node))
        name = name if affix is None else f"{affix}_{name}"
        part_of[node] = partitions.setdefault(name, _Partition(name))
        part_of[node].nodes.append(node)
    for user in m.graph.nodes:
        used_in = part_of.get(user)
        for node in user.all_input_nodes:
            made_in = part_of.get(node)
            if made_in is used_in:
                continue
            if made_in is not None:
                made_in.outputs.setdefault(node)
            if used_in is not None:
                used_in.inputs.setdefault(node)
                if made_in is not None:
                    used_in.dependencies.add(made_in.name)
                    made_in.dependents.setdefault(used_in.name)
    return partitions


def _in_order(partitions: dict[str, _Partition]) -> list[_Partition]:
    """Return the parts, each after those that it depends on."""
    order: list[_Partition] = []
    missing = {name: set(partition.dependencies) for name, partition in partitions.items()}
    ready = [name for name in partitions if not missing[name]]
    while ready:
        name = ready.pop()
        order.append(partitions[name])
        for dependent in partitions[name].dependents:
            missing[dependent].discard(name)
            if not missing[dependent]:
                ready.append(dependent)
    if len(order) != len(partitions):
        circle = [name for name in partitions if missing[name]]
        raise RuntimeError(f"cycle exists between partitions! These depend on one another: {', '.join(circle)}")
    return order


def _make_inputs(m: GraphModule, partition: _Partition, keep_names: bool) -> None:
    """Give a part a placeholder for each value that comes in; whole submodules are taken as attributes."""
    values = {}
    modules = [node for node in partition.inputs if _is_submodule(m, node)]
    for node in partition.inputs:
        if node not in modules:
            name = node.name if keep_names else f"arg_{len(values)}"
            values[node] = partition.copies[node] = partition.graph.placeholder(name, type_expr=node.type)
    for node in modules:
        partition.copies[node] = partition.graph.get_attr(node.target)
        partition.attributes[node.target] = get_attribute(m, node.target)
    for node in partition.inputs:
        partition.copies[node].meta = dict(node.meta)
    partition.inputs = dict.fromkeys(values)


def _is_submodule(m: GraphModule, node: Node) -> bool:
    return node.op == "get_attr" and isinstance(get_attribute(m, node.target), Module)


def _copy_nodes(m: GraphModule, partition: _Partition, keep_names: bool, qualname_map: dict[str, str] | None) -> None:
    for node in partition.nodes:
        target = node.target
        if node.op == "call_module":
            target = node.target.replace(".", "_")
            partition.attributes[target] = get_attribute(m, node.target)
            if qualname_map is not None:
                qualname_map[f"{partition.submodule}.{target}"] = node.target
        new = partition.graph.create_node(
            node.op,
            target,
            map_arg(node.args, lambda n: partition.copies[n]),
            map_arg(node.kwargs, lambda n: partition.copies[n]),
            node.name if keep_names else None,
            node.type,
        )
        new.meta = dict(node.meta)
        partition.copies[node] = new


def _unpack(graph: Graph, call: Node, partition: _Partition, alone: bool, env: dict[Node, Node]) -> None:
    """Note where the results of a part are after its call."""
    from minitorch.fx.proxy import Proxy

    if alone:
        env[next(iter(partition.outputs))] = call
        return
    for i, node in enumerate(partition.outputs):
        env[node] = Proxy(call)[i].node
