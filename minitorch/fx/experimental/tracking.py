"""Which node of a graph stands for which tensor while a trace is made.

Note [Tensors and their handles]
    A tensor is found by its identity.  Autograd saves an output without a reference to the
    tensor, and gives its formulas another tensor around the same handle; a value is therefore found
    by its handle too, where the tensor itself is not known.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from minitorch.tensor.base import TensorBase


class Tracked:
    """What is known of a tensor: its proxy, and its elements where they do not depend on the inputs.

    Attributes
    ----------
    proxy : Proxy
    constant : Tensor or None
        A tensor with the same elements, in the trace and in every run of the graph.
    """

    __slots__ = ("constant", "proxy")

    def __init__(self, proxy: Any, constant: Any = None):
        self.proxy = proxy
        self.constant = constant


class TensorTracker:
    """The tracked tensors of one trace (Note [Tensors and their handles]).

    It keeps no tensor alive.
    """

    def __init__(self) -> None:
        self._by_tensor: dict[int, tuple[Any, Tracked]] = {}
        self._by_handle: dict[int, tuple[Any, Tracked]] = {}

    def get(self, tensor: TensorBase) -> Tracked | None:
        """Return what is known of a tensor; None if nothing is."""
        found = self._by_tensor.get(id(tensor))
        if found is not None and found[0]() is tensor:
            return found[1]
        handle = tensor.handle
        found = self._by_handle.get(id(handle))
        return found[1] if found is not None and found[0]() is handle else None

    def set(self, tensor: TensorBase, tracked: Tracked) -> None:
        """Say what stands for a tensor from now on."""
        _put(self._by_tensor, tensor, tracked)
        _put(self._by_handle, tensor.handle, tracked)

    def constants(self) -> Iterator[tuple[TensorBase, Tracked]]:
        """Go through the live tensors whose elements are known."""
        for reference, tracked in list(self._by_tensor.values()):
            if tracked.constant is not None:
                tensor = reference()
                if tensor is not None:
                    yield tensor, tracked


def _put(table: dict[int, tuple[Any, Tracked]], value: Any, tracked: Tracked) -> None:
    key = id(value)

    def forget(reference: Any) -> None:
        found = table.get(key)
        if found is not None and found[0] is reference:
            del table[key]

    table[key] = weakref.ref(value, forget), tracked
