"""`PassBase`: a pass, with what must hold before and after it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from minitorch.fx.graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The module after a pass, and whether the pass changed it."""

    graph_module: GraphModule
    modified: bool


class PassBase(ABC):
    """A pass: subclass it, and define `call`.  An instance is a function of a graph module."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Change the module, and say whether it did."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raise if the module is not fit for the pass."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raise if the module is not as the pass should leave it."""
