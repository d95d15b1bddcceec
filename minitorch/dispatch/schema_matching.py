"""`match`: fit the arguments of a call to a schema, and convert them to its types.

Note [Normalized arguments]
    Kernels, modes and fallbacks get a call in one form however it was written: all
    arguments that are not keyword-only as a tuple in schema order, the others in a dict;
    of the tuple, the longest trailing run equal to defaults is dropped, of the dict every
    item equal to its default.  Values have the schema's types: an ``int[2]`` given 7
    arrives as ``[7, 7]``, a one-element tensor in an ``int`` as a number.  The comparison
    with a default looks at the type first and so never reaches a tensor's ``__eq__``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch.core.device import device
from minitorch.core.dtype import dtype
from minitorch.core.generator import Generator
from minitorch.core.layout import layout
from minitorch.core.memory_format import memory_format
from minitorch.core.qscheme import qscheme
from minitorch.core.symbolic import SymBool, SymFloat, SymInt, is_symbolic, sym_float
from minitorch.dispatch.schema import Argument, Schema, Type

# What a converter returns for a value that its type does not take.
MISMATCH: Any = object()
Converter = Callable[[Any], Any]

# The class of tensors; `dispatch.operator` sets it to what carries a key set.
TENSOR_TYPE: Any = ()
# Base type -> the classes whose objects it takes as they are.
_OPAQUE_TYPES: dict[str, tuple[type, ...]] = {
    "Generator": (Generator,),
    "ScalarType": (dtype,),
    "Layout": (layout,),
    "MemoryFormat": (memory_format,),
}
_SHOWN_VALUE_LENGTH = 200


def accept_type(base: str, cls: type) -> None:
    """Let arguments declared with the base type `base` take objects of `cls` unconverted.

    For classes that the dispatcher does not know: streams, storages, symbolic numbers.
    """
    _OPAQUE_TYPES[base] = (*_OPAQUE_TYPES.get(base, ()), cls)
    _CONVERTERS.clear()


class _Slot:
    """One argument as the matching loop needs it."""

    __slots__ = ("convert", "default", "has_default", "name", "takes_number")

    def __init__(self, argument: Argument):
        self.name = argument.name
        self.convert = converter(argument.type)
        self.default = argument.default
        self.has_default = argument.has_default
        self.takes_number = argument.type.base == "Tensor" and not argument.type.is_list


class _Plan:
    """A schema's slots, positional and keyword-only apart."""

    __slots__ = ("keyword_only", "positional")

    def __init__(self, schema: Schema):
        slots = [_Slot(argument) for argument in schema.arguments]
        self.positional = slots[: schema.kwarg_only_start]
        self.keyword_only = slots[schema.kwarg_only_start :]


