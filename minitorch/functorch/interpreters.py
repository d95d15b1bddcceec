"""The interpreters of `vmap`, `grad` and `jvp`, and the kernels by which calls enter and leave their stack.

Note [The way through the stack]
    While transforms are active every call meets FuncTorchDynamicLayerFrontMode first.  Its kernel
    hands the call to the innermost interpreter, which makes the call once more with only its
    own keys on (`process`), and FuncTorchDynamicLayerBackMode at the end of them: there the
    interpreter leaves the stack, and sends the call on from the top (`leave`).  When the stack is
    empty the call is an ordinary one.
"""

from __future__ import annotations

from typing import Any, ClassVar

from minitorch.autograd import dual
from minitorch.dispatch.dispatcher import register_fallback
from minitorch.dispatch.keys import (
    AD_INPLACE_OR_VIEW,
    AFTER_FUNCTORCH_BACK,
    AFTER_FUNCTORCH_FRONT,
    AUTOCAST_KEYS,
    AUTOGRAD_KEYS,
    FUNCTORCH_BACK,
    FUNCTORCH_BATCHED,
    FUNCTORCH_FRONT,
    FUNCTORCH_KEYS,
    FUNCTORCH_VMAP_MODE,
    functionality_bit,
)
from minitorch.dispatch.local_state import current
from minitorch.dispatch.operator import Entry, Kernel
from minitorch.dispatch.transforms import Interpreter, TransformType, interpreter_stack
from minitorch.functorch.wrappers import (
    BatchedHandle,
    GradHandle,
    map_results,
    map_tensors,
    unwrap_dead,
    wrap_batched,
    wrap_grad,
)
from minitorch.tensor.base import TensorBase

# From below the key by which calls enter down to above the one by which they leave.
_BETWEEN = (AFTER_FUNCTORCH_FRONT | FUNCTORCH_FRONT) & ~(AFTER_FUNCTORCH_BACK | FUNCTORCH_BACK)
_NO_SAVED_TENSOR_HOOKS = (
    "grad, vjp, jacrev and hessian of minitorch.func don't support saved tensor hooks: saved_tensors_hooks, save_on_cpu, and "
    "checkpoint with use_reentrant=False. Use them without a transform, with minitorch.autograd.grad."
)
_ALWAYS_ON = AUTOCAST_KEYS | FUNCTORCH_VMAP_MODE


def excluded_for(owned: int) -> int:
    """Return the keys that are off while a transform that owns the keys `owned` does its part (spec G3)."""
    return _BETWEEN & ~_ALWAYS_ON & ~owned


class VmapInterpreter(Interpreter):
    """One `vmap`.

    Attributes
    ----------
    batch_size : int
    randomness : {"error", "different", "same"}
    """

    transform = TransformType.Vmap
    _excluded = excluded_for(FUNCTORCH_BATCHED | functionality_bit("BatchedNestedTensor"))

    def __init__(self, batch_size: int, randomness: str = "error"):
        super().__init__()
        self.batch_size = batch_size
        self.randomness = randomness

    def process(self, op: Any, args: tuple, kwargs: dict | None) -> Any:
        state = current()
        included, excluded, outer = state.included, state.excluded, self.ambient
        self.ambient = (included, excluded)
        state.included = included | FUNCTORCH_VMAP_MODE
        state.excluded = excluded | self._excluded
        try:
            return op.call(args, kwargs)
        finally:
            state.included, state.excluded, self.ambient = included, excluded, outer

    def unwrap(self, tensor: TensorBase) -> tuple[Any, int | None]:
        """Return a tensor's value and which dimension of it is mapped; None if it is not batched here."""
        handle = tensor.handle
        if type(handle) is BatchedHandle and handle.owner is self:
            return handle.value, handle.dim
        return tensor, None

    def wrap(self, value: TensorBase, dim: int) -> Any:
        """Return `value` as a tensor batched at this level."""
        return wrap_batched(value, dim, self)


