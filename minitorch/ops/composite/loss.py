"""Losses written with other operators.

A `reduction` is 0 for none, 1 for the mean and 2 for the sum.
"""

from __future__ import annotations

from math import pi

from minitorch.core.dtype import int64
from minitorch.core.promotion import promote_types
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_implicit
from minitorch.ops.shapes.common import broadcast_shapes
from minitorch.tensor.creation import tensor
from minitorch.tensor.wrapper import has_elements


def reduce_loss(loss, reduction):
    """Return `loss` reduced as the number `reduction` says."""
    if reduction == 1:
        return loss.mean()
    return loss.sum() if reduction == 2 else loss


# ---------------------------------------------------------------- classification


@composite_implicit("nll_loss")
def nll_loss_composite(self, target, weight=None, reduction=1, ignore_index=-100):
    return F.nll_loss_forward(self, target, weight, reduction, ignore_index)[0]


@composite_implicit("nll_loss2d")
def nll_loss2d_composite(self, target, weight=None, reduction=1, ignore_index=-100):
    return F.nll_loss2d_forward(self, target, weight, reduction, ignore_index)[0]


@composite_implicit("nll_loss_nd")
def nll_loss_nd_composite(self, target, weight=None, reduction=1, ignore_index=-100):
    ndim = self.dim()
    if ndim < 1:
        raise ValueError(f"nll_loss(): Expected 1 or more dimensions (got {ndim})")
    if ndim <= 2:
        if ndim == 2 and target.dim() == 1 and self.shape[0] != target.shape[0]:
            raise ValueError(
                f"nll_loss(): Expected input batch_size ({self.shape[0]}) to match target "
                f"batch_size ({target.shape[0]})."
            )
        return F.nll_loss_forward(self, target, weight, reduction, ignore_index)[0]
    n, c = self.shape[:2]
    if target.shape != (n, *self.shape[2:]):
        raise RuntimeError(
            f"nll_loss(): Expected target size {[n, *self.shape[2:]]}, got {list(target.shape)}"
        )
    if ndim == 4:
        return F.nll_loss2d_forward(self, target, weight, reduction, ignore_index)[0]
    loss = F.nll_loss2d_forward(
        self.reshape(n, c, 1, -1), target.reshape(n, 1, -1), weight, reduction, ignore_index
    )[0]
    return loss.reshape(target.shape) if reduction == 0 else loss


