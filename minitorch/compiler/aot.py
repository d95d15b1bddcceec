"""AOT autograd: a function's forward and backward pass as two graphs, given to a compiler before either runs.

Note [Programs and their specialisations]
    What is traced holds for calls like the one that it was traced for: tensors of these shapes, strides, dtypes and
    devices, with the same ones requiring gradients, sharing memory or being the same; equal numbers and other
    arguments; and the same grad mode and autocast state.  A call that differs is compiled anew (`_key`), and
    both are kept.  With ``dynamic=True`` sizes, strides and offsets are symbols, and a specialisation serves all calls whose
    sizes are as its guards say (`sizes.SizeCheck`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from minitorch.autocast_mode.state import autocast_state
from minitorch.compiler.functional import InputInfo, ProgramInfo, analyse, make_outputs, write_updates
from minitorch.compiler.inputs import InputPlan, shared_storages
from minitorch.compiler.operators import source_of
from minitorch.compiler.partition import default_partition
from minitorch.compiler.passes import clean
from minitorch.compiler.runtime import as_boxed, make_function, run_graph
from minitorch.compiler.sizes import SizeCheck, with_sizes
from minitorch.compiler.tracing import no_modes, trace_forward, trace_joint, tracing_values
from minitorch.core.layout import sparse_coo, strided
from minitorch.core.pytree import TreeSpec, tree_flatten, tree_unflatten
from minitorch.dispatch.keys import AUTOCAST_KEYS, FUNCTIONALIZE, FUNCTORCH_KEYS
from minitorch.dispatch.local_state import current
from minitorch.dispatch.namespace import ops
from minitorch.fx.graph_module import GraphModule
from minitorch.tensor.base import TensorBase

Compiler = Callable[[GraphModule, Sequence[Any]], Callable[..., Any]]
Partition = Callable[..., tuple[GraphModule, GraphModule]]

_TRANSFORMED = FUNCTORCH_KEYS | FUNCTIONALIZE


@dataclass
class Options:
    """How a function is compiled; the parameters of `aot_function`."""

    fw_compiler: Compiler
    bw_compiler: Compiler
    inference_compiler: Compiler
    partition_fn: Partition = default_partition
    decompositions: Mapping[Any, Callable[..., Any]] | None = None
    keep_inference_input_mutations: bool = False
    dynamic: bool = False


def make_options(
    fw_compiler: Compiler,
    bw_compiler: Compiler | None = None,
    partition_fn: Partition = default_partition,
    decompositions: Mapping[Any, Callable[..., Any]] | None = None,
    num_params_buffers: int = 0,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Compiler | None = None,
    *,
    dynamic: bool = False,
) -> Options:
    """Return the options that the parameters of `aot_function` say."""
    return Options(
        fw_compiler,
        bw_compiler or fw_compiler,
        inference_compiler or fw_compiler,
        partition_fn,
        decompositions,
        keep_inference_input_mutations,
        dynamic,
    )


@dataclass
class Graphs:
    """The graphs of one specialisation.

    Attributes
    ----------
    info : ProgramInfo
        What the program does beside what the graphs compute.
    plan : InputPlan
    forward : GraphModule
        ``(*inputs) -> (*values, *saved)``
    backward, joint : GraphModule or None
        None where no gradient is wanted.
    examples : list of Tensor
        Fake tensors that stand for the inputs.
    sizes : SizeCheck or None
        What sizes of inputs the graphs are right for, where these are symbols.
    """

    info: ProgramInfo
    plan: InputPlan
    forward: GraphModule
    backward: GraphModule | None
    joint: GraphModule | None
    examples: list[Any]
    sizes: SizeCheck | None = None


class Program:
    """A function with the arguments that are no tensors fixed: from tensors in a list to its result.

    Parameters
    ----------
    fn : callable
    leaves : list
        The leaves of ``(args, kwargs)``.
    spec : TreeSpec
    """

    def __init__(self, fn: Callable[..., Any], leaves: Sequence[Any], spec: TreeSpec):
        self.fn = fn
        self.places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, TensorBase)]
        self.fixed = [None if isinstance(leaf, TensorBase) else leaf for leaf in leaves]
        self.spec = spec

    def tensors(self, leaves: Sequence[Any]) -> list[TensorBase]:
        """Return the tensors among the leaves of a call."""
        return [leaves[i] for i in self.places]

    def __call__(self, tensors: Sequence[Any]) -> Any:
        leaves = list(self.fixed)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        args, kwargs = tree_unflatten(leaves, self.spec)
        return self.fn(*args, **kwargs)


def build_graphs(program: Program, tensors: Sequence[TensorBase], options: Options) -> Graphs:
    """Trace a program for calls like one with `tensors`, and cut it into its graphs."""
    with no_modes():
        return _build_graphs(program, tensors, options)


def _build_graphs(program: Program, tensors: Sequence[TensorBase], options: Options) -> Graphs:
    plan = InputPlan(tensors)
    shared = shared_storages(tensors)
    graphs = _build(program, plan, tensors, options, shared)
    if graphs is None:  # a change of one input must reach another: see inputs, Note [Inputs that share memory]
        # How the tensors lie in their base is a constant of the graph.
        static = replace(options, dynamic=False)
        graphs = _build(program, InputPlan(tensors, list(shared)), tensors, static, {})
    assert graphs is not None
    return graphs


def _build(
    program: Program, plan: InputPlan, tensors: Sequence[TensorBase], options: Options, shared: dict[int, list[int]]
) -> Graphs | None:
    inputs = plan.gather(tensors)

    def function(entered: Sequence[Any]) -> tuple[Sequence[Any], Any]:
        spread = plan.spread(entered)
        return spread, program(spread)

    records = current().grad_enabled
    infos = [InputInfo(records and t.requires_grad, t.is_leaf) for t in inputs]
    with tracing_values(inputs, options.dynamic) as values:
        info, examples = analyse(function, values, infos)
        info.moved = plan.moves(info.ends)
        plan.check_history([item.update_requires_grad for item in infos], tensors)
        changed = {i for places, item in zip(plan.positions, infos, strict=True) if item.changes_data for i in places}
        if any(changed.intersection(members) for members in shared.values()):
            return None
        if not any(info.differentiable):
            keep = options.keep_inference_input_mutations
            forward = trace_forward(function, values, info, options.decompositions, keep)
            clean(forward.graph)
            forward.recompile()
            return Graphs(info, plan, forward, None, None, values, SizeCheck.of(values))
        joint = trace_joint(function, values, info, examples, options.decompositions)
        for node, item in zip(joint.graph.find_nodes(op="placeholder"), infos, strict=False):
            # Saving it takes a copy: `keep_changed_inputs`.
            node.meta["changes"] = item.changes_data or item.changes > 0
        count = len(info.differentiable)
        forward, backward = options.partition_fn(joint, (values, None), num_fwd_outputs=count)
        joint.recompile()
    keep_changed_inputs(forward, info, count)
    return Graphs(info, plan, forward, backward, joint, values, SizeCheck.of(values))


def keep_changed_inputs(forward: GraphModule, info: ProgramInfo, value_count: int) -> None:
    """Let a forward graph save copies of what lies in the memory of inputs that get new values or strides after it ran."""
    placeholders = forward.graph.find_nodes(op="placeholder")
    changed = {node for node, item in zip(placeholders, info.inputs, strict=True) if item.changes_data or item.changes}
    if not changed:
        return
    output = forward.graph.output_node()
    results: Any = list(output.args[0])
    with forward.graph.inserting_before(output):
        for i in range(value_count, len(results)):
            if source_of(results[i]) in changed:
                copy = forward.graph.call_function(ops.aten.clone.default, (results[i],))
                copy.meta = dict(results[i].meta)
                results[i] = copy
    output.args = (tuple(results),)
    forward.recompile()


class Compiled:
    """One specialisation, compiled: called with the leaves of a call, it returns the function's result."""

    def __init__(self, program: Program, leaves: Sequence[Any], options: Options):
        self.program = program
        graphs = build_graphs(program, program.tensors(leaves), options)
        self.info, self.plan, self.sizes = graphs.info, graphs.plan, graphs.sizes
        self.keeps_mutations = False
        self.run: Callable[..., Sequence[Any]]
        if graphs.backward is None:
            self.keeps_mutations = options.keep_inference_input_mutations
            compiled = as_boxed(options.inference_compiler(graphs.forward, graphs.examples))
            self.run = lambda *inputs: run_graph(compiled, list(inputs))
            return
        forward = as_boxed(options.fw_compiler(graphs.forward, graphs.examples))
        backward_inputs = [node.meta.get("val") for node in graphs.backward.graph.find_nodes(op="placeholder")]
        backward = as_boxed(options.bw_compiler(graphs.backward, backward_inputs))
        self.run = make_function(forward, backward, self.info.differentiable)

    def serves(self, leaves: Sequence[Any]) -> bool:
        """Return whether a call with these leaves, whose key is that of this specialisation, has sizes that it is for."""
        tensors = self.program.tensors(leaves)
        if not self.plan.serves(tensors):
            return False
        return self.sizes is None or self.sizes.bind(self.plan.gather(tensors)) is not None

    def __call__(self, leaves: Sequence[Any]) -> Any:
        tensors = self.program.tensors(leaves)
        inputs = self.plan.gather(tensors)
        info = self.info if self.sizes is None else with_sizes(self.info, self.sizes.bind(inputs) or {})
        results = list(self.run(*inputs))
        if self.keeps_mutations:
            results = [None] * len(info.updated) + results
        write_updates(info, inputs, results, data_written=self.keeps_mutations, tensors=tensors)
        return tree_unflatten(make_outputs(info, tensors, inputs, results), info.out_spec)


