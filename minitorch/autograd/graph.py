"""The graph as users see it: edges, `AccumulateGrad`, saved-tensor hooks; and in-place changes of views."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from minitorch.autograd.hooks import RemovableHandle, add_hook
from minitorch.autograd.node import Node, attach_history, gradient_target, next_sequence
from minitorch.core.dtype import from_numpy_dtype
from minitorch.dispatch.keys import FUNCTORCH_KEYS
from minitorch.dispatch.local_state import current
from minitorch.dispatch.operator import OPERATORS
from minitorch.tensor.base import (
    VIEW_CUSTOM_FUNCTION,
    VIEW_DEFAULT,
    VIEW_INFERENCE,
    VIEW_MULTI_OUTPUT,
    VIEW_MULTI_OUTPUT_NO_GRAD,
    VIEW_NO_GRAD,
    TensorBase,
    ViewInfo,
)
from minitorch.tensor.operators import F

__all__ = [
    "GradientEdge", "Node", "disable_saved_tensors_hooks", "get_gradient_edge", "increment_version",
    "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]


class AccumulateGrad(Node):
    """Stands in `next_functions` for a leaf: its gradient is accumulated there."""

    def __init__(self, variable: TensorBase):
        self.sequence = (1 << 64) - 1  # PyTorch's number for these: they run as soon as they can
        self.variable = variable
        self.targets = ()
        self.numbers = ()
        self.output_count = 1

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {hex(id(self))}>"

    def apply(self, grads: list) -> list:
        from minitorch.autograd.engine import accumulate_gradient

        accumulate_gradient(self.variable, grads[0])
        return []

    def register_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the gradient was accumulated."""
        meta = _meta_of(self.variable)
        return add_hook(meta.setdefault("node_hooks", {}), lambda leaf: hook((), (leaf.grad,)))

    def register_prehook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before the gradient is accumulated."""

        def run(grad: Any) -> Any:
            changed = hook((grad,))
            return None if changed is None else changed[0]

        return add_hook(_meta_of(self.variable).setdefault("node_prehooks", {}), run)


def _meta_of(leaf: TensorBase) -> dict:
    if leaf.autograd_meta is None:
        leaf.autograd_meta = {}
    return leaf.autograd_meta


def accumulator_of(leaf: TensorBase) -> AccumulateGrad:
    """Return the `AccumulateGrad` of a leaf, the same one as long as somebody holds it.

    The leaf knows it by a weak reference, so the two make no cycle.
    """
    meta = _meta_of(leaf)
    reference = meta.get("accumulator")
    found = reference() if reference is not None else None
    if found is None:
        found = AccumulateGrad(leaf)
        meta["accumulator"] = weakref.ref(found)
    return found


def as_public_edge(target: Any, number: int) -> tuple:
    """Return an edge as `next_functions` shows it."""
    if target is None:
        return (None, 0)
    if isinstance(target, Node):
        return (target, number)
    return (accumulator_of(target), 0)


class GradientEdge(tuple):
    """A place where a gradient arrives: a node and which of its outputs."""

    __slots__ = ()

    def __new__(cls, node: Any, output_nr: int) -> GradientEdge:
        return tuple.__new__(cls, (node, output_nr))

    @property
    def node(self) -> Any:
        return self[0]

    @property
    def output_nr(self) -> int:
        return self[1]


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Return where the gradient of a tensor arrives.

    Raises
    ------
    RuntimeError
        If the tensor does not require grad.
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*as_public_edge(gradient_target(tensor), tensor.output_nr))


def edge_of(place: Any) -> tuple:
    """Return ``(target, number)``, as the engine knows it, of a tensor or `GradientEdge`."""
    if isinstance(place, tuple):
        node, number = place
        return (node.variable, 0) if isinstance(node, AccumulateGrad) else (node, number)
    target = gradient_target(place)
    return (target, place.output_nr) if isinstance(target, Node) else (target, 0)


def increment_version(tensor: Any) -> None:
    """Count an in-place change that a tensor, or each of several, went through unseen.

    Raises
    ------
    RuntimeError
        If it is an inference tensor: those have no version.
    """
    for item in (tensor,) if isinstance(tensor, TensorBase) else tensor:
        if item.is_inference():
            raise RuntimeError("increment_version: inference tensors do not track versions")
        item.bump_version()


class _HandleOfMany(RemovableHandle):
    """Takes several hooks out again."""

    def __init__(self, handles: Sequence):
        self._handles = tuple(handles)

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable, *, mode: str = "all"
) -> RemovableHandle:
    """Call a hook once a backward pass when the gradients of several tensors are there.

    Parameters
    ----------
    tensors : sequence of Tensor
        Each must require grad.
    fn : callable
        With ``mode="all"`` ``fn(grads)``, when the last gradient was computed: one a tensor,
        None where the pass computes none.  With ``mode="any"`` ``fn(grad)``, for the first.
    mode : ``"all"`` or ``"any"``

    Returns
    -------
    RemovableHandle

    Raises
    ------
    ValueError
        For any other mode.

    Examples
    --------
    >>> x = minitorch.ones((), requires_grad=True)
    >>> y = minitorch.ones((), requires_grad=True)
    >>> handle = minitorch.autograd.graph.register_multi_grad_hook([x, y], print)
    >>> (2 * x).backward()
    [tensor(2.), None]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = threading.Lock()
    # Weakly: the hooks are kept by what they would keep, and a graph shall go when nobody needs it.
    edges = [(weakref.ref(target), number) for target, number in map(edge_of, tensors)]
    # By pass, for as long as it lasts: the gradients that came, and how many will.
    passes: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()

    def collect(index: int, grad: Any) -> None:
        task = current().extra["backward pass"]
        with lock:
            if mode == "any":
                first = task not in passes
                passes[task] = True
                arrived = None
            else:
                if task not in passes:
                    there = [(target(), number) for target, number in edges]
                    expected = sum(task.will_reach(target, number) for target, number in there if target is not None)
                    passes[task] = ([None] * len(edges), [expected])
                arrived, left = passes[task]
                arrived[index] = grad
                left[0] -= 1
                first = left[0] == 0
        if first:
            fn(grad if mode == "any" else arrived)

    return _HandleOfMany([t.register_hook(functools.partial(collect, i)) for i, t in enumerate(tensors)])


