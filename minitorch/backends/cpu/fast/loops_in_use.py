"""The loops that this installation has: numba's where it loads, else those that the build compiled."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from minitorch.backends.cpu.fast import table

if table.has_numba():
    LOOPS: Any = import_module("minitorch.backends.cpu.fast.jit").LOOPS
else:
    LOOPS = import_module("minitorch.backends.cpu.loops")


def fits(*arrays: Any) -> bool:
    """Return whether all arrays are plain float32 ones: row-major, aligned, writable."""
    return all([a.dtype.char == "f" and a.flags.carray for a in arrays])
