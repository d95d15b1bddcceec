"""Batch rules of losses and their gradients, and of distances of all pairs.

Note [Reductions of a loss]
    A loss is computed for each element, and reduced over the dimensions of the example.  A gradient is the one of the
    loss of each element, times the gradient of its example's mean or sum.
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.core.dtype import int64
from minitorch.functorch.layout import batched, fold, lined_up, rank, sizes, to_front
from minitorch.functorch.rules import Rule, batch_rule, structure
from minitorch.ops import functions as F
from minitorch.ops.shapes.common import broadcast_shapes
from minitorch.tensor.base import TensorBase

NONE, MEAN = 0, 1


def reduced(loss: Any, reduction: int) -> Any:
    """Return what becomes of the losses of each example, batch first."""
    if reduction == NONE or loss.ndim == 1:
        return loss
    dims = list(range(1, loss.ndim))
    return F.mean(loss, dims) if reduction == MEAN else F.sum(loss, dims)


def elementwise_loss(op: Any, *, tensors: int, broadcasts: bool = True) -> Rule:
    """Return the rule of a loss between elements, of which so many arguments are tensors (Note [Reductions of a loss])."""
    defaults = [a.default for a in op.schema.arguments]
    at = [a.name for a in op.schema.arguments].index("reduction")

    def rule(info: Any, in_dims: tuple, *args: Any) -> tuple[Any, Any]:
        args = (*args, *defaults[len(args) :])
        in_dims = (*in_dims, *[None] * len(args))
        values, _ = lined_up(args[:tensors], in_dims[:tensors])
        if not broadcasts:
            values[:2] = [batched(args[i], in_dims[i], info.batch_size) for i in range(2)]
        loss = op.call((*values, *args[tensors:at], NONE, *args[at + 1 :]), None)
        return reduced(loss, args[at]), 0

    return rule


def elementwise_loss_backward(op: Any, *, tensors: int, broadcasts: bool = True) -> Rule:
    """Return the rule of the gradient of such a loss; the first argument is that of its result."""
    defaults = [a.default for a in op.schema.arguments]
    at = [a.name for a in op.schema.arguments].index("reduction")

    def rule(info: Any, in_dims: tuple, *args: Any) -> tuple[Any, Any]:
        args = (*args, *defaults[len(args) :])
        in_dims = (*in_dims, *[None] * len(args))
        size, shapes = info.batch_size, [sizes(x, d) for x, d in zip(args[1:3], in_dims[1:3], strict=True)]
        shape = broadcast_shapes(*map(tuple, shapes))
        values, _ = lined_up(args[1:tensors], in_dims[1:tensors])
        if not broadcasts:
            values[:2] = [batched(args[i], in_dims[i], size) for i in (1, 2)]
        elif in_dims[1] is None and in_dims[2] is None:
            values[0] = F.expand(args[1], [size, *shape])
        grad = to_front(args[0], in_dims[0])
        if args[at] != NONE and in_dims[0] is not None:
            grad = F.reshape(grad, [size, *[1] * len(shape)])
        if args[at] == MEAN:
            grad = grad / math.prod(shape)
        grad = F.expand(grad, [size, *shape])
        return op.call((grad, *values, *args[tensors:at], NONE, *args[at + 1 :]), None), 0

    return rule


structure(elementwise_loss, "mse_loss", "smooth_l1_loss", "huber_loss", tensors=2)
structure(elementwise_loss, "binary_cross_entropy", tensors=3, broadcasts=False)
structure(elementwise_loss_backward, "mse_loss_backward", "smooth_l1_loss_backward", "huber_loss_backward", tensors=3)
structure(elementwise_loss_backward, "binary_cross_entropy_backward", tensors=4, broadcasts=False)

# ---------------------------------------------------------------- negative log likelihood


def folded(x: Any, dim: int | None, size: int, has_batch: bool) -> Any:
    """Return a tensor with the mapped dimension first, or within the batch of the examples if they have one."""
    x = batched(x, dim, size)
    return fold(x, 0, 0) if has_batch else x


def weight_of(weight: Any, weight_dim: int | None, target: Any, ignore_index: int) -> Any:
    """Return the weight of each target of each example, and 0 for one to ignore; None where all weigh 1."""
    ignored = F.eq(target, ignore_index)
    if weight is None:
        return F.logical_not(ignored)
    known = F.where(ignored, 0, target)
    count = target.shape[0]
    flat = F.reshape(known, [count, math.prod(target.shape[1:])])
    weights = F.reshape(F.gather(batched(weight, weight_dim, count), 1, flat), list(target.shape))
    return F.where(ignored, 0.0, weights)


def check_weight(name: str, weight: Any, weight_dim: int | None, classes: int) -> None:
    """Raise unless there is a weight for each class of an example."""
    if weight is not None and sizes(weight, weight_dim) != [classes]:
        raise RuntimeError(
            f"{name}(): weight tensor should be defined either for all {classes} classes or no classes but got weight tensor "
            f"of shape: {sizes(weight, weight_dim)}"
        )


def nll_loss_forward(op: Any) -> Rule:
    """Return the rule of the loss: that of each target, without weights, then what is made of them."""

    def rule(
        info: Any, in_dims: tuple, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int
    ) -> tuple[Any, Any]:
        size, has_batch = info.batch_size, rank(self, in_dims[0]) > 1
        example = sizes(self, in_dims[0])
        check_weight(op.basename, weight, in_dims[2], example[1 if has_batch else 0])
        targets = batched(target, in_dims[1], size)
        if not has_batch and targets.ndim == 2:  # one target, in a list
            targets = F.reshape(targets, [size])
        x = folded(self, in_dims[0], size, has_batch)
        losses = op.call((x, fold(targets, 0, 0) if has_batch else targets, None, NONE, ignore_index), None)[0]
        losses = F.reshape(losses, list(targets.shape))
        weights = weight_of(weight, in_dims[2], targets, ignore_index)
        dims = list(range(1, targets.ndim))
        weights = F.to(weights, losses.dtype)
        if weight is not None:
            losses = F.where(F.eq(weights, 0), 0.0, losses * weights)
        total = F.sum(weights, dims) if dims else weights
        if reduction == NONE:
            return (F.reshape(losses, [size, *sizes(target, in_dims[1])]), F.zeros_like(total)), (0, 0)
        loss = F.sum(losses, dims) if dims else losses
        return (loss / total if reduction == MEAN else loss, total), (0, 0)

    return rule


def nll_loss_backward(op: Any) -> Rule:
    """Return the rule of the gradient: that of each target, times its weight and what comes from the result."""

    def rule(
        info: Any, in_dims: tuple, grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int,
        total_weight: Any,
    ) -> tuple[Any, Any]:  # fmt: skip
        size, has_batch = info.batch_size, rank(self, in_dims[1]) > 1
        targets = batched(target, in_dims[2], size)
        if not has_batch and targets.ndim == 2:
            targets = F.reshape(targets, [size])
        shape = list(targets.shape)
        grad = batched(grad_output, in_dims[0], size)
        if reduction == MEAN:
            grad = grad / batched(total_weight, in_dims[6], size)
        grad = F.reshape(grad, shape if reduction == NONE else [size, *[1] * (len(shape) - 1)])
        if weight is not None:
            weights = F.to(weight_of(weight, in_dims[3], targets, ignore_index), grad.dtype)
            grad = F.where(F.eq(weights, 0), 0.0, grad * weights)
        grad = F.expand(grad, shape)
        x = folded(self, in_dims[1], size, has_batch)
        if has_batch:
            targets, grad = fold(targets, 0, 0), fold(grad, 0, 0)
        one = F.new_ones(grad, [])
        result = op.call((grad, x, targets, None, NONE, ignore_index, one), None)
        return F.reshape(result, [size, *sizes(self, in_dims[1])]), 0

    return rule


structure(nll_loss_forward, "nll_loss_forward", "nll_loss2d_forward")
structure(nll_loss_backward, "nll_loss_backward", "nll_loss2d_backward")

# ---------------------------------------------------------------- connectionist temporal


def sequences(lengths: Any, dim: int | None, size: int) -> Any:
    """Return the lengths of all examples' sequences, one after another."""
    if isinstance(lengths, TensorBase):
        return F.reshape(batched(lengths, dim, size), [-1 if lengths.numel() else 0])
    return list(lengths) * size


