"""`Function`: operations whose forward and backward are both written by hand.

Note [The context is the node]
    The `ctx` that `forward` and `backward` get is the node of the graph itself, of a class
    made for each function (``<name>Backward``).  Outputs are saved by their memory, not as
    tensors, so that the node holds no reference to the tensors that hold it.

Note [What happens to the outputs]
    ``forward`` runs with grad mode off, so its outputs come without history and get the
    node as theirs.  Three kinds are special.  An input that was changed in place and is
    marked dirty stays the same object, with a new history.  An input that is returned
    as it is becomes a view of itself, because one tensor cannot have two histories.  A view
    of an input may not be changed in place later: the history of the base would have to
    run through a backward function that knows nothing of the base.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.autograd.dual import below, change_tangent, set_tangent, tangent_of, visible_count
from minitorch.autograd.grad_mode import no_grad
from minitorch.autograd.kernel import pack, rebase_history
from minitorch.autograd.node import (
    DETACHED_TEXT,
    FREED_TEXT,
    Node,
    SavedOutput,
    SavedPacked,
    attach_history,
    changed_text,
    gradient_target,
    next_sequence,
    requires_grad,
)
from minitorch.dispatch.local_state import current
from minitorch.dispatch.transforms import inside_transforms
from minitorch.tensor.base import VIEW_CUSTOM_FUNCTION, VIEW_MULTI_OUTPUT, TensorBase
from minitorch.tensor.operators import F

__all__ = [
    "BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "once_differentiable",
]

_SAVED_AS_IS_TEXT = (
    "An input that has been returned as-is as output is being saved for backward. This is not supported if you override "
    "setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or setup ctx inside "
    "the forward function itself."
)
_DIRTY_VIEW_TEXT = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than "
    "one Tensor: the change becomes part of the history of the view's base. Clone the input first, or split the Function "
    "in two, one of which changes the view and returns it alone."
)


class FunctionCtx:
    """What `forward` tells `backward`, and the engine, about one call."""

    to_save: tuple | None = None
    saved_for_forward: tuple | None = None
    dirty_tensors: tuple | None = None
    non_differentiable: tuple | None = None
    materialize_grads = True
    needs_input_grad: tuple = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for `backward`, which finds them in `saved_tensors`.

        Parameters
        ----------
        *tensors : Tensor or None
            Inputs, outputs or others.  A change in place before backward is noticed.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Say that inputs were changed in place; each must be among the outputs."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say that outputs have no gradient."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Choose whether missing gradients reach `backward` as zeros (the default) or as None."""
        self.materialize_grads = value


class BackwardCFunction(Node, FunctionCtx):
    """The node of a `Function`: each has a subclass of its own (Note [The context is the node])."""

    _forward_cls: Any = None
    _saved: Sequence = ()
    _is_tensor: Sequence[bool] = ()
    _output_facts: Sequence = ()

    @property
    def saved_tensors(self) -> tuple:
        """The tensors given to `save_for_backward`; inside `jvp` those given to `save_for_forward`.

        Raises
        ------
        RuntimeError
            If one was changed in place since, or they were freed by a backward pass.
        """
        if self.saved_for_forward is not None:
            return tuple(self.saved_for_forward)
        if self._saved is None:
            raise RuntimeError(FREED_TEXT)
        return tuple([_unpack(saved, self) for saved in self._saved])

    def apply(self, grads: list) -> list:
        if self.materialize_grads:
            grads = [
                F.zeros(facts[0], dtype=facts[1], device=facts[2]) if grad is None and facts is not None else grad
                for grad, facts in zip(grads, self._output_facts, strict=True)
            ]
        results = backward_of(self._forward_cls)(self, *grads)
        results = list(results) if isinstance(results, tuple) else [results]
        count = len(self._is_tensor)
        while len(results) > count and results[-1] is None:
            results.pop()
        if len(results) != count:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {count}, got {len(results)})"
            )
        for i, grad in enumerate(results):
            if grad is None:
                continue
            if not self._is_tensor[i]:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position {i + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            if not isinstance(grad, TensorBase):
                raise RuntimeError(
                    f"function {self.name()}: expected Variable or None (got {type(grad).__name__}) at position {i + 1}"
                )
        return results

    def release(self) -> None:
        if self._saved:
            self._saved = None


def backward_of(cls: Any) -> Callable:
    """Return the backward function of a `Function`, whichever of its two names it has."""
    if cls.vjp is Function.vjp:
        return cls.backward
    if cls.backward is not Function.backward:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one "
            "of them."
        )
    return cls.vjp


