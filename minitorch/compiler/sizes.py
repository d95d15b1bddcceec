"""Graphs with symbolic sizes: which inputs they are right for, and what a call's sizes make of what is noted of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from minitorch.compiler.functional import ProgramInfo
from minitorch.core.meta_array import MetaArray
from minitorch.core.pytree import tree_map
from minitorch.core.symbolic import is_symbolic
from minitorch.fake.fake_tensor import FakeArray


def _geometry(tensor: Any) -> list[Any]:
    return [*tensor.shape, *tensor.stride(), tensor.storage_offset()]


class SizeCheck:
    """What sizes of inputs graphs are right for.

    Parameters
    ----------
    examples : sequence of Tensor
        The fake tensors that they were traced with.
    """

    def __init__(self, examples: Sequence[Any], shape_env: Any):
        self.shape_env = shape_env
        self.symbolic = [number for tensor in examples for number in _geometry(tensor)]

    @classmethod
    def of(cls, examples: Sequence[Any]) -> SizeCheck | None:
        """Return the check of graphs traced with these fake tensors; None if all their sizes are numbers."""
        if not any(is_symbolic(number) for tensor in examples for number in _geometry(tensor)):
            return None
        handle = next(t.handle for t in examples if isinstance(t.handle, FakeArray))
        return cls(examples, handle.mode.shape_env)  # type: ignore[attr-defined]

    def bind(self, inputs: Sequence[Any]) -> dict[Any, int] | None:
        """Return the values of the symbols in a call; None if the graphs are not right for it."""
        real = [number for tensor in inputs for number in _geometry(tensor)]
        if len(real) != len(self.symbolic):
            return None
        values = self.shape_env.bindings(self.symbolic, real)
        return values if values is not None and self.shape_env.holds(values) else None


def with_sizes(info: ProgramInfo, values: Mapping[Any, int]) -> ProgramInfo:
    """Return what is noted of a program with the sizes of a call in the place of symbols."""
    from minitorch.fake.size_expressions import compute

    def number(value: Any) -> Any:
        return compute(value.node.expr, values) if is_symbolic(value) else value

    def array(geometry: MetaArray) -> MetaArray:
        shape, strides = tuple(map(number, geometry.shape)), tuple(map(number, geometry.strides))
        return MetaArray(shape, geometry.dtype, strides, number(geometry.offset))

    def step(view: Any) -> Any:
        made = copy(view)
        made.args, made.kwargs = tree_map(number, (view.args, view.kwargs))
        made.source = array(view.source)
        return made

    inputs = [replace(i, old=tree_map(number, i.old), new=tree_map(number, i.new)) for i in info.inputs]
    outputs = [replace(o, value=number(o.value), steps=tuple(map(step, o.steps))) for o in info.outputs]
    return replace(info, inputs=inputs, outputs=outputs)
