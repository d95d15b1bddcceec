"""`Proxy`: stands for a value while a function is traced, and records what is done with it."""

from __future__ import annotations

import copy
import dataclasses
import dis
import enum
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from minitorch.core.device import device as device_class
from minitorch.core.dtype import dtype as dtype_class
from minitorch.core.layout import layout as layout_class
from minitorch.core.memory_format import memory_format as memory_format_class
from minitorch.core.symbolic import is_symbolic
from minitorch.dispatch.namespace import OpOverload, OpOverloadPacket
from minitorch.fx import traceback as fx_traceback
from minitorch.fx.graph import Graph
from minitorch.fx.naming import from_torch
from minitorch.fx.node import Argument, Node, Target, map_aggregate, map_arg
from minitorch.fx.operators import magic_methods, reflectable_magic_methods
from minitorch.fx.recorded_calls import public_function, recorded_arguments, recorded_method_name
from minitorch.nn.parameter import Parameter
from minitorch.tensor.tensor import Tensor

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "TraceError", "TracerBase", "find_proxy"]

base_types = (
    str, int, float, bool, complex, Tensor, dtype_class, device_class, memory_format_class, layout_class, OpOverload,
)  # fmt: skip

# What nodes take over from the node that is run while they are recorded (`traceback.preserve_node_meta`).
_KEPT_META = (
    "nn_module_stack", "torch_fn", "source_fn_stack", "original_aten", "recompute", "from_node", "custom", "seq_nr",
    "partitioner_tag",
)  # fmt: skip


class TraceError(ValueError):
    """A traced function asks for what is known only when it runs."""


@dataclasses.dataclass
class Scope:
    """The module whose forward is being traced: its path, and its class."""

    module_path: str
    module_type: Any


def find_proxy(*values: Any) -> Proxy | None:
    """Return a proxy that is among the values or inside of them, or None."""
    found: Proxy | None = None

    def look(leaf: Any) -> None:
        nonlocal found
        if found is None and isinstance(leaf, Proxy):
            found = leaf

    map_aggregate(values, look)
    return found


