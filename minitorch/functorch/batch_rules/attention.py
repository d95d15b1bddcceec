"""Batch rules of the fused attention: the examples join its batch."""

from __future__ import annotations

from typing import Any

from minitorch.functorch.layout import batched, rank, to_front
from minitorch.functorch.leading import aligned, merged, one_example, regrouped
from minitorch.functorch.rules import batch_rule
from minitorch.ops import functions as F
from minitorch.ops.assemble import operator_named

_forward = operator_named("_scaled_dot_product_flash_attention_for_cpu")
_backward = operator_named("_scaled_dot_product_flash_attention_for_cpu_backward")


def _mask(info: Any, mask: Any, dim: int | None, images: int) -> Any:
    """Return a mask for examples that have joined the batch of `images`."""
    if mask is None or (dim is None and mask.ndim <= 3):
        return mask
    mask = aligned(mask, dim, 4)
    if mask.shape[0] != 1 or mask.shape[1] != 1:
        mask = F.expand(mask, [info.batch_size, images, *mask.shape[2:]])
    return merged(mask, 0)


def _joined(info: Any, in_dims: tuple, tensors: tuple) -> list[Any]:
    return [merged(batched(x, d, info.batch_size), 0) for x, d in zip(tensors, in_dims, strict=True)]


@batch_rule("_scaled_dot_product_flash_attention_for_cpu")
def attention_rule(
    info: Any, in_dims: tuple, query: Any, key: Any, value: Any, *rest: Any, attn_mask: Any = None,
    attn_mask_dim: int | None = None, scale: float | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    tensors, dims = (query, key, value), in_dims[:3]
    keywords = {"attn_mask": attn_mask, "attn_mask_dim": attn_mask_dim, "scale": scale}
    if any(rank(x, d) != 4 for x, d in zip(tensors, dims, strict=True)):
        one_example(_forward, in_dims, (*tensors, *rest), keywords)
    images = to_front(query, dims[0]).shape[0 if dims[0] is None else 1]
    mask = _mask(info, attn_mask, attn_mask_dim, images)
    out, logsumexp = _forward.call((*_joined(info, dims, tensors), *rest), {"attn_mask": mask, "scale": scale})
    count = info.batch_size
    return (regrouped(out, 0, count, images), regrouped(logsumexp, 0, count, images)), [0, 0]


@batch_rule("_scaled_dot_product_flash_attention_for_cpu_backward")
def attention_backward_rule(
    info: Any, in_dims: tuple, grad: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any, dropout_p: float,
    is_causal: bool, *, attn_mask: Any = None, attn_mask_dim: int | None = None, scale: float | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    tensors = (grad, query, key, value, out, logsumexp)
    images = to_front(query, in_dims[1]).shape[0 if in_dims[1] is None else 1]
    mask = _mask(info, attn_mask, attn_mask_dim, images)
    values = (*_joined(info, in_dims[:6], tensors), dropout_p, is_causal)
    grads = _backward.call(values, {"attn_mask": mask, "scale": scale})
    return tuple(regrouped(g, 0, info.batch_size, images) for g in grads), [0, 0, 0]