def _save(node: BackwardCFunction, index: int, tensor: Any) -> Any:
    """Return what keeps a tensor for backward: see `_unpack`."""
    if tensor is None:
        return None
    if not isinstance(tensor, TensorBase):
        raise TypeError(
            f"save_for_backward can only save variables, but argument {index} is of type {type(tensor).__name__}"
        )
    if tensor.is_inference():
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor "
            "and use it in autograd."
        )
    output_nr = tensor.output_nr if tensor.node is node else None
    hooks = current().saved_tensor_hooks
    if hooks is not None:
        return pack(hooks, tensor, output_nr)
    return (tensor, tensor._version, tensor.node is not None) if output_nr is None else SavedOutput(tensor, output_nr)


def _unpack(saved: Any, node: BackwardCFunction) -> Any:
    if isinstance(saved, tuple):
        tensor, version, had_history = saved
        if had_history and tensor.node is None and current().grad_enabled:
            # Its history is gone, so a second derivative through it would be wrong.
            raise RuntimeError(DETACHED_TEXT)
        if tensor._version != version:
            raise RuntimeError(changed_text(tensor.handle, tensor.node, tensor.output_nr, tensor._version, version))
        return tensor
    if isinstance(saved, SavedOutput):
        return saved.unpack(node)
    return saved.restore(node) if isinstance(saved, SavedPacked) else saved


class FunctionMeta(type):
    """Gives each `Function` the class of its nodes."""

    def __init__(cls, name: str, bases: tuple, attributes: dict):
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), {"_forward_cls": cls})
        super().__init__(name, bases, attributes)


