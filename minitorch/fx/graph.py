"""`Graph`: a list of nodes, in the order in which they run, and how it is built and changed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from minitorch.fx.codegen import CodeGen, PythonCode
from minitorch.fx.codegen import PyTreeCodeGen as _PyTreeCodeGen  # noqa: F401 - PyTorch's path
from minitorch.fx.codegen import PyTreeInfo as _PyTreeInfo  # noqa: F401 - PyTorch's path
from minitorch.fx.naming import Namespace, snake_case
from minitorch.fx.node import OPS, Argument, Node, Target, map_arg

if TYPE_CHECKING:
    from minitorch.fx.graph_module import GraphModule

__all__ = ["Graph"]


class _Nodes:
    """The nodes of a graph, forwards or backwards; the graph may change meanwhile."""

    def __init__(self, graph: Graph, backwards: bool = False):
        self._graph = graph
        self._backwards = backwards

    def __len__(self) -> int:
        return self._graph._len

    def __iter__(self) -> Iterator[Any]:
        root = self._graph._root
        node = root._prev if self._backwards else root._next
        while node is not root:
            if not node._erased:
                yield node
            node = node._prev if self._backwards else node._next

    def __reversed__(self) -> Iterator[Any]:
        return iter(_Nodes(self._graph, not self._backwards))


class _InsertPoint:
    """Scope in which new nodes go to a given place."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]):
        self._graph = graph
        self._old = graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc_info: Any) -> None:
        self._graph._insert = self._old


