"""Batch rules of joining, repeating and turning, of triangles and diagonals, and of padding."""

from __future__ import annotations

from typing import Any

from minitorch.core.promotion import promote_types
from minitorch.functorch.batch_rules.views import dimwise
from minitorch.functorch.layout import (
    batched,
    fold,
    padded,
    rank,
    same_for_all,
    shifted,
    shifted_all,
    sizes,
    to_front,
)
from minitorch.functorch.rules import Rule, batch_rule, structure
from minitorch.ops import functions as F

# ---------------------------------------------------------------- joining


@batch_rule("cat")
def cat_rule(info: Any, in_dims: tuple, tensors: Any, dim: int = 0) -> tuple[Any, Any]:
    """Join behind the mapped dimension; a tensor that has none is the same for all examples."""
    dims = in_dims[0]
    for place, (tensor, mapped) in enumerate(zip(tensors, dims, strict=True)):
        if rank(tensor, mapped) == 0:
            raise RuntimeError(
                f"cat(): zero-dimensional tensor (at position {place}) cannot be concatenated; use stack instead"
            )
    # A vector of no elements fits everywhere, and has a say in the dtype only.
    pairs = [(t, d) for t, d in zip(tensors, dims, strict=True) if sizes(t, d) != [0]]
    if not pairs or all(rank(t, d) == 1 for t, d in pairs):
        pairs = list(zip(tensors, dims, strict=True))
    joined = F.cat([batched(t, d, info.batch_size) for t, d in pairs], shifted(dim, rank(*pairs[0])))
    if len(pairs) < len(tensors):
        dtype = tensors[0].dtype
        for tensor in tensors[1:]:
            dtype = promote_types(dtype, tensor.dtype)
        joined = F.to(joined, dtype)
    return joined, 0


@batch_rule("stack")
def stack_rule(info: Any, in_dims: tuple, tensors: Any, dim: int = 0) -> tuple[Any, Any]:
    """Count the places of an example, of which there is one more than dimensions."""
    example_rank = rank(tensors[0], in_dims[0][0])
    parts = [batched(t, d, info.batch_size) for t, d in zip(tensors, in_dims[0], strict=True)]
    return F.stack(parts, shifted(dim, example_rank + 1)), 0


@batch_rule("repeat")
def repeat_rule(info: Any, in_dims: tuple, x: Any, repeats: Any) -> tuple[Any, Any]:
    """Repeat all but the mapped dimension; new ones stand behind it."""
    example_rank = rank(x, in_dims[0])
    if len(repeats) < example_rank:
        raise RuntimeError(
            "repeat(): Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: "
            f"{len(repeats)} < {example_rank}"
        )
    return F.repeat(padded(x, in_dims[0], len(repeats)), [1, *repeats]), 0


@batch_rule("repeat_interleave.Tensor")
def repeat_interleave_rule(info: Any, in_dims: tuple, repeats: Any, *, output_size: int | None = None) -> tuple[Any, Any]:
    """Find for each place of the result how many ends of runs are at or before it."""
    if rank(repeats, in_dims[0]) != 1:
        raise RuntimeError("repeat_interleave(): only accepts 1D vector as repeat")
    ends = F.cumsum(to_front(repeats, in_dims[0]), 1)
    if output_size is None:
        totals = F.select(ends, 1, -1) if ends.shape[1] else F.sum(ends, 1)
        output_size = same_for_all(totals, "repeat_interleave(repeats)")
    places = F.arange(output_size, device=repeats.device)
    return F.to(F.sum(F.le(F.unsqueeze(ends, 1), F.unsqueeze(places, 1)), 2), repeats.dtype), 0


# ---------------------------------------------------------------- turning


structure(dimwise, "flip", scalar="element")


