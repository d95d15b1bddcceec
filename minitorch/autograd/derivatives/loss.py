"""Derivatives of losses, and of their derivatives."""

from __future__ import annotations

from minitorch.autograd.derivatives.registry import derivative
from minitorch.ops import functions as F
from minitorch.ops.composite.loss import MOST_DIFFERENCES, along_slopes


def _reduced(tensor, reduction):
    if reduction == 1:
        return tensor.mean()
    return tensor.sum() if reduction == 2 else tensor


def _share(reduction, count):
    """Return what each element's gradient is scaled by."""
    return 1.0 / count if reduction == 1 and count else 1.0


# ---------------------------------------------------------------- negative log likelihood

derivative(
    "nll_loss_forward",
    self=lambda grads, self, target, weight, reduction, ignore_index, total_weight: (
        None
        if grads[0] is None
        else F.nll_loss_backward(
            grads[0], self, target, weight, reduction, ignore_index, total_weight
        )
    ),
)
derivative(
    "nll_loss_backward",
    grad_output=lambda grad, target, weight, reduction, ignore_index: F.nll_loss(
        grad, target, weight, reduction, ignore_index
    ),
    result="linear",
)
derivative(
    "nll_loss2d_forward",
    self=lambda grads, self, target, weight, reduction, ignore_index, total_weight: (
        None
        if grads[0] is None
        else F.nll_loss2d_backward(
            grads[0], self, target, weight, reduction, ignore_index, total_weight
        )
    ),
)
derivative(
    "nll_loss2d_backward",
    grad_output=lambda grad, target, weight, reduction, ignore_index: F.nll_loss2d(
        grad, target, weight, reduction, ignore_index
    ),
    result="linear",
)


# ---------------------------------------------------------------- regression

derivative(
    "mse_loss",
    self=lambda grad, self, target, reduction: F.mse_loss_backward(grad, self, target, reduction),
    target=lambda grad, self, target, reduction: F.mse_loss_backward(
        grad, target, self, reduction
    ),
)


def mse_backward_of_self(grad, grad_output, self, target, reduction):
    return grad * grad_output * (2.0 * _share(reduction, (self - target).numel()))


derivative(
    "mse_loss_backward",
    grad_output=lambda grad, self, target, reduction: _reduced(
        grad * (self - target) * 2.0, reduction
    ),
    self=mse_backward_of_self,
    target=lambda grad, grad_output, self, target, reduction: -mse_backward_of_self(
        grad, grad_output, self, target, reduction
    ),
)


def smooth_l1_curvature(grad, grad_output, self, target, reduction, beta):
    difference = self - target
    product = grad * grad_output * _share(reduction, difference.numel())
    return F.where(difference.abs() < beta, product / beta if beta else product, 0.0)


derivative(
    "smooth_l1_loss",
    self=lambda grad, self, target, reduction, beta: F.smooth_l1_loss_backward(
        grad, self, target, reduction, beta
    ),
    target=lambda grad, self, target, reduction, beta: F.smooth_l1_loss_backward(
        grad, target, self, reduction, beta
    ),
)
derivative(
    "smooth_l1_loss_backward",
    grad_output=lambda grad, self, target, reduction, beta: _reduced(
        F.smooth_l1_loss_backward(grad, self, target, 0, beta), reduction
    ),
    self=smooth_l1_curvature,
    target=lambda grad, grad_output, self, target, reduction, beta: -smooth_l1_curvature(
        grad, grad_output, self, target, reduction, beta
    ),
)


def huber_curvature(grad, grad_output, self, target, reduction, delta):
    difference = self - target
    product = grad * grad_output * _share(reduction, difference.numel())
    return F.where(difference.abs() < delta, product, 0.0)


