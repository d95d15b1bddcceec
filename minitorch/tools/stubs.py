"""Type stubs of the public functions and of `Tensor`, written from the operator table.

    python -m minitorch.tools.stubs           writes minitorch/__init__.pyi and minitorch/tensor/tensor.pyi
    python -m minitorch.tools.stubs --check   fails when they are stale

Note [What the stubs are made of]
    Operators come from their schemas; an ``out=`` overload is folded into its functional one.
    Handwritten methods come from `inspect.signature`, those of `TensorBase` from its source,
    because compiled functions have no annotations and the text must not depend on whether the
    core is compiled.  What `minitorch/__init__.py` imports is exported again as it stands there.
    Methods are called ``int``, ``dtype``, ``device``, so types have names with an underscore.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import keyword
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FunctionType
from typing import Any

from minitorch import functional
from minitorch.compiled import MODULES as COMPILED_MODULES
from minitorch.dispatch.operator import OPERATORS
from minitorch.dispatch.schema import Argument, Type
from minitorch.lazy_names import SUBMODULES
from minitorch.ops.assemble import function_names, method_names, operator_named
from minitorch.ops.binder import named_results, stands_alone
from minitorch.ops.registry import DECLARATIONS, FUNCTION, METHOD, Declaration
from minitorch.tensor.tensor import Tensor

PACKAGE = Path(__file__).parents[1]
WIDTH = 118

HEADER = '''\
# Written by `python -m minitorch.tools.stubs`; do not edit.
# ruff: noqa
'''
TYPES = '''\
from builtins import (
    bool as _bool, bytes as _bytes, complex as _complex, dict as _dict, float as _float, int as _int, list as _list,
    object as _object, set as _set, str as _str, tuple as _tuple, type as _type,
)
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, overload

from minitorch.core.device import device as _device
from minitorch.core.dtype import dtype as _dtype
from minitorch.core.layout import layout as _layout
from minitorch.core.memory_format import memory_format as _memory_format
from minitorch.core.size import Size as _Size
from minitorch.random import Generator as _Generator
'''
ALIASES = '''\
_Number: TypeAlias = _int | _float | _complex
_Device: TypeAlias = _device | _str | _int
'''

# Base names of schema types -> what a caller may pass, and what a caller gets.
ARGUMENT_TYPES = {
    "Tensor": "Tensor", "int": "_int", "SymInt": "_int", "float": "_float", "bool": "_bool", "str": "_str",
    "Scalar": "_Number", "ScalarType": "_dtype", "Device": "_Device", "Layout": "_layout",
    "MemoryFormat": "_memory_format", "Generator": "_Generator",
}
RETURN_TYPES = {**ARGUMENT_TYPES, "Device": "_device"}
# Names in annotations of handwritten methods; an annotation with another name becomes Any.
ANNOTATION_NAMES = {
    **{name: f"_{name}" for name in (
        "bool", "bytes", "complex", "device", "dict", "dtype", "float", "int", "layout", "list", "memory_format", "object",
        "set", "str", "tuple", "type",
    )},
    **{name: name for name in ("Any", "Callable", "Iterable", "Iterator", "Sequence", "Tensor")},
    "Generator": "_Generator", "Size": "_Size", "TensorBase": "Tensor", "device_class": "_device", "dtype_class": "_dtype",
}
# What source without annotations returns.
RETURNS = {
    "__bool__": "_bool", "__complex__": "_complex", "__contains__": "_bool", "__float__": "_float", "__hash__": "_int",
    "__index__": "_int", "__int__": "_int", "__iter__": "Iterator[Tensor]", "__len__": "_int", "_version": "_int",
    "bump_version": "None", "device": "_device", "dim": "_int", "dtype": "_dtype", "element_size": "_int",
    "grad": "Tensor | None", "is_inference": "_bool", "is_leaf": "_bool", "item": "_Number | _bool",
    "layout": "_layout", "ndim": "_int", "numel": "_int", "shape": "_Size", "tolist": "Any",
}
# Written out where one signature says too little.
BY_HAND = {
    "__init__": ["def __init__(self, *args: Any, **kwargs: Any) -> None: ..."],
    "size": ["def size(self, dim: None = None) -> _Size: ...", "def size(self, dim: _int) -> _int: ..."],
    "stride": ["def stride(self, dim: None = None) -> _tuple[_int, ...]: ...", "def stride(self, dim: _int) -> _int: ..."],
    "__getitem__": ["def __getitem__(self, index: Any) -> Tensor: ..."],
    "__setitem__": ["def __setitem__(self, index: Any, value: Any) -> None: ..."],
    "__iter__": ["def __iter__(self) -> Iterator[Tensor]: ..."],
    "ndimension": ["def ndimension(self) -> _int: ..."],
    "nelement": ["def nelement(self) -> _int: ..."],
    "__array__": ["def __array__(self, dtype: Any = None, copy: _bool | None = None) -> Any: ..."],
}  # fmt: skip
UNARY = ("__abs__", "__invert__", "__neg__", "__pos__")
BINARY = (
    "__add__", "__and__", "__eq__", "__floordiv__", "__ge__", "__gt__", "__iadd__", "__iand__", "__ifloordiv__",
    "__ilshift__", "__imod__", "__imul__", "__ior__", "__ipow__", "__irshift__", "__isub__", "__itruediv__", "__ixor__",
    "__le__", "__lshift__", "__lt__", "__matmul__", "__mod__", "__mul__", "__ne__", "__or__", "__pow__", "__radd__",
    "__rand__", "__rfloordiv__", "__rlshift__", "__rmatmul__", "__rmod__", "__rmul__", "__ror__", "__rpow__",
    "__rrshift__", "__rshift__", "__rsub__", "__rtruediv__", "__rxor__", "__sub__", "__truediv__", "__xor__",
)  # fmt: skip
PLAIN = ("__bool__", "__complex__", "__float__", "__hash__", "__index__", "__int__", "__len__")
# Fields of the compiled base, declared in tensor/base.pxd, that other packages read.
FIELDS = {
    "handle": "Any", "key_set": "_int", "requires_grad_flag": "_bool", "node": "Any", "output_nr": "_int",
    "grad_slot": "Tensor | None", "version_counter": "Any", "storage_cell": "Any", "view_info": "Any",
    "autograd_meta": "Any", "shape_cache": "_Size | None", "extra": "Any",
}  # fmt: skip
# Imported by `minitorch/__init__.py` for its own use.
PRIVATE_MODULES = ("minitorch.loading",)
PRIVATE_NAMES = ("prefer_source_if_asked",)


# -- schemas ---------------------------------------------------------------------------


def argument_type(kind: Type, numbers: bool = False) -> str:
    """Return the annotation of an argument: ``int[2]?`` is ``_int | Sequence[_int] | None``."""
    if kind.element is not None:
        text = f"Sequence[{argument_type(kind.element)}]"
        if kind.size is not None and kind.base != "Tensor":
            text = f"{argument_type(kind.element)} | {text}"
    else:
        text = ARGUMENT_TYPES.get(kind.base, "Any")
        if numbers and kind.base == "Tensor":
            text = "Tensor | _Number"
    return f"{text} | None" if kind.is_optional else text


def return_type(operator: Any) -> str:
    """Return the annotation of an operator's result."""
    named = named_results(operator)
    if named is not None:
        return result_class(named._fields)
    types = [one_return_type(r.type) for r in operator.schema.returns]
    if len(types) == 1:
        return types[0]
    return f"_tuple[{', '.join(types)}]" if types else "None"


