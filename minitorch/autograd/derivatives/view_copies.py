"""Derivatives of the copies of views: those of the views themselves."""

from __future__ import annotations

from minitorch.autograd.derivatives import views  # noqa: F401 - its table is read below
from minitorch.autograd.derivatives.registry import DERIVATIVES, derivative
from minitorch.ops import functions as F

for copy, view in {
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


def _without_place(grad, src, size, stride, storage_offset):
    """Return the gradient of what was scattered into: zero where `src` stands now."""
    zeros = F.zeros(list(src.shape), dtype=grad.dtype, device=grad.device)
    return F.as_strided_scatter(F.contiguous(grad), zeros, size, stride, storage_offset)


derivative(
    "as_strided_scatter",
    self=_without_place,
    src=lambda grad, size, stride, storage_offset: F.as_strided(F.contiguous(grad), size, stride, storage_offset),
    result="linear",
)