def _key(leaves: Sequence[Any], spec: TreeSpec, dynamic: bool) -> tuple:
    """Return what a specialisation holds for (Note [Programs and their specialisations])."""
    numbers: dict[int, int] = {}
    cells: dict[int, int] = {}
    parts: list[Any] = []
    for leaf in leaves:
        if isinstance(leaf, TensorBase):
            same = numbers.setdefault(id(leaf), len(numbers))
            cell = leaf.storage_cell
            memory = cells.setdefault(id(leaf) if cell is None else id(cell), len(cells))
            geometry: Any = leaf.ndim
            if not dynamic:
                if leaf.layout not in (strided, sparse_coo):
                    raise NotImplementedError(
                        f"AOT autograd: an input has layout {leaf.layout}, and there are no graphs of such inputs. Pass its "
                        "parts and make it inside of the function, or pass to_sparse() or to_dense() of it."
                    )
                steps = leaf.stride() if leaf.layout is strided else leaf._nnz()
                geometry = (tuple(leaf.shape), steps, 0 if cell is None else leaf.storage_offset())
            parts.append((
                type(leaf), geometry, leaf.dtype, leaf.device, leaf.key_set, leaf.requires_grad, leaf.is_leaf, same, memory,
            ))  # fmt: skip
        else:
            parts.append((type(leaf), _hashable(leaf)))
    state = current()
    autocast = tuple(sorted((k, str(v)) for k, v in autocast_state().dtypes.items()))
    return (
        repr(spec), tuple(parts), state.grad_enabled, state.inference_mode, state.excluded & AUTOCAST_KEYS, autocast,
    )  # fmt: skip


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value if not isinstance(value, float) else repr(value)


