"""Minimum cuts: Dinic's algorithm on a small graph with capacities."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable

INFINITE = math.inf


class FlowNetwork:
    """A directed graph whose edges have capacities.

    Examples
    --------
    >>> network = FlowNetwork()
    >>> network.add_edge("source", "a", 3)
    >>> network.add_edge("a", "sink", 2)
    >>> capacity, side = network.minimum_cut("source", "sink")
    >>> capacity, sorted(side)
    (2, ['a', 'source'])
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._edges: list[list[int]] = []  # by node, the numbers of its edges
        self._ends: list[int] = []  # an edge and its reverse are neighbours: e and e ^ 1
        self._left: list[float] = []

    def _number(self, name: Hashable) -> int:
        number = self._numbers.setdefault(name, len(self._edges))
        if number == len(self._edges):
            self._edges.append([])
        return number

    def add_edge(self, start: Hashable, end: Hashable, capacity: float = INFINITE) -> None:
        """Add an edge; nodes come into being as they are named."""
        a, b = self._number(start), self._number(end)
        for here, there, room in ((a, b, capacity), (b, a, 0)):
            self._edges[here].append(len(self._ends))
            self._ends.append(there)
            self._left.append(room)

    def minimum_cut(self, source: Hashable, sink: Hashable) -> tuple[float, set]:
        """Return the capacity of a minimum cut and the nodes on the side of the source; the flow uses the network up.

        Raises
        ------
        ValueError
            If a way without any finite capacity leads from source to sink.
        """
        s, t = self._number(source), self._number(sink)
        self._refuse_unbounded(s, t)
        total: float = 0
        while True:
            level = self._levels(s)
            if level[t] < 0:
                break
            places = [0] * len(self._edges)
            while pushed := self._push(s, t, level, places):
                total += pushed
        return total, {name for name, number in self._numbers.items() if level[number] >= 0}

    def _refuse_unbounded(self, s: int, t: int) -> None:
        seen, stack = {s}, [s]
        while stack:
            for edge in self._edges[stack.pop()]:
                end = self._ends[edge]
                if self._left[edge] == INFINITE and end not in seen:
                    if end == t:
                        raise ValueError("minimum_cut: no cut is finite, a way of infinite capacity leads to the sink")
                    seen.add(end)
                    stack.append(end)

    def _levels(self, s: int) -> list[int]:
        """Return how far each node is from the source over edges with room left, -1 where there is no way."""
        level = [-1] * len(self._edges)
        level[s] = 0
        queue = deque([s])
        while queue:
            node = queue.popleft()
            for edge in self._edges[node]:
                end = self._ends[edge]
                if self._left[edge] > 0 and level[end] < 0:
                    level[end] = level[node] + 1
                    queue.append(end)
        return level

    def _push(self, s: int, t: int, level: list[int], places: list[int]) -> float:
        """Send flow along one shortest way, and return how much; `places` remembers edges that lead nowhere."""
        path: list[int] = []
        node = s
        while node != t:
            edges = self._edges[node]
            while places[node] < len(edges):
                edge = edges[places[node]]
                if self._left[edge] > 0 and level[self._ends[edge]] == level[node] + 1:
                    path.append(edge)
                    node = self._ends[edge]
                    break
                places[node] += 1
            else:
                if not path:
                    return 0
                node = self._ends[path.pop() ^ 1]
                places[node] += 1
        amount = min(self._left[edge] for edge in path)
        for edge in path:
            self._left[edge] -= amount
            self._left[edge ^ 1] += amount
        return amount
