"""`replace_pattern`: puts one graph in place of another, wherever it is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from minitorch.fx._symbolic_trace import symbolic_trace
from minitorch.fx.graph import Graph
from minitorch.fx.graph_module import GraphModule, assign_attribute, get_attribute
from minitorch.fx.node import Node, map_arg
from minitorch.fx.passes.tools_common import stable_topological_sort
from minitorch.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from minitorch.nn.modules.module import Module

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place where a pattern was found: its last node in the pattern, and the graph's nodes by the pattern's."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A `Match`, and the nodes that came in its place."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Put `replacement` in place of `pattern`, wherever a module's graph does what the pattern does.

    Parameters
    ----------
    gm : GraphModule
        Changed, and compiled anew.
    pattern, replacement : callable, Module, GraphModule or Graph
        With the same inputs and as many results.  Parameters of the pattern stand for anything; each must be used.

    Returns
    -------
    list of Match
        Where the pattern was; of places that overlap, the first.

    Examples
    --------
    >>> from minitorch import fx
    >>> module = fx.symbolic_trace(lambda x: minitorch.sqrt(minitorch.sum(x * x)))
    >>> def pattern(x):
    ...     return minitorch.sqrt(minitorch.sum(x * x))
    >>> def replacement(x):
    ...     return minitorch.linalg.norm(x)
    >>> len(fx.replace_pattern(module, pattern, replacement))
    1
    >>> module(minitorch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    return [Match(done.anchor, done.nodes_map) for done in replace_pattern_with_filters(gm, pattern, replacement)]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[Callable[[InternalMatch, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
) -> list[ReplacedPatterns]:
    """Do as `replace_pattern` does, at some places only or with a replacement that depends on the place.

    Parameters
    ----------
    match_filters : list of callable, optional
        ``(match, graph, pattern) -> bool``; all must agree.
    ignore_literals : bool
        Constants in the pattern stand for any constant.
    replacement_callback : callable, optional
        ``(match, graph, pattern) -> replacement``, instead of `replacement`.
    """
    pattern_graph = _graph_of(pattern)
    fixed = _graph_of(replacement) if replacement is not None else None
    if fixed is None and replacement_callback is None:
        raise AssertionError("replace_pattern needs a replacement or a replacement_callback")
    matches = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals).match(gm.graph)
    matches = [m for m in matches if all(keep(m, gm.graph, pattern_graph) for keep in match_filters or ())]
    replaced: dict[Node, Node] = {}  # results of places that are done may be inputs of others
    done = []
    for match in matches:
        graph = fixed if replacement_callback is None else replacement_callback(match, gm.graph, pattern_graph)
        assert graph is not None
        if isinstance(graph.owning_module, Module):
            _copy_attributes(gm, graph)
        done.append(_replace(gm, match, graph, pattern_graph, replaced))
    if done:
        stable_topological_sort(gm)
    gm.recompile()
    return done


def _graph_of(pattern: Any) -> Graph:
    if isinstance(pattern, Graph):
        return pattern
    module = pattern if isinstance(pattern, GraphModule) else symbolic_trace(pattern)
    module.graph._kept_module = module  # type: ignore[attr-defined] - the graph alone is handed on
    return module.graph


def _replace(
    gm: GraphModule, match: InternalMatch, graph: Graph, pattern: Graph, replaced: dict[Node, Node]
) -> ReplacedPatterns:
    """Put a graph in one place."""
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    if len(inputs) != len(match.placeholder_nodes):
        raise AssertionError(
            f"the pattern has {len(match.placeholder_nodes)} inputs, its replacement {len(inputs)}: they must be the same"
        )
    match.nodes_map = {pn: replaced.get(gn, gn) if isinstance(gn, Node) else gn for pn, gn in match.nodes_map.items()}
    match.placeholder_nodes = [replaced.get(gn, gn) if isinstance(gn, Node) else gn for gn in match.placeholder_nodes]
    val_map: dict[Node, Any] = dict(zip(inputs, match.placeholder_nodes, strict=True))
    users = [user for node in match.returning_nodes for user in node.users]
    with gm.graph.inserting_before(min(users)) if users else gm.graph.inserting_after(max(match.returning_nodes)):
        result = gm.graph.graph_copy(graph, val_map)
    new = [node for copied, node in val_map.items() if copied not in inputs]
    results: list[Node] = []
    map_arg(result, results.append)
    if len(results) != len(match.returning_nodes):
        raise AssertionError(
            f"the pattern returns {len(match.returning_nodes)} values, its replacement {len(results)}: they must be the same"
        )
    for old, node in zip(match.returning_nodes, results, strict=True):
        old.replace_all_uses_with(node)
        replaced[old] = node
    for node in reversed(pattern.nodes):
        if node.op not in ("placeholder", "output"):
            gm.graph.erase_node(match.nodes_map[node])
    return ReplacedPatterns(match.anchors[0], match.nodes_map, new)


def _copy_attributes(gm: GraphModule, graph: Graph) -> None:
    """Give a module the attributes that a replacement names, where it has none of that path."""
    for node in graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        try:
            get_attribute(gm, node.target)
        except AttributeError:
            assign_attribute(get_attribute(graph.owning_module, node.target), gm, node.target)
