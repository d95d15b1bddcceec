"""Embedding bags as users call them."""

from __future__ import annotations

from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_explicit, composite_implicit
from minitorch.ops.shapes.common import check


@composite_implicit("embedding_bag")
def embedding_bag_composite(
    weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False,
    per_sample_weights=None, include_last_offset=False,
):  # fmt: skip
    return F._embedding_bag(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset
    )


@composite_implicit("embedding_bag.padding_idx")
def embedding_bag_padding_composite(
    weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx
):
    rows = weight.shape[0]
    if padding_idx is None:
        padding_idx = -1
    else:
        check(
            -rows <= padding_idx < rows,
            f"embedding_bag(): padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but "
            f"got padding_idx {padding_idx}",
        )
        padding_idx %= rows
    return F._embedding_bag(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
        padding_idx,
    )  # fmt: skip


@composite_explicit("embedding_renorm")
def embedding_renorm_composite(self, indices, max_norm, norm_type):
    return F.embedding_renorm_(F.clone(self), indices, max_norm, norm_type)
