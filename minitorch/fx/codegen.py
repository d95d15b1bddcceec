"""Python code from a graph: one statement a node, and values are let go after their last use."""

from __future__ import annotations

import enum
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from minitorch.core.pytree import TreeSpec, tree_leaves, tree_unflatten
from minitorch.core.symbolic import is_symbolic
from minitorch.dispatch.namespace import OpOverload
from minitorch.fx.naming import Namespace, custom_builtins, from_torch, qualified_name, type_text
from minitorch.fx.node import Node
from minitorch.fx.operators import inplace_methods, magic_methods
from minitorch.tensor.tensor import Tensor

__all__ = ["CodeGen", "PyTreeCodeGen", "PyTreeInfo", "PythonCode"]


@dataclass
class PythonCode:
    """The source of a function, and what it needs to run.

    Attributes
    ----------
    src : str
    globals : dict
        Values of the names that the source does not define.
    _lineno_map : dict
        Index of the node that a line of the source is of, by the line's number counted from the ``def``.
    _prologue_start : int
        The line of the source that has the ``def``.
    """

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] = field(default_factory=dict)
    _prologue_start: int = 0


_DTYPE_NAMES = {
    "bfloat16": "bf16", "float64": "f64", "float32": "f32", "float16": "f16", "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2", "float8_e4m3fnuz": "f8e4m3fnuz", "float8_e5m2fnuz": "f8e5m2fnuz", "float8_e8m0fnu": "f8e8m0fnu",
    "complex32": "c32", "complex64": "c64", "complex128": "c128", "int8": "i8", "int16": "i16", "int32": "i32",
    "int64": "i64", "bool": "b8", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}
_COLORS = {"red": "31", "blue": "34", "dim": "2", "dim_blue": "2;34", "dim_green": "2;32"}
_OLD_GENERICS = {
    list: typing.List, dict: typing.Dict, set: typing.Set, frozenset: typing.FrozenSet, tuple: typing.Tuple,  # noqa: UP006
}


def _format_target(base: str, target: str) -> str:
    """Return the expression of an attribute by its path; names that are no identifiers go through getattr."""
    for atom in target.split("."):
        base = f"{base}.{atom}" if atom.isidentifier() else f'getattr({base}, "{atom}")'
    return base


def dtype_text(dtype: Any) -> str:
    """Return a dtype's short name: ``"f32"``."""
    name = str(dtype).removeprefix("torch.")
    return _DTYPE_NAMES.get(name, name)


def last_uses(nodes: Iterable[Node]) -> dict[Node, list[Node]]:
    """Return, by node, the nodes whose values are used there for the last time."""
    seen: set[Node] = set()
    result: dict[Node, list[Node]] = {}
    for user in reversed(nodes):  # type: ignore[call-overload]
        for node in user._input_nodes:
            if node not in seen:
                seen.add(node)
                result.setdefault(user, []).append(node)
    return result


