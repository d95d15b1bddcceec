"""How a call that got a proxy is written down.

Functions of ``nn.functional`` are recorded as PyTorch's are: what has no default by position, the rest by name.  So a
transformation finds an argument in one place, however the call was spelled.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import minitorch
from minitorch.fx.naming import public_name
from minitorch.tensor.tensor import Tensor

__all__ = ["public_function", "recorded_arguments", "recorded_method_name"]


def recorded_method_name(func: Any) -> str | None:
    """Return the name of the method of `Tensor` that a function is, or None if it is a public function or neither."""
    name = getattr(func, "__name__", None)
    if not isinstance(name, str) or public_name(func) is not None:
        return None
    if inspect.getattr_static(Tensor, name, None) is not func:
        return None
    plain = name.strip("_") if name.startswith("__") else name
    return plain if hasattr(Tensor, plain) else name


def _is_internal(func: Any) -> bool:
    """Return whether a function is one that minitorch's own code calls, next to a public one of that name."""
    return hasattr(func, "binder") and not func.binder.is_method and public_name(func) is None


def public_function(func: Any) -> Any:
    """Return the public function that a function of minitorch's own code stands next to, or else the function."""
    return getattr(minitorch, func.__name__, func) if _is_internal(func) else func


@cache
def _signature(func: Any) -> inspect.Signature | None:
    if not inspect.isfunction(func) or not func.__module__.startswith("minitorch.nn.functional"):
        return None
    signature = inspect.signature(func)
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return None if any(p.kind in variable for p in signature.parameters.values()) else signature


def recorded_arguments(func: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """Return the arguments of a call as they are recorded."""
    signature = _signature(func)
    if signature is None:
        return args, kwargs
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    parameters = signature.parameters
    positional = [name for name in bound.arguments if parameters[name].default is inspect.Parameter.empty]
    return (
        tuple(bound.arguments[name] for name in positional),
        {name: value for name, value in bound.arguments.items() if name not in positional},
    )
