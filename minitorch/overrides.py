"""The ``__torch_function__`` protocol for those who write overridable functions, tensor-likes, and modes.

A function of yours takes part like this::

    def scaled(x, by):
        if has_torch_function((x, by)):
            return handle_torch_function(scaled, (x, by), x, by)
        return x * by
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from minitorch.dispatch.local_state import current
from minitorch.dispatch.namespace import OpOverload, OpOverloadPacket
from minitorch.modes.python_key import enable_reentrant_dispatch
from minitorch.ops import overridable, overriding
from minitorch.ops.overriding import (
    BaseTorchFunctionMode,
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    TorchFunctionMode,
)
from minitorch.ops.python_operators import nowrap_functions
from minitorch.tensor.base import TensorBase, is_plain
from minitorch.tensor.tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

_SKIP_ONCE = "the next look for handlers finds none"  # in the thread's `extra`
# Where public functions are, by the name that they go by; imported when they are asked for.
_NAMESPACES = ("minitorch", "minitorch.functional", "minitorch.nn.functional", "minitorch.nn.init", "minitorch.linalg",
               "minitorch.fft", "minitorch.special", "minitorch.signal.windows")  # fmt: skip


# -- in functions ----------------------------------------------------------------------------------


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether a mode, or the class of one of these values, may take over a call."""
    state = current()
    if state.extra.pop(_SKIP_ONCE, False) or state.function_disabled:
        return False
    return bool(state.function_modes) or bool(overriding.overloaded_arguments(tuple(relevant_args), {}))


def has_torch_function_unary(value: Any) -> bool:
    """Return what `has_torch_function` does for one value."""
    return has_torch_function((value,))


def has_torch_function_variadic(*values: Any) -> bool:
    """Return what `has_torch_function` does, for values given one by one."""
    return has_torch_function(values)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Return what the modes, or the classes of the relevant values, make of a call.

    Parameters
    ----------
    public_api : callable
        The function that was called, as handlers shall see it.
    relevant_args : iterable
        The values whose classes are asked.
    *args, **kwargs
        The call's.

    Raises
    ------
    TypeError
        If all decline, or none was there to be asked.
    """
    result = overriding.handle_operator_call(public_api, args, kwargs, tuple(relevant_args))
    if result is NotImplemented:
        raise TypeError(
            f"no implementation found for '{_full_name(public_api)}' on types that implement __torch_function__: []: ask "
            "has_torch_function first"
        )
    return result


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make the decorated function overridable.

    Parameters
    ----------
    dispatcher : callable
        Takes the arguments of the function, and returns those whose classes are asked.

    Examples
    --------
    >>> @wrap_torch_function(lambda x, by: (x, by))
    ... def scaled(x, by):
    ...     return x * by
    >>> scaled(2, 3)
    6
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return call

    return decorate


def redispatch_function(func: Callable[..., Any], types: Any, args: tuple, kwargs: dict[str, Any] | None = None) -> Any:
    """Call a function past its own look for handlers; what it calls looks for them again.

    For handlers that want to see the pieces of a function too.
    """
    body = getattr(func, "__wrapped__", None)
    if hasattr(func, "binder") or isinstance(func, (OpOverload, OpOverloadPacket)):
        with DisableTorchFunction():  # an operator has no pieces here
            return func(*args, **(kwargs or {}))
    if body is not None:
        return body(*args, **(kwargs or {}))
    state = current()
    state.extra[_SKIP_ONCE] = True
    try:
        return func(*args, **(kwargs or {}))
    finally:
        state.extra.pop(_SKIP_ONCE, None)


# -- of values and functions -------------------------------------------------------------------------


def is_tensor_like(value: Any) -> bool:
    """Return whether a value is a tensor, or has a ``__torch_function__``."""
    return is_plain(value) or hasattr(value, "__torch_function__")


def is_tensor_method_or_property(func: Any) -> bool:
    """Return whether what a handler got is a method or a property of `Tensor`, or its setter or deleter."""
    if getattr(func, "__name__", "") in ("__get__", "__set__", "__delete__"):
        return True
    name = getattr(func, "__name__", None)
    return isinstance(name, str) and _tensor_attribute(name) == func


def _tensor_attribute(name: str) -> Any:
    return next((c.__dict__[name] for c in (Tensor, TensorBase) if name in c.__dict__), None)


@functools.cache
def _names() -> dict[Any, str]:
    """Return the public names of overridable functions."""
    names: dict[Any, str] = {}
    for space, members in _members().items():
        shown = "torch.Tensor" if space is Tensor else space.__name__.replace("minitorch", "torch", 1)
        for name, function in members:
            names.setdefault(function, f"{shown}.{name}")
    return names


def resolve_name(f: Any) -> str | None:
    """Return the public name of an overridable function or operator, as ``"torch.add"``; None for all others."""
    if isinstance(f, (OpOverload, OpOverloadPacket)):
        return str(f)
    try:
        return _names().get(f)
    except TypeError:  # not hashable
        return None


def _full_name(function: Any) -> str:
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__name__', function)}"


# -- lists -------------------------------------------------------------------------------------------


def get_default_nowrap_functions() -> set[Any]:
    """Return what is asked for a tensor that was put there: ``Tensor.__torch_function__`` leaves its class as it is."""
    return set(nowrap_functions())


def _modules() -> Iterator[ModuleType]:
    from importlib import import_module

    for name in _NAMESPACES:
        yield import_module(name)


def _is_overridable(function: Any) -> bool:
    """Return whether the calls of a public function go to handlers: operators, and what `overridable` has decorated."""
    if hasattr(function, "binder"):
        return _takes_tensors(function)
    code = getattr(function, "__code__", None)
    return code is not None and code is _decorated_code


_decorated_code = overriding.overridable(len).__code__


def _takes_tensors(function: Any) -> bool:
    return any("Tensor" in str(a.type) for op in function.binder.operators() for a in op.schema.arguments if a.name != "out")


def _members() -> dict[Any, list[tuple[str, Any]]]:
    """Return names and overridable functions, by the module or class that has them."""
    found: dict[Any, list[tuple[str, Any]]] = {}
    for module in _modules():
        public = [(name, value) for name, value in sorted(vars(module).items()) if not name.startswith("_") and callable(value)]
        members = [(name, value) for name, value in public if _is_overridable(value)]
        if members:
            found[module] = members
    own = [(name, value) for name, value in sorted(Tensor.__dict__.items()) if name not in overridable.METHODS]
    methods = [(name, value) for name, value in own if _is_overridable(value) or name in ("backward", "item")]
    methods += [(name, overridable.hook_of(name).get) for name in overridable.METHODS]
    found[Tensor] = methods + [(f"{name}.__get__", overridable.hook_of(name).get) for name in overridable.PROPERTIES]
    return found


def get_overridable_functions() -> dict[Any, list[Any]]:
    """Return the functions that ``__torch_function__`` sees, by the module or class that has them.

    Methods and properties of tensors stand under `Tensor`, the latter as ``Tensor.shape.__get__``. Functions that do no more
    than call one operator, such as ``nn.functional.relu``, are not among them: handlers see the operator.
    """
    return {space: [function for _, function in members] for space, members in _members().items()}


def get_ignored_functions() -> set[Any]:
    """Return the public functions that no argument's class takes over: factories, switches, questions about the library."""
    ignored: set[Any] = {getattr(Tensor, name) for name in ("__new__", "as_subclass", "_make_subclass", "_make_wrapper_subclass")}
    for name, value in vars(next(_modules())).items():
        if name.startswith("_") or isinstance(value, (type, ModuleType)) or not callable(value):
            continue
        if not _is_overridable(value):
            ignored.add(value)
    return ignored


