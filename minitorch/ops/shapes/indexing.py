"""Shapes, types and argument errors of gathering, scattering, masking and joining."""

from __future__ import annotations

from minitorch.core.memory_format import channels_last, channels_last_3d, format_strides, iteration_axes
from minitorch.core.promotion import result_type
from minitorch.ops.shapes.common import (
    MetaArray,
    broadcast_shapes,
    check,
    is_contiguous,
    keeps_format,
    normalize_dim,
)
from minitorch.ops.shapes.pointwise import elementwise_strides
from minitorch.ops.shapes.reductions import INT64, word
from minitorch.ops.shapes.registry import shape
from minitorch.ops.shapes.sorting import dense_strides, dynamic


def same_order(array) -> MetaArray:
    """Return what a gapless copy of `array` is."""
    return MetaArray(array.shape, array.dtype, dense_strides(array))


def sizes(array) -> list:
    return list(array.shape)


def _integer_index(index, name: str, argument: str = "index") -> None:
    check(
        index.dtype.char in "lqi",
        f"{name}(): Expected dtype int32/int64 for {argument}, got {word(index.dtype)}; "
        "convert with .long()",
    )


def _same_dtype(self, source, name: str, argument: str) -> None:
    check(
        self.dtype == source.dtype,
        f"{name}(): Expected self.dtype to be equal to {argument}.dtype, got {word(self.dtype)} "
        f"and {word(source.dtype)}",
    )


def _one_dim(array) -> tuple:
    return tuple(array.shape) or (1,)


def _gather_checks(self, dim, index, name, source=None):
    dim = normalize_dim(dim, self.ndim, name)
    if index.size == 0:
        return
    _integer_index(index, name)
    own, wanted = _one_dim(self), _one_dim(index)
    check(
        len(own) == len(wanted),
        f"{name}(): Index tensor must have the same number of dimensions as input tensor, got "
        f"{index.ndim} and {self.ndim}",
    )
    fits = all(d == dim or n <= own[d] for d, n in enumerate(wanted))
    if source is None:
        check(
            fits,
            f"{name}(): Size does not match: expected index {sizes(index)} to be no larger than "
            f"self {sizes(self)} apart from dimension {dim}",
        )
        return
    given = _one_dim(source)
    check(
        len(given) == len(wanted),
        f"{name}(): Index tensor must have the same number of dimensions as src tensor, got "
        f"{index.ndim} and {source.ndim}",
    )
    check(
        fits and all(n <= given[d] for d, n in enumerate(wanted)),
        f"{name}(): Expected index {sizes(index)} to be no larger than self {sizes(self)} apart "
        f"from dimension {dim} and to be no larger size than src {sizes(source)}",
    )


@shape("gather")
def gather_shape(self, dim, index, *, sparse_grad=False):
    _gather_checks(self, dim, index, "gather")
    return MetaArray(index.shape, self.dtype)


def _scatter_shape(self, dim, index, src, name):
    _gather_checks(self, dim, index, name, src if hasattr(src, "dtype") else None)
    if hasattr(src, "dtype"):
        _same_dtype(self, src, name, "src")
    return MetaArray(self.shape, self.dtype)


@shape("scatter.src", "scatter_.src")
def scatter_shape(self, dim, index, src):
    return _scatter_shape(self, dim, index, src, "scatter")


@shape("scatter.value", "scatter_.value")
def scatter_value_shape(self, dim, index, value):
    return _scatter_shape(self, dim, index, value, "scatter")


@shape("scatter_add", "scatter_add_")
def scatter_add_shape(self, dim, index, src):
    return _scatter_shape(self, dim, index, src, "scatter_add")


@shape("scatter.reduce", "scatter.value_reduce")
def scatter_with_reduce_shape(self, dim, index, src, *, reduce):
    check(
        reduce in ("add", "multiply"),
        f"scatter(): reduce argument must be either add or multiply, got {reduce!r}",
    )
    return _scatter_shape(self, dim, index, src, "scatter")


@shape("scatter_reduce.two")
def scatter_reduce_shape(self, dim, index, src, reduce, *, include_self=True):
    check(
        reduce in ("sum", "prod", "mean", "amax", "amin"),
        "scatter_reduce(): reduce argument must be either sum, prod, mean, amax or amin, got "
        f"{reduce}",
    )
    check(
        self.dtype.kind != "c" or reduce not in ("amax", "amin"),
        f"scatter_reduce(): {reduce} is not implemented for {word(self.dtype)}",
        NotImplementedError,
    )
    return _scatter_shape(self, dim, index, src, "scatter_reduce")


