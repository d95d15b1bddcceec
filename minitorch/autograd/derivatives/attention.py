"""Derivatives of attention."""

from __future__ import annotations

from math import sqrt

from minitorch.autograd.derivatives.activation import softmax_tangent
from minitorch.autograd.derivatives.registry import derivative, is_differentiated_again
from minitorch.core.dtype import bool_
from minitorch.ops import functions as F


def attention_gradients(
    grads, query, key, value, dropout_p, is_causal, attn_mask, scale, result0, result1, needs
):
    """Return the gradients by the fused operator, or, for a graph, by elementary ones."""
    grad = grads[0]
    if grad is None:
        return None, None, None
    if not is_differentiated_again(grad, query, key, value):
        return F._scaled_dot_product_flash_attention_for_cpu_backward(
            grad, query, key, value, result0, result1, dropout_p, is_causal, attn_mask=attn_mask,
            scale=scale,
        )  # fmt: skip
    if scale is None:
        scale = 1.0 / sqrt(query.shape[-1])
    scores = (query * scale).matmul(key.transpose(-2, -1))
    if is_causal:
        attn_mask = F.ones(list(scores.shape[-2:]), dtype=bool_, device=query.device).tril()
    if attn_mask is not None:
        if attn_mask.dtype == bool_:
            scores = scores.masked_fill(F.logical_not(attn_mask), float("-inf"))
        else:
            scores = scores + attn_mask
    attention = F._safe_softmax(scores, -1)
    grad_scores = F._softmax_backward_data(
        grad.matmul(value.transpose(-2, -1)), attention, -1, attention.dtype
    )
    return (
        grad_scores.matmul(key) * scale,
        grad_scores.transpose(-2, -1).matmul(query) * scale,
        attention.transpose(-2, -1).matmul(grad),
    )


derivative(
    "_scaled_dot_product_flash_attention_for_cpu",
    jointly={("query", "key", "value"): attention_gradients},
)
derivative(
    "_safe_softmax",
    # The result's zeros, where a row is masked out, keep its NaN of a plain softmax out of the gradient.
    self=lambda grad, self_dtype, dim, result: F._softmax_backward_data(grad, result, dim, self_dtype),
    result=softmax_tangent,
)
