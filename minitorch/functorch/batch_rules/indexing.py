"""Batch rules of gathering, scattering, taking and masking.

Note [Positions in a folded dimension]
    Where each example has positions of its own, the examples are laid out one after the other in the dimension that
    is indexed, and an example's positions moved to where it stands (`positions`).  One that is out of range must not
    reach into a neighbour: it is moved to where there is nothing, so that the operator raises as it does for one example.
"""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import bool as boolean
from minitorch.core.dtype import int64
from minitorch.functorch.batch_rules import advanced_indexing, joining  # noqa: F401  (they register rules of this family)
from minitorch.functorch.layout import (
    batched,
    fold,
    one_element,
    padded,
    rank,
    same_for_all,
    shifted,
    sizes,
    to_front,
)
from minitorch.functorch.rules import Rule, batch_rule, structure
from minitorch.ops import functions as F
from minitorch.ops.shapes.common import broadcast_shapes

# ---------------------------------------------------------------- one position for each element


def elementwise_positions(op: Any) -> Rule:
    """Return the rule of gather and scatter: ``op(self, dim, index, src?, ...)``, one dimension more for all tensors."""

    def rule(info: Any, in_dims: tuple, x: Any, dim: int, index: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        size = info.batch_size
        scalar = rank(index if op.basename == "gather" else x, in_dims[2 if op.basename == "gather" else 0]) == 0
        dim = shifted(dim, rank(x, in_dims[0]))
        values = [one_element(batched(x, in_dims[0], size)), dim, one_element(batched(index, in_dims[2], size)), *args]
        if takes_source and len(values) > 3:
            values[3] = one_element(batched(args[0], in_dims[3], size))
        result = op.call(tuple(values), kwargs)
        return F.squeeze(result, 1) if scalar else result, 0

    arguments = op.schema.arguments
    takes_source = len(arguments) > 3 and arguments[3].type.base == "Tensor"
    return rule


structure(
    elementwise_positions,
    "gather", "scatter.src", "scatter.value", "scatter.reduce", "scatter.value_reduce", "scatter_add", "scatter_reduce.two",
)  # fmt: skip


# ---------------------------------------------------------------- one position for each slice


def positions(index: Any, count: int, size: int, negative: bool = False) -> Any:
    """Return positions of examples as ones in `count` examples' slices in a row (Note [Positions in a folded dimension]).

    Parameters
    ----------
    index : Tensor
        Of shape (count, ...).
    size : int
        How many slices an example has.
    negative : bool
        Whether positions may count from the end.
    """
    index = F.to(index, int64)
    if negative:
        index = F.where(F.lt(index, 0), F.add(index, size), index)
    starts = F.mul(F.arange(count, device=index.device), size)
    starts = F.view(starts, [count, *[1] * (index.ndim - 1)])
    outside = F.logical_or(F.lt(index, 0), F.ge(index, size))
    return F.masked_fill(F.add(index, starts), outside, count * size)


@batch_rule("index_select")
def index_select_rule(info: Any, in_dims: tuple, x: Any, dim: int, index: Any) -> tuple[Any, Any]:
    """Select from all examples at once, or with a gather where both are mapped."""
    example_rank, index_rank = rank(x, in_dims[0]), rank(index, in_dims[2])
    if index_rank > 1:
        raise IndexError(f"index_select(): Index is supposed to be a vector, got {index_rank} dimensions")
    dim = shifted(dim, example_rank)
    if example_rank == 0:
        count = 1 if index_rank == 0 else sizes(index, in_dims[2])[0]
        if count != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {count} value(s)")
    if in_dims[2] is None:
        picked, where = F.index_select(one_element(to_front(x, in_dims[0])), dim, index), 0
    else:
        index = one_element(to_front(index, in_dims[2]))
        if in_dims[0] is None:
            x = x if example_rank else F.unsqueeze(x, 0)
            picked = F.index_select(x, dim - 1, F.reshape(index, [-1]) if index.numel() else F.flatten(index))
            shape = list(picked.shape)
            shape[dim - 1 : dim] = list(index.shape)
            picked, where = F.reshape(picked, shape), dim - 1
            dim = dim if where else 1
        else:
            x = one_element(to_front(x, in_dims[0]))
            shape = list(x.shape)
            shape[dim] = index.shape[1]
            line = [index.shape[0], *[1] * (x.ndim - 1)]
            line[dim] = index.shape[1]
            picked, where = F.gather(x, dim, F.expand(F.view(index, line), shape)), 0
    return F.squeeze(picked, dim) if example_rank == 0 else picked, where


def slices(op: Any) -> Rule:
    """Return the rule of an operator that changes whole slices: ``op(self, dim, index, source, ...)``.

    With an index of their own for each example the examples are one behind the other in `dim`.
    """

    def rule(info: Any, in_dims: tuple, x: Any, dim: int, index: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        size, example_rank = info.batch_size, rank(x, in_dims[0])
        index_rank = rank(index, in_dims[2])
        if index_rank > 1:
            raise (RuntimeError if op.basename == "index_fill" else IndexError)(
                f"{op.basename}(): Index is supposed to be a vector, got {index_rank} dimensions"
            )
        dim = shifted(dim, example_rank)
        x = one_element(batched(x, in_dims[0], size))
        rest = list(args)
        if takes_source:
            if example_rank != rank(args[0], in_dims[3]) and 0 not in (example_rank, rank(args[0], in_dims[3])):
                raise (IndexError if op.basename == "index_copy" else RuntimeError)(
                    f"{op.basename}(): self has {example_rank} dimensions and source {rank(args[0], in_dims[3])}"
                )
            rest[0] = one_element(batched(args[0], in_dims[3], size))
        if in_dims[2] is None:
            result = op.call((x, dim, index, *rest), kwargs)
        else:
            if takes_source and index.numel() != size * rest[0].shape[dim]:
                raise (IndexError if op.basename == "index_copy" else RuntimeError)(
                    f"{op.basename}(): the number of indices ({index.numel() // max(size, 1)}) must be the size of source in "
                    "the dimension that is indexed"
                )
            index = one_element(to_front(index, in_dims[2]))
            shape = list(x.shape)
            places = positions(index, size, shape[dim], op.basename == "index_fill")
            if takes_source:
                rest[0] = fold(rest[0], 0, dim - 1)
            result = op.call((fold(x, 0, dim - 1), dim - 1, F.flatten(places), *rest), kwargs)
            result = F.reshape(result, [*shape[1:dim], size, *shape[dim:]])
            if example_rank == 0:
                return F.squeeze(result, dim), dim - 1
            return result, dim - 1
        return F.squeeze(result, 1) if example_rank == 0 else result, 0

    arguments = op.schema.arguments
    takes_source = arguments[3].type.base == "Tensor"
    return rule


structure(slices, "index_add", "index_copy", "index_reduce", "index_fill.int_Scalar")


@batch_rule("index_fill.int_Tensor")
def index_fill_rule(info: Any, in_dims: tuple, x: Any, dim: int, index: Any, value: Any) -> tuple[Any, Any]:
    """Fill as with a number, or, where each example has a value of its own, through a mask of what is filled."""
    size, scalar = info.batch_size, rank(x, in_dims[0]) == 0
    if rank(value, in_dims[3]) != 0:
        raise RuntimeError(
            f"index_fill(): only supports a 0-dimensional value tensor, but got tensor with {rank(value, in_dims[3])} "
            "dimension(s)."
        )
    x = one_element(batched(x, in_dims[0], size))
    dim = shifted(dim, rank(x, 0))
    length = x.shape[dim]
    if index.dtype is not int64:
        raise IndexError(f"index_fill(): Expected dtype int64 for index, got {index.dtype.scalar_name}")
    # Which places along `dim` are filled, in each example or in all.
    if in_dims[2] is None:
        places, lines = index, 1
    else:
        places, lines = F.flatten(positions(to_front(index, in_dims[2]), size, length, negative=True)), size
    filled = F.index_fill(F.zeros([lines * length], dtype=boolean, device=x.device), 0, places, True)
    filled = F.reshape(filled, [lines, *[1] * (dim - 1), length, *[1] * (x.ndim - 1 - dim)])
    value = padded(F.to(value, x.dtype), in_dims[3], rank(x, 0))
    result = F.where(filled, value, x)
    return F.squeeze(result, 1) if scalar else result, 0


# ---------------------------------------------------------------- positions in an example laid flat


@batch_rule("take")
def take_rule(info: Any, in_dims: tuple, x: Any, index: Any) -> tuple[Any, Any]:
    """Take from all examples laid flat, one behind the other."""
    if in_dims[0] is None:
        return F.take(x, index), in_dims[1]
    size = info.batch_size
    x = to_front(x, in_dims[0])
    index = batched(_long(index, "take"), in_dims[1], size)
    return F.take(x, positions(index, size, _count(x), negative=True)), 0


@batch_rule("put")
def put_rule(info: Any, in_dims: tuple, x: Any, index: Any, source: Any, accumulate: bool = False) -> tuple[Any, Any]:
    """Put into all examples laid flat, one behind the other."""
    size = info.batch_size
    x = batched(x, in_dims[0], size)
    index = batched(_long(index, "put_"), in_dims[1], size)
    source = batched(source, in_dims[2], size)
    if _count(index) != _count(source):
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{_count(source)}, index.numel() = {_count(index)}"
        )
    places = F.reshape(positions(index, size, _count(x), negative=True), [size * _count(index)])
    return F.put(x, places, F.reshape(source, [size * _count(source)]), accumulate), 0


def _long(index: Any, name: str) -> Any:
    if index.dtype is not int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {index.dtype.scalar_name}")
    return index


def _count(x: Any) -> int:
    """Return how many elements an example of a batch has."""
    count = 1
    for n in x.shape[1:]:
        count *= n
    return count


# ---------------------------------------------------------------- masks


@batch_rule("masked_fill.Scalar")
def masked_fill_rule(info: Any, in_dims: tuple, x: Any, mask: Any, value: Any) -> tuple[Any, Any]:
    """Line the tensor and its mask up."""
    widest = max(rank(x, in_dims[0]), rank(mask, in_dims[1]))
    return F.masked_fill(padded(x, in_dims[0], widest), padded(mask, in_dims[1], widest), value), 0


@batch_rule("masked_fill.Tensor")
def masked_fill_tensor_rule(info: Any, in_dims: tuple, x: Any, mask: Any, value: Any) -> tuple[Any, Any]:
    """Choose between the tensor and a value that may be another for each example."""
    if rank(value, in_dims[2]) != 0:
        raise RuntimeError(
            f"masked_fill(): only supports a 0-dimensional value tensor, but got tensor with {rank(value, in_dims[2])} "
            "dimension(s)."
        )
    widest = max(rank(x, in_dims[0]), rank(mask, in_dims[1]))
    x, mask = padded(x, in_dims[0], widest), padded(mask, in_dims[1], widest)
    if in_dims[2] is None:
        return F.masked_fill(x, mask, value), 0
    if not x.dtype.is_complex and value.dtype.is_complex:
        raise RuntimeError(
            f"masked_fill(): a value of type {value.dtype.scalar_name} cannot be converted to {x.dtype.scalar_name}"
        )
    if mask.dtype.scalar_name != "Bool":
        raise RuntimeError(
            f"masked_fill(): only supports boolean masks, but got mask with dtype {mask.dtype.scalar_name}"
        )
    return F.where(mask, F.to(padded(value, in_dims[2], widest), x.dtype), x), 0


@batch_rule("masked_scatter")
def masked_scatter_rule(info: Any, in_dims: tuple, x: Any, mask: Any, source: Any) -> tuple[Any, Any]:
    """Gather for each place of the mask the element that stands as far in the source as it does among the places."""
    size = info.batch_size
    if mask.dtype.scalar_name != "Bool":
        raise RuntimeError(
            f"masked_scatter(): only supports boolean masks, but got mask with dtype {mask.dtype.scalar_name}"
        )
    if x.dtype is not source.dtype:
        raise RuntimeError(
            "masked_scatter(): expected self and source to have same dtypes but got "
            f"{x.dtype.scalar_name} and {source.dtype.scalar_name}"
        )
    widest = max(rank(x, in_dims[0]), rank(mask, in_dims[1]))
    x, mask = _broadcast(_padded_batch(x, in_dims[0], size, widest), _padded_batch(mask, in_dims[1], size, widest))
    source = batched(source, in_dims[2], size)
    source = F.reshape(source, [size, _count(source)])
    # One more in front, for the places that keep what they have; one too few elements is an index out of range.
    source = F.constant_pad_nd(source, [1, 0])
    flat = F.reshape(mask, [size, _count(mask)])
    order = F.mul(F.cumsum(flat, 1), flat)
    return F.where(mask, F.reshape(F.gather(source, 1, order), list(mask.shape)), x), 0


def _padded_batch(x: Any, dim: int | None, size: int, widest: int) -> Any:
    return padded(batched(x, dim, size), 0, widest)


def _broadcast(x: Any, mask: Any) -> tuple[Any, Any]:
    shape = broadcast_shapes(tuple(x.shape), tuple(mask.shape))
    return F.expand(x, shape), F.expand(mask, shape)


# ---------------------------------------------------------------- shapes that depend on values


@batch_rule("masked_select")
def masked_select_rule(info: Any, in_dims: tuple, x: Any, mask: Any) -> tuple[Any, Any]:
    """Select with a mask that all examples share; else results would have different shapes."""
    if in_dims[1] is not None:
        raise RuntimeError(
            "vmap: masked_select(self, mask) with a mask that is mapped over: the number of elements selected may differ "
            "from example to example. Use where(mask, self, other) instead."
        )
    if mask.dtype.scalar_name != "Bool":
        raise RuntimeError(
            f"masked_select(): only supports boolean masks, but got mask with dtype {mask.dtype.scalar_name}"
        )
    widest = max(rank(x, in_dims[0]), mask.ndim)
    x = padded(x, in_dims[0], widest)
    x, mask = _broadcast(x, mask)
    shared = F.select(mask, 0, 0) if mask.shape[0] else F.new_zeros(mask, list(mask.shape[1:]))
    flat = F.reshape(x, [info.batch_size, _count(x)])
    place = F.reshape(F.nonzero(F.reshape(shared, [_count(x)])), [-1])
    return F.index_select(flat, 1, place), 0


@batch_rule("nonzero")
def nonzero_rule(info: Any, in_dims: tuple, x: Any) -> tuple[Any, Any]:
    """Raise: the number of rows may differ from example to example."""
    raise RuntimeError(
        "vmap: nonzero has a result of dynamic shape, which may differ from example to example. Use nonzero_static with "
        "a size, or where(condition, a, b)."
    )


@batch_rule("argwhere")
def argwhere_rule(info: Any, in_dims: tuple, x: Any) -> tuple[Any, Any]:
    """Find as many places in each example, where there are as many in all."""
    x = to_front(x, in_dims[0])
    count = F.sum(F.ne(F.reshape(x, [info.batch_size, _count(x)]), 0), 1)
    return nonzero_static_rule(info, (0,), x, size=same_for_all(count, "argwhere"))


@batch_rule("nonzero_static")
def nonzero_static_rule(info: Any, in_dims: tuple, x: Any, *, size: int, fill_value: int = -1) -> tuple[Any, Any]:
    """Put for each example its places that are not zero first, in order, and count them off."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    example = sizes(x, in_dims[0])
    x = to_front(x, in_dims[0])
    flat = F.ne(F.reshape(x, [info.batch_size, _count(x)]), 0)
    count = flat.shape[1]
    # Which one among those that are not zero each is, and `size` for what has no place in the result.
    order = F.sub(F.cumsum(flat, 1), 1)
    order = F.where(F.logical_and(flat, F.lt(order, size)), order, size)
    places = F.full([info.batch_size, size + 1], -1, dtype=int64, device=x.device)
    places = F.scatter(places, 1, order, F.expand(F.arange(count, device=x.device), [info.batch_size, count]))
    places = F.narrow(places, 1, 0, size)
    columns, step = [], count
    for n in example:
        step = step // n if n else 0
        column = F.remainder(F.div(places, max(step, 1), rounding_mode="floor"), max(n, 1))
        columns.append(F.where(F.lt(places, 0), fill_value, column))
    if not columns:
        return F.new_zeros(places, [info.batch_size, size, 0]), 0
    return F.stack(columns, 2), 0