class Graph:
    """What a function does, as a list of nodes.

    Parameters
    ----------
    owning_module : GraphModule, optional
        The module in which targets of ``get_attr`` and ``call_module`` are looked up.
    tracer_cls, tracer_extras : optional
        The tracer that made the graph, and what it needs to do so again.

    Examples
    --------
    >>> from minitorch import fx
    >>> graph = fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(minitorch.relu, (x,))
    >>> graph.output(y)
    output
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        return relu
    """

    def __init__(self, owning_module: GraphModule | None = None, tracer_cls: Any = None, tracer_extras: Any = None):
        self._root = Node.__new__(Node)
        Node.__init__(self._root, self, "", "root", "")
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = Namespace()
        self._by_target: dict[tuple, dict[Node, None]] = {}
        self._owning_module = owning_module
        self._owners = 0
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()

    @property
    def owning_module(self) -> GraphModule | None:
        """The module that the graph is of."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: GraphModule | None) -> None:
        self._owning_module = module

    def _hooks(self, kind: str) -> list[Callable[..., Any]]:
        return getattr(self._owning_module, kind, None) or []

    # -- looking ---------------------------------------------------------------

    @property
    def nodes(self) -> _Nodes:
        """The nodes in the order in which they run; ``reversed`` works, and changes of the graph on the way do."""
        return _Nodes(self)

    def output_node(self) -> Node:
        """Return the output, which is the last node."""
        last = self._root._prev
        if last.op != "output":
            raise AssertionError(f"the last node must be an output, got '{last}', a {last.op}")
        return last

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Any]:
        """Return the nodes of an op, and of a target if one is given, without walking through all of them.

        Parameters
        ----------
        op : str
        target : callable or str, optional
            ``call_function`` needs one.
        sort : bool
            In the order of the graph; otherwise in that of their creation.
        """
        if op == "call_function":
            if target is None:
                raise AssertionError("find_nodes(op='call_function') needs a target: the function to look for")
            found = list(self._by_target.get((op, target), ()))
        else:
            found = [n for n in self._by_target.get((op, None), ()) if target is None or n.target == target]
        return sorted(found) if sort else found

    @staticmethod
    def _key(node: Node) -> tuple:
        return (node.op, node.target if node.op == "call_function" else None)

    def _change_key(self, node: Node, attribute: str, value: Any) -> None:
        """Set a node's op or target, by which it is found."""
        listed = self._by_target.get(self._key(node), {})
        known = node in listed
        if known:
            del listed[node]
        setattr(node, attribute, value)
        if known:
            self._by_target.setdefault(self._key(node), {})[node] = None

    # -- building --------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node at the insert point, which is the end unless a scope says otherwise.

        Parameters
        ----------
        op : str
            See `Node`.
        name : str, optional
            What its name is made of; by default the target's.
        type_expr : object, optional
            Annotation of the value.

        Raises
        ------
        ValueError
            If the target does not suit the op.
        """
        if op not in OPS:
            raise AssertionError(f"create_node: unknown op {op!r}, expected one of {', '.join(OPS)}")
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"create_node: args must be a tuple, got {type(args).__name__}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"create_node: kwargs must be a dict, got {type(kwargs).__name__}")
        name = self._graph_namespace.create_name(name if name is not None else self._target_to_str(target))
        node = Node(self, name, op, target, args, kwargs, type_expr)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._by_target.setdefault(self._key(node), {})[node] = None
        self._len += 1
        for hook in self._hooks("_create_node_hooks"):
            hook(node)
        return node

    def _target_to_str(self, target: Target) -> str:
        text = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
        if isinstance(target, str) and text.startswith("__") and text.endswith("__"):
            text = text[2:-2]
        return snake_case(text)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """Add an input.

        Parameters
        ----------
        name : str
            The parameter's name; ``"*args"`` and ``"**kwargs"`` take the rest.
        default_value : object, optional
        """
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add a step that takes an attribute of the module by its path, such as ``"layer.weight"``."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: tuple | None = None, kwargs: dict | None = None, type_expr: Any = None
    ) -> Node:
        """Add a call of the submodule with this path."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self, method_name: str, args: tuple | None = None, kwargs: dict | None = None, type_expr: Any = None
    ) -> Node:
        """Add a call of a method of ``args[0]``."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple | None = None,
        kwargs: dict | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """Add a call of a function or operator."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """Add what the graph returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x) -> Node:
        """Add a copy of a node, which may be of another graph.

        Parameters
        ----------
        arg_transform : callable
            ``node -> node of this graph``, for the arguments.
        """
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        result = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        result.meta = copy.copy(node.meta)
        return result

    def graph_copy(self, g: Graph, val_map: dict[Node, Any], return_output_node: bool = False) -> Argument | None:
        """Add copies of the nodes of another graph, except of its output.

        Parameters
        ----------
        val_map : dict of Node to Node
            Filled with what stands here for each node of `g`.  Nodes that are in it already are not copied: so inputs
            of `g` become values of this graph.
        return_output_node : bool
            Return a pair: the value, and the output node of `g`.

        Returns
        -------
        Argument or None
            What `g` returns, in terms of this graph's nodes.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda n: val_map[n])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict | None = None) -> Graph:
        # By copying node by node: the default way would recurse as deep as the graph is long.
        result = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        val_map: dict[Node, Any] = {}
        found = result.graph_copy(self, val_map, return_output_node=True)
        result._codegen = copy.deepcopy(self._codegen)
        if found is not None:
            value, old = found
            new = result.output(value, type_expr=old.type)
            new.meta = copy.copy(old.meta)
            val_map[old] = new
        if memo is not None:
            memo.update({id(old): new for old, new in val_map.items()})
        return result

    def __reduce_ex__(self, protocol: Any) -> Any:
        from minitorch.fx.saved_graph import reduce_graph

        return reduce_graph(self)

    # -- changing --------------------------------------------------------------

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """Return a scope in which new nodes go before a node; before all others by default."""
        if n is None:
            return self.inserting_after(self._root)
        self._check_own(n, "inserting_before")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Return a scope in which new nodes go behind a node, in the order of their creation; at the end by default."""
        if n is None:
            return self.inserting_before(self._root)
        self._check_own(n, "inserting_after")
        place = n

        def insert(node: Node) -> None:
            nonlocal place
            place.append(node)
            place = node

        return _InsertPoint(self, insert)

    def _check_own(self, node: Node, caller: str) -> None:
        if node.graph is not self:
            raise AssertionError(f"{caller}: node '{node}' belongs to another graph")

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node that nobody uses.

        Raises
        ------
        RuntimeError
            If it has users, or is of another graph.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{', '.join(map(str, to_erase.users))}; give them another value first (replace_all_uses_with)"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        for hook in self._hooks("_erase_node_hooks"):
            hook(to_erase)
        self._by_target[self._key(to_erase)].pop(to_erase, None)
        to_erase._unlink()
        to_erase._erased = True
        self._len -= 1
        # It is no user any more; its own arguments are gone with that.
        to_erase._update_args_kwargs(map_arg(to_erase.args, lambda n: None), map_arg(to_erase.kwargs, lambda n: None))

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove nodes that nobody uses and that do nothing else either; return whether there were any.

        Parameters
        ----------
        is_impure_node : callable, optional
            ``node -> bool``: whether a node must stay without users; `Node.is_impure` by default.
        """
        self.lint()
        changed = False
        for node in reversed(self.nodes):
            impure = node.is_impure() if is_impure_node is None else is_impure_node(node)
            if not impure and not node.users:
                self.erase_node(node)
                changed = True
        return self._clean_submodules() or changed

    def _clean_submodules(self) -> bool:
        """Remove dead code from the graphs that this graph takes as values (``get_attr``)."""
        changed = False
        owner = self.owning_module
        for name in {n.target for n in self.find_nodes(op="get_attr", sort=False)} if owner is not None else ():
            child: Any = getattr(owner, name, None) if "." not in name else None
            graph = getattr(child, "graph", None)
            if isinstance(graph, Graph):
                changed = graph.eliminate_dead_code() or changed
                child.recompile()
        return changed

    def lint(self) -> None:
        """Check that the graph is well formed.

        Raises
        ------
        RuntimeError
            If a node uses another one that comes later or is of another graph, if two have the same name, or if the
            owning module lacks the target of a ``get_attr`` or ``call_module``.
        """
        names: set[str] = set()
        seen: set[Node] = set()
        for node in self.nodes:
            if node.op not in OPS:
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for arg in node._input_nodes:
                if arg.graph is not self:
                    raise RuntimeError(
                        f"Argument '{arg}' of Node '{node}' does not belong to this Graph, but was used as an argument! "
                        f"Copies of nodes need the arg_transform of node_copy, which maps to nodes of this graph\n{self}"
                    )
                if arg not in seen:
                    raise RuntimeError(
                        f"Argument '{arg}' of Node '{node}' was used before it has been defined! "
                        f"Nodes must come after those that they use\n{self}"
                    )
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None:
                self._check_target(node)

    def _check_target(self, node: Node) -> None:
        if node.op == "call_function":
            if not callable(node.target):
                raise ValueError(f"Node {node}: the target of a call_function must be callable, got {node.target!r}")
            return
        if not isinstance(node.target, str):
            raise ValueError(f"Node {node}: the target of a {node.op} must be a str, got {node.target!r}")
        if node.op not in ("get_attr", "call_module"):
            return
        from minitorch.nn.modules.module import Module

        value: Any = self.owning_module
        atoms = node.target.split(".")
        for i, atom in enumerate(atoms):
            value = getattr(value, atom, None)
            if value is None:
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {atom} of {'.'.join(atoms[:i])}"
                )
        if node.op == "call_module" and not isinstance(value, Module):
            raise RuntimeError(f"Node {node} target {node.target} does not reference an nn.Module")

    # -- code ------------------------------------------------------------------

    def process_inputs(self, *args: Any) -> Any:
        """Return the values of the placeholders for the arguments of a call."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """Return what a call returns for the value of the output node."""
        return self._codegen.process_outputs(out)

    def python_code(self, root_module: str, *, verbose: bool = False, **options: Any) -> PythonCode:
        """Return the graph as the source of a function ``forward``.

        Parameters
        ----------
        root_module : str
            The name by which the code calls the module: ``"self"``.
        verbose : bool
            With comments on where steps come from, and shapes as annotations.
        **options
            ``include_stride``, ``include_device``, ``colored``, ``expanded_def``: more of the latter.
        """
        namespace = Namespace()  # its own: in code, names of values also stay clear of those of functions
        nodes = list(self.nodes)
        old = [node._repr_fn for node in nodes]
        for node in nodes:
            node._repr_fn = lambda n: namespace.create_name(n.name, n)
        try:
            return self._codegen.generate(self.nodes, root_module, namespace, verbose=verbose, **options)
        finally:
            for node, fn in zip(nodes, old, strict=True):
                node._repr_fn = fn

    def set_codegen(self, codegen: CodeGen) -> None:
        """Replace what writes the code."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[Any], Callable[[list[str]], list[str]]]) -> Any:
        """Let a function rewrite the lines of generated code.

        Parameters
        ----------
        make_transformer : callable
            ``current transformer or None -> transformer``, where a transformer maps a list of lines to another one.

        Returns
        -------
        context manager
            Leaving it puts the old transformer back.
        """
        old = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(old)

        @contextmanager
        def scope() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = old

        return scope()

    def __str__(self) -> str:
        lines = [node.format_node() for node in self.nodes]
        return "\n    ".join(["graph():", *[line for line in lines if line]])

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [["opcode", "name", "target", "args", "kwargs"]]
        rows += [[str(cell) for cell in (n.op, n.name, n._pretty_print_target(n.target), n.args, n.kwargs)] for n in self.nodes]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        rows.insert(1, ["-" * width for width in widths])
        for row in rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
