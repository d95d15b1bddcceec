"""`ProxyTorchDispatchMode`: a dispatch mode that writes each operator call into a graph, and makes it.

Note [What a call becomes]
    The decomposition table of the trace comes first, then implicit composites, which are taken apart;
    what is left becomes a node, whose arguments are the nodes of the tensors that are tracked, and
    the call is made, one mode further down.  A tensor that is not tracked was there before the trace:
    the node refers to it by an attribute of the graph's module (``_tensor_constant0``,
    ``_param_constant0``).

Note [Changes in place]
    An in-place operator is a node like any other.  The tensor that it changed is represented
    by that node from then on, so that whoever reads the tensor later depends on the change.

Note [Known constants]
    ``minitorch.tensor([1, 2])`` inside of a trace has the same elements in every run.  It is tracked
    with a copy of them, and what is computed from known constants alone is known too: Python may
    ask for its value.  A constant is forgotten when something unknown is written into its memory.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from minitorch._C import _set_grad_enabled
from minitorch.core.pytree import tree_flatten, tree_map
from minitorch.core.symbolic import is_symbolic
from minitorch.dispatch.keys import CONJUGATE, NEGATIVE, parse_key
from minitorch.dispatch.mode_stack import InfraSlot, infra_mode, mode_stack, set_mode_stack, slot_of_mode
from minitorch.dispatch.namespace import OpOverload, ops
from minitorch.dispatch.pre_dispatch import pre_dispatch_mode, pre_dispatch_modes, set_pre_dispatch_modes
from minitorch.fake.fake_tensor import FakeArray
from minitorch.fake.mode import FakeTensorMode
from minitorch.fx.experimental.symbolic_nodes import Symbols
from minitorch.fx.experimental.tracking import TensorTracker, Tracked
from minitorch.fx.experimental.values import describe
from minitorch.fx.graph import Graph
from minitorch.fx.proxy import Proxy, Scope, TracerBase
from minitorch.modes.decompositions import DECOMPOSED
from minitorch.modes.dispatch_mode import TorchDispatchMode
from minitorch.nn.parameter import Parameter
from minitorch.tensor.base import TensorBase

# Constants with more elements are not computed with at trace time.
CONSTANT_NUMEL_LIMIT = 1

_READS_VALUES = frozenset({"aten::_local_scalar_dense", "aten::item", "aten::equal", "aten::is_nonzero"})

_DATA_DEPENDENT = (
    "It appears that you're trying to get the value out of a tracing tensor with {op}: the graph could not follow a decision "
    "that depends on it. This is likely caused by data-dependent control flow (an if or a loop over a tensor, .item(), "
    ".tolist()). Compute with tensors instead (minitorch.where), or trace with tracing_mode='symbolic' in your make_fx call, "
    "where the value becomes a node."
)


class PythonKeyTracer(TracerBase):
    """Makes the nodes of a trace, and gives attributes to the tensors that were there before it.

    Attributes
    ----------
    root : dict of str to Tensor
        The attributes that the graph's module needs.
    tensor_tracker : TensorTracker
    symbols : Symbols
    stack_traces : bool
        Whether nodes get the stack of the call that made them, in ``node.stack_trace``.
    node_meta : dict
        What new nodes of calls get into their ``meta``.
    fake_mode : FakeTensorMode
        Of the fake tensors in ``meta`` that stand for real ones.
    """

    def __init__(self, stack_traces: bool = False) -> None:
        super().__init__()
        self.graph = Graph()
        self.scope = Scope("", None)
        self.module_stack = {}
        self.node_name_to_scope = {}
        self.root: dict[str, Any] = {}
        self.tensor_tracker = TensorTracker()
        self.stack_traces = stack_traces
        self.symbols = Symbols(self)
        self.node_meta: dict[str, Any] = {}
        self.fake_mode = FakeTensorMode()
        self._attributes: dict[int, str] = {}

    def create_arg(self, a: Any) -> Any:
        """Return an argument as a node takes it: nodes for proxies, attributes for tensors."""
        if isinstance(a, TensorBase):
            return self.attribute(a)
        if is_symbolic(a):
            return super().create_arg(self.symbols.proxy_of(a))
        return super().create_arg(a)

    def attribute(self, tensor: TensorBase) -> Any:
        """Return a node that reads a tensor from the graph's module."""
        name = self._attributes.get(id(tensor))
        if name is None:
            stem = "_param_constant" if isinstance(tensor, Parameter) else "_tensor_constant"
            number = sum(other.startswith(stem) for other in self.root)
            name = self._attributes[id(tensor)] = f"{stem}{number}"
            self.root[name] = tensor
        node = self.graph.create_node("get_attr", name, (), {})
        self.set_meta(node, tensor)
        return node

    def create_call(self, func: Any, args: Any, kwargs: Any, name: str | None = None) -> Proxy:
        """Write a call into the graph; return the proxy of its result."""
        proxy = self.create_proxy("call_function", func, args, kwargs, name=name)
        proxy.node.meta.update(self.node_meta)
        if self.stack_traces:
            proxy.node.stack_trace = _user_stack()
        return proxy

    def set_meta(self, node: Any, value: Any) -> None:
        """Note in a node what it computes: a fake tensor, a number, or containers of these.

        ``node.meta["val"]`` has it, and ``node.meta["tensor_meta"]`` the geometry of a single tensor.
        """
        described, geometry = describe(value, self.fake_mode)
        node.meta["val"] = described
        if geometry is not None:
            node.meta["tensor_meta"] = geometry

    def unwrap_proxy(self, value: Any) -> Any:
        """Return the proxy of a tracked tensor or symbolic number; everything else as it is."""
        if isinstance(value, TensorBase):
            tracked = self.tensor_tracker.get(value) or self._read_otherwise(value)
            return value if tracked is None else tracked.proxy
        return self.symbols.proxy_of(value) if is_symbolic(value) else value

    def _read_otherwise(self, tensor: TensorBase) -> Tracked | None:
        """Track a tensor of which a conjugated or negated view is tracked: kernels above take the view off."""
        found = self.tensor_tracker.get_otherwise(tensor)
        if found is None:
            return None
        tracked, bits = found
        proxy = tracked.proxy
        for key, view in ((CONJUGATE, ops.aten._conj.default), (NEGATIVE, ops.aten._neg_view.default)):
            if bits & key:
                proxy = self.create_call(view, (proxy,), {}, name=view.basename)
                self.set_meta(proxy.node, tensor)
        made = Tracked(proxy)
        self.tensor_tracker.set(tensor, made)
        return made


