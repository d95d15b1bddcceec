"""Compiled graphs as functions that can be called, and differentiated once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.autograd.function import Function
from minitorch.autograd.grad_mode import no_grad
from minitorch.autograd.node import requires_grad
from minitorch.dispatch.keys import AUTOCAST_KEYS
from minitorch.dispatch.local_state import ExcludeKeysGuard, current
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase

Boxed = Callable[[list[Any]], Sequence[Any]]


def make_boxed_func(f: Callable[..., Any]) -> Boxed:
    """Return a function that takes its arguments in one list, which it may empty as they are no longer needed.

    Parameters
    ----------
    f : callable
        Takes the arguments one by one, and returns a list or tuple.
    """

    def boxed(args: list[Any]) -> Any:
        return f(*args)

    boxed._boxed_call = True  # type: ignore[attr-defined]
    return boxed


def make_boxed_compiler(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """Return a compiler that does what `compiler` does, and whose results take their arguments in one list."""

    def compile_boxed(module: Any, example_inputs: Any) -> Boxed:
        return make_boxed_func(compiler(module, example_inputs))

    return compile_boxed


def as_boxed(compiled: Any) -> Boxed:
    """Return what a compiler returned as a function of one list of arguments.

    Raises
    ------
    TypeError
        If it cannot be called.
    """
    if getattr(compiled, "_boxed_call", False):
        return compiled
    if not callable(compiled):
        raise TypeError(
            f"a compiler must return what runs in the place of the graph, a callable, not {type(compiled).__name__}"
        )
    return make_boxed_func(compiled)


def run_graph(compiled: Boxed, args: list[Any]) -> list[Any]:
    """Run a compiled graph: its casts are in it, and so are its gradients."""
    with no_grad(), ExcludeKeysGuard(AUTOCAST_KEYS):
        results = compiled(args)
    return list(results) if isinstance(results, (list, tuple)) else [results]


class _OnceOnly(Function):
    """The history of gradients that a compiled backward computed: there is no second derivative."""

    @staticmethod
    def forward(ctx: Any, compute: Callable[[], Sequence[Any]], *sources: Any) -> tuple:
        return tuple(compute())

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(
            "a function compiled by aot_function (AOT autograd) does not support double backward: its backward pass is a "
            "compiled graph without a derivative. For second derivatives call the function itself."
        )


def _dense_strides(value: Any) -> tuple[int, ...] | None:
    """Return the strides that the graph of the backward pass was traced for; None where they are those of rows."""
    return None if value.is_contiguous() else tuple(F.empty_like(value.detach(), device="meta").stride())


def _laid_out(tangent: Any, strides: tuple[int, ...] | None) -> Any:
    """Return a gradient with the strides that the backward graph expects: views in it were right for those alone."""
    if strides is None:
        return tangent.contiguous()
    if tuple(tangent.stride()) == strides:
        return tangent
    laid_out = F.empty_strided(list(tangent.shape), strides, dtype=tangent.dtype, device=tangent.device)
    return laid_out.copy_(tangent)


def make_function(forward: Boxed, backward: Boxed, differentiable: Sequence[bool]) -> Callable[..., tuple]:
    """Return the differentiable function of a compiled forward and backward graph.

    Parameters
    ----------
    forward : callable
        ``[inputs] -> (*values, *saved)``
    backward : callable
        ``[*saved, *tangents] -> gradients``, one an input.
    differentiable : sequence of bool
        By value, whether it has a tangent.

    Returns
    -------
    callable
        ``(*inputs) -> values``
    """
    count = len(differentiable)

    class CompiledFunction(Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> tuple:
            results = run_graph(forward, list(inputs))
            values, saved = results[:count], results[count:]
            ctx.save_for_backward(*[s for s in saved if isinstance(s, TensorBase)])
            ctx.layouts = [_dense_strides(v) for v, wanted in zip(values, differentiable, strict=True) if wanted]
            # Sizes are saved too; None marks the places of the tensors.
            ctx.saved_sizes = [None if isinstance(s, TensorBase) else s for s in saved]
            ctx.mark_non_differentiable(
                *[
                    v
                    for v, wanted in zip(values, differentiable, strict=True)
                    if not wanted and isinstance(v, TensorBase)
                ]
            )
            return tuple(values)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> tuple:
            tensors = ctx.saved_tensors
            tangents = [g for g, wanted in zip(grads, differentiable, strict=True) if wanted]
            tangents = [_laid_out(g, strides) for g, strides in zip(tangents, ctx.layouts, strict=True)]

            def compute() -> list[Any]:
                rest = iter(tensors)
                saved = [next(rest) if number is None else number for number in ctx.saved_sizes]
                return run_graph(backward, [*saved, *tangents])

            if not current().grad_enabled:
                return tuple(compute())
            # A second derivative is asked for: by the inputs, which need not be among what was saved.
            inputs = F.empty([0]).requires_grad_()
            return tuple(_OnceOnly.apply(compute, inputs, *[t for t in (*tensors, *tangents) if requires_grad(t)]))

    return CompiledFunction.apply
