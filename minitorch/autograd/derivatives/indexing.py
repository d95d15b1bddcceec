"""Derivatives of gathering, scattering, masking and joining."""

from __future__ import annotations

from minitorch.autograd.derivatives.registry import derivative
from minitorch.ops import functions as F
from minitorch.tensor.wrapper import has_values


def _zeros(grad, shape):
    return F.new_zeros(grad, list(shape))


def _grown(tensor, shape):
    """Return `tensor` with zeros after its end in each dimension, up to `shape`."""
    for d, n in enumerate(shape):
        missing = n - tensor.shape[d]
        if missing:
            filler = list(tensor.shape)
            filler[d] = missing
            tensor = F.cat([tensor, F.new_zeros(tensor, filler)], d)
    return tensor


# ---------------------------------------------------------------- along one dimension

def gather_sparse_backward(grad, shape, dim, index):
    """Return the gradient of what was gathered as a tensor of layout ``sparse_coo``, one value for each index."""
    if not len(shape):
        return F._sparse_coo_tensor_unsafe(F.new_zeros(index, [0, 1]), F.reshape(grad, [1]), [])
    places = list(F.unbind(F.nonzero(F.ones_like(index)), 1))
    places[dim] = F.reshape(index, [-1])
    return F._sparse_coo_tensor_unsafe(F.stack(places), F.reshape(grad, [-1]), list(shape))


derivative(
    "gather",
    self=lambda grad, self_shape, dim, index, sparse_grad: (
        gather_sparse_backward(grad, self_shape, dim, index)
        if sparse_grad
        else F.scatter_add(_zeros(grad, self_shape), dim, index, grad)
    ),
    result="linear",
)


def gathered(grad, dim, index, shape):
    """Return the gradient of a source of `shape` whose elements went where `index` says."""
    result = F.gather(grad, dim, index)
    if len(shape) == 0 or tuple(result.shape) == tuple(shape):
        return F.reshape(result, list(shape)) if result.dim() != len(shape) else result
    return _grown(result, shape)


derivative(
    "scatter.src",
    self=lambda grad, dim, index: F.scatter(grad, dim, index, 0),
    src=lambda grad, dim, index, src_shape: gathered(grad, dim, index, src_shape),
    result="linear",
)
derivative(
    "scatter.value",
    self=lambda grad, dim, index: F.scatter(grad, dim, index, 0),
    result=lambda self_t, dim, index: F.scatter(self_t, dim, index, 0),
)
derivative(
    "scatter_add",
    self=lambda grad: grad,
    src=lambda grad, dim, index, src_shape: gathered(grad, dim, index, src_shape),
    result="linear",
)


def reduce_backward(grad, self, source, result, reduce, include_self, take, put):
    """Return the gradients of self and source of scatter_reduce and index_reduce.

    Parameters
    ----------
    take : callable
        Return the elements of its argument that the index names, shaped like the source.
    put : callable
        ``put(target, values, how)``: combine values into the target where the index says.
    """
    if reduce == "sum":
        grad_self, grad_source = grad, take(grad)
    elif reduce == "mean":
        start = F.ones_like(grad) if include_self else F.zeros_like(grad)
        count = put(start, F.ones_like(source), "add")
        count = F.masked_fill(count, F.eq(count, 0), 1)
        grad_self, grad_source = grad / count, take(grad / count)
    elif reduce == "prod":
        own = F.masked_fill(self, F.eq(self, 0), 1)
        grad_self = grad * put(own, source, "prod") / own
        zero = F.eq(source, 0)
        zeros = take(put(F.zeros_like(self), zero.to(self.dtype), "add"))
        single = F.logical_and(zero, F.eq(zeros, 1))
        without = put(self, F.masked_fill(source, single, 1), "prod")
        others = take(grad * result) / F.masked_fill(source, zero, 1)
        grad_source = F.where(single, take(grad * without), others)
    else:
        value = take(result)
        own, theirs = F.eq(self, result), F.eq(source, value).to(self.dtype)
        start = own.to(self.dtype)
        if not include_self:
            start = put(start, F.zeros_like(source), "set")
        share = grad / put(start, theirs, "add")
        grad_self, grad_source = own * share, theirs * take(share)
    if not include_self:
        grad_self = put(grad_self, F.zeros_like(source), "set")
    return grad_self, grad_source


def scatter_reduce_backward(grad, self, dim, index, src, reduce, include_self, result):
    part = src
    if src.dim() and src.dim() == index.dim() and src.shape != index.shape:
        for d, n in enumerate(index.shape):
            part = F.narrow(part, d, 0, n)

    def take(tensor):
        return F.gather(tensor, dim, index)

    def put(target, values, how):
        if how == "set":
            return F.scatter(target, dim, index, values)
        if how == "add":
            return F.scatter_add(target, dim, index, values)
        return F.scatter_reduce(target, dim, index, values, how, include_self=include_self)

    grad_self, grad_src = reduce_backward(
        grad, self, part, result, reduce, include_self, take, put
    )
    if src.dim() == 0:
        return grad_self, F.reshape(grad_src, [])
    return grad_self, _grown(grad_src, src.shape)


