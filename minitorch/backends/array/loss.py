"""Kernels of losses.

A `reduction` is 0 for none, 1 for the mean and 2 for the sum.
"""

from __future__ import annotations

from math import prod

from minitorch.backends.array.common import contiguous, is_low_precision
from minitorch.backends.array.precision import float_kernel, widen
from minitorch.backends.array.registry import array_kernel

NONE, MEAN, SUM = 0, 1, 2


def _reduce(xp, values, reduction):
    if reduction == NONE:
        return values
    total = xp.add.reduce(values, axis=None)
    if reduction == SUM:
        return total
    return total / total.dtype.type(values.size)


def _spread(grad_output, reduction, size):
    """Return the gradient of each element, given that of the reduced loss."""
    if reduction == MEAN:
        return grad_output / grad_output.dtype.type(size)
    return grad_output


# ---------------------------------------------------------------- negative log likelihood


def _class_positions(xp, self, target, ignore_index):
    """Return flat positions of the target classes, the targets, and which to ignore (or None).

    `self` is (batch, classes, *rest), `target` (batch, *rest).
    """
    batch, classes = self.shape[:2]
    rest = prod(self.shape[2:])
    if target.dtype.kind not in "iu":
        raise ValueError("targets must be integers")
    target = target.astype(xp.int64, copy=False).reshape(batch, rest)
    ignored = None
    if target.size:
        unusual = 0 <= ignore_index < classes
        if unusual or int(target.view(xp.uint64).max()) >= classes:
            ignored = target == ignore_index
            target = xp.where(ignored, 0, target)
            if int(target.view(xp.uint64).max()) >= classes:
                wrong = target[(target < 0) | (target >= classes)]
                raise IndexError(
                    f"nll_loss: Target {int(wrong[0])} is out of bounds. Classes are 0 to "
                    f"{classes - 1}, and ignore_index is {ignore_index}."
                )
            if not ignored.any():
                ignored = None
    if rest == 1:
        positions = target[:, 0] + xp.arange(0, batch * classes, classes)
        return positions.reshape(batch, 1), target, ignored
    start = xp.arange(0, batch * classes, classes)[:, None]
    return (target + start) * rest + xp.arange(rest), target, ignored


def _class_weights(xp, weight, target, ignored, dtype):
    """Return the weight of each target, or None where all are 1."""
    if weight is None and ignored is None:
        return None
    weights = xp.ones(target.shape, dtype) if weight is None else weight[target]
    if ignored is not None:
        weights = xp.where(ignored, dtype.type(0), weights)
    return weights


def _check_nll(self, target, weight, classes):
    if target.shape != (self.shape[0], *self.shape[2:]) or (
        weight is not None and (weight.shape != (classes,) or weight.dtype != self.dtype)
    ):
        raise ValueError("shapes do not fit")


def _nll_forward(xp, self, target, weight, reduction, ignore_index):
    _check_nll(self, target, weight, self.shape[1])
    dtype = self.dtype
    positions, target_rows, ignored = _class_positions(xp, self, target, ignore_index)
    losses = contiguous(xp, self).reshape(-1)[positions]
    weights = _class_weights(xp, weight, target_rows, ignored, dtype)
    if weights is not None:
        losses = xp.where(weights == 0, dtype.type(0), losses * weights)
    xp.negative(losses, out=losses)
    zero = xp.zeros((), dtype)
    if reduction == NONE:
        return losses.reshape(target.shape), zero
    total_weight = dtype.type(losses.size) if weights is None else xp.add.reduce(weights, None)
    total = xp.add.reduce(losses, axis=None)
    if reduction == MEAN:
        total = total / total_weight
    return total, total_weight


@array_kernel("nll_loss_forward")
@float_kernel
def nll_loss_forward_kernel(xp, self, target, weight, reduction, ignore_index):
    if self.ndim == 1:
        if target.ndim > 1 or target.size != 1:
            raise ValueError("shapes do not fit")
        loss, total = _nll_forward(
            xp, self[None], target.reshape(1), weight, reduction, ignore_index
        )
        return loss.reshape(target.shape) if reduction == NONE else loss, total
    if self.ndim != 2:
        raise ValueError("shapes do not fit")
    return _nll_forward(xp, self, target, weight, reduction, ignore_index)


@array_kernel("nll_loss2d_forward")
@float_kernel
def nll_loss2d_forward_kernel(xp, self, target, weight, reduction, ignore_index):
    if self.ndim != 4:
        raise ValueError("shapes do not fit")
    return _nll_forward(xp, self, target, weight, reduction, ignore_index)


