"""``__torch_function__``: how subclasses and modes take over public calls (spec O3, P7)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from minitorch.dispatch.local_state import current
from minitorch.ops.function import CallPlan, Function
from minitorch.tensor.base import TensorBase, count_function_modes, is_plain, modes_active

_SUBCLASSES_OFF = "subclasses take over no calls"  # in the thread's `extra`


def defines_function(cls: type) -> bool:
    """Return whether a class handles public calls in another way than `Tensor` does."""
    handler = getattr(cls, "__torch_function__", None)
    handler = getattr(handler, "__func__", handler)
    return handler is not None and handler is not _disabled.__func__ and handler is not getattr(default_handler, "__func__", None)


# ``Tensor.__torch_function__``, once it is there.
default_handler: Any = None


def overrides_calls(tensor: Any) -> bool:
    """Return whether the class of a tensor takes calls over."""
    return _handler(tensor) is not None and _SUBCLASSES_OFF not in current().extra


def _handler(value: Any) -> Any:
    """Return the class's ``__torch_function__`` if it has one of its own, else None."""
    cls = type(value)
    handler = getattr(cls, "__torch_function__", None)
    if handler is None or is_plain(value):
        return None
    if isinstance(value, TensorBase) and getattr(handler, "__func__", handler) is _disabled.__func__:
        return None
    return handler


class _Holder:
    @classmethod
    def disabled(cls, func, types, args=(), kwargs=None):
        """Stand for `__torch_function__` in classes that do not want it."""
        return func(*args, **(kwargs or {}))


_disabled = _Holder.disabled
disabled_torch_function_impl = _disabled


def overloaded_arguments(args: tuple, kwargs: dict) -> list:
    """Return the arguments whose classes override calls: each class once, subclasses first."""
    found: list = []
    if _SUBCLASSES_OFF in current().extra:
        return found
    for value in (*args, *kwargs.values()):
        items = value if isinstance(value, (list, tuple)) else (value,)
        for item in items:
            if _handler(item) is None or any(type(item) is type(f) for f in found):
                continue
            place = len(found)
            for i, other in enumerate(found):
                if issubclass(type(item), type(other)):
                    place = i
                    break
            found.insert(place, item)
    return found


def find_override(function: Function, args: tuple, kwargs: dict) -> CallPlan | None:
    """Return a plan that asks the arguments' classes, or None when none overrides calls."""
    if current().function_disabled or not overloaded_arguments(args, kwargs):
        return None
    return CallPlan(
        None, (), (), (), 0, (), None, False,
        override=lambda a, k: call_handlers(function.public, a, k or {}),
    )


def _overriding(args: tuple, kwargs: dict, relevant: tuple | None) -> list:
    return overloaded_arguments(args, kwargs) if relevant is None else overloaded_arguments(relevant, {})


