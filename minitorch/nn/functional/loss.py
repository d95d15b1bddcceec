"""Losses.

`size_average` and `reduce` are PyTorch's deprecated ways to say `reduction`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from minitorch.nn.functional.reduction import number_of, resolve
from minitorch.ops import functions as F
from minitorch.ops.shapes.common import broadcast_shapes
from minitorch.tensor.tensor import Tensor
from minitorch.tensor.wrapper import has_values, innermost

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss",
    "cross_entropy", "ctc_loss", "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss",
    "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "poisson_nll_loss",
    "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip

_cross_entropy = F.cross_entropy_loss


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the cross entropy of `target` and the softmax of `input`.

    Parameters
    ----------
    input : Tensor, shape (batch, classes, ...) or (classes,)
        Unnormalized logarithms of probabilities.
    target : Tensor
        Class numbers, shape (batch, ...), or probabilities of the shape of `input`.
    weight : Tensor, optional, shape (classes,)
    ignore_index : int
        A class number that does not count.
    reduction : {"mean", "sum", "none"}
    label_smoothing : float
        The share of the uniform distribution mixed into the target.
    """
    if reduction == "mean" and size_average is None and reduce is None:
        number = 1
    else:
        number = resolve(size_average, reduce, reduction)
    if input.dim() > 1:
        if not target.dim() or input.shape[0] != target.shape[0]:
            batch = target.shape[0] if target.dim() else 0
            raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({batch}).")
    elif target.dim() == 1 and target.shape[0] != 1 and target.shape != input.shape:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
    return _cross_entropy(input, target, weight, number, ignore_index, label_smoothing)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative of the elements of `input` at the classes `target`."""
    number = resolve(size_average, reduce, reduction)
    return F.nll_loss_nd(input, target, weight, number, ignore_index)


def _warn_sizes(name: str, input: Tensor, target: Tensor) -> None:
    if target.shape != input.shape:
        warnings.warn(
            f"Using a target size (torch.Size({list(target.shape)})) that is different to the "
            f"input size (torch.Size({list(input.shape)})). This will likely lead to incorrect "
            f"results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def _expanded(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    if input.shape == target.shape:
        return input, target
    shape = broadcast_shapes(tuple(input.shape), tuple(target.shape))
    return input.expand(shape), target.expand(shape)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the squared differences, by default their mean.

    Parameters
    ----------
    weight : Tensor, optional
        A factor for each squared difference; the mean is then a weighted one.
    """
    number = resolve(size_average, reduce, reduction)
    _warn_sizes("mse_loss", input, target)
    input, target = _expanded(input, target)
    if weight is None:
        return F.mse_loss(input, target, number)
    return _weighted(F.mse_loss(input, target, 0), weight, number, input)


