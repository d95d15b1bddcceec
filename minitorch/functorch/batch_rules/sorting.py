"""Batch rules of sorting and searching.

`histc`, `histogram` and `bincount` have none: where their bins lie, or how many there are, depends on the values of
each example, and the kernel's rounding of edges would have to be repeated here.  vmap makes a loop of them.
"""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import float64
from minitorch.functorch.along import along, rows
from minitorch.functorch.layout import batched, rank, sizes, to_front
from minitorch.functorch.rules import batch_rule, refused, structure
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase

structure(
    along, "sort", "sort.stable", "argsort", "argsort.stable", "topk", reduces=False,
)  # fmt: skip

structure(
    refused, "_unique2", "unique_dim", "unique_consecutive",
    why="the shape of its result depends on values, so the examples' results do not fit into one tensor",
)  # fmt: skip

# ---------------------------------------------------------------- searching


def search(info: Any, sequence: Any, sequence_dim: Any, values: Any, values_dim: Any, sorter: Any, sorter_dim: Any,
           kwargs: dict) -> tuple[Any, Any]:  # fmt: skip
    """Return where the values of each example belong in its sorted sequence."""
    if sequence_dim is None and sorter_dim is None and rank(sequence, None) == 1:
        return F.searchsorted(sequence, values, sorter=sorter, **kwargs), values_dim
    size = info.batch_size
    shape = sizes(values, values_dim)
    sequence_shape = sizes(sequence, sequence_dim)
    if not sequence_shape or (len(sequence_shape) > 1 and sequence_shape[:-1] != shape[:-1]):
        raise RuntimeError(
            "searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
            f"input value tensor must match, but we got boundaries tensor {sequence_shape} and input value tensor {shape}"
        )
    sequence = batched(sequence, sequence_dim, size)
    if sorter is not None:
        sorter = batched(sorter, sorter_dim, size)
    if len(sequence_shape) > 1:
        return F.searchsorted(sequence, batched(values, values_dim, size), sorter=sorter, **kwargs), 0
    result = F.searchsorted(sequence, rows(values, values_dim, size), sorter=sorter, **kwargs)
    return F.reshape(result, [size, *shape]), 0


@batch_rule("searchsorted.Tensor")
def searchsorted(
    info: Any, in_dims: tuple, sorted_sequence: Any, self: Any, *, sorter: Any = None, sorter_dim: Any = None, **kwargs: Any
) -> tuple[Any, Any]:
    return search(info, sorted_sequence, in_dims[0], self, in_dims[1], sorter, sorter_dim, kwargs)


@batch_rule("searchsorted.Scalar")
def searchsorted_scalar(
    info: Any, in_dims: tuple, sorted_sequence: Any, self: Any, *, sorter: Any = None, sorter_dim: Any = None, **kwargs: Any
) -> tuple[Any, Any]:
    value = number_like(sorted_sequence, self)
    return search(info, sorted_sequence, in_dims[0], value, None, sorter, sorter_dim, kwargs)


@batch_rule("bucketize.Tensor")
def bucketize(info: Any, in_dims: tuple, self: Any, boundaries: Any, **kwargs: Any) -> tuple[Any, Any]:
    check_boundaries(boundaries, in_dims[1])
    return search(info, boundaries, in_dims[1], self, in_dims[0], None, None, kwargs)


@batch_rule("bucketize.Scalar")
def bucketize_scalar(info: Any, in_dims: tuple, self: Any, boundaries: Any, **kwargs: Any) -> tuple[Any, Any]:
    check_boundaries(boundaries, in_dims[1])
    return search(info, boundaries, in_dims[1], number_like(boundaries, self), None, None, None, kwargs)


def check_boundaries(boundaries: Any, dim: int | None) -> None:
    """Raise unless an example's boundaries are a sequence."""
    if rank(boundaries, dim) != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({rank(boundaries, dim)})")


def number_like(tensor: Any, value: Any) -> Any:
    """Return a number as a 0-dim tensor where another lies."""
    return F.scalar_tensor(value, dtype=number_dtype(tensor, value), device=tensor.device)


def number_dtype(tensor: Any, value: Any) -> Any:
    """Return the dtype of `tensor`, or a floating one for a number with a fraction that is looked for among integers."""
    if isinstance(value, float) and not tensor.is_floating_point():
        return float64
    return tensor.dtype


@batch_rule("isin.Tensor_Tensor")
def isin(
    info: Any, in_dims: tuple, elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> tuple[Any, Any]:
    if in_dims[1] is None:
        return F.isin(elements, test_elements, assume_unique=assume_unique, invert=invert), in_dims[0]
    return among(info, elements, in_dims[0], test_elements, in_dims[1], invert)


@batch_rule("isin.Tensor_Scalar")
def isin_tensor_scalar(info: Any, in_dims: tuple, elements: Any, test_element: Any, **kwargs: Any) -> tuple[Any, Any]:
    return F.isin(elements, test_element, **kwargs), in_dims[0]


@batch_rule("isin.Scalar_Tensor")
def isin_scalar_tensor(
    info: Any, in_dims: tuple, element: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> tuple[Any, Any]:
    return among(info, element, None, test_elements, in_dims[1], invert)


def among(info: Any, elements: Any, elements_dim: Any, tests: Any, tests_dim: Any, invert: bool) -> tuple[Any, Any]:
    """Return which elements are among the tests of their example: each pair is compared."""
    tests = rows(tests, tests_dim, info.batch_size)
    if not isinstance(elements, TensorBase):
        found = F.any(F.eq(tests, elements), 1)
    else:
        shape = sizes(elements, elements_dim)
        tests = F.reshape(tests, [info.batch_size, *[1] * len(shape), tests.shape[1]])
        elements = F.unsqueeze(to_front(elements, elements_dim), -1)
        found = F.any(F.eq(elements, tests), -1)
    return F.logical_not(found) if invert else found, 0
