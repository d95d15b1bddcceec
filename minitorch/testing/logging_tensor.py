"""Operator calls written down, with numbers for the tensors: by a mode, or by tensors that log what is done to them."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from minitorch.core.pytree import tree_map
from minitorch.modes import enable_reentrant_dispatch
from minitorch.modes.dispatch_mode import TorchDispatchMode
from minitorch.ops.overriding import disabled_torch_function_impl
from minitorch.tensor.tensor import Tensor
from minitorch.utils.debug.text import SHORT_DTYPES

__all__ = [
    "LoggingTensor",
    "LoggingTensorMode",
    "LoggingTensorReentrant",
    "capture_logs",
    "capture_logs_with_logging_tensor_mode",
    "log_input",
]


class _Lines:
    """Lines, and the numbers of the tensors in them: given when a tensor is first seen, and its own while it lives."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.numbers: dict[int, tuple[int, Any]] = {}
        self._next = 0

    def add(self, func: Any, shown: list[str], result: Any) -> None:
        """Add the line of a call whose arguments are `shown`."""
        results = result if isinstance(result, (list, tuple)) else (result,)
        left = ", ".join(self.typed(value) for value in results)
        self.lines.append(f"{left} = torch._ops.{func}({', '.join(shown)})")

    def arguments(self, args: tuple, kwargs: dict[str, Any]) -> list[str]:
        """Return the arguments of a call as they are shown."""
        return [self.text(value) for value in args] + [f"{name}={self.text(value)}" for name, value in kwargs.items()]

    def number(self, tensor: Any) -> str:
        found = self.numbers.get(id(tensor))
        if found is None:
            number = self._next
            self._next += 1
            key = id(tensor)
            self.numbers[key] = number, weakref.ref(tensor, lambda _: self.numbers.pop(key, None))
        else:
            number = found[0]
        return f"${number}"

    def text(self, value: Any) -> str:
        if isinstance(value, Tensor):
            return self.number(value)
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(self.text(item) for item in value)}]"
        return repr(value)

    def typed(self, value: Any) -> str:
        if not isinstance(value, Tensor):
            return self.text(value)
        dtype = SHORT_DTYPES.get(value.dtype.name, value.dtype.name)
        return f"{self.number(value)}: {dtype}[{', '.join(str(n) for n in value.shape)}]"


class LoggingTensorMode(TorchDispatchMode):
    """Scope in which each operator call that reaches the backends becomes a line of `logs`.

    A line reads ``$1: f32[2] = torch._ops.aten.add.Tensor($0, 1)``: tensors have numbers, given
    when they are first seen.

    Examples
    --------
    >>> x = minitorch.ones(2)
    >>> with LoggingTensorMode() as mode:
    ...     y = x + 1
    >>> mode.logs
    ['$1: f32[2] = torch._ops.aten.add.Tensor($0, 1)']
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines = _Lines()

    @property
    def logs(self) -> list[str]:
        """The lines."""
        return self._lines.lines

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        shown = self._lines.arguments(args, keywords)
        result = func(*args, **keywords)
        self._lines.add(func, shown, result)
        return result


# The captures that are active, the innermost last.
_captures: list[_Lines] = []


class LoggingTensor(Tensor):
    """A wrapper around a tensor whose operators become lines of `capture_logs`.

    Parameters
    ----------
    elem : Tensor
    requires_grad : bool
        Of the wrapper; what is inside then has no history.

    Examples
    --------
    >>> x = LoggingTensor(minitorch.ones(2), requires_grad=True)
    >>> with capture_logs() as logs:
    ...     log_input("x", x)
    ...     y = x * 2
    >>> logs
    ["$0: f32[2] = input('x')", '$1: f32[2] = torch._ops.aten.mul.Tensor($0, 2)']
    """

    elem: Any
    _scope: Any = nullcontext

    @staticmethod
    def __new__(cls: Any, elem: Any, *, requires_grad: bool = False) -> Any:
        result = Tensor._make_wrapper_subclass(
            cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(), dtype=elem.dtype, layout=elem.layout,
            device=elem.device, requires_grad=requires_grad,
        )  # fmt: skip
        result.elem = elem.detach() if requires_grad else elem
        return result

    __torch_function__ = disabled_torch_function_impl

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"{type(self).__name__}({self.elem})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        lines = _captures[-1] if _captures else None
        shown = lines.arguments(args, keywords) if lines is not None else []
        inner = tree_map(lambda x: x.elem if isinstance(x, cls) else x, (tuple(args), keywords))
        with cls._scope():
            result = func(*inner[0], **inner[1])
        result = tree_map(lambda x: cls(x) if isinstance(x, Tensor) else x, result)
        if lines is not None:
            lines.add(func, shown, result)
        return result


class LoggingTensorReentrant(LoggingTensor):
    """The same; what is inside passes autograd and the transforms again."""

    _scope = staticmethod(enable_reentrant_dispatch)


def log_input(name: str, value: Any) -> None:
    """Give a tensor its number, with a line that says where it comes from."""
    if _captures:
        _captures[-1].lines.append(f"{_captures[-1].typed(value)} = input({name!r})")


@contextmanager
def capture_logs(is_mode: bool = False) -> Iterator[list[str]]:
    """Scope in which `LoggingTensor` writes lines, or with `is_mode` a mode does.  Gives the list of them."""
    if is_mode:
        with LoggingTensorMode() as mode:
            yield mode.logs
        return
    lines = _Lines()
    _captures.append(lines)
    try:
        yield lines.lines
    finally:
        _captures.remove(lines)


@contextmanager
def capture_logs_with_logging_tensor_mode() -> Iterator[list[str]]:
    """Scope of a `LoggingTensorMode`.  Gives the list of its lines."""
    with LoggingTensorMode() as mode:
        yield mode.logs
