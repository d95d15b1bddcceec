"""Functions run on functional tensors: what they change and return, as values that share no memory.

Note [What a compiled function leaves to its caller]
    The graph of a function changes nothing and returns fresh tensors.  What the function does beyond that is noted when
    it is analysed, and done after the graph has run: inputs that it changed get their new values
    and geometry; an output that is an input is that very tensor; one in the memory of an input is made from the input
    by the views that led to it; and outputs that share memory with each other are made from a common
    base, which the graph returns.

Note [Which updates have a gradient]
    A change of an input under ``no_grad`` (an optimizer's step) leaves its history alone.  Any other change of
    an input that comes to require a gradient is part of the history of the input: the new value is a differentiable
    output, copied into the input with grad mode on.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from minitorch.autograd.function import Function
from minitorch.autograd.grad_mode import no_grad
from minitorch.autograd.node import Node, gradient_target
from minitorch.core.pytree import TreeSpec, tree_flatten
from minitorch.functionalize import functionalization, is_functional, sync, unwrap, wrap
from minitorch.functionalize.layout import copied_in_order, dense_order, same_layout
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase


@dataclass
class InputInfo:
    """What a function does to an input.

    Attributes
    ----------
    requires_grad, is_leaf : bool
        What the input is at the call.
    changes_data, changes_geometry : bool
    update_requires_grad : bool
        Whether the new value is a differentiable output (Note [Which updates have a gradient]).
    changes : int
        How often the version of the input was raised; an operator may write without doing so (running statistics).
    new, old : tuple of (list, list, int) or None
        Shape, strides and offset after the call and before it, where they change; the offset counts from the other one.
    """

    requires_grad: bool
    is_leaf: bool
    changes_data: bool = False
    changes_geometry: bool = False
    update_requires_grad: bool = False
    changes: int = 0
    new: tuple | None = None
    old: tuple | None = None


class OutputKind(enum.Enum):
    """How an output is made after the graph has run (Note [What a compiled function leaves to its caller])."""

    CONSTANT = "no tensor: the same in every call"
    GRAPH = "returned by the graph"
    INPUT = "one of the tensors of the call"
    VIEW_OF_INPUT = "a view of an input of the graph"
    VIEW_OF_BASE = "a view of a base that the graph returns"


@dataclass
class OutputInfo:
    """How one output is made.

    Attributes
    ----------
    kind : OutputKind
    value : object
        That of a constant.
    index : int
        The position of the tensor in the call, of the input, or of the value among those that the graph returns.
    steps : tuple of ViewStep
        The views that lead to it.
    requires_grad : bool
    """

    kind: OutputKind
    value: Any = None
    index: int = -1
    steps: tuple = ()
    requires_grad: bool = False


@dataclass
class ProgramInfo:
    """What is known of a function after it was run once on functional tensors.

    Attributes
    ----------
    inputs : list of InputInfo
    outputs : list of OutputInfo
        The leaves of what the function returns.
    out_spec : TreeSpec
        The structure that it returns.
    differentiable : list of bool
        By value that the graph returns, whether it has a gradient.
    updated : list of int
        The inputs whose new values the graph returns, first of all.
    ends : list of tuple
        By tensor of the call, shape, strides and offset in its input after the call.
    moved : dict of int to tuple
        Those of tensors of the call that are made of a base, where they change; the offset counts from the one before.
    """

    inputs: list[InputInfo]
    outputs: list[OutputInfo]
    out_spec: TreeSpec
    differentiable: list[bool] = field(default_factory=list)
    updated: list[int] = field(default_factory=list)
    ends: list[tuple] = field(default_factory=list)
    moved: dict[int, tuple] = field(default_factory=dict)

    @property
    def changes_inputs(self) -> bool:
        return any(i.changes_data or i.changes_geometry for i in self.inputs)


class _Result(Function):
    """A functional tensor with a history, and with the strides that the one it comes from has."""

    @staticmethod
    def forward(ctx: Any, primal: TensorBase) -> TensorBase:
        return wrap(unwrap(primal))

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient


class Run:
    """One run of a function on functional tensors: its inputs, what it returned, and the values a graph returns.

    Parameters
    ----------
    function : callable
        ``(list of inputs) -> (tensors of the call, result)``: it makes the tensors of the call from the inputs.
    values : sequence of Tensor
        The inputs: without history, and never changed.
    inputs : list of InputInfo
        ``requires_grad`` and ``is_leaf`` are read, and where `known` what the function changes.
    known : bool
        Whether the function was analysed before.
    """

    def __init__(
        self, function: Callable[..., Any], values: Sequence[Any], inputs: list[InputInfo], known: bool = False
    ):
        self.primals = [wrap(value) for value in values]
        self.entered = []
        for primal, info in zip(self.primals, inputs, strict=True):
            if info.requires_grad:
                primal.requires_grad_(True)
            # A leaf that requires a gradient may not be changed; what is none stands for a result.
            stands_for_result = info.requires_grad and not info.is_leaf
            if stands_for_result and not (known and not (info.changes or info.changes_data or info.changes_geometry)):
                primal = _Result.apply(primal)
            self.entered.append(primal)
        self.storages = [tensor.storage_cell for tensor in self.entered]
        self.before = [(t.node, tuple(t.shape), tuple(t.stride()), t.storage_offset()) for t in self.entered]
        self.versions = [_version(t) for t in self.entered]
        self.tensors, result = function(self.entered)
        self.leaves, self.out_spec = tree_flatten(result)
        starts = {id(tensor.storage_cell): before[3] for tensor, before in zip(self.entered, self.before, strict=True)}
        self.ends = [
            (list(t.shape), list(t.stride()), t.storage_offset() - starts.get(id(t.storage_cell), 0))
            for t in self.tensors
        ]
        for tensor in (*self.entered, *self.leaves):
            if isinstance(tensor, TensorBase) and is_functional(tensor):
                sync(tensor)

    # -- what was changed ----------------------------------------------------------------------

    def describe_inputs(self, inputs: list[InputInfo]) -> None:
        """Note what the function did to each input.

        Raises
        ------
        RuntimeError
            If an input was given another storage, or shows a part of its memory only.
        """
        facts = zip(self.entered, self.storages, self.before, self.versions, inputs, strict=True)
        for tensor, storage, before, version, info in facts:
            node, shape, stride, offset = before
            info.changes = _version(tensor) - version
            info.changes_data = storage.generation > 0
            now = (tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())
            info.changes_geometry = now != (shape, stride, offset) or tensor.handle.storage is not storage
            if info.changes_geometry:
                self._check_geometry(tensor, storage, shape)
                info.old = (list(shape), list(stride), offset - now[2])
                info.new = (list(now[0]), list(now[1]), now[2] - offset)
            if info.changes_data:
                info.update_requires_grad = tensor.requires_grad and tensor.node is not node

    @staticmethod
    def _check_geometry(tensor: Any, storage: Any, shape: tuple) -> None:
        count = 1
        for n in shape:
            count *= n
        if tensor.handle.storage is not storage or tensor.numel() != count:
            raise RuntimeError(
                f"a compiled function gave an input of shape {list(shape)} another size or storage ({list(tensor.shape)}, by "
                "resize_() or set_()), which a graph that changes nothing cannot express. Return a new tensor, or change "
                "the size outside of the function."
            )

    # -- what is returned ----------------------------------------------------------------------

    def collect(self, info: ProgramInfo) -> list[Any]:
        """Note in `info` how each output is made; return the values that the graph returns, functional tensors mostly."""
        info.updated = [i for i, item in enumerate(info.inputs) if item.changes_data]
        graph_outputs = [self.entered[i] for i in info.updated]
        positions: dict[int, int] = {}
        calls = {id(t): i for i, t in enumerate(self.tensors) if isinstance(t, TensorBase)}
        inputs = {id(storage): i for i, storage in enumerate(self.storages)}
        groups = self._groups(calls, inputs)
        info.outputs = [self._output(leaf, calls, inputs, groups, positions, graph_outputs) for leaf in self.leaves]
        info.differentiable = [_is_differentiable(value) for value in graph_outputs]
        return graph_outputs

    def _groups(self, calls: dict, inputs: dict) -> dict[int, list[Any]]:
        """Return, by `id` of the storage, the different outputs that share memory with each other alone."""
        groups: dict[int, list[Any]] = {}
        for leaf in self.leaves:
            if not isinstance(leaf, TensorBase) or not is_functional(leaf) or id(leaf) in calls:
                continue
            members = groups.setdefault(id(leaf.handle.storage), [])
            if id(leaf.handle.storage) not in inputs and all(leaf is not other for other in members):
                members.append(leaf)
        return {cell: members for cell, members in groups.items() if len(members) > 1}

    def _output(
        self, leaf: Any, calls: dict, inputs: dict, groups: dict, positions: dict[int, int], graph_outputs: list
    ) -> OutputInfo:
        if not isinstance(leaf, TensorBase):
            return OutputInfo(OutputKind.CONSTANT, leaf)
        if id(leaf) in calls:
            return OutputInfo(OutputKind.INPUT, index=calls[id(leaf)])
        if not is_functional(leaf):
            return OutputInfo(OutputKind.GRAPH, index=_place(leaf, positions, graph_outputs))
        cell = id(leaf.handle.storage)
        # A view made in no_grad has no history, whatever its base has.
        steps, wants = leaf.handle.chain, leaf.requires_grad and leaf.node is not None
        if cell in inputs:
            return OutputInfo(OutputKind.VIEW_OF_INPUT, index=inputs[cell], steps=steps, requires_grad=wants)
        if cell in groups:
            if isinstance(groups[cell], list):
                groups[cell] = _base_of(groups[cell])
            base, known = groups[cell]
            index = _place(base, positions, graph_outputs)
            return OutputInfo(OutputKind.VIEW_OF_BASE, index=index, steps=steps[known:], requires_grad=wants)
        return OutputInfo(OutputKind.GRAPH, index=_place(leaf, positions, graph_outputs))


def _version(tensor: Any) -> int:
    return 0 if tensor.is_inference() else tensor._version


def _is_differentiable(value: Any) -> bool:
    return isinstance(value, TensorBase) and value.requires_grad and value.dtype.category >= 2


def _place(value: Any, positions: dict[int, int], graph_outputs: list) -> int:
    if id(value) not in positions:
        positions[id(value)] = len(graph_outputs)
        graph_outputs.append(value)
    return positions[id(value)]


def _base_of(members: list[Any]) -> tuple[Any, int]:
    """Return what outputs in one memory are views of, and how many views lead to that: with its history where there is one.

    Raises
    ------
    RuntimeError
        If they have a history, and none of the tensors that do is one that all of them are views of.
    """
    storage = members[0].handle.storage
    candidates = [m if m.view_info is None else m.view_info.base for m in members]
    # An in-place view operator makes a base what is itself reached by views.
    bases = [
        c
        for c in candidates
        if is_functional(c)
        and c.handle.storage is storage
        and all(m.handle.chain[: len(c.handle.chain)] == c.handle.chain for m in members)
    ]
    if bases:
        found = next((b for b in bases if b.requires_grad), bases[0])
        sync(found)
        return found, len(found.handle.chain)
    if any(m.requires_grad for m in members):
        shapes = ", ".join(str(list(m.shape)) for m in members)
        raise RuntimeError(
            f"a compiled function returns tensors (of shapes {shapes}) that share memory, require gradients, and are no "
            "views of one of them, since an in-place view operator such as t_() was called. Return clones of them, or use "
            "the form that returns a new view (t())."
        )
    storage.apply_updates()
    return storage.base, 0


def value_of(tensor: Any) -> Any:
    """Return the value of a functional tensor, and others as they are."""
    return unwrap(tensor) if isinstance(tensor, TensorBase) and is_functional(tensor) else tensor


def result_of(tensor: Any) -> Any:
    """Return the value of a functional tensor with the strides that the program knows, which views of it may need."""
    value = value_of(tensor)
    if value is tensor or same_layout(value.handle, tensor.handle.geometry):
        return value
    order = dense_order(tensor.handle.geometry)
    return value if order is None else copied_in_order(value, order)


def values_of(results: Sequence[Any], info: ProgramInfo) -> list[Any]:
    """Return the values of what a graph returns; those for inputs are copied, and so need no strides."""
    count = len(info.updated)
    return [*map(value_of, results[:count]), *map(result_of, results[count:])]


def analyse(
    function: Callable[..., Any], values: Sequence[Any], inputs: list[InputInfo]
) -> tuple[ProgramInfo, list[Any]]:
    """Run a function once on functional tensors.

    Returns
    -------
    ProgramInfo
        What it does.
    list
        The values that a graph of it returns.
    """
    with functionalization(reapply_views=True, custom_operators=True):
        run = Run(function, values, inputs)
        run.describe_inputs(inputs)
        info = ProgramInfo(inputs, [], run.out_spec)
        results = run.collect(info)
        info.ends = run.ends
        _refuse_other_leaves(results, run.primals, inputs)
        return info, values_of(results, info)


def _refuse_other_leaves(results: Sequence[Any], primals: Sequence[Any], inputs: Sequence[InputInfo]) -> None:
    """Raise if a result depends on a tensor that requires a gradient and is no input, or an input that did not before.

    Raises
    ------
    RuntimeError
        Naming its shape: its gradient would be lost.
    """
    known = {id(primal): item.requires_grad for primal, item in zip(primals, inputs, strict=True)}
    stack = [gradient_target(result) for result in results if _is_differentiable(result)]
    seen = set()
    while stack:
        target = stack.pop()
        if target is None or id(target) in seen:
            continue
        seen.add(id(target))
        if isinstance(target, Node):
            stack += target.targets  # type: ignore[attr-defined]
        elif known.get(id(target)) is False:
            raise RuntimeError(
                f"a compiled function makes an argument of shape {list(target.shape)} require a gradient (requires_grad_()), "
                "which is seen outside of it. Call requires_grad_() before, or detach() the argument inside."
            )
        elif id(target) not in known:
            raise RuntimeError(
                f"a compiled function uses a tensor of shape {list(target.shape)} that requires a gradient and is none of its "
                "arguments, so that its gradient would be lost. Pass it as an argument; aot_module does so with the "
                "parameters of a module."
            )


# -- after the graph has run -----------------------------------------------------------------------


def write_updates(
    info: ProgramInfo,
    inputs: Sequence[Any],
    graph_outputs: Sequence[Any],
    data_written: bool = False,
    tensors: Sequence[Any] = (),
) -> None:
    """Give the inputs that a function changes their new values and geometry; the geometry alone where the graph did that.

    Of the `tensors` of the call, those made of a base get their new geometry (`ProgramInfo.moved`).
    """
    versions = [_version(target) for target in inputs]
    for position, index in enumerate([] if data_written else info.updated):
        item, target, value = info.inputs[index], inputs[index], graph_outputs[position]
        if item.changes_geometry:
            _change_geometry(item, target)
        with nullcontext() if item.update_requires_grad else no_grad():
            target.copy_(value)
    for position, new in info.moved.items():
        _set_geometry(tensors[position], new, tensors[position].requires_grad)
    for item, target, version in zip(info.inputs, inputs, versions, strict=True):
        if item.changes_geometry and (data_written or not item.changes_data):
            _change_geometry(item, target)
        if (item.changes or item.changes_data or item.changes_geometry) and not target.is_inference():
            written = int(data_written and item.changes_data)  # by the graph, which raised it once
            target.counter_of().version = version - written + item.changes


def _change_geometry(item: InputInfo, target: Any) -> None:
    assert item.new is not None
    _set_geometry(target, item.new, item.requires_grad)


def _set_geometry(target: Any, new: tuple, requires_grad: bool) -> None:
    shape, stride, offset = new
    with nullcontext() if requires_grad else no_grad():
        F.as_strided_(target, shape, stride, target.storage_offset() + offset)


def make_outputs(
    info: ProgramInfo, tensors: Sequence[Any], inputs: Sequence[Any], graph_outputs: Sequence[Any]
) -> list[Any]:
    """Return the leaves of the function's result."""
    return [_make(item, info, tensors, inputs, graph_outputs) for item in info.outputs]


def _make(
    item: OutputInfo, info: ProgramInfo, tensors: Sequence[Any], inputs: Sequence[Any], graph_outputs: Sequence[Any]
) -> Any:
    if item.kind is OutputKind.CONSTANT:
        return item.value
    if item.kind is OutputKind.INPUT:
        return tensors[item.index]
    if item.kind is OutputKind.GRAPH:
        return graph_outputs[item.index]
    value = (inputs if item.kind is OutputKind.VIEW_OF_INPUT else graph_outputs)[item.index]
    with nullcontext() if item.requires_grad else no_grad():
        old = info.inputs[item.index].old if item.kind is OutputKind.VIEW_OF_INPUT else None
        if old is not None:
            value = F.as_strided(value, old[0], old[1], value.storage_offset() + old[2])
        for step in item.steps:
            value = step.forward(value)
    return value
