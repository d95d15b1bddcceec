"""The graph as users see it: edges, `AccumulateGrad`, saved-tensor hooks; and in-place changes of views."""

from __future__ import annotations

from typing import Any

from minitorch.autograd.hooks import RemovableHandle, add_hook
from minitorch.autograd.node import Node, gradient_target, next_sequence
from minitorch.dispatch.local_state import current
from minitorch.tensor.base import (
    VIEW_CUSTOM_FUNCTION,
    VIEW_INFERENCE,
    VIEW_MULTI_OUTPUT,
    VIEW_MULTI_OUTPUT_NO_GRAD,
    VIEW_NO_GRAD,
    TensorBase,
    ViewInfo,
)
from minitorch.tensor.operators import F

__all__ = [
    "AccumulateGrad", "GradientEdge", "Node", "disable_saved_tensors_hooks", "get_gradient_edge", "save_on_cpu",
    "saved_tensors_hooks",
]


class AccumulateGrad(Node):
    """Stands in `next_functions` for a leaf: its gradient is accumulated there."""

    def __init__(self, variable: TensorBase):
        self.variable = variable
        self.targets = ()
        self.numbers = ()
        self.output_count = 1

    def apply(self, grads: list) -> list:
        from minitorch.autograd.engine import accumulate_gradient

        accumulate_gradient(self.variable, grads[0])
        return []

    def register_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the gradient was accumulated."""
        meta = _meta_of(self.variable)
        return add_hook(meta.setdefault("post_accumulate", {}), lambda leaf: hook((), (leaf.grad,)))

    def register_prehook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before the gradient is accumulated."""

        def run(grad: Any) -> Any:
            changed = hook((grad,))
            return None if changed is None else changed[0]

        return add_hook(_meta_of(self.variable).setdefault("hooks", {}), run)


def _meta_of(leaf: TensorBase) -> dict:
    if leaf.autograd_meta is None:
        leaf.autograd_meta = {}
    return leaf.autograd_meta


def accumulator_of(leaf: TensorBase) -> AccumulateGrad:
    """Return the `AccumulateGrad` of a leaf, the same one each time."""
    meta = _meta_of(leaf)
    found = meta.get("accumulator")
    if found is None:
        found = meta["accumulator"] = AccumulateGrad(leaf)
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


# -- saved-tensor hooks --------------------------------------------------------------------


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
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


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - PyTorch's name
    """Scope: tensors saved for backward wait on the CPU."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))


class disable_saved_tensors_hooks:  # noqa: N801 - PyTorch's name
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
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
    "view and the inplace either both inside the {scope} block (if you don't want the inplace to be tracked) or both "
    "outside (if you want the inplace to be tracked)."
)


def forbidden_view_text(tensor: Any, info: ViewInfo) -> str:
    """Return the text of the error for an in-place change of a view that does not allow it."""
    if info.creation == VIEW_NO_GRAD:
        return (
            "A view was created in no_grad mode and is being modified inplace with grad mode enabled. "
            + _ADVICE.format(scope="no_grad")
        )
    if info.creation == VIEW_INFERENCE:
        return (
            "A view was created in inference mode and is being modified inplace in normal mode. "
            + _ADVICE.format(scope="inference_mode")
        )
    what = f"Output {max(info.output, 0)} of {type_of_view(tensor, info)} is a view and is being modified inplace. "
    if info.creation in (VIEW_MULTI_OUTPUT, VIEW_MULTI_OUTPUT_NO_GRAD):
        return what + (
            "This view is the output of a function that returns multiple views. Such functions do not allow the output "
            "views to be modified inplace. You should replace the inplace operation by an out-of-place one."
        )
    if info.creation == VIEW_CUSTOM_FUNCTION:
        return what + (
            "This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
            "logic to handle view+inplace would override the custom backward associated with the custom Function, leading "
            "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
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

    def __init__(self, info: ViewInfo, inner: Node, base_target: Any, base_number: int, base: TensorBase):
        self.sequence = next_sequence()
        self.info = info
        self.inner = inner
        self.targets = (base_target, *inner.targets[1:])
        self.numbers = (base_number, *inner.numbers[1:])
        metas = inner.input_meta or []
        self.input_meta = [(base.handle.shape, base.handle.dtype), *metas[1:]]
        self.self_meta = (metas[0] if metas else None) if inner.targets else None
        self.output_count = 1

    def apply(self, grads: list) -> list:
        grad = F.clone(grads[0])
        part = self.info.replay(grad)
        results = list(self.inner.apply([F.clone(part)]))
        first = results[0] if results else None
        if first is None:
            part.zero_()
        else:
            part.copy_(first)
        return [grad if self.targets[0] is not None else None, *results[1:]]

    def release(self) -> None:
        self.inner.release()


def rebase_view(tensor: Any, info: ViewInfo, node: Node) -> None:
    """Make `node`, the in-place change of a view, part of its base's history."""
    base = info.base
    target = gradient_target(base) if base.requires_grad_flag else None
    base.node = CopySlices(info, node, target, base.output_nr if target is not None else 0, base)
    base.output_nr = 0
    base.requires_grad_flag = True
    tensor.requires_grad_flag = True
    tensor.node = None
    info.attr_version = -1
    gradient_target(tensor)


def grad_fn_of(tensor: Any) -> Any:
    """Return the node that computed a tensor, None for leaves; a view of a changed base gets a new one."""
    target = gradient_target(tensor)
    return target if isinstance(target, Node) else None