@composite_implicit("cross_entropy_loss")
def cross_entropy_loss_composite(
    self, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0
):
    class_dim = 0 if self.dim() == 1 else 1
    if not target.is_floating_point():
        logs = F._log_softmax(self, class_dim, False)
        if label_smoothing != 0.0:
            return _smoothed(
                logs, target, weight, reduction, ignore_index, label_smoothing, class_dim
            )
        if self.dim() == 2 and target.dim() == 1:
            return F.nll_loss_forward(logs, target, weight, reduction, ignore_index)[0]
        return F.nll_loss_nd(logs, target, weight, reduction, ignore_index)
    if target.shape != self.shape:
        raise RuntimeError(
            f"cross_entropy_loss(): Expected floating point type for target with class "
            f"probabilities of the input's shape {list(self.shape)}, got {list(target.shape)}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    _check_smoothing(label_smoothing)
    logs = F.log_softmax(self, class_dim)
    classes = self.shape[class_dim]
    if label_smoothing > 0.0:
        target = target * (1.0 - label_smoothing) + label_smoothing / classes
    if weight is not None:
        logs = logs * _along_classes(weight, self, class_dim)
    loss = -(logs * target)
    if reduction == 0:
        return loss.sum(class_dim)
    loss = loss.sum()
    if reduction == 2:
        return loss
    if self.numel() == 0:
        return loss * float("nan")
    return loss / (self.numel() // classes)


def _along_classes(weight, self, class_dim):
    shape = [1] * self.dim()
    shape[class_dim] = weight.numel()
    return weight.reshape(shape)


def _check_smoothing(label_smoothing):
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(
            f"cross_entropy_loss(): label_smoothing must be between 0.0 and 1.0. Got: "
            f"{label_smoothing}"
        )


def _smoothed(logs, target, weight, reduction, ignore_index, label_smoothing, class_dim):
    """Mix the loss of the target with that of all classes."""
    _check_smoothing(label_smoothing)
    classes = logs.shape[class_dim]
    loss = F.nll_loss_nd(logs, target, weight, reduction, ignore_index)
    smooth = -logs if weight is None else -(logs * _along_classes(weight, logs, class_dim))
    smooth = smooth.sum(class_dim)
    ignored = target == ignore_index
    smooth = smooth.masked_fill(ignored, 0.0)
    if reduction == 1:
        kept = F.logical_not(ignored)
        if weight is None:
            smooth = smooth.sum() / kept.sum()
        else:
            chosen = weight.gather(0, target.masked_fill(ignored, 0).flatten())
            smooth = smooth.sum() / chosen.masked_fill(ignored.flatten(), 0.0).sum()
    elif reduction == 2:
        smooth = smooth.sum()
    return (1.0 - label_smoothing) * loss + smooth * (label_smoothing / classes)


@composite_implicit("multi_margin_loss")
def multi_margin_loss_composite(self, target, p=1, margin=1, weight=None, reduction=1):
    if p not in (1, 2):
        raise RuntimeError(f"multi_margin_loss(): only p == 1 and p == 2 supported, got {p}")
    if self.dim() > 2 or (self.numel() == 0 and self.shape[-1:].numel() == 0):
        raise RuntimeError(
            f"multi_margin_loss(): Expected non-empty vector or matrix with optional 0-dim batch "
            f"size, but got: {list(self.shape)}"
        )
    x = self if self.dim() == 2 else self.reshape(1, -1)
    y = target.reshape(-1, 1)
    if y.shape[0] != x.shape[0]:
        raise RuntimeError(
            f"multi_margin_loss(): inconsistent target size, expected {x.shape[0]} but got "
            f"{list(target.shape)}"
        )
    z = (margin - x.gather(1, y) + x).clamp(min=0)
    if p == 2:
        z = z * z
    if weight is not None:
        z = z * weight[y]
    others = F.ones_like(x).scatter(1, y, 0.0)
    loss = (z * others).sum(1) / x.shape[1]
    if reduction == 0:
        return loss if target.dim() else loss.reshape([])
    return reduce_loss(loss, reduction)


@composite_implicit("multilabel_margin_loss")
def multilabel_margin_loss_composite(self, target, reduction=1):
    if self.shape != target.shape or self.dim() > 2:
        raise RuntimeError(
            f"multilabel_margin_loss(): inconsistent target size: {list(target.shape)} for input "
            f"of size: {list(self.shape)}"
        )
    if self.dim() > 0 and self.shape[-1] == 0:
        raise RuntimeError(
            "multilabel_margin_loss(): Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(self.shape)}"
        )
    if target.dtype is not int64:
        raise RuntimeError(
            f"multilabel_margin_loss(): expected target of type Long but found {target.dtype.scalar_name}"
        )
    x = self if self.dim() == 2 else self.reshape(1, -1)
    y = target if target.dim() == 2 else target.reshape(1, -1)
    # Labels count up to the first -1.
    listed = (y < 0).to(int64).cumsum(1) == 0
    safe = y.masked_fill(F.logical_not(listed), 0)
    is_target = F.zeros_like(x).scatter_add(1, safe, listed.to(x.dtype)) > 0
    distance = 1 - (x.gather(1, safe).unsqueeze(2) - x.unsqueeze(1))
    counted = listed.unsqueeze(2) & F.logical_not(is_target).unsqueeze(1)
    loss = (distance.clamp(min=0) * counted).sum([1, 2]) / x.shape[1]
    if reduction == 0:
        return loss if self.dim() == 2 else loss.reshape([])
    return reduce_loss(loss, reduction)


# ---------------------------------------------------------------- regression and divergence


@composite_implicit("l1_loss")
def l1_loss_composite(self, target, reduction=1):
    return reduce_loss((self - target).abs(), reduction)


@composite_implicit("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits_composite(
    self, target, weight=None, pos_weight=None, reduction=1
):
    softplus = -F.log_sigmoid(self)  # log(1 + exp(-self))
    if pos_weight is None:
        loss = (1 - target) * self + softplus
    else:
        loss = (1 - target) * self + ((pos_weight - 1) * target + 1) * softplus
    if weight is not None:
        loss = loss * weight
    return reduce_loss(loss, reduction)


@composite_implicit("kl_div")
def kl_div_composite(self, target, reduction=1, *, log_target=False):
    if log_target:
        loss = F.exp(target) * (target - self)
    else:
        loss = F.xlogy(target, target) - target * self
    return reduce_loss(loss, reduction)


@composite_implicit("poisson_nll_loss")
def poisson_nll_loss_composite(input, target, log_input, full, eps, reduction):
    if log_input:
        loss = F.exp(input) - target * input
    else:
        loss = input - target * F.log(input + eps)
    if full:
        stirling = target * F.log(target) - target + 0.5 * F.log(2 * pi * target)
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduce_loss(loss, reduction)


@composite_implicit("soft_margin_loss")
def soft_margin_loss_composite(self, target, reduction=1):
    return reduce_loss(F.log1p(F.exp(-(target * self))), reduction)


@composite_implicit("hinge_embedding_loss")
def hinge_embedding_loss_composite(self, target, margin=1.0, reduction=1):
    zeros = F.zeros_like(self)
    positive = F.where(target != -1, self, zeros)
    negative = F.where(target != 1, (margin - self).clamp(min=0), zeros)
    return reduce_loss(positive + negative, reduction)


@composite_implicit("margin_ranking_loss")
def margin_ranking_loss_composite(input1, input2, target, margin=0.0, reduction=1):
    return reduce_loss((-target * (input1 - input2) + margin).clamp(min=0), reduction)


@composite_implicit("cosine_embedding_loss")
def cosine_embedding_loss_composite(input1, input2, target, margin=0.0, reduction=1):
    if input1.dim() - target.dim() != 1:
        raise RuntimeError(
            f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found "
            f"inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    dim = target.dim()
    tiny = 1e-12
    product = (input1 * input2).sum(dim)
    squares = ((input1 * input1).sum(dim) + tiny) * ((input2 * input2).sum(dim) + tiny)
    cosine = product / squares.sqrt()
    zeros = F.zeros_like(cosine)
    positive = F.where(target == 1, 1 - cosine, zeros)
    negative = F.where(target == -1, (cosine - margin).clamp(min=0), zeros)
    return reduce_loss(positive + negative, reduction)


@composite_implicit("triplet_margin_loss")
def triplet_margin_loss_composite(
    anchor, positive, negative, margin=1.0, p=2.0, eps=1e-06, swap=False, reduction=1
):
    sizes = {anchor.dim(), positive.dim(), negative.dim()}
    if len(sizes) != 1:
        raise RuntimeError(
            f"The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and "
            f"negative {negative.dim()}D inputs"
        )
    near = F.pairwise_distance(anchor, positive, p, eps)
    far = F.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = F.minimum(far, F.pairwise_distance(positive, negative, p, eps))
    return reduce_loss((margin + near - far).clamp(min=0), reduction)


@composite_implicit("pairwise_distance")
def pairwise_distance_composite(x1, x2, p=2.0, eps=1e-06, keepdim=False):
    return F.norm(x1 - x2 + eps, p, [-1], keepdim)


@composite_implicit("cosine_similarity")
def cosine_similarity_composite(x1, x2, dim=1, eps=1e-08):
    dtype = promote_types(x1.dtype, x2.dtype)
    if not dtype.is_floating_point:
        raise RuntimeError(
            f"cosine_similarity(): expected common dtype to be floating point, yet common dtype "
            f"is {dtype}"
        )
    shape = broadcast_shapes(tuple(x1.shape), tuple(x2.shape))
    x1, x2 = x1.to(dtype).expand(shape), x2.to(dtype).expand(shape)
    first = F.norm(x1, 2, [dim], True)
    second = F.norm(x2, 2, [dim], True)
    # The bound acts on values only: below it the gradient is that of the norm.
    first = first + (first.detach().clamp(min=eps) - first.detach())
    second = second + (second.detach().clamp(min=eps) - second.detach())
    return ((x1 / first) * (x2 / second)).sum(dim)


@composite_implicit("pdist")
def pdist_composite(self, p=2.0):
    if self.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.dim()}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    rows, columns = F.triu_indices(
        self.shape[0], self.shape[0], 1, device=self.device
    ).unbind(0)
    return F.norm(self.index_select(0, rows) - self.index_select(0, columns), p, [-1])


# ---------------------------------------------------------------- connectionist temporal


def _ctc(log_probs, targets, input_lengths, target_lengths, lengths, blank, reduction, zero_infinity):
    """Return the loss; the lengths are lists or tensors, `lengths` those of the targets as a tensor."""
    batched = log_probs.dim() == 3
    logs = log_probs if batched else log_probs.unsqueeze(1)
    loss = F._ctc_loss(logs, targets, input_lengths, target_lengths, blank, zero_infinity)[0]
    if not batched:
        loss, lengths = loss.squeeze(0), lengths[0]
    if zero_infinity:
        loss = F.where(loss == float("inf"), F.zeros_like(loss), loss)
    if reduction == 1:
        lengths = F.clamp(lengths, min=1).to(loss.dtype)
        return (loss / lengths.to(loss.device)).mean()
    return loss.sum() if reduction == 2 else loss


@composite_implicit("ctc_loss.IntList")
def ctc_loss_composite(
    log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False
):
    lengths = tensor(target_lengths, dtype=int64)
    return _ctc(log_probs, targets, input_lengths, target_lengths, lengths, blank, reduction, zero_infinity)


@composite_implicit("ctc_loss.Tensor")
def ctc_loss_tensor_composite(
    log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False
):
    given = [lengths.reshape(-1) for lengths in (input_lengths, target_lengths)]
    if all(has_elements(lengths) for lengths in given):
        given = [lengths.tolist() for lengths in given]
    return _ctc(log_probs, targets, *given, target_lengths.reshape(-1), blank, reduction, zero_infinity)


# ---------------------------------------------------------------- distances of all pairs

# Differences of all pairs that a derivative may hold at once.
MOST_DIFFERENCES = 1 << 22


@composite_implicit("cdist")
def cdist_composite(x1, x2, p=2.0, compute_mode=None):
    for name, x in (("x1", x1), ("x2", x2)):
        if x.dim() < 2:
            raise RuntimeError(
                f"cdist(): {name} must have rows and columns, got {x.dim()} dimension(s); "
                f"pass {name}.unsqueeze(0) for a single row"
            )
        if not x.is_floating_point():
            raise RuntimeError(
                f"cdist(): only floating-point dtypes are supported, {name} got: "
                f"{x.dtype.scalar_name}"
            )
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"cdist(): x1 and x2 must have the same number of columns, got {x1.shape[-1]} and "
            f"{x2.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError(f"cdist(): p must be non-negative, got {p}")
    if compute_mode not in (None, 0, 1, 2):
        raise RuntimeError(f"cdist(): possible modes: 0, 1, 2, but was: {compute_mode}")
    batch = broadcast_shapes(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))
    x1 = x1.expand([*batch, *x1.shape[-2:]])
    x2 = x2.expand([*batch, *x2.shape[-2:]])
    return F._cdist_forward(x1, x2, p, compute_mode)


@composite_implicit("_cdist_backward")
def _cdist_backward_composite(grad, x1, x2, p, cdist):
    if p == 0.0 or 0 in x1.shape or 0 in x2.shape:
        return F.zeros_like(x1)
    if p == 2.0 and x1.numel() * x2.shape[-2] > MOST_DIFFERENCES:
        weight = F.where(cdist != 0, grad / cdist, 0.0)
        return weight.sum(-1, keepdim=True) * x1 - F.matmul(weight, x2)
    return along_slopes(grad.unsqueeze(-1), x1, x2, p, cdist).sum(-2)


def along_slopes(change, x1, x2, p, distance):
    """Return `change` times the derivative of each distance to each coordinate of ``x1 - x2``.

    Where a distance has no derivative the product is 0, also if the change is infinite there.
    """
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    distance = distance.unsqueeze(-1)
    if p == 1.0:
        return change * F.sign(difference)
    if p == float("inf"):
        return change * F.sign(difference) * (F.abs(difference) == distance)
    apart = distance != 0
    if p < 2.0:
        apart = F.logical_and(apart, difference != 0)
    distance = F.where(apart, distance, 1.0)
    if p == 2.0:
        return F.where(apart, change * (difference / distance), 0.0)
    size = F.where(apart, F.abs(difference), 1.0)
    slope = F.sign(difference) * F.pow(size, p - 1.0) / F.pow(distance, p - 1.0)
    return F.where(apart, change * slope, 0.0)
