"""Batch rules of look-ups in tables, of bags of them, and of rows kept to a norm."""

from __future__ import annotations

from typing import Any

from minitorch.core.memory_format import contiguous_format
from minitorch.functorch.batch_rules.indexing import positions
from minitorch.functorch.layout import batched, move, rank, sizes, to_front
from minitorch.functorch.rules import batch_rule, inplace_batch_rule
from minitorch.ops import functions as F


def _table(weight: Any, name: str) -> Any:
    """Return tables of all examples, (batch, rows, columns), as one with the examples one below the other."""
    if weight.ndim != 3:
        raise RuntimeError(f"{name}(): 'weight' must be 2-D, got shape {tuple(weight.shape[1:])}")
    return F.flatten(weight, 0, 1)


@batch_rule("embedding")
def embedding_rule(
    info: Any, in_dims: tuple, weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Look all examples up in the one table, or each in its own part of one made of all."""
    if in_dims[0] is None:
        return F.embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse), in_dims[1]
    weight = to_front(weight, in_dims[0])
    indices = batched(indices, in_dims[1], info.batch_size)
    places = positions(indices, info.batch_size, weight.shape[1])
    rows = F.embedding(_table(weight, "embedding"), places, -1, scale_grad_by_freq, sparse)
    if padding_idx >= 0:
        # Each example has a padding row, the operator knows of one: what it gave gets no gradient.
        padding = F.unsqueeze(F.eq(indices, padding_idx), -1)
        rows = F.where(padding, F.detach(rows), rows)
    return rows, 0


@batch_rule("embedding_dense_backward")
def embedding_dense_backward_rule(
    info: Any, in_dims: tuple, grad: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> tuple[Any, Any]:
    """Add rows up with the examples side by side where they share indices, and else one below the other."""
    size = info.batch_size
    if in_dims[1] is None:
        grad = move(grad, in_dims[0], grad.ndim - 2)
        columns = grad.shape[-1]
        grad = F.reshape(grad, [*grad.shape[:-2], size * columns])
        result = F.embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)
        return F.reshape(result, [num_weights, size, columns]), 1
    grad = batched(grad, in_dims[0], size)
    indices = to_front(indices, in_dims[1])
    places = positions(indices, size, num_weights)
    # What is padding goes to one row more.
    places = F.masked_fill(places, F.eq(indices, padding_idx), size * num_weights)
    result = F.embedding_dense_backward(grad, places, size * num_weights + 1, size * num_weights, scale_grad_by_freq)
    return F.reshape(F.narrow(result, 0, 0, size * num_weights), [size, num_weights, grad.shape[-1]]), 0


@batch_rule("_embedding_bag")
def embedding_bag_rule(
    info: Any, in_dims: tuple, weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = 0,
    sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False, padding_idx: int = -1,
) -> tuple[Any, Any]:  # fmt: skip
    """Make one row of bags of those of all examples."""
    size, name = info.batch_size, "embedding_bag"
    mapped = (*in_dims, *[None] * (7 - len(in_dims)))
    if rank(indices, mapped[1]) != 1 or rank(offsets, mapped[2]) != 1:
        raise RuntimeError(
            f"{name}(): 'indices' and 'offsets' must be 1-D, got shapes {sizes(indices, mapped[1])} and "
            f"{sizes(offsets, mapped[2])}"
        )
    indices, offsets = batched(indices, mapped[1], size), batched(offsets, mapped[2], size)
    count, bags = indices.shape[1], offsets.shape[1]
    rows = sizes(weight, mapped[0])[0]
    places, padding = indices, padding_idx
    if mapped[0] is not None:
        weight = _table(to_front(weight, mapped[0]), name)
        places = positions(indices, size, rows)
        if padding_idx >= 0:
            # Each example has a padding row, the operator knows of one: a row more stands for them.
            padding = size * rows
            places = F.masked_fill(places, F.eq(indices, padding_idx), padding)
            weight = F.constant_pad_nd(weight, [0, 0, 0, 1])
    places = F.to(places, indices.dtype)
    starts = F.add(offsets, F.unsqueeze(F.to(F.mul(F.arange(size, device=offsets.device), count), offsets.dtype), 1))
    if per_sample_weights is not None:
        if sizes(per_sample_weights, mapped[6]) != [count]:
            raise RuntimeError(
                f"{name}(): expected per_sample_weights of the shape of 'indices', [{count}], but got "
                f"{sizes(per_sample_weights, mapped[6])}"
            )
        per_sample_weights = F.flatten(batched(per_sample_weights, mapped[6], size))
    if bags == 0 and include_last_offset:
        raise RuntimeError(f"{name}(): with include_last_offset there must be at least one offset")
    # The last offset begins a bag of what is left over, which is dropped again.
    out, bag_of, bag_size, largest = F._embedding_bag(
        weight, F.flatten(places), F.flatten(starts), scale_grad_by_freq, mode, sparse, per_sample_weights, False, padding
    )
    kept = bags - bool(include_last_offset)
    out, bag_size = (F.narrow(F.unflatten(t, 0, [size, bags]), 1, 0, kept) for t in (out, bag_size))
    bag_of = F.unflatten(bag_of, 0, [size, count])
    bag_of = F.sub(bag_of, _numbers(info, bag_of, bags))
    largest = F.narrow(F.unflatten(largest, 0, [size, bags]), 1, 0, kept)
    if mode == 2 and mapped[0] is not None:
        # A bag of nothing has row 0 for its largest, of the first example.
        largest = F.clamp_min(F.sub(largest, _numbers(info, largest, rows)), 0)
    return (out, bag_of, bag_size, largest), (0, 0, 0, 0)


def _numbers(info: Any, like: Any, step: int) -> Any:
    """Return the examples' numbers times `step`, to broadcast with a batch and of its dtype."""
    numbers = F.to(F.mul(F.arange(info.batch_size, device=like.device), step), like.dtype)
    return F.view(numbers, [info.batch_size, *[1] * (like.ndim - 1)])


@inplace_batch_rule("embedding_renorm_")
def embedding_renorm_rule(info: Any, in_dims: tuple, x: Any, indices: Any, max_norm: float, norm_type: float) -> None:
    """Keep the rows of all examples to a norm, in a copy of which the examples are one below the other."""
    size = info.batch_size
    x = to_front(x, in_dims[0])
    places = positions(batched(indices, in_dims[1], size), size, x.shape[1])
    table = F.clone(x, memory_format=contiguous_format)
    F.embedding_renorm_(_table(table, "embedding_renorm_"), F.flatten(places), max_norm, norm_type)
    F.copy_(x, table)
