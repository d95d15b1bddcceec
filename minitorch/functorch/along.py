"""Batch rules of operators that work along dimensions: reductions, scans, sorts, softmax.

Note [Along dimensions]
    The mapped dimension is put first, and the dimensions of the example, counted from its own first, are
    shifted by one.  An example without dimensions is one with a single dimension of one element, which the
    result of a reduction has lost again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.functorch.layout import batched, rank, shifted, shifted_all, sizes
from minitorch.functorch.rules import Rule
from minitorch.ops import functions as F
from minitorch.ops.assemble import operator_named
from minitorch.tensor.base import TensorBase


def tensor_places(op: Any) -> list[int]:
    """Return which positional arguments of an operator are tensors."""
    return [i for i, a in enumerate(op.schema.arguments) if a.type.base == "Tensor" and not a.kwarg_only]


def along(op: Any, *, reduces: bool, empty: str = "all") -> Rule:
    """Return the rule of an operator that has an argument `dim`.

    Parameters
    ----------
    op : Operator
        Its tensors have equal shapes, but for the size of `dim`.
    reduces : bool
        Whether `dim` is gone in the results, unless there is a true `keepdim`.
    empty : {"all", "none"}
        Which dimensions an empty list stands for.
    """
    arguments = op.schema.arguments
    names = [a.name for a in arguments]
    places = tensor_places(op)
    dim_at = names.index("dim")
    keepdim_at = names.index("keepdim") if "keepdim" in names else None
    is_list = arguments[dim_at].type.is_list

    def get(args: Any, kwargs: dict, at: int) -> Any:
        if arguments[at].kwarg_only:
            return kwargs.get(names[at], arguments[at].default)
        return args[at] if at < len(args) else arguments[at].default

    def put(values: list, kwargs: dict, at: int, value: Any) -> None:
        if arguments[at].kwarg_only:
            kwargs[names[at]] = value
            return
        while len(values) <= at:
            values.append(arguments[len(values)].default)
        values[at] = value

    def rule(info: Any, in_dims: tuple, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        values = list(args)
        dim = get(args, kwargs, dim_at)
        if empty == "none" and dim is not None and len(dim) == 0:
            return op.call(args, kwargs or None), in_dims[places[0]]
        example_rank = rank(args[places[0]], in_dims[places[0]])
        for i in places:
            x = batched(args[i], in_dims[i], info.batch_size)
            values[i] = F.unsqueeze(x, 1) if example_rank == 0 else x
        keepdim = keepdim_at is not None and bool(get(args, kwargs, keepdim_at))
        kept = ()
        if is_list:
            if dim is None or len(dim) == 0:
                dims = list(range(1, max(example_rank, 1) + 1))
            else:
                dims = shifted_all(dim, example_rank)
            put(values, kwargs, dim_at, dims)
        elif dim is None:
            # All of the example, as one dimension.
            for i in places:
                values[i] = F.flatten(values[i], 1) if values[i].ndim > 2 else values[i]
            put(values, kwargs, dim_at, 1)
            if keepdim:
                kept = (1,) * example_rank
        else:
            put(values, kwargs, dim_at, shifted(dim, example_rank))
        if keepdim and (example_rank == 0 or kept):
            assert keepdim_at is not None
            put(values, kwargs, keepdim_at, False)
        result = op.call(tuple(values), kwargs or None)
        if kept:
            return each(result, lambda t: F.reshape(t, [t.shape[0], *kept])), 0
        if example_rank == 0 and not reduces:
            return each(result, lambda t: F.squeeze(t, 1)), 0
        return result, 0

    return rule


def each(result: Any, function: Callable[[Any], Any]) -> Any:
    """Return ``function(tensor)`` of a result, or of each of some."""
    return function(result) if isinstance(result, TensorBase) else tuple([function(t) for t in result])


def whole(op: Any, *, by: str) -> Rule:
    """Return the rule of an operator that reduces all of its tensor, and of which the overload `by` takes dims."""
    inner = along(operator_named(by), reduces=True)

    def rule(info: Any, in_dims: tuple, self: Any, **kwargs: Any) -> tuple[Any, Any]:
        return inner(info, (in_dims[0], None), self, None, **kwargs)

    return rule


def whole_by_one(op: Any, *, by: str) -> Rule:
    """Return the rule of an operator that reduces all of its tensor, and of which the overload `by` takes one dim."""
    inner = operator_named(by)

    def rule(info: Any, in_dims: tuple, self: Any, **kwargs: Any) -> tuple[Any, Any]:
        x = rows(self, in_dims[0], info.batch_size)
        result = inner.call((x, 1), kwargs or None)
        return result if isinstance(result, TensorBase) else result[0], 0

    return rule


def rows(x: Any, dim: int | None, size: int) -> Any:
    """Return the elements of each example as a row of a matrix."""
    count = 1
    for n in sizes(x, dim):
        count *= n
    return F.reshape(batched(x, dim, size), [size, count])
