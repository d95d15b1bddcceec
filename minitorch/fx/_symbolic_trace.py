"""`symbolic_trace`: a function is run on proxies, and what it does becomes a graph."""

from __future__ import annotations

import copy
import inspect
import math
import warnings
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any

import minitorch
from minitorch.core.pytree import tree_flatten, tree_map, tree_unflatten
from minitorch.functional import _assert
from minitorch.fx.codegen import PyTreeCodeGen, PyTreeInfo
from minitorch.fx.graph import Graph
from minitorch.fx.graph_module import GraphModule
from minitorch.fx.node import Argument
from minitorch.fx.patching import Patcher, wrap
from minitorch.fx.proxy import ParameterProxy, Proxy, Scope, TracerBase, base_types
from minitorch.fx.proxyable import ProxyableClassMeta, is_proxyable
from minitorch.nn.modules.container import Sequential
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.tensor.tensor import Tensor

__all__ = ["PH", "PHBase", "PHWithMeta", "ProxyableClassMeta", "Tracer", "symbolic_trace", "wrap"]


class PHBase:
    """Stands in ``concrete_args`` for a value that is not known."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A `PH` whose attributes go to the placeholder's node."""

    def __init__(self, ph_key: str | None = None):
        self.ph_key = ph_key


def _assert_is_none(value: Any, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


def _functions_with_branches() -> set[int]:
    """Return the ids of public functions that are written in Python, with branches on their inputs."""
    functions = [f for f in vars(minitorch.nn.functional).values() if inspect.isfunction(f)]
    return {id(f) for f in functions if f.__module__.startswith("minitorch.nn.functional")} | {id(minitorch.result_type)}


class Tracer(TracerBase):
    """Traces functions and modules; override its methods to trace in another way.

    Parameters
    ----------
    autowrap_modules : tuple of module
        Calls of their functions are recorded as such, without `wrap`.
    autowrap_functions : tuple of callable
        So are calls of these.
    param_shapes_constant : bool
        Take shapes of parameters as known, so that ``if self.weight.shape[0] > 3`` can be traced.

    Examples
    --------
    >>> from minitorch import fx
    >>> class WholeBlocks(fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return isinstance(m, minitorch.nn.Sequential)
    >>> class Model(minitorch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.block = minitorch.nn.Sequential(minitorch.nn.Linear(2, 2), minitorch.nn.ReLU())
    ...
    ...     def forward(self, x):
    ...         return self.block(x)
    >>> [node.op for node in WholeBlocks().trace(Model()).nodes]
    ['placeholder', 'call_module', 'output']
    """

    root: Module

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ):
        super().__init__()
        self._autowrap_ids = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        }
        self._autowrap_ids.update(map(id, autowrap_functions))
        self._autowrap_search = [*autowrap_modules, minitorch, minitorch.nn.functional]
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = {}
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}
        self.tensor_attrs: dict[Any, str] = {}

    # -- what to override ------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Return whether a call of a module is recorded as such, and not what it does.

        By default that holds for the modules of ``nn``, except `Sequential`.
        """
        return m.__module__.startswith("minitorch.nn") and not isinstance(m, Sequential)

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        """Record the call of a module, or trace it by calling ``forward``; return its result."""
        path = self.path_of_module(m)
        old_scope = self.scope
        self.scope = Scope(path, type(m))
        calls = self.num_calls.get(path, 0)
        self.num_calls[path] = calls + 1
        key = f"{path}@{calls}" if calls else path
        self.module_stack[key] = (path, type(m))
        try:
            if not self.is_leaf_module(m, path):
                return forward(*args, **kwargs)
            return self.create_proxy("call_module", path, args, kwargs)
        finally:
            self.scope = old_scope
            self.module_stack.pop(key, None)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """Return what an attribute of a module is while it is traced: proxies of parameters, the rest as it is."""
        if isinstance(attr_val, Parameter):
            found = self._attribute_proxy(attr_val, self.root.named_parameters(), parameter_proxy_cache)
            return attr_val if found is None else found
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            found = self._attribute_proxy(attr_val, self.root.named_buffers(), parameter_proxy_cache)
            return attr_val if found is None else found
        return attr_val

    def _attribute_proxy(self, value: Any, named: Iterable[tuple[str, Any]], cache: dict[str, Proxy]) -> Proxy | None:
        for name, candidate in named:
            if candidate is value:
                if name not in cache:
                    if self.param_shapes_constant and isinstance(value, Parameter):
                        cache[name] = self.create_proxy(
                            "get_attr", name, (), {}, proxy_factory_fn=lambda node: ParameterProxy(self, node, name, value)
                        )
                    else:
                        cache[name] = self.create_proxy("get_attr", name, (), {})
                return cache[name]
        return None

    def path_of_module(self, mod: Module) -> str:
        """Return the path of a module in the root.

        Raises
        ------
        NameError
            If it is not in there.
        """
        paths = self.submodule_paths
        if paths is None:
            paths = {module: name for name, module in self.root.named_modules()}
        if mod not in paths:
            raise NameError(f"module is not installed as a submodule of the traced {type(self.root).__name__}: {mod}")
        return paths[mod]

    def create_arg(self, a: Any) -> Argument:
        """Return a value as an argument of a node; parameters, buffers, modules and tensors are taken from the root.

        Tensors that are no attribute of a module become one: ``_tensor_constant0``.
        """
        if isinstance(a, (Proxy, str, int, float)) or a is None:
            return super().create_arg(a)
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if parameter is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for name, buffer in self.root.named_buffers():
                if buffer is a:
                    return self.create_node("get_attr", name, (), {})
            if a not in self.tensor_attrs:
                self.tensor_attrs[a] = self.get_fresh_qualname("_tensor_constant")
                setattr(self.root, self.tensor_attrs[a], a)
            return self.create_node("get_attr", self.tensor_attrs[a], (), {})
        if isinstance(a, Module):
            for name, module in self.root.named_modules():
                if module is a:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(self.create_arg(item) for item in a), {})
        if is_proxyable(a):  # made before tracing, or of constants
            name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def get_fresh_qualname(self, prefix: str) -> str:
        """Return a name that the root has no attribute of: the prefix and a number."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    # -- tracing ---------------------------------------------------------------

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | tuple | None = None) -> Graph:
        """Return the graph of a module or function.

        Parameters
        ----------
        concrete_args : dict or tuple, optional
            Arguments that are not proxies, by name; containers may have `PH` in place of values that are not known.

        Raises
        ------
        TraceError
            If the function asks for what is known only when it runs.
        """
        if isinstance(root, Module):
            self.root = root
            fn = getattr(type(root), self.traced_func_name, None)
            if fn is None:
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root = Module()
            fn = root
        if not isinstance(fn, FunctionType) or hasattr(fn, "binder"):  # an operator's function has no steps of its own
            raise AssertionError(f"symbolic tracing needs a Module or a Python function, got {fn!r}")
        self.graph = Graph(tracer_cls=type(self))
        self.num_calls = {}
        self.tensor_attrs = {
            value: f"{path}.{name}" if path else name
            for path, module in self.root.named_modules()
            for name, value in vars(module).items()
            if isinstance(value, Tensor)
        }
        variables = fn.__globals__
        returns = _annotation(inspect.unwrap(fn), "return")
        fn, args = self.create_args_for_root(fn, isinstance(root, Module), concrete_args)
        if isinstance(self.graph._codegen, PyTreeCodeGen):
            returns = None  # of the nested result, which the graph does not return
        try:
            with Patcher() as patcher:
                self._replace_calls(patcher, variables)
                result = self.create_arg(fn(*args))
                self.create_node("output", "output", (result,), {}, type_expr=returns)
        finally:
            self.submodule_paths = None
            self.module_stack = {}
        return self.graph

    def _replace_calls(self, patcher: Patcher, variables: dict[str, Any]) -> None:
        """Let calls of modules, reads of their attributes, and calls of wrapped functions come to this tracer."""
        call, get = Module.__call__, Module.__getattr__
        cache: dict[str, Proxy] = {}
        ids = self._autowrap_ids | _functions_with_branches()

        def call_module(module: Module, *args: Any, **kwargs: Any) -> Any:
            patcher.autowrap(getattr(module.forward, "__globals__", {}), ids)
            return self.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)

        patcher.patch_method(Module, "__getattr__", lambda module, name: self.getattr(name, get(module, name), cache))
        patcher.patch_method(Module, "__call__", call_module)
        patcher.patch_wrapped()
        patcher.autowrap(variables, ids)
        for module in self._autowrap_search:
            patcher.autowrap(vars(module), ids)

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: dict[str, Any] | tuple | None = None
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Return a function and the proxies to call it with; records the placeholders."""
        plain = inspect.unwrap(root_fn)
        code = plain.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        if is_module and count == 0:
            raise RuntimeError("``self`` argument cannot be part of *args expansion!")
        starred = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
        if isinstance(concrete_args, tuple) and concrete_args and starred and count == 1 and is_module:
            # forward(self, *args, **kwargs) with as many arguments as are given.
            return root_fn, [self.root, *(self._flat_input(i, arg) for i, arg in enumerate(concrete_args))]
        skip = 1 if is_module else 0
        names = list(code.co_varnames[skip:count])
        if isinstance(concrete_args, tuple):
            if len(names) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(names)} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(names, concrete_args, strict=True))
        signature = inspect.signature(plain)
        stars = iter(code.co_varnames[count:])
        if code.co_flags & inspect.CO_VARARGS:
            names.append("*" + next(stars))
        if code.co_flags & inspect.CO_VARKEYWORDS:
            names.append("**" + next(stars))
        args = [self.root] if is_module else []
        args += [self._placeholder(name, concrete_args, signature, plain) for name in names]
        if starred or code.co_kwonlyargcount:
            root_fn = _with_plain_parameters(root_fn, len(args))
        flat, in_spec = tree_flatten(tuple(args))
        if all(child.is_leaf() for child in in_spec.children_specs):
            return root_fn, args
        # Containers among the arguments: the graph has their leaves, generated code flattens and rebuilds.
        self.graph.set_codegen(PyTreeCodeGen(PyTreeInfo(list(code.co_varnames[:count]), in_spec, None)))

        def flat_fn(*leaves: Any) -> Any:
            leaves_out, out_spec = tree_flatten(root_fn(*tree_unflatten(leaves, in_spec)))
            codegen: Any = self.graph._codegen
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return leaves_out

        return flat_fn, flat

    def _flat_input(self, index: int, value: Any) -> Proxy:
        proxy = self.create_proxy("placeholder", f"input_{index}", (), {})
        _copy_ph_attributes(value, proxy)
        return proxy

    def _placeholder(self, name: str, concrete_args: dict | None, signature: inspect.Signature, fn: Any) -> Any:
        """Record an input; return its proxy, or the concrete value with proxies for what is `PH` in it."""
        default: tuple = ()
        if name[0] != "*" and signature.parameters[name].default is not inspect.Parameter.empty:
            default = (signature.parameters[name].default,)
        if concrete_args is None or name not in concrete_args:
            return self.create_proxy("placeholder", name, default, {}, type_expr=_annotation(fn, name))
        count = 0

        def replace(value: Any) -> Any:
            nonlocal count
            count += 1
            proxy = self.create_proxy("placeholder", f"{name}_{count}", default, {})
            if isinstance(value, PHBase):
                _copy_ph_attributes(value, proxy)
                return proxy
            message = f"{name} has been specialized to have value {value} but got another value"
            if value is None:
                self.create_proxy("call_function", _assert_is_none, (proxy, message), {})
            elif type(value) in base_types and type(value) is not Tensor:
                _assert(proxy == value, message)
            else:
                warnings.warn(
                    f"Was not able to add assertion to guarantee correct input {name} to specialized function: a "
                    f"{type(value).__name__} cannot be compared. Call it with the value that it was traced with",
                    stacklevel=2,
                )
            return value

        return tree_map(replace, concrete_args[name])

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        result = type(self).__new__(type(self))
        memo[id(self)] = result
        for name, value in self.__dict__.items():
            kept = name == "_autowrap_search"  # modules cannot be copied
            result.__dict__[name] = copy.copy(value) if kept else copy.deepcopy(value, memo)
        return result


def _annotation(fn: Any, name: str) -> Any:
    """Return the annotation of a parameter, or None where it says nothing or cannot be evaluated."""
    annotation = inspect.get_annotations(fn).get(name)
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, fn.__globals__)
        except (AttributeError, NameError, SyntaxError, TypeError):  # a name that is there for type checkers only
            return None
    return None if annotation is Any else annotation


def _copy_ph_attributes(value: Any, proxy: Proxy) -> None:
    if isinstance(value, PHBase) and value is not PH:
        for name, attribute in vars(value).items():
            setattr(proxy.node, name, attribute)


def _with_plain_parameters(fn: Any, count: int) -> FunctionType:
    """Return a function whose ``*args`` and ``**kwargs`` are ordinary parameters, so that proxies can stand for them."""
    fn = inspect.unwrap(fn)
    flags = fn.__code__.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    code = fn.__code__.replace(co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=flags)
    return FunctionType(code, fn.__globals__, fn.__name__, None, fn.__closure__)


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[str, Any] | tuple | None = None) -> GraphModule:
    """Return a graph module that does what a module or function does.

    The function is run once, on proxies.  What depends on values of tensors (``if``, loops over them) cannot be traced;
    what depends on other things is as it was in that run.

    Parameters
    ----------
    root : Module or callable
    concrete_args : dict or tuple, optional
        Arguments to fix, by name.  Containers may have `PH` in place of values that stay open: then the module takes
        such containers.

    Raises
    ------
    TraceError
        If the function asks for what is known only when it runs.

    Examples
    --------
    >>> from minitorch import fx
    >>> def f(x, double):
    ...     return x * 2 if double else x
    >>> module = fx.symbolic_trace(f, concrete_args={"double": True})
    >>> module(minitorch.tensor(3.0), True)
    tensor(6.)
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__  # type: ignore[union-attr]
    return GraphModule(tracer.root, graph, name)