class _Writer:
    """The state of writing one function."""

    def __init__(self, namespace: Namespace, options: dict[str, Any]):
        self.namespace = namespace
        self.globals: dict[str, Any] = {}
        self.parameters: list[str] = []
        self.body: list[tuple[int | None, str]] = []  # lines, and the index of the node that each is of
        self.wrapped: dict[str, None] = {}
        self.return_annotation = ""
        self.verbose = options.pop("verbose", False)
        self.include_stride = options.pop("include_stride", False)
        self.include_device = options.pop("include_device", False)
        self.colored = options.pop("colored", False)
        self.expanded_def = options.pop("expanded_def", False)
        self.additional_meta = options.pop("additional_meta", None) or ()
        if options:
            raise TypeError(f"python_code() got an unexpected keyword argument {next(iter(options))!r}")
        self._last_source = ""

    def color(self, name: str, text: str) -> str:
        return f"\033[{_COLORS[name]}m{text}\033[0m" if self.colored else text

    def add_global(self, hint: str, obj: Any) -> str:
        """Return the name by which the code reaches something that is none of its values."""
        import minitorch

        if obj is not minitorch.device and from_torch(obj):
            return qualified_name(obj)
        name = self.namespace.create_name(hint, obj)
        self.globals[name] = obj
        return name

    def type_text(self, kind: Any) -> str:
        """Return an annotation as the code says it; classes in it become globals."""
        if kind == ():
            return "()"
        text = type_text(kind)
        if isinstance(kind, types.UnionType):
            return "|".join(map(self.type_text, typing.get_args(kind)))
        origin = getattr(kind, "__origin__", None)
        if origin is None:
            return self.add_global(text, kind)
        if isinstance(kind, typing._GenericAlias):  # type: ignore[attr-defined]
            origin = _OLD_GENERICS.get(origin, origin)
        name = self.add_global(type_text(origin), origin)
        args = typing.get_args(kind)
        return f"{name}[{','.join(map(self.type_text, args))}]" if args else name

    def text(self, value: Any) -> str:
        """Return the expression of an argument."""
        if isinstance(value, Node):
            return repr(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return f"{self.add_global(qualified_name(type(value)), type(value))}({', '.join(map(self.text, value))})"
        if isinstance(value, OpOverload) or (callable(value) and from_torch(value) and not isinstance(value, Tensor)):
            return qualified_name(value)
        if isinstance(value, enum.Enum):
            return f"{self.add_global(type(value).__name__, type(value))}.{value.name}"
        if isinstance(value, Tensor):  # legible, though no expression: tensors are attributes where code is to run
            return f"torch.Tensor(size={list(value.shape)}, dtype={str(value.dtype).split('.')[-1]})"
        if isinstance(value, tuple):
            return f"({self.text(value[0])},)" if len(value) == 1 else f"({', '.join(map(self.text, value))})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key!r}: {self.text(item)}" for key, item in value.items()) + "}"
        if isinstance(value, slice):
            return f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})"
        return self.color("blue", repr(value))

    def arguments(self, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        return ", ".join([*map(self.text, args), *(f"{key} = {self.text(value)}" for key, value in kwargs.items())])

    # -- what verbose code says besides ----------------------------------------

    def source_comment(self, node: Node) -> str | None:
        """Return a comment on where the node comes from, where that is not said already."""
        if node.op in ("placeholder", "output"):
            return None
        meta = ", ".join(f"{key}: {node.meta[key]}" for key in self.additional_meta if key in node.meta)
        found = parse_stack_trace(node.stack_trace)
        where = "No stacktrace found for following nodes" if found is None else found
        text = f"{f'# {meta} ' if meta else ''}# {where}"
        if text == self._last_source:
            return None
        self._last_source = text
        return f"\n{self.color('dim', text)}"

    def shape_annotation(self, node: Node) -> str | None:
        """Return the quoted dtype and shape of the node's value, if its meta says them."""
        value: Any = node.meta.get("val", node.meta.get("tensor_meta", node.meta.get("example_value")))
        if is_symbolic(value):
            return f'"Sym({value})"'
        if value is None or not hasattr(value, "dtype") or not hasattr(value, "shape"):
            return None
        text = self.color("red", dtype_text(value.dtype)) + self.color("blue", _shape_text(value.shape))
        if self.include_stride:
            text += self.color("dim_blue", _shape_text(value.stride() if callable(value.stride) else value.stride))
        if self.include_device and hasattr(value, "device"):
            text += self.color("dim_green", str(value.device))
        kind = type(value)
        plain = not isinstance(value, Tensor) or kind is Tensor or kind.__name__ == "FakeTensor"
        return f'"{text}"' if plain else f'"{kind.__name__}({text})"'


def _shape_text(shape: Any) -> str:
    return f"[{', '.join(map(str, shape))}]"


_FRAME = re.compile(r"^File \"(.+)\", line (\d+), in (.+)$")


def parse_stack_trace(trace: str | None) -> str | None:
    """Return the innermost frame of a stack trace as ``File: model.py:3 in forward, code: x + 1``."""
    lines = (trace or "").strip().split("\n")
    for i in range(len(lines) - 2, -1, -1):
        found = _FRAME.match(lines[i].strip())
        if found:
            return f"File: {found[1]}:{found[2]} in {found[3]}, code: {lines[i + 1].strip()}"
    return None


def _call_with_accepted(method: Callable[..., str], *args: Any, **options: Any) -> str:
    """Call a method of a code generator that may be somebody's own and take fewer options."""
    parameters = inspect.signature(method).parameters
    return method(*args, **{name: value for name, value in options.items() if name in parameters})


class CodeGen:
    """Writes the code of graphs; subclasses change how arguments arrive and results leave.

    Attributes
    ----------
    _body_transformer : callable or None
        See `Graph.on_generate_code`.
    """

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """Return the head of the function, up to the colon and what must follow at once.

        Parameters
        ----------
        free_vars : list of str
            The parameters, with annotations and defaults.
        """
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        inside = "".join(f"\n    {name}," for name in free_vars) + "\n" if expanded_def else ", ".join(free_vars)
        return f"def {self._func_name}({inside}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *, repr_fn: Callable[[Any], str] = repr) -> str:
        """Return the return statement."""
        return f"return {repr_fn(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """Return the values of the placeholders for the arguments of a call."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """Return what a call returns for the value of the output node."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Return names that the code of this class uses, and their values."""
        return []

    def generate(self, nodes: Any, root_module: str, namespace: Namespace, **options: Any) -> PythonCode:
        """Return the code of a graph (`Graph.python_code`)."""
        writer = _Writer(namespace, options)
        for name, (_, value) in custom_builtins.items():
            writer.globals[namespace.create_name(name, value)] = value
        released = last_uses(nodes)
        for i, node in enumerate(nodes):
            if writer.verbose:
                comment = writer.source_comment(node)
                if comment is not None:
                    writer.body.append((i, comment + "\n"))
            statement = self._statement(node, root_module, writer)
            if statement is not None:
                writer.body.append((i, statement + self._release(node, released, writer) + "\n"))
        if not writer.body:
            writer.body.append((None, "pass\n"))
        return self._assemble(writer)

    def _statement(self, node: Node, root_module: str, writer: _Writer) -> str | None:
        """Return the statement of a node; of a placeholder only where its variable is not the parameter."""
        annotation = "" if node.type is None else f" : {writer.type_text(node.type)}"
        if writer.verbose:
            shape = writer.shape_annotation(node)
            annotation = annotation if shape is None else f": {shape}"
        if node.op == "placeholder":
            default = f" = {writer.text(node.args[0])}" if node.args else ""
            writer.parameters.append(f"{node.target}{annotation}{default}")
            name = node.target.replace("*", "")
            return f"{node!r} = {name}" if name != repr(node) else None
        if node.op == "output":
            if node.type is not None:
                writer.return_annotation = f" -> {writer.type_text(node.type)}"
            return _call_with_accepted(self.generate_output, node.args[0], repr_fn=writer.text)
        target = f"{node!r}{annotation} = "
        if node.op == "get_attr":
            return target + _format_target(root_module, node.target)
        if node.op == "call_module":
            return f"{target}{_format_target(root_module, node.target)}({writer.arguments(node.args, node.kwargs)})"
        if node.op == "call_method":
            method = _format_target(writer.text(node.args[0]), node.target)
            return f"{target}{method}({writer.arguments(node.args[1:], node.kwargs)})"
        return self._call(node, target, writer)

    def _call(self, node: Node, target: str, writer: _Writer) -> str:
        """Return the statement of a call_function; Python's operators are written as such."""
        func, args = node.target, node.args
        if getattr(func, "__module__", "") == "_operator":
            if func.__name__ in magic_methods:
                return target + magic_methods[func.__name__].format(*map(writer.text, args))
            if func.__name__ in inplace_methods:
                change = inplace_methods[func.__name__].format(*map(writer.text, args))
                return f"{change};  {target}{writer.text(args[0])}"
        name = writer.add_global(qualified_name(func), func)
        if name == "getattr" and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
            return target + _format_target(writer.text(args[0]), args[1])
        if node.meta.get("is_wrapped", False):
            writer.wrapped.setdefault(name)
        return f"{target}{name}({writer.arguments(args, node.kwargs)})"

    @staticmethod
    def _release(node: Node, released: dict[Node, list[Node]], writer: _Writer) -> str:
        """Return what lets values go that are not used again."""
        if node.op in ("placeholder", "output"):
            return ""
        gone = released.get(node, [])
        if not node.users:
            gone = [*gone, node]
        return f";  {writer.color('dim', ' = '.join([*map(repr, gone), 'None']))}" if gone else ""

    def _assemble(self, writer: _Writer) -> PythonCode:
        """Put head and body together, and note which line is of which node."""
        wraps = ""
        if writer.wrapped:
            from minitorch import fx

            wrap = writer.add_global("wrap", fx.wrap)
            wraps = "\n".join(f'{wrap}("{name}")' for name in writer.wrapped)
        lines = writer.body
        if self._body_transformer is not None:
            # Lines may come and go in there: the nodes' indices travel as comments.
            marked = [part for i, text in lines for part in (f"# COUNTER: {i}\n", text)]
            lines = _unmarked(self._body_transformer(marked))
        for name, value in self.additional_globals():
            writer.add_global(name, value)
        head = _call_with_accepted(
            self.gen_fn_def, writer.parameters, writer.return_annotation, expanded_def=writer.expanded_def
        )
        offset = head.count("\n") + 1
        numbers: dict[int, int | None] = {}
        code: list[str] = []
        for i, text in lines:
            for line in text.removesuffix("\n").split("\n"):
                if line or code:  # none that are empty at the start
                    numbers[len(code) + offset] = i
                    code.append(line)
        body = "\n".join("    " + line for line in [*code, ""])
        return PythonCode(f"\n{wraps}\n\n{head}\n{body}", writer.globals, numbers, wraps.count("\n") + 4)


def _unmarked(body: list[str]) -> list[tuple[int | None, str]]:
    """Return lines with the indices that comments between them say."""
    result: list[tuple[int | None, str]] = []
    current: int | None = None
    for line in "".join(body).rstrip("\n").split("\n"):
        found = re.search(r"# COUNTER: (\d+|None)", line)
        if found:
            current = int(found[1]) if found[1] != "None" else None
        else:
            result.append((current, line + "\n"))
    return result


class PyTreeInfo(typing.NamedTuple):
    """How nested arguments and results are flattened around a graph.

    Attributes
    ----------
    orig_args : list of str
        Names of the parameters.
    in_spec, out_spec : TreeSpec or None
        The structure of the tuple of arguments, and of the result.
    """

    orig_args: list[str]
    in_spec: TreeSpec
    out_spec: TreeSpec | None


class PyTreeCodeGen(CodeGen):
    """Code whose function takes and returns nested containers, where the graph has their leaves."""

    def __init__(self, pytree_info: PyTreeInfo):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *args: Any) -> Any:
        return tree_leaves(args)

    def process_outputs(self, outputs: Any) -> Any:
        if self.pytree_info.out_spec is None:
            return outputs
        return tree_unflatten(outputs if isinstance(outputs, (list, tuple)) else [outputs], self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        names = list(self.pytree_info.orig_args)
        if names[:1] == ["self"]:
            free_vars.insert(0, "self")
        head = super().gen_fn_def(names, maybe_return_annotation, expanded_def=expanded_def)
        if not free_vars:
            return head
        annotated = [name for name in free_vars if ":" in name]
        if annotated:  # an annotated name cannot stand on the left of a tuple assignment
            head += "\n    " + "".join(name.split(" = ")[0] + "; " for name in annotated) + "\n"
        plain = [name.split(":")[0].split("#")[0].split(" = ")[0] for name in free_vars]
        values = ", ".join(self.pytree_info.orig_args)
        return f"{head}\n    {', '.join(plain)}, = fx_pytree.tree_flatten_spec([{values}], self._in_spec)"

    def generate_output(self, output_args: Any, *, repr_fn: Callable[[Any], str] = repr) -> str:
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args, repr_fn=repr_fn)
        return f"return pytree.tree_unflatten({repr_fn(output_args)}, self._out_spec)"
