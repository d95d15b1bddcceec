"""A joint graph cut into its forward and its backward graph.

Note [What crosses the cut]
    The forward graph returns its values and, behind them, what the backward graph is given besides the tangents: the
    *saved* values.  Which these are is the partition's choice.  Everything that is needed and not saved is
    computed again in the backward graph; random operators never are, so that masks of dropout are those of the
    forward pass.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from minitorch.compiler.max_flow import INFINITE, FlowNetwork
from minitorch.compiler.operators import is_cheap, is_impure, is_random
from minitorch.compiler.passes import clean, remove_dead_code
from minitorch.core.symbolic import is_symbolic
from minitorch.fx.graph import Graph
from minitorch.fx.graph_module import GraphModule
from minitorch.fx.node import Node, map_arg
from minitorch.tensor.base import TensorBase

__all__ = ["default_partition", "min_cut_rematerialization_partition"]


class JointGraph:
    """The parts of a joint graph.

    Attributes
    ----------
    primals, tangents : list of Node
    values, gradients : list
        What the forward and the backward graph return: nodes, None and constants.
    after_tangents : set of Node
        What only the backward graph can compute.
    required_forward : set of Node
        What the forward graph computes in any case: its values, and what draws random numbers on the way.
    """

    def __init__(self, module: GraphModule, value_count: int):
        self.module = module
        graph = module.graph
        placeholders = graph.find_nodes(op="placeholder")
        self.tangents = [node for node in placeholders if node.name.startswith("tangents")]
        self.primals = [node for node in placeholders if not node.name.startswith("tangents")]
        results: Any = graph.output_node().args[0]
        self.values = list(results[:value_count])
        self.gradients = list(results[value_count:])
        self.after_tangents = set(self.tangents)
        for node in graph.nodes:
            from_tangents = any(n in self.after_tangents for n in node.all_input_nodes)
            if from_tangents or (node.meta.get("is_backward") and is_impure(node)):
                self.after_tangents.add(node)
        impure = [n for n in graph.nodes if n.op == "call_function" and is_impure(n) and n not in self.after_tangents]
        # Sizes are saved, and not the tensors that have them.
        sizes = [n for n in graph.nodes if is_symbolic(n.meta.get("val")) and n not in self.after_tangents]
        self.required_forward = _ancestors([*_nodes(self.values), *impure, *sizes])

    def backward_roots(self) -> list[Node]:
        """Return the nodes that the backward graph computes in any case."""
        return [*_nodes(self.gradients), *[n for n in self.after_tangents if n.op == "call_function" and is_impure(n)]]

    def cut(self, saved: Sequence[Node]) -> tuple[GraphModule, GraphModule]:
        """Return the forward graph and the backward graph with these saved values."""
        forward = self._extract(self.primals, [*self.values, *saved], before_tangents=True)
        backward = self._extract([*saved, *self.tangents], self.gradients, before_tangents=False)
        return forward, backward

    def _extract(self, inputs: Sequence[Node], outputs: Sequence[Any], before_tangents: bool) -> GraphModule:
        """Return the part of the graph that computes outputs from inputs."""
        graph = Graph()
        copies: dict[Node, Node] = {}
        for node in inputs:
            copies[node] = graph.placeholder(node.name)
            copies[node].meta = dict(node.meta)

        def needed(node: Node) -> None:
            """Copy a node, and before it what it needs."""
            stack = [node]
            while stack:
                top = stack[-1]
                missing = [n for n in top.all_input_nodes if n not in copies]
                if top in copies:
                    stack.pop()
                elif missing:
                    stack += reversed(missing)
                else:
                    if top.op == "placeholder":
                        raise RuntimeError(f"partition: {top} is needed in a graph that is not given it; save it")
                    copies[top] = graph.node_copy(top, lambda n: copies[n])
                    stack.pop()

        # In the order of the joint graph, with what is computed again just before it is used.
        wanted = _ancestors(_nodes(outputs), stop=set(inputs))
        for node in self.module.graph.nodes:
            if node.op in ("placeholder", "output") or node in copies:
                continue
            is_forward = node not in self.after_tangents
            if (is_impure(node) and is_forward == before_tangents) or (
                node in wanted and is_forward == before_tangents
            ):
                needed(node)
        for node in _nodes(outputs):
            needed(node)
        graph.output(tuple(map_arg(list(outputs), lambda n: copies[n])))
        remove_dead_code(graph)
        graph.lint()
        return GraphModule(self.module, graph)


def _nodes(values: Iterable[Any]) -> list[Node]:
    return [value for value in values if isinstance(value, Node)]


def _ancestors(nodes: Iterable[Node], stop: set[Node] | frozenset = frozenset()) -> set[Node]:
    """Return nodes and all that they are computed from, up to those of `stop`."""
    found: set[Node] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            if node not in stop:
                stack += node.all_input_nodes
    return found


def _is_value(node: Node) -> bool:
    """Return whether a node's result can be saved: a tensor or a size, not a tuple of results."""
    return not isinstance(node.meta.get("val"), (list, tuple))


