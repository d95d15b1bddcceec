"""`FunctionalizeContext`: what the functionalization rule of a higher-order operator works with.

The rule unwraps its arguments, makes the functions among them functional, calls its operator below
the level, and wraps what comes back; it is one rule for the mode and for the transform.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from minitorch.core.pytree import tree_map_only
from minitorch.dispatch.transforms import interpreter_stack, set_interpreter_stack
from minitorch.functionalize import FunctionalHandle, below, wrap
from minitorch.functionalize.levels import current_level, reapplies_views
from minitorch.functionalize.wrapper import handle_at, value_at
from minitorch.functorch.functionalize import functionalize
from minitorch.tensor.base import TensorBase


class FunctionalizeContext:
    """The level of functionalization that a call meets.

    Attributes
    ----------
    level : int
    """

    def __init__(self, level: int):
        self.level = level
        self._stack = interpreter_stack()

    def unwrap_tensors(self, args: Any) -> Any:
        """Return nested values with the synced value of each functional tensor of this level in its place."""
        return tree_map_only(TensorBase, lambda tensor: value_at(tensor, self.level), args)

    def wrap_tensors(self, args: Any) -> Any:
        """Return nested values with each tensor as a functional one of this level."""
        # Also where the level has been left: rules may wrap in the scope of `redispatch_to_next`.
        outer = interpreter_stack()
        set_interpreter_stack(self._stack)
        try:
            return tree_map_only(TensorBase, self._wrap, args)
        finally:
            set_interpreter_stack(outer)

    def _wrap(self, tensor: TensorBase) -> TensorBase:
        return tensor if handle_at(tensor, self.level) is not None else wrap(tensor, self.level)

    def functionalize(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Return `fn` as a function of plain tensors that changes nothing while it runs: what the rule hands below."""
        return functionalize(fn, remove="mutations" if reapplies_views() else "mutations_and_views")

    def redispatch_to_next(self) -> AbstractContextManager:
        """Return the scope in which the operators below this level are called."""
        return below(self.level)

    def replace(self, tensor: TensorBase, value: TensorBase) -> None:
        """Make `value` the value of a functional tensor: what a change in place comes to."""
        self._handle(tensor, "replace").replace(value)

    def commit_update(self, tensor: TensorBase) -> None:
        """Do nothing: `replace` has queued the change for the aliases."""

    def sync(self, tensor: TensorBase) -> None:
        """Bring the value of a functional tensor up to date with the changes of its aliases."""
        self._handle(tensor, "sync").sync()

    def _handle(self, tensor: TensorBase, name: str) -> FunctionalHandle:
        handle = handle_at(tensor, self.level)
        if handle is None:
            raise RuntimeError(f"{name}: a tensor of shape {list(tensor.shape)} is no functional tensor of level {self.level}")
        return handle


def current_context() -> FunctionalizeContext:
    """Return the context of the level that a call meets now."""
    return FunctionalizeContext(current_level())

