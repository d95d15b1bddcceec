"""Puts observers into a graph.

Note [Which values are observed]
    The inputs of each node that can be quantized and has a `QConfig`, if they are floating tensors, and its result; the weight
    of a functional linear map or convolution by the observer for weights.  What KEEPS its input's parameters (`patterns`)
    is quantized if its input is; its result passes the input's observer again.  Of a sum with ``relu`` behind it only what
    ``relu`` returns is observed.
"""

from __future__ import annotations

import copy
from typing import Any

import minitorch
from minitorch import fx
from minitorch.ao.quantization.fx.patterns import Kind, is_relu, kind_of, module_of
from minitorch.ao.quantization.observer import NoopObserver, PlaceholderObserver, ReuseInputObserver
from minitorch.ao.quantization.quantization_mappings import DEFAULT_QAT_MODULE_MAPPINGS
from minitorch.ao.quantization.quantize import swap_module
from minitorch.tensor.tensor import Tensor

__all__ = ["insert_observers", "swap_for_training"]

OBSERVER = "activation_post_process_"


def swap_for_training(module: Any, qconfigs: dict[str, Any]) -> None:
    """Put modules whose weights are fake quantized in the place of float ones, where there is a `QConfig`."""
    modules = dict(module.named_modules())
    for node in module.graph.nodes:
        found = module_of(node, modules)
        if found is None or type(found) not in DEFAULT_QAT_MODULE_MAPPINGS or qconfigs[node.name] is None:
            continue
        found.qconfig = qconfigs[node.name]
        swapped = swap_module(found, DEFAULT_QAT_MODULE_MAPPINGS)
        swapped.train(found.training)
        module.add_submodule(node.target, swapped)
        modules[node.target] = swapped
    module.recompile()


class _FloatingNodes(fx.Interpreter):
    """Runs a graph and notes which nodes are floating tensors."""

    def __init__(self, module: Any):
        super().__init__(module)
        self.names: set[str] = set()

    def run_node(self, n: Any) -> Any:
        result = super().run_node(n)
        if isinstance(result, Tensor) and result.is_floating_point():
            self.names.add(n.name)
        return result


def floating_nodes(module: Any, example_inputs: tuple) -> set[str]:
    """Return the names of nodes that are floating tensors for given inputs; the module's statistics are left alone."""
    interpreter = _FloatingNodes(copy.deepcopy(module).eval())
    with minitorch.no_grad():
        interpreter.run(*example_inputs)
    return interpreter.names


def is_static(qconfig: Any) -> bool:
    """Return whether activations get parameters beforehand."""
    if qconfig is None:
        return False
    made = qconfig.activation()
    if isinstance(made, (PlaceholderObserver, NoopObserver, ReuseInputObserver)) or not hasattr(
        made, "calculate_qparams"
    ):
        return False
    return not getattr(made, "is_dynamic", False)


class _Inserter:
    def __init__(self, module: Any, qconfigs: dict[str, Any], floating: set[str]):
        self.module = module
        self.graph = module.graph
        self.qconfigs = qconfigs
        self.floating = floating
        self.modules = dict(module.named_modules())
        self.count = 0
        # The observer node behind a node.
        self.behind: dict[Any, Any] = {}

    def observed(self, node: Any, constructor: Any) -> Any:
        """Return the node of an observer behind a node, one for all."""
        if node not in self.behind:
            name = f"{OBSERVER}{self.count}"
            self.count += 1
            observer = constructor()
            devices = {t.device for t in (*self.module.parameters(), *self.module.buffers())}
            self.module.add_submodule(name, observer.to(next(iter(devices))) if len(devices) == 1 else observer)
            self.modules[name] = observer
            self.behind[node] = self._call(node, name)
        return self.behind[node]

    def _call(self, node: Any, name: str) -> Any:
        with self.graph.inserting_after(node):
            return self.graph.call_module(name, (node,))

    def inputs(self, node: Any, qconfig: Any) -> None:
        """Observe the floating tensors that a node takes."""
        weight = node.args[1] if len(node.args) > 1 and node.op == "call_function" else None
        weighted = kind_of(node, self.modules) is Kind.WEIGHTED and node.op == "call_function"
        bias = node.args[2] if weighted and len(node.args) > 2 else node.kwargs.get("bias")
        for operand in list(node.all_input_nodes):
            if operand.name not in self.floating or (weighted and operand is bias):
                continue
            constructor = qconfig.weight if weighted and operand is weight else qconfig.activation
            node.replace_input_with(operand, self.observed(operand, constructor))

    def result(self, node: Any, qconfig: Any) -> None:
        """Observe what a node returns."""
        users = list(node.users)
        observer = self.observed(node, qconfig.activation)
        for user in users:
            user.replace_input_with(node, observer)

    def keeps(self, node: Any) -> None:
        """Let the result pass its input's observer again, if the input is observed."""
        source = node.args[0] if node.args else None
        if source is None or source not in self.behind.values() or node.name not in self.floating:
            return
        users = list(node.users)
        again = self._call(node, source.target)
        self.behind[node] = again
        for user in users:
            user.replace_input_with(node, again)

    def insert(self) -> None:
        for node in list(self.graph.nodes):
            kind, qconfig = kind_of(node, self.modules), self.qconfigs.get(node.name)
            if kind is None or not is_static(qconfig):
                if kind is Kind.KEEPS and self.qconfigs.get(node.name) is not None:
                    self.keeps(node)  # "reshape" has a qconfig that says so
                continue
            if is_relu(node, self.modules) and self._is_bare_sum(node.args[0]):
                self.result(node, qconfig)
            elif kind is Kind.KEEPS:
                self.keeps(node)
            elif node.name in self.floating:
                self._set_qconfig(node, qconfig)
                self.inputs(node, qconfig)
                if not self._relu_follows(node, kind):
                    self.result(node, qconfig)

    def _set_qconfig(self, node: Any, qconfig: Any) -> None:
        module = module_of(node, self.modules)
        if module is not None:
            module.qconfig = qconfig

    def _relu_follows(self, node: Any, kind: Kind) -> bool:
        """Return whether only ``relu`` takes the result, of an operator whose quantized form can do that as well."""
        users = list(node.users)
        fuses = kind in (Kind.BINARY, Kind.WEIGHTED) and node.op != "call_module" and node.target not in ("matmul",)
        fuses = fuses and node.target not in (minitorch.matmul,) and getattr(node.target, "__name__", "") != "matmul"
        return (
            fuses
            and len(users) == 1
            and is_relu(users[0], self.modules)
            and is_static(self.qconfigs.get(users[0].name))
        )

    def _is_bare_sum(self, node: Any) -> bool:
        kind = kind_of(node, self.modules)
        return (
            kind in (Kind.BINARY, Kind.WEIGHTED) and node not in self.behind and is_static(self.qconfigs.get(node.name))
        )


def insert_observers(module: Any, qconfigs: dict[str, Any], example_inputs: tuple) -> None:
    """Put observers into a graph module, in place: see the Note above."""
    inserter = _Inserter(module, qconfigs, floating_nodes(module, example_inputs))
    inserter.insert()
    for node in module.graph.nodes:  # what is not observed but has quantized weights: dynamic, or weights alone
        found, qconfig = module_of(node, inserter.modules), qconfigs.get(node.name)
        if found is not None and qconfig is not None and not hasattr(found, "qconfig"):
            found.qconfig = qconfig
    module.graph.lint()
    module.recompile()
