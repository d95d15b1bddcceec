"""Operators that understand conjugate and negative views, and the registrations of the two keys (spec B3)."""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.dispatcher import OVERLOADS, register_fallback
from minitorch.dispatch.keys import DispatchKey, full_after_bits, parse_key
from minitorch.dispatch.operator import OPERATORS, Entry, FallthroughKernel, Kernel
from minitorch.math_bits.fallback import LazyBitFallback, without_bit
from minitorch.ops import functions as F
from minitorch.ops.shapes.views import copy_strides
from minitorch.tensor.base import TensorBase, is_plain, new_tensor

_CONJ_PHYSICAL = OPERATORS["aten::conj_physical"]
_NEG = OPERATORS["aten::neg"]
# Elements are not read by these, or it makes no difference how.
_NO_VALUES = (
    "empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like",
    "new_empty", "new_empty_strided", "new_zeros", "new_ones", "new_full", "zero_", "resize_", "resize_as_",
    "detach_",
)  # fmt: skip
# To do it in memory is to do it to what is pending.
_COMMUTING = {"Conjugate": ("conj_physical_",), "Negative": ("neg_", "negative_")}
# Views in place: the geometry changes, the bit stays.
_MOVES = ("as_strided_", "transpose_", "t_", "squeeze_", "unsqueeze_", "swapaxes_", "swapdims_")


class LazyBitKernel(Kernel):
    """A kernel at Conjugate or Negative.

    Attributes
    ----------
    bit, after : int
        The key's bit, and the keys below it.
    is_conjugate : bool
    """

    __slots__ = ("after", "bit", "is_conjugate")

    def __init__(self, key: DispatchKey):
        Kernel.__init__(self, None)
        self.bit = key.bits
        self.after = full_after_bits(key)
        self.is_conjugate = key.name == "Conjugate"

    def has(self, value: Any) -> bool:
        return isinstance(value, TensorBase) and bool(value.key_set & self.bit)

    def do(self, tensor: Any) -> None:
        """Conjugate, or negate, in place."""
        if not self.is_conjugate:
            F.neg_(tensor)
        elif tensor.dtype.is_complex:
            F.conj_physical_(tensor)


class CloneKernel(LazyBitKernel):
    """``clone``: copies the memory, and does in the copy what is pending."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        tensor: Any = args[0]
        # Memory that is only read needs no storage and versions.
        plain = is_plain(tensor)
        source: Any = new_tensor(tensor.handle, tensor.key_set & ~self.bit) if plain else without_bit(tensor, self.bit)
        wanted = kwargs.get("memory_format") if kwargs else None
        if wanted is None or tuple(source.handle.strides) == copy_strides(source.handle, wanted):
            # One pass: results of elementwise operators lie in memory as a clone does.
            return _CONJ_PHYSICAL.call1(source) if self.is_conjugate else _NEG.call1(source)
        result = op.run_below(op.entry_below(entry, self.after), (source,), kwargs)
        self.do(result)
        return result


class CopyKernel(LazyBitKernel):
    """``copy_``: copies memory, and does afterwards what was pending on one side only."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        below = op.entry_below(entry, self.after)
        target, source, *rest = args
        raw_target = without_bit(target, self.bit) if self.has(target) else target
        raw_source = without_bit(source, self.bit) if self.has(source) else source
        op.run_below(below, (raw_target, raw_source, *rest), kwargs)
        if (raw_target is target) != (raw_source is source):
            self.do(raw_target)
        return target


class UndoKernel(LazyBitKernel):
    """The operator whose work is pending: twice is not at all, so the memory is copied as it is."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        return F.clone(without_bit(args[0], self.bit))


class RefuseDtypeKernel(LazyBitKernel):
    """``view(dtype)``: what is pending has no meaning for elements of another dtype."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        if args[0].dtype is not args[1]:
            what, method = ("conjugate view tensors", "conj") if self.is_conjugate else ("tensors with the negative bit", "neg")
            raise RuntimeError(
                f"view(): {what} cannot be viewed as another dtype, got {args[0].dtype} and {args[1]}. Call "
                f"resolve_{method}() first, which makes a copy."
            )
        return op.run_below(op.entry_below(entry, self.after), args, kwargs)


class RefuseRealKernel(LazyBitKernel):
    """``view_as_real`` of a conjugate view: its memory holds imaginary parts of the other sign."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        raise RuntimeError(
            f"{op.basename} doesn't work on unresolved conjugated tensors: the imaginary parts in memory are not those of "
            "the tensor. Call resolve_conj() first; the result will not alias the original."
        )


_OWN: dict[str, type[LazyBitKernel]] = {"clone": CloneKernel, "copy_": CopyKernel, "view.dtype": RefuseDtypeKernel}
_OWN_OF_CONJUGATE: dict[str, type[LazyBitKernel]] = {
    "view_as_real": RefuseRealKernel, "conj_physical": UndoKernel, "_conj_physical": UndoKernel,
}  # fmt: skip
_OWN_OF_NEGATIVE: dict[str, type[LazyBitKernel]] = {"neg": UndoKernel, "negative": UndoKernel}


def register() -> None:
    """Register the kernels and fallbacks of Conjugate and Negative."""
    for name, own in (("Conjugate", _OWN_OF_CONJUGATE), ("Negative", _OWN_OF_NEGATIVE)):
        key = parse_key(name)
        for operator, kernel in {**_OWN, **own}.items():
            OPERATORS[f"aten::{operator}"].register(name, kernel(key))
        for operator in (*_NO_VALUES, *_MOVES, *_COMMUTING[name]):
            for overload in OVERLOADS[f"aten::{operator}"]:
                if "out" not in overload:
                    op = OPERATORS[f"aten::{operator}.{overload}" if overload else f"aten::{operator}"]
                    op.register(name, FallthroughKernel())
        register_fallback(key, LazyBitFallback(key))
