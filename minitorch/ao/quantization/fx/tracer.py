"""Tracing for quantization: what is quantized as a whole is one node, and each node knows which module called it."""

from __future__ import annotations

from typing import Any

from minitorch import fx
from minitorch.ao.quantization.stubs import DeQuantStub, QuantStub
from minitorch.nn.modules.module import Module

__all__ = ["QuantizationTracer", "traced_module"]


class QuantizationTracer(fx.Tracer):
    """A tracer that does not look into fused and quantized modules, nor into those it is told to skip.

    Parameters
    ----------
    skipped_module_names : list of str
    skipped_module_classes : list of classes
    """

    def __init__(self, skipped_module_names: list[str] | None = None, skipped_module_classes: list[type] | None = None):
        super().__init__()
        self.skipped_module_names = list(skipped_module_names or ())
        self.skipped_module_classes = list(skipped_module_classes or ())

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return (
            (m.__module__.startswith("minitorch.ao.nn") and not isinstance(m, fx.GraphModule))
            or isinstance(m, (QuantStub, DeQuantStub))
            or super().is_leaf_module(m, module_qualified_name)
            or module_qualified_name in self.skipped_module_names
            or type(m) in self.skipped_module_classes
        )


def traced_module(model: Module, custom: dict[str, Any]) -> fx.GraphModule:
    """Return a model as a graph module, which shares its parameters; each node says where it was called: ``meta["scope"]``.

    Parameters
    ----------
    custom : dict
        ``non_traceable_module_name``, ``non_traceable_module_class``: what is one node;
        ``preserved_attributes``: names of attributes that the graph module shall have too.
    """
    tracer = QuantizationTracer(custom.get("non_traceable_module_name"), custom.get("non_traceable_module_class"))
    graph = tracer.trace(model)
    for node in graph.nodes:
        node.meta["scope"] = tracer.node_name_to_scope.get(node.name, ("", None))[0]
    module = fx.GraphModule(model, graph)
    for name in custom.get("preserved_attributes", ()):
        setattr(module, name, getattr(model, name))
    return module