def label_rows(targets: Any, dim: int | None, lengths: Any, lengths_dim: int | None, size: int) -> Any:
    """Return the labels of all sequences of all examples: a row for each, or all in one row."""
    targets = batched(targets, dim, size)
    if targets.ndim == 3:
        return fold(targets, 0, 0)
    if not isinstance(lengths, TensorBase):
        return F.reshape(targets[:, : sum(lengths)], [size * min(sum(lengths), targets.shape[1])])
    # Where each sequence of an example begins in its row depends on the lengths, so each gets a row of its own.
    lengths = F.to(batched(lengths, lengths_dim, size), int64)
    starts = F.cumsum(lengths, 1) - lengths
    width = targets.shape[1]
    places = F.unsqueeze(starts, 2) + F.arange(width, device=starts.device)
    places = F.clamp(places, max=width - 1)
    count = lengths.shape[1] * width
    rows = F.gather(targets, 1, F.reshape(places, [size, count]))
    return F.reshape(rows, [size * lengths.shape[1], width])


@batch_rule("_ctc_loss", "_ctc_loss.Tensor")
def ctc_loss(
    info: Any, in_dims: tuple, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    size = info.batch_size
    loss, alpha = F._ctc_loss(
        fold(batched(log_probs, in_dims[0], size), 0, 1),
        label_rows(targets, in_dims[1], target_lengths, in_dims[3], size),
        sequences(input_lengths, in_dims[2], size), sequences(target_lengths, in_dims[3], size), blank, zero_infinity,
    )  # fmt: skip
    count = sizes(log_probs, in_dims[0])[1]
    return (F.reshape(loss, [size, count]), F.reshape(alpha, [size, count, *alpha.shape[1:]])), (0, 0)


@batch_rule("_ctc_loss_backward", "_ctc_loss_backward.Tensor")
def ctc_loss_backward(
    info: Any, in_dims: tuple, grad: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any,
    neg_log_likelihood: Any, log_alpha: Any, blank: int, zero_infinity: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    size = info.batch_size
    result = F._ctc_loss_backward(
        fold(batched(grad, in_dims[0], size), 0, 0), fold(batched(log_probs, in_dims[1], size), 0, 1),
        label_rows(targets, in_dims[2], target_lengths, in_dims[4], size), sequences(input_lengths, in_dims[3], size),
        sequences(target_lengths, in_dims[4], size), fold(batched(neg_log_likelihood, in_dims[5], size), 0, 0),
        fold(batched(log_alpha, in_dims[6], size), 0, 0), blank, zero_infinity,
    )  # fmt: skip
    steps, count, classes = sizes(log_probs, in_dims[1])
    return F.reshape(result, [steps, size, count, classes]), 1


# ---------------------------------------------------------------- distances of all pairs


@batch_rule("_cdist_forward")
def cdist(info: Any, in_dims: tuple, x1: Any, x2: Any, p: float, compute_mode: int | None) -> tuple[Any, Any]:
    size = info.batch_size
    return F._cdist_forward(batched(x1, in_dims[0], size), batched(x2, in_dims[1], size), p, compute_mode), 0
