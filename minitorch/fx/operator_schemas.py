"""The arguments of a call by name, with defaults: one form, however the call was written."""

from __future__ import annotations

import inspect
import keyword
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from minitorch.dispatch.namespace import OpOverload, OpOverloadPacket
from minitorch.dispatch.operator import OPERATORS
from minitorch.nn.modules.module import Module
from minitorch.tensor.tensor import Tensor

__all__ = ["ArgsKwargsPair", "normalize_function", "normalize_module"]

_NUMBERS = (int, float, complex, bool)
# Base types of schemas -> classes whose values such an argument takes.
_CLASSES: dict[str, tuple[type, ...]] = {
    "Tensor": (Tensor,),
    "Scalar": _NUMBERS,
    "int": (int,),
    "SymInt": (int,),
    "float": (int, float),
    "bool": (bool,),
    "str": (str,),
    "Dimname": (str,),
}


class ArgsKwargsPair(NamedTuple):
    """Arguments by position and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: Mapping[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """Return the arguments of a call in the order of the function's parameters, with defaults.

    Parameters
    ----------
    target : callable
        A Python function, a function of minitorch, or an operator.
    arg_types, kwarg_types : optional
        Classes of the arguments, which choose among overloads where their number and names do not.
    normalize_to_only_use_kwargs : bool
        All by name.

    Returns
    -------
    ArgsKwargsPair or None
        None where no overload takes such arguments, or the function has ``*args`` or positional-only parameters.

    Raises
    ------
    RuntimeError
        If several overloads fit and no types are given.

    Examples
    --------
    >>> from minitorch.fx.operator_schemas import normalize_function
    >>> normalize_function(minitorch.nn.functional.relu, ("x",), {}).kwargs
    {'inplace': False}
    """
    kwargs = dict(kwargs or {})
    signatures = _signatures(target)
    if signatures is None:
        return _normalized(inspect.signature(target), args, kwargs, normalize_to_only_use_kwargs)
    fitting = [(signature, types) for signature, types in signatures if _binds(signature, args, kwargs)]
    if len(fitting) > 1:
        if arg_types is None and kwarg_types is None:
            texts = "\n".join(str(signature) for signature, _ in fitting)
            raise RuntimeError(
                f"Tried to normalize arguments to {target} but the schema match was ambiguous! Please provide argument "
                f"types (arg_types, kwarg_types). Available schemas:\n{texts}"
            )
        given = arg_types or (), dict(kwarg_types or {})
        fitting = [(signature, types) for signature, types in fitting if _types_fit(signature, types, *given)]
    return _normalized(fitting[0][0], args, kwargs, normalize_to_only_use_kwargs) if fitting else None


def normalize_module(
    root: Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """Do as `normalize_function` does for the call of a submodule; None where it is no module of ``nn``.

    Raises
    ------
    RuntimeError
        If there is no such submodule.
    """
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(f"Tried to normalize node with target {target} but root did not have that target!") from error
    if not type(module).__module__.startswith("minitorch.nn"):
        return None
    return _normalized(inspect.signature(module.forward), args, dict(kwargs or {}), normalize_to_only_use_kwargs)


def _signatures(target: Any) -> list[tuple[inspect.Signature, dict[str, Any]]] | None:
    """Return the signatures of an operator's overloads, or None for a Python function."""
    if isinstance(target, OpOverload):
        return [_signature_of(target, False)]
    if isinstance(target, OpOverloadPacket):
        return [_signature_of(getattr(target, name), False) for name in target.overloads()]
    binder = getattr(target, "binder", None)
    if binder is None:
        return None
    return [_signature_of(typing.cast(OpOverload, OPERATORS[name]), True) for name in binder.overload_names]


@cache
def _signature_of(op: OpOverload, public: bool) -> tuple[inspect.Signature, dict[str, Any]]:
    """Return an operator's signature, and the schema types of its parameters; public functions say ``input`` for self."""
    parameters: list[inspect.Parameter] = []
    types: dict[str, Any] = {}
    arguments = op._schema.arguments
    # An argument called `from` cannot be given by name.
    by_place_only = any(keyword.iskeyword(argument.name) for argument in arguments)
    placed = inspect.Parameter.POSITIONAL_ONLY if by_place_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    for argument in arguments:
        name = "input" if public and argument.name == "self" else argument.name
        name = f"{name}_" if keyword.iskeyword(name) else name
        types[name] = argument.type
        kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else placed
        default = argument.default if argument.has_default else inspect.Parameter.empty
        parameters.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(parameters), types


def _binds(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _types_fit(signature: inspect.Signature, types: dict[str, Any], args: tuple, kwargs: dict[str, Any]) -> bool:
    """Return whether arguments of these classes suit an overload."""
    if not _binds(signature, args, kwargs):
        return False
    bound = signature.bind(*args, **kwargs).arguments
    return all(name not in types or _type_fits(types[name], given) for name, given in bound.items())


def _type_fits(wanted: Any, given: Any) -> bool:
    classes = _CLASSES.get(wanted.base)
    if classes is None or given is type(None):
        return classes is None or wanted.is_optional
    if wanted.is_list:
        if typing.get_origin(given) in (list, tuple):
            return all(item is ... or issubclass(item, classes) for item in typing.get_args(given))
        return given is int and wanted.base in ("int", "SymInt")  # one number stands for a list of it
    if not isinstance(given, type):
        return False
    return issubclass(given, classes) and (given is not bool or bool in classes)


def _normalized(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], only_kwargs: bool
) -> ArgsKwargsPair | None:
    allowed = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if any(parameter.kind not in allowed for parameter in signature.parameters.values()):
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    by_place = 0 if only_kwargs else len(args)
    items = list(bound.arguments.items())
    return ArgsKwargsPair(tuple(value for _, value in items[:by_place]), dict(items[by_place:]))
