"""Functions that define and register without a library object at hand.

Those that are given none make one that lives as long as the process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.core.device import dispatch_key_name
from minitorch.dispatch.keys import DispatchKey
from minitorch.dispatch.library import Library, split_qualname
from minitorch.dispatch.namespace import OpOverload, OpOverloadPacket
from minitorch.dispatch.operator import Operator
from minitorch.dispatch.schema_parser import parse_schema
from minitorch.dispatch.tags import Tag

_KEPT: list[Library] = []


def _kept_library(ns: str, kind: str) -> Library:
    lib = Library(ns, kind)
    _KEPT.append(lib)
    return lib


def library_for(op: OpOverload, lib: Library | None) -> Library:
    """Return `lib`, or where there is none a new library that lives forever."""
    return _kept_library(op.namespace, "IMPL") if lib is None else lib


def define(
    qualname: str | Library,
    schema: str,
    alias_analysis: str = "",
    *,
    lib: Library | None = None,
    tags: Tag | str | Sequence[Tag | str] = (),
) -> Any:
    """Define the operator `qualname` with a schema that has no name.

    ``define(lib, "name(Tensor x) -> Tensor")`` is the older form: a decorator that defines
    the operator and makes the decorated function its kernel.

    Parameters
    ----------
    qualname : str
        ``"ns::name"`` or ``"ns::name.overload"``.
    schema : str
        ``"(Tensor x) -> Tensor"``.
    lib : Library, optional
        What the definition lives as long as; forever if there is none.

    Raises
    ------
    ValueError
        If `qualname` or `schema` has another form.
    """
    if isinstance(qualname, Library):
        target = qualname

        def define_and_implement(fn: Callable[..., Any]) -> Callable[..., Any]:
            name = target.define(schema, alias_analysis, tags=tags)
            overload = parse_schema(schema).overload_name
            target.impl(f"{name}.{overload}" if overload else name, fn)
            return fn

        return define_and_implement
    namespace, name = split_qualname(qualname)
    if not schema.lstrip().startswith("("):
        raise ValueError(
            "define(qualname, schema, ...): expected schema to look like e.g. "
            f'"(Tensor x) -> Tensor" but got "{schema}"'
        )
    if lib is None:
        lib = _kept_library(namespace, "FRAGMENT")
    lib.define(name + schema, alias_analysis, tags=tags)
    return None


def impl(
    qualname: str | Library,
    types: str | Sequence[str],
    func: Callable[..., Any] | str | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Register `func` for device types or dispatch keys; without `func`, return a decorator.

    ``impl(lib, "name", "CPU")`` is the older form of the decorator.

    Parameters
    ----------
    qualname : str
        ``"ns::name"`` or ``"ns::name.overload"``.
    types : str or sequence of str
        Device types (``"cpu"``), names of dispatch keys, or ``"default"`` for
        CompositeExplicitAutograd.
    """
    if isinstance(qualname, Library):
        return _implement_in(qualname, types, func or "")
    names = (types,) if isinstance(types, str) else tuple(types)
    keys = [_key_of_type(name) for name in names]

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        namespace, _ = split_qualname(qualname)
        target = _kept_library(namespace, "IMPL") if lib is None else lib
        for key in keys:
            target.impl(qualname, fn, key)
        return fn

    if func is None:
        return register
    if isinstance(func, str):
        raise TypeError(f"impl({qualname!r}, ...): the function cannot be a str: {func!r}")
    register(func)
    return None


def _implement_in(lib: Library, name: Any, dispatch_key: Any) -> Callable[[Any], Any]:
    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        lib.impl(name, fn, dispatch_key)
        return fn

    return register


def _key_of_type(name: str) -> str:
    if name == "default":
        return "CompositeExplicitAutograd"
    if name in DispatchKey.by_name:
        return name
    return dispatch_key_name(name)


def register_kernel(
    op: str | OpOverload | OpOverloadPacket,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Register `func` for device types, all of them with None; as a decorator without `func`."""
    types = "default" if device_types is None else device_types
    if func is None:
        return lambda fn: (impl(_qualname_of(op), types, fn, lib=lib), fn)[1]
    return impl(_qualname_of(op), types, func, lib=lib)


def _qualname_of(op: Any) -> str:
    if isinstance(op, Operator):
        return op.qualname
    if isinstance(op, OpOverloadPacket):
        return op._qualified_op_name
    qualname = getattr(op, "_qualname", op)
    if not isinstance(qualname, str):
        raise ValueError(f"expected an operator or its qualified name, not {type(op).__name__}")
    return qualname


def register_fake(
    op: str | OpOverload | OpOverloadPacket,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    allow_override: bool = True,
) -> Any:
    """Register what computes an operator's results on tensors without elements.

    It serves meta tensors and fake tensors.  The newest wins; a library takes it along.
    """

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        qualname = _qualname_of(op)
        target = lib or _kept_library(split_qualname(qualname)[0], "IMPL")
        target._register_fake(qualname, fn, allow_override=allow_override)
        return fn

    return register if func is None else register(func)


def register_torch_dispatch(
    op: str | OpOverload | OpOverloadPacket,
    torch_dispatch_class: type,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Register what runs for a class instead of its own ``__torch_dispatch__``.

    For the class of tensors it is called as ``func(cls, op, types, args, kwargs)``, for
    that of modes as ``func(mode, op, types, args, kwargs)``.

    Raises
    ------
    RuntimeError
        If the operator has a rule for the class already.
    """

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        qualname = _qualname_of(op)
        target = lib or _kept_library(split_qualname(qualname)[0], "IMPL")
        target._register_torch_dispatch_rule(qualname, torch_dispatch_class, fn)
        return fn

    return register if func is None else register(func)