@batch_rule("roll")
def roll_rule(info: Any, in_dims: tuple, x: Any, shifts: Any, dims: Any = ()) -> tuple[Any, Any]:
    """Roll dimensions behind the mapped one; without any, all elements of an example."""
    example = sizes(x, in_dims[0])
    x = to_front(x, in_dims[0])
    if dims or len(shifts) != 1:
        if dims and len(example) == 0:
            raise IndexError("roll(): a dimension is named, but the tensor has no dimensions")
        return F.roll(x, shifts, shifted_all(dims, len(example))), 0
    count = 1
    for n in example:
        count *= n
    flat = F.roll(F.reshape(x, [info.batch_size, count]), shifts, [1])
    return F.reshape(flat, [info.batch_size, *example]), 0


# ---------------------------------------------------------------- triangles, diagonals


@batch_rule("tril")
def tril_rule(info: Any, in_dims: tuple, x: Any, diagonal: int = 0) -> tuple[Any, Any]:
    """Keep the lower triangle of each matrix."""
    return F.tril(_matrices(x, in_dims[0]), diagonal), 0


@batch_rule("triu")
def triu_rule(info: Any, in_dims: tuple, x: Any, diagonal: int = 0) -> tuple[Any, Any]:
    """Keep the upper triangle of each matrix."""
    return F.triu(_matrices(x, in_dims[0]), diagonal), 0


def _matrices(x: Any, dim: int) -> Any:
    if rank(x, dim) < 2:
        raise RuntimeError(f"tril() and triu(): input tensor must have at least 2 dimensions, got {sizes(x, dim)}")
    return to_front(x, dim)


@batch_rule("diag_embed")
def diag_embed_rule(
    info: Any, in_dims: tuple, x: Any, offset: int = 0, dim1: int = -2, dim2: int = -1
) -> tuple[Any, Any]:
    """Count the dimensions of the result, of which there is one more."""
    example_rank = rank(x, in_dims[0])
    if example_rank == 0:
        raise IndexError("diag_embed(): input must have at least one dimension")
    first, second = shifted(dim1, example_rank + 1), shifted(dim2, example_rank + 1)
    return F.diag_embed(to_front(x, in_dims[0]), offset, first, second), 0


# ---------------------------------------------------------------- padding


@batch_rule("constant_pad_nd")
def constant_pad_rule(info: Any, in_dims: tuple, x: Any, pad: Any, value: Any = 0) -> tuple[Any, Any]:
    """Pad the last dimensions of each example."""
    example_rank = rank(x, in_dims[0])
    if len(pad) > 2 * example_rank:
        raise RuntimeError(
            f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is {len(pad)} "
            f"while the input has {example_rank} dimensions."
        )
    return F.constant_pad_nd(to_front(x, in_dims[0]), pad, value), 0


def last_dims(op: Any, count: int) -> Rule:
    """Return the rule of an operator on the last `count` dimensions, behind channels and, if there are, a batch.

    A mapped dimension is the batch of examples that have none, and folded into that of others.
    """

    tensors = range(len([a for a in op.schema.arguments if a.type.base == "Tensor" and not a.kwarg_only]))

    def rule(info: Any, in_dims: tuple, *args: Any) -> tuple[Any, Any]:
        example_rank = rank(args[0], in_dims[0])
        if example_rank not in (count + 1, count + 2):
            raise RuntimeError(
                f"{op.basename}(): Expected {count + 1}D or {count + 2}D input tensor, but got one of {example_rank} dimensions"
            )
        values = list(args)
        for i in tensors:
            values[i] = batched(args[i], in_dims[i], info.batch_size)
        if example_rank == count + 1:
            return op.call(tuple(values), None), 0
        examples = values[0].shape[1]
        for i in tensors:
            values[i] = fold(values[i], 0, 0)
        result = op.call(tuple(values), None)
        return F.reshape(result, [info.batch_size, examples, *result.shape[1:]]), 0

    return rule


for _count in (1, 2, 3):
    structure(
        last_dims,
        *[f"{_kind}_pad{_count}d{_end}" for _kind in ("reflection", "replication") for _end in ("", "_backward")],
        count=_count,
    )
