"""Activation checkpointing: save memory by computing parts of the forward pass twice.

Note [Two kinds of checkpoint]
    *Reentrant*: the function runs without recording.  In backward it runs again, recorded,
    and a backward pass of its own is started inside the outer one.
    *Not reentrant*: the function runs recorded, but instead of the tensors that its
    operators save they keep empty holders.  When backward asks for the first of them the
    function runs again, up to the last tensor that is needed, and the holders are filled.
    Everything that works without the checkpoint works with it.
"""

from __future__ import annotations

import contextlib
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from minitorch.autograd.backward import backward
from minitorch.autograd.function import Function
from minitorch.autograd.grad_mode import enable_grad, no_grad
from minitorch.autograd.graph import saved_tensors_hooks
from minitorch.autograd.kernel import pack
from minitorch.autograd.node import requires_grad
from minitorch.dispatch.keys import AUTOCAST_KEYS
from minitorch.dispatch.local_state import current
from minitorch.dispatch.transforms import TransformType, interpreter_stack
from minitorch.random import fork_rng, kept_states
from minitorch.tensor.base import TensorBase
from minitorch.utils.selective_checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "SAC_IGNORED_OPS", "SelectiveCheckpointContext",
    "check_backward_validity", "checkpoint", "checkpoint_sequential", "create_selective_checkpoint_contexts", "detach_variable",
    "noop_context_fn", "set_checkpoint_early_stop",
]

_early_stop: bool | None = None


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function differs from the first."""


def noop_context_fn() -> tuple[AbstractContextManager, AbstractContextManager]:
    """Return two scopes that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Scope: checkpoints entered inside stop their second run at the last tensor that is needed, or do not."""
    global _early_stop
    old = _early_stop
    _early_stop = enable
    try:
        yield
    finally:
        _early_stop = old


def detach_variable(inputs: tuple) -> tuple:
    """Return the inputs with each tensor detached; a detached one requires grad if the tensor does."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    result: list = []
    for value in inputs:
        if isinstance(value, TensorBase):
            detached: Any = value.detach()
            detached.requires_grad_flag = requires_grad(value)
            detached.tracked = True
            value = detached
        result.append(value)
    return tuple(result)


