"""`ModuleTracker`: which modules are running, in forward and in backward."""

from __future__ import annotations

from typing import Any

from minitorch.autograd.backward import queue_callback
from minitorch.autograd.graph import register_multi_grad_hook
from minitorch.dispatch.local_state import current
from minitorch.nn.modules.module import (
    Module,
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from minitorch.tensor.tensor import Tensor

__all__ = ["ModuleTracker"]


def _differentiable(values: Any) -> list[Any]:
    """Return the tensors among `values` that a gradient passes through."""
    found = []
    for value in values:
        if isinstance(value, (list, tuple)):
            found += _differentiable(value)
        elif isinstance(value, dict):
            found += _differentiable(value.values())
        elif isinstance(value, Tensor) and value.requires_grad:
            found.append(value)
    return found


class ModuleTracker:
    """Scope in which one can ask for the modules that are running.

    The outermost module that is called goes by the name of its class, those inside of it by their
    place in it: ``"Sequential"``, ``"Sequential.0"``.

    Attributes
    ----------
    path : list of str
        The modules whose forward is running, the innermost last; the first is ``"Global"``.
    backward_path : list of str
        The modules whose part of a backward pass is running: it begins with the gradient of an output, and
        ends with those of the inputs, or with the pass where no input has one.

    Examples
    --------
    >>> class Names(minitorch.nn.Module):
    ...     def forward(self, x):
    ...         print(tracker.innermost)
    ...         return x
    >>> with ModuleTracker() as tracker:
    ...     y = minitorch.nn.Sequential(Names(), Names())(minitorch.ones(1))
    Sequential.0
    Sequential.1
    """

    def __init__(self) -> None:
        self.path = ["Global"]
        self.backward_path: list[str] = []
        self._names: dict[int, str] = {}
        self._handles: list[Any] = []

    @property
    def parents(self) -> set[str]:
        """All modules that are running, in forward or backward; ``"Global"`` is always among them."""
        return {*self.path, *self.backward_path}

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass is running in this thread."""
        return current().extra.get("backward pass") is not None

    @property
    def innermost(self) -> str:
        """The module that does what is done now, ``"Global"`` where none does."""
        if self.is_bw and self.backward_path:
            return self.backward_path[-1]
        return self.path[-1]

    def __enter__(self) -> Any:
        self._handles = [
            register_module_forward_pre_hook(self._enter_module),
            register_module_forward_hook(self._leave_module, always_call=True),
        ]
        return self

    def __exit__(self, *exc_info: Any) -> None:
        for handle in self._handles:
            handle.remove()
        self.path = ["Global"]
        self._end_backward()
        self._names.clear()

    def _enter_module(self, module: Module, inputs: Any) -> None:
        if id(module) not in self._names:
            # The outermost module that is called names those inside of it.
            outer = type(module).__name__
            for name, part in module.named_modules():
                self._names.setdefault(id(part), f"{outer}.{name}" if name else outer)
        name = self._names[id(module)]
        self.path.append(name)
        differentiable = _differentiable(inputs)
        if differentiable:
            register_multi_grad_hook(differentiable, lambda grads: self._leave_backward(name), mode="all")

    def _leave_module(self, module: Module, inputs: Any, output: Any) -> None:
        name = self.path.pop()
        differentiable = _differentiable((output,))
        if differentiable:
            register_multi_grad_hook(differentiable, lambda grad: self._enter_backward(name), mode="any")

    def _enter_backward(self, name: str) -> None:
        if not self.backward_path:
            queue_callback(self._end_backward)
        # The hooks of an output run from the inside out: a module stands before its parts.
        parts = (i for i, other in enumerate(self.backward_path) if other.startswith(f"{name}."))
        self.backward_path.insert(next(parts, len(self.backward_path)), name)

    def _leave_backward(self, name: str) -> None:
        if name in self.backward_path:
            self.backward_path.remove(name)

    def _end_backward(self) -> None:
        self.backward_path = []