derivative(
    "scatter_reduce.two",
    jointly={
        ("self", "src"): lambda grad, self, dim, index, src, reduce, include_self, result: (
            scatter_reduce_backward(grad, self, dim, index, src, reduce, include_self, result)
        )
    },
)


# ---------------------------------------------------------------- whole slices by position


def index_select_backward(grad, shape, dim, index):
    if len(shape) == 0:
        return grad
    return F.index_add(_zeros(grad, shape), dim, index, grad)


derivative(
    "index_select",
    self=lambda grad, self_shape, dim, index: index_select_backward(grad, self_shape, dim, index),
    result="linear",
)


def slices_backward(grad, dim, index, shape, alpha=1):
    """Return the gradient of the source of index_add and index_copy."""
    result = F.index_select(grad, dim, index)
    if result.dim() != len(shape):
        result = F.reshape(result, list(shape))
    return result if alpha == 1 else result * alpha


derivative(
    "index_add",
    self=lambda grad: grad,
    source=lambda grad, dim, index, source_shape, alpha: slices_backward(
        grad, dim, index, source_shape, alpha
    ),
    result="linear",
)
derivative(
    "index_copy",
    self=lambda grad, dim, index: F.index_fill(grad, dim, index, 0),
    source=lambda grad, dim, index, source_shape: slices_backward(grad, dim, index, source_shape),
    result="linear",
)
derivative(
    "index_fill.int_Scalar",
    self=lambda grad, dim, index: F.index_fill(grad, dim, index, 0),
    result=lambda self_t, dim, index: F.index_fill(self_t, dim, index, 0),
)


def index_fill_value_backward(grad, dim, index):
    """Sum what was filled; a position named twice counts once."""
    filled = F.index_fill(F.zeros_like(grad), dim, index, 1)
    return F.sum(grad * filled)


derivative(
    "index_fill.int_Tensor",
    self=lambda grad, dim, index: F.index_fill(grad, dim, index, 0),
    value=lambda grad, dim, index: index_fill_value_backward(grad, dim, index),
    result=lambda self_t, dim, index, value_t: F.index_fill(self_t, dim, index, value_t),
)


def index_reduce_backward(grad, self, dim, index, source, reduce, include_self, result):
    def take(tensor):
        return F.index_select(tensor, dim, index)

    def put(target, values, how):
        if how == "set":
            return F.index_copy(target, dim, index, values)
        if how == "add":
            return F.index_add(target, dim, index, values)
        return F.index_reduce(target, dim, index, values, how, include_self=include_self)

    return reduce_backward(grad, self, source, result, reduce, include_self, take, put)


derivative(
    "index_reduce",
    jointly={
        ("self", "source"): lambda grad, self, dim, index, source, reduce, include_self, result: (
            index_reduce_backward(grad, self, dim, index, source, reduce, include_self, result)
        )
    },
)


# ---------------------------------------------------------------- advanced indexing

derivative(
    "index.Tensor",
    self=lambda grad, self_shape, indices: F.index_put(
        _zeros(grad, self_shape), indices, grad, True
    ),
    result="linear",
)
derivative(
    "index_put",
    self=lambda grad, indices, accumulate: grad
    if accumulate
    else F.index_put(grad, indices, F.new_zeros(grad, []), False),
    values=lambda grad, indices: F.index(grad, indices),
    result="linear",
)
derivative(
    "take",
    self=lambda grad, self_shape, index: F.put(_zeros(grad, self_shape), index, grad, True),
    result="linear",
)
derivative(
    "put",
    self=lambda grad, index, source, accumulate: grad
    if accumulate
    else F.put(grad, index, F.zeros_like(source), False),
    source=lambda grad, index, source_shape: F.reshape(F.take(grad, index), list(source_shape)),
    result="linear",
)


# ---------------------------------------------------------------- masks

derivative(
    "masked_fill.Scalar",
    self=lambda grad, mask: F.masked_fill(grad, mask, 0),
    result=lambda self_t, mask: F.masked_fill(self_t, mask, 0),
)
derivative(
    "masked_fill.Tensor",
    self=lambda grad, mask: F.masked_fill(grad, mask, 0),
    value=lambda grad, mask: F.sum(F.where(mask, grad, 0)),
    result=lambda self_t, mask, value_t: F.masked_fill(self_t, mask, value_t),
)


def masked_select_backward(grad, shape, mask):
    common = _broadcast(shape, mask.shape)
    return F.masked_scatter(_zeros(grad, common), mask, grad)


def _broadcast(first, second):
    from minitorch.ops.shapes.common import broadcast_shapes

    return broadcast_shapes(tuple(first), tuple(second))


