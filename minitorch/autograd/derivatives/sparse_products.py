"""Derivatives of products, reductions and softmax of sparse tensors.

Note [Masked gradients]
    The operators behind `minitorch.sparse` give a sparse argument a gradient with the argument's entries: the elements that
    are not stored are no variables.  So do reductions over some dimensions of a sparse tensor.  `mm` and its kind, and sums
    over everything, give it what they give a dense one, as in PyTorch.
    A gradient is computed on values, which are dense (`_sparse_values_at`, `_sparse_with_values`), so it can be
    differentiated again.
"""

from __future__ import annotations

from math import inf

from minitorch.autograd.derivatives.linalg import scaled
from minitorch.autograd.derivatives.reductions import conj, normalized
from minitorch.autograd.derivatives.registry import Multilinear, derivative, is_differentiated_again, sparse_derivative
from minitorch.autograd.derivatives.sparse_values import patterned
from minitorch.core.layout import sparse_coo, strided
from minitorch.ops import functions as F
from minitorch.ops.composite.sparse_products import diagonal_places

for _name in ("_segment_mm", "_segment_mm_transposed", "_entries_mm", "_sampled_products", "_segment_matmul", "_segment_solve"):
    derivative(_name)  # kernels call them; autograd knows of whole tensors alone


def _mH(tensor):
    return conj(F.transpose(tensor, -2, -1))


def _dense(tensor):
    return tensor if tensor.layout is strided else F.to_dense(tensor)


def _product(a, b):
    return F.bmm(a, b) if a.ndim == 3 else F.mm(a, b)


# ---------------------------------------------------------------- products


def factor_gradient(grad, factor, left, right, alpha=1):
    """Return the gradient ``left @ right`` of a factor of a product, at the entries of the factor if it is sparse.

    `grad`, one of the two, is of the shape of a dense product where the other is dense.
    """
    if factor.layout is strided:
        return scaled(_product(left, right), alpha)
    pattern = patterned(factor).detach()
    if left.layout is strided and right.layout is strided:
        number = alpha.conjugate() if isinstance(alpha, complex) else alpha
        return F.sparse_sampled_addmm(pattern, left, right, beta=0, alpha=number)
    return scaled(F.sparse_mask(_product(left, right), pattern), alpha)


def left_gradient(grad, left, right, alpha=1):
    if left.layout is not strided and right.layout is strided:
        grad = _dense(grad)
    return factor_gradient(grad, left, grad, _mH(right), alpha)


def right_gradient(grad, left, right, alpha=1):
    if right.layout is not strided and left.layout is strided:
        grad = _dense(grad)
    return factor_gradient(grad, right, _mH(left), grad, alpha)


derivative(
    "_sparse_addmm",
    self=lambda grad, beta: scaled(grad, beta),
    mat1=lambda grad, mat1, mat2, alpha: left_gradient(grad, mat1, mat2, alpha),
    mat2=lambda grad, mat1, mat2, alpha: right_gradient(grad, mat1, mat2, alpha),
    result=Multilinear("mat1", "mat2", additive=("self",)),
)
derivative(
    "_sparse_sparse_matmul",
    self=lambda grad, self, other: left_gradient(grad, self, other),
    other=lambda grad, self, other: right_gradient(grad, self, other),
    result=Multilinear("self", "other"),
)
derivative(
    "hspmm",
    mat1=lambda grad, mat1, mat2: left_gradient(_dense(grad), mat1, mat2),
    mat2=lambda grad, mat1, mat2: right_gradient(_dense(grad), mat1, mat2),
    result=Multilinear("mat1", "mat2"),
)
derivative(
    "sspaddmm",
    self=lambda grad, beta: scaled(grad, beta),
    mat1=lambda grad, mat1, mat2, alpha: left_gradient(_dense(grad), mat1, mat2, alpha),
    mat2=lambda grad, mat1, mat2, alpha: right_gradient(_dense(grad), mat1, mat2, alpha),
    result=Multilinear("mat1", "mat2", additive=("self",)),
)


