"""Shapes, types and argument errors of attention."""

from __future__ import annotations

import numpy as np

from minitorch.ops.shapes.activation import check_floating
from minitorch.ops.shapes.common import MetaArray, broadcast_shapes, check
from minitorch.ops.shapes.registry import shape

FLOAT32 = np.dtype(np.float32)


def _by_position(shape, dtype):
    """Return (batch, heads, length, size) stored as (batch, length, heads, size)."""
    _, heads, length, size = shape
    step = dtype.itemsize
    strides = (length * heads * size * step, size * step, heads * size * step, step)
    return MetaArray(shape, dtype, strides)


@shape("_scaled_dot_product_flash_attention_for_cpu")
def attention_shape(
    query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None
):
    name = "scaled_dot_product_attention"
    check_floating(query, name)
    check(
        query.ndim == key.ndim == value.ndim == 4,
        f"{name}(): query, key and value must have 4 dimensions here, got {query.shape}, "
        f"{key.shape} and {value.shape}",
    )
    check(
        query.dtype == key.dtype == value.dtype,
        f"{name}(): Expected query, key, and value to have the same dtype, but got {query.dtype}, "
        f"{key.dtype} and {value.dtype}",
    )
    check(
        query.shape[-1] == key.shape[-1] and key.shape[-2] == value.shape[-2],
        f"{name}(): query {query.shape}, key {key.shape} and value {value.shape} do not fit: the "
        "last sizes of query and key, and the lengths of key and value, must be equal",
    )
    lead = broadcast_shapes(broadcast_shapes(query.shape[:2], key.shape[:2]), value.shape[:2])
    length = query.shape[2]
    dtype = query.dtype if query.dtype.itemsize >= 4 else FLOAT32
    shape_ = (*lead, length, value.shape[3])
    if lead[1] > 1 and length > 1 and query.strides[1] < query.strides[2]:
        out = _by_position(shape_, query.dtype)
    else:
        out = MetaArray(shape_, query.dtype)
    return out, MetaArray((*lead, length), dtype)


@shape("_scaled_dot_product_flash_attention_for_cpu_backward")
def attention_backward_shape(
    grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask=None,
    scale=None,
):  # fmt: skip
    return tuple(_by_position(a.shape, a.dtype) for a in (query, key, value))