def masked_scatter_backward(grad, mask, shape):
    """Return the gradient of the source: what the mask took, and zeros for what was left."""
    count = 1
    for n in shape:
        count *= n
    if count and not has_values(mask):
        # How many the mask takes is not known, but where each comes from is.
        mask = F.reshape(F.expand(mask, list(grad.shape)), [-1])
        places = F.where(mask, F.cumsum(mask, 0) - 1, 0)
        taken = F.where(mask, F.reshape(grad, [-1]), 0)
        return F.reshape(F.index_add(F.new_zeros(grad, [count]), 0, places, taken), list(shape))
    taken = F.masked_select(grad, mask)
    return F.reshape(_grown(taken, [count]), list(shape))


derivative(
    "masked_select",
    self=lambda grad, self_shape, mask: masked_select_backward(grad, self_shape, mask),
    result="linear",
)
derivative(
    "masked_scatter",
    self=lambda grad, mask: F.masked_fill(grad, mask, 0),
    source=lambda grad, mask, source_shape: masked_scatter_backward(grad, mask, source_shape),
    result="linear",
)
derivative(
    "where.self",
    self=lambda grad, condition: F.where(condition, grad, 0),
    other=lambda grad, condition: F.where(condition, 0, grad),
    result="linear",
)
derivative("nonzero")


# ---------------------------------------------------------------- embedding

derivative(
    "embedding",
    weight=lambda grad, weight_shape, indices, padding_idx, scale_grad_by_freq, sparse: (
        F.embedding_sparse_backward(
            grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq
        )
        if sparse
        else F.embedding_dense_backward(
            grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq
        )
    ),
    result="linear",
)


def embedding_double_backward(grad, indices, padding_idx, scale_grad_by_freq):
    result = F.embedding(grad, indices)
    if padding_idx >= 0:
        result = F.masked_fill(result, F.unsqueeze(F.eq(indices, padding_idx), -1), 0)
    if scale_grad_by_freq:
        counts = F.bincount(F.reshape(indices, [-1]), minlength=grad.shape[0])
        result = result / F.unsqueeze(F.take(counts, indices.long()), -1)
    return result


derivative(
    "embedding_dense_backward",
    grad_output=lambda grad, indices, padding_idx, scale_grad_by_freq: embedding_double_backward(
        grad, indices, padding_idx, scale_grad_by_freq
    ),
    result="linear",
)
derivative("repeat_interleave.Tensor")


# ---------------------------------------------------------------- triangles, diagonals

derivative("tril", self=lambda grad, diagonal: F.tril(grad, diagonal), result="linear")
derivative("triu", self=lambda grad, diagonal: F.triu(grad, diagonal), result="linear")
derivative(
    "diag_embed",
    self=lambda grad, offset, dim1, dim2: F.diagonal(grad, offset, dim1, dim2),
    result="linear",
)
derivative(
    "diagonal_scatter",
    self=lambda grad, src, offset, dim1, dim2: F.diagonal_scatter(
        grad, F.zeros_like(src), offset, dim1, dim2
    ),
    src=lambda grad, offset, dim1, dim2: F.diagonal(grad, offset, dim1, dim2),
    result="linear",
)
derivative(
    "select_scatter",
    self=lambda grad, src, dim, index: F.select_scatter(grad, F.zeros_like(src), dim, index),
    src=lambda grad, dim, index: F.select(grad, dim, index),
    result="linear",
)
derivative(
    "slice_scatter",
    self=lambda grad, src, dim, start, end, step: F.slice_scatter(
        grad, F.zeros_like(src), dim, start, end, step
    ),
    src=lambda grad, dim, start, end, step: F.slice(grad, dim, start, end, step),
    result="linear",
)


# ---------------------------------------------------------------- turning, joining, repeating

derivative(
    "roll",
    self=lambda grad, shifts, dims: F.roll(grad, [-s for s in shifts], dims),
    result="linear",
)
derivative("flip", self=lambda grad, dims: F.flip(grad, dims), result="linear")


def cat_backward(grad, shapes, dim):
    parts, start = [], 0
    for shape in shapes:
        if tuple(shape) == (0,):
            parts.append(F.new_zeros(grad, [0]))
            continue
        length = shape[dim]
        parts.append(F.narrow(grad, dim, start, length))
        start += length
    return parts


derivative(
    "cat",
    tensors=lambda grad, tensors_shape, dim: cat_backward(grad, tensors_shape, dim),
    result="linear",
)
derivative("stack", tensors=lambda grad, dim: list(F.unbind(grad, dim)), result="linear")


def repeat_backward(grad, shape, repeats):
    """Sum over the copies: they are every other dimension of the reshaped gradient."""
    lead = len(repeats) - len(shape)
    if grad.numel() == 0:
        return _zeros(grad, shape)
    spread, copies = [], []
    for place, times in enumerate(repeats):
        copies.append(len(spread))
        spread.append(times)
        if place >= lead:
            spread.append(shape[place - lead])
    if not copies:
        return grad
    return F.sum(F.reshape(grad, spread), copies)


derivative(
    "repeat", self=lambda grad, self_shape, repeats: repeat_backward(grad, self_shape, repeats),
    result="linear",
)
