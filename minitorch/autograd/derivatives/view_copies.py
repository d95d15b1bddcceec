"""Derivatives of the copies of views: those of the views themselves."""

from __future__ import annotations

from minitorch.autograd.derivatives import views  # noqa: F401 - its table is read below
from minitorch.autograd.derivatives.registry import DERIVATIVES, derivative
from minitorch.core.meta_array import contiguous_strides
from minitorch.ops import functions as F

for copy, view in {
    "_conj_copy": "_conj",
    "_neg_view_copy": "_neg_view",
    "alias_copy": "alias",
    "as_strided_copy": "as_strided",
    "detach_copy": "detach",
    "diagonal_copy": "diagonal",
    "expand_copy": "expand",
    "permute_copy": "permute",
    "select_copy.int": "select.int",
    "slice_copy.Tensor": "slice.Tensor",
    "split_copy.Tensor": "split.Tensor",
    "split_with_sizes_copy": "split_with_sizes",
    "squeeze_copy": "squeeze",
    "squeeze_copy.dim": "squeeze.dim",
    "squeeze_copy.dims": "squeeze.dims",
    "t_copy": "t",
    "transpose_copy.int": "transpose.int",
    "unbind_copy.int": "unbind.int",
    "unfold_copy": "unfold",
    "unsqueeze_copy": "unsqueeze",
    "view_as_complex_copy": "view_as_complex",
    "view_as_real_copy": "view_as_real",
    "view_copy": "view",
    "view_copy.dtype": "view.dtype",
}.items():
    derivative(copy, result=DERIVATIVES[view].forward, **DERIVATIVES[view].formulas)


def _memory(grad, geometry, size, stride, storage_offset):
    """Return a gradient as it lies in the memory of the result, how it lies there, and where `src` was put."""
    shape, steps, offset = geometry
    if any(n > 1 and step == 0 for n, step in zip(shape, steps, strict=True)):
        steps, offset = contiguous_strides(shape, 1), 0  # what overlaps is copied first
    place = (list(size), list(stride), offset if storage_offset is None else storage_offset)
    own = (list(shape), list(steps), offset)
    extent = max(at + 1 + sum([(n - 1) * step for n, step in zip(sizes, by, strict=True)]) for sizes, by, at in (own, place))
    return F.as_strided_scatter(F.new_zeros(grad, [extent]), grad, *own), own, place


def _gradient_of_self(grad, src_shape, self_geometry, size, stride, storage_offset):
    memory, own, place = _memory(grad, self_geometry, size, stride, storage_offset)
    zeros = F.zeros(list(src_shape), dtype=grad.dtype, device=grad.device)
    return F.as_strided(F.as_strided_scatter(memory, zeros, *place), *own)


def _gradient_of_src(grad, self_geometry, size, stride, storage_offset):
    memory, _, place = _memory(grad, self_geometry, size, stride, storage_offset)
    return F.as_strided(memory, *place)


derivative("as_strided_scatter", self=_gradient_of_self, src=_gradient_of_src, result="linear")