def at_pattern(grad, result):
    """Return the gradient of a sparse result at the entries of the result."""
    return F._sparse_with_values(result.detach(), F._sparse_values_at(grad, result.detach()))


derivative(
    "sparse_sampled_addmm",
    self=lambda grad, result, beta: scaled(at_pattern(grad, result), beta),
    mat1=lambda grad, result, mat2, alpha: scaled(_product(at_pattern(grad, result), _mH(mat2)), alpha),
    mat2=lambda grad, result, mat1, alpha: scaled(_product(_mH(mat1), at_pattern(grad, result)), alpha),
    result=Multilinear("mat1", "mat2", additive=("self",)),
)


def mm_reduce_backward(grads, self, other, reduce, result1, needs):
    grad = grads[0]
    if grad is None:
        return None, None
    grad = _dense(grad)
    offsets, columns = F.crow_indices(self), F.col_indices(self)
    if reduce == "mean":
        counts = F.clamp(offsets[1:] - offsets[:-1], min=1)
        grad = grad / F.unsqueeze(counts, 1).to(grad.dtype)
    if reduce in ("sum", "mean"):
        own = left_gradient(grad, self, other) if needs[0] else None
        return own, right_gradient(grad, self, other) if needs[1] else None
    nnz = columns.shape[0]
    there = result1 < nnz
    own = other_grad = None
    if not nnz:
        return F._sparse_with_values(self.detach(), F.new_zeros(grad, [0])), F.zeros_like(other)
    entry = F.clamp(result1, max=nnz - 1)
    source = F.reshape(F.index_select(columns.long(), 0, F.flatten(entry)), list(entry.shape))
    if needs[0]:
        parts = F.where(there, grad * conj(F.gather(other, 0, source)), 0)
        summed = F.index_add(F.new_zeros(parts, [nnz]), 0, F.flatten(entry), F.flatten(parts))
        own = F._sparse_with_values(self.detach(), summed)
    if needs[1]:
        picked = F.reshape(F.index_select(F.values(self), 0, F.flatten(entry)), list(entry.shape))
        parts = F.where(there, grad * conj(picked), 0)
        other_grad = F.scatter_add(F.zeros_like(other), 0, source, parts)
    return own, other_grad


derivative("_sparse_mm_reduce_impl", jointly={("self", "other"): mm_reduce_backward})


def spsolve_backward(grad, A, result, needs, left):
    by_adjoint = F._spsolve(_mH(A), _dense(grad), left=left)
    own = None
    if needs[0]:
        columns = [by_adjoint, result]
        columns = [F.unsqueeze(t, 1) if t.ndim == 1 else t for t in columns]
        own = F.sparse_sampled_addmm(patterned(A).detach(), columns[0], _mH(columns[1]), beta=0, alpha=-1)
    return own, by_adjoint if needs[1] else None


derivative("_spsolve", jointly={("A", "B"): spsolve_backward})


def spdiags_backward(grad, offsets, diagonals_shape):
    offsets = F.atleast_1d(offsets)
    shape = [1, *diagonals_shape] if len(diagonals_shape) == 1 else list(diagonals_shape)
    rows, columns, there = diagonal_places(shape, offsets, grad.shape)
    indices = F.stack([F.masked_select(rows, there), F.masked_select(columns, there)])
    pattern = F._sparse_coo_tensor_unsafe(indices, F.zeros([indices.shape[1]], dtype=grad.dtype, device=grad.device), grad.shape)
    found = F._sparse_values_at(grad, pattern)
    zeros = F.zeros(shape, dtype=grad.dtype, device=grad.device)
    return F.reshape(F.index_put(zeros, list(F.unbind(F.nonzero(there), 1)), found), list(diagonals_shape))


derivative(
    "_spdiags",
    diagonals=lambda grad, offsets, diagonals_shape: spdiags_backward(grad, offsets, diagonals_shape),
)


# ---------------------------------------------------------------- reductions


