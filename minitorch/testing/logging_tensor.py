"""`LoggingTensorMode`: write down each operator call, with numbers for the tensors."""

from __future__ import annotations

import weakref
from typing import Any

from minitorch.dispatch.namespace import OpOverload
from minitorch.modes.dispatch_mode import TorchDispatchMode
from minitorch.tensor.tensor import Tensor
from minitorch.utils.debug.text import SHORT_DTYPES


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
        self.logs: list[str] = []
        self._numbers: dict[int, tuple[int, Any]] = {}
        self._next = 0

    def __torch_dispatch__(self, func: OpOverload, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        shown = [self._text(value) for value in args]
        shown += [f"{name}={self._text(value)}" for name, value in keywords.items()]
        result = func(*args, **keywords)
        results = result if isinstance(result, (list, tuple)) else (result,)
        left = ", ".join(self._typed(value) for value in results)
        self.logs.append(f"{left} = torch._ops.{func}({', '.join(shown)})")
        return result

    def _number(self, tensor: Tensor) -> str:
        found = self._numbers.get(id(tensor))
        if found is None:
            number = self._next
            self._next += 1
            key = id(tensor)
            # A number belongs to a tensor for as long as it lives.
            self._numbers[key] = number, weakref.ref(tensor, lambda _: self._numbers.pop(key, None))
        else:
            number = found[0]
        return f"${number}"

    def _text(self, value: Any) -> str:
        if isinstance(value, Tensor):
            return self._number(value)
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(self._text(item) for item in value)}]"
        return repr(value)

    def _typed(self, value: Any) -> str:
        if not isinstance(value, Tensor):
            return self._text(value)
        dtype = SHORT_DTYPES.get(value.dtype.name, value.dtype.name)
        return f"{self._number(value)}: {dtype}[{', '.join(str(n) for n in value.shape)}]"
