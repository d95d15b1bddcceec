"""The Python dispatcher: a level above all others that honours `py_impl` functions.

While it is on (`scopes.enable_python_dispatcher`), each call is resolved against the union of an
operator's kernels and its py_impl functions, by the rules of the table; the functions count
as registered last.  While it is off they have no effect.

Functions registered for a transform take the place of the level that enters the stack of
transforms, while that transform is the innermost.  Those registered for the class of a mode are
the business of the Python key's kernel, which knows modes.
"""

from __future__ import annotations

from typing import Any

from minitorch.dispatch import dispatcher
from minitorch.dispatch.keys import PYTHON_DISPATCHER, DispatchKey, highest_slot
from minitorch.dispatch.namespace import OpOverload
from minitorch.dispatch.operator import Entry, Kernel, Operator, PythonKernel
from minitorch.dispatch.scopes import enable_python_dispatcher
from minitorch.dispatch.transforms import TransformType, current_interpreter

__all__ = ["enable_python_dispatcher"]

_FRONT_SLOT = DispatchKey.by_name["FuncTorchDynamicLayerFrontMode"].slot


class PyImplKernel(PythonKernel):
    """A py_impl function: called with the operator's arguments."""

    __slots__ = ()


class TransformKernel(Kernel):
    """The py_impl functions of transforms: called as ``fn(interpreter, *args, **kwargs)``.

    The transform is still the innermost one: the function says ``with interpreter.lower()``
    where it is done with it.
    """

    __slots__ = ("functions", "otherwise")

    def __init__(self, functions: dict[TransformType, Any], otherwise: Kernel):
        Kernel.__init__(self, None)
        self.functions = functions
        self.otherwise = otherwise

    def run(self, op: Operator, entry: Entry, args: Any, kwargs: Any) -> Any:
        interpreter = current_interpreter()
        fn = self.functions.get(interpreter.transform)
        if fn is None:
            return self.otherwise.run(op, entry, args, kwargs)
        return fn(interpreter, *args, **(kwargs or {}))


class _Union:
    """What one operator runs while the Python dispatcher is on, by key set."""

    __slots__ = ("entries", "of", "table", "transforms")

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
        self.transforms = {k: fn for k, fn in op.py_kernels.items() if isinstance(k, TransformType)}
        self.table = table
        self.of = op.cache  # replaced by every registration
        self.entries: dict[int, Entry] = {}

    def entry(self, key_set: int) -> Entry:
        """Return the entry of a key set; its kernel sees the set with PythonDispatcher in it."""
        entry = self.entries.get(key_set)
        if entry is None:
            rest = key_set & ~PYTHON_DISPATCHER
            kernel = self.table.lookup_raw(rest).kernel
            if self.transforms and highest_slot(rest) == _FRONT_SLOT:
                kernel = TransformKernel(self.transforms, kernel)
            entry = self.entries[key_set] = Entry(key_set, key_set, kernel)
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


dispatcher.register_fallback("PythonDispatcher", PythonDispatcherKernel())
