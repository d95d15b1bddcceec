"""Derivatives of views and copies: gradients go back through the inverse view."""

from __future__ import annotations

from minitorch.autograd.derivatives.registry import derivative
from minitorch.core.dtype import QUANTIZED, float32
from minitorch.ops import functions as F


def unsqueeze_to(grad, shape, dims=None):
    """Return `grad` with the dimensions of size 1 that a squeeze took out of `shape`."""
    ndim = len(shape)
    taken = range(ndim) if dims is None else sorted(d % ndim for d in dims) if ndim else ()
    for d in taken:
        if shape[d] == 1:
            grad = F.unsqueeze(grad, d)
    return grad


def _to_copy_grad(grad, self_dtype, self_device):
    # Of a quantized tensor the gradient is float32.
    return F.to(grad, self_device, float32 if self_dtype.category == QUANTIZED else self_dtype)


def inverse_permutation(dims):
    """Return the order that undoes ``permute(dims)``."""
    ndim = len(dims)
    inverse = [0] * ndim
    for i, d in enumerate(dims):
        inverse[d % ndim] = i
    return inverse


def split_backward(grads, shape, sizes, dim):
    """Return the gradients of the parts joined again, zeros where a part had none."""
    if all(g is None for g in grads):
        return None
    some = next(g for g in grads if g is not None)
    dim %= len(shape)
    parts = []
    for g, n in zip(grads, sizes, strict=True):
        if g is None:
            g = F.new_zeros(some, [*shape[:dim], n, *shape[dim + 1 :]])
        parts.append(g)
    return F.cat(parts, dim)


def equal_sizes(size, step):
    """Return the sizes of the parts that a dimension of `size` is split into."""
    return [size] if step == 0 else [min(step, size - start) for start in range(0, max(size, 1), step)]


def unbind_backward(grads, shape, dim):
    """Return the gradients of the slices stacked, zeros where a slice had none."""
    some = next((g for g in grads if g is not None), None)
    if some is None:
        return None
    dim %= len(shape)
    part = [*shape[:dim], *shape[dim + 1 :]]
    return F.stack([F.new_zeros(some, part) if g is None else g for g in grads], dim)


def as_strided_backward(grad, input_handle, size, stride, storage_offset):
    """Return the gradient of ``as_strided``: summed per place in memory, read back in the input's geometry.

    Elements of the output that share a place add up.  Elements of the input that share a
    place each get an equal part, so that a second pass agrees.
    """
    shape, in_stride, in_offset = input_handle
    offset = in_offset if storage_offset is None else storage_offset
    places = _places(grad, size, stride, offset)
    here = _places(grad, shape, in_stride, in_offset)
    extent = max(_extent(size, stride, offset), _extent(shape, in_stride, in_offset), 1)
    flat = F.new_zeros(grad, [extent])
    flat = F.index_add(flat, 0, F.reshape(places, [-1]), F.reshape(grad, [-1]))
    if here.numel() == 0:
        return F.new_zeros(grad, list(shape))
    counts = F.index_add(F.new_zeros(grad, [extent]), 0, F.reshape(here, [-1]), F.new_ones(grad, [here.numel()]))
    flat = flat / F.clamp_min(F.real(counts), 1)
    return F.reshape(F.index_select(flat, 0, F.reshape(here, [-1])), list(shape))


def _extent(size, stride, offset):
    """Return how many places of the storage come before the end of a strided view."""
    return 0 if 0 in size else 1 + offset + sum([(n - 1) * step for n, step in zip(size, stride, strict=True)])


def _places(like, size, stride, offset):
    """Return the place in storage of each element of a strided view, an integer tensor of shape `size`."""
    from minitorch.core.dtype import int64

    places = F.full([1] * len(size), offset, dtype=int64, device=like.device)
    for d, (n, step) in enumerate(zip(size, stride, strict=True)):
        steps = F.arange(0, n, dtype=int64, device=like.device) * step
        places = places + F.reshape(steps, [n if i == d else 1 for i in range(len(size))])
    return F.expand(places, list(size)) if size else places