def _weighted(losses: Tensor, weight: Tensor, number: int, input: Tensor) -> Tensor:
    if weight.shape != input.shape:
        raise ValueError("Inputs and weights must have the same size.")
    losses = losses * weight
    if number == 0:
        return losses
    return losses.sum() if number == 2 else losses.sum() / weight.sum()


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the absolute differences, by default their mean."""
    number = resolve(size_average, reduce, reduction)
    _warn_sizes("l1_loss", input, target)
    input, target = _expanded(input, target)
    if weight is None:
        return F.l1_loss(input, target, number)
    return _weighted(F.l1_loss(input, target, 0), weight, number, input)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Return squared differences below `beta`, absolute ones above, joined smoothly."""
    number = resolve(size_average, reduce, reduction)
    _warn_sizes("smooth_l1_loss", input, target)
    input, target = _expanded(input, target)
    if beta == 0.0:
        return F.l1_loss(input, target, number)
    return F.smooth_l1_loss(input, target, number, beta)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Return half squared differences up to `delta`, and `delta` times absolute ones above."""
    _warn_sizes("huber_loss", input, target)
    input, target = _expanded(input, target)
    number = number_of(reduction)
    if weight is None:
        return F.huber_loss(input, target, number, delta)
    return _weighted(F.huber_loss(input, target, 0, delta), weight, number, input)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the cross entropy of the probabilities `target` and `input`."""
    number = resolve(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size (torch.Size({list(target.shape)})) that is different to the "
            f"input size (torch.Size({list(input.shape)})) is deprecated. Please ensure they "
            "have the same size."
        )
    if weight is not None:
        weight = weight.expand(broadcast_shapes(tuple(target.shape), tuple(weight.shape)))
    return F.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the cross entropy of `target` and the sigmoid of `input`, without overflow.

    Parameters
    ----------
    pos_weight : Tensor, optional
        A factor for the loss of positive examples, one for each class.
    """
    number = resolve(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Target size (torch.Size({list(target.shape)})) must be the same as input size "
            f"(torch.Size({list(input.shape)}))"
        )
    return F.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return the divergence of `target` from the distribution with logarithms `input`.

    Parameters
    ----------
    reduction : {"mean", "batchmean", "sum", "none"}
        ``"batchmean"`` divides by the batch size, which is the mathematical definition.
    log_target : bool
        Whether `target` holds logarithms too.
    """
    if size_average is not None or reduce is not None:
        number = resolve(size_average, reduce, reduction)
    elif reduction == "batchmean":
        number = 2
    else:
        if reduction == "mean":
            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support "
                "size.'batchmean' divides only by the batch size, and aligns with the KL div "
                "math definition.'mean' will be changed to behave the same as 'batchmean' in the "
                "next major release.",
                stacklevel=2,
            )
        number = number_of(reduction)
    loss = F.kl_div(input, target, number, log_target=log_target)
    if reduction == "batchmean" and input.dim() != 0:
        loss = loss / input.size()[0]
    return loss


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log likelihood of `target` under Poisson distributions.

    Parameters
    ----------
    log_input : bool
        Whether `input` holds logarithms of the rates.
    full : bool
        Add Stirling's approximation of the constant term.
    """
    number = resolve(size_average, reduce, reduction)
    return F.poisson_nll_loss(input, target, log_input, full, eps, number)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log likelihood of `target` under normal distributions.

    Parameters
    ----------
    input, var : Tensor
        Expectations and variances; `var` may be a float.
    full : bool
        Add the constant term.
    eps : float
        The least variance.

    Notes
    -----
    Exactly one dimension of `var` may have size 1 in place of the input's, or the last one may be left out.
    """
    if isinstance(var, int | float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * F.ones_like(input)
    elif has_values(var) and bool(innermost(var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif input.dim() != var.dim() or [v for v, n in zip(var.size(), input.size(), strict=True) if v != n] != [1]:
            raise ValueError(
                f"gaussian_nll_loss(): var is of incorrect size: {tuple(var.size())} for an input of size {tuple(input.size())}. "
                "One of its dimensions may have size 1 instead, or the last one may be left out."
            )
    number = number_of(reduction)
    # The bound acts on values only, as if it were set outside autograd.
    var = var + (var.detach().clamp(min=eps) - var.detach())
    loss = 0.5 * (F.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    if number == 1:
        return loss.mean()
    return loss.sum() if number == 2 else loss


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return 1 - cosine for pairs with target 1, and the cosine above `margin` for -1."""
    number = resolve(size_average, reduce, reduction)
    return F.cosine_embedding_loss(input1, input2, target, float(margin), number)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return `input` where `target` is 1, and ``max(0, margin - input)`` where it is -1."""
    number = resolve(size_average, reduce, reduction)
    return F.hinge_embedding_loss(input, target, float(margin), number)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return ``max(0, -target * (input1 - input2) + margin)``."""
    number = resolve(size_average, reduce, reduction)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            f"margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return F.margin_ranking_loss(input1, input2, target, float(margin), number)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return ``log(1 + exp(-target * input))``."""
    return F.soft_margin_loss(input, target, resolve(size_average, reduce, reduction))


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the hinge loss of the target class against each other class."""
    number = resolve(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return F.multi_margin_loss(input, target, p, margin, weight, number)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the hinge loss of each target class, up to the first -1, against the others."""
    return F.multilabel_margin_loss(input, target, resolve(size_average, reduce, reduction))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean over classes of binary cross entropies with logits."""
    number = resolve(size_average, reduce, reduction)
    loss = -(target * F.log_sigmoid(input) + (1 - target) * F.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    class_dim = input.dim() - 1
    loss = loss.sum(class_dim) / input.size(class_dim)
    if number == 1:
        return loss.mean()
    return loss.sum() if number == 2 else loss


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return how much nearer than `margin` the negative is, compared with the positive.

    Parameters
    ----------
    swap : bool
        Use the distance of positive and negative where that is smaller.
    """
    number = resolve(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return F.triplet_margin_loss(
        anchor, positive, negative, float(margin), float(p), eps, swap, number
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Return the triplet margin loss for any distance (the Euclidean one when omitted)."""
    number = number_of(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = F.pairwise_distance if distance_function is None else distance_function
    dims = {anchor.ndim, positive.ndim, negative.ndim}
    if len(dims) != 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and "
            f"negative {negative.ndim}D inputs"
        )
    near = distance(anchor, positive)
    far = distance(anchor, negative)
    if swap:
        far = F.minimum(far, distance(positive, negative))
    loss = (margin + near - far).clamp(min=0)
    if number == 1:
        return loss.mean()
    return loss.sum() if number == 2 else loss


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Return the negative log likelihood of label sequences (Graves et al., 2006).

    Parameters
    ----------
    log_probs : Tensor, shape (time, batch, classes)
    targets : Tensor, shape (batch, longest) or flat
    input_lengths, target_lengths : Tensor or sequence of int
    blank : int
    zero_infinity : bool
        Set infinite losses (inputs too short for their targets), and their gradients, to zero.
    """
    return F.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, number_of(reduction),
        zero_infinity,
    )  # fmt: skip
