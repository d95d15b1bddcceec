"""Batch rules of view operators and of their gradients.

A view of a batch is a view of the tensor inside, so that a change of it in place is one of the batch.
"""

from __future__ import annotations

from typing import Any

from minitorch.functorch.layout import (
    batched,
    dim_places,
    one_element,
    padded,
    rank,
    shifted,
    shifted_all,
    sizes,
    to_front,
    with_defaults,
)
from minitorch.functorch.rules import Rule, batch_rule, structure
from minitorch.ops import functions as F
from minitorch.ops.shapes.common import normalize_dim
from minitorch.ops.shapes.geometry import infer_size

_DIM_NAMES = ("dim", "dims", "dim0", "dim1", "dim2", "dimension")


def dimwise(op: Any, scalar: str = "error") -> Rule:
    """Return the rule of an operator on one tensor that names dimensions: the mapped one first, the others one further.

    Parameters
    ----------
    scalar : {"error", "same", "element"}
        What it does with a tensor without dimensions: it raises, returns it, or takes it for one of one element.
    """
    places = dim_places(op, _DIM_NAMES)

    def rule(info: Any, in_dims: tuple, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        values = with_defaults(op, args)
        x, example_rank = to_front(values[0], in_dims[0]), rank(values[0], in_dims[0])
        for i in places:
            dims = values[i]
            values[i] = shifted(dims, example_rank) if type(dims) is int else shifted_all(dims, example_rank)
        if example_rank:
            values[0] = x
            return op.call(tuple(values), kwargs), 0
        if scalar == "error":
            raise IndexError(f"{op.basename}() cannot be applied to a 0-dim tensor.")
        if scalar == "same":
            return F.alias(x), 0
        values[0] = one_element(x)
        return F.squeeze(op.call(tuple(values), kwargs), 1), 0

    return rule


structure(dimwise, "select.int", "slice.Tensor", "unbind.int", "diagonal")
structure(dimwise, "transpose.int", "squeeze.dim", "squeeze.dims", scalar="same")


@batch_rule("split.Tensor", "split_with_sizes")
def split_rule(info: Any, in_dims: tuple, x: Any, how: Any, dim: int = 0) -> tuple[Any, Any]:
    """Split behind the mapped dimension."""
    if rank(x, in_dims[0]) == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    return F.split(to_front(x, in_dims[0]), how, shifted(dim, rank(x, in_dims[0]))), 0


@batch_rule("tensor_split.tensor_indices_or_sections")
def tensor_split_rule(info: Any, in_dims: tuple, x: Any, indices: Any, dim: int = 0) -> tuple[Any, Any]:
    """Split where a tensor says, which must be the same for all examples: else the parts have different shapes."""
    if in_dims[1] is not None:
        raise RuntimeError(
            "vmap: tensor_split(self, tensor_indices_or_sections) with indices that are mapped over: the shapes of the parts "
            "may differ from example to example. Use indices that are the same for all examples."
        )
    if rank(x, in_dims[0]) == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    return F.tensor_split(to_front(x, in_dims[0]), indices, shifted(dim, rank(x, in_dims[0]))), 0


@batch_rule("view", "_unsafe_view")
def view_rule(info: Any, in_dims: tuple, x: Any, size: Any) -> tuple[Any, Any]:
    """View each example; where the mapped dimension is not first that is a view still, as it is never joined to another."""
    example = sizes(x, in_dims[0])
    count = 1
    for n in example:
        count *= n
    return F.view(to_front(x, in_dims[0]), [info.batch_size, *infer_size(size, count)]), 0


@batch_rule("view.dtype")
def view_dtype_rule(info: Any, in_dims: tuple, x: Any, dtype: Any) -> tuple[Any, Any]:
    """View the elements as ones of another dtype: of another size only along an example's last dimension."""
    if rank(x, in_dims[0]) == 0 and dtype.itemsize != x.dtype.itemsize:
        raise RuntimeError(f"self.dim() cannot be 0 to view {x.dtype} as {dtype} (different element sizes)")
    return F.view(to_front(x, in_dims[0]), dtype), 0


@batch_rule("view_as_real")
def view_as_real_rule(info: Any, in_dims: tuple, x: Any) -> tuple[Any, Any]:
    """Leave the mapped dimension: the new one comes last."""
    return F.view_as_real(x), in_dims[0]


@batch_rule("view_as_complex")
def view_as_complex_rule(info: Any, in_dims: tuple, x: Any) -> tuple[Any, Any]:
    """Take the pairs from an example's last dimension."""
    if rank(x, in_dims[0]) == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    return F.view_as_complex(to_front(x, in_dims[0])), 0


@batch_rule("as_strided")
def as_strided_rule(
    info: Any, in_dims: tuple, x: Any, size: Any, stride: Any, storage_offset: int | None = None
) -> tuple[Any, Any]:
    """Step from example to example as the batch does; an offset is that of the first example."""
    steps = [x.stride(in_dims[0]), *stride]
    return F.as_strided(x, [info.batch_size, *size], steps, storage_offset), 0


@batch_rule("t")
def t_rule(info: Any, in_dims: tuple, x: Any) -> tuple[Any, Any]:
    """Transpose a matrix; fewer dimensions stay."""
    example_rank = rank(x, in_dims[0])
    if example_rank > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {example_rank}D")
    x = to_front(x, in_dims[0])
    return F.transpose(x, 1, 2) if example_rank == 2 else F.alias(x), 0


@batch_rule("permute")
def permute_rule(info: Any, in_dims: tuple, x: Any, dims: Any) -> tuple[Any, Any]:
    """Put the mapped dimension first, the others in order behind it."""
    example_rank = rank(x, in_dims[0])
    if len(dims) != example_rank:
        raise RuntimeError(
            "permute(): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {example_rank} is not equal to len(dims) = {len(dims)}"
        )
    order = [normalize_dim(d, example_rank, "permute") for d in dims]
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    where = in_dims[0]
    return F.permute(x, [where, *[d + (d >= where) for d in order]]), 0


@batch_rule("expand")
def expand_rule(info: Any, in_dims: tuple, x: Any, size: Any, *, implicit: bool = False) -> tuple[Any, Any]:
    """Make room for the new dimensions behind the mapped one."""
    missing = len(size) - rank(x, in_dims[0])
    if missing < 0:
        raise RuntimeError(
            f"expand(): the number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions in "
            f"the tensor ({rank(x, in_dims[0])})"
        )
    if not all(n >= 0 for n in size[:missing]):
        raise RuntimeError(
            f"expand({list(size)}): the expanded size isn't allowed in a leading, non-existing dimension"
        )
    return F.expand(padded(x, in_dims[0], len(size)), [info.batch_size, *size], implicit=implicit), 0


@batch_rule("squeeze")
def squeeze_rule(info: Any, in_dims: tuple, x: Any) -> tuple[Any, Any]:
    """Leave the mapped dimension out, which may be of size 1 as well."""
    x = to_front(x, in_dims[0])
    return F.squeeze(x, list(range(1, x.ndim))), 0


@batch_rule("unsqueeze")
def unsqueeze_rule(info: Any, in_dims: tuple, x: Any, dim: int) -> tuple[Any, Any]:
    """Count the places of an example, of which there is one more than dimensions."""
    return F.unsqueeze(to_front(x, in_dims[0]), shifted(dim, rank(x, in_dims[0]) + 1)), 0


@batch_rule("unfold")
def unfold_rule(info: Any, in_dims: tuple, x: Any, dimension: int, size: int, step: int) -> tuple[Any, Any]:
    """Take the windows of each example; one without dimensions is a window itself."""
    example_rank = rank(x, in_dims[0])
    windows = F.unfold(one_element(to_front(x, in_dims[0])), shifted(dimension, example_rank), size, step)
    return windows if example_rank else F.select(windows, 1, 0), 0


# ---------------------------------------------------------------- gradients


def view_backward(op: Any) -> Rule:
    """Return the rule of a view's gradient, which gets the shape of what was viewed and which dimensions."""
    places = dim_places(op, _DIM_NAMES)

    def rule(info: Any, in_dims: tuple, grad: Any, input_sizes: Any, *args: Any) -> tuple[Any, Any]:
        values = [to_front(grad, in_dims[0]), [info.batch_size, *input_sizes], *args]
        for i in places:
            values[i] = shifted(values[i], len(input_sizes))
        return op.call(tuple(values), None), 0

    return rule


structure(view_backward, "select_backward", "slice_backward", "diagonal_backward")


@batch_rule("unfold_backward")
def unfold_backward_rule(
    info: Any, in_dims: tuple, grad: Any, input_sizes: Any, dim: int, size: int, step: int
) -> tuple[Any, Any]:
    """Add up the windows of each example; see `unfold_rule` for one without dimensions."""
    grad = to_front(grad, in_dims[0])
    if input_sizes:
        dim = shifted(dim, len(input_sizes))
        return F.unfold_backward(grad, [info.batch_size, *input_sizes], dim, size, step), 0
    return F.sum(grad, -1), 0


# ---------------------------------------------------------------- a view of which the values are others


def view_scatter(op: Any) -> Rule:
    """Return the rule of an operator that puts one tensor in place of a view of another."""
    places = dim_places(op, _DIM_NAMES)

    def rule(info: Any, in_dims: tuple, x: Any, src: Any, *args: Any) -> tuple[Any, Any]:
        example_rank, size = rank(x, in_dims[0]), info.batch_size
        values = with_defaults(op, (batched(x, in_dims[0], size), batched(src, in_dims[1], size), *args))
        for i in places:
            values[i] = shifted(values[i], example_rank)
        return op.call(tuple(values), None), 0

    return rule


structure(view_scatter, "select_scatter", "slice_scatter", "diagonal_scatter")
