"""In-place and ``out=`` operators derived from their functional form: compute, check, copy.

They are composites of the functional operator and ``copy_``, so they work on every
backend.  A backend may register a direct kernel where that is faster.
"""

from __future__ import annotations

from typing import Any

from minitorch.core.promotion import can_cast
from minitorch.dispatch.operator import Kernel, Operator
from minitorch.ops.out_rules import OutRules
from minitorch.tensor.base import TensorBase
from minitorch.tensor.components import has_components
from minitorch.tensor.memory import WRITES_ONE_VALUE, memory_of, overlaps_itself, refuse_overlap


class DerivedInplace(Kernel):
    """Computes the functional operator and copies its result into the first argument."""

    __slots__ = ("copy", "functional")

    def __init__(self, functional: Operator, copy: Operator):
        Kernel.__init__(self, None)
        self.functional = functional
        self.copy = copy

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        target = args[0]
        result = self.functional.call(args, kwargs)
        if result.handle.shape != target.handle.shape:
            raise RuntimeError(
                f"{op.basename}: output with shape {list(target.shape)} doesn't match the broadcast shape "
                f"{list(result.shape)}; an in-place operator cannot change the shape of its first argument"
            )
        check_cast(op, result, target)
        try:
            self.copy.call((target, result), None)
        except RuntimeError:
            if not overlaps_itself(target.handle):
                raise
            self.write_overlapping(op, target, result)
        return target

    def write_overlapping(self, op: Any, target: Any, result: Any) -> None:
        """Copy into memory that overlaps itself, if the operator is one that may."""
        handle = target.handle
        if op.basename not in WRITES_ONE_VALUE:
            refuse_overlap(op.basename, handle)
        writable = memory_of(target).writable(target.storage_of().root, handle)
        if writable is None:
            raise RuntimeError(f"{op.basename}: the memory of the tensor is read-only")
        target.handle = writable
        try:
            self.copy.call((target, result), None)
        finally:
            target.handle = handle


class DerivedInplaceView(Kernel):
    """Changes the first argument into a view of what it was (``t_``, ``squeeze_``)."""

    __slots__ = ("functional",)

    def __init__(self, functional: Operator):
        Kernel.__init__(self, None)
        self.functional = functional

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        target = args[0]
        view = self.functional.call(args, kwargs)
        target.storage_cell = view.storage_cell
        target.handle = view.handle
        target.shape_cache = None
        return target


class DerivedOut(Kernel):
    """Computes the functional operator and copies its results into the ``out`` arguments."""

    __slots__ = ("copy", "functional", "names", "resize", "rules")

    def __init__(
        self, functional: Operator, copy: Operator, resize: Operator, names: tuple[str, ...], rules: OutRules
    ):
        Kernel.__init__(self, None)
        self.functional = functional
        self.copy = copy
        self.resize = resize
        self.names = names
        self.rules = rules

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        rest = dict(kwargs or {})
        outs = [rest.pop(name) for name in self.names]
        self.rules.check_memory(op, outs, args, rest)
        result = self.functional.call(args, rest or None)
        results = (result,) if isinstance(result, TensorBase) else tuple(result)
        for out, value in zip(outs, results, strict=True):
            check_out(op, value, out, self.rules)
        for out, value in zip(outs, results, strict=True):
            if out.handle.shape != value.handle.shape:
                warn_resize(op, out, value)
                if not has_components(out):  # else the copy puts in components of another shape
                    self.resize.call((out, list(value.shape)), None)
            self.copy.call((out, value), None)
        return outs[0] if len(outs) == 1 else tuple(outs)


def check_cast(op: Any, result: TensorBase, target: TensorBase) -> None:
    """Raise unless the result's dtype may be stored as the target's."""
    if result.handle.dtype != target.handle.dtype and not can_cast(result.dtype, target.dtype):
        raise RuntimeError(
            f"{op.basename}: result type {result.dtype.scalar_name} can't be cast to the desired output type "
            f"{target.dtype.scalar_name}"
        )


def check_out_dtype(op: Any, result: TensorBase, out: TensorBase, rules: OutRules) -> None:
    """Raise unless `out` has a dtype that the operator writes; see Note [What out= may be]."""
    given = out.handle.dtype
    wanted = result.handle.dtype
    if given == wanted or rules.any_dtype:
        return
    if rules.exact and not (wanted.kind == "b" and given.char == "B"):  # uint8 was once the bool
        raise RuntimeError(
            f"{op.basename}(): Expected out tensor to have dtype {result.dtype}, but got {out.dtype} instead"
        )
    if not can_cast(result.dtype, out.dtype):
        raise rules.cast_error(
            f"{op.basename}: result type {result.dtype.scalar_name} can't be cast to the desired output type "
            f"{out.dtype.scalar_name}"
        )


def check_out(op: Any, result: TensorBase, out: TensorBase, rules: OutRules) -> None:
    """Raise unless `out` can take the result: same device, a dtype that holds it."""
    if out.device != result.device:
        raise RuntimeError(
            f"{op.basename}(): expected out tensor to be on {result.device}, but it is on {out.device}"
        )
    check_out_dtype(op, result, out, rules)
    handle = out.handle
    if has_components(out):
        return
    if handle.size and any(n > 1 and s == 0 for n, s in zip(handle.shape, handle.strides, strict=True)):
        raise RuntimeError(
            f"{op.basename}(): unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )


def warn_resize(op: Any, out: TensorBase, result: TensorBase) -> None:
    """Warn, as PyTorch does, that a non-empty ``out`` of another shape is being resized."""
    if out.numel() == 0:
        return
    import warnings

    warnings.warn(
        f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not match "
        f"the required output shape {list(result.shape)} ({op.basename}). Resize it to zero elements first: "
        "out.resize_(0).",
        UserWarning,
        stacklevel=4,
    )
