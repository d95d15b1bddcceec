"""The key ZeroTensor: tensors of zeros that have no memory, and cannot be changed (spec B5 to B7).

Note [Zeros without memory]
    The handle of such a tensor is a `MetaArray`, whatever its device: sizes, strides and dtype.  So a view of it is
    computed as one of a meta tensor is, and so is the geometry of a product that is zero because a factor is.  All
    other operators get ordinary zeros.
"""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import from_numpy_dtype
from minitorch.core.meta_array import MetaArray
from minitorch.dispatch.dispatcher import OVERLOADS, register_fallback
from minitorch.dispatch.keys import (
    AD_INPLACE_OR_VIEW,
    BACKEND_MASK,
    CONJUGATE,
    NEGATIVE,
    ZERO_TENSOR,
    parse_key,
)
from minitorch.dispatch.operator import OPERATORS, Entry, FallthroughKernel, Kernel
from minitorch.dispatch.tensor_keys import tensor_keys
from minitorch.math_bits.fallback import LazyBitFallback
from minitorch.ops import functions as F
from minitorch.ops.shapes.views import copy_strides
from minitorch.tensor.base import TensorBase, bare_copy, new_tensor

_KEY = parse_key("ZeroTensor")
_LAZY = CONJUGATE | NEGATIVE
_META = tensor_keys("Dense", "Meta")
# What a call with meta tensors meets below the levels that the call with zeros has passed already.
_META_BELOW = parse_key("Meta").bits


def is_zero(value: Any) -> bool:
    """Return whether a value is a tensor of zeros without memory."""
    return isinstance(value, TensorBase) and bool(value.key_set & ZERO_TENSOR)


def _as_meta(value: Any) -> Any:
    """Return a meta tensor of the geometry of a tensor, and with its lazy bits; other values as they are."""
    if not isinstance(value, TensorBase):
        return value
    tensor: Any = value
    handle = tensor.handle
    if not isinstance(handle, MetaArray):
        handle = MetaArray(handle.shape, handle.dtype, handle.strides)
    return new_tensor(handle, _META | (tensor.key_set & _LAZY))


def _on_meta(op: Any, args: tuple, kwargs: dict | None) -> Any:
    """Run an operator on the geometries of its arguments."""
    metas = tuple([_as_meta(value) for value in args])
    lazy = 0
    for meta in metas:
        if isinstance(meta, TensorBase):
            lazy |= meta.key_set & _LAZY
    return op.redispatch_boxed(_META_BELOW | lazy, metas, kwargs)


class ZeroFallback(LazyBitFallback):
    """Passes views on, makes ordinary zeros for other operators, and refuses to write (spec B5, B6)."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        if self.kind_of(op) == "views" and is_zero(args[0]):
            result = _on_meta(op, args, kwargs)
            if isinstance(result, (tuple, list)):
                return [_view(args[0], item) for item in result]
            return _view(args[0], result)
        return super().run(op, entry, args, kwargs)

    def write(self, op: Any, below: Entry, args: tuple, kwargs: dict | None) -> Any:
        for index, argument in enumerate(op.schema.arguments):
            if argument.is_write:
                if argument.kwarg_only:
                    value = kwargs.get(argument.name) if kwargs else None
                else:
                    value = args[index] if index < len(args) else None
                if any([is_zero(item) for item in (value if isinstance(value, (tuple, list)) else (value,))]):
                    raise RuntimeError(
                        f"{op.basename}: ZeroTensors are immutable, and the argument {argument.name!r} is one, which would be "
                        "written. Use its clone(), an ordinary tensor of zeros."
                    )
        return super().write(op, below, args, kwargs)


def _zeros(source: Any, geometry: Any, lazy: int) -> Any:
    """Return zeros of a geometry, of the class and on the device of others."""
    result = bare_copy(source)
    result.handle = source.handle.with_geometry(geometry)
    result.key_set = (source.key_set & ~_LAZY) | lazy
    return result


def _view(source: Any, meta: Any) -> Any:
    """Return a view of zeros: geometry and lazy bits as the meta tensor has them."""
    result = _zeros(source, meta.handle, meta.key_set & _LAZY)
    result.storage_cell = source.storage_of()
    if source.key_set & AD_INPLACE_OR_VIEW:
        result.version_counter = source.counter_of()
    return result


class ZeroClone(Kernel):
    """``clone``: an ordinary tensor of zeros."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        tensor: Any = args[0]
        handle = tensor.handle
        strides = copy_strides(handle, kwargs.get("memory_format") if kwargs else None)
        steps = [step // handle.itemsize for step in strides]
        if tensor._handle_is_all:  # fake ones beside a fake one
            bare = bare_copy(tensor)
            bare.key_set &= ~ZERO_TENSOR
            return F.new_empty_strided(bare, list(handle.shape), steps).zero_()
        made = F.empty_strided(handle.shape, steps, dtype=from_numpy_dtype(handle.dtype), device=tensor.device)
        return made.zero_()


class ZeroProduct(Kernel):
    """Operators whose result is zero where some operands are (spec B7).

    Parameters
    ----------
    needs : {"any", "first", "all"}
        Which operands have to be zero.
    """

    __slots__ = ("needs", "other")

    def __init__(self, needs: str, other: ZeroFallback):
        Kernel.__init__(self, None)
        self.needs = needs
        self.other = other

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        operands: list[Any] = [value for value in args[:2] if isinstance(value, TensorBase)]
        zeros = [is_zero(value) for value in args[:2]]
        found = {"any": any(zeros), "first": zeros[0], "all": all(zeros)}[self.needs]
        if not found or len({value.key_set & BACKEND_MASK for value in operands}) > 1:
            return self.other.run(op, entry, args, kwargs)
        meta = _on_meta(op, args, kwargs)
        source = next(value for value in operands if is_zero(value))
        return _zeros(source, meta.handle, 0)


# operator: which operands have to be zero
_ZERO_WHERE = {
    "mul.Tensor": "any", "div.Tensor": "first", "add.Tensor": "all", "sub.Tensor": "all",
    "dot": "any", "vdot": "any", "linalg_cross": "any",
}  # fmt: skip
# Views in place: the geometry changes, and they stay zeros.
_MOVES = ("as_strided_", "transpose_", "t_", "squeeze_", "unsqueeze_", "swapaxes_", "swapdims_", "detach_")


def register() -> None:
    """Register the kernels and the fallback of ZeroTensor."""
    fallback = ZeroFallback(_KEY)
    OPERATORS["aten::clone"].register("ZeroTensor", ZeroClone())
    for name, needs in _ZERO_WHERE.items():
        OPERATORS[f"aten::{name}"].register("ZeroTensor", ZeroProduct(needs, fallback))
    for name in _MOVES:
        for overload in OVERLOADS[f"aten::{name}"]:
            op = OPERATORS[f"aten::{name}.{overload}" if overload else f"aten::{name}"]
            op.register("ZeroTensor", FallthroughKernel())
    register_fallback(_KEY, fallback)