def get_testing_overrides() -> dict[Any, Callable[..., int]]:
    """Return, for each overridable function, a function of the same parameters that returns -1."""
    found: dict[Any, Callable[..., int]] = {}
    for functions in get_overridable_functions().values():
        for function in functions:
            found[function] = _dummy(function)
    return found


def _dummy(function: Any) -> Callable[..., int]:
    def dummy(*args: Any, **kwargs: Any) -> int:
        signature.bind(*args, **kwargs)
        return -1

    signature = _signature(function)
    dummy.__signature__ = signature  # type: ignore[attr-defined]
    dummy.__name__ = getattr(function, "__name__", "dummy")
    return dummy


def _signature(function: Any) -> inspect.Signature:
    """Return the parameters of a function: of an operator, those of its first overload."""
    if not hasattr(function, "binder"):
        try:
            return inspect.signature(function)
        except (TypeError, ValueError):
            return inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)])
    binder = function.binder
    operators = binder.operators() or binder.out_overloads
    parameters = []
    for argument in operators[0].schema.arguments:
        name = argument.name if binder.is_method or argument.name != "self" else "input"
        kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        default = argument.default if argument.has_default else inspect.Parameter.empty
        parameters.append(inspect.Parameter(name + "_" if name in ("from", "lambda") else name, kind, default=default))
    if binder.out_overloads and not any(p.name == "out" for p in parameters):
        parameters.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
    return inspect.Signature(parameters)


# -- modes -------------------------------------------------------------------------------------------


def _get_current_function_mode() -> Any:
    """Return the mode that runs next, None where none is active."""
    modes = current().function_modes
    return modes[-1] if modes else None


def _get_current_function_mode_stack() -> list[Any]:
    """Return the active modes; the last is the next to run."""
    return list(current().function_modes or ())


@contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    """Scope: the mode that runs next is not active.  Gives that mode."""
    state = current()
    modes = state.function_modes
    if not modes:
        raise RuntimeError("no __torch_function__ mode is active in this thread, so there is none to leave")
    state.function_modes = modes[:-1] or None
    try:
        yield modes[-1]
    finally:
        state.function_modes = modes


@contextmanager
def _enable_torch_function() -> Iterator[None]:
    """Scope: handlers run again, inside of a scope in which they do not."""
    state = current()
    disabled = state.function_disabled
    off = state.extra.pop(overriding._SUBCLASSES_OFF, None)
    state.function_disabled = False
    try:
        yield
    finally:
        state.function_disabled = disabled
        if off is not None:
            state.extra[overriding._SUBCLASSES_OFF] = off
