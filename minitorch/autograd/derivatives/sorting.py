"""Derivatives of sorting; searching and counting have none."""

from __future__ import annotations

from minitorch.autograd.derivatives.reductions import selected_backward
from minitorch.autograd.derivatives.registry import derivative
from minitorch.ops import functions as F

for _name in ("sort", "sort.stable", "topk"):
    derivative(
        _name,
        self=lambda grad, self_shape, dim, indices: selected_backward(
            grad, self_shape, dim, True, indices
        ),
        result=lambda self_t, dim, indices: F.gather(self_t, dim, indices),
    )
for _name in (
    "argsort", "argsort.stable", "searchsorted.Tensor", "searchsorted.Scalar",
    "bucketize.Tensor", "bucketize.Scalar", "isin.Tensor_Tensor", "isin.Tensor_Scalar",
    "isin.Scalar_Tensor", "bincount",
):  # fmt: skip
    derivative(_name)