class Function(metaclass=FunctionMeta):
    """An operation with a hand-written gradient.

    A subclass has static methods ``forward(ctx, *args)`` and ``backward(ctx, *grads)``, and is
    called with ``apply(*args)``.  Or ``forward(*args)`` has no context, and
    ``setup_context(ctx, inputs, output)`` prepares it.  `backward` gets one gradient an output
    and returns one an argument, None where there is none.  What it computes with tensor
    operations can be differentiated again.

    Attributes
    ----------
    generate_vmap_rule : bool
        Whether `vmap` may run the function itself on batched tensors; otherwise it asks for a
        static method ``vmap(info, in_dims, *args)``.

    Examples
    --------
    >>> class Cube(minitorch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * x * x * grad
    >>> x = minitorch.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any):
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke "
            "them on the class itself.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
            "with static forward method, and call its apply."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; a subclass says how."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> Any:
        """Prepare the context of a `forward` that gets none; a subclass says how."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the gradients of the inputs; a subclass says how."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Another name for `backward`; a subclass has one of the two."""
        raise NotImplementedError("You must implement either the backward or vjp method of a custom autograd.Function.")

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return the tangents of the outputs; a subclass says how."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *args: Any) -> Any:
        """Compute on a batch; a subclass says how."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` and record the call for backward.

        Parameters
        ----------
        *args, **kwargs
            The arguments of `forward`.  Only tensors given directly, not in lists, get a gradient.

        Returns
        -------
        object
            What `forward` returned, its tensors with their history.
        """
        separate = cls.setup_context is not Function.setup_context
        if separate or kwargs:
            args = _bound(cls.forward, separate, args, kwargs)
        if inside_transforms():
            from minitorch.functorch.custom_function import apply

            return apply(cls, args)
        return cls._run(args, cls.forward)

    @classmethod
    def _run(cls, args: tuple, forward: Callable) -> Any:
        """Do what `apply` does, computing the outputs by `forward`."""
        separate = cls.setup_context is not Function.setup_context
        node = cls._backward_cls()
        node.sequence = next_sequence()
        node.runs_always = True
        needs = tuple([isinstance(a, TensorBase) and requires_grad(a) for a in args])
        node.needs_input_grad = needs
        state = current()
        records = state.grad_enabled and True in needs
        if records:
            _set_edges(node, args)
            if state.anomaly:
                from minitorch.autograd.anomaly import note

                note(node)
        enabled, forward_enabled = state.grad_enabled, state.forward_grad_enabled
        state.grad_enabled = state.forward_grad_enabled = False
        try:
            if separate:
                output = forward(*args)
                cls.setup_context(node, args, output)
            else:
                output = forward(node, *args)
        finally:
            state.grad_enabled, state.forward_grad_enabled = enabled, forward_enabled
        outputs = output if isinstance(output, tuple) else (output,)
        results = _with_history(node, args, outputs, records, separate)
        if records:
            node._saved = [_save(node, i, tensor) for i, tensor in enumerate(node.to_save or ())]
        for level in range(visible_count()):
            _set_tangents(cls, node, args, results, level)
        # Else the node would hold the tensors that hold it.
        node.to_save = node.dirty_tensors = node.non_differentiable = node.saved_for_forward = None
        return tuple(results) if isinstance(output, tuple) else results[0]


def _set_tangents(cls: Any, node: BackwardCFunction, args: tuple, results: list, level: int) -> None:
    """Give the outputs the tangents that `jvp` says, if an input has one (Note [Levels])."""
    given = [tangent_of(a, level) if isinstance(a, TensorBase) else None for a in args]
    if all(tangent is None for tangent in given):
        return
    with below(level):
        if node.materialize_grads:
            for i, value in enumerate(args):
                if given[i] is None and isinstance(value, TensorBase) and value.dtype.category >= 2:
                    given[i] = F.zeros_like(value)
        tangents = cls.jvp(node, *given)
    tangents = tangents if isinstance(tangents, tuple) else (tangents,)
    if len(tangents) != len(results):
        raise RuntimeError(
            f"{cls.__name__}.jvp returned {len(tangents)} tangents for {len(results)} outputs. Return one for each output, "
            "None where it has none."
        )
    dirty = {id(t) for t in node.dirty_tensors or ()}
    for result, tangent in zip(results, tangents, strict=True):
        if tangent is None or not isinstance(result, TensorBase):
            continue
        if tangent.shape != result.shape:
            raise RuntimeError(
                f"{cls.__name__}.jvp returned a tangent of shape {list(tangent.shape)} for an output of shape "
                f"{list(result.shape)}; the shapes must be equal"
            )
        (change_tangent if id(result) in dirty else set_tangent)(result, level, tangent)


def _bound(forward: Callable, separate: bool, args: tuple, kwargs: dict) -> tuple:
    """Return the arguments of `forward` by position, defaults filled in."""
    signature = inspect.signature(forward)
    if separate:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args
    bound = signature.bind(None, *args, **kwargs)
    bound.apply_defaults()
    return bound.args[1:]


def _set_edges(node: BackwardCFunction, args: tuple) -> None:
    targets, numbers, metas = [], [], []
    for needed, value in zip(node.needs_input_grad, args, strict=True):
        targets.append(gradient_target(value) if needed else None)
        numbers.append(value.output_nr if needed else 0)
        metas.append((value.handle.shape, value.handle.dtype) if needed else None)
    node.targets, node.numbers, node.input_meta = tuple(targets), tuple(numbers), metas
    node._is_tensor = [isinstance(value, TensorBase) for value in args]


def _with_history(node: BackwardCFunction, args: tuple, outputs: tuple, records: bool, separate: bool) -> list:
    """Return the outputs with their history (Note [What happens to the outputs])."""
    inputs = {id(a): i for i, a in enumerate(args) if isinstance(a, TensorBase)}
    dirty = {id(t): t for t in node.dirty_tensors or ()}
    for tensor in dirty.values():
        tensor.bump_version()
    constants = {id(t) for t in node.non_differentiable or ()}
    node.output_count = len(outputs)
    node._output_facts = [(o.shape, o.dtype, o.device) if isinstance(o, TensorBase) else None for o in outputs]
    results: list = []
    views: list = []
    differentiable_count = 0
    for i, output in enumerate(outputs):
        if not isinstance(output, TensorBase):
            results.append(output)
            continue
        key = id(output)
        differentiable = records and key not in constants and output.dtype.category >= 2
        result = output
        if not differentiable:
            result = _without_history(output, key in inputs, key in dirty)
        elif key in dirty:
            _rebase(node, output, inputs.get(key, -1), len(outputs))
        else:
            if key in inputs:
                if separate and any(t is output for t in node.to_save or ()):
                    raise RuntimeError(_SAVED_AS_IS_TEXT)
                result = _view_of_itself(output)
            attach_history(result, node, i)
        differentiable_count += differentiable
        if result.view_info is not None and not (key in inputs and key in dirty):
            result.view_info.creation = VIEW_CUSTOM_FUNCTION
            views.append(result)
        results.append(result)
    if differentiable_count > 1:
        for view in views:
            view.view_info.creation = VIEW_MULTI_OUTPUT
    if not dirty.keys() <= {id(o) for o in outputs}:
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            "modified inplace must all be outputs of the Function."
        )
    return results


def _view_of_itself(tensor: Any) -> Any:
    with no_grad():
        return F.alias(tensor)


def _without_history(output: Any, is_input: bool, is_dirty: bool) -> Any:
    """Return an output that gets no gradient, without touching an input's own wish for one."""
    if not requires_grad(output):
        return _view_of_itself(output) if is_input and not is_dirty else output
    if is_input:
        return output.detach()
    if output.view_info is None:
        output.detach_()
    return output


