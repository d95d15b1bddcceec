"""The graphs of a function or module to look at: `capture_graphs`, and PyTorch's `aot_export_module`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from minitorch.autograd.backward import grad
from minitorch.autograd.grad_mode import enable_grad, no_grad
from minitorch.compiler.aot import Graphs, Options, Partition, Program, build_graphs
from minitorch.compiler.functional import InputInfo, OutputKind, ProgramInfo, analyse
from minitorch.compiler.inputs import InputPlan
from minitorch.compiler.modules import as_function, state_of
from minitorch.compiler.partition import default_partition
from minitorch.compiler.passes import clean
from minitorch.compiler.tracing import trace_forward, tracing_values
from minitorch.core.pytree import tree_flatten, tree_leaves
from minitorch.fx.graph_module import GraphModule
from minitorch.nn.modules.module import Module
from minitorch.tensor.base import TensorBase

__all__ = [
    "BackwardSignature",
    "CapturedGraphs",
    "GraphSignature",
    "aot_export_joint_simple",
    "aot_export_module",
    "capture_graphs",
]


@dataclass
class CapturedGraphs:
    """The graphs of one call of a function or module; `print` shows them as code.

    Attributes
    ----------
    forward : GraphModule
        ``(*inputs) -> (*values, *saved)``: functional; values are new values of changed inputs, then results.
    backward : GraphModule or None
        ``(*saved, *tangents) -> gradients``, one an input; None where no gradient is wanted.
    joint : GraphModule or None
        Both in one, before it was cut.
    input_names : list of str
        What the inputs are: paths of parameters and buffers, and ``input_0``, ...
    saved : list of str
        The nodes of the forward graph whose values are kept for the backward graph.
    saved_bytes : int
        How much memory they hold, those that are inputs apart.
    mutated_inputs : list of str
        The inputs that the program changes.
    """

    forward: GraphModule
    backward: GraphModule | None
    joint: GraphModule | None
    input_names: list[str]
    saved: list[str] = field(default_factory=list)
    saved_bytes: int = 0
    mutated_inputs: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        parts = ["forward, of " + ", ".join(self.input_names) + ":" + self.forward.code.rstrip()]
        if self.backward is not None:
            parts.append(f"backward, with {self.saved_bytes} bytes saved:" + self.backward.code.rstrip())
        return "\n\n".join(parts)

    def print_readable(self) -> None:
        """Print the graphs with the shapes of all values."""
        self.forward.print_readable()
        if self.backward is not None:
            self.backward.print_readable()


def _never(*_: Any) -> Any:
    raise AssertionError("nothing is compiled here")


def _graphs(
    fn: Any, args: tuple, kwargs: dict[str, Any], partition_fn: Partition, decompositions: Any
) -> tuple[Graphs, list[str]]:
    """Return the graphs of a call of a function or module, and the names of its tensors."""
    if isinstance(fn, Module):
        state = state_of(fn)
        leaves, spec = tree_flatten(((state, args, kwargs), {}))
        names, fn = list(state), as_function(fn)
    else:
        leaves, spec = tree_flatten((args, kwargs))
        names = []
    program = Program(fn, leaves, spec)
    tensors = program.tensors(leaves)
    names += [f"input_{i}" for i in range(len(tensors) - len(names))]
    options = Options(_never, _never, _never, partition_fn, decompositions)
    graphs = build_graphs(program, tensors, options)
    return graphs, [names[places[0]] for places in graphs.plan.positions]


def capture_graphs(
    fn: Callable[..., Any],
    *args: Any,
    partition_fn: Partition = default_partition,
    decompositions: Mapping[Any, Callable[..., Any]] | None = None,
    **kwargs: Any,
) -> CapturedGraphs:
    """Return the functional forward and backward graphs of a function or module, for a call with these arguments.

    Nothing is computed, drawn or changed.

    Parameters
    ----------
    fn : callable or Module
        Parameters and buffers of a module are inputs of the graphs.
    partition_fn, decompositions
        As for `aot_function`.
    *args, **kwargs
        The arguments of the call.

    Examples
    --------
    >>> from minitorch.compiler import capture_graphs
    >>> graphs = capture_graphs(lambda x: minitorch.tanh(x), minitorch.ones(2, requires_grad=True))
    >>> print(graphs.forward.code.strip())
    def forward(self, primals_1):
        tanh = torch.ops.aten.tanh.default(primals_1);  primals_1 = None
        return (tanh, tanh)
    >>> graphs.saved
    ['tanh']
    """
    graphs, names = _graphs(fn, args, kwargs, partition_fn, decompositions)
    mutated = [name for name, item in zip(names, graphs.info.inputs, strict=True) if item.changes_data]
    captured = CapturedGraphs(graphs.forward, graphs.backward, graphs.joint, names, mutated_inputs=mutated)
    if graphs.backward is not None:
        results: Any = graphs.forward.graph.output_node().args[0]
        saved = results[len(graphs.info.differentiable) :]
        captured.saved = [node.name for node in saved]
        values = [node.meta.get("val") for node in saved if node.op != "placeholder"]
        captured.saved_bytes = sum(v.numel() * v.element_size() for v in values if isinstance(v, TensorBase))
    return captured


@dataclass
class BackwardSignature:
    """Which outputs of a joint graph are gradients, and of what."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclass
