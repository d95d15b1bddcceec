"""`DebugMode`: write down, or print as it goes, what a program calls, with the modules that it is in."""

from __future__ import annotations

import sys
from typing import Any

from minitorch.modes.dispatch_mode import TorchDispatchMode
from minitorch.ops.overriding import TorchFunctionMode
from minitorch.utils.debug.text import call_text, value_text
from minitorch.utils.module_tracker import ModuleTracker

__all__ = ["DebugMode"]


class _Functions(TorchFunctionMode):
    """Notes public calls, one level above the operators that they come to."""

    def __init__(self, owner: DebugMode):
        self.owner = owner

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        owner = self.owner
        name = f"torch.{getattr(func, '__name__', func)}"
        index = owner._note(call_text(name, args, kwargs))
        owner._depth += 1
        try:
            result = func(*args, **(kwargs or {}))
        finally:
            owner._depth -= 1
        owner._finish(index, result)
        return result


class DebugMode(TorchDispatchMode):
    """Scope in which each operator call becomes a line, indented by modules and public calls.

    Parameters
    ----------
    record_torchfunction : bool
        Whether the public calls have lines too, above those of their operators.
    record_nn_module : bool
        Whether modules have.
    record_output : bool
        Whether lines end with the results.
    stream : file, optional
        Where lines are printed as they come: what was done before an error is then to be seen.

    Attributes
    ----------
    logs : list of str

    Examples
    --------
    >>> model = minitorch.nn.Sequential(minitorch.nn.Linear(2, 3))
    >>> with DebugMode(record_nn_module=True) as mode:
    ...     y = model(minitorch.ones(1, 2))
    >>> print(mode.debug_string())
    aten.ones.default([1, 2])  ->  f32[1, 2]
    [nn.Mod] Sequential
      [nn.Mod] Sequential.0
        aten.t.default(f32[3, 2])  ->  f32[2, 3]
        aten.addmm.default(f32[3], f32[1, 2], f32[2, 3])  ->  f32[1, 3]
    """

    supports_higher_order_operators = True

    def __init__(
        self,
        *,
        record_torchfunction: bool = False,
        record_nn_module: bool = False,
        record_output: bool = True,
        stream: Any = None,
    ):
        super().__init__()
        self.logs: list[str] = []
        self.record_nn_module = record_nn_module
        self.record_output = record_output
        self.stream = stream
        self._functions = _Functions(self) if record_torchfunction else None
        self._tracker = ModuleTracker()
        self._shown: list[str] = []  # modules that have a line, outermost first
        self._depth = 0

    def debug_string(self) -> str:
        """Return the lines as one text."""
        return "\n".join(self.logs)

    def __enter__(self) -> Any:
        self._tracker.__enter__()
        if self._functions is not None:
            self._functions.__enter__()
        return super().__enter__()

    def __exit__(self, *exc_info: Any) -> None:
        super().__exit__(*exc_info)
        if self._functions is not None:
            self._functions.__exit__(*exc_info)
        self._tracker.__exit__(*exc_info)
        self._shown = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        index = self._note(call_text(func, args, kwargs))
        result = func(*args, **(kwargs or {}))
        self._finish(index, result)
        return result

    def _note(self, text: str) -> int:
        """Add a line, below those of modules that were entered since; return its number."""
        modules = []
        if self.record_nn_module:
            tracker = self._tracker
            modules = tracker.backward_path if tracker.is_bw else tracker.path[1:]
            same = 0
            while same < len(modules) and same < len(self._shown) and modules[same] == self._shown[same]:
                same += 1
            for level in range(same, len(modules)):
                backward = " (backward)" if tracker.is_bw else ""
                self._add("  " * level + f"[nn.Mod] {modules[level]}{backward}")
            self._shown = list(modules)
        self._add("  " * (len(modules) + self._depth) + text)
        return len(self.logs) - 1

    def _add(self, line: str) -> None:
        self.logs.append(line)
        if self.stream is not None:
            print(line, file=self.stream)

    def _finish(self, index: int, result: Any) -> None:
        if self.record_output and result is not None:
            self.logs[index] += f"  ->  {value_text(result)}"


def print_calls(**kwargs: Any) -> DebugMode:
    """Return a `DebugMode` that prints each call to standard error before it is made."""
    return DebugMode(stream=sys.stderr, **kwargs)
