"""Makes a graph with observers one of quantized operators.

Note [Values in both forms]
    The new graph is written node by node.  A value of the old one has up to two nodes in it, one in floating point and one
    quantized; whichever is asked for and not there yet is made from the other one at that place.  So there are no pairs of
    ``dequantize`` and ``quantize`` between quantized operators, and whatever cannot be quantized gets
    floating point.  An observer is the promise of a quantized form: it says with which scale and zero point.
"""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch import fx, nn
from minitorch.ao.nn import quantized as nnq
from minitorch.ao.nn.intrinsic import quantized as nniq
from minitorch.ao.nn.quantized.modules.utils import quantize_weight
from minitorch.ao.quantization.fake_quantize import FakeQuantizeBase
from minitorch.ao.quantization.fx.patterns import (
    WEIGHTED_FUNCTIONS,
    Kind,
    asks_geometry,
    binary_name,
    is_relu,
    kind_of,
    module_of,
)
from minitorch.ao.quantization.observer import ObserverBase
from minitorch.ao.quantization.quantization_mappings import (
    DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
    DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
)
from minitorch.ao.quantization.stubs import DeQuantStub, QuantStub

__all__ = ["convert"]


class _Value:
    """A value of the old graph: its nodes in the new one (see the Note above), and its observer."""

    def __init__(self, floating: Any = None, quantized: Any = None, observer: Any = None, name: str = ""):
        self.floating, self.quantized, self.observer, self.name = floating, quantized, observer, name

    @property
    def quantizable(self) -> bool:
        return self.quantized is not None or self.observer is not None


def _is_observer(module: Any) -> bool:
    return isinstance(module, (ObserverBase, FakeQuantizeBase))


