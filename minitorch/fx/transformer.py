"""`Transformer`: runs a graph on proxies, which record another graph."""

from __future__ import annotations

from typing import Any

from minitorch.fx import traceback as fx_traceback
from minitorch.fx._symbolic_trace import Tracer
from minitorch.fx.graph import Graph
from minitorch.fx.graph_module import GraphModule
from minitorch.fx.interpreter import Interpreter
from minitorch.fx.node import Argument, Target, map_aggregate
from minitorch.fx.proxy import Proxy
from minitorch.nn.modules.module import Module

__all__ = ["Transformer"]


class _TransformerTracer(Tracer):
    """Records into a given graph, with every submodule as it is."""

    def __init__(self, graph: Graph, root: Module):
        super().__init__()
        self.graph = graph
        self.root = root

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True


class Transformer(Interpreter):
    """Runs a graph on proxies, which record another graph.

    A subclass overrides the methods of ops, and makes other calls than it was asked for; `transform` gives the new
    module.

    Examples
    --------
    >>> from minitorch import fx
    >>> class NegToAbs(fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         if target is minitorch.neg:
    ...             return minitorch.abs(*args, **kwargs)
    ...         return super().call_function(target, args, kwargs)
    >>> module = NegToAbs(fx.symbolic_trace(lambda x: minitorch.neg(x) * 2)).transform()
    >>> module(minitorch.tensor(-3.0))
    tensor(6.)
    """

    def __init__(self, module: GraphModule):
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _TransformerTracer(self.new_graph, module)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Record an input; return its proxy."""
        assert isinstance(target, str)
        return Proxy(self.new_graph.placeholder(target, default_value=args[0] if args else ...), self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Record that an attribute is taken; return its proxy."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Record a call of a submodule; return its proxy."""
        assert isinstance(target, str)
        module = self.fetch_attr(target)
        return self.tracer.call_module(module, module.forward, args, kwargs)

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Record a call of a function; return its proxy."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Return a module of the graph that a run on proxies recorded."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            value = map_aggregate(result, lambda leaf: leaf.node if isinstance(leaf, Proxy) else leaf)
            old = self.graph.output_node()
            self.new_graph.output(value, type_expr=old.type).meta.update(old.meta)
        return GraphModule(self.module, self.new_graph)