def one_return_type(kind: Type) -> str:
    if kind.element is not None:
        return f"_tuple[{one_return_type(kind.element)}, ...]"
    text = RETURN_TYPES.get(kind.base, "Any")
    return f"{text} | None" if kind.is_optional else text


def result_class(fields: Iterable[str]) -> str:
    """Return the name of the stub's class for named results."""
    return "_" + "_".join(fields)


def default_text(value: Any) -> str:
    """Return a default as a stub writes it; ``...`` where it is no plain constant."""
    if value is None or isinstance(value, (bool, int, str)):
        return repr(value)
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return repr(value)
    return "..."


def signature_lines(name: str, declaration: Declaration, is_method: bool) -> list[str]:
    """Return the stub's ``def`` of one overload, and where sizes may come one by one, a second."""
    operator = operator_named(declaration.name)
    arguments: list[Argument] = list(operator.schema.arguments)
    outs = [a for a in arguments if a.is_out]
    arguments = [a for a in arguments if not a.is_out]
    out = None
    if outs:
        out = ("Tensor" if len(outs) == 1 else "Sequence[Tensor]", False)
    elif not is_method and has_out(declaration):
        out = ("Tensor | None" if len(operator.schema.returns) == 1 else "Sequence[Tensor] | None", True)
    place = stands_alone(operator.schema.arguments, is_method)
    alone = operator.schema.arguments[place] if place >= 0 else None
    numbers = operator.allow_numbers
    result = return_type(operator)

    positional = [a for a in arguments if not a.kwarg_only]
    if is_method:
        positional = [a for a in positional if a.name != "self"]
    keywords = [a for a in arguments if a.kwarg_only]
    tail = [one_parameter(a, numbers, a.has_default) for a in keywords]
    if out is not None:
        tail.append(f"out: {out[0]}" + (" = None" if out[1] else ""))
    if any(a.name == "pin_memory" for a in arguments):
        tail.append("requires_grad: _bool = False")

    def line(head: list[str], star: bool) -> str:
        parts = ["self"] * is_method + head + (["*"] if star and tail else []) + tail
        return f"def {name}({', '.join(parts)}) -> {result}: ..."

    head, optional = [], True
    for a in reversed(positional):
        optional = optional and a.has_default
        first = not is_method and a is positional[0]
        head.append(one_parameter(a, numbers and not first, optional, is_method))
        if keyword.iskeyword(a.name):
            head.insert(-1, "/")
    head.reverse()
    lines = [line(head, True)]
    if alone is not None:
        lines.append(line([*head[: positional.index(alone)], f"*{alone.name}: _int"], False))
    return lines