def check_backward_validity(inputs: Sequence[Any]) -> None:
    """Warn if no input requires grad."""
    if not any(isinstance(value, TensorBase) and requires_grad(value) for value in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", UserWarning, stacklevel=3)


class _Surroundings:
    """The random state and autocast state that a function ran in, to run it in them again."""

    def __init__(self, preserve_rng_state: bool):
        self._random = kept_states() if preserve_rng_state else []
        self._autocast = current().excluded & AUTOCAST_KEYS
        # Where autocast is off for all devices the rest of its state has no effect, and its package may not be loaded.
        self._settings: Any = None
        if self._autocast != AUTOCAST_KEYS:
            from minitorch.autocast_mode import autocast_state

            settings = autocast_state()
            self._settings = (dict(settings.dtypes), settings.cache_enabled)

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        with fork_rng(enabled=bool(self._random)):
            for generator, random_state in self._random:
                generator.set_state_array(random_state)
            with self._autocast_again():
                yield

    @contextlib.contextmanager
    def _autocast_again(self) -> Iterator[None]:
        state = current()
        outer = state.excluded & AUTOCAST_KEYS
        state.excluded = (state.excluded & ~AUTOCAST_KEYS) | self._autocast
        try:
            if self._settings is None:
                yield
                return
            from minitorch.autocast_mode import autocast_state

            settings = autocast_state()
            outside = (settings.dtypes, settings.cache_enabled)
            settings.dtypes, settings.cache_enabled = dict(self._settings[0]), self._settings[1]
            try:
                yield
            finally:
                settings.dtypes, settings.cache_enabled = outside
        finally:
            state.excluded = (state.excluded & ~AUTOCAST_KEYS) | outer


# -- reentrant -------------------------------------------------------------------------


class CheckpointFunction(Function):
    """The reentrant checkpoint (Note [Two kinds of checkpoint])."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable, preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _Surroundings(preserve_rng_state)
        # None stands for each tensor; those are saved where changes are noticed.
        ctx.inputs = [None if isinstance(value, TensorBase) else value for value in args]
        ctx.places = [i for i, value in enumerate(args) if isinstance(value, TensorBase)]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if current().extra["backward pass"].needed is not None:
            raise RuntimeError(
                "When use_reentrant=True, minitorch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[place] = tensor
        detached = detach_variable(tuple(inputs))
        with ctx.surroundings.again(), enable_grad():
            outputs = ctx.run_function(*detached)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=True)
            if isinstance(output, TensorBase) and requires_grad(output)
        ]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([output for output, _ in pairs], [grad for _, grad in pairs])
        return (None, None, *[value.grad if isinstance(value, TensorBase) else None for value in detached])


# -- not reentrant ---------------------------------------------------------------------


class _Holder:
    """Stands in the graph for one saved tensor.

    Attributes
    ----------
    tensors : mapping of backward pass to tensor
        What the second run in each pass gave; gone when the pass is over or the holder freed.
    """

    __slots__ = ("__weakref__", "frame", "index", "tensors")

    def __init__(self, frame: _Frame, index: int):
        self.frame = frame
        self.index = index
        self.tensors: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


class _StopRecomputation(Exception):
    """Ends a second run when everything that is needed was computed."""

    def __init__(self, frame: _Frame):
        self.frame = frame


def _facts(tensor: Any) -> tuple:
    return (tuple(tensor.shape), tensor.dtype, tensor.device)


class _Frame:
    """One call of a checkpointed function: how to run it again, and what its graph misses."""

    def __init__(
        self, function: Callable, args: tuple, kwargs: dict, preserve_rng_state: bool, recompute_context: Any,
        early_stop: bool, check: bool,
    ):
        self._function = function
        self._args = [_keep(value) for value in args]
        self._kwargs = {name: _keep(value) for name, value in kwargs.items()}
        self._surroundings = _Surroundings(preserve_rng_state)
        self._context = recompute_context
        self._early_stop = early_stop
        self._check = check
        self._holders: list[weakref.ref] = []
        self._facts: list[tuple] = []

    def pack(self, tensor: Any) -> _Holder:
        """Take a tensor that an operator saves, and give it a holder instead."""
        holder = _Holder(self, len(self._holders))
        self._holders.append(weakref.ref(holder))
        self._facts.append(_facts(tensor))
        return holder

    @staticmethod
    def unpack(holder: _Holder) -> Any:
        """Return the tensor that the holder stands for."""
        task = current().extra.get("backward pass")
        if task is None:
            return holder.frame._run_again()[holder.index]
        if task not in holder.tensors:
            tensors = holder.frame._run_again()
            for reference, tensor in zip(holder.frame._holders, tensors, strict=True):
                other = reference()
                if other is not None:
                    other.tensors[task] = tensor
        return holder.tensors[task]

    def _run_again(self) -> list:
        """Return the tensors that the operators of the function save, in order."""
        tensors: list = []
        wanted = len(self._holders)

        def collect(tensor: Any) -> Any:
            tensors.append(tensor)
            if len(tensors) == wanted and self._early_stop:
                raise _StopRecomputation(self)
            # A second derivative may be taken inside the function.
            return tensor

        args = [_kept(value) for value in self._args]
        kwargs = {name: _kept(value) for name, value in self._kwargs.items()}
        try:
            with self._surroundings.again(), self._context, enable_grad(), saved_tensors_hooks(collect, _same):
                self._function(*args, **kwargs)
        except _StopRecomputation as stop:
            if stop.frame is not self:
                raise
        if len(tensors) != wanted:
            raise CheckpointError(
                "minitorch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation. Number of tensors saved during forward: {wanted}. Number of tensors saved during "
                f"recomputation: {len(tensors)}."
            )
        if self._check:
            self._compare([_facts(tensor) for tensor in tensors])
        return tensors

    def _compare(self, found: list) -> None:
        wrong = [i for i, (new, old) in enumerate(zip(found, self._facts, strict=True)) if new != old]
        if wrong:
            lines = "\n".join(
                f"tensor at position {i}: shape, dtype and device were {self._facts[i]} and are {found[i]}" for i in wrong
            )
            raise CheckpointError(
                "minitorch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\n{lines}"
            )


def _same(value: Any) -> Any:
    return value


def _keep(value: Any) -> Any:
    """Return what keeps an argument for the second run: a tensor as one that is saved for backward."""
    if not isinstance(value, TensorBase):
        return value
    hooks = current().saved_tensor_hooks
    if hooks is not None:
        # Of a checkpoint around this one, which need not keep its intermediate results for it.
        return _Packed(pack(hooks, value, None))
    return _Unchanged(value)


class _Packed:
    __slots__ = ("saved",)

    def __init__(self, saved: Any):
        self.saved = saved


class _Unchanged:
    __slots__ = ("tensor", "version")

    def __init__(self, tensor: Any):
        self.tensor = tensor
        self.version = None if tensor.is_inference() else tensor._version


def _kept(value: Any) -> Any:
    """Undo `_keep`."""
    if isinstance(value, _Packed):
        return value.saved.restore(None)
    if isinstance(value, _Unchanged):
        if value.version is not None and value.tensor._version != value.version:
            raise RuntimeError(
                "minitorch.utils.checkpoint: an argument of a checkpointed function has been modified by an inplace "
                f"operation: shape {list(value.tensor.shape)} is at version {value.tensor._version}; expected version "
                f"{value.version} instead, so the function cannot be run again."
            )
        return value.tensor
    return value


# -- public ----------------------------------------------------------------------------


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Return ``function(*args, **kwargs)``, and compute it again in backward instead of keeping intermediate results.

    Parameters
    ----------
    function : callable
        Must do the same when called again.
    *args, **kwargs
        Its arguments; keyword arguments only without `use_reentrant`.  ``preserve_rng_state=False``
        among them lets the second run draw other random numbers.
    use_reentrant : bool
        Which kind (Note [Two kinds of checkpoint]).  Pass it: False is recommended, True is what
        leaving it out means.
    context_fn : callable
        Returns two scopes, for the first and the second run.
    determinism_check : ``"default"`` or ``"none"``
        Whether shape, dtype and device of what the second run saves are compared.
    debug : bool
        Not available: raises NotImplementedError.
    early_stop : bool
        End the second run at the last tensor that is needed.

    Raises
    ------
    ValueError
        If an option needs the other kind.
    CheckpointError
        In backward, if the second run differs from the first.
    RuntimeError
        Inside of `func.grad` and what is made of it.

    Examples
    --------
    >>> x = minitorch.tensor([1.0, 2.0], requires_grad=True)
    >>> y = minitorch.utils.checkpoint.checkpoint(lambda t: (t * t).exp(), x, use_reentrant=False)
    >>> y.sum().backward()
    >>> x.grad
    tensor([  5.4366, 218.3926])
    """
    if use_reentrant is None:
        warnings.warn(
            "minitorch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False is "
            "recommended; without it use_reentrant=True is assumed.",
            UserWarning,
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if debug:
        raise NotImplementedError("checkpoint: debug=True is not available; a CheckpointError says what differs")
    if use_reentrant:
        if kwargs:
            raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
        if context_fn is not noop_context_fn:
            raise ValueError("Passing `context_fn` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check must be 'default' or 'none', and is {determinism_check!r}")
    if not current().grad_enabled:
        return function(*args, **kwargs)
    if any(level.transform is TransformType.Grad for level in interpreter_stack()):
        raise RuntimeError(
            "checkpoint: func.grad, vjp, jacrev and hessian do not compute a function again in the backward pass, which they run "
            "when the level of the function has ended. Call the function without checkpoint there."
        )
    first, again = context_fn()
    stop = early_stop if _early_stop is None else _early_stop
    frame = _Frame(function, args, kwargs, preserve, again, stop, determinism_check == "default")
    with saved_tensors_hooks(frame.pack, _Frame.unpack), first:
        return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Return the input passed through functions one after another, checkpointed in segments.

    Parameters
    ----------
    functions : Sequential or sequence of callable
    segments : int
        How many parts; all but the last run again in backward.
    input : Tensor
    use_reentrant : bool
        As for `checkpoint`.
    preserve_rng_state : bool
        As for `checkpoint`.

    Raises
    ------
    ValueError
        For other keyword arguments.
    """
    if use_reentrant is None:
        warnings.warn(
            "minitorch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. "
            "use_reentrant=False is recommended; without it use_reentrant=True is assumed.",
            UserWarning,
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    children = getattr(functions, "children", None)
    steps = list(children()) if children is not None else list(functions)
    size = len(steps) // segments
    start = 0
    for _ in range(segments - 1):
        part = _chain(steps[start : start + size])
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
        start += size
    return _chain(steps[start:])(input)


def _chain(steps: list) -> Callable:
    def run(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return run
