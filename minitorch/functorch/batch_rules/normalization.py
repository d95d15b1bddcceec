"""Batch rules of normalization.

Note [Examples as channels]
    Statistics of batch and group normalization belong to channels (or groups of them), and so do weights and their
    gradients: with the examples as more channels, each has its own.  Where nothing of an example's own is
    involved but the input, the examples may as well be more images, which needs no permuted copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.functorch.layout import batched, padded, rank, sizes, to_front
from minitorch.functorch.leading import empty_batch, merged, one_example, regrouped, with_batch_at
from minitorch.functorch.rules import batch_rule
from minitorch.ops import functions as F
from minitorch.ops.assemble import operator_named

_layer_norm = operator_named("native_layer_norm")
_layer_norm_backward = operator_named("native_layer_norm_backward")
_rms_norm = operator_named("_fused_rms_norm")
_rms_norm_backward = operator_named("_fused_rms_norm_backward")
_group_norm = operator_named("native_group_norm")
_group_norm_backward = operator_named("native_group_norm_backward")
_batch_norm = operator_named("native_batch_norm")
_batch_norm_backward = operator_named("native_batch_norm_backward")


def _affine(x: Any, rank: int, weight: Any, weight_dim: int | None, bias: Any, bias_dim: int | None) -> Any:
    """Return x * weight + bias in the dtype of `x`, the parameters being of its last dimensions and of examples' own."""
    result = x
    if weight is not None:
        result = result * padded(weight, weight_dim, rank)
    if bias is not None:
        result = result + padded(bias, bias_dim, rank)
    return F.to(result, x.dtype)


def _check_normalized(
    op: Any, in_dims: Sequence[Any], args: tuple, x: Any, x_dim: int | None, normalized: Sequence[int], *parameters: Any
) -> None:
    shape = sizes(x, x_dim)
    fits = 0 < len(normalized) <= len(shape) and shape[len(shape) - len(normalized) :] == list(normalized)
    if not fits or any(p is not None and sizes(p, d) != list(normalized) for p, d in parameters):
        one_example(op, in_dims, args)


# ---------------------------------------------------------------- over the last dimensions


@batch_rule("native_layer_norm")
def layer_norm_rule(
    info: Any, in_dims: tuple, x: Any, normalized: Any, weight: Any, bias: Any, eps: float
) -> tuple[Any, Any]:
    x_dim, _, weight_dim, bias_dim = in_dims[:4]
    parameters = ((weight, weight_dim), (bias, bias_dim))
    _check_normalized(_layer_norm, in_dims, (x, normalized, weight, bias, eps), x, x_dim, normalized, *parameters)
    values, dim = to_front(x, x_dim), None if x_dim is None else 0
    if weight_dim is None and bias_dim is None:
        return _layer_norm.call((values, normalized, weight, bias, eps), None), [dim] * 3
    own = weight if weight_dim is None else None
    out, mean, rstd = _layer_norm.call((values, normalized, own, None, eps), None)
    out = _affine(out, rank(x, x_dim), None if own is not None else weight, weight_dim, bias, bias_dim)
    return (out, mean, rstd), [0, dim, dim]


@batch_rule("_fused_rms_norm")
def rms_norm_rule(info: Any, in_dims: tuple, x: Any, normalized: Any, weight: Any, eps: Any) -> tuple[Any, Any]:
    x_dim, _, weight_dim = in_dims[:3]
    args = (x, normalized, weight, eps)
    _check_normalized(_rms_norm, in_dims, args, x, x_dim, normalized, (weight, weight_dim))
    values, dim = to_front(x, x_dim), None if x_dim is None else 0
    if weight_dim is None:
        return _rms_norm.call((values, normalized, weight, eps), None), [dim] * 2
    out, rstd = _rms_norm.call((values, normalized, None, eps), None)
    return (_affine(out, rank(x, x_dim), weight, weight_dim, None, None), rstd), [0, dim]


def _over_lead(x: Any, normalized: Any, dtype: Any) -> Any:
    """Return the sums over an example's dimensions before the normalized ones; the batch stays, first."""
    lead = list(range(1, x.ndim - len(normalized)))
    return F.to(F.sum(x, lead) if lead else x, dtype)


@batch_rule("native_layer_norm_backward")
def layer_norm_backward_rule(
    info: Any, in_dims: tuple, grad: Any, x: Any, normalized: Any, mean: Any, rstd: Any, weight: Any, bias: Any,
    output_mask: Sequence[bool],
) -> tuple[Any, Any]:  # fmt: skip
    g_dim, x_dim, _, mean_dim, rstd_dim, weight_dim = in_dims[:6]
    count, dtype = info.batch_size, mean.dtype
    grad, x = batched(grad, g_dim, count), batched(x, x_dim, count)
    mean, rstd = batched(mean, mean_dim, count), batched(rstd, rstd_dim, count)
    grads: list[Any] = [None, None, None]
    if output_mask[0]:
        g, own = grad, weight
        if weight_dim is not None:
            g, own = _affine(grad, grad.ndim - 1, weight, weight_dim, None, None), None
        mask = [True, False, False]
        grads[0] = _layer_norm_backward.call((g, x, normalized, mean, rstd, own, None, mask), None)[0]
    if output_mask[1]:
        grads[1] = _over_lead(grad * ((x - mean) * rstd), normalized, dtype)
    if output_mask[2]:
        grads[2] = _over_lead(grad, normalized, dtype)
    return tuple(grads), [0, 0, 0]


