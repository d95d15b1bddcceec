"""`TorchDispatchMode`: a scope whose handler gets every operator call of the thread."""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.keys import DispatchKey
from minitorch.dispatch.mode_stack import InfraSlot, is_infra_mode, mode_stack, set_mode_stack, stack_with
from minitorch.dispatch.pre_dispatch import pre_dispatch_modes, pre_dispatch_stack_with, set_pre_dispatch_modes


class TorchDispatchMode:
    """Scope in which operator calls of this thread go to ``__torch_dispatch__``.

    Subclass it and define ``__torch_dispatch__(self, func, types, args=(), kwargs=None)``.  The
    handler runs below autograd and below all transforms; it is off meanwhile, so what it calls
    goes on to the mode around it (``with self:`` brings it back).

    Attributes
    ----------
    _mode_key : InfraSlot or None
        The slot of a mode that the library itself works with (`mode_stack`, Note [Order of modes]).
    _dispatch_key : DispatchKey or None
        PreDispatch for a mode that runs there, above autograd (`pre_dispatch`); given when it is made.
    supports_higher_order_operators : bool
        Whether its handler gets the calls of higher-order operators for which it has no rule; without
        that they are errors.

    Examples
    --------
    >>> class Names(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x = minitorch.ones(2, 2)
    >>> with Names():
    ...     y = minitorch.nn.functional.linear(x, x)
    aten.t.default
    aten.mm.default
    """

    _mode_key: InfraSlot | None = None
    _dispatch_key: DispatchKey | None = None
    supports_higher_order_operators = False

    def __init__(self, _dispatch_key: DispatchKey | None = None):
        if _dispatch_key is not None:
            if _dispatch_key.name != "PreDispatch":
                raise RuntimeError(f"{type(self).__name__}: modes act at Python or PreDispatch, not at {_dispatch_key.name}")
            self._dispatch_key = _dispatch_key

    def __torch_dispatch__(self, func: Any, types: tuple[type, ...], args: tuple = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no __torch_dispatch__")

    def __enter__(self) -> Any:
        # One mode may be entered several times: a stack of what to go back to.
        stacks = self.__dict__.setdefault("_stacks", [])
        if self._dispatch_key is None:
            outer = mode_stack()
            inner = stack_with(outer, self)
            set_mode_stack(inner)
        else:
            outer = pre_dispatch_modes()
            inner = pre_dispatch_stack_with(outer, self)
            set_pre_dispatch_modes(inner)
        stacks.append((outer, inner))
        return self

    def __exit__(self, *exc_info: Any) -> None:
        stacks = self.__dict__.get("_stacks")
        if not stacks:
            raise RuntimeError(f"{type(self).__name__}: the mode was exited more often than it was entered")
        outer, inner = stacks.pop()
        if self._dispatch_key is None:
            set_mode_stack(_stack_after(self, mode_stack(), outer, inner))
        else:
            set_pre_dispatch_modes(_stack_after(self, pre_dispatch_modes(), outer, inner))

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a mode made with these arguments."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Return whether modes of this class are the library's own."""
        return is_infra_mode(cls)


def _stack_after(mode: TorchDispatchMode, modes: tuple, outer: tuple, inner: tuple) -> tuple:
    """Return the stack after a mode was exited, which went from `outer` to `inner` when it was entered.

    Generators can end their scopes in another order than they began them; then the mode is the only one to go.
    """
    if modes == inner:
        return outer
    for i in range(len(modes) - 1, -1, -1):
        if modes[i] is mode:
            return (*modes[:i], *modes[i + 1 :])
    return modes


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that passes every call on: to be subclassed by those that only look at some."""

    def __torch_dispatch__(self, func: Any, types: tuple[type, ...], args: tuple = (), kwargs: Any = None) -> Any:
        return func(*args, **({} if kwargs is None else kwargs))