derivative("view", self=lambda grad, self_shape: F.reshape(grad, self_shape), result="linear")
derivative("_unsafe_view", self=lambda grad, self_shape: F.reshape(grad, self_shape), result="linear")
derivative("view.dtype")
derivative("transpose.int", self=lambda grad, dim0, dim1: F.transpose(grad, dim0, dim1), result="linear")
derivative("t", self=lambda grad: F.t(grad), result="linear")
derivative("permute", self=lambda grad, dims: F.permute(grad, inverse_permutation(dims)), result="linear")
derivative("expand", self=lambda grad: grad, result="linear")  # the caller sums broadcast dimensions
derivative("squeeze", self=lambda grad, self_shape: unsqueeze_to(grad, self_shape), result="linear")
derivative("squeeze.dim", self=lambda grad, self_shape, dim: unsqueeze_to(grad, self_shape, [dim]), result="linear")
derivative("squeeze.dims", self=lambda grad, self_shape, dim: unsqueeze_to(grad, self_shape, dim), result="linear")
derivative(
    "unsqueeze",
    self=lambda grad, dim: F.squeeze(grad, dim),
    result="linear",
)
derivative(
    "select.int",
    self=lambda grad, self_shape, dim, index: F.select_backward(grad, self_shape, dim, index),
    result="linear",
)
derivative(
    "slice.Tensor",
    self=lambda grad, self_shape, dim, start, end, step: F.slice_backward(grad, self_shape, dim, start, end, step),
    result="linear",
)
derivative(
    "split.Tensor",
    self=lambda grads, self_shape, split_size, dim: split_backward(
        grads, self_shape, equal_sizes(self_shape[dim], split_size), dim
    ),
    result="linear",
)
derivative(
    "split_with_sizes",
    self=lambda grads, self_shape, split_sizes, dim: split_backward(grads, self_shape, split_sizes, dim),
    result="linear",
)
derivative("unbind.int", self=lambda grads, self_shape, dim: unbind_backward(grads, self_shape, dim), result="linear")
derivative(
    "diagonal",
    self=lambda grad, self_shape, offset, dim1, dim2: F.diagonal_backward(grad, self_shape, offset, dim1, dim2),
    result="linear",
)
derivative(
    "unfold",
    self=lambda grad, self_shape, dimension, size, step: F.unfold_backward(grad, self_shape, dimension, size, step),
    result="linear",
)
derivative(
    "as_strided",
    self=lambda grad, self_geometry, size, stride, storage_offset: as_strided_backward(
        grad, self_geometry, size, stride, storage_offset
    ),
    result="linear",
)
derivative("detach")
derivative("alias", self=lambda grad: grad, result="linear")
derivative("_conj", self=lambda grad: grad.conj(), result="linear")
derivative("_neg_view", self=lambda grad: F.neg(grad), result="linear")
derivative("_conj_physical", self=lambda grad: grad.conj_physical(), result="linear")
derivative("view_as_real", self=lambda grad: F.view_as_complex(F.contiguous(grad)), result="linear")
derivative("view_as_complex", self=lambda grad: F.view_as_real(F.resolve_conj(grad)), result="linear")

derivative("clone", self=lambda grad: grad, result="linear")
derivative("_to_copy", self=_to_copy_grad, result="linear")
derivative("copy_", src=lambda grad: grad, self=lambda grad: F.zeros_like(grad), result=lambda src_t: src_t)
derivative("fill.Scalar", self=lambda grad: F.zeros_like(grad), result="zero")
derivative(
    "fill.Tensor", self=lambda grad: F.zeros_like(grad), value=lambda grad: F.sum(grad), result=lambda value_t: value_t
)
derivative("zero_", self=lambda grad: F.zeros_like(grad), result="zero")
derivative("copy", src=lambda grad: grad, self=lambda grad: F.zeros_like(grad), result=lambda src_t: src_t)
derivative("zero", self=lambda grad: F.zeros_like(grad), result="zero")
derivative("lift_fresh", self=lambda grad: grad, result="linear")
derivative("lift_fresh_copy", self=lambda grad: grad, result="linear")

derivative("select_backward", grad_output=lambda grad, dim, index: F.select(grad, dim, index), result="linear")
derivative(
    "slice_backward",
    grad_output=lambda grad, dim, start, end, step: F.slice(grad, dim, start, end, step),
    result="linear",
)
derivative(
    "diagonal_backward",
    grad_output=lambda grad, offset, dim1, dim2: F.diagonal(grad, offset, dim1, dim2),
    result="linear",
)
derivative(
    "unfold_backward",
    grad_in=lambda grad, dim, size, step: F.unfold(grad, dim, size, step),
    result="linear",
)
