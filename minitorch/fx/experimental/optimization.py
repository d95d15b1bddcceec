"""Modules made ready for inference: normalization folded into the layer before it, dropout taken out."""

from __future__ import annotations

import copy

from minitorch.fx._symbolic_trace import symbolic_trace
from minitorch.fx.graph_module import GraphModule, assign_attribute, get_attribute
from minitorch.fx.node import Node
from minitorch.nn.modules.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from minitorch.nn.modules.conv import Conv1d, Conv2d, Conv3d
from minitorch.nn.modules.dropout import Dropout
from minitorch.nn.modules.linear import Linear
from minitorch.nn.modules.module import Module
from minitorch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = ["fuse", "remove_dropout"]

_FUSIONS = {
    (Conv1d, BatchNorm1d): fuse_conv_bn_eval,
    (Conv2d, BatchNorm2d): fuse_conv_bn_eval,
    (Conv3d, BatchNorm3d): fuse_conv_bn_eval,
    (Linear, BatchNorm1d): fuse_linear_bn_eval,
}


def fuse(model: Module, inplace: bool = False, no_trace: bool = False) -> GraphModule:
    """Return the model with each batch normalization folded into the convolution or linear layer before it.

    Parameters
    ----------
    model : Module
        In evaluation mode.
    inplace : bool
        Share the model's other layers; by default all is copied.
    no_trace : bool
        The model is a graph module already, and its graph is used.

    Examples
    --------
    >>> from minitorch.fx.experimental.optimization import fuse
    >>> model = minitorch.nn.Sequential(minitorch.nn.Linear(2, 3), minitorch.nn.BatchNorm1d(3)).eval()
    >>> [type(layer).__name__ for layer in fuse(model).children()]
    ['Linear']
    """
    if not inplace:
        model = copy.deepcopy(model)
    module = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    for node in module.graph.nodes:
        first = node.args[0] if node.op == "call_module" and node.args else None
        if not isinstance(first, Node) or first.op != "call_module" or len(first.users) > 1:
            continue
        layer, norm = get_attribute(module, first.target), get_attribute(module, node.target)
        merge = _FUSIONS.get((type(layer), type(norm)))
        # A layer that is called in several places is normalized in one of them only.
        if merge is None or not norm.track_running_stats or _calls(module, first.target) > 1:
            continue
        assign_attribute(merge(layer, norm), module, first.target)
        node.replace_all_uses_with(first)
        module.graph.erase_node(node)
    module.recompile()
    module.delete_all_unused_submodules()
    return module


def _calls(module: GraphModule, path: str) -> int:
    return len(module.graph.find_nodes(op="call_module", target=path, sort=False))


def remove_dropout(model: Module) -> GraphModule:
    """Return the model without its `Dropout` layers."""
    module = symbolic_trace(model)
    for node in module.graph.find_nodes(op="call_module"):
        if isinstance(get_attribute(module, node.target), Dropout):
            node.replace_all_uses_with(node.args[0])
            module.graph.erase_node(node)
    module.recompile()
    module.delete_all_unused_submodules()
    return module
