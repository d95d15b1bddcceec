"""The fallbacks of the keys Conjugate and Negative: what happens to operators that know nothing of them (spec B2)."""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, DispatchKey, full_after_bits
from minitorch.dispatch.operator import OPERATORS, Entry, Kernel, Operator
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase, is_plain, new_tensor

# Called directly: arguments are right already, and this is on the way of everyday complex code.
_CLONE = OPERATORS["aten::clone"]
# What the schema of an operator says of memory, `LazyBitFallback.kind_of`.
_READS, _VIEWS, _WRITES = "reads", "views", "writes"


def without_bit(tensor: Any, bit: int) -> Any:
    """Return the memory of a tensor as it is, without a bit that says how to read it.

    It is of the same class, so that handlers of that see it.
    """
    result: Any
    if is_plain(tensor):
        result = new_tensor(tensor.handle, tensor.key_set & ~bit)
    else:
        result = TensorBase.__new__(type(tensor))
        result.handle, result.key_set = tensor.handle, tensor.key_set & ~bit
    result.storage_cell = tensor.storage_of()
    if tensor.key_set & AD_INPLACE_OR_VIEW:
        result.version_counter = tensor.counter_of()
    return result


class LazyBitFallback(Kernel):
    """Runs an operator on copies in which the pending conjugation or negation is done.

    Parameters
    ----------
    key : DispatchKey
        Conjugate or Negative.
    """

    __slots__ = ("_kinds", "after", "bit")

    def __init__(self, key: DispatchKey):
        Kernel.__init__(self, None)
        self.bit = key.bits
        self.after = full_after_bits(key)
        self._kinds: dict[str, tuple[str, str]] = {}

    def kind_of(self, op: Operator) -> str:
        """Return what the schema of an operator says of memory: it reads, makes views, or writes.

        Raises
        ------
        RuntimeError
            If it says both that arguments are written and that others are shown by the results.
        """
        text = op.schema_text or ""
        known = self._kinds.get(op.qualname)
        if known is not None and known[0] == text:
            return known[1]
        aliases = [a for a in op.schema.arguments if a.alias_info is not None]
        written = [a for a in aliases if a.is_write]
        if written and len(written) < len(aliases):
            raise RuntimeError(
                f"{op.basename}: its schema, {op.schema}, has arguments that are written and others that results are views "
                f"of; conjugate and negative views are not possible there. Call resolve_conj() and resolve_neg() on the "
                "arguments first."
            )
        kind = _WRITES if written else _VIEWS if aliases else _READS
        self._kinds[op.qualname] = (text, kind)
        return kind

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        below = op.entry_below(entry, self.after)
        kind = self.kind_of(op)
        if kind is _VIEWS:
            return op.run_below(below, args, kwargs)
        if kind is _READS:
            args = tuple([self.resolved(value) for value in args])
            if kwargs:
                kwargs = {name: self.resolved(value) for name, value in kwargs.items()}
            return op.run_below(below, args, kwargs)
        return self.write(op, below, args, kwargs)

    def has(self, value: Any) -> bool:
        """Return whether a value is a tensor with the bit."""
        return isinstance(value, TensorBase) and bool(value.key_set & self.bit)

    def resolved(self, value: Any) -> Any:
        """Return an argument with copies in place of the tensors that have the bit."""
        if isinstance(value, TensorBase):
            return _CLONE.call((value,), None) if self.has(value) else value
        if type(value) is list or type(value) is tuple:
            if any([self.has(item) for item in value]):
                items: Any = [F.clone(item) if self.has(item) else item for item in value]
                return type(value)(items)
        return value

    def write(self, op: Any, below: Entry, args: tuple, kwargs: dict | None) -> Any:
        """Run an operator that writes: into a copy, from which the values go where they belong."""
        values = list(args)
        keywords = dict(kwargs) if kwargs else {}
        target: Any = None
        copy: Any = None
        for index, argument in enumerate(op.schema.arguments):
            where: Any = keywords if argument.kwarg_only else values
            place: Any = argument.name if argument.kwarg_only else index
            if place not in keywords if argument.kwarg_only else index >= len(values):
                continue
            value = where[place]
            where[place] = self.resolved(value)
            if not argument.is_write or where[place] is value:
                continue
            if target is not None or not isinstance(value, TensorBase):
                what = "a list" if target is None else "several arguments"
                raise RuntimeError(
                    f"{op.basename}: it would write into {what} with conjugate or negative views among the tensors, which "
                    f"is possible for a single tensor only. Write into ordinary tensors, and copy_() what they hold "
                    f"into the views."
                )
            target, copy = value, where[place]
        result = op.run_below(below, tuple(values), keywords or None)
        if target is None:
            return result
        if target.shape != copy.shape:
            F.resize_(target, list(copy.shape))
        F.copy_(target, copy)
        if isinstance(result, (tuple, list)):
            items = [target if item is copy else item for item in result]
            return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
        return target if result is copy else result
