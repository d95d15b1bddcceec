"""Products with a sum around them, and products that are other products."""

from __future__ import annotations

from minitorch._decomp.common import decomposition
from minitorch.ops import functions as F


def _combined(self, product, beta, alpha):
    """Return ``beta * self + alpha * product``; what is not finite in `self` does not count where beta is 0."""
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return product + (self if beta == 1 else self * beta)


@decomposition("addmm")
def addmm(self, mat1, mat2, *, beta=1, alpha=1):
    return _combined(self, F.mm(mat1, mat2), beta, alpha)


@decomposition("addmv")
def addmv(self, mat, vec, *, beta=1, alpha=1):
    return _combined(self, F.mv(mat, vec), beta, alpha)


@decomposition("baddbmm")
def baddbmm(self, batch1, batch2, *, beta=1, alpha=1):
    return _combined(self, F.bmm(batch1, batch2), beta, alpha)


@decomposition("addbmm")
def addbmm(self, batch1, batch2, *, beta=1, alpha=1):
    return _combined(self, F.sum(F.bmm(batch1, batch2), [0]), beta, alpha)


@decomposition("addr")
def addr(self, vec1, vec2, *, beta=1, alpha=1):
    return _combined(self, vec1.unsqueeze(1) * vec2, beta, alpha)


@decomposition("mv")
def mv(self, vec):
    return F.sum(self * vec, [1])


@decomposition("t", rounds_once=False)
def t(self):
    return self if self.dim() < 2 else F.transpose(self, 0, 1)


@decomposition("transpose.int", rounds_once=False)
def transpose(self, dim0, dim1):
    dims = list(range(self.dim()))
    if not dims:
        return F.alias(self)
    dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
    return F.permute(self, dims)