def default_partition(
    joint_module: GraphModule, joint_inputs: Any = None, *, num_fwd_outputs: int
) -> tuple[GraphModule, GraphModule]:
    """Cut a joint graph as eager mode does: save what the forward pass computes and the backward pass uses.

    Parameters
    ----------
    joint_module : GraphModule
        Takes primals and tangents, returns values and gradients.
    joint_inputs : object
        The arguments that it was traced with; not used.
    num_fwd_outputs : int
        How many of its results are values.

    Returns
    -------
    GraphModule, GraphModule
        ``(*primals) -> (*values, *saved)`` and ``(*saved, *tangents) -> gradients``.
    """
    clean(joint_module.graph)
    joint = JointGraph(joint_module, num_fwd_outputs)
    required_backward = _ancestors(joint.backward_roots(), stop=joint.required_forward | set(joint.primals))
    saved: dict[Node, None] = {}
    for node in joint_module.graph.nodes:
        if node not in required_backward or node.op == "get_attr":
            continue
        if node in joint.required_forward or (node.op == "placeholder" and node not in joint.after_tangents):
            for value in _parts(node, required_backward):
                saved[value] = None
    return joint.cut(list(saved))


def _parts(node: Node, users: set[Node]) -> list[Node]:
    """Return what to save where the result of a node is wanted: its elements where that is a tuple."""
    if _is_value(node):
        return [node]
    return [user for user in node.users if user.target is operator.getitem and user in users]


def _now(number: Any) -> int:
    """Return a size, a symbolic one as it is in the example, without the guard that it stays so; 4096 where data decides it."""
    if not is_symbolic(number):
        return number
    return 4096 if number.node.hint is None else number.node.hint


# What saving an input costs: the caller mostly has it anyway, but a size of it costs less.
_OF_CALLER = 1 / 1024


def _bytes(node: Node) -> float:
    """Return how much memory saving a node's result keeps alive."""
    if node.op == "placeholder" and not node.meta.get("changes"):
        return _OF_CALLER
    value = node.meta.get("val")
    if isinstance(value, TensorBase):
        return max(1, _now(value.numel()) * value.element_size())
    return 0 if value is not None else 1


def min_cut_rematerialization_partition(
    joint_module: GraphModule,
    joint_inputs: Any = None,
    *,
    num_fwd_outputs: int,
    is_cheap: Callable[[Node], bool] = is_cheap,
) -> tuple[GraphModule, GraphModule]:
    """Cut a joint graph where the fewest bytes are saved, and compute cheap operators again in the backward graph.

    Cheap are element-wise operators, views and factories; never random operators, matrix products, reductions. Which
    values to save is a minimum cut between what must come from the forward pass and what the backward pass needs.

    Parameters
    ----------
    joint_module, joint_inputs, num_fwd_outputs
        As for `default_partition`.
    is_cheap : callable, optional
        ``(node) -> bool``: which nodes may be computed again.

    Returns
    -------
    GraphModule, GraphModule
    """
    clean(joint_module.graph)
    joint = JointGraph(joint_module, num_fwd_outputs)
    before = [
        n for n in joint_module.graph.nodes if n not in joint.after_tangents and n.op not in ("output", "get_attr")
    ]
    required_backward = _ancestors(joint.backward_roots())
    network = FlowNetwork()
    network.add_edge("source", "sink", 0)
    for node in before:
        if node not in required_backward:
            continue
        capacity = _bytes(node) if _is_value(node) else INFINITE
        network.add_edge((node, "in"), (node, "out"), capacity)
        # What the forward graph need not compute is computed once wherever it stands.
        repeated = node in joint.required_forward and (is_random(node) or not is_cheap(node))
        if node.op == "placeholder" or repeated:
            network.add_edge("source", (node, "in"))
        for user in node.users:
            if user in joint.after_tangents or user.op == "output":
                if user in required_backward or (user.op == "output" and node in _nodes(joint.gradients)):
                    network.add_edge((node, "out"), "sink")
            elif user in required_backward:
                network.add_edge((node, "out"), (user, "in"))
    _, near = network.minimum_cut("source", "sink")
    saved = [n for n in before if (n, "in") in near and (n, "out") not in near]
    return joint.cut(saved)