# ---------------------------------------------------------------- whole slices by position


def _vector_index(self, dim, index, name, error=IndexError):
    dim = normalize_dim(dim, self.ndim, name)
    check(
        index.ndim <= 1,
        f"{name}(): Index is supposed to be a vector, got shape {sizes(index)}",
        error,
    )
    return dim


@shape("index_select")
def index_select_shape(self, dim, index):
    dim = _vector_index(self, dim, index, "index_select")
    _integer_index(index, "index_select")
    if self.ndim == 0:
        check(
            index.size == 1,
            "index_select(): Index to scalar can have only 1 value, got "
            f"{index.size} value(s)",
        )
        return MetaArray((), self.dtype)
    result = list(self.shape)
    result[dim] = index.size
    return MetaArray(result, self.dtype)


def _slices_match(self, dim, index, source, name, error=RuntimeError):
    if self.ndim == 0 or source.ndim == 0:
        check(
            source.size == 1 and index.size == 1,
            f"{name}(): a scalar takes one index and one value, got {index.size} and "
            f"{source.size}",
            error,
        )
        check(
            self.ndim <= 1,
            f"{name}(): source tensor shape must match self tensor shape, excluding the "
            f"specified dimension. Got self.shape = {sizes(self)} source.shape = "
            f"{sizes(source)}",
        )
        return
    check(
        self.ndim == source.ndim
        and tuple(self.shape[:dim]) == tuple(source.shape[:dim])
        and tuple(self.shape[dim + 1 :]) == tuple(source.shape[dim + 1 :]),
        f"{name}(): source tensor shape must match self tensor shape, excluding the specified "
        f"dimension {dim}. Got self.shape = {sizes(self)} source.shape = {sizes(source)}",
        error,
    )
    check(
        index.size == source.shape[dim],
        f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): "
        f"({source.shape[dim]}), for dim: {dim}",
        error,
    )


@shape("index_add", "index_add_")
def index_add_shape(self, dim, index, source, *, alpha=1):
    dim = _vector_index(self, dim, index, "index_add")
    _integer_index(index, "index_add")
    check(
        self.dtype == source.dtype,
        f"index_add(): self ({word(self.dtype)}) and source ({word(source.dtype)}) must have the "
        "same scalar type",
    )
    _slices_match(self, dim, index, source, "index_add")
    return MetaArray(self.shape, self.dtype)


@shape("index_reduce")
def index_reduce_shape(self, dim, index, source, reduce, *, include_self=True):
    dim = _vector_index(self, dim, index, "index_reduce")
    _integer_index(index, "index_reduce")
    check(
        reduce in ("prod", "mean", "amax", "amin"),
        "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
        f"{reduce}.",
    )
    check(
        self.dtype == source.dtype,
        "index_reduce(): self and source must have the same scalar type",
    )
    check(
        self.dtype.kind != "c" or reduce not in ("amax", "amin"),
        f"index_reduce(): {reduce} is not implemented for {word(self.dtype)}",
        NotImplementedError,
    )
    _slices_match(self, dim, index, source, "index_reduce")
    return MetaArray(self.shape, self.dtype)


@shape("index_copy", "index_copy_")
def index_copy_shape(self, dim, index, source):
    dim = _vector_index(self, dim, index, "index_copy")
    check(
        index.dtype == INT64,
        f"index_copy(): Expected a long tensor for index, but got {word(index.dtype)}",
    )
    check(
        self.dtype == source.dtype,
        "index_copy(): self and source expected to have the same dtype, but got (self) "
        f"{word(self.dtype)} and (source) {word(source.dtype)}",
    )
    check(
        self.ndim == source.ndim or self.ndim == 0 or source.ndim == 0,
        "index_copy(): When source and destination are not scalars, their dimensionality must "
        f"match. Source dimensionality ({source.ndim}), destination dimensionality ({self.ndim})",
        IndexError,
    )
    _slices_match(self, dim, index, source, "index_copy")
    return MetaArray(self.shape, self.dtype)


def _number_fits(self, value, name):
    check(
        not isinstance(value, complex) or self.dtype.kind == "c",
        f"{name}(): Converting complex Scalar to non-complex type is not supported",
    )


