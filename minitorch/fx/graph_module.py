"""`GraphModule`: a module whose forward is generated from a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
import os
import sys
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minitorch.fx.codegen import PythonCode, PyTreeCodeGen
from minitorch.fx.graph import Graph
from minitorch.fx.node import Node
from minitorch.fx.patching import forget_wrapped
from minitorch.fx.saved_graph import reduce_graph_module
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.tensor.tensor import Tensor

__all__ = ["GraphModule"]


# ---------------------------------------------------------------- running generated code


class _SourceLoader:
    """Holds generated source where tracebacks and debuggers look for it."""

    def __init__(self) -> None:
        self._sources: dict[str, str] = {}
        self._numbers = itertools.count()

    def add(self, source: str, variables: dict[str, Any]) -> str:
        """Keep a source; return the file name that it goes by."""
        name = f"<eval_with_key>.{next(self._numbers)}"
        self._sources[name] = source
        linecache.lazycache(name, {**variables, "__name__": name, "__file__": name, "__loader__": self})
        return name

    def get_source(self, name: str) -> str | None:
        return self._sources.get(name)

    def remove(self, name: str) -> None:
        self._sources.pop(name, None)
        linecache.cache.pop(name, None)


_loader = _SourceLoader()


def function_from_source(name: str, source: str, variables: dict[str, Any]) -> Callable[..., Any]:
    """Run source with these global names, and return the function that it defines under a name."""
    variables = dict(variables)
    file_name = _loader.add(source, variables)
    exec(compile(source, file_name, "exec", dont_inherit=True), variables)
    function = variables.pop(name)
    weakref.finalize(function, _forget, file_name, id(variables)).atexit = False
    return function


def _forget(file_name: str, variables: int) -> None:
    """Let go what was kept for a generated function."""
    _loader.remove(file_name)
    forget_wrapped(variables)


def _explain(error: BaseException) -> None:
    """Print the line of generated code that raised, between its neighbours; other errors speak for themselves."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or "eval_with_key" not in frames[-1].filename or frames[-1].lineno is None:
        return
    number, name = frames[-1].lineno, frames[-1].filename
    lines = linecache.getlines(name)
    print(
        "".join(
            [
                "".join(traceback.format_exception(error)),
                f"\nCall using an FX-traced Module, line {number} of the traced Module's generated forward function:\n",
                *lines[max(number - 2, 0) : number],
                "~" * len(frames[-1].line or "") + "~~~ <--- HERE\n",
                *lines[number : number + 2],
            ]
        ),
        file=sys.stderr,
    )


# ---------------------------------------------------------------- attributes by path


def get_attribute(module: Any, path: str) -> Any:
    """Return an attribute by its path from a module."""
    for name in path.split("."):
        module = getattr(module, name)
    return module


def assign_attribute(value: Any, module: Module, path: str) -> None:
    """Set an attribute by its path; modules on the way are made where there are none, tensors become buffers."""
    *prefix, name = path.split(".")
    for step in prefix:
        child = getattr(module, step, None)
        if child is None:
            child = Module()
            setattr(module, step, child)
        module = child
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


_get_attr, _assign_attr = get_attribute, assign_attribute  # PyTorch's names


def _copy_attribute(source: Module, module: Module, path: str) -> None:
    """Let `module` have the attribute that `source` has at a path."""
    *prefix, _ = path.split(".")
    there: Any = source
    here: Any = module
    for step in prefix:
        there, here = getattr(there, step), getattr(here, step, None)
        if there is here:
            return  # a whole module above it was copied, the attribute with it
        if here is None:
            break
    assign_attribute(get_attribute(source, path), module, path)


# ---------------------------------------------------------------- the module


