"""Losses and their gradients."""

from __future__ import annotations

from minitorch._decomp.common import MEAN, NONE, decomposition, reduced, spread
from minitorch.ops import functions as F


@decomposition("mse_loss")
def mse_loss(self, target, reduction=MEAN):
    off = self - target
    return reduced(off * off, reduction)


@decomposition("mse_loss_backward")
def mse_loss_backward(grad_output, self, target, reduction):
    off = self - target
    return spread(grad_output, off, reduction) * 2.0 * off


@decomposition("smooth_l1_loss")
def smooth_l1_loss(self, target, reduction=MEAN, beta=1.0):
    off = F.abs(self - target)
    if beta == 0:
        return reduced(off, reduction)
    return reduced(F.where(off < beta, 0.5 * off * off / beta, off - 0.5 * beta), reduction)


@decomposition("huber_loss")
def huber_loss(self, target, reduction=MEAN, delta=1.0):
    off = F.abs(self - target)
    return reduced(F.where(off <= delta, 0.5 * off * off, delta * (off - 0.5 * delta)), reduction)


@decomposition("huber_loss_backward")
def huber_loss_backward(grad_output, self, target, reduction, delta):
    off = self - target
    return spread(grad_output, off, reduction) * F.clamp(off, -delta, delta)


@decomposition("binary_cross_entropy")
def binary_cross_entropy(self, target, weight=None, reduction=MEAN):
    loss = (target - 1) * F.clamp(F.log1p(-self), min=-100) - target * F.clamp(F.log(self), min=-100)
    return reduced(loss if weight is None else loss * weight, reduction)


@decomposition("binary_cross_entropy_backward")
def binary_cross_entropy_backward(grad_output, self, target, weight=None, reduction=MEAN):
    slope = (self - target) / F.clamp(self * (1 - self), min=1e-12)
    if weight is not None:
        slope = slope * weight
    return spread(grad_output, slope, reduction) * slope


def _class_dim(self):
    return 1 if self.dim() > 1 else 0


def _weights(self, weight):
    """Return the weight of each class, in the place of the classes."""
    shape = [1] * self.dim()
    shape[_class_dim(self)] = weight.shape[0]
    return F.reshape(weight, shape)


@decomposition("nll_loss_forward")
def nll_loss_forward(self, target, weight, reduction, ignore_index):
    dim = _class_dim(self)
    counts = target != ignore_index
    places = F.where(counts, target, 0).unsqueeze(dim)
    scores = self if weight is None else self * _weights(self, weight)
    loss = F.where(counts, -F.gather(scores, dim, places).squeeze(dim), 0)
    if reduction == NONE and self.dim() > 1:
        return loss, F.zeros([], dtype=self.dtype, device=self.device)
    if weight is None:
        total = F.sum(counts).to(self.dtype)
    else:
        each = F.gather(_weights(self, weight).expand(self.shape), dim, places).squeeze(dim)
        total = F.sum(F.where(counts, each, 0))
    if reduction == NONE:
        return loss, total
    return (F.sum(loss) / total if reduction == MEAN else F.sum(loss)), total


@decomposition("nll_loss_backward")
def nll_loss_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight):
    dim = _class_dim(self)
    counts = (target != ignore_index).unsqueeze(dim)
    places = F.where(counts, target.unsqueeze(dim), 0)
    grad = grad_output / total_weight if reduction == MEAN else grad_output
    if reduction == NONE and self.dim() > 1:
        grad = grad.unsqueeze(dim)
    minus = F.scatter(F.zeros_like(self), dim, places, -1.0)
    if weight is not None:
        minus = minus * _weights(self, weight)
    return F.where(counts, grad * minus, 0)
