"""PyTorch's path of operators: overloads, packets and higher-order operators."""

from minitorch.dispatch.higher_order import HigherOrderOperator
from minitorch.dispatch.namespace import OpNamespace, OpOverload, OpOverloadPacket, ops

__all__ = ["HigherOrderOperator", "OpNamespace", "OpOverload", "OpOverloadPacket", "ops"]