class _Converter:
    def __init__(self, module: Any):
        self.old = module
        self.modules = dict(module.named_modules())
        self.graph = fx.Graph()
        self.values: dict[Any, _Value] = {}
        self.taken: set[str] = set()

    # -- values ----------------------------------------------------------------------------

    def attribute(self, name: str, tensor: Any) -> Any:
        """Return a node of a new buffer."""
        self.old.register_buffer(name, tensor)
        return self.graph.get_attr(name)

    def qparams(self, observer: Any, name: str) -> tuple[Any, Any]:
        """Return nodes of an observer's scale and zero point."""
        scale, zero_point = observer.calculate_qparams()
        index = 0
        while hasattr(self.old, f"{name}_scale_{index}"):
            index += 1
        return (
            self.attribute(f"{name}_scale_{index}", scale.detach().reshape([]).to(minitorch.float32)),
            self.attribute(f"{name}_zero_point_{index}", zero_point.detach().reshape([]).to(minitorch.int64)),
        )

    def quantized(self, node: Any) -> Any:
        """Return the quantized form of an old node's value."""
        value = self.values[node]
        if value.quantized is None:
            scale, zero_point = self.qparams(value.observer, value.name)
            value.quantized = self.graph.call_function(
                minitorch.quantize_per_tensor, (value.floating, scale, zero_point, value.observer.dtype)
            )
        return value.quantized

    def floating(self, node: Any) -> Any:
        """Return the floating form of an old node's value."""
        value = self.values[node]
        if value.floating is None:
            value.floating = self.graph.call_method("dequantize", (value.quantized,))
        return value.floating

    def either(self, node: Any) -> Any:
        """Return a form of an old node's value that is there."""
        value = self.values[node]
        return value.quantized if value.floating is None else value.floating

    def can_be_quantized(self, node: Any) -> bool:
        return isinstance(node, fx.Node) and self.values[node].quantizable

    # -- nodes -----------------------------------------------------------------------------

    def run(self) -> fx.GraphModule:
        for node in self.old.graph.nodes:
            self.one(node)
        kept = fx.GraphModule(self.old, self.graph)
        kept.graph.eliminate_dead_code()
        kept.delete_all_unused_submodules()
        self.forget_weights(kept)
        kept.recompile()
        return kept

    def forget_weights(self, kept: fx.GraphModule) -> None:
        """Delete parameters that only nodes of the old graph took: float weights of what is quantized."""
        used = {n.target for n in kept.graph.nodes if n.op == "get_attr"}
        for path in {n.target for n in self.old.graph.nodes if n.op == "get_attr"} - used:
            parent, _, name = path.rpartition(".")
            try:
                delattr(kept.get_submodule(parent), name)
            except AttributeError:
                continue  # gone with its module, or a scale that no operator asked for

    def one(self, node: Any) -> None:
        module = module_of(node, self.modules)
        if module is not None and _is_observer(module):
            self.observer(node, module)
            return
        if isinstance(module, (QuantStub, DeQuantStub)):
            self.values[node] = self.values[node.args[0]]
            return
        kind = kind_of(node, self.modules)
        result = self.lowered(node, kind) if kind is not None else None
        if result is not None:
            self.values[node] = _Value(quantized=result, name=node.name)
            return
        self.swap_dynamic(node, module)
        form = self.either if asks_geometry(node) else self.floating
        self.values[node] = _Value(floating=self.graph.node_copy(node, form), name=node.name)

    def observer(self, node: Any, module: Any) -> None:
        source = self.values[node.args[0]]
        if source.quantized is not None:
            self.values[node] = source
            return
        users = [u for u in node.users if module_of(u, self.modules) is not None]
        name = f"{users[0].target.replace('.', '_')}_input" if users else source.name
        self.values[node] = _Value(source.floating, None, module, name)

    def observer_behind(self, node: Any) -> Any:
        """Return the observer of what a node returns, or None."""
        for user in node.users:
            found = module_of(user, self.modules)
            if found is not None and _is_observer(found):
                return found
        return None

    def lowered(self, node: Any, kind: Kind) -> Any:
        """Return a node of the quantized operator, or None where the node stays in floating point."""
        observer = self.observer_behind(node)
        if kind in (Kind.KEEPS, Kind.FIXED):
            if is_relu(node, self.modules) and observer is not None and self.fuses_with_relu(node.args[0]):
                return self.with_parameters(node.args[0], observer, True)
            return self.same_operator(node) if node.args and self.can_be_quantized(node.args[0]) else None
        if observer is None or not self.inputs_quantizable(node, kind):
            return None
        return self.with_parameters(node, observer, False)

    def fuses_with_relu(self, node: Any) -> bool:
        """Return whether ``relu`` can be a part of the quantized operator of a node, whose own result nobody else takes."""
        kind = kind_of(node, self.modules)
        return (
            kind in (Kind.BINARY, Kind.WEIGHTED) and node.op != "call_module" and self.observer_behind(node) is None
            and len(node.users) == 1 and self.inputs_quantizable(node, kind)
        )  # fmt: skip

    def inputs_quantizable(self, node: Any, kind: Kind) -> bool:
        if kind is Kind.CAT:
            return all(self.can_be_quantized(n) for n in node.args[0])
        if kind is Kind.WEIGHTED and node.op == "call_function":
            return self.can_be_quantized(node.args[0]) and self.weight_is_known(node)
        if kind is Kind.BINARY:
            operands = [a for a in node.args[:2] if isinstance(a, fx.Node)]
            numbers = [a for a in node.args[:2] if isinstance(a, (int, float))]
            plain = len(node.args) == 2 and not node.kwargs and len(operands) + len(numbers) == 2
            matmul = binary_name(node) == "matmul"
            return (
                plain
                and bool(operands)
                and not (matmul and numbers)
                and all(self.can_be_quantized(n) for n in operands)
            )
        return bool(node.args) and self.can_be_quantized(node.args[0])

    def weight_is_known(self, node: Any) -> bool:
        """Return whether the weight of a functional linear map or convolution is a parameter, and so the bias."""
        weight, bias = node.args[1], _argument(node, 2, "bias", None)
        return (
            self.values[weight].observer is not None
            and weight.args[0].op == "get_attr"
            and (bias is None or bias.op == "get_attr")
        )

    def same_operator(self, node: Any) -> Any:
        """Return the node itself, of quantized inputs."""
        module = module_of(node, self.modules)
        if isinstance(module, (nn.Dropout, nn.ReLU6)) and node.target not in self.taken:
            self.put(node.target, DEFAULT_STATIC_QUANT_MODULE_MAPPINGS[type(module)].from_float(module), None)
        return self.graph.node_copy(
            node, lambda n: self.quantized(n) if self.values[n].quantizable else self.floating(n)
        )

    def with_parameters(self, node: Any, observer: Any, relu: bool) -> Any:
        """Return a node of the quantized operator with the scale and zero point of an observer."""
        kind = kind_of(node, self.modules)
        if node.op == "call_module":
            return self.graph.call_module(self.swapped(node, observer), (self.quantized(node.args[0]),))
        if kind is Kind.WEIGHTED:
            return self.weighted_function(node, observer, relu)
        operators = minitorch.ops.quantized
        if kind is Kind.CAT:
            scale, zero_point = self.qparams(observer, node.name)
            dim = _argument(node, 1, "dim", 0)
            return self.graph.call_function(
                operators.cat, ([self.quantized(n) for n in node.args[0]], dim, scale, zero_point)
            )
        name = binary_name(node)
        first, second = node.args[:2]
        if not isinstance(first, fx.Node):
            first, second = second, first
        if not isinstance(second, fx.Node):
            scaled = self.graph.call_function(getattr(operators, f"{name}_scalar"), (self.quantized(first), second))
            return self.graph.call_function(nn.functional.relu, (scaled,)) if relu else scaled
        scale, zero_point = self.qparams(observer, node.name)
        operator = getattr(operators, f"{name}_relu" if relu else name)
        return self.graph.call_function(operator, (self.quantized(first), self.quantized(second), scale, zero_point))

    # -- modules ---------------------------------------------------------------------------

    def free_name(self, name: str) -> str:
        """Return a name for a module that replaces one, another one where that was called before."""
        while name in self.taken:
            name += "_again"
        self.taken.add(name)
        return name

    def swapped(self, node: Any, observer: Any) -> str:
        """Put the quantized module of a node in its place; return its name."""
        module = self.modules[node.target]
        module.activation_post_process = observer
        made = DEFAULT_STATIC_QUANT_MODULE_MAPPINGS[type(module)].from_float(module)
        del module.activation_post_process
        return self.put(node.target, made, module)

    def put(self, name: str, made: Any, beside: Any) -> str:
        devices = {t.device for t in (*beside.parameters(), *beside.buffers())} if beside is not None else set()
        name = self.free_name(name)
        self.old.add_submodule(name, made.to(next(iter(devices))) if len(devices) == 1 else made)
        return name

    def swap_dynamic(self, node: Any, module: Any) -> None:
        """Put a dynamically quantized module, or one whose weights alone are, in the place of a float one that shall be."""
        qconfig = getattr(module, "qconfig", None)
        if qconfig is None or type(module) not in DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS or node.target in self.taken:
            return
        weight = qconfig.weight()
        rows = getattr(getattr(weight, "qscheme", None), "name", "") == "per_channel_affine_float_qparams"
        embedding = isinstance(module, (nn.Embedding, nn.EmbeddingBag))
        dynamic = getattr(qconfig.activation(), "is_dynamic", False)
        if (embedding and rows) or (dynamic and not embedding):
            self.put(node.target, DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS[type(module)].from_float(module), module)

    def weighted_function(self, node: Any, observer: Any, relu: bool) -> Any:
        """Return a node of a new quantized module for a functional linear map or convolution."""
        weight_node = node.args[1]
        weight_observer = self.values[weight_node].observer
        weight = _attribute(self.old, weight_node.args[0].target).detach()
        bias_node = _argument(node, 2, "bias", None)
        bias = None if bias_node is None else _attribute(self.old, bias_node.target).detach()
        weight_observer(weight)
        name = WEIGHTED_FUNCTIONS[node.target]
        if name == "linear":
            made: Any = (nniq.LinearReLU if relu else nnq.Linear)(weight.shape[1], weight.shape[0], bias is not None)
        else:
            stride, padding, dilation, groups = (
                _argument(node, i, key, default)
                for i, key, default in ((3, "stride", 1), (4, "padding", 0), (5, "dilation", 1), (6, "groups", 1))
            )
            cls = getattr(nniq if relu else nnq, f"Conv{'ReLU' if relu else ''}{name[-2:]}")
            made = cls(
                weight.shape[1] * groups, weight.shape[0], tuple(weight.shape[2:]), stride, padding, dilation, groups,
                bias is not None,
            )  # fmt: skip
        made.set_weight_bias(quantize_weight(weight.float(), weight_observer), bias)
        scale, zero_point = observer.calculate_qparams()
        made.scale, made.zero_point = float(scale), int(zero_point)
        return self.graph.call_module(self.put(f"{node.name}_quantized", made, None), (self.quantized(node.args[0]),))


def _argument(node: Any, position: int, name: str, default: Any) -> Any:
    return node.args[position] if len(node.args) > position else node.kwargs.get(name, default)


def _attribute(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part)
    return module


def convert(module: Any) -> fx.GraphModule:
    """Return a prepared graph module with quantized operators in the place of float ones: see the Note above."""
    return _Converter(module).run()
