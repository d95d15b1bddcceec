"""Fuses modules of a graph: convolution or linear map, batch norm and `ReLU` become one module."""

from __future__ import annotations

from typing import Any

from minitorch import nn
from minitorch.ao.quantization.fuser_method_mappings import get_fuser_method
from minitorch.ao.quantization.fx.patterns import is_relu, module_of

__all__ = ["fuse"]

_FIRST = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Linear, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def _next(node: Any) -> Any:
    """Return the only user of a node, if the node is all that it takes."""
    users = list(node.users)
    return users[0] if len(users) == 1 and users[0].all_input_nodes == [node] else None


def _chain(node: Any, modules: dict[str, Any], calls: dict[str, int]) -> tuple[list, list]:
    """Return the nodes from one on that may become one, and their modules."""
    nodes, found = [node], [modules[node.target]]
    after = _next(node)
    if not isinstance(found[0], _NORMS) and after is not None and type(module_of(after, modules)) in _NORMS:
        if calls[after.target] == 1:
            nodes.append(after)
            found.append(modules[after.target])
            after = _next(after)
    if after is not None and is_relu(after, modules):
        nodes.append(after)
        relu = module_of(after, modules) or nn.ReLU()
        found.append(relu if relu.training == found[0].training else nn.ReLU().train(found[0].training))
    return nodes, found


def fuse(module: Any, is_qat: bool) -> None:
    """Fuse what can be fused in a graph module, in place.

    Parameters
    ----------
    is_qat : bool
        Leave batch norms to be trained, rather than fold them in.
    """
    modules = dict(module.named_modules())
    calls: dict[str, int] = {}
    for node in module.graph.nodes:
        if node.op == "call_module":
            calls[node.target] = calls.get(node.target, 0) + 1
    for node in list(module.graph.nodes):
        first = module_of(node, modules)
        if node._erased or type(first) not in (*_FIRST, nn.BatchNorm2d, nn.BatchNorm3d) or calls[node.target] != 1:
            continue
        nodes, found = _chain(node, modules, calls)
        while len(found) > 1:
            try:
                fuser = get_fuser_method(tuple(type(m) for m in found))
                break
            except AssertionError:
                nodes.pop()
                found.pop()
        else:
            continue
        fused = fuser(is_qat, *found)
        module.add_submodule(node.target, fused)
        modules[node.target] = fused
        nodes[-1].replace_all_uses_with(node, delete_user_cb=lambda user, node=node, nodes=nodes: user not in nodes)
        for merged in reversed(nodes[1:]):
            module.graph.erase_node(merged)
    module.graph.lint()
    module.delete_all_unused_submodules()
    module.recompile()
