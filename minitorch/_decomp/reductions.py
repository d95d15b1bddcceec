"""Reductions made of sums and maxima."""

from __future__ import annotations

from minitorch._decomp.common import decomposition
from minitorch.ops import functions as F


def _dims(self, dim):
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return list(range(self.dim()))
    return list(dim) if isinstance(dim, (list, tuple)) else [dim]


def _count(self, dims):
    count = 1
    for d in dims:
        count *= self.shape[d] if self.dim() else 1
    return count


@decomposition("var.correction")
def var(self, dim=None, *, correction=None, keepdim=False):
    return _var_mean(self, dim, correction, keepdim)[0]


@decomposition("std.correction")
def std(self, dim=None, *, correction=None, keepdim=False):
    return F.sqrt(_var_mean(self, dim, correction, keepdim)[0])


@decomposition("var_mean.correction")
def var_mean(self, dim=None, *, correction=None, keepdim=False):
    return _var_mean(self, dim, correction, keepdim)


def _var_mean(self, dim, correction, keepdim):
    dims = _dims(self, dim)
    count = _count(self, dims)
    mean = F.sum(self, dims, True) / count
    off = self - mean
    squares = (off * off.conj()).real if self.dtype.is_complex else off * off
    left = count - (1 if correction is None else correction)
    total = F.sum(squares, dims, keepdim)
    result = total / max(left, 0) if left > 0 else total / F.zeros([], dtype=total.dtype, device=total.device)
    return result, mean if keepdim else F.reshape(mean, list(result.shape))


@decomposition("logsumexp")
def logsumexp(self, dim, keepdim=False):
    if not self.dtype.is_floating_point and not self.dtype.is_complex:
        from minitorch.core.dtype import get_default_dtype

        self = self.to(get_default_dtype())
    if self.dtype.is_complex or self.numel() == 0:
        return F.log(F.sum(F.exp(self), dim, keepdim))
    top = F.amax(self, dim, True)
    top = F.where(F.abs(top) == float("inf"), 0, top)
    result = F.log(F.sum(F.exp(self - top), dim, True)) + top
    return result if keepdim else F.reshape(result, list(F.amax(self, dim, False).shape))