def one_parameter(argument: Argument, numbers: bool, optional: bool, is_method: bool = False) -> str:
    name = argument.name
    if name == "self" and not is_method:
        name = "input"
    if keyword.iskeyword(name):
        name += "_"
    text = f"{name}: {argument_type(argument.type, numbers)}"
    return f"{text} = {default_text(argument.default)}" if optional and argument.has_default else text


_with_out: set[str] = set()


def has_out(declaration: Declaration) -> bool:
    """Return whether an ``out=`` overload is derived from a declared operator."""
    if not _with_out:
        _with_out.update(d.functional for d in DECLARATIONS.values() if d.kind == "out" and d.functional)
    return declaration.name in _with_out


def operator_lines(name: str, variant: int) -> list[str]:
    """Return the stub's definitions of a public function or method."""
    lines: list[str] = []
    for declaration in DECLARATIONS.values():
        if declaration.name.partition(".")[0] != name or not declaration.variants & variant:
            continue
        if declaration.kind == "out" and (variant == METHOD or declaration.functional):
            continue
        if variant == FUNCTION and declaration.python_module is not None:
            continue
        lines += [text for text in signature_lines(name, declaration, variant == METHOD) if text not in lines]
    return lines


def named_classes() -> list[str]:
    """Return the classes of named results."""
    fields = {tuple(t._fields) for t in map(named_results, map(operator_named, DECLARATIONS)) if t is not None}
    text = []
    for names in sorted(fields):
        text += ["", f"class {result_class(names)}(NamedTuple):", *(f"    {n}: Tensor" for n in names)]
    return text


# -- handwritten code --------------------------------------------------------------------


class _Names(ast.NodeTransformer):
    """Gives the names in an annotation their names in the stub."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(ANNOTATION_NAMES[node.id], ast.Load())

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        raise KeyError(node.attr)


def annotation(text: Any) -> str:
    """Return a source annotation in the stub's names; Any where it has names the stub does not know."""
    if not isinstance(text, str):
        return "Any"
    try:
        return ast.unparse(_Names().visit(ast.parse(text.strip("'\""), mode="eval")).body)
    except (KeyError, SyntaxError):
        return "Any"


