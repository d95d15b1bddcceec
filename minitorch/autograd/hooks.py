"""Hooks: ordered dictionaries of callables, and the handles that take them out again."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from minitorch.autograd.node import Node, gradient_target
from minitorch.dispatch.transforms import inside_transforms
from minitorch.tensor.base import TensorBase

_next_id = 0


class RemovableHandle:
    """Takes a hook out again: call `remove`, or use it as a scope."""

    def __init__(self, hooks: dict, key: int):
        self._hooks = hooks
        self.id = key

    def remove(self) -> None:
        """Take the hook out; a second call does nothing."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self.remove()


def add_hook(hooks: dict, hook: Callable) -> RemovableHandle:
    """Add a hook to a dictionary of hooks and return its handle."""
    global _next_id
    _next_id += 1
    hooks[_next_id] = hook
    return RemovableHandle(hooks, _next_id)


def _checked(tensor: Any, hook: Callable) -> Callable:
    """Return the hook with a check of what it returns."""
    shape, dtype, name = tuple(tensor.shape), tensor.dtype, getattr(hook, "__name__", repr(hook))

    def run(grad: Any) -> Any:
        changed = hook(grad)
        if changed is None:
            return None
        if not isinstance(changed, TensorBase):
            raise TypeError(f"expected Variable, but hook {name!r} returned {type(changed).__name__!r}")
        if tuple(changed.shape) != shape and tuple(changed.shape) != tuple(grad.shape):
            raise RuntimeError(
                f"hook {name!r} has changed the size of value: {list(grad.shape)} became {list(changed.shape)}"
            )
        if changed.dtype is not dtype and changed.dtype is not grad.dtype:
            raise RuntimeError(
                f"hook {name!r} has changed the type of value: {grad.dtype} became {changed.dtype}"
            )
        return changed

    return run


def register_hook(self: Any, hook: Callable) -> RemovableHandle:
    """Call ``hook(grad)`` whenever a gradient of this tensor is computed; a result replaces it.

    Raises
    ------
    RuntimeError
        If the tensor does not require grad.
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    target = gradient_target(self)
    if not isinstance(target, Node):
        if self.autograd_meta is None:
            self.autograd_meta = {}
        return add_hook(self.autograd_meta.setdefault("hooks", {}), _checked(self, hook))
    if target.pre_hooks is None:
        target.pre_hooks = []
    for number, hooks in target.pre_hooks:
        if number == self.output_nr:
            return add_hook(hooks, _checked(self, hook))
    hooks: dict = {}
    target.pre_hooks.append((self.output_nr, hooks))
    return add_hook(hooks, _checked(self, hook))


def register_post_accumulate_grad_hook(self: Any, hook: Callable) -> RemovableHandle:
    """Call ``hook(tensor)`` after this leaf's ``.grad`` was updated.

    Raises
    ------
    RuntimeError
        If the tensor does not require grad or is no leaf.
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if isinstance(gradient_target(self), Node):
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if self.autograd_meta is None:
        self.autograd_meta = {}
    return add_hook(self.autograd_meta.setdefault("post_accumulate", {}), hook)


def retain_grad(self: Any) -> None:
    """Keep the gradient of this non-leaf tensor in ``.grad``.

    Raises
    ------
    RuntimeError
        If the tensor does not require grad.
    """
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if inside_transforms():
        raise RuntimeError(
            "You are attempting to call Tensor.retain_grad() inside of a function being transformed by a functorch transform. "
            "This is unsupported: return the tensor, and ask minitorch.func.grad or vjp for the gradient by it."
        )
    target = gradient_target(self)
    if not isinstance(target, Node):
        return
    if target.retain_hooks is None:
        target.retain_hooks = {}
    target.retain_hooks[self.output_nr] = weakref.ref(self)


def retains_grad(self: Any) -> bool:
    """Return whether `retain_grad` was called on this non-leaf tensor."""
    target = gradient_target(self)
    hooks = target.retain_hooks if isinstance(target, Node) else None
    return bool(hooks) and self.output_nr in hooks and hooks[self.output_nr]() is self
