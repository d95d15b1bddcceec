"""Derivatives of embedding bags."""

from __future__ import annotations

from minitorch.autograd.derivatives.registry import derivative
from minitorch.ops import functions as F


def _spread(grad, indices, offset2bag, padding_idx):
    """Return the gradient of the bag that each index belongs to; 0 where it belongs to none."""
    outside = offset2bag >= grad.shape[0]
    if padding_idx >= 0:
        outside = F.logical_or(outside, indices == padding_idx)
    if grad.shape[0] == 0:
        return F.new_zeros(grad, [indices.shape[0], grad.shape[1]])
    rows = F.index_select(grad, 0, F.clamp(offset2bag, max=grad.shape[0] - 1))
    return F.masked_fill(rows, outside.unsqueeze(1), 0.0)


def embedding_bag_backward(
    grads, weight_shape, indices, mode, scale_grad_by_freq, sparse, per_sample_weights, padding_idx, result1, result2,
    result3,
):  # fmt: skip
    """Return the gradient of the weight."""
    grad = grads[0]
    if grad is None:
        return None
    if mode == 2:
        grad = F.masked_fill(grad, (result2 == 0).unsqueeze(1), 0.0)
        return F.scatter_add(F.new_zeros(grad, list(weight_shape)), 0, result3.to(indices.dtype), grad)
    if mode == 1:
        grad = grad / F.clamp(result2, min=1).to(grad.dtype).unsqueeze(1)
    rows = _spread(grad, indices, result1, padding_idx)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    return F.embedding_backward(rows, indices, weight_shape[0], padding_idx, scale_grad_by_freq, sparse)


def per_sample_weights_backward(grads, weight, indices, padding_idx, result1):
    """Return the gradient of the factors."""
    if grads[0] is None:
        return None
    return F.sum(_spread(grads[0], indices, result1, padding_idx) * F.embedding(weight, indices), [1])


derivative(
    "_embedding_bag",
    weight=embedding_bag_backward,
    per_sample_weights=per_sample_weights_backward,
)
derivative("embedding_renorm_")