def _rebase(node: BackwardCFunction, output: Any, position: int, output_count: int) -> None:
    """Give an input that was changed in place its new history."""
    if requires_grad(output) and not isinstance(gradient_target(output), Node):
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    if position < 0:
        warnings.warn(
            "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
            "passed to ctx.mark_dirty().",
            UserWarning,
            stacklevel=5,
        )
    if output.view_info is not None and output_count > 1:
        raise RuntimeError(_DIRTY_VIEW_TEXT)
    output.grad_slot = None
    rebase_history(output, node, position)


class InplaceFunction(Function):
    """A `Function` that an option turns into an in-place operation."""

    def __init__(self, inplace: bool = False):
        super().__init__()
        self.inplace = inplace


class _SecondDerivative(Node):
    """History of what a once-differentiable backward returned: raises."""

    def apply(self, grads: list) -> list:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def once_differentiable(fn: Callable) -> Callable:
    """Mark a `Function.backward` whose result must not be differentiated again.

    It runs with grad mode off.  A second backward through what it returned raises RuntimeError,
    where the gradient would silently be wrong otherwise.
    """

    @functools.wraps(fn)
    def run(ctx: Any, *args: Any) -> Any:
        with no_grad():
            results = fn(ctx, *args)
        tensors = [a for a in args if isinstance(a, TensorBase) and requires_grad(a)]
        if not current().grad_enabled or not tensors:
            return results
        node = _SecondDerivative()
        node.sequence = next_sequence()
        node.targets = tuple([gradient_target(t) for t in tensors])
        node.numbers = tuple([t.output_nr for t in tensors])
        fakes = []
        for result in results if isinstance(results, tuple) else (results,):
            if isinstance(result, TensorBase):
                result = result.detach()
                attach_history(result, node, len(fakes))
            fakes.append(result)
        node.output_count = len(fakes)
        return tuple(fakes)

    return run
