"""Which `QConfig` a node has, by a `QConfigMapping`."""

from __future__ import annotations

import re
from typing import Any

from minitorch.ao.nn import intrinsic as nni
from minitorch.ao.quantization.qconfig_mapping import QConfigMapping

__all__ = ["qconfigs_of_nodes"]


def _by_name(mapping: QConfigMapping, name: str, default: Any) -> Any:
    """Return the `QConfig` of a module: by its name or that of one around it, then by a regular expression."""
    path = name
    while path:
        if path in mapping.module_name_qconfigs:
            return mapping.module_name_qconfigs[path]
        path = path.rpartition(".")[0]
    for pattern, qconfig in mapping.module_name_regex_qconfigs.items():
        if re.fullmatch(pattern, name):
            return qconfig
    return default


def _types_of(node: Any, modules: dict[str, Any]) -> list[Any]:
    """Return what rules by type may name for a node: of a fused module its own class, or that of its first."""
    if node.op != "call_module":
        return [node.target]
    module = modules[node.target]
    return [type(module), type(module[0])] if isinstance(module, nni._FusedModule) and len(module) else [type(module)]


def qconfigs_of_nodes(module: Any, mapping: QConfigMapping) -> dict[str, Any]:
    """Return the `QConfig` of each node, by the node's name."""
    modules = dict(module.named_modules())
    counts: dict[tuple, int] = {}
    found = {}
    for node in module.graph.nodes:
        if node.op not in ("call_module", "call_function", "call_method"):
            continue
        types = _types_of(node, modules)
        scope = node.meta.get("scope", "")
        where = scope.rpartition(".")[0] if node.op == "call_module" else scope
        qconfig = mapping.global_qconfig
        for kind in reversed(types):
            qconfig = mapping.object_type_qconfigs.get(kind, qconfig)
        qconfig = _by_name(mapping, node.target if node.op == "call_module" else scope, qconfig)
        for kind in types:
            index = counts.get((where, kind), 0)
            counts[(where, kind)] = index + 1
            qconfig = mapping.module_name_object_type_order_qconfigs.get((where, kind, index), qconfig)
        found[node.name] = qconfig
    return found
