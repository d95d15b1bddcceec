"""The dispatch trace: a line for each hop of each call.

``TORCH_SHOW_DISPATCH_TRACE=1`` in the environment prints, for every thread, PyTorch's
lines; ``MINITORCH_SHOW_DISPATCH_TRACE=1`` adds to each the kernel, the key sets of the
arguments, and what the thread includes and excludes.  `show_dispatch_trace` does the same
for a scope.  The trace costs nothing while it is off: the core tests one flag.

Note [Observers]
    The same flag serves whoever wants to see the calls of a thread themselves: a `CallObserver`,
    such as the profiler's.  A thread has one at most.  While it has, the flag is set, and lines are
    printed only if they were asked for as well.  The backward engine tells it of nodes.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from minitorch.dispatch import operator
from minitorch.dispatch.keys import KEY_OF_SLOT, highest_slot, key_names
from minitorch.dispatch.local_state import current, on_thread_start
from minitorch.dispatch.operator import Entry, KeyedObject, Operator

_TORCH_VARIABLE = "TORCH_SHOW_DISPATCH_TRACE"
_OWN_VARIABLE = "MINITORCH_SHOW_DISPATCH_TRACE"


class _Settings:
    """Where lines go, and whether each is followed by the details."""

    write: Callable[[str], Any] | None = None  # None: to stderr, as it is when a line is written
    details: bool = False


_settings = _Settings()


# Of `LocalState.extra`: the observer, and whether the flag is set for it alone.
_OBSERVER = "call observer"
_SILENT = "hops are not printed"


class CallObserver(Protocol):
    """What is told of each hop of each call in a thread (Note [Observers])."""

    def hop_begins(
        self, label: str, op: Operator, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any] | None
    ) -> Callable[[Any], Any] | None:
        """Note a hop, a ``"call"`` or a ``"redispatch"``; return what is to be called with its result."""
        ...

    def node_begins(self, name: str, sequence: int) -> Any:
        """Note that the backward engine runs a node; return what `node_ended` gets."""
        ...

    def node_ended(self, token: Any) -> None:
        """Note that the node has run."""
        ...

    def annotation_begins(self, name: str, args: str | None = None) -> Any:
        """Note that a named part of the program begins; return what `annotation_ended` gets."""
        ...

    def annotation_ended(self, token: Any) -> None:
        """Note that it has ended."""
        ...


def start_observing(observer: CallObserver) -> None:
    """Let `observer` see the calls of this thread, until `stop_observing`.

    Raises
    ------
    RuntimeError
        If this thread has an observer.
    """
    state = current()
    if _OBSERVER in state.extra:
        raise RuntimeError("this thread's calls are observed already: stop the running profiler before another one starts")
    state.extra[_OBSERVER] = observer
    if state.trace == 0:
        state.extra[_SILENT] = True
    state.trace += 1


def stop_observing() -> None:
    """Take this thread's observer away."""
    state = current()
    if state.extra.pop(_OBSERVER, None) is not None:
        state.extra.pop(_SILENT, None)
        state.trace = max(state.trace - 1, 0)


def observer() -> CallObserver | None:
    """Return what observes this thread's calls, or None."""
    return current().extra.get(_OBSERVER)


def annotated(name: str, function: Callable, *args: Any) -> Any:
    """Return ``function(*args)``; whoever observes this thread's calls sees it under a name."""
    watching = observer()
    if watching is None:
        return function(*args)
    token = watching.annotation_begins(name)
    try:
        return function(*args)
    finally:
        watching.annotation_ended(token)


def hop_line(label: str, op: Operator, entry: Entry, depth: int) -> str:
    """Return a hop's line: ``" [call] op=[aten::add.Tensor], key=[AutogradCPU]"``.

    One space of indentation per level; the outermost call has one.
    """
    key = KEY_OF_SLOT[highest_slot(entry.key_set)]
    return f"{' ' * depth}[{label}] op=[{op.qualname}], key=[{key.name}]"


def argument_key_sets(
    op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> dict[str, list[str]]:
    """Return the names of the keys of each argument that is or holds tensors, by name."""
    names = [argument.name for argument in op.schema.arguments]
    found = {}
    for name, value in (*zip(names, args, strict=False), *(kwargs or {}).items()):
        bits = 0
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, KeyedObject):
                bits |= item.key_set
        if bits:
            found[name] = key_names(bits)
    return found


def detail_lines(
    op: Operator, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any] | None, depth: int
) -> list[str]:
    """Return the lines that say what a hop's key came from."""
    state = current()
    indent = " " * (depth + 4)
    lines = [f"{indent}kernel: {entry.kernel.location()}"]
    lines += [
        f"{indent}{name}: {', '.join(keys)}"
        for name, keys in argument_key_sets(op, args, kwargs).items()
    ]
    lines.append(
        f"{indent}included: {', '.join(key_names(state.included)) or 'nothing'}; "
        f"excluded: {', '.join(key_names(state.excluded)) or 'nothing'}"
    )
    return lines


def _print_hop(
    label: str,
    op: Operator,
    entry: Entry,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    depth: int,
) -> None:
    lines = [hop_line(label, op, entry, depth)]
    if _settings.details:
        lines += detail_lines(op, entry, args, kwargs, depth)
    text = "\n".join(lines) + "\n"
    if _settings.write is None:
        sys.stderr.write(text)
    else:
        _settings.write(text)


def _on_hop(
    label: str, op: Operator, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any] | None, depth: int
) -> Callable[[Any], Any] | None:
    extra = current().extra
    if _SILENT not in extra:
        _print_hop(label, op, entry, args, kwargs, depth)
    watching = extra.get(_OBSERVER)
    return None if watching is None else watching.hop_begins(label, op, entry, args, kwargs)


@contextmanager
def show_dispatch_trace(
    *, details: bool = False, write: Callable[[str], Any] | None = None
) -> Iterator[None]:
    """Scope: print each hop of the calls that this thread makes.

    Parameters
    ----------
    details : bool
        Whether to print kernels and key sets too.
    write : callable, optional
        Gets the text instead of stderr: ``write=lines.append``.
    """
    state = current()
    saved = (state.trace, _settings.write, _settings.details)
    silent = state.extra.pop(_SILENT, False)
    state.trace = max(state.trace, 1)
    _settings.write, _settings.details = write, details
    try:
        yield
    finally:
        state.trace, _settings.write, _settings.details = saved
        if silent:
            state.extra[_SILENT] = True


def trace_enabled() -> bool:
    """Return whether this thread's calls are being traced."""
    state = current()
    return state.trace > 0 and _SILENT not in state.extra


def _asked_for(variable: str) -> bool:
    value = os.environ.get(variable, "0")
    if value not in ("0", "1", ""):
        warnings.warn(
            f"ignoring {variable}={value!r}: the values are 0 and 1", UserWarning, stacklevel=2
        )
    return value == "1"


def _start_thread() -> None:
    current().trace = 1


operator.trace_hook = _on_hop
_settings.details = _asked_for(_OWN_VARIABLE)
if _asked_for(_TORCH_VARIABLE) or _settings.details:
    on_thread_start(_start_thread)
