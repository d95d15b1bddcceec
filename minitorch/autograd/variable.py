"""`Variable`: the old name of a tensor that takes part in differentiation."""

from __future__ import annotations

from typing import Any

from minitorch.autograd.backward import queue_callback
from minitorch.tensor.base import TensorBase


class _ExecutionEngine:
    """The engine as old code reaches it, for `queue_callback`."""

    @staticmethod
    def queue_callback(callback: Any) -> None:
        """Call `callback` when the backward pass that is running in this thread is complete."""
        queue_callback(callback)


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TensorBase)


class Variable(metaclass=_VariableMeta):
    """Calling it returns the tensor without its history; every tensor is an instance of it.

    Parameters
    ----------
    data : Tensor
    requires_grad : bool
    """

    _execution_engine = _ExecutionEngine()

    def __new__(cls, data: Any, requires_grad: bool = False) -> Any:
        result = data.detach()
        return result.requires_grad_() if requires_grad else result
