"""`allow_mutation_on_saved_tensors`: what is saved for backward is cloned when it is about to be changed in place."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitorch.autograd.graph import saved_tensors_hooks
from minitorch.core.pytree import tree_flatten
from minitorch.modes.dispatch_mode import TorchDispatchMode
from minitorch.tensor.base import TensorBase

_ENDED = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was originally recorded: run "
    "forward and backward in the same context."
)


class _Saved:
    """Stands in the graph for one saved tensor.

    Attributes
    ----------
    tensor : Tensor or None
        In the memory that was saved, or a copy of it; None when the scope has ended.
    """

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Any):
        self.tensor = tensor


class _AllowMutationOnSavedContext(TorchDispatchMode):
    """The scope: a mode that sees what is written, and knows what is saved.

    Attributes
    ----------
    saved : dict of int to WeakSet
        By `id` of the storage what is saved in it, of which there is no copy yet.
    cloned : WeakSet
    """

    def __init__(self) -> None:
        super().__init__()
        self.saved: dict[int, weakref.WeakSet] = {}
        self.cloned: weakref.WeakSet = weakref.WeakSet()

    def pack(self, tensor: Any) -> _Saved:
        saved = _Saved(tensor.detach())
        self.saved.setdefault(id(saved.tensor.storage_of()), weakref.WeakSet()).add(saved)
        return saved

    def unpack(self, saved: _Saved) -> Any:
        if saved.tensor is None:
            raise AssertionError(_ENDED)
        return saved.tensor

    def clear(self) -> None:
        """Forget everything: what was saved can no longer be had."""
        for group in (*self.saved.values(), self.cloned):
            for saved in group:
                saved.tensor = None
        self.saved.clear()

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        for place, argument in enumerate(func._schema.arguments):
            if argument.is_write:
                value = args[place] if place < len(args) else kwargs.get(argument.name)
                for tensor in tree_flatten(value)[0]:
                    if isinstance(tensor, TensorBase):
                        self._keep_copies(tensor)
        return func(*args, **kwargs)

    def _keep_copies(self, written: Any) -> None:
        for saved in self.saved.pop(id(written.storage_of()), ()):
            saved.tensor = saved.tensor.clone()
            self.cloned.add(saved)


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_AllowMutationOnSavedContext]:
    """Scope: a tensor that is saved for backward may be changed in place; what was saved is cloned before.

    Forward and backward must both run inside.

    Examples
    --------
    >>> with minitorch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     a = minitorch.ones(2, requires_grad=True)
    ...     b = a.clone()
    ...     out = (b**2).sum()
    ...     b.sin_()
    ...     out.backward()
    tensor([0.8415, 0.8415], grad_fn=<SinBackward0>)
    >>> a.grad
    tensor([2., 2.])
    """
    context = _AllowMutationOnSavedContext()
    try:
        with saved_tensors_hooks(context.pack, context.unpack), context:
            yield context
    finally:
        context.clear()