def _user_stack() -> str:
    frames = [f for f in traceback.extract_stack() if "/minitorch/" not in f.filename.replace("\\", "/")]
    return "".join(traceback.format_list(frames))


def track_tensor(tensor: TensorBase, proxy: Proxy, *, constant: Any, tracer: PythonKeyTracer) -> None:
    """Make `proxy` what stands for a tensor in the graph."""
    tracer.tensor_tracker.set(tensor, Tracked(proxy, constant))
    tracer.symbols.note_tensor(tensor, proxy)


def track_tensor_tree(inner_res: Any, proxy_res: Any, *, constant: Any, tracer: PythonKeyTracer) -> Any:
    """Make `proxy_res` what stands for a result: each tensor inside of containers gets an element of it.

    Parameters
    ----------
    inner_res : object
        What an operator returned.
    proxy_res : Proxy, or containers of proxies
    constant : object or None
        The result as a known constant (Note [Known constants]), of the same structure.

    Returns
    -------
    object
        `inner_res`.
    """

    def wrap(value: Any, proxy: Any, known: Any) -> None:
        if isinstance(value, TensorBase):
            tracer.set_meta(proxy.node, value)
            track_tensor(value, proxy, constant=known, tracer=tracer)
        elif isinstance(value, (tuple, list)):
            if isinstance(proxy, Proxy):
                tracer.set_meta(proxy.node, value)
            for i, item in enumerate(value):
                wrap(item, proxy[i], None if known is None else known[i])
        elif isinstance(value, dict):
            for key, item in value.items():
                wrap(item, proxy[key], None if known is None else known[key])
        elif isinstance(proxy, Proxy) and is_symbolic(value):
            tracer.set_meta(proxy.node, value)
            tracer.symbols.note_number(value, proxy)

    wrap(inner_res, proxy_res, constant)
    return inner_res


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Scope in which the operator calls of this thread are written into the graph of a tracer.

    Parameters
    ----------
    tracer : PythonKeyTracer
    tracing_mode : {"real", "fake", "symbolic"}
    pre_dispatch : bool
        Whether it stands above autograd, where composites are whole.
    decomposition_table : mapping from OpOverload to callable, optional
    """

    _mode_key = InfraSlot.PROXY

    def __init__(
        self,
        tracer: PythonKeyTracer,
        tracing_mode: str = "real",
        pre_dispatch: bool = False,
        decomposition_table: Mapping[Any, Callable[..., Any]] | None = None,
        error_on_data_dependent_ops: bool = True,
    ):
        super().__init__(parse_key("PreDispatch") if pre_dispatch else None)
        self.tracer = tracer
        self.tracing_mode = tracing_mode
        self.pre_dispatch = pre_dispatch
        self.decomposition_table = decomposition_table or {}
        self.error_on_data_dependent_ops = error_on_data_dependent_ops

    def __torch_dispatch__(self, func: OpOverload, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        return proxy_call(self, func, args, kwargs or {})

    def record_grad_mode(self, enabled: bool) -> None:
        """Write a change of grad mode into the graph."""
        self.tracer.create_call(_set_grad_enabled, (enabled,), {})


def maybe_handle_decomp(mode: ProxyTorchDispatchMode, op: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Run the decomposition that a trace's table has for an operator; NotImplemented if it has none."""
    decomposition = mode.decomposition_table.get(op)
    if decomposition is None:
        return NotImplemented
    with mode:
        return decomposition(*args, **kwargs)