def call_handlers(public: Any, args: tuple, kwargs: dict, relevant: tuple | None = None) -> Any:
    """Ask each overriding class in turn; the first result that is not NotImplemented counts.

    Raises
    ------
    TypeError
        If all of them decline.
    """
    arguments = _overriding(args, kwargs, relevant)
    types = tuple(type(a) for a in arguments)
    for argument in arguments:
        result = _handler(argument)(public, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = getattr(public, "__name__", str(public))
    raise TypeError(
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented: "
        f"{', '.join(t.__name__ for t in types)}"
    )


def call_function_modes(function: Function, args: tuple, kwargs: dict | None) -> Any:
    """Run a public call through the innermost ``__torch_function__`` mode of this thread."""
    state = current()
    kwargs = kwargs or {}
    if not state.function_modes or state.function_disabled:
        return _without_modes(function, args, kwargs)
    return ask_mode(function.public, args, kwargs)


def ask_mode(public: Any, args: tuple, kwargs: dict, relevant: tuple | None = None) -> Any:
    """Call the handler of the innermost mode, which is off meanwhile."""
    state: Any = current()
    modes = state.function_modes
    mode = modes[-1]
    state.function_modes = modes[:-1]
    try:
        types = tuple(type(a) for a in _overriding(args, kwargs, relevant))
        result = mode.__torch_function__(public, types, args, kwargs)
    finally:
        state.function_modes = modes
    if result is NotImplemented:
        name = getattr(public, "__name__", str(public))
        raise TypeError(f"{type(mode).__name__}.__torch_function__ returned NotImplemented for {name}")
    return result


def handle_operator_call(func: Any, args: tuple, kwargs: dict, relevant: tuple | None = None) -> Any:
    """Let modes and the arguments' classes take over the call of an operator object (spec O3).

    `relevant` are the values that may do so, where not the arguments and what is in lists of them.
    Returns NotImplemented where nothing does.
    """
    state = current()
    if state.function_disabled:
        return NotImplemented
    if state.function_modes:
        return ask_mode(func, args, kwargs, relevant)
    if not _overriding(args, kwargs, relevant):
        return NotImplemented
    return call_handlers(func, args, kwargs, relevant)


# Types of arguments that take over no calls; those of plain tensors are added when they are met.
_plain_types: set[type] = {int, float, bool, str, type(None)}


def _all_plain(values: Any) -> bool:
    """Return whether no value can take a call over; False where that takes a closer look."""
    for value in values:
        if type(value) not in _plain_types:
            if not is_plain(value):
                return False
            _plain_types.add(type(value))
    return True


def overridable(function: Callable[..., Any]) -> Any:
    """Return a function written in Python whose calls modes and the arguments' classes may take over."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if modes_active() or not _all_plain(args) or (kwargs and not _all_plain(kwargs.values())):
            result = handle_operator_call(call, args, kwargs)
            if result is not NotImplemented:
                return result
        return function(*args, **kwargs)

    return call


def seen_by_modes(function: Callable[..., Any]) -> Any:
    """Return a function of values that are no tensors, such as a factory, whose calls modes may take over."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if modes_active():
            state = current()
            if state.function_modes and not state.function_disabled:
                return ask_mode(call, args, kwargs)
        return function(*args, **kwargs)

    return call


def _without_modes(function: Function, args: tuple, kwargs: dict) -> Any:
    from minitorch.ops.binder import resolve

    override = find_override(function, args, kwargs)
    plan = override if override is not None else resolve(function, args, kwargs)
    return plan.run_with(args, kwargs, None)


class _Scope:
    """Scope that changes whether handlers run."""

    def __init__(self) -> None:
        self._outer: list[tuple[Any, Any]] = []

    def __enter__(self) -> Any:
        state = current()
        self._outer.append((state.function_disabled, state.extra.get(_SUBCLASSES_OFF)))
        self._change(state)
        count_function_modes(1)  # leaves the fast road, where nobody asks
        return self

    def _change(self, state: Any) -> None:
        raise NotImplementedError

    def __exit__(self, *exc_info: Any) -> None:
        count_function_modes(-1)
        state = current()
        state.function_disabled, off = self._outer.pop()
        if off is None:
            state.extra.pop(_SUBCLASSES_OFF, None)


class DisableTorchFunction(_Scope):
    """Scope: neither subclasses nor modes take over calls."""

    def _change(self, state: Any) -> None:
        state.function_disabled = True


class DisableTorchFunctionSubclass(_Scope):
    """Scope: subclasses do not take over calls; modes do."""

    def _change(self, state: Any) -> None:
        state.extra[_SUBCLASSES_OFF] = True


class TorchFunctionMode:
    """Scope in which every public call of this thread goes to ``__torch_function__`` first.

    Subclass it and define ``__torch_function__(self, func, types, args=(), kwargs=None)``;
    inside the handler the mode is off.

    Examples
    --------
    >>> class Names(TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> x = minitorch.ones(2, 2)
    >>> with Names():
    ...     y = minitorch.nn.functional.linear(x, x)
    linear
    """

    def __torch_function__(self, func: Any, types: tuple[type, ...], args: tuple = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no __torch_function__")

    def __enter__(self) -> Any:
        from minitorch.ops.overridable import hook_tensor

        hook_tensor(1)
        state: Any = current()
        state.function_modes = [*(state.function_modes or []), self]
        count_function_modes(1)
        return self

    def __exit__(self, *exc_info: Any) -> None:
        from minitorch.ops.overridable import hook_tensor

        count_function_modes(-1)
        state: Any = current()
        state.function_modes = state.function_modes[:-1] or None
        hook_tensor(-1)

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a mode made with these arguments."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that passes every call on: to be subclassed by those that only look at some."""

    def __torch_function__(self, func: Any, types: tuple[type, ...], args: tuple = (), kwargs: Any = None) -> Any:
        return func(*args, **({} if kwargs is None else kwargs))
