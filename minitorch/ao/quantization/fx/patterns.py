"""Which nodes can be quantized, and how.

Note [Kinds of nodes]
    WEIGHTED   linear maps and convolutions: a weight of 8 bits, and a scale and zero point of the result.
    BINARY     sums and products: with a scale and zero point of the result.
    OWN        modules with a quantized counterpart, which has a scale and zero point of the result.
    CAT        joined tensors: likewise.
    FIXED      functions whose range is known, so their kernels know the scale and zero point.
    KEEPS      what only moves, selects, bounds or averages numbers: with scale and zero point of its input, and quantized
               only if that is.
"""

from __future__ import annotations

import operator
from enum import Enum, auto
from typing import Any

import minitorch
from minitorch import nn
from minitorch.ao.quantization.quantization_mappings import DEFAULT_STATIC_QUANT_MODULE_MAPPINGS
from minitorch.ao.quantization.stubs import DeQuantStub, QuantStub
from minitorch.nn import functional as F

__all__ = ["Kind", "is_relu", "kind_of", "module_of"]


class Kind(Enum):
    """See the Note above."""

    WEIGHTED = auto()
    BINARY = auto()
    OWN = auto()
    CAT = auto()
    FIXED = auto()
    KEEPS = auto()


WEIGHTED_FUNCTIONS: dict[Any, str] = {F.linear: "linear", F.conv1d: "conv1d", F.conv2d: "conv2d", F.conv3d: "conv3d"}
BINARY_FUNCTIONS: dict[Any, str] = {
    operator.add: "add", operator.iadd: "add", minitorch.add: "add", operator.mul: "mul", operator.imul: "mul",
    minitorch.mul: "mul", minitorch.matmul: "matmul", operator.matmul: "matmul",
}  # fmt: skip
BINARY_METHODS = {"add": "add", "add_": "add", "mul": "mul", "mul_": "mul", "matmul": "matmul"}
CAT_FUNCTIONS = {minitorch.cat}
FIXED_MODULES = (nn.Sigmoid, nn.Tanh, nn.Hardsigmoid)
FIXED_FUNCTIONS = {minitorch.sigmoid, F.sigmoid, minitorch.tanh, F.tanh, F.hardsigmoid}
FIXED_METHODS = {"sigmoid", "tanh"}
KEEPS_MODULES = (
    nn.ReLU, nn.Hardtanh, nn.MaxPool1d, nn.MaxPool2d, nn.AvgPool1d, nn.AvgPool2d, nn.AdaptiveAvgPool2d, nn.Flatten,
    nn.Unflatten, nn.Identity, nn.Dropout, nn.Upsample, nn.PixelShuffle,
)  # fmt: skip
KEEPS_FUNCTIONS = {
    F.relu, minitorch.relu, F.hardtanh, F.max_pool1d, F.max_pool2d, minitorch.max_pool1d, minitorch.max_pool2d, F.avg_pool1d,
    F.avg_pool2d, F.adaptive_avg_pool2d, minitorch.flatten, minitorch.reshape, minitorch.squeeze, minitorch.unsqueeze,
    minitorch.transpose, minitorch.permute, minitorch.clamp, minitorch.mean, F.interpolate, F.dropout,
    operator.getitem,
}  # fmt: skip
KEEPS_METHODS = {
    "relu", "flatten", "reshape", "view", "squeeze", "unsqueeze", "transpose", "permute", "clamp", "mean", "contiguous", "t",
}  # fmt: skip
# What is asked of a tensor of either form.
GEOMETRY_METHODS = {"size", "dim", "numel", "ndimension", "stride", "is_contiguous"}
RELU_FUNCTIONS = {F.relu, minitorch.relu}


def module_of(node: Any, modules: dict[str, Any]) -> Any:
    """Return the module that a node calls, or None."""
    return modules.get(node.target) if node.op == "call_module" else None


def is_relu(node: Any, modules: dict[str, Any]) -> bool:
    """Return whether a node is ``relu``, as a module, a function or a method."""
    if node.op == "call_module":
        return type(modules[node.target]) is nn.ReLU
    return (node.op == "call_function" and _hashed_in(node.target, RELU_FUNCTIONS)) or (
        node.op == "call_method" and node.target in ("relu", "relu_")
    )


def _hashed_in(target: Any, table: Any) -> bool:
    try:
        return target in table
    except TypeError:
        return False


_WEIGHTED_NAMES = (
    "Conv1d", "Conv2d", "Conv3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "ConvTranspose1d", "ConvTranspose2d",
    "ConvTranspose3d", "Linear", "LinearReLU",
)  # fmt: skip


def kind_of(node: Any, modules: dict[str, Any]) -> Kind | None:
    """Return how a node can be quantized; None where it cannot."""
    if node.op == "call_module":
        module = modules[node.target]
        if isinstance(module, (QuantStub, DeQuantStub)):
            return None
        if isinstance(module, FIXED_MODULES):
            return Kind.FIXED
        if isinstance(module, KEEPS_MODULES):
            return Kind.KEEPS
        counterpart = DEFAULT_STATIC_QUANT_MODULE_MAPPINGS.get(type(module))
        if counterpart is None or isinstance(module, (nn.Embedding, nn.EmbeddingBag)):
            return None
        return Kind.WEIGHTED if counterpart.__name__ in _WEIGHTED_NAMES else Kind.OWN
    if node.op == "call_function":
        for table, kind in (
            (WEIGHTED_FUNCTIONS, Kind.WEIGHTED), (BINARY_FUNCTIONS, Kind.BINARY), (CAT_FUNCTIONS, Kind.CAT),
            (FIXED_FUNCTIONS, Kind.FIXED), (KEEPS_FUNCTIONS, Kind.KEEPS),
        ):  # fmt: skip
            if _hashed_in(node.target, table):
                return kind
    if node.op == "call_method":
        for names, kind in ((BINARY_METHODS, Kind.BINARY), (FIXED_METHODS, Kind.FIXED), (KEEPS_METHODS, Kind.KEEPS)):
            if node.target in names:
                return kind
    return None


def asks_geometry(node: Any) -> bool:
    """Return whether a node asks a tensor for its sizes and the like, not for its numbers."""
    if node.op == "call_method":
        return node.target in GEOMETRY_METHODS
    return node.op == "call_function" and node.target is getattr and node.args[1] in ("shape", "ndim")


def binary_name(node: Any) -> str:
    """Return ``"add"``, ``"mul"`` or ``"matmul"``."""
    return BINARY_METHODS[node.target] if node.op == "call_method" else BINARY_FUNCTIONS[node.target]
