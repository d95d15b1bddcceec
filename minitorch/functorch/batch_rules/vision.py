"""Batch rules of resampling: the examples join the batch of images."""

from __future__ import annotations

from typing import Any

from minitorch.functorch.layout import rank, to_front
from minitorch.functorch.leading import folded_batch, merged, one_example, regrouped
from minitorch.functorch.rules import Rule, structure

_NAMES = (
    "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d",
    "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "upsample_linear1d", "upsample_bilinear2d",
    "upsample_trilinear3d", "upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa",
)  # fmt: skip


def resampling_backward(op: Any) -> Rule:
    """Return the rule of a gradient that is told the shape of the resampled images."""

    def rule(
        info: Any, in_dims: tuple, grad: Any, output_size: Any, input_size: Any, *rest: Any
    ) -> tuple[Any, Any]:
        if rank(grad, in_dims[0]) != len(input_size):
            one_example(op, in_dims, (grad, output_size, input_size, *rest))
        count, images = info.batch_size, input_size[0]
        grad = merged(to_front(grad, in_dims[0]), 0)
        result = op.call((grad, output_size, [count * images, *input_size[1:]], *rest), None)
        return regrouped(result, 0, count, images), 0

    return rule


for _name in _NAMES:
    _d = int(_name.split("d_aa")[0].rstrip("d")[-1])
    structure(folded_batch, _name, element=_d + 1, optional_batch=False)
structure(resampling_backward, *[f"{name}_backward" for name in _NAMES])
