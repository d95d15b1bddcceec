"""The transforms that a thread is inside of: ``vmap``, ``grad`` and their kind, as a stack.

Each active transform is an `Interpreter`, one level of the stack; the last is the innermost.
What a transform does with an operator stands at its keys.  Here is what kernels of those keys,
batch rules and `py_impl` functions need to know: which transform is the innermost, and how
to call on with it out of the way.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple, Protocol

from minitorch.dispatch.keys import FUNCTORCH_FRONT, FUNCTORCH_LAYERS
from minitorch.dispatch.local_state import current

_STACK = "transforms"  # in the thread's `extra`


class TransformType(Enum):
    """What an interpreter does."""

    Vmap = 1
    Grad = 2
    Jvp = 3
    Functionalize = 4


class VmapInfo(NamedTuple):
    """What a batch rule is told of the ``vmap`` that it runs for.

    Attributes
    ----------
    batch_size : int
    randomness : {"error", "different", "same"}
        What random operators shall do.
    """

    batch_size: int
    randomness: str


class Interpreter:
    """One active transform; as a scope, it is the innermost one.

    Attributes
    ----------
    transform : TransformType
    level : int
        Its place in the stack, from 1; 0 while it is not active.
    ambient : tuple of (int, int) or None
        What the thread included and excluded when the call that is being interpreted was made;
        the level that enters the stack sets it. None where no call is under way.
    grad_enabled_outside : bool
        False where the transform makes gradients of its own and the code around it wants none.
    """

    transform: TransformType
    grad_enabled_outside = True

    def __init__(self) -> None:
        self.level = 0
        self.ambient: tuple[int, int] | None = None
        self._outer: tuple[tuple[Interpreter, ...], tuple[int, int]] | None = None

    def process(self, op: Any, args: tuple, kwargs: dict | None) -> Any:
        """Run the part of a call that is this transform's, and through it the rest of the call."""
        raise NotImplementedError(f"{type(self).__name__} does not interpret calls")

    def leave(self, op: Any, args: tuple, kwargs: dict | None) -> Any:
        """Send a call on to the code around this transform, which has done its part."""
        with self.lower():
            return op.call(args, kwargs)

    def __enter__(self) -> Any:
        if self._outer is not None:
            raise RuntimeError(f"{type(self).__name__} is active already; make another interpreter for another level")
        state = current()
        outer = interpreter_stack()
        self._outer = (outer, (state.included, state.excluded))
        self.level = len(outer) + 1
        state.extra[_STACK] = (*outer, self)
        if outer and outer[-1].ambient is not None and state.excluded & FUNCTORCH_FRONT:
            # Within a kernel of the level around, as in a formula: calls enter that level from the top again.
            state.included, state.excluded = outer[-1].ambient
        state.included |= FUNCTORCH_LAYERS
        return self

    def __exit__(self, *exc_info: Any) -> None:
        assert self._outer is not None
        state = current()
        state.extra[_STACK], (state.included, state.excluded) = self._outer
        self._outer = None
        self.level = 0

    def lower(self) -> Lowered:
        """Return a scope in which calls are made as the code around this transform would make them.

        The innermost transform, which must be this one, is out of the stack, and the ambient key sets
        are those of the call that is being interpreted.
        """
        return Lowered(self)


class Lowered:
    """The scope that `Interpreter.lower` returns."""

    __slots__ = ("_grad_enabled", "_interpreter", "_keys", "_stack")

    def __init__(self, interpreter: Interpreter):
        self._interpreter = interpreter

    def __enter__(self) -> None:
        interpreter = self._interpreter
        state = current()
        stack = state.extra.get(_STACK, ())
        if not stack or stack[-1] is not interpreter:
            raise RuntimeError(f"{type(interpreter).__name__} is not the innermost transform of this thread")
        self._stack = stack
        self._keys = (state.included, state.excluded)
        self._grad_enabled = state.grad_enabled
        if interpreter.ambient is not None:
            state.included, state.excluded = interpreter.ambient
        if not interpreter.grad_enabled_outside:
            state.grad_enabled = False
        state.extra[_STACK] = stack[:-1]
        if len(stack) == 1:
            state.included &= ~FUNCTORCH_LAYERS

    def __exit__(self, *exc_info: Any) -> None:
        state = current()
        state.extra[_STACK] = self._stack
        state.included, state.excluded = self._keys
        state.grad_enabled = self._grad_enabled


class VmapLevel(Protocol):
    """What a batch rule's kernel asks of the interpreter of ``vmap``."""

    transform: TransformType
    batch_size: int
    randomness: str

    def lower(self) -> Lowered:
        """Return the scope in which this level is out of the way."""
        ...

    def unwrap(self, tensor: Any) -> tuple[Any, int | None]:
        """Return a tensor's value and which dimension of it is mapped; None if it is not batched at this level."""
        ...

    def wrap(self, value: Any, dim: int) -> Any:
        """Return `value` as a tensor batched at this level."""
        ...


def interpreter_stack() -> tuple[Interpreter, ...]:
    """Return the active transforms of this thread, the innermost last."""
    return current().extra.get(_STACK, ())


def inside_transforms() -> bool:
    """Return whether calls made now go through a transform (not so in a `scopes.disable_functorch` scope)."""
    state = current()
    return bool(state.extra.get(_STACK)) and not state.excluded & FUNCTORCH_FRONT


def set_interpreter_stack(stack: tuple[Interpreter, ...]) -> None:
    """Make `stack` the transforms of this thread: for one that works in place of another."""
    current().extra[_STACK] = stack


def current_interpreter() -> Interpreter:
    """Return the innermost transform.

    Raises
    ------
    RuntimeError
        If this thread is inside of none.
    """
    stack = interpreter_stack()
    if not stack:
        raise RuntimeError("no transform (vmap, grad, ...) is active in this thread")
    return stack[-1]