class _AutogradInterpreter(Interpreter):
    """What `grad` and `jvp` share: they run the kernels of autograd on tensors of their own.

    Attributes
    ----------
    visible_outside : int
        How many levels of forward mode the call that is being interpreted could see (`dual`, Note [Levels]).
    """

    _excluded: ClassVar[int] = excluded_for(AUTOGRAD_KEYS | AD_INPLACE_OR_VIEW)

    def __init__(self) -> None:
        super().__init__()
        self.visible_outside = dual.get_visible()
        self._inference_outside = False

    def __enter__(self) -> Any:
        state = current()
        super().__enter__()
        self._inference_outside = state.inference_mode
        if state.inference_mode:
            # Inference mode is the wish of the code around, which gets no graph; the level needs its own.
            state.inference_mode = False
            state.included |= AD_INPLACE_OR_VIEW
            state.excluded &= ~AUTOGRAD_KEYS
        return self

    def __exit__(self, *exc_info: Any) -> None:
        super().__exit__(*exc_info)
        current().inference_mode = self._inference_outside

    def process(self, op: Any, args: tuple, kwargs: dict | None) -> Any:
        if args and isinstance(args[0], TensorBase) and _writes_first(op):
            self.check_mutation(op, args[0])
        args, kwargs = map_tensors(self.lift, args, kwargs)
        state = current()
        included, excluded, outer = state.included, state.excluded, self.ambient
        self.ambient = (included, excluded)
        state.excluded = excluded | self._excluded
        visible_outside, self.visible_outside = self.visible_outside, dual.get_visible()
        try:
            return op.call(args, kwargs)
        finally:
            state.included, state.excluded, self.ambient = included, excluded, outer
            self.visible_outside = visible_outside

    def leave(self, op: Any, args: tuple, kwargs: dict | None) -> Any:
        pairs: list[tuple[Any, Any]] = []

        def unwrap(tensor: Any) -> Any:
            handle = tensor.handle
            if type(handle) is GradHandle and handle.owner is self:
                pairs.append((handle.value, tensor))
                return handle.value
            return tensor

        def wrap(value: Any) -> Any:
            for inner, wrapper in pairs:
                if inner is value:
                    wrapper.shape_cache = None  # its geometry may have been changed in place
                    return wrapper
            return wrap_grad(value, self)

        base = args[0] if args and _is_view(op) else None
        args, kwargs = map_tensors(unwrap, args, kwargs)
        visible = dual.set_visible(self.visible_outside)
        try:
            with self.lower():
                result = op.call(args, kwargs)
        finally:
            dual.set_visible(visible)
        result = map_results(wrap, result)
        if base is not None:
            map_results(lambda view: _share_storage(view, base), result)
        return result

    def lift(self, tensor: Any) -> Any:
        """Return a tensor of this level: a constant for one that the function did not get as its argument."""
        handle = tensor.handle
        if type(handle) is GradHandle and handle.owner is self:
            return tensor
        return wrap_grad(tensor, self)

    def check_mutation(self, op: Any, target: Any) -> None:
        """Raise for an in-place change of a tensor that is none of this level's."""
        handle = target.handle
        if type(handle) is GradHandle and handle.owner is self:
            return
        raise RuntimeError(
            f"During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
            f"({op.qualname}) that would mutate a captured Tensor. This is not supported; please rewrite the function being "
            "transformed to explicitly accept the mutated Tensor(s) as inputs."
        )


