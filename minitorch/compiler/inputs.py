"""The inputs of a compiled function, and which of the tensors that it is called with they are.

Note [Inputs that share memory]
    A graph must not be told of one tensor twice: a change of the one input would not reach the other.
    The same object given several times is one input.  Different tensors in the same memory are
    inputs of their own as long as the function changes none of them; else they become one input, their
    *base*, and the traced program makes each of them from it with ``as_strided``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase


class InputPlan:
    """How the inputs of the graph are made of the tensors of a call, and the tensors of the inputs.

    Attributes
    ----------
    positions : list of list of int
        By input, the positions in the call of the tensors that it stands for.
    places : list of tuple or None
        By position in the call, ``(size, stride, offset)`` in the base, where there is one.
    count : int
        How many tensors a call has.
    geometry : list of tuple or None
        Where there is a base: how the tensors and inputs lie, which the graph holds for.
    """

    def __init__(self, tensors: Sequence[TensorBase], bases: Sequence[int] = ()):
        """Plan for calls like one with `tensors`; those in the storages `bases` (by `id`) are made of their base."""
        self.count = len(tensors)
        self.positions: list[list[int]] = []
        self.places: list[tuple | None] = [None] * self.count
        self.is_base: list[bool] = []
        groups: dict[tuple, int] = {}
        for i, tensor in enumerate(tensors):
            cell = id(tensor.storage_of())
            key = ("base", cell) if cell in bases else ("tensor", id(tensor))
            if key not in groups:
                groups[key] = len(self.positions)
                self.positions.append([])
                self.is_base.append(key[0] == "base")
            self.positions[groups[key]].append(i)
        inputs = self.gather(tensors)
        for places, base, is_base in zip(self.positions, inputs, self.is_base, strict=True):
            for i in places if is_base else ():
                t = tensors[i]
                self.places[i] = (list(t.shape), list(t.stride()), t.storage_offset() - base.storage_offset())
        self.geometry = _geometry([*tensors, *inputs]) if any(self.is_base) else None

    def serves(self, tensors: Sequence[TensorBase]) -> bool:
        """Return whether the tensors of a call lie in their bases as those did that the plan was made for."""
        return self.geometry is None or self.geometry == _geometry([*tensors, *self.gather(tensors)])

    def check_history(self, gets_history: Sequence[bool], tensors: Sequence[TensorBase]) -> None:
        """Raise RuntimeError if a base of tensors that are no views of one another would get a gradient, by input."""
        for wanted, places, is_base in zip(gets_history, self.positions, self.is_base, strict=True):
            members = [tensors[i] for i in places]
            if wanted and is_base and _common_root(members) is None:
                raise _no_history(members)

    def gather(self, tensors: Sequence[TensorBase]) -> list[TensorBase]:
        """Return the inputs of the graph for the tensors of a call."""
        return [
            base_of([tensors[i] for i in places]) if is_base else tensors[places[0]]
            for places, is_base in zip(self.positions, self.is_base, strict=True)
        ]

    def moves(self, ends: Sequence[tuple]) -> dict[int, tuple]:
        """Return, by position in the call, the geometry of tensors made of a base that an in-place view operator changed.

        Parameters
        ----------
        ends : sequence of tuple
            By position, ``(size, stride, offset)`` in the base after the program.
        """
        return {
            i: (end[0], end[1], end[2] - place[2])
            for i, (place, end) in enumerate(zip(self.places, ends, strict=True))
            if place is not None and end != place
        }

    def spread(self, inputs: Sequence[Any]) -> list[Any]:
        """Return, inside of a trace, the tensors of a call for the inputs of the graph."""
        tensors: list[Any] = [None] * self.count
        for places, value in zip(self.positions, inputs, strict=True):
            for i in places:
                place = self.places[i]
                if place is None:
                    tensors[i] = value
                else:
                    size, stride, offset = place
                    tensors[i] = F.as_strided(value, size, stride, value.storage_offset() + offset)
        return tensors


def _geometry(tensors: Sequence[Any]) -> list[tuple]:
    return [(tuple(t.shape), tuple(t.stride()), t.storage_offset()) for t in tensors]


def _common_root(tensors: Sequence[Any]) -> TensorBase | None:
    """Return the tensor that all of some are views of for autograd; None if there is none."""
    roots = [t if t.view_info is None else t.view_info.base for t in tensors]
    return roots[0] if all(root is roots[0] for root in roots) else None


def _no_history(tensors: Sequence[Any]) -> RuntimeError:
    shapes = ", ".join(str(list(t.shape)) for t in tensors)
    return RuntimeError(
        f"a compiled function was given tensors (of shapes {shapes}) that share memory but are no views of one another for "
        "autograd (detach() or .data was used), changes one of them, and one requires a gradient or gets one. Clone the one "
        "that is not to be changed before the call."
    )


def base_of(tensors: Sequence[TensorBase]) -> TensorBase:
    """Return a tensor that shows the memory of all of some tensors which share it.

    Raises
    ------
    RuntimeError
        If one requires a gradient and they have no common base in the graph of autograd.
    """
    root = _common_root(tensors)
    if root is not None:
        return root
    if any(t.requires_grad for t in tensors):
        raise _no_history(tensors)
    widest = max(tensors, key=lambda t: t.numel())
    ends = [
        t.storage_offset() + 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True)) for t in tensors
    ]
    start = min(t.storage_offset() for t in tensors)
    with no_grad():
        return F.as_strided(widest.detach(), [max(ends) - start], [1], start)


def shared_storages(tensors: Sequence[TensorBase]) -> dict[int, list[int]]:
    """Return, by `id` of the storage, the positions of different tensors that share memory."""
    found: dict[int, dict[int, int]] = {}
    for i, tensor in enumerate(tensors):
        found.setdefault(id(tensor.storage_of()), {}).setdefault(id(tensor), i)
    return {cell: list(members.values()) for cell, members in found.items() if len(members) > 1}