# -- saved-tensor hooks --------------------------------------------------------------------


class saved_tensors_hooks:
    """Scope: tensors saved for backward go through ``pack_hook``, and ``unpack_hook`` when used (spec A10)."""

    def __init__(self, pack_hook: Any, unpack_hook: Any):
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook
        self._outer: Any = None

    def __enter__(self) -> saved_tensors_hooks:
        state = current()
        if state.saved_tensor_hooks_disabled is not None:
            raise RuntimeError(state.saved_tensor_hooks_disabled)
        self._outer = state.saved_tensor_hooks
        state.saved_tensor_hooks = (self.pack_hook, self.unpack_hook)
        return self

    def __exit__(self, *exc_info: Any) -> None:
        current().saved_tensor_hooks = self._outer


class save_on_cpu(saved_tensors_hooks):
    """Scope: tensors saved for backward wait on the CPU."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))


class disable_saved_tensors_hooks:
    """Scope: entering a `saved_tensors_hooks` scope raises RuntimeError with this message."""

    def __init__(self, error_message: str):
        self._message = error_message
        self._outer: Any = None

    def __enter__(self) -> disable_saved_tensors_hooks:
        state = current()
        self._outer = state.saved_tensor_hooks_disabled
        state.saved_tensor_hooks_disabled = self._message
        return self

    def __exit__(self, *exc_info: Any) -> None:
        current().saved_tensor_hooks_disabled = self._outer


# -- in-place changes of views (spec A8) -----------------------------------------------------


_ADVICE = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the view and the inplace either both inside the {scope} block (if you don't want the inplace to be tracked) or both "
    "outside (if you want the inplace to be tracked)."
)


def forbidden_view_text(tensor: Any, info: ViewInfo, indirect: bool = False) -> str:
    """Return the text of the error for an in-place change of a view that does not allow it.

    Parameters
    ----------
    indirect : bool
        Its base, or another view of that, was changed, not the view itself.
    """
    what = "its base or another view of its base has been" if indirect else "is being"
    if info.creation in (VIEW_NO_GRAD, VIEW_INFERENCE) or tensor.node is None:
        inference = info.creation == VIEW_INFERENCE
        return (
            f"A view was created in {'inference' if inference else 'no_grad'} mode and {what} modified inplace "
            f"{'in normal mode' if inference else 'with grad mode enabled'}. "
            + _ADVICE.format(scope="inference_mode" if inference else "no_grad")
        )
    what = f"Output {tensor.output_nr} of {type_of_view(tensor, info)} is a view and {what} modified inplace. "
    if info.creation in (VIEW_MULTI_OUTPUT, VIEW_MULTI_OUTPUT_NO_GRAD):
        return what + (
            "This view is the output of a function that returns multiple views. Such functions do not allow the output "
            "views to be modified inplace. You should replace the inplace operation by an out-of-place one."
        )
    if info.creation == VIEW_CUSTOM_FUNCTION:
        return what + (
            "This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
            "logic to handle view+inplace would override the custom backward associated with the custom Function, "
            "leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
            "Function."
        )
    return what


def type_of_view(tensor: Any, info: ViewInfo) -> str:
    """Return the name of the node that made a view, for messages."""
    if tensor.node is not None:
        return tensor.node.name().removesuffix("0").removesuffix("Backward")
    return str(getattr(info.op, "basename", info.op))


class CopySlices(Node):
    """History of a base of which a view was changed in place: the change applied to a slice of the gradient."""

    def __init__(self, view: Any, info: ViewInfo, inner: Node, slot: int, base: TensorBase):
        self.sequence = next_sequence()
        moved = base.autograd_meta is not None and "moved" in base.autograd_meta
        self.steps = [place_of(view, base)] if moved else steps_of(info)
        self.inner = inner
        if inner.extra is None:
            inner.extra = {}
        inner.extra["copy_slices"] = weakref.ref(self)
        # Which input of `inner` the view was; -1 if its old values do not matter.
        self.slot = slot
        self.geometry = (base.shape, base.stride())
        if base.requires_grad_flag:
            target = gradient_target(base)
            number = base.output_nr if isinstance(target, Node) else 0
        else:
            target, number = None, 0
        self.targets = (target, *_without(inner.targets, slot))
        self.numbers = (number, *_without(inner.numbers, slot))
        metas = inner.input_meta or [None] * len(inner.targets)
        self.input_meta = [(base.handle.shape, base.handle.dtype), *_without(metas, slot)]
        self.output_count = 1

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def __repr__(self) -> str:
        return f"<CopySlices object at {hex(id(self))}>"

    def apply(self, grads: list) -> list:
        grad = self.laid_out(grads[0])
        part = self.slice_of(grad)
        results = list(self.inner.apply([F.clone(part)]))
        first = results[self.slot] if self.slot >= 0 else None
        if self.targets[0] is None:
            grad = None
        elif first is None:
            part.zero_()
        else:
            if first.key_set & FUNCTORCH_KEYS:
                # It may have a mapped dimension that the incoming gradient has not.
                grad = self.laid_out(F.add(grad, F.sum(F.zeros_like(first))))
                part = self.slice_of(grad)
            part.copy_(first)
        return [grad, *_without(results, self.slot)]

    def laid_out(self, grad: Any) -> Any:
        """Return a copy in the memory layout of the base, where every view that the base had is possible."""
        return grad.new_empty_strided(*self.geometry).copy_(grad)

    def slice_of(self, base: Any) -> Any:
        """Return the view that was changed, of `base`."""
        for op, args, kwargs, output in self.steps:
            result = op.call((base, *args), kwargs)
            base = result if output < 0 else result[output]
        return base

    def release(self) -> None:
        self.inner.release()


def steps_of(info: ViewInfo) -> list:
    """Return what a view was made with, from its base on: ``(op, args, kwargs, output)``.

    Unlike the `ViewInfo` itself the list does not hold the base, of which a node would
    otherwise be a cycle.
    """
    steps = []
    step: ViewInfo | None = info
    while step is not None:
        steps.append((step.op, step.args, step.kwargs, step.output))
        step = step.parent
    return steps[::-1]


def output_of_slice(node: CopySlices) -> tuple[Node, int]:
    """Return the history that the changed view of a base has: node and output number.

    The view itself may be gone, so it is made again of a stand-in for the base without
    elements, of which only the history counts.
    """
    shape, stride = node.geometry
    stand_in = F.empty_strided(shape, stride, dtype=from_numpy_dtype(node.input_meta[0][1]), device="meta")
    attach_history(stand_in, node, 0)
    view = node.slice_of(stand_in)
    return view.node, view.output_nr


def place_of(view: Any, base: Any) -> tuple:
    """Return a step, as `steps_of` has them, that makes a view by its place in the memory of its base.

    Raises
    ------
    RuntimeError
        If the view shows the memory as another dtype.
    """
    if view.dtype is not base.dtype:
        raise RuntimeError(
            f"a view of dtype {view.dtype} of a {base.dtype} tensor whose shape was changed in place (as t_() does) cannot "
            "be differentiated after a further in-place change. Make the view again."
        )
    offset = view.storage_offset() - base.storage_offset()
    return OPERATORS["aten::as_strided"], (list(view.shape), list(view.stride()), offset), None, -1


def view_by_place(view: Any, base: Any) -> Any:
    """Return a view of `base` that shows the same memory as `view`, whatever it was made with."""
    op, args, kwargs, _ = place_of(view, base)
    return op.call((base, args[0], args[1], view.storage_offset()), kwargs)


def _without(items: Any, slot: int) -> list:
    """Return a list of `items` without number `slot`; of all for -1."""
    return [item for i, item in enumerate(items) if i != slot]


def rebase_view(tensor: Any, info: ViewInfo, node: Node, slot: int) -> None:
    """Make `node`, the in-place change of a view, part of its base's history.

    Parameters
    ----------
    slot : int
        Which input of `node` the view was; -1 if its old values do not matter.
    """
    base = info.base
    attach_history(base, CopySlices(tensor, info, node, slot, base), 0)
    info.attr_version = -1
    gradient_target(tensor)


def is_leaf(tensor: Any) -> bool:
    """Return whether a tensor was not computed from tensors that require a gradient."""
    info = tensor.view_info
    if info is not None and tensor.node is None and info.base.requires_grad_flag and info.creation == VIEW_DEFAULT:
        return not isinstance(gradient_target(tensor), Node)
    return tensor.node is None or not tensor.requires_grad_flag


def grad_fn_of(tensor: Any) -> Any:
    """Return the node that computed a tensor, None for leaves; a view of a changed base gets a new one."""
    target = gradient_target(tensor)
    return target if isinstance(target, Node) else None


def __getattr__(name: str) -> Any:
    if name == "allow_mutation_on_saved_tensors":  # a dispatch mode, which stands above this package
        return getattr(import_module("minitorch.utils.saved_mutation"), name)
    raise AttributeError(f"module 'minitorch.autograd.graph' has no attribute {name!r}")