def _nll_backward(
    xp, grad_output, self, target, weight, reduction, ignore_index, total_weight
):
    positions, target_rows, ignored = _class_positions(xp, self, target, ignore_index)
    weights = _class_weights(xp, weight, target_rows, ignored, self.dtype)
    grad = -grad_output
    if reduction == MEAN:
        grad = grad / total_weight
    elif reduction == NONE:
        grad = grad.reshape(positions.shape)
    if weights is not None:
        grad = xp.where(weights == 0, self.dtype.type(0), grad * weights)
    result = xp.zeros(self.shape, self.dtype)
    result.reshape(-1)[positions] = grad
    return result


@array_kernel("nll_loss_backward")
def nll_loss_backward_kernel(
    xp, grad_output, self, target, weight, reduction, ignore_index, total_weight
):
    if is_low_precision(self.dtype):
        wide = [widen(a) for a in (grad_output, self)]
        result = nll_loss_backward_kernel(
            xp, *wide, target, widen(weight), reduction, ignore_index, widen(total_weight)
        )
        return result.astype(self.dtype)
    if self.ndim == 1:
        return _nll_backward(
            xp, grad_output, self[None], target.reshape(1), weight, reduction, ignore_index,
            total_weight,
        )[0]  # fmt: skip
    return _nll_backward(
        xp, grad_output, self, target, weight, reduction, ignore_index, total_weight
    )


@array_kernel("nll_loss2d_backward")
def nll_loss2d_backward_kernel(
    xp, grad_output, self, target, weight, reduction, ignore_index, total_weight
):
    if is_low_precision(self.dtype):
        wide = [widen(a) for a in (grad_output, self)]
        result = nll_loss2d_backward_kernel(
            xp, *wide, target, widen(weight), reduction, ignore_index, widen(total_weight)
        )
        return result.astype(self.dtype)
    return _nll_backward(
        xp, grad_output, self, target, weight, reduction, ignore_index, total_weight
    )


# ---------------------------------------------------------------- regression


def _widest(xp, a, b):
    """Return both arrays in their common type."""
    if a.dtype == b.dtype:
        return a, b
    dtype = xp.promote_types(a.dtype, b.dtype)
    return a.astype(dtype, copy=False), b.astype(dtype, copy=False)


@array_kernel("mse_loss")
@float_kernel
def mse_loss_kernel(xp, self, target, reduction=1):
    difference = xp.subtract(*_widest(xp, self, target))
    if difference.dtype.kind != "f":
        raise ValueError("not a floating type")
    if reduction == NONE:
        return difference * difference
    flat = contiguous(xp, difference).reshape(-1)
    total = xp.dot(flat, flat)
    return total if reduction == SUM else total / total.dtype.type(flat.size)


@array_kernel("mse_loss_backward")
@float_kernel
def mse_loss_backward_kernel(xp, grad_output, self, target, reduction):
    difference = xp.subtract(*_widest(xp, self, target))
    factor = 2.0 / difference.size if reduction == MEAN and difference.size else 2.0
    return difference * (grad_output * grad_output.dtype.type(factor))


@array_kernel("smooth_l1_loss")
@float_kernel
def smooth_l1_loss_kernel(xp, self, target, reduction=1, beta=1.0):
    distance = xp.absolute(self - target)
    if beta > 0:
        quadratic = distance * distance * (0.5 / beta)
        distance = xp.where(distance < beta, quadratic, distance - 0.5 * beta)
    return _reduce(xp, distance, reduction)


@array_kernel("smooth_l1_loss_backward")
@float_kernel
def smooth_l1_loss_backward_kernel(xp, grad_output, self, target, reduction, beta):
    difference = self - target
    slope = xp.sign(difference) if beta == 0 else xp.clip(difference * (1.0 / beta), -1.0, 1.0)
    return slope * _spread(grad_output, reduction, difference.size)


@array_kernel("huber_loss")
@float_kernel
def huber_loss_kernel(xp, self, target, reduction=1, delta=1.0):
    if not delta > 0:
        raise ValueError("delta must be positive")
    distance = xp.absolute(self - target)
    quadratic = distance * distance * 0.5
    losses = xp.where(distance <= delta, quadratic, (distance - 0.5 * delta) * delta)
    return _reduce(xp, losses, reduction)


@array_kernel("huber_loss_backward")
@float_kernel
def huber_loss_backward_kernel(xp, grad_output, self, target, reduction, delta):
    difference = self - target
    slope = xp.clip(difference, -delta, delta)
    return slope * _spread(grad_output, reduction, difference.size)


# ---------------------------------------------------------------- binary cross entropy


