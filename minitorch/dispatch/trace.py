"""The dispatch trace: a line for each hop of each call.

``TORCH_SHOW_DISPATCH_TRACE=1`` in the environment prints, for every thread, PyTorch's
lines; ``MINITORCH_SHOW_DISPATCH_TRACE=1`` adds to each the kernel, the key sets of the
arguments, and what the thread includes and excludes.  `show_dispatch_trace` does the same
for a scope.  The trace costs nothing while it is off: the core tests one flag.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

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
    state.trace = max(state.trace, 1)
    _settings.write, _settings.details = write, details
    try:
        yield
    finally:
        state.trace, _settings.write, _settings.details = saved


def trace_enabled() -> bool:
    """Return whether this thread's calls are being traced."""
    return current().trace > 0


def _asked_for(variable: str) -> bool:
    value = os.environ.get(variable, "0")
    if value not in ("0", "1", ""):
        warnings.warn(
            f"ignoring {variable}={value!r}: the values are 0 and 1", UserWarning, stacklevel=2
        )
    return value == "1"


def _start_thread() -> None:
    current().trace = 1


operator.trace_hook = _print_hop
_settings.details = _asked_for(_OWN_VARIABLE)
if _asked_for(_TORCH_VARIABLE) or _settings.details:
    on_thread_start(_start_thread)
