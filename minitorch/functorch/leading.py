"""Rules of operators that take a batch in their leading dimensions anyway, and what one example looks like to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.functorch.layout import batched, move, padded, rank, sizes, to_front
from minitorch.functorch.rules import Rule
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase


def one_example(op: Any, in_dims: Sequence[Any], args: Sequence[Any], kwargs: dict | None = None) -> Any:
    """Return what an operator gives for one example, without computing it: tensors on the meta device.

    A rule that adds dimensions must not accept what one example would not be accepted for; then the call itself says
    what is wrong. It is made where shapes look wrong, or where the result's dtype or shape is to be known.
    """
    keywords = dict(kwargs or {})
    for name, value in keywords.items():
        if isinstance(value, TensorBase):
            keywords[name] = _hollow(value, keywords.get(f"{name}_dim"))
    for name in kwargs or {}:
        keywords.pop(f"{name}_dim", None)
    values = [_hollow(a, d) if isinstance(a, TensorBase) else a for a, d in zip(args, in_dims, strict=True)]
    return op.call(tuple(values), keywords)


def empty_batch(
    op: Any, count: int, in_dims: Sequence[Any], args: Sequence[Any], kwargs: dict | None = None
) -> tuple[Any, Any]:
    """Return the results where there is nothing to compute, for a batch of no examples say: zeros, if of any size."""
    example = one_example(op, in_dims, args, kwargs)
    device = next(a.device for a in args if isinstance(a, TensorBase))
    parts = (example,) if isinstance(example, TensorBase) else example
    found = tuple(None if p is None else F.zeros([count, *p.shape], dtype=p.dtype, device=device) for p in parts)
    return (found[0], 0) if isinstance(example, TensorBase) else (found, [0] * len(found))


def _hollow(x: Any, dim: int | None) -> Any:
    return F.empty(sizes(x, dim), dtype=x.dtype, device="meta")


def aligned(x: Any, dim: int | None, example_rank: int) -> Any:
    """Return a view of `example_rank` + 1 dimensions, the mapped one first, or one of size 1 if there is none.

    Dimensions of size 1 come before those of an example that has fewer.
    """
    if dim is None:
        x = F.unsqueeze(x, 0)
    return padded(x, 0 if dim is None else dim, example_rank)


def regrouped(x: Any, dim: int, first: int, second: int) -> Any:
    """Return `x` with dimension `dim` as two, of the given sizes."""
    shape = list(x.shape)
    shape[dim : dim + 1] = [first, second]
    return F.reshape(x, shape)


def merged(x: Any, dim: int) -> Any:
    """Return `x` with dimensions `dim` and `dim` + 1 as one."""
    shape = list(x.shape)
    shape[dim : dim + 2] = [shape[dim] * shape[dim + 1]]
    return F.reshape(x, shape)


def with_batch_at(x: Any, dim: int | None, size: int, target: int) -> Any:
    """Return a view with the mapped dimension at `target`; a tensor that has none is repeated without a copy."""
    if dim is None:
        x, dim = batched(x, None, size), 0
    return move(x, dim, target)


def leading_batch(op: Any, least: int, empty_outputs: bool = False) -> Rule:
    """Return the rule of an operator of one tensor that treats all but its last `least` dimensions as a batch.

    Parameters
    ----------
    op : Operator
    least : int
        How many dimensions one element of the batch has.
    empty_outputs : bool
        Whether an output of shape (0,) stands for one that was not asked for.
    """

    def rule(info: Any, in_dims: tuple, x: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if rank(x, in_dims[0]) < least:
            one_example(op, in_dims, (x, *args), kwargs)
        result = op.call((to_front(x, in_dims[0]), *args), kwargs)
        if isinstance(result, TensorBase):
            return result, 0
        dims = [None if empty_outputs and tuple(part.shape) == (0,) else 0 for part in result]
        return result, dims

    return rule


def folded_batch(op: Any, element: int, optional_batch: bool = True) -> Rule:
    """Return the rule of an operator of tensors (N, ...) whose results are (N, ...): the examples become more of the N.

    Parameters
    ----------
    op : Operator
    element : int
        How many dimensions come after N.
    optional_batch : bool
        Whether N may be missing, as in PyTorch's pooling.
    """
    tensors = [i for i, a in enumerate(op.schema.arguments) if a.type.base == "Tensor"]

    def rule(info: Any, in_dims: tuple, *args: Any) -> tuple[Any, Any]:
        operands = [i for i in tensors if i < len(args)]
        ranks = {rank(args[i], in_dims[i]) for i in operands}
        found = ranks.pop()
        if ranks or found not in ((element, element + 1) if optional_batch else (element + 1,)):
            one_example(op, in_dims, args)
            raise AssertionError(f"{op}: no rule for examples of such shapes")
        values = list(args)
        for i in operands:
            x = batched(args[i], in_dims[i], info.batch_size)
            values[i] = x if found == element else merged(x, 0)
        count = sizes(args[operands[0]], in_dims[operands[0]])[0]
        result = op.call(tuple(values), None)
        if found == element:
            return result, 0 if isinstance(result, TensorBase) else [0] * len(result)
        if isinstance(result, TensorBase):
            return regrouped(result, 0, info.batch_size, count), 0
        return tuple(regrouped(part, 0, info.batch_size, count) for part in result), [0] * len(result)

    return rule
