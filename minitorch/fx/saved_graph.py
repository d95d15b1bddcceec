"""Graph modules in files: pickled, and as packages.

A pickled module holds its graph as records of plain values, with functions by the names that generated code has for
them: what a file holds does not depend on how nodes are stored in memory, and steps without tensors as inputs, which
tracing the code once more would run and forget, come back as they were.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, NamedTuple

from minitorch.core.symbolic import is_symbolic
from minitorch.fx.graph import Graph
from minitorch.fx.naming import custom_builtins, from_torch, qualified_name
from minitorch.fx.node import Node, map_aggregate

__all__ = ["read_graph", "read_graph_module", "reduce_graph", "reduce_graph_module", "write_folder"]

_SAVED_META = ("stack_trace", "tensor_meta", "nn_module_stack", "is_wrapped", "custom")


class SavedNode(NamedTuple):
    """One step; arguments have `Reference` in place of nodes and functions."""

    op: str
    name: str
    target: Any
    args: tuple
    kwargs: dict[str, Any]
    type: Any
    meta: dict[str, Any]


class Reference(NamedTuple):
    """What a record says for a node, or for a function of minitorch or of another module."""

    kind: str  # "node", "torch" or a module's name
    name: str


def _refer(value: Any) -> Any:
    if isinstance(value, Node):
        return Reference("node", value.name)
    if not callable(value) or hasattr(value, "handle"):
        return value
    if from_torch(value):
        return Reference("torch", qualified_name(value).removeprefix("torch."))
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(module, str) and isinstance(name, str) and "<" not in name:
        return Reference(module, name)
    return value


def _follow(reference: Reference) -> Any:
    value: Any = importlib.import_module("minitorch" if reference.kind == "torch" else reference.kind)
    for step in reference.name.split("."):
        value = getattr(value, step)
    return value


def _has_symbols(value: Any) -> bool:
    """Return whether symbolic sizes are among some values: they belong to the trace that they came up in."""
    found = []
    map_aggregate(value, lambda leaf: found.append(leaf) if is_symbolic(leaf) else None)
    return bool(found)


def _save_node(node: Node) -> SavedNode:
    target = _refer(node.target) if node.op == "call_function" else node.target
    meta = {key: node.meta[key] for key in _SAVED_META if key in node.meta and not _has_symbols(node.meta[key])}
    return SavedNode(
        node.op, node.name, target, map_aggregate(node.args, _refer), map_aggregate(node.kwargs, _refer), node.type, meta
    )


def _restore_graph(records: list[SavedNode], graph: Graph) -> None:
    nodes: dict[str, Node] = {}

    def follow(value: Any) -> Any:
        if not isinstance(value, Reference):
            return value
        return nodes[value.name] if value.kind == "node" else _follow(value)

    def restore(value: Any) -> Any:
        # A reference is a named tuple, which the walk over arguments would enter.
        if isinstance(value, Reference):
            return follow(value)
        if isinstance(value, tuple):
            items = [restore(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, list):
            return [restore(item) for item in value]
        if isinstance(value, dict):
            return {key: restore(item) for key, item in value.items()}
        if isinstance(value, slice):
            return slice(restore(value.start), restore(value.stop), restore(value.step))
        return value

    for op, name, target, args, kwargs, kind, meta in records:
        node = graph.create_node(op, restore(target), restore(args), restore(kwargs), name, kind)
        node.meta.update(meta)
        nodes[name] = node


_NOT_SAVED = ("_graph", "_code", "_lineno_map", "_replace_hooks", "_create_node_hooks", "_erase_node_hooks")


def reduce_graph(graph: Graph) -> tuple:
    """Return what pickle keeps of a graph."""
    tracer_cls = graph._tracer_cls
    if tracer_cls is not None and "<locals>" in tracer_cls.__qualname__:
        tracer_cls = None
    return read_graph, ([_save_node(node) for node in graph.nodes], graph._codegen, tracer_cls)


def read_graph(records: list[SavedNode], codegen: Any, tracer_cls: Any) -> Graph:
    """Return the graph of what `reduce_graph` kept."""
    graph = Graph(tracer_cls=tracer_cls)
    _restore_graph(records, graph)
    graph.set_codegen(codegen)
    return graph


def reduce_graph_module(module: Any) -> tuple:
    """Return what pickle keeps of a graph module."""
    state = {name: value for name, value in module.__dict__.items() if name not in _NOT_SAVED}
    base = type(module).__mro__[1]  # the class of the module's own is made anew
    return read_graph_module, (base, type(module).__name__, state, module.graph)


def read_graph_module(base: Any, name: str, state: dict, graph: Graph) -> Any:
    """Return the graph module of what `reduce_graph_module` kept."""
    from minitorch.fx.graph_module import GraphModule, adopt_state
    from minitorch.nn.modules.module import Module

    root = Module()
    root.__dict__.update(state)
    module = base.__new__(base)
    GraphModule.__init__(module, root, graph, name)
    adopt_state(module, state)
    return module


def write_folder(module: Any, folder: Path, class_name: str) -> None:
    """Write a graph module as a package (`GraphModule.to_folder`)."""
    from minitorch import serialization

    folder.mkdir(exist_ok=True)
    serialization.save(module.state_dict(), folder / "state_dict.pt")
    lines = [
        "from pathlib import Path",
        "",
        *(value.import_text for value in custom_builtins.values()),
        *_imports(module.graph.python_code("self").globals),
        "",
        f"class {class_name}(torch.nn.Module):",
        "    def __init__(self):",
        "        super().__init__()",
        "        here = Path(__file__).parent",
    ]
    for name, child in module.named_children():
        serialization.save(child, folder / f"{name}.pt")
        lines.append(f'        self.{name} = torch.load(here / "{name}.pt", weights_only=False)  # {type(child).__name__}')
    for name, buffer in module.named_buffers(recurse=False):
        lines.append(f'        self.register_buffer("{name}", torch.empty({list(buffer.shape)}, dtype={buffer.dtype}))')
    for name, parameter in module.named_parameters(recurse=False):
        lines.append(
            f"        self.{name} = torch.nn.Parameter(torch.empty({list(parameter.shape)}, dtype={parameter.dtype}))"
        )
    lines.append('        self.load_state_dict(torch.load(here / "state_dict.pt"))')
    code = module.code.replace("\n", "\n    ")
    (folder / "module.py").write_text("\n".join(lines) + "\n" + code.rstrip() + "\n")
    (folder / "__init__.py").write_text(f"from .module import {class_name}\n")


def _imports(variables: dict[str, Any]) -> list[str]:
    """Return import statements for the global names of generated code."""
    return [
        f"from {value.__module__} import {value.__qualname__} as {name}"
        for name, value in variables.items()
        if name not in custom_builtins
    ]