@shape(
    "index_fill.int_Scalar", "index_fill.int_Tensor", "index_fill_.int_Scalar",
    "index_fill_.int_Tensor",
)  # fmt: skip
def index_fill_shape(self, dim, index, value):
    _vector_index(self, dim, index, "index_fill", RuntimeError)
    check(
        index.dtype == INT64,
        f"index_fill(): Expected dtype int64 for index, got {word(index.dtype)}",
        IndexError,
    )
    if hasattr(value, "dtype"):
        check(
            value.ndim == 0,
            "index_fill(): only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s).",
        )
    else:
        _number_fits(self, value, "index_fill")
    return same_order(self)


# ---------------------------------------------------------------- advanced indexing


def index_result_shape(self, indices, name: str = "index"):
    """Return the shape that advanced indexing gives; masks must hold values.

    The dimensions of the broadcast indices replace the indexed ones where these are adjacent,
    and come first where they are not.
    """
    check(len(indices) > 0, f"{name}(): at least one index must be provided", IndexError)
    own = tuple(self.shape)
    dim = 0
    covered = []  # (first dim, how many, shape of the index)
    for place, index in enumerate(indices):
        if index is None:
            dim += 1
            continue
        code = index.dtype.char
        check(
            code in "lqiB?",
            f"{name}(): tensors used as indices must be long, int, byte or bool tensors, got "
            f"{word(index.dtype)}",
            IndexError,
        )
        if code in "B?":
            for d in range(index.ndim):
                check(
                    dim + d < len(own) and index.shape[d] == own[dim + d],
                    f"{name}(): The shape of the mask {sizes(index)} at index {d} does not match "
                    f"the shape of the indexed tensor {sizes(self)} at index {dim + d}",
                    IndexError,
                )
            if not hasattr(index, "__array__"):
                dynamic(name)
            covered.append((dim, index.ndim, (int((index != 0).sum()),)))
            dim += index.ndim
        else:
            covered.append((dim, 1, tuple(index.shape)))
            dim += 1
        check(
            dim <= len(own),
            f"{name}(): too many indices for tensor of dimension {len(own)} (got {place + 1})",
            IndexError,
        )
    check(
        dim <= len(own),
        f"{name}(): too many indices for tensor of dimension {len(own)} (got {len(indices)})",
        IndexError,
    )
    if not covered:
        return own
    try:
        common = broadcast_shapes(*(s for _, _, s in covered))
    except RuntimeError:
        shapes = ", ".join(str(list(s)) for _, _, s in covered)
        raise IndexError(
            f"{name}(): shape mismatch: indexing tensors could not be broadcast together with "
            f"shapes {shapes}"
        ) from None
    gone = {d for start, count, _ in covered for d in range(start, start + count)}
    rest = [n for d, n in enumerate(own) if d not in gone]
    first = covered[0][0]
    end = first
    adjacent = True
    for start, count, _ in covered:
        adjacent = adjacent and start == end
        end = start + count
    if not adjacent:
        return (*common, *rest)
    return (*own[:first], *common, *own[end:])


def _check_positions(self, indices, name):
    """Raise for positions out of range where values are known."""
    dim = 0
    for index in indices:
        if index is None or index.dtype.char in "B?":
            dim += 1 if index is None else index.ndim
            continue
        if hasattr(index, "__array__"):
            bound = self.shape[dim]
            for position in index.reshape(-1).tolist():
                check(
                    -bound <= position < bound,
                    f"{name}(): index {position} is out of bounds for dimension {dim} with size "
                    f"{bound}",
                    IndexError,
                )
        dim += 1


def rows_strides(self, index_ndim, result_shape) -> tuple:
    """Return the strides of rows that an integer tensor picks: each row lies in memory as `self` does."""
    shape_ = tuple(result_shape)
    strides = [0] * len(shape_)
    step = self.itemsize
    for axis in reversed(iteration_axes(shape_, (0,) * index_ndim + tuple(self.strides[1:]))):
        strides[axis] = step
        step *= max(shape_[axis], 1)
    return tuple(strides)


@shape("index.Tensor")
def index_shape(self, indices):
    result = index_result_shape(self, indices)
    _check_positions(self, indices, "index")
    if len(indices) == 1 and self.ndim > 2 and indices[0] is not None and indices[0].dtype.char in "lqi":
        return MetaArray(result, self.dtype, rows_strides(self, indices[0].ndim, result))
    return MetaArray(result, self.dtype)