@array_kernel("binary_cross_entropy")
@float_kernel
def binary_cross_entropy_kernel(xp, self, target, weight=None, reduction=1):
    if self.shape != target.shape or self.dtype != target.dtype:
        raise ValueError("shapes differ")
    if self.size and not (float(self.min()) >= 0 and float(self.max()) <= 1):
        raise RuntimeError(
            "binary_cross_entropy: all elements of input should be between 0 and 1, but they "
            f"range from {float(self.min())} to {float(self.max())}"
        )
    # Logarithms are bounded below, so that 0 * -inf does not arise.
    low = self.dtype.type(-100)
    losses = (target - 1) * xp.maximum(xp.log1p(-self), low)
    losses -= target * xp.maximum(xp.log(self), low)
    if weight is not None:
        losses = losses * weight
    return _reduce(xp, losses, reduction)


@array_kernel("binary_cross_entropy_backward")
@float_kernel
def binary_cross_entropy_backward_kernel(
    xp, grad_output, self, target, weight=None, reduction=1
):
    spread = xp.maximum((1 - self) * self, self.dtype.type(1e-12))
    result = (self - target) / spread
    if weight is not None:
        result = result * weight
    return result * _spread(grad_output, reduction, self.size)


# ---------------------------------------------------------------- connectionist temporal


def _ctc_lengths(lengths):
    return [int(n) for n in lengths]


def _ctc_targets(xp, targets, target_lengths, blank):
    """Return the targets with blanks between: (batch, 2 * longest + 1), and `longest`."""
    batch = len(target_lengths)
    longest = max(target_lengths, default=0)
    extended = xp.full((batch, 2 * longest + 1), blank, xp.int64)
    offset = 0
    for b, length in enumerate(target_lengths):
        row = targets[b, :length] if targets.ndim == 2 else targets[offset : offset + length]
        extended[b, 1 : 2 * length : 2] = row
        offset += length
    return extended


def _ctc_skips(xp, extended, blank):
    """Return where a path may skip the blank before a label: (batch, 2 * longest + 1)."""
    skips = xp.zeros(extended.shape, bool)
    skips[:, 2:] = (extended[:, 2:] != blank) & (extended[:, 2:] != extended[:, :-2])
    return skips


def _log_add(xp, a, b):
    return xp.logaddexp(a, b)


@array_kernel("_ctc_loss", "_ctc_loss.Tensor")
@float_kernel
def ctc_loss_kernel(
    xp, log_probs, targets, input_lengths, target_lengths, blank=0, zero_infinity=False
):
    """Sum over all paths by the forward recursion (Graves et al., 2006)."""
    steps, batch, classes = log_probs.shape
    input_lengths, target_lengths = _ctc_lengths(input_lengths), _ctc_lengths(target_lengths)
    if not 0 <= blank < classes or len(input_lengths) != batch or len(target_lengths) != batch:
        raise ValueError("bad lengths")
    if max(input_lengths, default=0) > steps:
        raise ValueError("input too long")
    dtype = log_probs.dtype
    log_probs = log_probs.astype(xp.float64, copy=False)
    extended = _ctc_targets(xp, targets, target_lengths, blank)
    skips = _ctc_skips(xp, extended, blank)
    width = extended.shape[1]
    rows = xp.arange(batch)
    alpha = xp.full((batch, steps, width), -xp.inf, log_probs.dtype)
    if steps:
        alpha[:, 0, 0] = log_probs[0, :, blank]
        if width > 1:
            has_label = xp.asarray(target_lengths) > 0
            first = log_probs[0, rows, extended[:, 1]]
            alpha[:, 0, 1] = xp.where(has_label, first, -xp.inf)
    for t in range(1, steps):
        previous = alpha[:, t - 1]
        total = previous.copy()
        total[:, 1:] = _log_add(xp, total[:, 1:], previous[:, :-1])
        jumped = xp.where(skips[:, 2:], previous[:, :-2], -xp.inf)
        total[:, 2:] = _log_add(xp, total[:, 2:], jumped)
        alpha[:, t] = total + xp.take_along_axis(log_probs[t], extended, axis=1)
    loss = xp.empty(batch, log_probs.dtype)
    for b in range(batch):
        length, last = input_lengths[b], 2 * target_lengths[b]
        if length == 0:
            loss[b] = 0.0 if last == 0 else xp.inf
        elif last == 0:
            loss[b] = -alpha[b, length - 1, 0]
        else:
            ends = alpha[b, length - 1, last - 1 : last + 1]
            loss[b] = -_log_add(xp, ends[0], ends[1])
    return loss.astype(dtype, copy=False), alpha.astype(dtype, copy=False)