def at_entries(reduced, pattern, dim, keepdim):
    """Return what a sparse tensor was reduced to, for each of its entries: a tensor of the shape of its values."""
    shape, ndim = list(pattern.shape), pattern.ndim
    dims = normalized(dim, ndim)
    if reduced.layout is not strided:
        if pattern.layout is sparse_coo:
            return _sparse_at_entries(reduced, pattern, dims, keepdim)
        reduced = F.to_dense(reduced)  # a row or a column
    if not keepdim:
        for d in sorted(dims):
            reduced = F.unsqueeze(reduced, d)
    return F._sparse_values_at(F.expand(reduced, shape), pattern)


def _sparse_at_entries(reduced, pattern, dims, keepdim):
    indices, values = F._indices(pattern), F._values(pattern)
    sparse_dim = indices.shape[0]
    zeros = F.new_zeros(indices, [indices.shape[1]])
    rows = [zeros if d in dims else indices[d] for d in range(sparse_dim) if keepdim or d not in dims]
    inner = [d - sparse_dim + 1 for d in dims if d >= sparse_dim]
    kept = [n for d, n in enumerate(values.shape) if keepdim or d not in inner]
    kept = [1 if keepdim and d in inner else n for d, n in enumerate(kept)]
    wanted = F._sparse_coo_tensor_unsafe(F.stack(rows), F.new_zeros(values.detach(), kept), list(reduced.shape))
    found = F._sparse_values_at(reduced, wanted)
    if not keepdim:
        for d in sorted(inner):
            found = F.unsqueeze(found, d)
    return F.expand(found, list(values.shape))


class Entries:
    """The entries of a sparse tensor that was reduced: what its formula computes with.

    Attributes
    ----------
    pattern, values : Tensor
    dim, keepdim
        As the operator has them.
    """

    def __init__(self, self_, dim, keepdim):
        self.tensor = patterned(self_)
        self.pattern = self.tensor.detach()
        self.dim = dim
        self.keepdim = keepdim
        self.shape = self_.shape

    @property
    def values(self):
        return F._sparse_values_at(self.tensor, self.pattern)

    def of(self, reduced):
        return at_entries(reduced, self.pattern, self.dim, self.keepdim)

    def sparse(self, values):
        return F._sparse_with_values(self.pattern, values)

    def summed(self, values):
        """Return for each entry the sum of values over all that were reduced to the same place."""
        dims = list(normalized(self.dim, len(self.shape)))
        if len(dims) == len(self.shape):
            return F.expand(F.reshape(F.sum(values), [1] * values.ndim), list(values.shape))
        keepdim = self.keepdim or self.pattern.layout is not sparse_coo
        return at_entries(F.sum(self.sparse(values), dims, keepdim), self.pattern, dims, keepdim)

    def zeros_beside(self, like):
        """Return for each entry how many elements that are not stored were reduced to the same place."""
        total = 1
        for d in normalized(self.dim, len(self.shape)):
            total *= self.shape[d]
        return total - self.summed(F.ones_like(like))


def sum_gradient(grad, self, dim, keepdim=False, scale=None):
    entries = Entries(self, dim, keepdim)
    found = entries.of(grad)
    return entries.sparse(found if scale is None else found / scale)


def _number(shape, dim):
    total = 1
    for d in normalized(dim, len(shape)):
        total *= shape[d]
    return total


def extremum_gradient(grad, self, result, dim, keepdim):
    entries = Entries(self, dim, keepdim)
    values, best = entries.values, entries.of(result)
    attained = F.eq(values, best)
    if values.is_floating_point():
        attained = F.logical_or(attained, F.logical_and(F.isnan(values), F.isnan(best)))
    attained = attained.to(values.dtype)
    share = entries.summed(attained) + F.where(F.eq(best, 0), entries.zeros_beside(attained), 0)
    return entries.sparse(entries.of(grad) * attained / F.clamp(share, min=1))


