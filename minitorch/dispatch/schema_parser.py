"""`parse_schema`: the text of an operator's signature, read into a `Schema`.

Note [How a schema is read]
    A schema is cut at the commas outside brackets, and each piece read by itself.  The
    same few pieces (``Tensor self``, ``int dim``) make up nearly all schemas, so that
    pieces and types are remembered, and most schemas cost little more than the cutting.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import Any

from minitorch.core import device as device_module
from minitorch.core import dtype as dtype_module
from minitorch.core import layout as layout_module
from minitorch.core import memory_format as memory_format_module
from minitorch.dispatch.schema import (
    ENUM_CODES,
    AliasInfo,
    Argument,
    Return,
    Schema,
    Type,
)

BASE_TYPES = frozenset(
    (
        "Any",
        "Device",
        "DeviceIndex",
        "Generator",
        "Layout",
        "MemoryFormat",
        "QScheme",
        "Scalar",
        "ScalarType",
        "Storage",
        "Stream",
        "SymBool",
        "SymInt",
        "Tensor",
        "bool",
        "complex",
        "float",
        "int",
        "number",
        "str",
    )
)
# Names of types with parameters, and how many each takes.
_PARAMETRIC = {"Dict": 2, "Future": 1, "RRef": 1}

_IDENTIFIER = r"[A-Za-z_]\w*"
_HEAD = re.compile(
    rf"\s*(?:({_IDENTIFIER})\s*::\s*)?({_IDENTIFIER})\s*(?:\.\s*({_IDENTIFIER})\s*)?(\()?", re.A
)
_ARROW = re.compile(r"\s*->\s*")
_DELIMITER = re.compile(r"""[()\[\],]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""", re.S)
_DECLARED = re.compile(rf"(.*[^\w\s]|.*?\w(?=\s)|)\s*({_IDENTIFIER})\s*", re.A | re.S)
_BASE = re.compile(rf"\s*({_IDENTIFIER})\s*", re.A)
_SUFFIX = re.compile(r"(?:(\?)|\[\s*(\d*)\s*\]|\(([^()]*)\))\s*")
_ALIAS_SET = rf"(?:\*|{_IDENTIFIER}(?:\s*\|\s*{_IDENTIFIER})*)"
_ALIAS = re.compile(rf"\s*({_ALIAS_SET})\s*(!)?\s*(?:->\s*({_ALIAS_SET})\s*)?", re.A)
_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")

# PyTorch's older words for dtypes, beside the dtypes' own names.
_DTYPE_WORDS = {
    "byte": "uint8",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "cfloat": "complex64",
    "cdouble": "complex128",
}
_ENUM_VALUES: dict[str, dict[str, Any]] = {
    "ScalarType": dtype_module.DTYPES,
    "Layout": layout_module.LAYOUTS,
    "MemoryFormat": memory_format_module.MEMORY_FORMATS,
}
# Reduction modes, the only words that an int's default may be.
_REDUCTIONS = {"Mean": 1, "Sum": 2}


def parse_schema(text: str) -> Schema:
    """Return the schema that `text` describes.

    Parameters
    ----------
    text : str
        Such as ``"ns::add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"``; the
        namespace and the overload name may be absent.

    Raises
    ------
    RuntimeError
        If `text` is no schema; the message says where it stops being one.
    """
    try:
        return _parse(text)
    except _Error as error:
        raise RuntimeError(f"{error} in the schema {text.strip()!r}") from None


class _Error(Exception):
    """What is wrong with a piece; `parse_schema` adds the whole text."""


def _parse(text: str) -> Schema:
    head = _HEAD.match(text)
    if head is None:
        raise _Error("expected an operator name at the start")
    namespace, name, overload, opened = head.groups()
    if opened is None:
        if head.end() == len(text):
            raise _Error("only an operator name was given: expected '(' and the arguments")
        raise _Error(f"expected '(' but found {_quoted(text[head.end() :])} after the name")
    if overload is not None and (overload == "default" or overload.startswith("__")):
        raise _Error(
            f"{overload} is not a legal overload name (the overload without a name is 'default')"
        )
    pieces, end = _split(text, head.end())
    arguments, is_vararg = _parse_arguments(pieces)
    arrow = _ARROW.match(text, end)
    if arrow is None:
        raise _Error(f"expected '->' but found {_quoted(text[end:])} after the arguments")
    returns, is_varret = _parse_returns(text, arrow.end())
    return Schema(
        f"{namespace}::{name}" if namespace else name,
        overload or "",
        arguments,
        returns,
        is_vararg=is_vararg,
        is_varret=is_varret,
    )


def _quoted(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) < 24 else text[:20] + "...") if text else "the end"


def _split(text: str, start: int) -> tuple[list[str], int]:
    """Cut at the commas between a bracket opened before `start` and the one that closes it.

    Returns the pieces, and where the text goes on after the closing bracket.
    """
    pieces: list[str] = []
    depth = 0
    begin = start
    for found in _DELIMITER.finditer(text, start):
        mark = found.group()
        if mark == ",":
            if depth == 0:
                pieces.append(text[begin : found.start()])
                begin = found.end()
        elif mark == "(" or mark == "[":
            depth += 1
        elif mark == ")" or mark == "]":
            if depth == 0:
                last = text[begin : found.start()]
                if pieces or last.strip():
                    pieces.append(last)
                return pieces, found.end()
            depth -= 1
    raise _Error(f"expected ')' but found the end after {_quoted(text[start:])}")


def _parse_arguments(pieces: list[str]) -> tuple[list[Argument], bool]:
    arguments: list[Argument] = []
    names = set()
    kwarg_only = False
    after_default = False
    for index, piece in enumerate(pieces):
        stripped = piece.strip()
        if stripped == "*":
            if kwarg_only:
                raise _Error("a second '*' follows the first")
            kwarg_only = True
            continue
        if stripped == "...":
            if index != len(pieces) - 1:
                raise _Error("'...' must be the last argument")
            return arguments, True
        argument = _parse_argument(stripped, kwarg_only)
        if argument.name in names:
            raise _Error(f"two arguments are called {argument.name!r}")
        if not kwarg_only:
            if after_default and not argument.has_default:
                raise _Error(
                    f"argument {argument.name!r} has no default but follows one that has; "
                    "only keyword-only arguments may"
                )
            after_default = argument.has_default
        names.add(argument.name)
        arguments.append(argument)
    return arguments, False


@lru_cache(maxsize=4096)
def _parse_argument(text: str, kwarg_only: bool) -> Argument:
    declared, equals, default = text.partition("=")
    found = _DECLARED.fullmatch(declared)
    if found is None or not found[1].strip():
        raise _Error(f"expected a type and a name but found {_quoted(text)}")
    type, alias = _parse_type(found[1])
    if not equals:
        return Argument(found[2], type, kwarg_only=kwarg_only, alias_info=alias)
    value = _parse_default(type, default.strip(), found[2])
    return Argument(
        found[2], type, default=value, has_default=True, kwarg_only=kwarg_only, alias_info=alias
    )


def _parse_returns(text: str, start: int) -> tuple[list[Return], bool]:
    rest = text[start:].strip()
    if rest == "...":
        return [], True
    if not rest:
        raise _Error("expected a return type but found the end")
    if rest[0] != "(":
        return [_parse_return(rest)], False
    pieces, end = _split(rest, 1)
    if end != len(rest):
        raise _Error(f"expected the end but found {_quoted(rest[end:])} after the returns")
    return [_parse_return(piece.strip()) for piece in pieces], False


@lru_cache(maxsize=1024)
def _parse_return(text: str) -> Return:
    # `Tensor values` and `Tensor(a!)` read alike until the last word: a name follows a type.
    found = _DECLARED.fullmatch(text)
    if found is None or not found[1].strip():
        type, alias = _parse_type(text)
        return Return(type, "", alias)
    type, alias = _parse_type(found[1])
    return Return(type, found[2], alias)


# -- types -----------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _parse_type(text: str) -> tuple[Type, AliasInfo | None]:
    text = text.strip()
    if text.startswith("("):
        pieces, position = _split(text, 1)
        type = Type("tuple", parameters=_parse_parameters(pieces))
        position += len(text[position:]) - len(text[position:].lstrip())
    else:
        found = _BASE.match(text)
        if found is None:
            raise _Error(f"expected a type but found {_quoted(text)}")
        base, position = found[1], found.end()
        if base in _PARAMETRIC:
            type, position = _parse_parametric(base, text, position)
        elif base in BASE_TYPES or base[0].islower():
            type = Type(base)
        else:
            raise _Error(
                f"unknown type {base!r} (the types are {', '.join(sorted(BASE_TYPES))}, "
                "tuples, Dict, Future, RRef and lower-case type variables)"
            )
    return _parse_suffixes(type, text, position)


def _parse_parametric(base: str, text: str, position: int) -> tuple[Type, int]:
    if text[position : position + 1] != "(":
        raise _Error(f"expected '(' after {base} but found {_quoted(text[position:])}")
    pieces, position = _split(text, position + 1)
    if len(pieces) != _PARAMETRIC[base]:
        raise _Error(f"{base} takes {_PARAMETRIC[base]} types, not {len(pieces)}")
    return Type(base, parameters=_parse_parameters(pieces)), position


def _parse_parameters(pieces: list[str]) -> tuple[Type, ...]:
    return tuple(_parse_type(piece)[0] for piece in pieces)


def _parse_suffixes(type: Type, text: str, position: int) -> tuple[Type, AliasInfo | None]:
    alias = None  # of the base
    list_alias = None
    while position < len(text):
        found = _SUFFIX.match(text, position)
        if found is None:
            raise _Error(f"expected a type but found {_quoted(text)}")
        position = found.end()
        mark, size, annotation = found.groups()
        if mark:
            type = type.optional()
        elif size is not None:
            if list_alias is not None:
                raise _Error(f"the alias annotation of a list must come last in {_quoted(text)}")
            type = Type("", element=type, size=int(size) if size else None)
        elif type.is_list and list_alias is None:
            list_alias = _parse_alias(annotation)
        elif not type.is_list and alias is None:
            alias = _parse_alias(annotation)
        else:
            raise _Error(f"two alias annotations in {_quoted(text)}")
    if not type.is_list or (alias is None and list_alias is None):
        return type, alias
    own = list_alias or AliasInfo(frozenset(), frozenset(), False)
    return type, AliasInfo(own.before_set, own.after_set, own.is_write, alias)


def _parse_alias(text: str) -> AliasInfo:
    found = _ALIAS.fullmatch(text)
    if found is None:
        raise _Error(f"expected alias sets, such as (a!) or (a -> *), but found ({text})")
    before = _alias_set(found[1])
    after = before if found[3] is None else _alias_set(found[3])
    return AliasInfo(before, after, found[2] is not None)


def _alias_set(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split("|"))


# -- defaults --------------------------------------------------------------------------


def _parse_default(type: Type, text: str, name: str) -> Any:
    try:
        return _default_value(type, text)
    except ValueError:
        raise _Error(
            f"argument {name!r} of type {type.text} cannot have the default {_quoted(text)}"
        ) from None


def _default_value(type: Type, text: str) -> Any:
    if text == "None":
        return None
    element = type.element
    if element is not None:
        if text.startswith("["):
            pieces, end = _split(text, 1)
            if end != len(text):
                raise ValueError(text)
            return [_default_value(element, piece.strip()) for piece in pieces]
        if type.size is None:
            raise ValueError(text)
        return [_default_value(element, text)] * type.size
    return _scalar_default(type.base, text)


def _scalar_default(base: str, text: str) -> Any:
    """Return the value of a default; raises ValueError where `text` is none of that type."""
    if base in ("int", "SymInt", "DeviceIndex"):
        return _REDUCTIONS[text] if text in _REDUCTIONS else _integer(text)
    if base == "float":
        return _float(text)
    if base in ("bool", "SymBool"):
        return _boolean(text)
    if base in ("Scalar", "number"):
        if text in ("True", "False"):
            return text == "True"
        return _integer(text) if _INTEGER.fullmatch(text) else _float(text)
    if base == "str":
        return _string(text)
    if base == "Device":
        return device_module.device(_string(text))
    if base in _ENUM_VALUES:
        return _enum_value(base, text)
    raise ValueError(text)


def _integer(text: str) -> int:
    if _INTEGER.fullmatch(text) is None:
        raise ValueError(text)
    return int(text)


def _float(text: str) -> float:
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(text)
    return float(text)


def _boolean(text: str) -> bool:
    if text not in ("True", "False"):
        raise ValueError(text)
    return text == "True"


def _string(text: str) -> str:
    found = _DELIMITER.fullmatch(text)
    if found is None or len(text) < 2:
        raise ValueError(text)
    return ast.literal_eval(text)


def _enum_value(base: str, text: str) -> Any:
    values = _ENUM_VALUES[base]
    if _INTEGER.fullmatch(text):
        for name, code in ENUM_CODES[base].items():
            if code == int(text) and name in values:
                return values[name]
        raise ValueError(text)
    name = _DTYPE_WORDS.get(text, text) if base == "ScalarType" else text
    if name not in values:
        raise ValueError(text)
    return values[name]
