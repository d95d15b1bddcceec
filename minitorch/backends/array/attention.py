"""Kernels of scaled dot-product attention: two batched products with a softmax between, in place.

The softmax is divided through at the end, where there are head-size columns instead of
key-length ones; the backward kernel recomputes the probabilities from their logarithmic sums.
"""

from __future__ import annotations

from math import sqrt

from minitorch.backends.array.common import is_low_precision
from minitorch.backends.array.precision import rounded, widen
from minitorch.backends.array.registry import array_kernel

_LEAST_SUM = 1e-8
_causal: dict = {}


def _causal_mask(xp, rows, columns, dtype):
    """Return an additive mask: 0 up to the diagonal, -inf after it."""
    key = (xp, rows, columns, dtype)
    found = _causal.get(key)
    if found is None:
        if len(_causal) >= 8:
            _causal.clear()
        found = xp.triu(xp.full((rows, columns), -xp.inf, dtype), 1)
        _causal[key] = found
    return found


def _scores(xp, query, key, scale, is_causal, attn_mask):
    scores = xp.matmul(query * query.dtype.type(scale), key.swapaxes(-1, -2))
    if is_causal:
        scores += _causal_mask(xp, *scores.shape[-2:], scores.dtype)
    if attn_mask is not None:
        if attn_mask.dtype.kind == "b":
            attn_mask = xp.where(attn_mask, scores.dtype.type(0), scores.dtype.type(-xp.inf))
        scores += attn_mask
    return scores


def _empty_like(xp, query, shape, dtype):
    """Return an empty array of `shape` that lies in memory as the query does."""
    _, heads, length, _ = shape
    if heads > 1 and length > 1 and query.strides[1] < query.strides[2]:
        batch, heads, length, size = shape
        return xp.empty((batch, length, heads, size), dtype).swapaxes(1, 2)
    return xp.empty(shape, dtype)


def _by_position(xp, shape, dtype):
    """Return an empty (batch, heads, length, size) array stored as (batch, length, heads, size)."""
    batch, heads, length, size = shape
    return xp.empty((batch, length, heads, size), dtype).swapaxes(1, 2)


def _check(query, key, value):
    if not (query.ndim == key.ndim == value.ndim == 4) or not (
        query.dtype == key.dtype == value.dtype
    ):
        raise ValueError("operands do not fit")
    if query.dtype.kind not in "fV":
        raise ValueError("not a floating type")


@array_kernel("_scaled_dot_product_flash_attention_for_cpu")
def attention_kernel(
    xp, query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None
):
    _check(query, key, value)
    if is_low_precision(query.dtype):
        wide = attention_kernel(
            xp, widen(query), widen(key), widen(value), dropout_p, is_causal,
            attn_mask=widen(attn_mask), scale=scale,
        )  # fmt: skip
        return wide[0].astype(query.dtype), wide[1]
    if scale is None:
        scale = 1.0 / sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    scores = _scores(xp, query, key, scale, is_causal, attn_mask)
    out = _empty_like(xp, query, (*scores.shape[:-1], value.shape[-1]), query.dtype)
    if scores.size == 0:
        out[...] = 0
        return out, xp.full(scores.shape[:-1], -xp.inf, query.dtype)
    # Note [Softmax without row maxima], in activation.py
    shift = scores.max()
    scores -= shift
    probabilities = xp.exp(scores)
    total = probabilities @ xp.ones(probabilities.shape[-1], probabilities.dtype)
    if not total.min() >= _LEAST_SUM:
        top = xp.maximum.reduce(scores, axis=-1, keepdims=True)
        # A row without any key gives 0, not NaN.
        xp.copyto(top, 0, where=top == -xp.inf)
        scores -= top
        xp.exp(scores, out=probabilities)
        total = probabilities @ xp.ones(probabilities.shape[-1], probabilities.dtype)
        shift = shift + top[..., 0]
        empty = total == 0
        if empty.any():
            total[empty] = xp.inf
    xp.matmul(probabilities, value, out=out)
    out /= total[..., None]
    xp.log(total, out=total)
    total += shift
    return out, total


@array_kernel("_scaled_dot_product_flash_attention_for_cpu_backward")
def attention_backward_kernel(
    xp, grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask=None,
    scale=None,
):  # fmt: skip
    _check(query, key, value)
    if is_low_precision(query.dtype):
        arrays = [widen(a) for a in (grad_out, query, key, value, out)]
        wide = attention_backward_kernel(
            xp, *arrays, logsumexp, dropout_p, is_causal, attn_mask=widen(attn_mask), scale=scale
        )
        return rounded(wide, query.dtype)
    dtype = query.dtype
    if scale is None:
        scale = 1.0 / sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    probabilities = _scores(xp, query, key, scale, is_causal, attn_mask)
    probabilities -= logsumexp[..., None]
    xp.exp(probabilities, out=probabilities)
    grad_value = _by_position(xp, value.shape, dtype)
    xp.matmul(probabilities.swapaxes(-1, -2), grad_out, out=grad_value)
    grad_scores = xp.matmul(grad_out, value.swapaxes(-1, -2))
    grad_scores -= xp.vecdot(grad_out, out)[..., None]
    grad_scores *= probabilities
    grad_scores *= dtype.type(scale)
    grad_query = _by_position(xp, query.shape, dtype)
    xp.matmul(grad_scores, key, out=grad_query)
    grad_key = _by_position(xp, key.shape, dtype)
    xp.matmul(grad_scores.swapaxes(-1, -2), query, out=grad_key)
    return grad_query, grad_key, grad_value
