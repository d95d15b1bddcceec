"""Batch rules of tensors made like others, of filling and copying, and of what leaves for Python.

Note [What new_* makes]
    A tensor that is made like a batched one is batched, although all examples are the same: what comes next is
    often an in-place operator with a batched operand.  A factory without a tensor makes one that is not.
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.core.dtype import complex128, float64, get_default_complex_dtype, get_default_dtype
from minitorch.core.memory_format import contiguous_format, preserve_format
from minitorch.functorch.along import rows
from minitorch.functorch.layout import fold, padded, rank, sizes, to_front
from minitorch.functorch.rules import Rule, batch_rule, inplace_batch_rule, refused, structure
from minitorch.ops import functions as F
from minitorch.ops.shapes.factories import spaced_dtype
from minitorch.tensor.base import TensorBase

# ---------------------------------------------------------------- like a tensor


def in_format(op: Any) -> Rule:
    """Return the rule of an operator that copies a tensor, or only its shape and dtype, in a memory format."""

    def rule(info: Any, in_dims: tuple, self: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        dim = in_dims[0]
        memory_format = kwargs.get("memory_format")
        if memory_format is None or memory_format is preserve_format:
            return op.call((self, *args), kwargs or None), dim
        if memory_format is contiguous_format:
            return op.call((to_front(self, dim), *args), kwargs), 0
        # The channels of each example are to lie last: so they do if the batch lies before its own.
        if rank(self, dim) == 0:
            return op.call((self, *args), kwargs), dim  # which raises
        result = op.call((fold(self, dim, 0), *args), kwargs)
        return F.reshape(result, [info.batch_size, *sizes(self, dim)]), 0

    return rule


structure(in_format, "empty_like", "zeros_like", "ones_like", "full_like", "clone", "_to_copy")


def sized_like(op: Any) -> Rule:
    """Return the rule of a factory that takes dtype and device of a tensor (Note [What new_* makes])."""

    def rule(info: Any, in_dims: tuple, self: Any, size: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        return op.call((self, [info.batch_size, *size], *args), kwargs or None), 0

    return rule


structure(sized_like, "new_empty", "new_zeros", "new_ones", "new_full")


@batch_rule("new_empty_strided")
def new_empty_strided(info: Any, in_dims: tuple, self: Any, size: Any, stride: Any, **kwargs: Any) -> tuple[Any, Any]:
    # Each example has a stretch of memory of its own.
    stretch = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if all(size) else 0
    return F.new_empty_strided(self, [info.batch_size, *size], [stretch, *stride], **kwargs), 0


# ---------------------------------------------------------------- filling and copying


def check_value(value: Any, dim: int | None) -> None:
    """Raise unless an example of the value to fill with is one number."""
    if rank(value, dim):
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {rank(value, dim)} dimensions."
        )


@batch_rule("fill.Scalar")
def fill_scalar(info: Any, in_dims: tuple, self: Any, value: Any) -> tuple[Any, Any]:
    return F.fill(self, value), in_dims[0]


@batch_rule("fill.Tensor")
def fill_tensor(info: Any, in_dims: tuple, self: Any, value: Any) -> tuple[Any, Any]:
    check_value(value, in_dims[1])
    if in_dims[1] is None:
        return F.fill(self, value), in_dims[0]
    shape = [info.batch_size, *sizes(self, in_dims[0])]
    empty = F.empty_like(to_front(self, in_dims[0])) if in_dims[0] is not None else F.new_empty(self, shape)
    return F.copy_(empty, padded(value, in_dims[1], len(shape) - 1)), 0


@inplace_batch_rule("fill_.Scalar")
def fill_scalar_(info: Any, in_dims: tuple, self: Any, value: Any) -> None:
    F.fill_(self, value)


@inplace_batch_rule("fill_.Tensor")
def fill_tensor_(info: Any, in_dims: tuple, self: Any, value: Any) -> None:
    check_value(value, in_dims[1])
    if in_dims[1] is None:
        F.fill_(self, value)
    else:
        F.copy_(to_front(self, in_dims[0]), padded(value, in_dims[1], rank(self, in_dims[0])))


@inplace_batch_rule("zero_")
def zero_(info: Any, in_dims: tuple, self: Any) -> None:
    F.zero_(self)


@inplace_batch_rule("copy_")
def copy_(info: Any, in_dims: tuple, self: Any, src: Any, non_blocking: bool = False) -> None:
    F.copy_(to_front(self, in_dims[0]), padded(src, in_dims[1], rank(self, in_dims[0])), non_blocking)


@inplace_batch_rule("resize_")
def resize_(info: Any, in_dims: tuple, self: Any, size: Any, *, memory_format: Any = None) -> None:
    if in_dims[0] != 0 or memory_format not in (None, contiguous_format):
        raise RuntimeError(
            f"vmap: resize_() keeps what lies in memory, example after example: the mapped dimension must be the first, and it "
            f"is {in_dims[0]}, and the memory format contiguous, and it is {memory_format}. Use reshape or new_empty."
        )
    # Each example keeps its first elements, which then lie elsewhere; resize_ keeps those of all memory.
    kept = min(math.prod(size), math.prod(sizes(self, 0)))
    first = F.clone(rows(self, 0, info.batch_size)[:, :kept])
    F.resize_(self, [info.batch_size, *size])
    F.copy_(F.view(self, [info.batch_size, math.prod(size)])[:, :kept], first)


# ---------------------------------------------------------------- ranges between tensors


def spaced(info: Any, start: Any, start_dim: Any, end: Any, end_dim: Any, steps: int, dtype: Any, wide: Any) -> Any:
    """Return evenly spaced values between bounds of which one is batched, computed as `linspace` does."""

    def bound(value: Any, dim: Any, word: str) -> Any:
        if not isinstance(value, TensorBase):
            return F.scalar_tensor(value, dtype=wide)
        if rank(value, dim):
            raise RuntimeError(
                f"linspace only supports 0-dimensional start and end tensors, but got {word} with {rank(value, dim)} "
                "dimension(s)."
            )
        if not (dtype.is_floating_point or dtype.is_complex):
            value = F.to(value, dtype)
        value = F.to(value, wide)
        return value if dim is None else F.unsqueeze(value, 1)

    start, end = bound(start, start_dim, "start"), bound(end, end_dim, "end")
    # Each half is counted from its own end, so that both ends are exact.
    half = steps // 2 if steps > 1 else steps
    step = (end - start) / max(steps - 1, 1)
    up = F.arange(half, dtype=float64, device=step.device)
    down = F.arange(steps - 1 - half, -1, -1, dtype=float64, device=step.device)
    return F.cat([up * step + start, end - down * step], 1)


def has_complex_dtype(bound: Any) -> bool:
    """Return whether a number or a tensor is complex."""
    return isinstance(bound, complex) or (isinstance(bound, TensorBase) and bound.dtype.is_complex)


def between(op: Any, logarithmic: bool) -> Rule:
    name = "logspace" if logarithmic else "linspace"

    def rule(
        info: Any, in_dims: tuple, start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None,
        device: Any = None, **options: Any,
    ) -> tuple[Any, Any]:  # fmt: skip
        is_complex = any(has_complex_dtype(b) for b in (start, end))
        spaced_dtype((1j if is_complex else 0.0,), steps, dtype, name)  # checks them
        if dtype is None:
            dtype = get_default_complex_dtype() if is_complex else get_default_dtype()
        wide = complex128 if dtype.is_complex else float64
        result = spaced(info, start, in_dims[0], end, in_dims[1], steps, dtype, wide)
        if logarithmic:
            result = F.pow(base, result)
        result = F.to(result, dtype)
        return result if device is None else F.to(result, device), 0

    return rule


structure(between, "linspace.Tensor_Tensor", "linspace.Tensor_Scalar", "linspace.Scalar_Tensor", logarithmic=False)
structure(between, "logspace.Tensor_Tensor", "logspace.Tensor_Scalar", "logspace.Scalar_Tensor", logarithmic=True)

# ---------------------------------------------------------------- to Python

structure(
    refused, "_local_scalar_dense", call=".item()",
    why="a Python value is asked for, by .item(), by float(), or by bool() as in data-dependent control flow (an if or while of "
    "a tensor), and each example has another one",
)  # fmt: skip
structure(
    refused, "is_nonzero",
    why="it looks like data-dependent control flow: a Python bool is asked for, and each example has another one",
)  # fmt: skip
