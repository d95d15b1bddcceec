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


# ---------------------------------------------------------------- sparse gradients: only the rows that were looked up


@composite_implicit("embedding_sparse_backward")
def embedding_sparse_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq):
    check(
        not scale_grad_by_freq,
        "embedding_backward: scale_grad_by_freq is not supported with sparse gradients; look up with sparse=False",
    )
    size = grad.shape[-1]
    rows = F.reshape(indices, [-1])
    values = F.reshape(grad, [rows.shape[0], size])
    if padding_idx >= 0:
        kept = F.reshape(F.nonzero(F.ne(rows, padding_idx)), [-1])
        rows, values = F.index_select(rows, 0, kept), F.index_select(values, 0, kept)
    rows = F.unsqueeze(rows.long(), 0)
    return F._sparse_coo_tensor_unsafe(rows, values, [num_weights, size], is_coalesced=rows.shape[1] < 2)


@composite_implicit("embedding_backward")
def embedding_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq, sparse):
    if sparse:
        return F.embedding_sparse_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)
    return F.embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)


@composite_implicit("_embedding_bag_sparse_backward")
def embedding_bag_sparse_backward(
    grad, indices, offsets, offset2bag, bag_size, num_weights, scale_grad_by_freq, mode, per_sample_weights, padding_idx=-1
):  # fmt: skip
    check(mode != 2, "embedding_bag(): mode 'max' has no sparse gradient; look up with sparse=False")
    if mode == 1:
        grad = grad / F.clamp(bag_size, min=1).to(grad.dtype).unsqueeze(1)
    rows = F.index_select(grad, 0, offset2bag)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    return F.embedding_sparse_backward(rows, indices, num_weights, padding_idx, scale_grad_by_freq)