class GraphSignature:
    """What the inputs and outputs of an exported graph are, by the names of its nodes."""

    parameters: list[str]
    buffers: list[str]
    user_inputs: list[str]
    user_outputs: list[str]
    inputs_to_parameters: dict[str, str]
    inputs_to_buffers: dict[str, str]
    buffers_to_mutate: dict[str, str]
    user_inputs_to_mutate: dict[str, str]
    backward_signature: BackwardSignature | None = None


def aot_export_module(
    mod: Module,
    args: Iterable[Any],
    *,
    decompositions: Mapping[Any, Callable[..., Any]] | None = None,
    trace_joint: bool,
    output_loss_index: int | None = None,
    kwargs: dict[str, Any] | None = None,
) -> tuple[GraphModule, GraphSignature]:
    """Return the functional graph of a module, and what its inputs and outputs are.

    Parameters
    ----------
    mod : Module
    args : iterable
        The arguments of the call.
    trace_joint : bool
        Whether the graph has the backward pass of the loss in it, and returns gradients behind the outputs.
    output_loss_index : int, optional
        Which output is the loss, where `trace_joint`; a scalar.

    Returns
    -------
    GraphModule
        Takes parameters, buffers and the tensors of `args`; returns new values of changed buffers, outputs, gradients.
    GraphSignature

    Raises
    ------
    RuntimeError
        Where `trace_joint`, if the loss is not named or is no scalar that requires a gradient.
    """
    if trace_joint and output_loss_index is None:
        raise RuntimeError("aot_export_module: if trace_joint=True, output_loss_index says which output is the loss")
    state = state_of(mod)
    leaves, spec = tree_flatten(((state, tuple(args), kwargs or {}), {}))
    call = as_function(mod)
    if trace_joint and output_loss_index is not None:
        call = _with_gradients(call, output_loss_index)
    program = Program(call, leaves, spec)
    tensors = program.tensors(leaves)
    plan = InputPlan(tensors)
    if len(plan.positions) != len(tensors):
        raise RuntimeError(
            "aot_export_module: the same tensor is given twice; export a module whose inputs are different ones"
        )

    def function(entered: Sequence[Any]) -> tuple[Sequence[Any], Any]:
        return entered, program(entered)

    infos = [InputInfo(trace_joint and t.requires_grad, t.is_leaf) for t in tensors]
    with tracing_values(tensors) as values, no_grad():
        info, _ = analyse(function, values, infos)
        graph = trace_forward(function, values, info, decompositions, complete=True)
    clean(graph.graph)
    graph.recompile()
    return graph, _signature(
        dict(mod.named_parameters()), state, tensors, graph, info, output_loss_index if trace_joint else None
    )


