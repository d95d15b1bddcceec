"""`make_fx`: the operators that a function calls, as a graph.

The function runs once, on the arguments that it is given, under a mode that writes down each operator
call (`proxy_mode`).  What stands above that mode has happened by then: autograd, transforms, functionalization; so
the graph of a function that computes gradients has the backward pass in it, and that of a ``vmap`` operators on
the whole batch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from minitorch.core.pytree import tree_flatten, tree_unflatten
from minitorch.fx.codegen import PyTreeCodeGen, PyTreeInfo
from minitorch.fx.experimental import higher_order_rules, tracing_inputs  # noqa: F401  # registers its rules
from minitorch.fx.experimental.proxy_mode import (
    ProxyTorchDispatchMode,
    PythonKeyTracer,
    disable_proxy_modes_tracing,
    get_innermost_proxy_mode,
    get_proxy_mode,
    maybe_handle_decomp,
    track_tensor,
    track_tensor_tree,
)
from minitorch.fx.graph_module import GraphModule
from minitorch.tensor.base import TensorBase

__all__ = [
    "ProxyTorchDispatchMode", "PythonKeyTracer", "disable_proxy_modes_tracing", "dispatch_trace", "get_innermost_proxy_mode",
    "get_isolated_graphmodule", "get_proxy_mode", "make_fx", "maybe_handle_decomp", "track_tensor", "track_tensor_tree",
]  # fmt: skip

_MODES = ("real", "fake", "symbolic")


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Mapping[Any, Callable[..., Any]] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _error_on_data_dependent_ops: bool = True,
    record_stack_traces: bool = False,
) -> Callable[..., GraphModule]:
    """Return a function that traces `f`: called with arguments of `f`, it returns the graph of the operators that ran.

    Parameters
    ----------
    f : callable
        Takes and returns tensors in nested containers.
    decomposition_table : mapping from OpOverload to callable, optional
        What runs, and is traced, in the place of an operator (`minitorch._decomp.get_decompositions`).
    tracing_mode : {"real", "fake", "symbolic"}
        Whether operators compute on the arguments, on fake tensors of the same sizes, or on fake tensors whose
        sizes are symbols, so that the graph serves other sizes.
    pre_dispatch : bool
        Trace above autograd: composites such as ``linear`` stay whole, and changes of grad mode are calls.
    record_module_stack : bool
        Accepted and without effect.
    record_stack_traces : bool
        Give each node the stack of the call that it stands for, in ``node.stack_trace``.

    Returns
    -------
    callable
        ``(*args) -> GraphModule``; the module takes arguments of the same structure and returns what `f` returned.
        Python numbers among the arguments, sizes (except in symbolic mode), and branches taken are those of the trace.

    Raises
    ------
    RuntimeError
        While tracing, where `f` needs the elements of a tensor that depends on the arguments.
    ValueError
        For another `tracing_mode`.

    Examples
    --------
    >>> from minitorch.fx.experimental.proxy_tensor import make_fx
    >>> graph = make_fx(lambda x: minitorch.sin(x) + 1)(minitorch.ones(2))
    >>> [str(node.target) for node in graph.graph.nodes]
    ['x_1', 'aten.sin.default', 'aten.add.Tensor', 'output']
    >>> graph(minitorch.zeros(3))
    tensor([1., 1., 1.])
    """
    if tracing_mode not in _MODES:
        raise ValueError(
            f"make_fx: unexpected tracing type {tracing_mode!r}; tracing_mode is one of {', '.join(_MODES)}"
        )

    def trace(*args: Any) -> GraphModule:
        tracer = PythonKeyTracer(record_stack_traces)
        mode = ProxyTorchDispatchMode(
            tracer, tracing_mode, pre_dispatch, decomposition_table, _error_on_data_dependent_ops
        )
        with ExitStack() as scopes:
            names = _argument_names(f, args)
            args = tracing_inputs.prepare(args, names, tracing_mode, scopes, _allow_non_fake_inputs)
            return dispatch_trace(f, args, mode)

    return trace


def dispatch_trace(f: Callable[..., Any], args: tuple, mode: ProxyTorchDispatchMode) -> GraphModule:
    """Run a function on prepared arguments under a mode, and return the graph that the mode's tracer made."""
    tracer = mode.tracer
    graph = tracer.graph
    leaves, in_spec = tree_flatten(args)
    nested = any(not child.is_leaf() for child in in_spec.children_specs)
    names = _argument_names(f, args)
    proxies = []
    for name, spec in zip(names, in_spec.children_specs, strict=True):
        for count in range(1, spec.num_leaves + 1):
            proxies.append(tracer.create_proxy("placeholder", f"{name}_{count}", (), {}))
    with disable_proxy_modes_tracing():
        track_tensor_tree(leaves, proxies, constant=None, tracer=tracer)
    with mode:
        result = f(*args)
    outputs, out_spec = tree_flatten(_plain(result))
    values = [tracer.create_arg(tracer.unwrap_proxy(value)) for value in outputs]
    if nested:
        graph.output(values)
        graph.set_codegen(PyTreeCodeGen(PyTreeInfo(names, in_spec, out_spec)))
    else:
        graph.output(tree_unflatten(values, out_spec))
    return GraphModule(tracer.root, graph, getattr(f, "__name__", type(f).__name__))


def _plain(value: Any) -> Any:
    """Return nested results with the named tuples that operators return as tuples: what a graph's code writes."""
    if isinstance(value, tuple) and type(value).__module__ == "minitorch.ops.return_types":
        return tuple(value)
    if type(value) in (tuple, list):
        return type(value)([_plain(item) for item in value])
    return {key: _plain(item) for key, item in value.items()} if type(value) is dict else value


def _argument_names(f: Callable[..., Any], args: tuple) -> list[str]:
    """Return the names of the placeholders: those of the function's parameters where it has them."""
    inner = inspect.unwrap(f)
    code = getattr(inner, "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARARGS:
        return [f"arg{i}" for i in range(len(args))]
    names = list(code.co_varnames[: code.co_argcount])
    if inspect.ismethod(inner):
        names = names[1:]
    if len(names) < len(args):
        return [f"arg{i}" for i in range(len(args))]
    return names[: len(args)]


def get_isolated_graphmodule(
    func: Callable[..., Any],
    args: tuple,
    kwargs: dict[str, Any],
    tracing_mode: str = "real",
    decomposition_table: Mapping[Any, Callable[..., Any]] | None = None,
) -> GraphModule:
    """Trace a function into a graph of its own, whatever is being traced around it.

    Parameters
    ----------
    args, kwargs
        The arguments of `func`; all tensors in them, in order, are the inputs of the graph.
    """
    leaves, spec = tree_flatten((args, kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, TensorBase)]

    def call(tensors: list) -> Any:
        filled = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            filled[place] = tensor
        positional, keywords = tree_unflatten(filled, spec)
        return func(*positional, **keywords)

    with disable_proxy_modes_tracing():
        return make_fx(call, decomposition_table, tracing_mode)([leaves[i] for i in places])