@shape("index_put", "index_put_")
def index_put_shape(self, indices, values, accumulate=False):
    check(
        self.dtype == values.dtype,
        "index_put(): requires the source and destination dtypes match, got "
        f"{word(self.dtype)} for the destination and {word(values.dtype)} for the source.",
    )
    if all(i is None or i.dtype.char not in "B?" or hasattr(i, "__array__") for i in indices):
        target = index_result_shape(self, indices, "index_put")
        try:
            fits = broadcast_shapes(target, values.shape) == tuple(target)
        except RuntimeError:
            fits = False
        check(
            fits,
            f"index_put(): shape mismatch: value tensor of shape {sizes(values)} cannot be "
            f"broadcast to indexing result of shape {list(target)}",
        )
        _check_positions(self, indices, "index_put")
    return same_order(self)


def _long_index(index, name):
    check(
        index.dtype == INT64,
        f"{name}(): Expected a long tensor for index, but got {word(index.dtype)}",
    )


@shape("take")
def take_shape(self, index):
    _long_index(index, "take")
    check(
        index.size == 0 or self.size > 0,
        "take(): tried to take from an empty tensor",
        IndexError,
    )
    return MetaArray(index.shape, self.dtype)


@shape("put", "put_")
def put_shape(self, index, source, accumulate=False):
    _long_index(index, "put_")
    check(
        self.dtype == source.dtype,
        "put_(): self and source expected to have the same dtype, but got self.dtype = "
        f"{word(self.dtype)} and source.dtype = {word(source.dtype)}",
    )
    check(
        index.size == source.size,
        "put_(): Expected source and index to have the same number of elements, but got "
        f"source.numel() = {source.size}, index.numel() = {index.size}",
        IndexError,
    )
    return same_order(self)


# ---------------------------------------------------------------- masks


def _mask(mask, name):
    check(
        mask.dtype.kind == "b",
        f"{name}(): only supports boolean masks, but got mask with dtype {word(mask.dtype)}; "
        "convert with .bool()",
    )


def _fill_checks(self, mask, value):
    _mask(mask, "masked_fill")
    if hasattr(value, "dtype"):
        check(
            value.ndim == 0,
            "masked_fill(): only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s).",
        )
        check(
            value.dtype.kind != "c" or self.dtype.kind == "c",
            f"masked_fill(): a value of type {word(value.dtype)} cannot be converted to "
            f"{word(self.dtype)}",
        )
        return
    kind = self.dtype.kind
    number = value.real if isinstance(value, complex) else value
    fits = kind == "c" or not isinstance(value, complex)
    if fits and kind in "iu":
        import numpy as np

        limits = np.iinfo(self.dtype)
        low = -limits.max if kind == "u" else limits.min
        fits = number == number and low <= number <= limits.max
    elif fits and kind == "f":
        import numpy as np

        fits = not np.finfo(self.dtype).max < abs(number) < float("inf")
    check(
        fits,
        f"masked_fill(): value {value} cannot be converted to type {word(self.dtype)} without "
        "overflow",
    )