def _taken_apart(mode: ProxyTorchDispatchMode, func: OpOverload, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Run a composite on what it consists of; NotImplemented if it is none, or stays whole."""
    if mode.pre_dispatch:
        return NotImplemented
    composite: Any = DECOMPOSED.get(func.basename) if func.namespace == "aten" and not func.overload else None
    if composite is None:
        if not func._can_decompose():
            return NotImplemented
        composite = func.decompose
    with mode:
        return composite(*args, **kwargs)


def _constant_of(tracer: PythonKeyTracer, value: Any) -> Any:
    """Return the known constant of a tensor, None for one that has none, and other values as they are."""
    if not isinstance(value, TensorBase):
        return value
    tracked = tracer.tensor_tracker.get(value)
    return None if tracked is None else tracked.constant


def _writes(func: Any) -> list[int]:
    return [i for i, argument in enumerate(func._schema.arguments) if argument.is_write]


def _forget_written(mode: ProxyTorchDispatchMode, func: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    """Forget the constants in whose memory something unknown was written (Note [Known constants])."""
    written = []
    for argument, place in [(func._schema.arguments[i], i) for i in _writes(func)]:
        value = args[place] if place < len(args) else kwargs.get(argument.name)
        written += [v for v in tree_flatten(value)[0] if isinstance(v, TensorBase)]
    cells = [id(t.storage_of()) for t in written]
    for tensor, tracked in mode.tracer.tensor_tracker.constants():
        if id(tensor.storage_of()) in cells:
            tracked.constant = None


def proxy_call(mode: ProxyTorchDispatchMode, func: OpOverload, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Make an operator call and write it into the graph (Note [What a call becomes]).

    Raises
    ------
    RuntimeError
        If it returns the value of a traced tensor that is no known constant, in real mode.
    """
    result = maybe_handle_decomp(mode, func, args, kwargs)
    if result is NotImplemented:
        result = _taken_apart(mode, func, args, kwargs)
    if result is not NotImplemented:
        return result
    tracer = mode.tracer
    tensors = [v for v in tree_flatten((args, kwargs))[0] if isinstance(v, TensorBase)]
    constants = [_constant_of(tracer, t) for t in tensors]
    known = bool(constants) and all(c is not None for c in constants)
    if func.qualname in _READS_VALUES or "data_dependent_output" in func.tags:
        if known:
            return _on_constants(tracer, func, args, kwargs)
        tracked = any(tracer.tensor_tracker.get(t) is not None for t in tensors)
        if not tracked:
            return func(*args, **kwargs)  # of a tensor that was there before: the same in every run
        if mode.error_on_data_dependent_ops and not any(_is_fake(t) for t in tensors):
            raise RuntimeError(_DATA_DEPENDENT.format(op=func))
    if func is ops.aten.lift_fresh.default:
        func = ops.aten.lift_fresh_copy.default
    proxy_args, proxy_kwargs = tree_map(tracer.unwrap_proxy, (args, kwargs))
    proxy = tracer.create_call(func, proxy_args, proxy_kwargs, name=func.basename)
    written = _writes(func)
    if written and func.basename.endswith("_") and not func.basename.startswith("_"):
        _retarget(tracer, args[0], proxy)
    out = func(*args, **kwargs)
    constant = None
    if func is ops.aten.lift_fresh_copy.default and out.numel() <= CONSTANT_NUMEL_LIMIT:
        with unset_all_infra_modes():
            constant = args[0].clone()
    elif known and "nondeterministic_seeded" not in func.tags and _is_small(out):
        constant = _on_constants(tracer, func, args, kwargs)
    elif written:
        _forget_written(mode, func, args, kwargs)
    return track_tensor_tree(out, proxy, constant=constant, tracer=tracer)


def _retarget(tracer: PythonKeyTracer, changed: Any, proxy: Proxy) -> None:
    """Let an in-place operator's node stand for what it changed (Note [Changes in place])."""
    for i, tensor in enumerate(changed if isinstance(changed, (list, tuple)) else [changed]):
        tracked = tracer.tensor_tracker.get(tensor)
        if tracked is not None:
            tracked.proxy = proxy[i] if isinstance(changed, (list, tuple)) else proxy


def _on_constants(tracer: PythonKeyTracer, func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    args, kwargs = tree_map(lambda value: _constant_of(tracer, value), (args, kwargs))
    with unset_all_infra_modes():
        return func(*args, **kwargs)


def _is_small(out: Any) -> bool:
    return all(v.numel() <= CONSTANT_NUMEL_LIMIT for v in tree_flatten(out)[0] if isinstance(v, TensorBase))


def _is_fake(tensor: TensorBase) -> bool:
    return isinstance(tensor.handle, FakeArray)


@contextmanager
def unset_all_infra_modes() -> Iterator[None]:
    """Scope: none of the library's own modes is active, so that calls compute on elements."""
    modes = mode_stack()
    set_mode_stack(tuple(mode for mode in modes if slot_of_mode(mode) is None))
    try:
        yield
    finally:
        set_mode_stack(modes)


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """Return the mode that is tracing in this thread, above autograd or below; None if none is."""
    above = pre_dispatch_mode(InfraSlot.PROXY)
    return above if above is not None else infra_mode(InfraSlot.PROXY)


get_innermost_proxy_mode = get_proxy_mode


@contextmanager
def disable_proxy_modes_tracing() -> Iterator[ProxyTorchDispatchMode | None]:
    """Scope: nothing is written into the graph that is being traced.  Gives the mode that was tracing."""
    found = get_proxy_mode()
    modes, above = mode_stack(), pre_dispatch_modes()
    set_mode_stack(tuple(mode for mode in modes if slot_of_mode(mode) != InfraSlot.PROXY))
    set_pre_dispatch_modes(tuple(mode for mode in above if slot_of_mode(mode) != InfraSlot.PROXY))
    try:
        yield found
    finally:
        set_mode_stack(modes)
        set_pre_dispatch_modes(above)