@batch_rule("_fused_rms_norm_backward")
def rms_norm_backward_rule(
    info: Any, in_dims: tuple, grad: Any, x: Any, normalized: Any, rstd: Any, weight: Any, output_mask: Sequence[bool]
) -> tuple[Any, Any]:
    g_dim, x_dim, _, rstd_dim, weight_dim = in_dims[:5]
    count = info.batch_size
    grad, x, rstd = batched(grad, g_dim, count), batched(x, x_dim, count), batched(rstd, rstd_dim, count)
    grads: list[Any] = [None, None]
    if output_mask[0]:
        g, own = grad, weight
        if weight_dim is not None:
            g, own = _affine(grad, grad.ndim - 1, weight, weight_dim, None, None), None
        grads[0] = _rms_norm_backward.call((g, x, normalized, rstd, own, [True, False]), None)[0]
    if output_mask[1] and weight is not None:
        grads[1] = _over_lead(grad * (x * rstd), normalized, rstd.dtype)
    return tuple(grads), [0, 0]


# ---------------------------------------------------------------- by channels


def _channels(info: Any, x: Any, dim: int | None) -> Any:
    """Return (N, C, ...) with the examples as more channels."""
    return merged(with_batch_at(x, dim, info.batch_size, 1), 1)


def _parameter(info: Any, x: Any, dim: int | None) -> Any:
    """Return a value for each channel of each example; None for none."""
    return None if x is None else merged(batched(x, dim, info.batch_size), 0)


@batch_rule("native_group_norm")
def group_norm_rule(
    info: Any, in_dims: tuple, x: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Any, Any]:
    x_dim, weight_dim, bias_dim = in_dims[:3]
    count, shape = info.batch_size, sizes(x, x_dim)
    args = (x, weight, bias, N, C, HxW, group, eps)
    if group <= 0 or C % group or any(
        p is not None and sizes(p, d) != [C] for p, d in ((weight, weight_dim), (bias, bias_dim))
    ):
        one_example(_group_norm, in_dims, args)
    if count == 0:
        return empty_batch(_group_norm, 0, in_dims, args)
    if shape[:2] != [N, C]:
        x, x_dim = F.reshape(batched(x, x_dim, count), [count, N, C, HxW]), 0
    if weight_dim is None and bias_dim is None:  # Note [Examples as channels]
        images = merged(batched(x, x_dim, count), 0)
        found = _group_norm.call((images, weight, bias, count * N, C, HxW, group, eps), None)
        out, mean, rstd = (regrouped(part, 0, count, N) for part in found)
        dim = 0
    else:
        parameters = _parameter(info, weight, weight_dim), _parameter(info, bias, bias_dim)
        sizes_ = (N, count * C, HxW, count * group, eps)
        out, mean, rstd = _group_norm.call((_channels(info, x, x_dim), *parameters, *sizes_), None)
        out, mean, rstd = regrouped(out, 1, count, C), regrouped(mean, 1, count, group), regrouped(rstd, 1, count, group)
        dim = 1
    if shape[:2] != [N, C]:
        out = F.reshape(with_batch_at(out, dim, count, 0), [count, *shape])
        return (out, mean, rstd), [0, dim, dim]
    return (out, mean, rstd), [dim] * 3


@batch_rule("native_group_norm_backward")
def group_norm_backward_rule(
    info: Any, in_dims: tuple, grad: Any, x: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int, HxW: int,
    group: int, output_mask: Sequence[bool],
) -> tuple[Any, Any]:  # fmt: skip
    count, shape = info.batch_size, sizes(x, in_dims[1])
    if count == 0:
        args = (grad, x, mean, rstd, weight, N, C, HxW, group, output_mask)
        return empty_batch(_group_norm_backward, 0, in_dims, args)
    grad, x, mean, rstd = (
        batched(t, d, count) for t, d in zip((grad, x, mean, rstd), in_dims[:4], strict=True)
    )  # fmt: skip
    if shape[:2] != [N, C]:
        grad, x = F.reshape(grad, [count, N, C, HxW]), F.reshape(x, [count, N, C, HxW])
    if in_dims[4] is None and not output_mask[1] and not output_mask[2]:
        values = [merged(t, 0) for t in (grad, x, mean, rstd)]
        found = _group_norm_backward.call((*values, weight, count * N, C, HxW, group, output_mask), None)[0]
        return (F.reshape(found, [count, *shape]), None, None), 0
    values = [_channels(info, t, 0) for t in (grad, x, mean, rstd)]
    own = _parameter(info, weight, in_dims[4])
    found = _group_norm_backward.call((*values, own, N, count * C, HxW, count * group, output_mask), None)
    grad_x = None if found[0] is None else regrouped(found[0], 1, count, C)
    dim = 1
    if grad_x is not None and shape[:2] != [N, C]:
        grad_x, dim = F.reshape(with_batch_at(grad_x, 1, count, 0), [count, *shape]), 0
    grads = [None if part is None else regrouped(part, 0, count, C) for part in found[1:]]
    return (grad_x, *grads), [dim, 0, 0]