@array_kernel("_ctc_loss_backward", "_ctc_loss_backward.Tensor")
def ctc_loss_backward_kernel(
    xp, grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha,
    blank, zero_infinity=False,
):  # fmt: skip
    """Return exp(log_probs) minus the share of the paths that pass each label and step."""
    steps, batch, classes = log_probs.shape
    dtype = log_probs.dtype
    log_probs, neg_log_likelihood, log_alpha = (
        a.astype(xp.float64) for a in (log_probs, neg_log_likelihood, log_alpha)
    )
    input_lengths, target_lengths = _ctc_lengths(input_lengths), _ctc_lengths(target_lengths)
    extended = _ctc_targets(xp, targets, target_lengths, blank)
    skips = _ctc_skips(xp, extended, blank)
    width = extended.shape[1]
    result = xp.zeros(log_probs.shape, log_probs.dtype)
    for b in range(batch):
        length, states = input_lengths[b], 2 * target_lengths[b] + 1
        if length == 0:
            continue
        nll = neg_log_likelihood[b]
        if zero_infinity and not xp.isfinite(nll):
            continue
        labels = extended[b, :states]
        beta = xp.full((length, width + 2), -xp.inf, log_probs.dtype)
        at = log_probs[:length, b, labels]
        beta[length - 1, max(states - 2, 0) : states] = at[-1, max(states - 2, 0) :]
        skip_to = xp.zeros(states, bool)
        skip_to[: max(states - 2, 0)] = skips[b, 2:states]
        for t in range(length - 2, -1, -1):
            following = beta[t + 1]
            total = _log_add(xp, following[:states], following[1 : states + 1])
            jumped = xp.where(skip_to, following[2 : states + 2], -xp.inf)
            beta[t, :states] = _log_add(xp, total, jumped) + at[t]
        paths = log_alpha[b, :length, :states] + beta[:, :states]
        summed = xp.full((length, classes), -xp.inf, log_probs.dtype)
        for s in range(states):
            label = int(labels[s])
            summed[:, label] = _log_add(xp, summed[:, label], paths[:, s])
        own = log_probs[:length, b]
        share = xp.exp(own) - xp.exp(summed + nll - own)
        result[:length, b] = share * grad[b]
    return result.astype(dtype, copy=False)


# ---------------------------------------------------------------- distances of all pairs

# Differences held at a time, so that they stay in the cache.
_CDIST_BLOCK = 1 << 18
# With more rows than these a Euclidean distance is ``|x|^2 - 2 x y + |y|^2``, if not told otherwise.
_MOST_ROWS = 25


@array_kernel("_cdist_forward")
@float_kernel
def _cdist_forward_kernel(xp, x1, x2, p, compute_mode):
    if x1.shape[:-2] != x2.shape[:-2] or x1.shape[-1] != x2.shape[-1]:
        raise ValueError("batches or columns differ")
    batch, (rows, columns), others = x1.shape[:-2], x1.shape[-2:], x2.shape[-2]
    mode = compute_mode or 0
    if p == 2.0 and (mode == 1 or (mode == 0 and max(rows, others) > _MOST_ROWS)):
        squares = xp.matmul(x1, xp.swapaxes(x2, -2, -1))
        squares *= -2
        squares += xp.einsum("...i,...i->...", x1, x1)[..., None]
        squares += xp.einsum("...i,...i->...", x2, x2)[..., None, :]
        xp.maximum(squares, 0, out=squares)
        return xp.sqrt(squares, out=squares)
    count = prod(batch)
    result = xp.empty((count, rows, others), x1.dtype)
    x1, x2 = x1.reshape(count, rows, columns), x2.reshape(count, others, columns)
    step = max(1, _CDIST_BLOCK // max(1, others * columns))
    for place in range(result.shape[0]):
        for start in range(0, rows, step):
            difference = x1[place, start : start + step, None] - x2[place, None]
            result[place, start : start + step] = _norm(xp, difference, p)
    return result.reshape(*batch, rows, others)


def _norm(xp, difference, p):
    if p == 0.0:
        return xp.add.reduce(difference != 0, axis=-1)
    if p == 2.0:
        return xp.sqrt(xp.einsum("ijk,ijk->ij", difference, difference))
    xp.absolute(difference, out=difference)
    if p == 1.0:
        return xp.add.reduce(difference, axis=-1)
    if p == float("inf"):
        return xp.maximum.reduce(difference, axis=-1, initial=0.0)
    return xp.add.reduce(difference**p, axis=-1) ** (1.0 / p)