class GradInterpreter(_AutogradInterpreter):
    """One `grad` or `vjp`."""

    transform = TransformType.Grad

    def __init__(self) -> None:
        super().__init__()
        self._hooks_disabled_outside: str | None = None

    def __enter__(self) -> Any:
        state: Any = current()
        # A pack hook gets what is saved cut off from its history: from that of the levels around, too.
        if state.saved_tensor_hooks is not None:
            raise RuntimeError(_NO_SAVED_TENSOR_HOOKS)
        self.grad_enabled_outside = state.grad_enabled
        super().__enter__()
        self._hooks_disabled_outside = state.saved_tensor_hooks_disabled
        state.saved_tensor_hooks_disabled = _NO_SAVED_TENSOR_HOOKS
        state.grad_enabled = True
        return self

    def __exit__(self, *exc_info: Any) -> None:
        state: Any = current()
        state.grad_enabled = self.grad_enabled_outside
        state.saved_tensor_hooks_disabled = self._hooks_disabled_outside
        super().__exit__(*exc_info)


class JvpInterpreter(_AutogradInterpreter):
    """One `jvp`."""

    transform = TransformType.Jvp

    def __init__(self) -> None:
        super().__init__()
        self._forward_grad_outside = True

    def __enter__(self) -> Any:
        state = current()
        self._forward_grad_outside = state.forward_grad_enabled
        super().__enter__()
        state.forward_grad_enabled = True
        return self

    def __exit__(self, *exc_info: Any) -> None:
        current().forward_grad_enabled = self._forward_grad_outside
        super().__exit__(*exc_info)


def _share_storage(view: Any, base: Any) -> None:
    """Give a view the storage of its base, which counts the changes of both."""
    view.storage_cell = base.storage_of()
    view.version_counter = base.counter_of()


_WRITES_FIRST: dict[str, bool] = {}
_VIEWS: dict[str, bool] = {}


def _is_view(op: Any) -> bool:
    """Return whether the results of an operator show the memory of its first argument."""
    found = _VIEWS.get(op.qualname)
    if found is None:
        arguments = op.schema.arguments
        found = bool(arguments) and arguments[0].alias_info is not None and not arguments[0].is_write
        _VIEWS[op.qualname] = found
    return found


def _writes_first(op: Any) -> bool:
    """Return whether an operator changes its first argument in place."""
    found = _WRITES_FIRST.get(op.qualname)
    if found is None:
        arguments = op.schema.arguments
        found = _WRITES_FIRST[op.qualname] = bool(arguments) and arguments[0].is_write
    return found


class FrontKernel(Kernel):
    """Where calls enter the stack of transforms."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        stack = interpreter_stack()
        if not stack:
            return op.run_below(op.entry_below(entry, AFTER_FUNCTORCH_FRONT), args, kwargs)
        if entry.key_set & FUNCTORCH_KEYS:
            args, kwargs = map_tensors(unwrap_dead, args, kwargs)
        return stack[-1].process(op, args, kwargs)


class BackKernel(Kernel):
    """Where a call leaves the innermost transform."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        stack = interpreter_stack()
        if not stack:
            return op.run_below(op.entry_below(entry, AFTER_FUNCTORCH_BACK), args, kwargs)
        return stack[-1].leave(op, args, kwargs)


class DeadWrapperKernel(Kernel):
    """Takes the wrappers of ended transforms off where no transform is active (spec G7)."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        args, kwargs = map_tensors(self.unwrap, args, kwargs)
        return op.call(args, kwargs)

    @staticmethod
    def unwrap(tensor: Any) -> Any:
        found = unwrap_dead(tensor)
        if found.key_set & FUNCTORCH_KEYS:
            raise RuntimeError(
                f"a tensor of shape {list(found.shape)} belongs to a transform ({type(found.handle.owner).__name__}) that is "
                "not active here: in another thread, or outside of the function that is being transformed. Return it from "
                "that function instead."
            )
        return found


def register() -> None:
    """Register the kernels of the keys at both ends of the stack, and of dead wrappers."""
    register_fallback("FuncTorchDynamicLayerFrontMode", FrontKernel())
    register_fallback("FuncTorchDynamicLayerBackMode", BackKernel())
    register_fallback("FuncTorchGradWrapper", DeadWrapperKernel())
