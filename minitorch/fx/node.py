"""`Node`: one step of a graph, and who uses its value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minitorch.autograd.grad_mode import _set_grad_enabled
from minitorch.dispatch.namespace import OpOverload, OpOverloadPacket, ops
from minitorch.functional import _assert
from minitorch.fx.immutable_collections import immutable_dict, immutable_list
from minitorch.fx.naming import qualified_name, type_text

if TYPE_CHECKING:
    from minitorch.fx.graph import Graph

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

Argument = Any  # a node, a constant, or tuples, lists, dictionaries and slices of arguments
Target = Callable[..., Any] | str

_get_qualified_name = qualified_name  # PyTorch's name

OPS = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output")

_side_effectful_functions: set[Any] = {operator.setitem, _assert, ops.aten._assert_async.msg, _set_grad_enabled}


def has_side_effect(fn: Any) -> Any:
    """Keep calls of a function in graphs whose values nobody uses; return the function.

    Examples
    --------
    >>> from minitorch import fx
    >>> @fx.has_side_effect
    ... def log(x):
    ...     print(x)
    """
    _side_effectful_functions.add(fn)
    return fn


# ---------------------------------------------------------------- arguments


def map_aggregate(value: Argument, fn: Callable[[Any], Any]) -> Argument:
    """Return arguments with ``fn(leaf)`` in place of each leaf.

    Tuples, named tuples, lists, dictionaries (their values) and slices are walked through; lists and dictionaries
    of the result are immutable.
    """
    if isinstance(value, tuple):
        items = [map_aggregate(item, fn) for item in value]
        if hasattr(value, "_fields"):
            return type(value)(*items)
        return tuple(items)
    if isinstance(value, list):
        return immutable_list([map_aggregate(item, fn) for item in value])
    if isinstance(value, dict):
        return immutable_dict({key: map_aggregate(item, fn) for key, item in value.items()})
    if isinstance(value, slice):
        return slice(map_aggregate(value.start, fn), map_aggregate(value.stop, fn), map_aggregate(value.step, fn))
    return fn(value)


def map_arg(value: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """Return arguments with ``fn(node)`` in place of each node."""
    return map_aggregate(value, lambda leaf: fn(leaf) if isinstance(leaf, Node) else leaf)


def _format_argument(value: Any) -> str:
    """Return arguments as `Node.format_node` shows them: nodes have a ``%``."""
    if isinstance(value, list):
        return f"[{', '.join(map(_format_argument, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_format_argument, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_format_argument(item)}" for key, item in value.items()) + "}"
    return f"%{value}" if isinstance(value, Node) else str(value)


def _is_impure_call(target: Any, impure_random: bool) -> bool:
    """Return whether a call of a function does something besides computing its result."""
    if target in _side_effectful_functions:
        return True
    if isinstance(target, OpOverloadPacket):
        return hasattr(target, "default") and _is_impure_call(target.default, impure_random)
    if isinstance(target, OpOverload):
        return target._schema.is_mutable or (impure_random and "nondeterministic_seeded" in target.tags)
    name = getattr(target, "__name__", "")
    if name in _random_functions:
        import minitorch

        return getattr(minitorch, name, None) is target
    return False


# Public functions that move a generator on, so that what comes later draws other numbers without them.
_random_functions = frozenset(
    (
        "bernoulli", "dropout", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn",
        "randn_like", "randperm",
    )
)


class Node:
    """One step of a `Graph`.

    Attributes
    ----------
    op : str
        - ``placeholder``: an input.  `target` is the parameter's name, ``args`` its default if it has one.
        - ``get_attr``: a parameter, buffer or other attribute.  `target` is its path in the module.
        - ``call_function``: ``target(*args, **kwargs)``.
        - ``call_method``: ``getattr(args[0], target)(*args[1:], **kwargs)``.
        - ``call_module``: a call of the submodule whose path is `target`.
        - ``output``: what the graph returns, ``args[0]``.
    name : str
        Unique in the graph; the variable that holds the value in generated code.
    target : callable or str
    args : tuple
    kwargs : dict
        Constants, nodes, and nested tuples, lists, dictionaries and slices of these.  Both are assigned, not changed.
    users : dict of Node to None
        Nodes that take the value, in the order in which they came to do so.
    type : object
        Annotation of the value, or None.
    meta : dict
        What passes note about the value: ``"val"``, ``"tensor_meta"``, ``"stack_trace"``, ...
    graph : Graph
    next, prev : Node
        The neighbours in the graph.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple = (),
        kwargs: dict | None = None,
        return_type: Any = None,
    ):
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node '{name}': the target of a call_function must be callable, got {target!r} of type "
                    f"{type(target).__name__}"
                )
        elif op not in OPS and op != "root":
            raise AssertionError(f"Node '{name}': unknown op {op!r}, expected one of {', '.join(OPS)}")
        elif not isinstance(target, str):
            raise ValueError(
                f"Node '{name}': the target of a {op} must be a str, got {target!r} of type {type(target).__name__}"
            )
        self.graph = graph
        self._name = name
        self._op = op
        self._target = target
        self._input_nodes: dict[Node, None] = {}
        self.users: dict[Node, None] = {}
        self.type = return_type
        self.meta: dict[str, Any] = {}
        self._repr_fn: Callable[[Node], str] | None = None
        self._prev = self._next = self
        self._erased = False
        self._sort_key: tuple = ()
        self._args: tuple = ()
        self._kwargs: dict[str, Any] = immutable_dict()
        self._update_args_kwargs(args, kwargs or {})

    # -- the list of nodes -----------------------------------------------------

    @property
    def next(self) -> Node:
        return self._next

    @property
    def prev(self) -> Node:
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move node `x` in front of this one.

        Raises
        ------
        AssertionError
            If it belongs to another graph.
        """
        if x.graph is not self.graph:
            raise AssertionError(f"cannot put node '{x}' before '{self}': it belongs to another graph")
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x
        x._sort_key = _key_between(before._sort_key, self._sort_key, self is self.graph._root)

    def append(self, x: Node) -> None:
        """Move node `x` behind this one."""
        if x is not self:
            self._next.prepend(x)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def __lt__(self, other: Node) -> bool:
        return self._sort_key < other._sort_key

    def __gt__(self, other: Node) -> bool:
        return self._sort_key > other._sort_key

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or self > other

    # -- what it is ------------------------------------------------------------

    @property
    def op(self) -> str:
        return self._op

    @op.setter
    def op(self, value: str) -> None:
        self.graph._change_key(self, "_op", value)

    @property
    def target(self) -> Any:
        return self._target

    @target.setter
    def target(self, value: Target) -> None:
        self.graph._change_key(self, "_target", value)

    @property
    def name(self) -> str:
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        for hook in self.graph._hooks("_replace_hooks"):
            for user in self.users:
                hook(old=self, new=value, user=user)
        self._name = value

    def _rename(self, candidate: str) -> None:
        """Take a name made of the candidate, unique in the graph."""
        if candidate == self.name:
            return
        self.name = self.graph._graph_namespace.create_name(candidate, None)
        self.graph._graph_namespace.rename(self, self.name)

    # -- arguments and users ---------------------------------------------------

    @property
    def args(self) -> tuple:
        return self._args

    @args.setter
    def args(self, value: tuple) -> None:
        self._update_args_kwargs(value, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        return self._kwargs

    @kwargs.setter
    def kwargs(self, value: dict[str, Any]) -> None:
        self._update_args_kwargs(self._args, value)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once, in order."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace one positional argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Insert a positional argument before index `idx`."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError(f"insert_arg: idx {idx} is not in [0, {len(self.args)}], the arguments of '{self}'")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Set one keyword argument."""
        self.kwargs = {**self.kwargs, key: arg}

    def _update_args_kwargs(self, args: tuple, kwargs: dict[str, Any]) -> None:
        inputs: dict[Node, None] = {}

        def note(node: Node) -> Node:
            inputs[node] = None
            return node

        args, kwargs = map_arg(args, note), map_arg(kwargs, note)
        for old in self._input_nodes:
            if old not in inputs:
                old.users.pop(self, None)
        self._args, self._kwargs, self._input_nodes = args, kwargs, inputs
        for node in inputs:
            node.users.setdefault(self)

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let every user of this value use that of `replace_with` instead.

        Parameters
        ----------
        delete_user_cb : callable, optional
            ``user -> bool``: whether this user changes.
        propagate_meta : bool
            Copy `meta` to the other node, whose own must be empty.

        Returns
        -------
        list of Node
            The users that changed.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    f"replace_all_uses_with(propagate_meta=True): '{replace_with}' has meta already: "
                    f"{', '.join(replace_with.meta)}"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Put `new_input` in place of `old_input` wherever it stands in the arguments."""
        for hook in self.graph._hooks("_replace_hooks"):
            hook(old=old_input, new=new_input.name, user=self)

        def swap(node: Node) -> Node:
            return new_input if node is old_input else node

        self._update_args_kwargs(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def is_impure(self, impure_random: bool = True) -> bool:
        """Return whether the step matters even where nobody uses its value.

        Placeholders and the output do, and calls of operators that write to an argument or draw random numbers, of
        functions marked with `has_side_effect`, and of modules whose ``_is_impure`` is true.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_module":
            owner = self.graph.owning_module
            if owner is None:
                raise AssertionError(
                    f"cannot tell whether '{self}' is impure: the graph has no owning module to find {self.target!r} in"
                )
            return getattr(owner.get_submodule(self.target), "_is_impure", False)
        return self.op == "call_function" and _is_impure_call(self.target, impure_random)

    def normalized_arguments(
        self,
        root: Any,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """Return the arguments in the order of the parameters, with defaults, or None where that is not known.

        Parameters
        ----------
        root : Module
            Where the target of a ``call_module`` is looked up.
        arg_types, kwarg_types, normalize_to_only_use_kwargs
            See `operator_schemas.normalize_function`.
        """
        from minitorch.fx.operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(
                self.target, self.args, self.kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
            )
        if self.op == "call_module":
            return normalize_module(root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs)
        return None

    # -- texts -----------------------------------------------------------------

    @property
    def stack_trace(self) -> str | None:
        """Where the step was recorded, innermost frame last; kept in ``meta["stack_trace"]``."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn is not None else self._name

    @staticmethod
    def _pretty_print_target(target: Any) -> str:
        if isinstance(target, str):
            return target
        module, name = getattr(target, "__module__", None), getattr(target, "__name__", None)
        if name is not None and module in ("builtins", "_operator"):
            return f"{module.removeprefix('_')}.{name}"
        return qualified_name(target)

    def format_node(
        self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None
    ) -> str | None:
        """Return the step as one line: ``%relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), ...)``.

        Parameters
        ----------
        placeholder_names, maybe_return_typename : list of str, optional
            Where given and not empty: placeholders and the output's type are put there, and placeholders return None.
        """
        kind = f"{type_text(self.type)} " if self.type is not None else ""
        head = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}[target={self._pretty_print_target(self.target)}]"
        if self.op == "placeholder":
            if placeholder_names:
                placeholder_names.append(self.target)
                return None
            return f"{head}(default={self.args[0]})" if self.args else head
        if self.op == "get_attr":
            return head
        if self.op == "output":
            if self.type is not None and maybe_return_typename:
                maybe_return_typename[0] = f" -> {type_text(self.type)}"
            return f"return {self.args[0]}"
        return f"{head}(args = {_format_argument(self.args)}, kwargs = {_format_argument(self.kwargs)})"


def _key_between(before: tuple, after: tuple, at_end: bool) -> tuple:
    """Return a key that sorts between two others: nodes compare by place without being numbered anew."""
    if at_end:
        return (before[0] + 1,) if before else (0,)
    if not before:
        return (*after[:-1], after[-1] - 1)
    if len(before) > len(after):
        return (*before[: len(after)], before[len(after)] + 1)
    if len(before) < len(after):
        return (*after[: len(before)], after[len(before)] - 1)
    return (*before, 0)
