"""The graphs of a function: forward alone, or forward and backward in one, the *joint* graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from minitorch.autocast_mode.switches import is_autocast_cache_enabled, set_autocast_cache_enabled
from minitorch.autograd.backward import grad
from minitorch.autograd.grad_mode import enable_grad, no_grad
from minitorch.compiler.functional import ProgramInfo, Run, value_of, values_of
from minitorch.dispatch.mode_stack import mode_stack, set_mode_stack
from minitorch.dispatch.pre_dispatch import pre_dispatch_modes, set_pre_dispatch_modes
from minitorch.fake.fake_tensor import FakeArray
from minitorch.fake.mode import FakeTensorMode
from minitorch.functionalize import functionalization, wrap
from minitorch.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from minitorch.fx.graph_module import GraphModule
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase

Function = Callable[[Sequence[Any]], tuple[Sequence[Any], Any]]
Decompositions = Mapping[Any, Callable[..., Any]] | None


@contextmanager
def tracing_values(inputs: Sequence[TensorBase], dynamic: bool = False) -> Iterator[list[Any]]:
    """Scope: gives fake tensors without history that stand for `inputs` while a function is traced.

    No random numbers are drawn inside, nothing is computed, and casts of weights are not kept.

    Parameters
    ----------
    dynamic : bool
        Whether sizes are symbols.
    """
    mode = _fake_mode(inputs, dynamic)
    cached = is_autocast_cache_enabled()
    set_autocast_cache_enabled(False)
    try:
        with mode:
            with no_grad():
                values = [mode.from_tensor(t, static_shapes=not dynamic).detach() for t in inputs]
            yield values
    finally:
        set_autocast_cache_enabled(cached)


def _fake_mode(inputs: Sequence[Any], dynamic: bool) -> FakeTensorMode:
    """Return the mode of the inputs where they are fake themselves, or a new one."""
    for tensor in inputs:
        if isinstance(tensor.handle, FakeArray):
            return tensor.handle.mode
    # Tensors that are no inputs become constants of the graph.
    if not dynamic:
        return FakeTensorMode(allow_non_fake_inputs=True)
    from minitorch.fake.shape_env import ShapeEnv

    return FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv())


def trace_forward(
    function: Function,
    values: Sequence[Any],
    info: ProgramInfo,
    decompositions: Decompositions = None,
    keep_input_mutations: bool = False,
    complete: bool = False,
) -> GraphModule:
    """Return the graph ``(*inputs) -> tuple of values`` of a function without gradients.

    Parameters
    ----------
    values : sequence of Tensor
        Of `tracing_values`, whose scope this runs in.
    keep_input_mutations : bool
        Whether the graph copies new values into the inputs that change, and does not return them.
    complete : bool
        Whether the graph returns new values and then every output, also those that are inputs or in their memory.
    """

    def forward(*primals: Any) -> tuple:
        with functionalization(reapply_views=True, custom_operators=True):
            run = Run(function, primals, info.inputs, known=True)
            again = ProgramInfo(info.inputs, [], run.out_spec)
            results = run.collect(again)
            if complete:
                results = [*results[: len(info.updated)], *run.leaves]
            returned = values_of(results, again)
        if keep_input_mutations:
            for position, index in enumerate(info.updated):
                primals[index].copy_(returned[position])
            returned = returned[len(info.updated) :]
        return tuple(returned)

    # A function may ask for gradients of its own.
    with nullcontext() if any(item.requires_grad for item in info.inputs) else no_grad():
        return make_fx(forward, decompositions)(*values)


def trace_joint(
    function: Function,
    values: Sequence[Any],
    info: ProgramInfo,
    examples: Sequence[Any],
    decompositions: Decompositions = None,
) -> GraphModule:
    """Return the joint graph of a function, ``(primals, tangents) -> (values, gradients)``.

    Primals are the inputs, tangents the gradients of the values that have one; gradients are one an input, None where
    it has none.

    Parameters
    ----------
    values : sequence of Tensor
        Of `tracing_values`, whose scope this runs in.
    examples : sequence of Tensor
        Values as the graph returns them (`functional.analyse`).
    """

    def joint(primals: list, tangents: list) -> tuple:
        with functionalization(reapply_views=True, custom_operators=True), enable_grad():
            run = Run(function, primals, info.inputs, known=True)
            again = ProgramInfo(info.inputs, [], run.out_spec)
            results = run.collect(again)
            roots = [r for r, wanted in zip(results, again.differentiable, strict=True) if wanted]
            wanted = [p for p, item in zip(run.primals, info.inputs, strict=True) if item.requires_grad]
            with no_grad():
                returned = values_of(results, again)
            with _backward_nodes():
                found = iter(grad(roots, wanted, [wrap(t) for t in tangents], allow_unused=True))
                gradients = [value_of(next(found)) if item.requires_grad else None for item in info.inputs]
        return returned, gradients

    tangents = [F.empty_like(e.detach()) for e, wanted in zip(examples, info.differentiable, strict=True) if wanted]
    return make_fx(joint, decompositions)(list(values), tangents)


@contextmanager
def no_modes() -> Iterator[None]:
    """Scope: no dispatch mode that is active around a call sees how it is compiled, another trace that goes on among them."""
    modes, above = mode_stack(), pre_dispatch_modes()
    set_mode_stack(())
    set_pre_dispatch_modes(())
    try:
        yield
    finally:
        set_mode_stack(modes)
        set_pre_dispatch_modes(above)


@contextmanager
def _backward_nodes() -> Iterator[None]:
    """Scope: nodes of the trace are marked as those of the backward pass."""
    mode = get_proxy_mode()
    if mode is None:
        yield
        return
    mode.tracer.node_meta["is_backward"] = True
    try:
        yield
    finally:
        del mode.tracer.node_meta["is_backward"]
