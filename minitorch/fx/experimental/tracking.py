"""Which node of a graph stands for which tensor while a trace is made.

Note [Tensors and their handles]
    A tensor is found by its identity.  Autograd saves an output without a reference to the
    tensor, and gives its formulas another tensor around the same handle; a value is therefore found
    by its handle too, where the tensor itself is not known.  Lazy conjugation and negation are of the tensor: of
    the same handle, read in another way, other nodes are known.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from minitorch.dispatch.keys import CONJUGATE, NEGATIVE, ZERO_TENSOR
from minitorch.tensor.base import TensorBase

_READ_AS = CONJUGATE | NEGATIVE | ZERO_TENSOR


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
        self._by_handle: dict[tuple[int, int], tuple[Any, Tracked]] = {}

    def get(self, tensor: TensorBase) -> Tracked | None:
        """Return what is known of a tensor; None if nothing is."""
        found = self._by_tensor.get(id(tensor))
        if found is not None and found[0]() is tensor:
            return found[1]
        handle = tensor.handle
        found = self._by_handle.get((id(handle), tensor.key_set & _READ_AS))
        return found[1] if found is not None and found[0]() is handle else None

    def get_otherwise(self, tensor: TensorBase) -> tuple[Tracked, int] | None:
        """Return what is known of a tensor's handle read in another way, and which of the keys of that differ."""
        handle, bits = tensor.handle, tensor.key_set & _READ_AS
        for other in (CONJUGATE, NEGATIVE, CONJUGATE | NEGATIVE):
            found = self._by_handle.get((id(handle), bits ^ other))
            if found is not None and found[0]() is handle:
                return found[1], other
        return None

    def set(self, tensor: TensorBase, tracked: Tracked) -> None:
        """Say what stands for a tensor from now on."""
        _put(self._by_tensor, id(tensor), tensor, tracked)
        _put(self._by_handle, (id(tensor.handle), tensor.key_set & _READ_AS), tensor.handle, tracked)

    def constants(self) -> Iterator[tuple[TensorBase, Tracked]]:
        """Go through the live tensors whose elements are known."""
        for reference, tracked in list(self._by_tensor.values()):
            if tracked.constant is not None:
                tensor = reference()
                if tensor is not None:
                    yield tensor, tracked


def _put(table: dict[Any, tuple[Any, Tracked]], key: Any, value: Any, tracked: Tracked) -> None:
    def forget(reference: Any) -> None:
        found = table.get(key)
        if found is not None and found[0] is reference:
            del table[key]

    table[key] = weakref.ref(value, forget), tracked
