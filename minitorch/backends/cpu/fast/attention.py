"""Scaled dot-product attention: batched products by BLAS, what stands between them in one pass."""

from __future__ import annotations

from math import prod, sqrt

import numpy as np

from minitorch.backends.array.attention import _by_position, _empty_like
from minitorch.backends.cpu.fast.loops_in_use import LOOPS, fits

f = np.float32


def _plain(query, key, value) -> bool:
    """Return whether the operands are float32 arrays of four dimensions with something in them."""
    return (
        query.ndim == key.ndim == value.ndim == 4
        and query.dtype.char == key.dtype.char == value.dtype.char == "f"
        and bool(query.size and key.size and value.size)
    )


def _scale(scale, query):
    return 1.0 / sqrt(query.shape[-1]) if scale is None else scale


def _two_dims(array):
    return array.reshape(prod(array.shape[:-1]), array.shape[-1])


def attention_kernel(xp, query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    if attn_mask is not None or not _plain(query, key, value):
        return NotImplemented
    scores = xp.matmul(query, key.swapaxes(-1, -2))
    if not fits(scores):
        return NotImplemented
    logsumexp = xp.empty(scores.shape[:-1], scores.dtype)
    length = scores.shape[-2]
    LOOPS.attend_loop(_two_dims(scores), length, f(_scale(scale, query)), is_causal, logsumexp.reshape(-1))
    out = _empty_like(xp, query, (*scores.shape[:-1], value.shape[-1]), query.dtype)
    xp.matmul(scores, value, out=out)
    return out, logsumexp


def attention_backward_kernel(
    xp, grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask=None, scale=None
):
    if attn_mask is not None or not _plain(query, key, value) or not fits(logsumexp):
        return NotImplemented
    scores = xp.matmul(query, key.swapaxes(-1, -2))
    grad_scores = xp.matmul(grad_out, value.swapaxes(-1, -2))
    dots = xp.ascontiguousarray(xp.vecdot(grad_out, out))
    if not fits(scores, grad_scores, dots):
        return NotImplemented
    LOOPS.attend_backward_loop(
        _two_dims(scores), _two_dims(grad_scores), scores.shape[-2], f(_scale(scale, query)), is_causal,
        logsumexp.reshape(-1), dots.reshape(-1),
    )  # fmt: skip
    dtype = query.dtype
    grad_value = _by_position(xp, value.shape, dtype)
    xp.matmul(scores.swapaxes(-1, -2), grad_out, out=grad_value)
    grad_query = _by_position(xp, query.shape, dtype)
    xp.matmul(grad_scores, key, out=grad_query)
    grad_key = _by_position(xp, key.shape, dtype)
    xp.matmul(grad_scores.swapaxes(-1, -2), query, out=grad_key)
    return grad_query, grad_key, grad_value


KERNELS = {
    "_scaled_dot_product_flash_attention_for_cpu": attention_kernel,
    "_scaled_dot_product_flash_attention_for_cpu_backward": attention_backward_kernel,
}
