"""Where batch rules put the mapped dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.core.promotion import promote_types
from minitorch.dispatch.operator import Operator
from minitorch.ops import functions as F
from minitorch.ops.assemble import operator_named
from minitorch.tensor.base import TensorBase
from minitorch.tensor.wrapper import innermost

_permute: Operator = operator_named("permute")
_expand: Operator = operator_named("expand")
_view: Operator = operator_named("view")


def rank(x: Any, dim: int | None) -> int:
    """Return the number of dimensions that an example has."""
    return x.ndim if dim is None else x.ndim - 1


def sizes(x: Any, dim: int | None) -> list[int]:
    """Return the shape of an example."""
    shape = list(x.shape)
    if dim is not None:
        del shape[dim]
    return shape


def to_front(x: Any, dim: int | None) -> Any:
    """Return a view with the mapped dimension first; the tensor itself if it has none, or has it there."""
    return x if dim is None or dim == 0 else move(x, dim, 0)


def move(x: Any, source: int, target: int) -> Any:
    """Return a view in which dimension `source` stands at `target`; both count from 0."""
    if source == target:
        return x
    order = list(range(x.ndim))
    order.insert(target, order.pop(source))
    return _permute.call((x, order), None)


def batched(x: Any, dim: int | None, size: int) -> Any:
    """Return a view with the mapped dimension first; a tensor that has none is repeated `size` times without a copy."""
    if dim is None:
        return _expand.call((x, [size, *x.shape]), None)
    return to_front(x, dim)


def padded(x: Any, dim: int | None, example_rank: int) -> Any:
    """Return a tensor that broadcasts with batched ones whose examples have `example_rank` dimensions.

    A mapped dimension is put first, and dimensions of size 1 behind it; without one nothing changes.
    """
    if dim is None:
        return x
    x = to_front(x, dim)
    missing = example_rank + 1 - x.ndim
    if missing > 0:
        for _ in range(missing):
            x = F.unsqueeze(x, 1)
    return x


def lined_up(args: Any, in_dims: Any) -> tuple[list, int]:
    """Return arguments whose tensors broadcast with the mapped dimension first, and the rank of what examples broadcast to.

    They promote to the dtype to which examples promote.
    """
    operands = [(i, a, d) for i, (a, d) in enumerate(zip(args, in_dims, strict=True)) if isinstance(a, TensorBase)]
    ranks = [rank(a, d) for _, a, d in operands]
    widest = max(ranks, default=0)
    dims_dtype = example_dtype([a for (_, a, _), r in zip(operands, ranks, strict=True) if r]) if widest else None
    values = list(args)
    for (i, a, d), r in zip(operands, ranks, strict=True):
        if d is not None and r == 0 and dims_dtype is not None and not outranks(a.dtype, dims_dtype):
            # An example without dimensions has no say in the dtype; the batch of them would.
            a = F.to(a, dims_dtype)
        elif d is None and r == 0 and widest == 0:
            a = F.unsqueeze(a, 0)  # it has a say, as the examples have none with dimensions
        values[i] = padded(a, d, widest)
    return values, widest


def example_dtype(tensors: list[Any]) -> Any:
    """Return the dtype to which tensors promote that all have dimensions."""
    dtype = tensors[0].dtype
    for tensor in tensors[1:]:
        dtype = promote_types(dtype, tensor.dtype)
    return dtype


def outranks(dtype: Any, other: Any) -> bool:
    """Return whether a tensor without dimensions of `dtype` has a say beside ones of `other` that have some."""
    return _category(dtype) > _category(other)


def _category(dtype: Any) -> int:
    if dtype.is_complex:
        return 3
    if dtype.is_floating_point:
        return 2
    return 0 if dtype.scalar_name == "Bool" else 1


def shifted(dim: int, example_rank: int) -> int:
    """Return a dimension of an example as one of a tensor with the mapped dimension first.

    Raises
    ------
    IndexError
        If an example has no such dimension; one without dimensions is taken to have one.
    """
    bound = max(example_rank, 1)
    if not -bound <= dim < bound:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})")
    return dim % bound + 1


def shifted_all(dims: Sequence[int], example_rank: int) -> list[int]:
    """Return `shifted` of each of some dimensions."""
    return [shifted(dim, example_rank) for dim in dims]


def fold(x: Any, dim: int, into: int) -> Any:
    """Return a tensor whose examples' dimension `into` runs over the examples as well: batch times size, batch first.

    Examples
    --------
    >>> list(fold(minitorch.zeros(5, 2, 3), 0, 1).shape)
    [2, 15]
    """
    x = move(x, dim, into)
    shape = list(x.shape)
    shape[into : into + 2] = [shape[into] * shape[into + 1]]
    return F.reshape(x, shape)


def unfold(x: Any, dim: int, size: int) -> Any:
    """Return the tensor that `fold` was given, of `size` examples, with the mapped dimension at `dim`."""
    shape = list(x.shape)
    shape[dim : dim + 1] = [size, shape[dim] // size if size else 0]
    return F.reshape(x, shape)


def with_defaults(op: Operator, args: Sequence[Any]) -> list[Any]:
    """Return the positional arguments of a call with the defaults of those that were left out."""
    places = [a for a in op.schema.arguments if not a.kwarg_only]
    return [*args, *[a.default for a in places[len(args) :]]]


def dim_places(op: Operator, names: Sequence[str]) -> list[int]:
    """Return the places of the arguments of these names among an operator's positional ones."""
    return [i for i, a in enumerate(op.schema.arguments) if not a.kwarg_only and a.name in names]


def one_element(x: Any) -> Any:
    """Return a batch of examples without dimensions as one of examples of one element each."""
    return F.unsqueeze(x, 1) if x.ndim == 1 else x


def same_for_all(values: Any, name: str) -> int:
    """Return the number that one example's result is shaped by, where it is the same for all examples.

    It is read from the tensor, as the operator reads it for one example, and from all examples of the levels around.

    Raises
    ------
    RuntimeError
        If it differs.
    """
    values = innermost(values)
    if not values.numel():
        return 0
    first = int(F.reshape(values, [-1])[0].item())
    if not bool(F.all(F.eq(values, first))):
        raise RuntimeError(
            f"vmap: {name} has a result of dynamic shape, which differs from example to example here. Use an operator whose "
            "result has a shape that does not depend on values, such as where or nonzero_static."
        )
    return first
