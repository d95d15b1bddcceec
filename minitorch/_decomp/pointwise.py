"""Element by element: combinations that have a name of their own."""

from __future__ import annotations

from minitorch._decomp.common import decomposition
from minitorch.core.dtype import finfo
from minitorch.ops import functions as F


@decomposition("rsub.Tensor", "rsub.Scalar", rounds_once=False)
def rsub(self, other, alpha=1):
    return F.sub(other, self, alpha=alpha) if hasattr(other, "shape") else F.add(F.mul(self, -alpha), other)


@decomposition("addcmul")
def addcmul(self, tensor1, tensor2, *, value=1):
    product = tensor1 * tensor2
    return self + (product if value == 1 else product * value)


@decomposition("addcdiv")
def addcdiv(self, tensor1, tensor2, *, value=1):
    quotient = tensor1 / tensor2
    return self + (quotient if value == 1 else quotient * value)


@decomposition("logit")
def logit(self, eps=None):
    if eps is not None:
        self = F.clamp(self, eps, 1 - eps)
    return F.log(self / (1 - self))


@decomposition("frac")
def frac(self):
    return self - F.trunc(self)


@decomposition("xlogy.Tensor")
def xlogy(self, other):
    return F.where(F.isnan(other), other, F.where(self == 0, 0, self * F.log(other)))


@decomposition("nan_to_num", rounds_once=False)
def nan_to_num(self, nan=None, posinf=None, neginf=None):
    if not self.dtype.is_floating_point:
        return F.clone(self)
    limits = finfo(self.dtype)
    result = F.where(F.isnan(self), 0.0 if nan is None else nan, self)
    result = F.where(self == float("inf"), limits.max if posinf is None else posinf, result)
    return F.where(self == float("-inf"), limits.min if neginf is None else neginf, result)


@decomposition("clamp_min", rounds_once=False)
def clamp_min(self, min):
    return F.clamp(self, min)


@decomposition("clamp_max", rounds_once=False)
def clamp_max(self, max):
    return F.clamp(self, None, max)


@decomposition("native_dropout_backward")
def native_dropout_backward(grad_output, mask, scale):
    return grad_output * (mask.to(grad_output.dtype) * scale)
