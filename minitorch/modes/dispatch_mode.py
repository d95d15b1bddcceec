"""`TorchDispatchMode`: a scope whose handler gets every operator call of the thread."""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.mode_stack import InfraSlot, mode_stack, set_mode_stack, stack_with


class TorchDispatchMode:
    """Scope in which operator calls of this thread go to ``__torch_dispatch__``.

    Subclass it and define ``__torch_dispatch__(self, func, types, args=(), kwargs=None)``.  The
    handler runs below autograd and below all transforms; it is off meanwhile, so what it calls
    goes on to the mode around it (``with self:`` brings it back).

    Attributes
    ----------
    _mode_key : InfraSlot or None
        The slot of a mode that the library itself works with (`mode_stack`, Note [Order of modes]).

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

    def __torch_dispatch__(self, func: Any, types: tuple[type, ...], args: tuple = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no __torch_dispatch__")

    def __enter__(self) -> Any:
        modes = mode_stack()
        # One mode may be entered several times: a stack of what to go back to.
        self.__dict__.setdefault("_outer_stacks", []).append(modes)
        set_mode_stack(stack_with(modes, self))
        return self

    def __exit__(self, *exc_info: Any) -> None:
        set_mode_stack(self.__dict__["_outer_stacks"].pop())

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a mode made with these arguments."""
        return cls(*args, **kwargs)