class AotFunction:
    """A function that compiles itself for each new kind of call; made by `aot_function`."""

    def __init__(self, fn: Callable[..., Any], options: Options, more_key: Callable[[], Any] | None = None):
        self.fn = fn
        self.options = options
        self.more_key = more_key
        self.cache: dict[tuple, list[Compiled]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten((args, kwargs))
        if any(isinstance(leaf, TensorBase) and leaf.key_set & _TRANSFORMED for leaf in leaves):
            return self.fn(*args, **kwargs)  # what is seen here is another transform's: it must see what the function does
        return self._find(leaves, spec)(leaves)

    def prepare(self, *args: Any, **kwargs: Any) -> None:
        """Compile for calls like this one, and do not call."""
        self._find(*tree_flatten((args, kwargs)))

    def _find(self, leaves: list[Any], spec: TreeSpec) -> Compiled:
        key = _key(leaves, spec, self.options.dynamic)
        if self.more_key is not None:
            key = (key, self.more_key())
        known = self.cache.setdefault(key, [])
        for compiled in known:
            if compiled.serves(leaves):
                return compiled
        with no_modes():  # compilers may compute too
            known.append(Compiled(Program(self.fn, leaves, spec), leaves, self.options))
        return known[-1]


def aot_function(
    fn: Callable[..., Any],
    fw_compiler: Compiler,
    bw_compiler: Compiler | None = None,
    partition_fn: Partition = default_partition,
    decompositions: Mapping[Any, Callable[..., Any]] | None = None,
    num_params_buffers: int = 0,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Compiler | None = None,
    *,
    dynamic: bool = False,
) -> Callable[..., Any]:
    """Return a function that does what `fn` does, by graphs of its forward and backward pass that compilers have compiled.

    The graphs are functional: they change nothing.  What `fn` changes in its arguments, and how what it returns shares memory
    with them, is done around the graphs.

    Parameters
    ----------
    fn : callable
        Takes and returns tensors in nested containers.  All tensors that it differentiates by, parameters too, are arguments.
    fw_compiler, bw_compiler : callable
        ``(GraphModule, example inputs) -> callable``: what runs the forward and the backward graph. By default the backward
        graph gets the compiler of the forward graph. Example inputs have no elements.
    partition_fn : callable
        Cuts the joint graph: `default_partition`, `min_cut_rematerialization_partition` or one like these.
    decompositions : mapping from OpOverload to callable, optional
        See `make_fx`.
    num_params_buffers : int
        Accepted and without effect.
    keep_inference_input_mutations : bool
        Whether graphs without gradients copy new values into the inputs that `fn` changes; otherwise that is done outside.
    inference_compiler : callable, optional
        Compiles graphs without gradients; by default the compiler of the forward graph.
    dynamic : bool
        Trace with symbolic sizes, so that one graph serves several.

    Returns
    -------
    callable
        Compiled when it is first called, and again for calls of another kind.

    Raises
    ------
    RuntimeError
        At a call: where `fn` needs elements of a tensor, or changes a size of an argument. At a second derivative.

    Examples
    --------
    >>> from minitorch.compiler import aot_function, nop
    >>> f = aot_function(lambda x: minitorch.sin(x) * 2, nop)
    >>> x = minitorch.zeros(3, requires_grad=True)
    >>> f(x).sum().backward()
    >>> x.grad
    tensor([2., 2., 2.])
    """
    return AotFunction(
        fn,
        make_options(
            fw_compiler,
            bw_compiler,
            partition_fn,
            decompositions,
            num_params_buffers,
            keep_inference_input_mutations,
            inference_compiler,
            dynamic=dynamic,
        ),
    )
