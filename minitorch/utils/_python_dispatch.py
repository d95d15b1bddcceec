"""Dispatch modes, which of them are active in this thread, and what authors of wrapper subclasses need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.dispatch.mode_stack import (
    current_dispatch_mode,
    disable_all_modes,
    in_dispatch_mode,
    mode_stack,
    pop_mode_temporarily,
)
from minitorch.dispatch.namespace import OpOverload
from minitorch.modes.dispatch_mode import BaseTorchDispatchMode, TorchDispatchMode
from minitorch.tensor.base import TensorBase
from minitorch.tensor.subclass import is_traceable_wrapper_subclass

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Return whether a dispatch mode is active; without infra modes, whether one of the user's is."""
    return in_dispatch_mode(include_infra_modes)


def _get_current_dispatch_mode() -> Any:
    return current_dispatch_mode()


def _get_current_dispatch_mode_stack() -> list[Any]:
    """Return the active modes; the last is the next to run."""
    return list(mode_stack())


_disable_current_modes = disable_all_modes
_pop_mode_temporarily = pop_mode_temporarily
is_traceable_wrapper_subclass_type = is_traceable_wrapper_subclass


def transform_subclass(tensor: Any, fn: Callable[[str, Any], Any], outer_size: Any = None, outer_stride: Any = None) -> Any:
    """Return a traceable wrapper subclass with ``fn(name, inner)`` in place of each tensor inside.

    Parameters
    ----------
    tensor : Tensor
        Of a class that defines ``__tensor_flatten__`` and ``__tensor_unflatten__``.
    outer_size, outer_stride : sequence of int, optional
        The geometry of the result; that of `tensor` when omitted.

    Raises
    ------
    RuntimeError
        If the class made a tensor of another shape or stride.
    """
    outer_size = tensor.size() if outer_size is None else outer_size
    outer_stride = tensor.stride() if outer_stride is None else outer_stride
    names, context = tensor.__tensor_flatten__()
    inner = {name: fn(name, getattr(tensor, name)) for name in names}
    result = type(tensor).__tensor_unflatten__(inner, context, outer_size, outer_stride)
    if tuple(result.shape) != tuple(outer_size) or tuple(result.stride()) != tuple(outer_stride):
        raise RuntimeError(
            f"transform_subclass: {type(tensor).__name__}.__tensor_unflatten__ made a tensor of size {tuple(result.shape)} and "
            f"stride {tuple(result.stride())}, where {tuple(outer_size)} and {tuple(outer_stride)} were asked for"
        )
    return result


def return_and_correct_aliasing(func: OpOverload, args: tuple, kwargs: dict[str, Any] | None, out: Any) -> Any:
    """Return what a handler of a wrapper subclass should return, by what the schema says of aliases.

    A handler makes a new wrapper for each result.  Where the operator returns a view, the new one gets
    the storage of its argument; where it returns what it wrote, the argument itself is returned.

    Parameters
    ----------
    func : OpOverload
    args, kwargs
        Those of the handler.
    out
        What the handler made: a tensor or a list or tuple of them.

    Raises
    ------
    RuntimeError
        If `out` has not as many values as the schema has returns.
    """
    schema = func._schema
    keywords = kwargs or {}
    returns = schema.returns
    if len(returns) > 1 and not (isinstance(out, (list, tuple)) and len(out) == len(returns)):
        raise RuntimeError(f"return_and_correct_aliasing: {func} returns {len(returns)} values, but got {out!r}")
    values = list(out) if len(returns) > 1 else [out]
    for place, declared in enumerate(returns):
        sets = _alias_sets(declared)
        if not sets:
            continue
        for index, argument in enumerate(schema.arguments):
            if not sets & _alias_sets(argument):
                continue
            value = args[index] if index < len(args) and not argument.kwarg_only else keywords.get(argument.name)
            if value is None:
                continue
            if declared.alias_info is not None and declared.alias_info.is_write:
                values[place] = value
            elif isinstance(value, TensorBase):
                _alias_storage(values[place], value)
            break
    return type(out)(values) if len(returns) > 1 and type(out) in (list, tuple) else values[0] if len(returns) == 1 else out


def _alias_sets(argument: Any) -> frozenset[str]:
    info = argument.alias_info
    if info is None:
        return frozenset()
    return info.before_set if info.element is None else info.before_set | info.element.before_set


def _alias_storage(result: Any, source: TensorBase) -> None:
    """Give a result, or each in a list, the storage of the argument that it is a view of."""
    for view in result if isinstance(result, (list, tuple)) else (result,):
        if isinstance(view, TensorBase) and view is not source:
            view.storage_cell = source.storage_of()