@batch_rule("native_batch_norm")
def batch_norm_rule(
    info: Any, in_dims: tuple, x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
    momentum: float, eps: float,
) -> tuple[Any, Any]:  # fmt: skip
    """Normalize; in training each example has statistics of its own, also those that it keeps."""
    x_dim, weight_dim, bias_dim = in_dims[:3]
    count, running, running_dims = info.batch_size, (running_mean, running_var), in_dims[3:5]
    shape = sizes(x, x_dim)
    parameters = list(zip((weight, bias, *running), in_dims[1:5], strict=True))
    args = (x, weight, bias, *running, training, momentum, eps)
    if 0 not in shape and (len(shape) < 2 or any(p is not None and sizes(p, d) != [shape[1]] for p, d in parameters)):
        one_example(_batch_norm, in_dims, args)
    update = training and any(r is not None for r in running)
    if update and any(r is not None and d is None for r, d in zip(running, running_dims, strict=True)) and (
        x_dim is not None or any(d is not None for d in running_dims)
    ):
        raise RuntimeError(
            "vmap: batch_norm(): the input is batched, and running_mean or running_var, which training changes in place, "
            "are not: there is one for all examples. Pass track_running_stats=False to the module (running_mean=None, "
            "running_var=None to the function), or batched running statistics, or normalize in eval mode."
        )
    if count == 0 or 0 in shape:
        return empty_batch(_batch_norm, count, in_dims, args)
    settings = (training, momentum, eps)
    if x_dim is None and all(d is None for d in running_dims):
        out, mean, invstd = _batch_norm.call((x, None, None, *running, *settings), None)
        own = [None if p is None else _by_channel(info, p, d, len(shape)) for p, d in parameters[:2]]
        return (_affine(out, len(shape), own[0], 0, own[1], 0), mean, invstd), [0, None, None]
    if not training and all(d is None for d in in_dims[1:5]):  # Note [Examples as channels]
        images = to_front(x, x_dim)
        out, mean, invstd = _batch_norm.call((merged(images, 0), weight, bias, *running, *settings), None)
        return (regrouped(out, 0, count, shape[0]), mean, invstd), [0, None, None]
    own = [_parameter(info, p, d) for p, d in parameters]
    out, mean, invstd = _batch_norm.call((_channels(info, x, x_dim), *own, *settings), None)
    if update:
        for kept, dim, new in zip(running, running_dims, own[2:], strict=True):
            if kept is not None:  # the merged one may be a copy
                F.copy_(to_front(kept, dim), regrouped(new, 0, count, shape[1]))
    out = regrouped(out, 1, count, shape[1])
    if not training:
        return (out, mean, invstd), [1, None, None]
    return (out, regrouped(mean, 0, count, shape[1]), regrouped(invstd, 0, count, shape[1])), [1, 0, 0]


def _by_channel(info: Any, x: Any, dim: int | None, rank: int) -> Any:
    """Return a value for each channel so that it broadcasts with a batch of (N, C, ...), of `rank` dimensions each."""
    x = batched(x, dim, info.batch_size)
    return F.reshape(x, [x.shape[0], 1, x.shape[1], *[1] * (rank - 2)])


@batch_rule("native_batch_norm_backward")
def batch_norm_backward_rule(
    info: Any, in_dims: tuple, grad: Any, x: Any, weight: Any, running_mean: Any, running_var: Any, save_mean: Any,
    save_invstd: Any, train: bool, eps: float, output_mask: Sequence[bool],
) -> tuple[Any, Any]:  # fmt: skip
    count, shape = info.batch_size, sizes(x, in_dims[1])
    parameters = (weight, running_mean, running_var, save_mean, save_invstd)
    if count == 0 or 0 in shape:
        return empty_batch(_batch_norm_backward, count, in_dims, (grad, x, *parameters, train, eps, output_mask))
    channels = shape[1]
    own = [
        None if p is not None and sizes(p, d) == [0] else _parameter(info, p, d)
        for p, d in zip(parameters, in_dims[2:7], strict=True)
    ]
    values = _channels(info, grad, in_dims[0]), _channels(info, x, in_dims[1])
    found = _batch_norm_backward.call((*values, *own, train, eps, output_mask), None)
    grad_x = None if found[0] is None else regrouped(found[0], 1, count, channels)
    grads = [None if part is None else regrouped(part, 0, count, channels) for part in found[1:]]
    return (grad_x, *grads), [1, 0, 0]