class TracerBase:
    """Records nodes into a graph, and says what proxies do where a value would have to be known.

    Attributes
    ----------
    graph : Graph
    record_stack_traces : bool
        Note in each node's `meta` where it was recorded: from the first ``forward`` on.
    trace_asserts : bool
        Record ``assert proxy`` instead of raising.
    proxy_buffer_attributes : bool
        Record where buffers are taken, as it is done for parameters.
    """

    graph: Graph
    record_stack_traces: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    scope: Scope
    module_stack: dict[str, tuple[str, Any]]
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node to the graph; override it to check or change what is recorded."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if fx_traceback.has_preserved_node_meta():
            current = fx_traceback.get_current_meta()
            if current.get("stack_trace"):
                node.stack_trace = current["stack_trace"]
            node.meta.update({key: copy.copy(current[key]) for key in _KEPT_META if key in current})
        elif self.module_stack:
            node.meta["nn_module_stack"] = dict(self.module_stack)
        if self.record_stack_traces and not node.stack_trace:
            frames = _frames_of_model()
            if frames:
                node.stack_trace = "".join(traceback.format_list(frames)).strip()
        return node

    def proxy(self, node: Node) -> Proxy:
        """Return the proxy of a node; override it to use a class of one's own."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Record a node whose arguments may have proxies; return its proxy."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)  # type: ignore[arg-type]
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Argument:
        """Return a value as an argument of a node: proxies become their nodes.

        Raises
        ------
        NotImplementedError
            If it is of a class that no argument may have.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return {self._create_key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if a is None or a is ... or isinstance(a, (Node, *base_types, enum.Enum, OpOverloadPacket)) or is_symbolic(a):
            return a
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {field.name: self.create_arg(getattr(a, field.name)) for field in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), fields)
        if str(getattr(a, "__module__", "")).startswith("torch.ops") and from_torch(a):  # a higher-order operator
            return a
        raise NotImplementedError(
            f"argument of type: {type(a)}. Arguments of recorded calls are numbers, strings, tensors, dtypes, devices, "
            "enumerations, and tuples, lists, dictionaries and slices of these"
        )

    def _create_key(self, key: Any) -> Any:
        if isinstance(key, str):
            return key

        def refuse(node: Node) -> Node:
            raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}")

        return map_arg(self.create_arg(key), refuse)

    # -- where a value would have to be known ----------------------------------

    def to_bool(self, obj: Proxy) -> bool:
        """Return the truth of a proxy.

        Raises
        ------
        TraceError
            Unless overridden.
        """
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Return an iterator over a proxy.

        Raises
        ------
        TraceError
            Unless overridden.
        """
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument: how many items there are is known only when the function runs"
        )

    def keys(self, obj: Proxy) -> Any:
        """Return the keys of a proxy: ``**proxy`` asks for them."""
        return Attribute(obj, "keys")()


def _frames_of_model() -> list[traceback.FrameSummary]:
    """Return the frames from the outermost ``forward`` on, without those of this library."""
    frames = traceback.extract_stack()
    for i, frame in enumerate(frames):
        if frame.name == "forward":
            return [frame for frame in frames[i:] if not frame.filename.startswith(_LIBRARY)]
    return []


_LIBRARY = __file__.rpartition("/fx/")[0]


class GraphAppendingTracer(TracerBase):
    """The tracer of proxies that somebody makes of nodes: appends to their graph."""

    def __init__(self, graph: Graph):
        super().__init__()
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = {}
        self.node_name_to_scope = {}


def assert_fn(x: Any) -> None:
    """Raise AssertionError unless a value is true: what a traced ``assert`` becomes."""
    if not x:
        raise AssertionError("Assertion failed")


# ---------------------------------------------------------------- proxies


def _instructions_from(frame: FrameType) -> list[dis.Instruction]:
    """Return the instructions of a frame, from the one that runs on."""
    return [i for i in dis.get_instructions(frame.f_code) if i.offset >= frame.f_lasti]


class Proxy:
    """Stands for the value of a node, and records what is done with it.

    Operators, attributes, methods and functions of minitorch that get a proxy record a node and return the proxy of
    it.  Where the value itself would have to be known (``if``, ``for``, ``len``, ``int``), `TraceError` is raised.

    Parameters
    ----------
    node : Node
    tracer : TracerBase, optional
        By default what is done is appended to the node's graph, at its insert point.

    Examples
    --------
    >>> from minitorch import fx
    >>> graph = fx.Graph()
    >>> x = fx.Proxy(graph.placeholder("x"))
    >>> y = minitorch.relu(x) * 2
    >>> y.node.args
    (relu, 2)
    """

    node: Node

    def __init__(self, node: Node, tracer: TracerBase | None = None):
        self.tracer = tracer if tracer is not None else GraphAppendingTracer(node.graph)
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Attribute:
        return Attribute(self, name)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        result = type(self).__new__(type(self))
        memo[id(self)] = result
        result.__dict__.update({name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()})
        return result

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        # `a, b = proxy` says how many items it wants.
        following = _instructions_from(sys._getframe(1))
        if following and following[0].opname == "UNPACK_SEQUENCE":
            return iter([self[i] for i in range(following[0].argval)])
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and _is_assert(sys._getframe(1)):
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __getitem__(self, index: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.getitem, (self, index), {})

    def keys(self) -> Any:
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Proxy:
        """Record a call of a function of minitorch that got a proxy."""
        kwargs = kwargs or {}
        tracers: dict[TracerBase, None] = {}
        map_aggregate((args, kwargs), lambda leaf: tracers.setdefault(leaf.tracer) if isinstance(leaf, Proxy) else None)
        if len(tracers) > 1:
            raise RuntimeError(f"Found multiple different tracers {list(tracers)} while trying to trace operations {func}")
        tracer = next(iter(tracers))
        method = recorded_method_name(func)
        if method is not None:
            return tracer.create_proxy("call_method", method, args, kwargs)
        func = public_function(func)
        args, kwargs = recorded_arguments(func, args, kwargs)
        return tracer.create_proxy("call_function", func, args, kwargs)


def _is_assert(frame: FrameType) -> bool:
    """Return whether a frame asks for a truth value in an ``assert``."""
    following = _instructions_from(frame)[:3]
    texts = [f"{i.opname} {i.argval}" for i in following]
    return any("IF_TRUE" in text for text in texts[:2]) and any(
        "LOAD_ASSERTION_ERROR" in text or "AssertionError" in text for text in texts
    )


class Attribute(Proxy):
    """An attribute of a proxy: becomes a node only if it is not called at once, which makes it a method."""

    def __init__(self, root: Proxy, attr: str):
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """The proxy of a parameter whose shape is taken as known (``Tracer(param_shapes_constant=True)``)."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Parameter):
        super().__init__(node, tracer)
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        return self.param.shape

    @property
    def ndim(self) -> int:
        return self.param.ndim

    def size(self, *args: Any) -> Any:
        return self.param.size(*args)

    def dim(self) -> int:
        return self.param.dim()

    def numel(self) -> int:
        return self.param.numel()

    def nelement(self) -> int:
        return self.param.nelement()


def _make_operator(name: str) -> Any:
    target = getattr(operator, name)

    def operate(self: Proxy, *args: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", target, (self, *args), {})

    return operate


def _make_reflected(name: str) -> Any:
    target = getattr(operator, name)

    def operate(self: Proxy, other: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", target, (other, self), {})

    return operate


for _name in magic_methods:
    if hasattr(operator, _name) and _name != "getitem":  # `div` was Python 2's
        setattr(Proxy, f"__{_name.strip('_')}__", _make_operator(_name))
for _name in reflectable_magic_methods:
    if hasattr(operator, _name):
        setattr(Proxy, f"__r{_name.strip('_')}__", _make_reflected(_name))