def _with_gradients(call: Callable[..., Any], loss_index: int) -> Callable[..., Any]:
    """Return a function that also returns the gradients of the loss, one for each tensor that requires one."""

    def run(state: dict[str, Any], args: tuple, kwargs: dict[str, Any]) -> tuple:
        wanted = [t for t in tree_leaves((state, args, kwargs)) if isinstance(t, TensorBase) and t.requires_grad]
        with enable_grad():
            outputs = tree_leaves(call(state, args, kwargs))
            loss = outputs[loss_index]
            if not isinstance(loss, TensorBase) or loss.numel() != 1 or not loss.requires_grad:
                raise RuntimeError(
                    f"aot_export_module: output {loss_index} is to be the loss, a scalar tensor that requires a gradient, and is "
                    f"{_described(loss)}"
                )
            gradients = grad(loss, wanted, allow_unused=True)
        return [o.detach() if isinstance(o, TensorBase) else o for o in outputs], list(gradients)

    return run


def _described(value: Any) -> str:
    if not isinstance(value, TensorBase):
        return f"a {type(value).__name__}"
    return f"of shape {list(value.shape)}{'' if value.requires_grad else ' and requires none'}"


def _signature(
    parameters: dict[str, Any],
    state: dict[str, Any],
    tensors: Sequence[Any],
    graph: GraphModule,
    info: ProgramInfo,
    loss: int | None,
) -> GraphSignature:
    inputs = [node.name for node in graph.graph.find_nodes(op="placeholder")]
    names = list(state)
    results: Any = graph.graph.output_node().args[0]
    shown = [str(result) for result in results]
    count = len(info.updated)
    wanted = [i for i, item in enumerate(info.inputs) if item.requires_grad] if loss is not None else []
    outputs = shown[count : len(shown) - len(wanted)]
    changes = {shown[place]: index for place, index in enumerate(info.updated)}
    backward = None
    if loss is not None:
        gradients = dict(zip(shown[len(shown) - len(wanted) :], wanted, strict=True))
        backward = BackwardSignature(
            {g: names[i] for g, i in gradients.items() if i < len(names)},
            {g: inputs[i] for g, i in gradients.items() if i >= len(names)},
            outputs[loss],
        )
    state_inputs = dict(zip(inputs, names, strict=False))
    return GraphSignature(
        parameters=list(parameters),
        buffers=[name for name in names if name not in parameters],
        user_inputs=inputs[len(names) :],
        user_outputs=outputs,
        inputs_to_parameters={node: name for node, name in state_inputs.items() if name in parameters},
        inputs_to_buffers={node: name for node, name in state_inputs.items() if name not in parameters},
        buffers_to_mutate={node: names[i] for node, i in changes.items() if i < len(names)},
        user_inputs_to_mutate={node: inputs[i] for node, i in changes.items() if i >= len(names)},
        backward_signature=backward,
    )


def aot_export_joint_simple(
    func: Callable[..., Any],
    args: tuple,
    *,
    trace_joint: bool,
    decompositions: Mapping[Any, Callable[..., Any]] | None = None,
) -> GraphModule:
    """Return the functional graph of a function that changes none of its arguments: forward, or forward and backward.

    Parameters
    ----------
    trace_joint : bool
        Whether the graph is ``(primals, tangents) -> (values, gradients)``.

    Raises
    ------
    RuntimeError
        If the function changes an argument, or returns one or a view of one.
    """
    with nullcontext() if trace_joint else no_grad():
        graphs, names = _graphs(func, tuple(args), {}, default_partition, decompositions)
    if graphs.info.changes_inputs or any(
        o.kind in (OutputKind.INPUT, OutputKind.VIEW_OF_INPUT) for o in graphs.info.outputs
    ):
        raise RuntimeError(
            "aot_export_joint_simple: the function changes an argument, or returns one or a view of one, which a graph alone "
            "does not say. Use capture_graphs, or let the function return new tensors."
        )
    if not trace_joint:
        return graphs.forward
    if graphs.joint is None:
        raise RuntimeError("aot_export_joint_simple: with trace_joint=True an argument must require a gradient")
    return graphs.joint