class GraphModule(Module):
    """A module that runs a graph.

    Parameters
    ----------
    root : Module or dict
        Where the graph's attributes and submodules are, by path.  Those that it names become this module's own;
        they are shared, not copied.
    graph : Graph
    class_name : str
        What the module is called when printed.

    Attributes
    ----------
    graph : Graph
        Assigning it compiles the code anew; changing it takes a call of `recompile`.
    code : str
        The source of ``forward``.
    meta : dict

    Raises
    ------
    RuntimeError
        If `root` is a dict that lacks something the graph names.

    Examples
    --------
    >>> from minitorch import fx
    >>> module = fx.symbolic_trace(lambda x: minitorch.relu(x) + 1)
    >>> print(module.code.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        add = relu + 1;  relu = None
        return add
    """

    _graph: Graph
    _code: str

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # `forward` is the class's, so each module has a class of its own, made of the one that was asked for.
        for base in cls.__mro__:
            if base.__qualname__.split(".")[-1] != "GraphModuleImpl":
                cls = base
                break

        class GraphModuleImpl(cls):  # type: ignore[misc, valid-type]
            pass

        return super().__new__(GraphModuleImpl)

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        paths = [node.target for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = root.training
            for path in paths:
                _copy_attribute(root, self, path)
        elif isinstance(root, dict):
            for path in sorted(paths, key=lambda path: path.count(".")):  # outer ones first: they would hide inner ones
                if path not in root:
                    raise RuntimeError(f"a node references target {path} but that target was not provided in ``root``!")
                assign_attribute(root[path], self, path)
        else:
            raise RuntimeError(f"GraphModule: root must be a Module or a dict, got {type(root).__name__}")
        self._tracer_cls = None
        if graph._tracer_cls is not None and "<locals>" not in graph._tracer_cls.__qualname__:
            self._tracer_cls = graph._tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}
        self._replace_hooks: list[Callable[..., Any]] = []
        self._create_node_hooks: list[Callable[[Node], Any]] = []
        self._erase_node_hooks: list[Callable[[Node], Any]] = []
        self.graph = graph

    @property
    def graph(self) -> Graph:
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph).__name__}")
        self._graph = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated: GraphModule.__init__ did not run")
        return self._code

    def recompile(self) -> PythonCode:
        """Generate the code anew, after changes of the graph; return it."""
        codegen = self._graph._codegen
        if isinstance(codegen, PyTreeCodeGen):
            self._in_spec, self._out_spec = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec
        code = self._graph.python_code(root_module="self")
        self._code = code.src
        self._lineno_map, self._prologue_start = code._lineno_map, code._prologue_start
        type(self).forward = function_from_source(codegen._func_name, code.src, code.globals)
        for child in self.children():
            if isinstance(child, GraphModule):
                child.recompile()
        return code

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            _explain(error)
            raise

    # -- submodules ------------------------------------------------------------

    def add_submodule(self, target: str, m: Module) -> bool:
        """Add a submodule by its path; return False if something on the way is no module."""
        *prefix, name = target.split(".")
        module: Any = self
        for step in prefix:
            child = getattr(module, step, None)
            if child is None:
                child = Module()
                setattr(module, step, child)
            if not isinstance(child, Module):
                return False
            module = child
        module.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Delete a submodule by its path; return False if there is no module."""
        *prefix, name = target.split(".")
        module: Any = self
        for step in prefix:
            module = getattr(module, step, None)
            if not isinstance(module, Module):
                return False
        if not isinstance(getattr(module, name, None), Module):
            return False
        delattr(module, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Delete the submodules that the graph neither calls nor takes an attribute from."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            steps = node.target.split(".")
            used.update(".".join(steps[: i + 1]) for i in range(len(steps)))
            child = self
            for step in steps:
                child = getattr(child, step, None)
            if isinstance(child, Module):
                used.update(f"{node.target}.{name}" for name, _ in child.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # -- copies and files ------------------------------------------------------

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduce_graph_module(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        result = type(self).__new__(type(self))
        memo[id(self)] = result
        graph = copy.deepcopy(self._graph, memo)
        kept = {name: value for name, value in self.__dict__.items() if name not in ("_graph", "_lineno_map")}
        root = Module()
        root.__dict__.update(copy.deepcopy(kept, memo))
        GraphModule.__init__(result, root, graph, type(self).__name__)
        adopt_state(result, root.__dict__)
        return result

    def __copy__(self) -> GraphModule:
        result = type(self).__new__(type(self))
        GraphModule.__init__(result, self, self.graph, type(self).__name__)
        result.meta = self.meta
        self._graph.owning_module = self
        return result

    def to_folder(self, folder: str | os.PathLike, module_name: str = "FxModule") -> None:
        """Write the module as a package: ``from folder import FxModule`` gives a class that needs no graph.

        Parameters
        ----------
        folder : path
            Made if it is not there.
        module_name : str
            The name of the class.
        """
        from minitorch.fx.saved_graph import write_folder

        write_folder(self, Path(folder), module_name)

    # -- texts -----------------------------------------------------------------

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """Return the code with sources and shapes, as a class; graph modules below it inside.

        Parameters
        ----------
        print_output : bool
            Print it as well.
        **options
            ``include_stride``, ``include_device``, ``colored``, ``expanded_def``, ``additional_meta`` (keys of `meta` to
            show).
        """
        text = _readable(self, type(self).__name__, options)
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, hint])


def adopt_state(module: GraphModule, state: dict[str, Any]) -> None:
    """Give a new module what another had besides what its graph names: attributes, hooks, unused submodules."""
    own = module.__dict__
    for name, value in state.items():
        if name in ("_parameters", "_buffers", "_modules"):
            for key, item in value.items():
                own[name].setdefault(key, item)
        elif name not in ("_graph", "_code", "_lineno_map", "_prologue_start"):
            own[name] = value


def _readable(module: GraphModule, name: str, options: dict[str, Any]) -> str:
    code = module.graph.python_code(root_module="self", verbose=True, **options).src.lstrip("\n")
    parts = [f"class {name}(torch.nn.Module):\n{code}"]
    parts += [_readable(child, n, options) for n, child in module.named_children() if isinstance(child, GraphModule)]
    lines = "\n".join(parts).split("\n")
    return "\n".join([lines[0], *(f"    {line}" if line.strip() else "" for line in lines[1:])])
