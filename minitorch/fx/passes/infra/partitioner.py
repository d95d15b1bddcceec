"""`CapabilityBasedPartitioner`: the largest parts of a graph that a backend can run."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

from minitorch.fx.graph_module import GraphModule
from minitorch.fx.naming import qualified_name
from minitorch.fx.node import Node
from minitorch.fx.passes.operator_support import OperatorSupportBase
from minitorch.fx.passes.utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]


class Partition:
    """A part of a graph: a set of nodes, in the order of the graph."""

    def __init__(self, id: int, nodes: Iterable[Node] = ()):
        self.id = id
        self.nodes: dict[Node, None] = dict.fromkeys(nodes)

    def __repr__(self) -> str:
        return f"Partition({self.id}, {list(self.nodes)})"

    def size(self) -> int:
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Divides a graph into the largest parts that a backend can run, and makes modules of them.

    Parameters
    ----------
    graph_module : GraphModule
    operator_support : OperatorSupportBase
        What the backend can run.
    allows_single_node_partition : bool
        Keep parts of one computation too.
    non_compute_ops : sequence of str
        Names of functions that do not count as computations, besides views and ``getitem``.
    allowed_single_node_partition_ops : sequence of str
        Names of functions that are worth a part of their own.

    Examples
    --------
    >>> from minitorch import fx
    >>> from minitorch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
    >>> from minitorch.fx.passes.operator_support import OperatorSupport
    >>> module = fx.symbolic_trace(lambda x: minitorch.exp(minitorch.relu(x)).sort())
    >>> backend = OperatorSupport({"torch.relu": None, "torch.exp": None})
    >>> fused = CapabilityBasedPartitioner(module, backend).partition_and_fuse()
    >>> [node.op for node in fused.graph.nodes]
    ['placeholder', 'call_module', 'call_method', 'output']
    """

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
    ):
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = list(non_compute_ops or ())
        self.allowed_single_node_partition_ops = list(allowed_single_node_partition_ops or ())
        self._part_of: dict[Node, set[Node]] = {}

    def propose_partitions(self) -> list[Partition]:
        """Return the parts: as few as there can be without circles between them."""
        self._part_of = {}
        parts: list[set[Node]] = []
        submodules = dict(self.graph_module.named_modules())
        for node in reversed(self.graph_module.graph.nodes):
            if node.op in ("placeholder", "get_attr", "output"):
                continue
            if not self.operator_support.is_node_supported(submodules, node):
                continue
            part, place = {node}, len(parts)
            self._part_of[node] = part
            for other in list(parts):  # older ones first, whose place the union takes
                if not self._makes_circle(part | other):
                    place = min(place, parts.index(other))
                    parts.remove(other)
                    part |= other
                    self._part_of.update(dict.fromkeys(part, part))
            parts.insert(place, part)
        self._adopt_getitems()
        parts = [part for part in parts if part and self._is_worthwhile(part)]
        parts.sort(key=max, reverse=True)
        return [Partition(i, sorted(part)) for i, part in enumerate(parts)]

    def _makes_circle(self, part: set[Node]) -> bool:
        """Return whether a way leads out of some nodes and in again; other parts are passed as a whole."""
        waiting = [user for node in part for user in node.users if user not in part]
        seen: set[Node] = set()
        while waiting:
            node = waiting.pop()
            if node in part:
                return True
            if node not in seen:
                whole = self._part_of.get(node, {node})
                seen |= whole
                waiting.extend(user for member in whole for user in member.users if user not in whole)
        return False

    def _adopt_getitems(self) -> None:
        """Let ``getitem`` of a tuple belong to the part that makes the tuple: no part has to return one."""
        for node in self.graph_module.graph.nodes:
            if not node.users or not all(u.op == "call_function" and u.target is operator.getitem for u in node.users):
                continue
            home = self._part_of.get(node)
            for user in node.users:
                if self._part_of.get(user) is not home:
                    self._part_of.pop(user, set()).discard(user)
                    if home is not None:
                        home.add(user)
                        self._part_of[user] = home

    def _is_worthwhile(self, part: set[Node]) -> bool:
        if self.allows_single_node_partition:
            return True
        count = 0
        for node in part:
            name = qualified_name(node.target) if node.op == "call_function" else node.target
            if name in self.allowed_single_node_partition_ops:
                return True
            count += name not in ("torch.ops.aten.view", "_operator.getitem", *self.non_compute_ops)
        return count > 1

    def fuse_partitions(self, partitions: Iterable[Partition], prefix: str = "fused_") -> GraphModule:
        """Replace each part by a call of a module; return the graph module."""
        return fuse_by_partitions(self.graph_module, [partition.nodes for partition in partitions], prefix)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Do both: `propose_partitions` and `fuse_partitions`."""
        return self.fuse_partitions(self.propose_partitions(), prefix)