def function_line(name: str, function: Callable[..., Any], is_method: bool = False) -> str:
    """Return the ``def`` of a Python function, by `inspect.signature`; a method's first parameter is ``self``."""
    signature = inspect.signature(function)
    parts, starred = [], False
    for place, p in enumerate(signature.parameters.values()):
        if p.kind is p.VAR_POSITIONAL:
            starred = True
            parts.append(f"*{p.name}: {annotation(p.annotation)}")
            continue
        if p.kind is p.VAR_KEYWORD:
            parts.append(f"**{p.name}: {annotation(p.annotation)}")
            continue
        if p.kind is p.KEYWORD_ONLY and not starred:
            starred = True
            parts.append("*")
        if is_method and place == 0:
            parts.append("cls" if p.name == "cls" else "self")
            continue
        text = f"{p.name}: {annotation(p.annotation)}"
        parts.append(text if p.default is p.empty else f"{text} = {default_text(p.default)}")
    found = annotation(signature.return_annotation)
    if found == "Any":
        found = RETURNS.get(name, "Any")
    return f"def {name}({', '.join(parts)}) -> {found}: ..."


def property_lines(name: str, value: property) -> list[str]:
    """Return the stub of a property, its setter included."""
    given = getattr(value.fget, "__annotations__", {}).get("return")
    kind = RETURNS.get(name) or annotation(given)
    lines = ["@property", f"def {name}(self) -> {kind}: ..."]
    if value.fset is not None:
        lines += [f"@{name}.setter", f"def {name}(self, value: {kind}) -> None: ..."]
    return lines


def base_members() -> dict[str, list[str]]:
    """Return the stubs of the members of `TensorBase`, read from its source."""
    tree = ast.parse((PACKAGE / "tensor" / "base.py").read_text(encoding="utf-8"))
    cls = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "TensorBase")
    members = {}
    for node in cls.body:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("__"):
            continue
        kind = RETURNS.get(node.name, "Any")
        if any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list):
            members[node.name] = ["@property", f"def {node.name}(self) -> {kind}: ..."]
        elif not node.decorator_list:
            names = [a.arg for a in node.args.args]
            required = len(names) - len(node.args.defaults)
            parts = ["self"] + [f"{n}: Any" + (" = ..." if i >= required else "") for i, n in enumerate(names) if i]
            members[node.name] = [f"def {node.name}({', '.join(parts)}) -> {kind}: ..."]
    return members


def tensor_members() -> dict[str, list[str]]:
    """Return the stub lines of each member of `Tensor`, overloads undecorated."""
    members = base_members()
    for name, value in vars(Tensor).items():
        if name.startswith("__") or hasattr(value, "binder"):
            continue
        if isinstance(value, property):
            members[name] = property_lines(name, value)
        elif isinstance(value, (classmethod, staticmethod)):
            bound = isinstance(value, classmethod)
            members[name] = [f"@{type(value).__name__}", function_line(name, value.__func__, is_method=bound)]
        elif isinstance(value, FunctionType) and value.__module__ not in COMPILED_MODULES:
            members[name] = [function_line(name, value, is_method=True)]
    for name in method_names():
        if name not in members:
            members[name] = operator_lines(name, METHOD)
    for name in BINARY:
        members[name] = [f"def {name}(self, other: Any) -> Tensor: ..."]
    for name in UNARY:
        members[name] = [f"def {name}(self) -> Tensor: ..."]
    for name in PLAIN:
        members[name] = [f"def {name}(self) -> {RETURNS[name]}: ..."]
    members.update(BY_HAND)
    return members


def laid_out(lines: list[str], indent: str = "") -> list[str]:
    """Return definitions with their ``@overload`` marks, long ones broken after the bracket."""
    count = sum(line.startswith("def ") for line in lines)
    overloaded = count > 1 and not any(line.startswith("@") for line in lines)
    result = []
    for line in lines:
        if overloaded:
            result.append(f"{indent}@overload")
        if len(indent + line) <= WIDTH:
            result.append(indent + line)
            continue
        head, _, rest = line.partition("(")
        arguments, _, tail = rest.rpartition(") -> ")
        result += [f"{indent}{head}(", *filled(arguments, indent + "    "), f"{indent}) -> {tail}"]
    return result


