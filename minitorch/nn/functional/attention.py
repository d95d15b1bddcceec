"""Attention."""

from __future__ import annotations

import math
import warnings
from typing import Any

from minitorch.core.dtype import bool_
from minitorch.nn.functional.dropout import dropout
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]

scaled_dot_product_attention = F.scaled_dot_product_attention


def canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: Any,
    other_name: str,
    target_type: Any,
    check_other: bool = True,
) -> Tensor | None:
    """Return `mask` as one to add: a bool mask becomes -inf where it holds and 0 elsewhere."""
    if mask is None:
        return None
    if mask.dtype != bool_ and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type "
            "for both instead.",
            stacklevel=3,
        )
    if mask.is_floating_point():
        return mask
    return F.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _projected(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the three projections by one stacked weight."""
    size = query.size(-1)
    if query is key and key is value:
        return F.linear(query, weight, bias).chunk(3, -1)
    w_q, w_k, w_v = weight.split(size)
    b_q, b_k, b_v = (None, None, None) if bias is None else bias.split(size)
    return F.linear(query, w_q, b_q), F.linear(key, w_k, b_k), F.linear(value, w_v, b_v)


def _is_batched(query: Tensor, key: Tensor, value: Tensor, padding: Any, mask: Any, heads: int):
    """Check the operands' dimensions, and return whether there is a batch."""
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor"
        )
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(
            f"For {'batched (3-D)' if dims == 3 else 'unbatched (2-D)'} `query`, expected `key` "
            f"and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors "
            "respectively"
        )
    if padding is not None and padding.dim() != dims - 1:
        raise AssertionError(
            f"Expected `key_padding_mask` to be None or {dims - 1}-D but found {padding.dim()}-D "
            "tensor instead"
        )
    if mask is not None:
        if mask.dim() not in (2, 3):
            raise AssertionError(
                "Expected `attn_mask` to be None, 2-D or 3-D but found "
                f"{mask.dim()}-D tensor instead"
            )
        if dims == 2 and mask.dim() == 3:
            expected = (heads, query.shape[0], key.shape[0])
            if tuple(mask.shape) != expected:
                raise AssertionError(
                    f"Expected `attn_mask` shape to be {expected} but got {tuple(mask.shape)}"
                )
    return dims == 3


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Return multi-head attention (Vaswani et al., 2017), and its weights if they are needed.

    Parameters
    ----------
    query : Tensor, shape (target length, batch, embedding) or without batch
    key, value : Tensor, shape (source length, batch, embedding) or without batch
    embed_dim_to_check, num_heads : int
    in_proj_weight, in_proj_bias : Tensor or None
        The stacked projections of query, key and value.
    bias_k, bias_v : Tensor or None, shape (1, 1, embedding)
        A key and a value added to each sequence.
    add_zero_attn : bool
        Add a key and a value of zeros.
    key_padding_mask : Tensor, optional, shape (batch, source length)
        True (or -inf) where a key does not count.
    attn_mask : Tensor, optional
        True (or -inf) where a query may not look at a key.
    is_causal : bool
        A hint that `attn_mask` is the causal mask.

    Returns
    -------
    tuple of Tensor and (Tensor or None)
        The output, shaped as `query`, and the attention weights, averaged over the heads with
        `average_attn_weights`.
    """
    batched = _is_batched(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = (
            query.unsqueeze(1),
            query.unsqueeze(1) if key is query else key.unsqueeze(1),
            value.unsqueeze(1),
        )
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    target_length, batch, size = query.shape
    source_length = key.shape[0]
    key_padding_mask = canonical_mask(
        key_padding_mask, "key_padding_mask",
        None if attn_mask is None else attn_mask.dtype, "attn_mask", query.dtype,
    )  # fmt: skip
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # the kernel makes the mask
    else:
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        if key_padding_mask is not None:
            is_causal = False
    if size != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {size}"
        )
    head_size = size // num_heads
    if head_size * num_heads != size:
        raise AssertionError(f"embed_dim {size} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's "
                f"{value.shape[:2]}"
            )
        b_q = b_k = b_v = None
        if in_proj_bias is not None:
            b_q, b_k, b_v = in_proj_bias.chunk(3)
        q = F.linear(query, q_proj_weight, b_q)
        k = F.linear(key, k_proj_weight, b_k)
        v = F.linear(value, v_proj_weight, b_v)
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)
    if attn_mask is not None:
        if attn_mask.dim() == 2:
            expected: tuple = (target_length, source_length)
            name = "2D"
        else:
            expected = (batch * num_heads, target_length, source_length)
            name = "3D"
        if tuple(attn_mask.shape) != expected:
            raise RuntimeError(
                f"The shape of the {name} attn_mask is {attn_mask.shape}, but should be {expected}."
            )
        if attn_mask.dim() == 2:
            attn_mask = attn_mask.unsqueeze(0)
    if bias_k is not None and bias_v is not None:
        k = F.cat([k, bias_k.repeat(1, batch, 1)])
        v = F.cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = _one_longer(attn_mask), _one_longer(key_padding_mask)
    q = q.reshape(target_length, batch * num_heads, head_size).transpose(0, 1)
    k = _heads_first(k, static_k, batch * num_heads, head_size, "static_k")
    v = _heads_first(v, static_v, batch * num_heads, head_size, "static_v")
    if add_zero_attn:
        zeros = F.zeros([batch * num_heads, 1, head_size], dtype=k.dtype, device=k.device)
        k, v = F.cat([k, zeros], 1), F.cat([v, zeros], 1)
        attn_mask, key_padding_mask = _one_longer(attn_mask), _one_longer(key_padding_mask)
    source_length = k.size(1)
    if key_padding_mask is not None:
        if tuple(key_padding_mask.shape) != (batch, source_length):
            raise AssertionError(
                f"expecting key_padding_mask shape of {(batch, source_length)}, but got "
                f"{key_padding_mask.shape}"
            )
        key_padding_mask = (
            key_padding_mask.view(batch, 1, 1, source_length)
            .expand(-1, num_heads, -1, -1)
            .reshape(batch * num_heads, 1, source_length)
        )
        attn_mask = key_padding_mask if attn_mask is None else attn_mask + key_padding_mask
    if not training:
        dropout_p = 0.0
    if need_weights:
        scores = (q * math.sqrt(1.0 / float(head_size))).bmm(k.transpose(-2, -1))
        if attn_mask is not None:
            scores = scores + attn_mask
        weights = F.softmax(scores, -1)
        if dropout_p > 0.0:
            weights = dropout(weights, dropout_p)
        out = weights.bmm(v).transpose(0, 1).reshape(target_length * batch, size)
        out = F.linear(out, out_proj_weight, out_proj_bias)
        out = out.view(target_length, batch, out.size(1))
        weights = weights.view(batch, num_heads, target_length, source_length)
        if average_attn_weights:
            weights = weights.mean(dim=1)
        if not batched:
            out, weights = out.squeeze(1), weights.squeeze(0)
        return out, weights
    if attn_mask is not None:
        if attn_mask.size(0) == 1:
            attn_mask = attn_mask.unsqueeze(0)
        else:
            attn_mask = attn_mask.view(batch, num_heads, -1, source_length)
    q = q.view(batch, num_heads, target_length, head_size)
    k = k.view(batch, num_heads, source_length, head_size)
    v = v.view(batch, num_heads, source_length, head_size)
    out = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    out = out.permute(2, 0, 1, 3).reshape(batch * target_length, size)
    out = F.linear(out, out_proj_weight, out_proj_bias)
    out = out.view(target_length, batch, out.size(1))
    return (out if batched else out.squeeze(1)), None


def _one_longer(mask: Tensor | None) -> Tensor | None:
    """Return the mask with a column for an added key, which always counts."""
    return None if mask is None else F.constant_pad_nd(mask, [0, 1])


def _heads_first(
    projected: Tensor, static: Tensor | None, count: int, head_size: int, name: str
) -> Tensor:
    """Return (batch * heads, length, head size) of a projection, or the given one, checked."""
    if static is None:
        return projected.reshape(projected.shape[0], count, head_size).transpose(0, 1)
    if static.size(0) != count or static.size(2) != head_size:
        raise AssertionError(
            f"expecting {name}.size(0) of {count} and size(2) of {head_size}, but got "
            f"{static.size(0)} and {static.size(2)}"
        )
    return static
