"""Scaled dot-product attention: the public operator, and its form in elementary operators."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from math import sqrt

from minitorch.core.dtype import bfloat16, bool_, float16, float32
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_explicit, composite_implicit
from minitorch.tensor.wrapper import is_followed


def _validate(query, key, value, attn_mask, is_causal):
    name = "scaled_dot_product_attention"
    if query.dtype != key.dtype or query.dtype != value.dtype:
        raise RuntimeError(
            f"{name}(): Expected query, key, and value to have the same dtype, but got "
            f"query.dtype: {query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype} "
            "instead."
        )
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise RuntimeError(
            f"{name}(): Expected query, key, and value to all be at least 2 dimensional, but got "
            f"{query.dim()}, {key.dim()} and {value.dim()} dimensions"
        )
    if attn_mask is not None:
        if is_causal:
            raise RuntimeError(
                f"{name}(): Explicit attn_mask should not be set when is_causal=True"
            )
        if attn_mask.dtype not in (bool_, query.dtype) and attn_mask.dtype.name != "float32":
            raise RuntimeError(
                f"{name}(): Expected attn_mask dtype to be bool or float or to match query dtype, "
                f"but got attn_mask.dtype: {attn_mask.dtype} and query.dtype: {query.dtype}"
            )


class _Choice(threading.local):
    fused = True


_choice = _Choice()


@contextmanager
def fused_attention(allowed: bool):
    """Scope in which attention may, or may not, be computed by the fused operator, in this thread."""
    outer = _choice.fused
    _choice.fused = allowed
    try:
        yield
    finally:
        _choice.fused = outer


def _is_plain(query, key, value, attn_mask, dropout_p):
    """Return whether the fused operator takes these arguments."""
    shape = query.shape
    return (
        dropout_p == 0.0
        and _choice.fused
        and len(shape) == 4
        and key.dim() == 4
        and shape[:2] == key.shape[:2] == value.shape[:2]
        and (attn_mask is None or not is_followed(attn_mask))
    )


@composite_implicit("scaled_dot_product_attention")
def scaled_dot_product_attention_composite(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None,
    enable_gqa=False,
):  # fmt: skip
    _validate(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        key, value = _repeated_heads(query, key, value)
    if _is_plain(query, key, value, attn_mask, dropout_p):
        return F._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, 0.0, is_causal, attn_mask=attn_mask, scale=scale
        )[0]
    return F._scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale
    )[0]


def _repeated_heads(query, key, value):
    """Return key and value with as many heads as the query."""
    heads = query.shape[-3]
    if heads % key.shape[-3] or heads % value.shape[-3]:
        raise RuntimeError(
            f"scaled_dot_product_attention(): with enable_gqa, the number of heads in key and "
            f"value must divide the number of heads in query, but got {key.shape[-3]}, "
            f"{value.shape[-3]} and {heads}"
        )
    if heads == key.shape[-3] == value.shape[-3]:
        return key, value
    return (
        key.repeat_interleave(heads // key.shape[-3], -3),
        value.repeat_interleave(heads // value.shape[-3], -3),
    )


@composite_implicit("_scaled_dot_product_attention_math")
def scaled_dot_product_attention_math_composite(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, dropout_mask=None, *,
    scale=None, enable_gqa=False,
):  # fmt: skip
    if enable_gqa:
        key, value = _repeated_heads(query, key, value)
    dtype = query.dtype
    if dtype in (bfloat16, float16):
        # Rounded once, at the end.
        query, key, value = query.to(float32), key.to(float32), value.to(float32)
        result, attention = scaled_dot_product_attention_math_composite(
            query, key, value, attn_mask, dropout_p, is_causal, dropout_mask, scale=scale
        )
        return result.to(dtype), attention.to(dtype)
    if scale is None:
        scale = 1.0 / sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    if is_causal:
        rows, columns = query.shape[-2], key.shape[-2]
        attn_mask = F.ones([rows, columns], dtype=bool_, device=query.device).tril()
    # Both factors are scaled by the root, which keeps narrow types in range.
    root = sqrt(abs(scale))
    left = query * (root if scale >= 0 else -root)
    scores = left.matmul((key * root).transpose(-2, -1))
    if attn_mask is not None:
        if attn_mask.dtype == bool_:
            scores = scores.masked_fill(F.logical_not(attn_mask), float("-inf"))
        else:
            scores = scores + attn_mask
    attention = F._safe_softmax(scores, -1)
    if dropout_p > 0.0:
        if dropout_mask is not None:
            kept = attention.masked_fill(F.logical_not(dropout_mask), 0.0)
            return kept.matmul(value * (1.0 / (1.0 - dropout_p))), attention
        attention = F.dropout(attention, dropout_p, True)
    return attention.matmul(value), attention


@composite_explicit("_safe_softmax")
def safe_softmax_composite(self, dim, dtype=None):
    """Softmax that gives zeros, not NaN, for a row of -inf."""
    out = F.softmax(self, dim, dtype)
    masked = (self == float("-inf")).all(dim, keepdim=True)
    return out.masked_fill(masked, 0.0)