def filled(arguments: str, indent: str) -> list[str]:
    """Return parameters in lines of at most `WIDTH` characters, broken between parameters."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(arguments):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(arguments[start : place + 1])
            start = place + 2
    parts.append(arguments[start:])
    lines = [indent + parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + 1 + len(part) <= WIDTH:
            lines[-1] += " " + part
        else:
            lines.append(indent + part)
    return lines


# -- the two files -----------------------------------------------------------------------


def tensor_stub() -> str:
    """Return the text of ``minitorch/tensor/tensor.pyi``."""
    lines = [HEADER + TYPES + "from minitorch.tensor.base import TensorBase", "", ALIASES.rstrip(), *named_classes()]
    lines += ["", "class Tensor(TensorBase):"]
    lines += [f"    {name}: {kind}" for name, kind in FIELDS.items()]
    for name, definition in sorted(tensor_members().items()):
        lines += laid_out(override_marked(name, definition), "    ")
    return "\n".join(lines) + "\n"


def override_marked(name: str, definition: list[str]) -> list[str]:
    """Return a definition that says where it differs from `object`'s on purpose."""
    if name in ("__eq__", "__ne__"):
        return [f"{line}  # type: ignore[override]" for line in definition]
    return definition


def exports() -> tuple[list[str], set[str]]:
    """Return the import lines of ``minitorch/__init__.py`` as exports, and the names they give."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    lines, names = [], set()
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom) or node.module in PRIVATE_MODULES:
            continue
        if node.names[0].name == "*":
            lines.append(f"from {node.module} import *")
            module = sys.modules[str(node.module)]
            names |= set(getattr(module, "__all__", [n for n in vars(module) if not n.startswith("_")]))
            continue
        given = [a.asname or a.name for a in node.names if a.name not in PRIVATE_NAMES]
        names |= set(given)
        lines += [f"from {node.module} import {a.name} as {a.asname or a.name}" for a in node.names
                  if a.name not in PRIVATE_NAMES]  # fmt: skip
    return lines, names


def submodules() -> list[str]:
    """Return the subpackages and modules that `minitorch` imports when they are first named."""
    found = [n for n in (*SUBMODULES, "ops") if (PACKAGE / n).is_dir() or (PACKAGE / f"{n}.py").exists()]
    return sorted(found)


def package_stub() -> str:
    """Return the text of ``minitorch/__init__.pyi``."""
    imports, taken = exports()
    classes = sorted({result_class(t._fields) for t in map(named_results, map(operator_named, DECLARATIONS)) if t})
    lines = [HEADER + TYPES]
    lines += imports
    lines += [f"from minitorch import {name} as {name}" for name in submodules()]
    lines += ["from minitorch.tensor.tensor import (", *(f"    {name}," for name in classes), ")"]
    lines += ["", ALIASES.rstrip(), "", "newaxis: None", ""]
    by_hand = functional.public_functions()
    for name in sorted({*function_names(None), *by_hand} - taken):
        definition = [function_line(name, by_hand[name])] if name in by_hand else operator_lines(name, FUNCTION)
        lines += laid_out(definition)
    return "\n".join(lines) + "\n"


def stubs() -> dict[Path, str]:
    """Return the text of each stub, by its path."""
    assert OPERATORS, "importing minitorch fills the table"
    return {PACKAGE / "__init__.pyi": package_stub(), PACKAGE / "tensor" / "tensor.pyi": tensor_stub()}


def stale() -> list[Path]:
    """Return the stubs whose files differ from what would be written."""
    return [p for p, text in stubs().items() if not p.exists() or p.read_text(encoding="utf-8") != text]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a stub is stale")
    args = parser.parse_args(arguments)
    outdated = stale()
    for path in outdated:
        if args.check:
            print(f"{path} is stale: run python -m minitorch.tools.stubs")
        else:
            path.write_text(stubs()[path], encoding="utf-8")
            print(f"wrote {path}")
    return 1 if args.check and outdated else 0


if __name__ == "__main__":
    sys.exit(main())
