"""`Interpreter`: runs a graph node by node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minitorch.fx import traceback as fx_traceback
from minitorch.fx.codegen import last_uses
from minitorch.fx.graph import Graph
from minitorch.fx.graph_module import get_attribute
from minitorch.fx.node import Argument, Node, Target, map_arg
from minitorch.nn.modules.module import Module

__all__ = ["Interpreter"]


class Interpreter:
    """Runs a graph node by node.

    Subclass it to see or change what is run: `run_node` is called for each node, and calls the method of the name of
    the node's op.

    Parameters
    ----------
    module : Module
        Has the graph, and the attributes and submodules that it names.
    garbage_collect_values : bool
        Let values go after their last use.  Otherwise `env` has all of them in the end.
    graph : Graph, optional
        Instead of ``module.graph``.

    Attributes
    ----------
    env : dict of Node to object
        The values so far.

    Examples
    --------
    >>> from minitorch import fx
    >>> class Count(fx.Interpreter):
    ...     calls = 0
    ...
    ...     def call_function(self, target, args, kwargs):
    ...         self.calls += 1
    ...         return super().call_function(target, args, kwargs)
    >>> counter = Count(fx.symbolic_trace(lambda x: minitorch.relu(x) + 1))
    >>> counter.run(minitorch.tensor([-1.0, 1.0]))
    tensor([1., 2.])
    >>> counter.calls
    2
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None):
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = graph if graph is not None else module.graph  # type: ignore[assignment]
        self.env: dict[Node, Any] = {}
        self.args_iter: Iterator[Any] = iter(())
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses = last_uses(self.graph.nodes) if garbage_collect_values else {}

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Return what the graph returns for these arguments.

        Parameters
        ----------
        initial_env : dict of Node to object, optional
            Values that are known already; these nodes are not run.
        enable_io_processing : bool
            Flatten the arguments and rebuild the result as the generated code does.

        Raises
        ------
        Exception
            What a node raises, with the node added to its text.
        """
        self.env = initial_env if initial_env is not None else {}
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if not self.extra_traceback:
                    raise
                text = f"While executing {node.format_node()}\nOriginal traceback:\n{node.stack_trace}"
                text = f"{error.args[0]}\n\n{text}" if error.args else text
                if isinstance(error, KeyError):  # its text would be shown as a repr
                    raise RuntimeError(text) from error
                error.args = (text, *error.args[1:])
                raise
            for unused in self.user_to_last_uses.get(node, ()):
                self.env.pop(unused, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run with a list of arguments, which is emptied: they can be let go as soon as they are used.

        Raises
        ------
        RuntimeError
            If their number is not that of the placeholders.
        """
        placeholders = [node for node in self.graph.nodes if node.op == "placeholder"]
        if len(args_list) != len(placeholders):
            raise RuntimeError(
                f"Interpreter.boxed_run expected {len(placeholders)} arguments for placeholders but received "
                f"{len(args_list)} ({'extra' if len(args_list) > len(placeholders) else 'missing'} arguments)"
            )
        env: dict[Node, Any] = dict(zip(placeholders, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env)

    def run_node(self, n: Node) -> Any:
        """Return the value of a node, by the method of its op."""
        with fx_traceback.set_current_meta(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    # -- one method for each op ------------------------------------------------

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the next argument of `run`; for ``*args`` the list of all that are left."""
        assert isinstance(target, str)
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return an attribute of the module."""
        assert isinstance(target, str)
        return self.fetch_attr(target)

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return what a function returns."""
        assert not isinstance(target, str)
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return what a method of the first argument returns."""
        assert isinstance(target, str)
        this, *rest = args
        return getattr(this, target)(*rest, **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return what a submodule returns."""
        assert isinstance(target, str)
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of the graph."""
        return args[0]

    # -- helpers ---------------------------------------------------------------

    def fetch_attr(self, target: str) -> Any:
        """Return an attribute of the module by its path.

        Raises
        ------
        RuntimeError
            If it is not there.
        """
        try:
            return get_attribute(self.module, target)
        except AttributeError as error:
            raise RuntimeError(f"Node referenced nonexistent target {target}: {error}") from None

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple, dict[str, Any]]:
        """Return the values of a node's arguments."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Argument:
        """Return arguments with values in place of nodes."""

        def load(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues")
            return self.env[node]

        return map_arg(args, load)


def __getattr__(name: str) -> Any:
    if name == "Transformer":  # PyTorch's path
        from minitorch.fx.transformer import Transformer

        return Transformer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
