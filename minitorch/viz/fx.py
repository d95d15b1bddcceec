"""An fx graph, as a picture."""

from __future__ import annotations

from typing import Any

from minitorch.fx.graph import Graph
from minitorch.viz.picture import Picture

__all__ = ["fx_graph"]

_KINDS = {"placeholder": "input", "output": "output", "get_attr": "parameter", "call_module": "kernel"}


def fx_graph(graph: Any) -> Picture:
    """Return the nodes of a graph, with their targets, and with shapes where these are known.

    Parameters
    ----------
    graph : Graph or GraphModule
        Shapes are those that `fx.passes.shape_prop.ShapeProp` or a trace of tensors has left in the nodes' ``meta``.

    Raises
    ------
    TypeError
        If it is something else.

    Examples
    --------
    >>> traced = minitorch.fx.symbolic_trace(lambda x: x.relu() + 1)
    >>> print(fx_graph(traced))
    output
      <- add, call_function, operator.add
        <- relu, call_method, relu
          <- x, placeholder
    """
    found = graph if isinstance(graph, Graph) else getattr(graph, "graph", None)
    if not isinstance(found, Graph):
        raise TypeError(f"fx_graph(): expected a Graph or a GraphModule, got {type(graph).__name__}")
    picture = Picture()
    for node in found.nodes:
        lines = [node.name] if node.op == "output" else [node.name, node.op]
        if node.op.startswith("call_") or node.op == "get_attr":
            lines.append(_target_text(node.target))
        picture.node(node.name, *lines, kind=_KINDS.get(node.op, "operator"))
        for source in node.all_input_nodes:
            picture.edge(source.name, node.name, _shape_text(source))
    return picture


def _target_text(target: Any) -> str:
    if isinstance(target, str):
        return target
    module = getattr(target, "__module__", "") or ""
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None)
    if name is None or hasattr(target, "overloadpacket"):
        return str(target)
    return f"{module.removeprefix('_')}.{name}" if module and module != "builtins" else name


def _shape_text(node: Any) -> str:
    for key in ("tensor_meta", "val"):
        shape = getattr(node.meta.get(key), "shape", None)
        if shape is not None:
            return str(tuple(shape))
    return ""