def prod_gradient(grad, self, dim=None, keepdim=False):
    """Return the gradient; of a product in which an element is not stored it is zero at those that are."""
    entries = Entries(self, dim, keepdim)
    values = entries.values
    is_zero = F.eq(values, 0)
    zeros = entries.summed(is_zero.to(values.dtype if not values.is_complex() else values.real.dtype))
    others = entries.sparse(F.where(is_zero, 1, values))
    whole = dim is None or len(normalized(dim, self.ndim)) == self.ndim
    # Of a compressed layout only with the dimension kept.
    keep = keepdim or entries.pattern.layout is not sparse_coo
    product = F.prod(others) if whole else F.prod(others, normalized(dim, self.ndim)[0], keep)
    product = at_entries(product, entries.pattern, dim, keep and not whole)
    quotient = F.where(is_zero, product, product / F.where(is_zero, 1, values))
    only = F.eq(zeros, is_zero.to(zeros.dtype))  # no zero among the others
    return entries.sparse(entries.of(grad) * conj(F.where(only, quotient, 0)))


def norm_gradient(grad, self, result, ord, dim, keepdim):
    entries = Entries(self, dim, keepdim)
    values, grad = entries.values, entries.of(grad)
    if ord == 0:
        return entries.sparse(F.zeros_like(values))
    if ord in (inf, -inf):
        size, best = F.abs(values), entries.of(result)
        attained = F.eq(size, best).to(size.dtype)
        share = entries.summed(attained) + F.where(F.eq(best, 0), entries.zeros_beside(attained), 0)
        return entries.sparse(F.sgn(values) * (grad * attained / F.clamp(share, min=1)))
    norm = entries.of(result)
    nothing = F.eq(values, 0) if ord < 2 else F.eq(norm, 0)
    size = F.where(nothing, 1, F.abs(values))
    scale = F.where(nothing, 0, grad / F.where(nothing, 1, norm) ** (ord - 1)) * size ** (ord - 2)
    return entries.sparse(values * scale)


sparse_derivative("sum.dim_IntList", self=lambda grad, self, dim, keepdim: sum_gradient(grad, self, dim, keepdim))
sparse_derivative(
    "mean.dim",
    self=lambda grad, self, dim, keepdim: sum_gradient(grad, self, dim, keepdim, _number(self.shape, dim)),
)
for _name in ("amax", "amin"):
    sparse_derivative(_name, self=extremum_gradient)
sparse_derivative("prod", self=lambda grad, self: prod_gradient(grad, self))
sparse_derivative("prod.dim_int", self=lambda grad, self, dim, keepdim: prod_gradient(grad, self, [dim], keepdim))
sparse_derivative("linalg_vector_norm", self=norm_gradient)
for _name in ("_sparse_sum", "_sparse_sum.dtype"):
    derivative(_name, self=lambda grad, self: sum_gradient(grad, self, None), result="linear")
for _name in ("_sparse_sum.dim", "_sparse_sum.dim_dtype"):
    derivative(
        _name, self=lambda grad, self, dim: sum_gradient(grad, self, dim) if dim else grad, result="linear"
    )
derivative(
    "_sparse_csr_sum.dim_dtype",
    self=lambda grad, self, dim, keepdim: sum_gradient(grad, self, dim, keepdim),
    result="linear",
)


# ---------------------------------------------------------------- softmax


def softmax_gradient(grad, result, dim, is_log):
    if not is_differentiated_again(grad, result):
        backward = F._sparse_log_softmax_backward_data if is_log else F._sparse_softmax_backward_data
        return backward(grad, result.detach(), dim, result.detach())
    entries = Entries(result, [dim], result.layout is not sparse_coo)
    values, grad = entries.values, F._sparse_values_at(grad, entries.pattern)
    if is_log:
        return entries.sparse(grad - F.exp(values) * entries.summed(grad))
    return entries.sparse(values * (grad - entries.summed(values * grad)))


derivative("_sparse_softmax", self=lambda grad, result, dim: softmax_gradient(grad, result, dim, False))
derivative("_sparse_log_softmax", self=lambda grad, result, dim: softmax_gradient(grad, result, dim, True))
