"""`SubgraphMatcher`: finds the places where a graph does what a pattern does."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from minitorch.dispatch.namespace import OpOverload
from minitorch.fx.graph import Graph
from minitorch.fx.graph_module import get_attribute
from minitorch.fx.node import Node
from minitorch.fx.passes.utils.fuser_utils import validate_partition
from minitorch.tensor.tensor import Tensor

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One place where a pattern was found.

    Attributes
    ----------
    anchors : list of Node
        The pattern's results, from which the search went up.
    nodes_map : dict
        Nodes of the graph, and constants, by nodes of the pattern.
    placeholder_nodes : list
        What stands for the pattern's inputs, in order.
    returning_nodes : list of Node
        What stands for its results.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)

    def nodes(self) -> list[Node]:
        """Return the nodes of the graph that the pattern covers: without its inputs."""
        return [gn for pn, gn in self.nodes_map.items() if pn.op not in ("placeholder", "output")]


class SubgraphMatcher:
    """Finds the places where a graph does what a pattern does.

    Parameters
    ----------
    pattern : Graph
        Its placeholders stand for anything.
    match_output : bool
        The pattern's end must be the graph's end.
    match_placeholder : bool
        The pattern's inputs must be inputs of the graph.
    remove_overlapping_matches : bool
        Of places that have a node in common, keep the first.
    ignore_literals : bool
        Constants in the pattern stand for any constant.

    Raises
    ------
    ValueError, AssertionError
        If the pattern is empty or has steps that do not matter to its results.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ):
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.users and not node.is_impure():
                raise AssertionError(f"SubgraphMatcher cannot be initialized with an pattern with dead code: {node}")
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        # Results that the pattern itself does not use: from these everything is reached by going up.
        self.pattern_anchors = [output] if match_output else [n for n in output.all_input_nodes if len(n.users) == 1]

    def match(self, graph: Graph) -> list[InternalMatch]:
        """Return the places, in the order of the graph.

        A place counts only if nothing else uses its inner values, and if no way leads out of it and in again.
        """
        candidates = [[n for n in graph.nodes if self._same_kind(a, n)] for a in self.pattern_anchors]
        found: list[InternalMatch] = []
        if candidates:
            self._search(0, InternalMatch(list(self.pattern_anchors)), candidates, found)
        found = [match for match in found if self._is_contained(match) and validate_partition(match.nodes())]
        return self._without_overlaps(found) if self.remove_overlapping_matches else found

    def _search(
        self, index: int, match: InternalMatch, candidates: list[list[Node]], found: list[InternalMatch]
    ) -> None:
        """Try each candidate of an anchor, with each combination of the anchors behind it."""
        if index == len(self.pattern_anchors):
            match.placeholder_nodes = [match.nodes_map[pn] for pn in self.pattern_placeholder_nodes]
            match.returning_nodes = [match.nodes_map[pn] for pn in self.pattern_returning_nodes]
            found.append(match)
            return
        for node in candidates[index]:
            attempt = copy.copy(match)
            attempt.nodes_map = dict(match.nodes_map)
            if self._match_nodes(self.pattern_anchors[index], node, attempt.nodes_map):
                self._search(index + 1, attempt, candidates, found)

    def _same_kind(self, pn: Node, gn: Node) -> bool:
        if pn.op == "placeholder" and not self.match_placeholder:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        return self._match_attributes(pn, gn) if pn.op == "get_attr" else pn.target == gn.target

    @staticmethod
    def _match_attributes(pn: Node, gn: Node) -> bool:
        """Return whether two attributes are tensors of the same class; their values do not matter."""
        if pn.graph.owning_module is None or gn.graph.owning_module is None:
            raise AssertionError("a pattern with get_attr, and the graph, must be of modules that have the attribute")
        ours = get_attribute(pn.graph.owning_module, pn.target)
        theirs = get_attribute(gn.graph.owning_module, gn.target)
        return isinstance(ours, Tensor) and type(ours) is type(theirs)

    def _match_nodes(self, pn: Node, gn: Node, nodes_map: dict[Node, Any]) -> bool:
        """Return whether a node does what one of the pattern does; the way up is added to the map."""
        if pn in nodes_map:
            return nodes_map[pn] is gn
        if any(taken is gn for taken in nodes_map.values()) or not self._same_kind(pn, gn):
            return False
        nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        arguments = _comparable_arguments(pn, gn)
        return arguments is not None and self._match_values(*arguments, nodes_map)

    def _match_values(self, pattern: Any, value: Any, nodes_map: dict[Node, Any]) -> bool:
        if isinstance(pattern, Node):
            if isinstance(value, Node):
                return self._match_nodes(pattern, value, nodes_map)
            if pattern.op != "placeholder":
                return False
            if pattern in nodes_map:
                return nodes_map[pattern] == value
            nodes_map[pattern] = value
            return True
        if isinstance(value, Node):
            return self.ignore_literals
        if isinstance(pattern, (list, tuple)) and isinstance(value, (list, tuple)):
            return len(pattern) == len(value) and all(
                self._match_values(p, v, nodes_map) for p, v in zip(pattern, value, strict=True)
            )
        return self.ignore_literals or (type(pattern) is type(value) and pattern == value)

    def _is_contained(self, match: InternalMatch) -> bool:
        inside = {gn: pn for pn, gn in match.nodes_map.items() if pn.op != "placeholder"}
        return all(
            pn in self.pattern_returning_nodes or all(user in inside for user in gn.users) for gn, pn in inside.items()
        )

    @staticmethod
    def _without_overlaps(matches: list[InternalMatch]) -> list[InternalMatch]:
        taken: set[Node] = set()
        kept = []
        for match in matches:
            nodes = match.nodes()
            if taken.isdisjoint(nodes):
                kept.append(match)
                taken.update(nodes)
        return kept


def _comparable_arguments(pn: Node, gn: Node) -> tuple[list[Any], list[Any]] | None:
    """Return the arguments of two calls side by side, or None if they are given in different ways."""
    if len(pn.args) == len(gn.args) and list(pn.kwargs) == list(gn.kwargs):
        return [*pn.args, *pn.kwargs.values()], [*gn.args, *gn.kwargs.values()]
    if pn.op != "call_function" or not isinstance(pn.target, OpOverload):
        return None
    arguments = pn.target._schema.arguments
    return _all_arguments(arguments, pn), _all_arguments(arguments, gn)


def _all_arguments(arguments: Any, node: Node) -> list[Any]:
    """Return an operator's arguments in the order of its schema, with defaults."""
    values = []
    for i, argument in enumerate(arguments):
        if argument.name in node.kwargs:
            values.append(node.kwargs[argument.name])
        elif not argument.kwarg_only and i < len(node.args):
            values.append(node.args[i])
        else:
            values.append(argument.default_value)
    return values
