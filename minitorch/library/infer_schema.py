"""`infer_schema`: the schema of an operator, read off a function's type hints."""

from __future__ import annotations

import collections.abc
import inspect
import math
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from minitorch.core.device import device
from minitorch.core.dtype import dtype
from minitorch.dispatch.schema import quoted
from minitorch.tensor.tensor import Tensor

_BASES: dict[Any, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    dtype: "ScalarType",
    device: "Device",
}
# Number is any union of int, float and bool, as PyTorch spells it.
_NUMBER = frozenset((int, float, bool))
_OPTIONAL_BASES = frozenset((*_BASES.values(), "Scalar"))
_LIST_ELEMENTS = frozenset(("Tensor", "Tensor?", "SymInt", "float", "bool", "Scalar"))
_OPTIONAL_LISTS = frozenset(("SymInt[]", "float[]", "bool[]"))
_RETURNS = frozenset(("Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar"))
_SUPPORTED_TEXT = (
    "Tensor, int, float, bool, str, Number, dtype, device; Optional of each; list or Sequence of "
    "Tensor, Optional[Tensor], int, float, bool, Number; Optional list of int, float, bool"
)


class _UnsupportedError(Exception):
    """An annotation that no schema type stands for."""


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
) -> str:
    """Return the schema that a function's type hints describe.

    Parameters
    ----------
    prototype_function : callable
        All parameters and the return must be annotated.
    mutates_args : iterable of str, or "unknown"
        The names of the arguments that it writes; ``"unknown"`` means any tensor may be.
    op_name : str, optional
        The operator's name; without it the schema has none.

    Raises
    ------
    ValueError
        If the hints have no schema; the message names the parameter.

    Examples
    --------
    >>> def scaled(x: Tensor, factor: float = 2.0) -> Tensor: ...
    >>> infer_schema(scaled, mutates_args=())
    '(Tensor x, float factor=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function, eval_str=True)

    def fail(what: str) -> ValueError:
        return ValueError(f"infer_schema(func): {what} Got func with signature {signature}")

    mutated = _mutated_names(mutates_args)
    unknown_names = set() if mutated is None else mutated - set(signature.parameters)
    if unknown_names:
        raise fail(
            f"{sorted(unknown_names)} in mutates_args were not found in the signature. "
            "mutates_args should contain the names of all args that the operator mutates, or "
            "be the string 'unknown' if you don't know."
        )
    pieces = []
    seen_keyword_only = False
    for index, parameter in enumerate(signature.parameters.values()):
        name = parameter.name
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise fail("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and not seen_keyword_only:
            pieces.append("*")
            seen_keyword_only = True
        if parameter.annotation is parameter.empty:
            raise fail(f"Parameter {name} must have a type annotation.")
        try:
            type_text = _parameter_type(parameter.annotation)
        except _UnsupportedError as error:
            raise fail(f"Parameter {name} has {error}.") from None
        if mutated is None:
            writes = type_text.startswith("Tensor")
        else:
            writes = name in mutated
            if writes and not type_text.startswith("Tensor"):
                raise fail(
                    f"Parameter {name} is in mutates_args but only Tensors or collections of "
                    "Tensors can be mutated."
                )
        if writes:
            type_text = type_text.replace("Tensor", f"Tensor(a{index}!)", 1)
        piece = f"{type_text} {name}"
        if parameter.default is not parameter.empty:
            try:
                piece += f"={_default_text(parameter.default)}"
            except _UnsupportedError as error:
                raise fail(f"Parameter {name} has {error}.") from None
        pieces.append(piece)
    if signature.return_annotation is signature.empty:
        raise fail("No return type annotation was provided. Please add one.")
    try:
        returns = _return_types(signature.return_annotation)
    except _UnsupportedError as error:
        raise fail(f"Return has {error}.") from None
    return f"{op_name or ''}({', '.join(pieces)}) -> {returns}"


def _mutated_names(mutates_args: str | Iterable[str]) -> set[str] | None:
    """Return the names; None for "unknown"."""
    if isinstance(mutates_args, str):
        if mutates_args != "unknown":
            raise ValueError(
                "mutates_args must either be a sequence of the names of the arguments that are "
                "mutated or the string 'unknown'."
            )
        return None
    return set(mutates_args)


def _refusal(annotation: Any) -> _UnsupportedError:
    text = getattr(annotation, "__name__", None) if isinstance(annotation, type) else None
    return _UnsupportedError(
        f"unsupported type {text or annotation}. The supported types are: {_SUPPORTED_TEXT}"
    )


def _union_members(annotation: Any) -> frozenset[Any] | None:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return frozenset(typing.get_args(annotation))
    return None


def _parameter_type(annotation: Any) -> str:
    members = _union_members(annotation)
    if members is not None:
        if members == _NUMBER:
            return "Scalar"
        rest = members - {types.NoneType}
        if len(rest) == len(members):
            raise _refusal(annotation)
        inner = "Scalar" if rest == _NUMBER else None
        if inner is None and len(rest) == 1:
            inner = _parameter_type(next(iter(rest)))
        if inner not in _OPTIONAL_BASES and inner not in _OPTIONAL_LISTS:
            raise _refusal(annotation)
        return f"{inner}?"
    origin = typing.get_origin(annotation)
    if origin in (list, collections.abc.Sequence):
        element = _parameter_type(typing.get_args(annotation)[0])
        if element not in _LIST_ELEMENTS:
            raise _refusal(annotation)
        return f"{element}[]"
    if origin is tuple or annotation is tuple:
        raise _UnsupportedError(
            f"unsupported type {annotation}: tuples cannot be arguments; use a list, "
            "such as list[int]"
        )
    try:
        return _BASES[annotation]
    except (KeyError, TypeError):
        raise _refusal(annotation) from None


def _return_type(annotation: Any) -> str:
    text = _parameter_type(annotation)
    if text not in _RETURNS:
        raise _refusal(annotation)
    return text


def _return_types(annotation: Any) -> str:
    if annotation is None or annotation is types.NoneType:
        return "()"
    if typing.get_origin(annotation) is not tuple:
        return _return_type(annotation)
    members = typing.get_args(annotation)
    if Ellipsis in members:
        raise _refusal(annotation)
    texts = [_return_type(member) for member in members]
    # One element in a tuple is a tuple still: ((Tensor)), not (Tensor).
    return f"(({texts[0]}))" if len(texts) == 1 else f"({', '.join(texts)})"


def _default_text(value: Any) -> str:
    if value is None or isinstance(value, (bool, int)):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dtype):
        return value.name
    if isinstance(value, device):
        return f'"{value}"'
    raise _UnsupportedError(
        f"an unsupported default value {value!r} of type {type(value).__name__}"
    )
