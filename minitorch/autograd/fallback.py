"""What runs at the autograd keys for operators without an autograd kernel (spec A2 to A4)."""

from __future__ import annotations

import warnings
from typing import Any

from minitorch.autograd.node import Node, gradient_target, next_sequence, requires_grad
from minitorch.dispatch.dispatcher import register_fallback
from minitorch.dispatch.keys import AFTER_AUTOGRAD
from minitorch.dispatch.local_state import current
from minitorch.dispatch.operator import Kernel
from minitorch.tensor.base import TensorBase

# The keys that have the fallback by default (spec K1); the others have none.
_KEYS = ("CPU", "CUDA", "XLA", "MPS", "XPU", "HPU", "Lazy", "MTIA", "MAIA", "PrivateUse1", "Meta", "Other")
_mode = "warn"


def set_fallback_mode(mode: str) -> None:
    """Choose what the fallback does: ``"warn"`` (outputs get a node that warns) or ``"nothing"``.

    Raises
    ------
    RuntimeError
        For any other mode.
    """
    global _mode
    if mode not in ("warn", "nothing"):
        raise RuntimeError(f"autograd fallback mode must be 'warn' or 'nothing', and is {mode!r}")
    _mode = mode


def fallback_mode() -> str:
    """Return the mode set by `set_fallback_mode`."""
    return _mode


class WarnNotImplemented(Node):
    """Backward of an operator that has no formula: warns, and gives no gradients."""

    op_name = ""

    def name(self) -> str:
        return "WarnNotImplemented"

    def apply(self, grads: list) -> list:
        _warn(self.op_name)
        return [None] * len(self.targets)


def _warn(op_name: str) -> None:
    warnings.warn(
        f"{op_name}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop "
        "through it. This may lead to silently incorrect behavior. If your operator is differentiable, register an autograd "
        "kernel, for example with minitorch.library.register_autograd; if it is not, register a fallthrough to the "
        "Autograd key.",
        UserWarning,
        stacklevel=4,
    )


def _tensors(values: Any) -> list:
    found = []
    for value in values:
        if isinstance(value, TensorBase):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [v for v in value if isinstance(v, TensorBase)]
    return found


class AutogradFallback(Kernel):
    """Calls on with autograd left enabled, and marks differentiable-looking outputs (spec A2, A3)."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        below = op.entry_below(entry, AFTER_AUTOGRAD)
        if _mode == "nothing" or not current().grad_enabled:
            return op.run_below(below, args, kwargs)
        inputs = [t for t in _tensors((*args, *(kwargs or {}).values())) if requires_grad(t)]
        if not inputs:
            return op.run_below(below, args, kwargs)
        result = op.run_below(below, args, kwargs)
        self._mark(op, result, inputs)
        return result

    def _mark(self, op: Any, result: Any, inputs: list) -> None:
        if isinstance(result, (tuple, list)):
            outputs = list(result)
        else:
            outputs = [result] if isinstance(result, TensorBase) else []
        returns = op.schema.returns
        flat = []
        for i, output in enumerate(outputs):
            written = i < len(returns) and returns[i].alias_info is not None and returns[i].alias_info.is_write
            if not written:
                flat += _tensors([output])
        node = None
        for output in flat:
            if output.handle is not None and output.dtype.category < 2:
                continue
            if requires_grad(output):
                name = op.qualname
                output.register_hook(lambda grad, name=name: _warn(name))
                continue
            if node is None:
                node = WarnNotImplemented()
                node.op_name = op.qualname
                node.sequence = next_sequence()
                node.targets = tuple(gradient_target(t) for t in inputs)
                node.numbers = tuple(t.output_nr for t in inputs)
                node.output_count = 0
            output.node = node
            output.output_nr = node.output_count
            node.output_count += 1
            output.requires_grad_flag = True
            output.tracked = True


def register_fallbacks() -> None:
    """Register the fallback for the autograd keys of the known backends."""
    for backend in _KEYS:
        register_fallback("Autograd" + backend, AutogradFallback(None))