derivative(
    "huber_loss",
    self=lambda grad, self, target, reduction, delta: F.huber_loss_backward(
        grad, self, target, reduction, delta
    ),
    target=lambda grad, self, target, reduction, delta: F.huber_loss_backward(
        grad, target, self, reduction, delta
    ),
)
derivative(
    "huber_loss_backward",
    grad_output=lambda grad, self, target, reduction, delta: _reduced(
        F.huber_loss_backward(grad, self, target, 0, delta), reduction
    ),
    self=huber_curvature,
    target=lambda grad, grad_output, self, target, reduction, delta: -huber_curvature(
        grad, grad_output, self, target, reduction, delta
    ),
)


# ---------------------------------------------------------------- binary cross entropy


def _weighted(tensor, weight):
    return tensor if weight is None else tensor * weight


def bce_of_target(grad, self, target, weight, reduction):
    logit = _weighted(F.log1p(-self) - F.log(self), weight)
    return logit.clamp(-100.0, 100.0) * grad * _share(reduction, self.numel())


def bce_curvature(grad, grad_output, self, target, weight, reduction):
    # d/dx (x - t) / (x (1 - x)) = (x^2 - 2 t x + t) / (x (1 - x))^2
    spread = ((1 - self) * self).clamp(min=1e-12)
    slope = _weighted((self * self - 2 * target * self + target) / (spread * spread), weight)
    return grad * grad_output * slope * _share(reduction, self.numel())


def bce_backward_of_target(grad, grad_output, self, target, weight, reduction):
    spread = ((1 - self) * self).clamp(min=1e-12)
    return -_weighted(grad * grad_output / spread, weight) * _share(reduction, self.numel())


derivative(
    "binary_cross_entropy",
    self=lambda grad, self, target, weight, reduction: F.binary_cross_entropy_backward(
        grad, self, target, weight, reduction
    ),
    target=bce_of_target,
)
derivative(
    "binary_cross_entropy_backward",
    grad_output=lambda grad, self, target, weight, reduction: _reduced(
        F.binary_cross_entropy_backward(grad, self, target, weight, 0), reduction
    ),
    self=bce_curvature,
    target=bce_backward_of_target,
)


# ---------------------------------------------------------------- connectionist temporal

derivative(
    "_ctc_loss",
    log_probs=lambda grads, log_probs, targets, input_lengths, target_lengths, result0, result1,
    blank, zero_infinity: None
    if grads[0] is None
    else F._ctc_loss_backward(
        grads[0], log_probs, targets, input_lengths, target_lengths, result0, result1, blank,
        zero_infinity,
    ),
)  # fmt: skip
derivative(
    "_ctc_loss.Tensor",
    log_probs=lambda grads, log_probs, targets, input_lengths, target_lengths, result0, result1,
    blank, zero_infinity: None
    if grads[0] is None
    else F._ctc_loss_backward(
        grads[0], log_probs, targets, input_lengths, target_lengths, result0, result1, blank,
        zero_infinity,
    ),
)  # fmt: skip


# ---------------------------------------------------------------- distances of all pairs


def cdist_tangent(x1_p, x1_t, x2_p, x2_t, p, result):
    if p == 0.0:
        return F.zeros_like(result)  # a number of coordinates, whatever their size
    if p == 2.0 and x1_p.numel() * x2_p.shape[-2] > MOST_DIFFERENCES:
        own = (x1_p * x1_t).sum(-1).unsqueeze(-1) + (x2_p * x2_t).sum(-1).unsqueeze(-2)
        growth = own - F.matmul(x1_p, x2_t.mT) - F.matmul(x1_t, x2_p.mT)
        return F.where(result != 0, growth / result, 0.0)
    change = x1_t.unsqueeze(-2) - x2_t.unsqueeze(-3)
    return along_slopes(change, x1_p, x2_p, p, result).sum(-1)


derivative(
    "_cdist_forward",
    x1=lambda grad, x1, x2, p, result: F._cdist_backward(grad, x1, x2, p, result),
    x2=lambda grad, x1, x2, p, result: F._cdist_backward(grad.mT, x2, x1, p, result.mT),
    result=cdist_tangent,
)