def match(
    schema: Schema,
    qualified_name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    allow_numbers: bool = False,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call, normalized (Note [Normalized arguments]).

    Parameters
    ----------
    qualified_name : str
        ``"ns::op"`` or ``"ns::op.overload"``, for messages.
    allow_numbers : bool
        Whether a Python number may stand for a tensor; it is left as it is.

    Raises
    ------
    RuntimeError
        If the call does not fit the schema.
    """
    plan = schema.match_plan
    if plan is None:
        plan = schema.match_plan = _Plan(schema)
    given = len(args)
    extra = args[len(plan.positional) :]
    if extra:
        if not schema.is_vararg:
            raise _too_many(schema, qualified_name, given)
        args = args[: len(plan.positional)]
    values: list[Any] = []
    needed = 0  # values up to the last one that differs from its default
    keywords_used = 0
    for index, slot in enumerate(plan.positional):
        if index < given:
            value = args[index]
            if kwargs and slot.name in kwargs:
                raise RuntimeError(
                    f"Argument '{slot.name}' specified both as positional and keyword argument. "
                    f"Schema: {_declaration(schema, qualified_name)}"
                )
        elif slot.name in kwargs:
            value = kwargs[slot.name]
            keywords_used += 1
        elif slot.has_default:
            values.append(_copied(slot.default))
            continue
        else:
            raise _missing(schema, qualified_name, slot, kwargs)
        converted = slot.convert(value)
        if converted is MISMATCH:
            converted = _second_chance(slot, value, allow_numbers)
            if converted is MISMATCH:
                raise _wrong_type(schema, qualified_name, index, value)
        values.append(converted)
        if not slot.has_default or not equals_default(converted, slot.default):
            needed = index + 1
    keywords: dict[str, Any] = {}
    for offset, slot in enumerate(plan.keyword_only):
        if slot.name not in kwargs:
            if not slot.has_default:
                raise _missing(schema, qualified_name, slot, kwargs)
            continue
        value = kwargs[slot.name]
        keywords_used += 1
        converted = slot.convert(value)
        if converted is MISMATCH:
            converted = _second_chance(slot, value, allow_numbers)
            if converted is MISMATCH:
                raise _wrong_type(schema, qualified_name, len(plan.positional) + offset, value)
        if not slot.has_default or not equals_default(converted, slot.default):
            keywords[slot.name] = converted
    if keywords_used != len(kwargs):
        raise _unknown_keyword(schema, qualified_name, kwargs)
    if extra:
        return (*values, *extra), keywords
    return tuple(values[:needed]), keywords


def equals_default(value: Any, default: Any) -> bool:
    """Return whether a converted argument is its default, of the same type too."""
    if value is default:
        return True
    kind = type(default)
    if type(value) is not kind:
        return False
    if kind is list:
        return len(value) == len(default) and all(map(equals_default, value, default))
    return value == default


def with_defaults(
    schema: Schema, args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return normalized arguments with the defaults that were dropped filled in again."""
    start = schema.kwarg_only_start
    missing = schema.arguments[len(args) : start]
    filled = (*args, *(_copied(argument.default) for argument in missing))
    given = kwargs or {}
    keywords = {
        argument.name: given[argument.name] if argument.name in given else _copied(argument.default)
        for argument in schema.arguments[start:]
    }
    return filled, keywords


def convert_returns(schema: Schema, qualified_name: str, result: Any) -> Any:
    """Return what a kernel returned, converted to the schema's returns (spec X4).

    One return is the object itself, several are a tuple, none is None.  A tensor keeps its
    identity, and None may stand for one.

    Raises
    ------
    RuntimeError
        If the result does not fit.
    """
    returns = schema.returns
    if schema.is_varret:
        return result
    if len(returns) == 1:
        return _convert_return(schema, qualified_name, 0, result)
    if not returns:
        if result is not None:
            raise RuntimeError(
                f"Expected the kernel of {qualified_name} to return None, as its schema has no "
                f"returns, but it returned a {type(result).__name__}"
            )
        return None
    if not isinstance(result, (tuple, list)):
        raise RuntimeError(
            f"Expected the kernel of {qualified_name} to return {len(returns)} values, "
            f"but it returned a {type(result).__name__}, which is no sequence"
        )
    if len(result) != len(returns):
        raise RuntimeError(
            f"Expected the kernel of {qualified_name} to return {len(returns)} values, "
            f"but it returned {len(result)}"
        )
    return tuple(
        [_convert_return(schema, qualified_name, i, item) for i, item in enumerate(result)]
    )


def _convert_return(schema: Schema, qualified_name: str, index: int, value: Any) -> Any:
    kind = schema.returns[index].type
    if kind.base == "Tensor" and not kind.is_list and (value is None or _to_tensor(value) is value):
        return value
    converted = converter(kind)(value)
    if converted is MISMATCH:
        raise RuntimeError(
            f"Unable to cast {_shown_value(value)} to {kind}: the kernel of {qualified_name} "
            f"returned it as return {index} of {schema}"
        )
    return converted


def _copied(default: Any) -> Any:
    return default.copy() if type(default) is list else default


# -- converters ------------------------------------------------------------------------

_CONVERTERS: dict[Type, Converter] = {}


def converter(kind: Type) -> Converter:
    """Return the function that converts a value to the type `kind`, or returns MISMATCH."""
    found = _CONVERTERS.get(kind)
    if found is None:
        found = _CONVERTERS[kind] = _make_converter(kind)
    return found


def _make_converter(kind: Type) -> Converter:
    if kind.is_optional:
        return _optional_converter(converter(kind.required()))
    if kind.element is not None:
        size = kind.size if kind.base in ("int", "SymInt", "float") else None
        return _list_converter(converter(kind.element), size)
    if kind.base == "tuple":
        return _tuple_converter([converter(parameter) for parameter in kind.parameters])
    known = _BASE_CONVERTERS.get(kind.base)
    opaque = _OPAQUE_TYPES.get(kind.base)
    if opaque is not None:
        return _opaque_converter(opaque, known)
    return known or _to_anything


def _optional_converter(convert: Converter) -> Converter:
    def to_optional(value: Any) -> Any:
        return None if value is None else convert(value)

    return to_optional


def _list_converter(convert: Converter, size: int | None) -> Converter:
    def to_list(value: Any) -> Any:
        if isinstance(value, (list, tuple, range)) or (
            isinstance(value, np.ndarray) and value.ndim == 1
        ):
            items = [convert(item) for item in value]
        elif size is not None and isinstance(value, (int, float, SymInt, SymFloat)):
            items = [convert(value)] * size
        else:
            return MISMATCH
        for item in items:
            if item is MISMATCH:
                return MISMATCH
        return items

    return to_list


def _tuple_converter(converters: list[Converter]) -> Converter:
    def to_tuple(value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or len(value) != len(converters):
            return MISMATCH
        items = tuple(convert(item) for convert, item in zip(converters, value, strict=True))
        return MISMATCH if any(item is MISMATCH for item in items) else items

    return to_tuple


def _opaque_converter(classes: tuple[type, ...], otherwise: Converter | None) -> Converter:
    def to_opaque(value: Any) -> Any:
        if isinstance(value, classes):
            return value
        return MISMATCH if otherwise is None else otherwise(value)

    return to_opaque


def _to_tensor(value: Any) -> Any:
    return value if isinstance(value, TENSOR_TYPE) else MISMATCH


def _element(tensor: Any) -> Any:
    """Return the number in a one-element tensor; MISMATCH for other tensors."""
    return tensor.item() if tensor.ndim == 0 or tensor.numel() == 1 else MISMATCH


def _to_int(value: Any) -> Any:
    if type(value) is int:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, TENSOR_TYPE):
        value = _element(value)
        return MISMATCH if value is MISMATCH or isinstance(value, complex) else int(value)
    if isinstance(value, SymInt):
        return value
    if isinstance(value, np.bool_):
        return int(value)
    try:
        return operator.index(value)
    except TypeError:
        return MISMATCH


def _to_float(value: Any) -> Any:
    if type(value) is float:
        return value
    if isinstance(value, TENSOR_TYPE):
        value = _element(value)
    if isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
        return float(value)
    return sym_float(value) if isinstance(value, (SymInt, SymFloat)) else MISMATCH


def _to_bool(value: Any) -> Any:
    if type(value) is bool or isinstance(value, SymBool):
        return value
    if isinstance(value, TENSOR_TYPE):
        value = _element(value)
    if isinstance(value, (int, float, complex, np.generic)):
        return bool(value)
    return MISMATCH


def _to_complex(value: Any) -> Any:
    if isinstance(value, TENSOR_TYPE):
        value = _element(value)
    if isinstance(value, (int, float, complex, np.number)):
        return complex(value)
    return MISMATCH


def _to_scalar(value: Any) -> Any:
    if type(value) in (int, float, bool, complex):
        return value
    if isinstance(value, (np.number, np.bool_)):
        return value.item()
    if isinstance(value, (int, float, complex)) or is_symbolic(value):
        return value
    return MISMATCH


def _to_str(value: Any) -> Any:
    return value if isinstance(value, str) else MISMATCH


def _to_device(value: Any) -> Any:
    if isinstance(value, device):
        return value
    return device(value) if isinstance(value, str) else MISMATCH


def _to_dict(value: Any) -> Any:
    return value if isinstance(value, dict) else MISMATCH


def _to_qscheme(value: Any) -> Any:
    return value if isinstance(value, qscheme) else MISMATCH


def _to_nothing(value: Any) -> Any:
    return MISMATCH


def _to_anything(value: Any) -> Any:
    return value


_BASE_CONVERTERS: dict[str, Converter] = {
    "Tensor": _to_tensor,
    "int": _to_int,
    "SymInt": _to_int,
    "DeviceIndex": _to_int,
    "float": _to_float,
    "bool": _to_bool,
    "SymBool": _to_bool,
    "complex": _to_complex,
    "Scalar": _to_scalar,
    "number": _to_scalar,
    "str": _to_str,
    "Device": _to_device,
    "Dict": _to_dict,
    "Stream": _to_nothing,
    "Storage": _to_nothing,
    "QScheme": _to_qscheme,
}


def _second_chance(slot: _Slot, value: Any, allow_numbers: bool) -> Any:
    """Convert what a type refuses but its argument takes: a None default, a wrapped number."""
    if value is None and slot.has_default and slot.default is None:
        return None
    return _to_scalar(value) if allow_numbers and slot.takes_number else MISMATCH


# -- errors ----------------------------------------------------------------------------


def _call_name(qualified_name: str) -> str:
    """Return the name as calls are spelled: without the overload."""
    return qualified_name.partition(".")[0]


def _shown_value(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN_VALUE_LENGTH else shown[:_SHOWN_VALUE_LENGTH] + "..."


def _declaration(schema: Schema, qualified_name: str) -> str:
    text = str(schema)
    namespace = qualified_name.partition("::")[0]
    return text if "::" in schema.name or "::" not in qualified_name else f"{namespace}::{text}"


def _too_many(schema: Schema, qualified_name: str, given: int) -> RuntimeError:
    return RuntimeError(
        f"{_call_name(qualified_name)}() takes {schema.kwarg_only_start} positional argument(s) "
        f"but {given} was/were given. Declaration: {_declaration(schema, qualified_name)}"
    )


def _missing(
    schema: Schema, qualified_name: str, slot: _Slot, kwargs: dict[str, Any]
) -> RuntimeError:
    known = {argument.name for argument in schema.arguments}
    if any(name not in known for name in kwargs):  # most likely the misspelled one
        return _unknown_keyword(schema, qualified_name, kwargs)
    return RuntimeError(
        f"{_call_name(qualified_name)}() is missing value for argument '{slot.name}'. "
        f"Declaration: {_declaration(schema, qualified_name)}"
    )


def _unknown_keyword(schema: Schema, qualified_name: str, kwargs: dict[str, Any]) -> RuntimeError:
    known = {argument.name for argument in schema.arguments}
    unknown = [name for name in kwargs if name not in known]
    return RuntimeError(
        f"Unknown keyword argument '{unknown[0]}' for operator '{_call_name(qualified_name)}'. "
        f"Schema: {_declaration(schema, qualified_name)}"
    )


def _wrong_type(schema: Schema, qualified_name: str, index: int, value: Any) -> RuntimeError:
    argument = schema.arguments[index]
    return RuntimeError(
        f"{_call_name(qualified_name)}() Expected a value of type '{argument.type}' for argument "
        f"'{argument.name}' but instead found type '{type(value).__name__}'.\n"
        f"Position: {index}\nValue: {_shown_value(value)}\n"
        f"Declaration: {_declaration(schema, qualified_name)}"
    )