@shape("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill_shape(self, mask, value):
    _fill_checks(self, mask, value)
    return MetaArray(broadcast_shapes(self.shape, mask.shape), self.dtype)


def _inplace_mask(self, mask):
    check(
        broadcast_shapes(self.shape, mask.shape) == tuple(self.shape),
        f"output with shape {sizes(self)} doesn't match the broadcast shape "
        f"{list(broadcast_shapes(self.shape, mask.shape))}",
    )
    return MetaArray(self.shape, self.dtype, self.strides)


@shape("masked_fill_.Scalar", "masked_fill_.Tensor")
def masked_fill_inplace_shape(self, mask, value):
    _fill_checks(self, mask, value)
    return _inplace_mask(self, mask)


@shape("masked_select")
def masked_select_shape(self, mask):
    _mask(mask, "masked_select")
    broadcast_shapes(self.shape, mask.shape)
    dynamic("masked_select")


def _masked_scatter_checks(self, mask, source):
    _mask(mask, "masked_scatter")
    check(
        self.dtype == source.dtype,
        "masked_scatter(): expected self and source to have same dtypes but got "
        f"{word(self.dtype)} and {word(source.dtype)}",
    )


@shape("masked_scatter")
def masked_scatter_shape(self, mask, source):
    _masked_scatter_checks(self, mask, source)
    return MetaArray(broadcast_shapes(self.shape, mask.shape), self.dtype)


@shape("masked_scatter_")
def masked_scatter_inplace_shape(self, mask, source):
    _masked_scatter_checks(self, mask, source)
    return _inplace_mask(self, mask)


@shape("nonzero")
def nonzero_shape(self):
    dynamic("nonzero")


@shape("where.self")
def where_shape(condition, self, other):
    check(
        condition.dtype.char in "?B",
        "where(): expected condition to be a boolean tensor, but got a tensor with dtype "
        f"{word(condition.dtype)}",
    )
    dtype = result_type(self, other)
    result = broadcast_shapes(condition.shape, self.shape, other.shape)
    return MetaArray(
        result, dtype, elementwise_strides(result, (condition, self, other), dtype.itemsize)
    )


# ---------------------------------------------------------------- embedding


@shape("embedding")
def embedding_shape(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    check(
        weight.ndim == 2, f"embedding(): 'weight' must be 2-D, got shape {tuple(weight.shape)}"
    )
    check(
        indices.dtype.char in "lqi",
        "embedding(): Expected tensor for argument 'indices' to have one of the following scalar "
        f"types: Long, Int; but got {word(indices.dtype)} instead",
    )
    return MetaArray((*indices.shape, *weight.shape[1:]), weight.dtype)


@shape("embedding_dense_backward")
def embedding_dense_backward_shape(
    grad_output, indices, num_weights, padding_idx, scale_grad_by_freq
):
    return MetaArray((num_weights, grad_output.shape[-1]), grad_output.dtype)


@shape("repeat_interleave.Tensor")
def repeat_interleave_shape(repeats, *, output_size=None):
    check(
        repeats.ndim == 1,
        "repeat_interleave(): only accepts 1D vector as repeat, got shape "
        f"{tuple(repeats.shape)}",
    )
    check(
        repeats.dtype.char in "lqi",
        f"repeat_interleave(): repeats has to be Long or Int tensor, got {word(repeats.dtype)}",
    )
    if output_size is None:
        dynamic("repeat_interleave")
    return MetaArray((output_size,), repeats.dtype)


# ---------------------------------------------------------------- triangles, diagonals


@shape("tril", "triu")
def triangle_shape(self, diagonal=0):
    check(
        self.ndim >= 2,
        "tril() and triu(): input tensor must have at least 2 dimensions, got shape "
        f"{tuple(self.shape)}",
    )
    return MetaArray(self.shape, self.dtype)


@shape("diag_embed")
def diag_embed_shape(self, offset=0, dim1=-2, dim2=-1):
    ndim = self.ndim + 1
    first = normalize_dim(dim1, ndim, "diag_embed")
    second = normalize_dim(dim2, ndim, "diag_embed")
    check(
        first != second,
        f"diag_embed(): diagonal dimensions cannot be identical {dim1}, {dim2}",
    )
    check(self.ndim > 0, "diag_embed(): input must have at least one dimension", IndexError)
    size = self.shape[-1] + abs(offset)
    result = list(self.shape[:-1])
    for d in sorted((first, second)):
        result.insert(d, size)
    return MetaArray(result, self.dtype)


def _same_slice(expected, src, name):
    check(
        tuple(expected) == tuple(src.shape),
        f"{name}(): expected src to have a size equal to the slice of self. src size = "
        f"{sizes(src)}, slice size = {list(expected)}",
    )


@shape("diagonal_scatter")
def diagonal_scatter_shape(self, src, offset=0, dim1=0, dim2=1):
    first = normalize_dim(dim1, self.ndim, "diagonal_scatter")
    second = normalize_dim(dim2, self.ndim, "diagonal_scatter")
    check(first != second, "diagonal_scatter(): diagonal dimensions cannot be identical")
    rows, columns = self.shape[first], self.shape[second]
    length = min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns)
    rest = [n for d, n in enumerate(self.shape) if d not in (first, second)]
    _same_slice((*rest, max(length, 0)), src, "diagonal_scatter")
    return same_order(self)


@shape("select_scatter")
def select_scatter_shape(self, src, dim, index):
    dim = normalize_dim(dim, self.ndim, "select_scatter")
    check(
        -self.shape[dim] <= index < self.shape[dim],
        f"select_scatter(): index {index} out of range for tensor of size {sizes(self)} at "
        f"dimension {dim}",
        IndexError,
    )
    _same_slice([n for d, n in enumerate(self.shape) if d != dim], src, "select_scatter")
    return same_order(self)


@shape("slice_scatter")
def slice_scatter_shape(self, src, dim=0, start=None, end=None, step=1):
    dim = normalize_dim(dim, self.ndim, "slice_scatter")
    check(step > 0, f"slice_scatter(): step must be positive, got {step}")
    expected = list(self.shape)
    expected[dim] = len(range(*slice(start, end, step).indices(self.shape[dim])))
    _same_slice(expected, src, "slice_scatter")
    return same_order(self)


# ---------------------------------------------------------------- turning, joining, repeating


@shape("roll")
@keeps_format
def roll_shape(self, shifts, dims=()):
    if dims or len(shifts) != 1:
        check(
            len(shifts) == len(dims) and len(shifts) > 0,
            f"roll(): shifts and dimensions must align. shifts: {len(shifts)}, dims:"
            f"{len(dims)}",
        )
    for dim in dims:
        check(
            self.ndim > 0,
            f"roll(): Dimension specified as {dim} but tensor has no dimensions",
            IndexError,
        )
        normalize_dim(dim, self.ndim, "roll")
    return MetaArray(self.shape, self.dtype)


@shape("flip")
def flip_shape(self, dims):
    seen = [normalize_dim(dim, self.ndim, "flip") for dim in dims]
    for dim in seen:
        check(
            seen.count(dim) == 1, f"flip(): dim {dim} appears multiple times in the list of dims"
        )
    return MetaArray(self.shape, self.dtype, elementwise_strides(self.shape, (self,), self.dtype.itemsize))


def joined_strides(shape, tensors, itemsize: int):
    """Return the byte strides of joined tensors: channels last if all are, else None (row-major)."""
    fmt = {4: channels_last, 5: channels_last_3d}.get(len(shape))
    if fmt is None or any(is_contiguous(t) for t in tensors):
        return None
    for tensor in tensors:
        if tuple(tensor.strides) != format_strides(tensor.shape, tensor.dtype.itemsize, fmt):
            return None
    return format_strides(tuple(shape), itemsize, fmt)


@shape("cat")
def cat_shape(tensors, dim=0):
    check(len(tensors) > 0, "cat(): expected a non-empty list of Tensors", ValueError)
    for place, tensor in enumerate(tensors):
        check(
            tensor.ndim > 0,
            f"cat(): zero-dimensional tensor (at position {place}) cannot be concatenated; use "
            "stack instead",
        )
    dtype = result_type(*tensors)
    kept = [t for t in tensors if tuple(t.shape) != (0,)]
    if not kept:
        normalize_dim(dim, 1, "cat")
        return MetaArray((0,), dtype)
    first = kept[0]
    dim = normalize_dim(dim, first.ndim, "cat")
    total = 0
    for place, tensor in enumerate(kept):
        check(
            tensor.ndim == first.ndim,
            f"cat(): Tensors must have same number of dimensions: got {first.ndim} and "
            f"{tensor.ndim}",
        )
        for d in range(first.ndim):
            check(
                d == dim or tensor.shape[d] == first.shape[d],
                f"cat(): Sizes of tensors must match except in dimension {dim}. Expected size "
                f"{first.shape[d]} but got size {tensor.shape[d]} for tensor number {place} in "
                "the list.",
            )
        total += tensor.shape[dim]
    result = list(first.shape)
    result[dim] = total
    return MetaArray(result, dtype, joined_strides(result, kept, dtype.itemsize))


@shape("stack")
def stack_shape(tensors, dim=0):
    check(len(tensors) > 0, "stack(): expects a non-empty TensorList")
    first = tensors[0]
    dim = normalize_dim(dim, first.ndim + 1, "stack")
    for place, tensor in enumerate(tensors):
        check(
            tuple(tensor.shape) == tuple(first.shape),
            f"stack(): expects each tensor to be equal size, but got {sizes(first)} at entry 0 "
            f"and {sizes(tensor)} at entry {place}",
        )
    own = tuple(first.shape)
    return MetaArray((*own[:dim], len(tensors), *own[dim:]), result_type(*tensors))


@shape("repeat")
def repeat_shape(self, repeats):
    lead = len(repeats) - self.ndim
    check(
        lead >= 0,
        "repeat(): Number of dimensions of repeat dims can not be smaller than number of "
        f"dimensions of tensor: {len(repeats)} < {self.ndim}",
    )
    for n in repeats:
        check(n >= 0, f"repeat(): Repeats cannot be negative, got {list(repeats)}")
    own = (1,) * lead + tuple(self.shape)
    return MetaArray([n * r for n, r in zip(own, repeats, strict=True)], self.dtype)
