"""Shapes, types and argument errors of losses."""

from __future__ import annotations

from minitorch.core.dtype import from_numpy_dtype
from minitorch.core.promotion import result_type_of_two
from minitorch.ops.shapes.activation import check_floating
from minitorch.ops.shapes.common import MetaArray, broadcast_shapes, check
from minitorch.ops.shapes.registry import shape


def _word(array) -> str:
    return from_numpy_dtype(array.dtype).scalar_name


def _nll(self, target, weight, reduction, name, classes):
    check_floating(self, name)
    check(
        target.dtype.kind in "iu",
        f"{name}(): expected target dtype to be Long or Byte, but got {_word(target)}",
    )
    check(
        weight is None or weight.shape == (classes,),
        f"{name}(): weight tensor should be defined either for all {classes} classes or no "
        f"classes but got weight tensor of shape: {list(getattr(weight, 'shape', ()))}",
    )
    check(
        weight is None or weight.dtype == self.dtype,
        f"{name}(): expected weight to have scalar type {_word(self)}",
    )
    total = MetaArray((), self.dtype)
    return MetaArray(target.shape if reduction == 0 else (), self.dtype), total


@shape("nll_loss_forward")
def nll_loss_forward_shape(self, target, weight, reduction, ignore_index):
    name = "nll_loss"
    check(
        self.ndim in (1, 2),
        f"{name}(): input tensor should be 1D or 2D, got shape {list(self.shape)}",
    )
    check(
        target.ndim <= 1,
        f"{name}(): 0D or 1D target tensor expected, multi-target not supported, got shape "
        f"{list(target.shape)}",
    )
    batch = self.shape[0] if self.ndim == 2 else 1
    fits = target.size == 1 if self.ndim == 1 else target.shape == (batch,)
    check(
        fits,
        f"{name}(): size mismatch (got input: {list(self.shape)}, target: {list(target.shape)}); "
        "there must be one target for each row of the input",
    )
    return _nll(self, target, weight, reduction, name, self.shape[-1])


@shape("nll_loss2d_forward")
def nll_loss2d_forward_shape(self, target, weight, reduction, ignore_index):
    name = "nll_loss2d"
    check(
        self.ndim == 4 and target.ndim == 3,
        f"{name}(): only batches of spatial inputs (4D) and targets (3D) are supported, got "
        f"shapes {list(self.shape)} and {list(target.shape)}",
    )
    check(
        target.shape == (self.shape[0], *self.shape[2:]),
        f"{name}(): size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})",
    )
    return _nll(self, target, weight, reduction, name, self.shape[1])


@shape("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward_shape(
    grad_output, self, target, weight, reduction, ignore_index, total_weight
):
    expected = target.shape if reduction == 0 else ()
    check(
        grad_output.shape == expected,
        f"nll_loss_backward(): expected grad_output of shape {expected}, got {grad_output.shape}",
    )
    return MetaArray(self.shape, self.dtype)


def _pair(self, target, name):
    """Check two operands that broadcast, and return their result."""
    result = broadcast_shapes(self.shape, target.shape)
    dtype = result_type_of_two(self, target)
    check(
        dtype.kind in "fV",
        f"{name}(): \"{name}\" not implemented for '{from_numpy_dtype(dtype).scalar_name}'; "
        "convert the input with .float() first",
        NotImplementedError,
    )
    return MetaArray(result, dtype)


def _reduced(result, reduction):
    return result if reduction == 0 else MetaArray((), result.dtype)


@shape("mse_loss")
def mse_loss_shape(self, target, reduction=1):
    return _reduced(_pair(self, target, "mse_loss"), reduction)


@shape("mse_loss_backward")
def mse_loss_backward_shape(grad_output, self, target, reduction):
    return _pair(self, target, "mse_loss_backward")


@shape("smooth_l1_loss")
def smooth_l1_loss_shape(self, target, reduction=1, beta=1.0):
    check(
        beta >= 0,
        f"smooth_l1_loss(): does not support negative values for beta, got {beta}",
    )
    return _reduced(_pair(self, target, "smooth_l1_loss"), reduction)


@shape("smooth_l1_loss_backward")
def smooth_l1_loss_backward_shape(grad_output, self, target, reduction, beta):
    return _pair(self, target, "smooth_l1_loss_backward")


@shape("huber_loss")
def huber_loss_shape(self, target, reduction=1, delta=1.0):
    check(
        delta > 0,
        f"huber_loss(): does not support non-positive values for delta, got {delta}",
    )
    return _reduced(_pair(self, target, "huber_loss"), reduction)


@shape("huber_loss_backward")
def huber_loss_backward_shape(grad_output, self, target, reduction, delta):
    return _pair(self, target, "huber_loss_backward")


@shape("binary_cross_entropy")
def binary_cross_entropy_shape(self, target, weight=None, reduction=1):
    name = "binary_cross_entropy"
    check_floating(self, name)
    check(
        self.shape == target.shape,
        f"{name}(): target has shape {list(target.shape)}, input {list(self.shape)}; they must be "
        "equal",
    )
    check(
        self.dtype == target.dtype,
        f"{name}(): Found dtype {_word(target)} but expected {_word(self)}",
    )
    return _reduced(MetaArray(self.shape, self.dtype), reduction)


@shape("binary_cross_entropy_backward")
def binary_cross_entropy_backward_shape(grad_output, self, target, weight=None, reduction=1):
    return MetaArray(self.shape, self.dtype)


@shape("_ctc_loss", "_ctc_loss.Tensor")
def ctc_loss_shape(
    log_probs, targets, input_lengths, target_lengths, blank=0, zero_infinity=False
):
    name = "ctc_loss"
    check_floating(log_probs, name)
    check(
        log_probs.ndim == 3,
        f"{name}(): log_probs must have shape (time, batch, classes), got {log_probs.shape}",
    )
    check(
        targets.dtype.kind in "iu",
        f"{name}(): targets must be integers, got {_word(targets)}",
    )
    steps, batch, classes = log_probs.shape
    check(0 <= blank < classes, f"{name}(): blank must be in label range, got {blank}")
    counts = [
        v.shape[0] if hasattr(v, "shape") else len(v) for v in (input_lengths, target_lengths)
    ]
    check(
        counts == [batch, batch],
        f"{name}(): input_lengths and target_lengths must be of size {batch} (batch size), got "
        f"{counts}",
    )
    if not isinstance(input_lengths, MetaArray):
        longest = max((int(v) for v in input_lengths), default=0)
        check(
            longest <= steps,
            f"{name}(): Expected input_lengths to have value at most {steps}, but got value "
            f"{longest}",
        )
    if isinstance(target_lengths, MetaArray):
        width = targets.shape[-1]
    else:
        width = max((int(v) for v in target_lengths), default=0)
    alpha = MetaArray((batch, steps, 2 * width + 1), log_probs.dtype)
    return MetaArray((batch,), log_probs.dtype), alpha


@shape("_ctc_loss_backward", "_ctc_loss_backward.Tensor")
def ctc_loss_backward_shape(
    grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, blank,
    zero_infinity=False,
):  # fmt: skip
    return MetaArray(log_probs.shape, log_probs.dtype)


@shape("_cdist_forward")
def _cdist_forward_shape(x1, x2, p, compute_mode):
    check(
        x1.ndim >= 2 and x1.shape[:-2] == x2.shape[:-2] and x1.shape[-1] == x2.shape[-1],
        f"_cdist_forward(): batches and columns must agree, got shapes {list(x1.shape)} and "
        f"{list(x2.shape)}",
    )
    return MetaArray((*x1.shape[:-1], x2.shape[-2]), x1.dtype)
