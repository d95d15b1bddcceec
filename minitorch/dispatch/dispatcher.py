"""Registrations: definitions, kernels and fallbacks, and how each is undone."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

from minitorch.dispatch.keys import ALIASES, DispatchKey, parse_key
from minitorch.dispatch.operator import (
    BACKEND_FALLBACKS,
    OPERATORS,
    FallthroughKernel,
    Kernel,
    Operator,
)

# The class of new operators; `dispatch.namespace` replaces it by the one with the full public face.
operator_class: type[Operator] = Operator
# "ns::op" -> the names of its defined overloads, in order of definition.
OVERLOADS: dict[str, list[str]] = {}
# Called with an operator after it was defined, and after its definition was taken away.
definition_listeners: list[Callable[[Operator], None]] = []
# Keys whose kernels may be replaced without a word (spec T14).
_NEVER_WARN = frozenset(("Meta", "MTIA"))
_override_warned = False
# Modules whose frames are not "the place" of a registration.
_REGISTERING = ("minitorch.dispatch.", "minitorch.library")


def caller_location() -> tuple[str, int]:
    """Return file and line of the code that called into the registration functions."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_REGISTERING):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def split_name(qualname: str) -> str:
    """Return `qualname` with the overload ``default`` spelled as the empty one."""
    return qualname.removesuffix(".default")


def get_or_create(qualname: str) -> Operator:
    """Return the operator called `qualname`, making one without schema where there is none."""
    op = OPERATORS.get(qualname)
    if op is None:
        op = OPERATORS[qualname] = operator_class(qualname)
    return op


def define(qualname: str, schema_text: str, origin: tuple[str, int] | None = None) -> Operator:
    """Give the operator `qualname` a schema.

    Kernels that were registered before become active.

    Raises
    ------
    RuntimeError
        If it is defined already; the message names both places.
    """
    op = get_or_create(qualname)
    if op.schema_text is not None:
        old = op.hooks.get("defined at") if op.hooks else None
        raise RuntimeError(
            f"Tried to register an operator ({schema_text}) with the same name and the same overload name "
            f"multiple times. {qualname} was defined at {_place(old)}; the new definition is at {_place(origin)}."
        )
    op.set_schema(schema_text)
    if origin is not None:
        op.hooks = {**(op.hooks or {}), "defined at": origin}
    OVERLOADS.setdefault(f"{op.namespace}::{op.basename}", []).append(op.overload)
    for listener in definition_listeners:
        listener(op)
    return op


def undefine(op: Operator) -> None:
    """Take an operator's schema away; kernels of others stay, waiting for a new definition."""
    op.set_schema(None)
    packet_name = f"{op.namespace}::{op.basename}"
    OVERLOADS[packet_name].remove(op.overload)
    if not OVERLOADS[packet_name]:
        del OVERLOADS[packet_name]
    forget_if_empty(op)
    for listener in definition_listeners:
        listener(op)


def forget_if_empty(op: Operator) -> None:
    """Drop an operator that has neither definition nor kernel (spec T16)."""
    if op.schema_text is None and not op.kernels and OPERATORS.get(op.qualname) is op:
        del OPERATORS[op.qualname]


def target_key(name: str | DispatchKey) -> DispatchKey:
    """Return the key that a registration to `name` is for.

    ``Undefined`` and ``CatchAll`` mean CompositeImplicitAutograd (spec T18).

    Raises
    ------
    RuntimeError
        If `name` is no key, or one that calls never reach (a per-backend building block).
    """
    key = name if isinstance(name, DispatchKey) else parse_key("Undefined" if name == "CatchAll" else name)
    if key.name == "Undefined":
        return parse_key("CompositeImplicitAutograd")
    if key.is_building_block:
        raise RuntimeError(
            f"{key.name} is a building block: no call ever reaches it. Register to a key that has a backend, "
            f"such as {'CPU' if key.name == 'Dense' else key.name.replace('Functionality', '') + 'CPU'}."
        )
    return key


def register_kernel(qualname: str, key: str | DispatchKey, kernel: Kernel, warn_override: bool = True) -> Operator:
    """Register `kernel` for an operator (defined or not yet) at a runtime or alias key."""
    global _override_warned
    target = target_key(key)
    op = get_or_create(qualname)
    old = op.active(target.name)
    if old is not None and warn_override and target.name not in _NEVER_WARN and not _override_warned:
        _override_warned = True
        warnings.warn(
            f"Warning only once for all operators, other operators may also be overridden.\n"
            f"  Overriding a previously registered kernel for the same operator and the same dispatch key\n"
            f"  operator: {qualname}\n  dispatch key: {target.name}\n"
            f"  previous kernel: registered at {old.location()}\n"
            f"       new kernel: registered at {kernel.location()}",
            UserWarning,
            stacklevel=4,
        )
    op.register(target.name, kernel)
    return op


def unregister_kernel(op: Operator, kernel: Kernel) -> None:
    """Undo `register_kernel`."""
    op.unregister(kernel.key_name, kernel)
    forget_if_empty(op)


def register_fallback(key: str | DispatchKey, kernel: Kernel) -> DispatchKey:
    """Register what runs at `key` for each operator that has nothing better there.

    Raises
    ------
    RuntimeError
        For alias keys, and where the key has a fallback already.
    """
    target = key if isinstance(key, DispatchKey) else parse_key(key)
    if target.is_alias or target.slot <= 0:
        raise RuntimeError(
            f"a fallback needs a runtime key, and {target.name} is none; register it to each key that it is for"
            + (f" ({', '.join(ALIASES)} are aliases)" if target.is_alias else "")
        )
    old = BACKEND_FALLBACKS.get(target.slot)
    if old is not None:
        raise RuntimeError(f"{target.name} has a backend fallback already, registered at {old.location()}")
    kernel.key_name = target.name
    BACKEND_FALLBACKS[target.slot] = kernel
    _invalidate_all()
    return target


def unregister_fallback(kernel: Kernel) -> None:
    """Undo `register_fallback`."""
    slot = parse_key(kernel.key_name).slot
    if BACKEND_FALLBACKS.get(slot) is kernel:
        del BACKEND_FALLBACKS[slot]
        _invalidate_all()


def _invalidate_all() -> None:
    for op in OPERATORS.values():
        op.invalidate()


def _place(origin: Any) -> str:
    return f"{origin[0]}:{origin[1]}" if origin else "an unknown place"


def _register_default_fallthroughs() -> None:
    """Register the keys that operators skip unless they have a kernel there (spec K1)."""
    for name in (
        "BackendSelect",
        "ADInplaceOrView",
        "AutocastCPU",
        "AutocastMTIA",
        "AutocastMAIA",
        "AutocastXPU",
        "AutocastMPS",
        "AutocastCUDA",
        "FuncTorchVmapMode",
        "VmapMode",
    ):
        register_fallback(name, FallthroughKernel())


_register_default_fallthroughs()
