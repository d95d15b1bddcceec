"""The Python dispatcher: a level above all others that honours `py_impl` functions.

While it is on (`enable_python_dispatcher`), each call is resolved against the union of an
operator's kernels and its py_impl functions, by the rules of the table; the functions count
as registered last.  While it is off they have no effect.
"""

from __future__ import annotations

from typing import Any

from minitorch.dispatch import dispatcher
from minitorch.dispatch.keys import PYTHON_DISPATCHER
from minitorch.dispatch.local_state import IncludeKeysGuard
from minitorch.dispatch.namespace import OpOverload
from minitorch.dispatch.operator import Entry, Kernel, Operator, PythonKernel


class PyImplKernel(PythonKernel):
    """A py_impl function: called with the operator's arguments."""

    __slots__ = ()


class _Union:
    """What one operator runs while the Python dispatcher is on, by key set."""

    __slots__ = ("entries", "of", "table")

    def __init__(self, op: OpOverload):
        # A table of its own with the py_impl functions on top of the stacks.
        table = Operator(op.qualname)
        table.set_schema(op.schema_text)
        for name, stack in op.kernels.items():
            table.kernels[name] = list(stack)
        for name, fn in op.py_kernels.items():
            if isinstance(name, str):
                kernel = PyImplKernel(fn)
                kernel.key_name = name
                table.kernels.setdefault(name, []).append(kernel)
        self.table = table
        self.of = op.cache  # replaced by every registration
        self.entries: dict[int, Entry] = {}

    def entry(self, key_set: int) -> Entry:
        """Return the entry of a key set; its kernel sees the set with PythonDispatcher in it."""
        entry = self.entries.get(key_set)
        if entry is None:
            below = self.table.lookup_raw(key_set & ~PYTHON_DISPATCHER)
            entry = self.entries[key_set] = Entry(key_set, key_set, below.kernel)
        return entry


_unions: dict[str, _Union] = {}


class PythonDispatcherKernel(Kernel):
    """The fallback of the PythonDispatcher key."""

    __slots__ = ()

    def run(self, op: Operator, entry: Entry, args: Any, kwargs: Any) -> Any:
        assert isinstance(op, OpOverload)
        union = _unions.get(op.qualname)
        if union is None or union.of is not op.cache:
            union = _unions[op.qualname] = _Union(op)
        found = union.entry(entry.key_set)
        return found.kernel.run(op, found, args, kwargs)


def enable_python_dispatcher() -> IncludeKeysGuard:
    """Return a scope in which py_impl functions take part in dispatch."""
    return IncludeKeysGuard(PYTHON_DISPATCHER)


dispatcher.register_fallback("PythonDispatcher", PythonDispatcherKernel())
