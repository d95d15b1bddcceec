"""Derivatives of reductions, scans and norms."""

from __future__ import annotations

from minitorch.autograd.derivatives.registry import derivative
from minitorch.core.dtype import finfo
from minitorch.ops import functions as F
from minitorch.tensor.wrapper import has_values, innermost

# ---------------------------------------------------------------- what several formulas share


def normalized(dim, ndim: int) -> list[int]:
    """Return dims counted from the front; None and an empty list are all of them."""
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return list(range(ndim))
    if isinstance(dim, int):
        dim = [dim]
    return [d % ndim for d in dim] if ndim else []


def restore_dims(tensor, shape, dim, keepdim):
    """Give a reduced tensor its reduced dimensions back, of size 1."""
    ndim = len(shape)
    if keepdim or ndim == 0:
        return tensor
    dims = normalized(dim, ndim)
    if len(dims) == ndim:
        return F.reshape(tensor, [1] * ndim)
    for d in sorted(dims):
        tensor = F.unsqueeze(tensor, d)
    return tensor


def _expanded(tensor, shape, dim, keepdim):
    """Repeat a reduced tensor over the dimensions that it was reduced from."""
    return F.expand(restore_dims(tensor, shape, dim, keepdim), list(shape))


def _count(shape, dim) -> int:
    count = 1
    for d in normalized(dim, len(shape)):
        count *= shape[d]
    return count


def conj(tensor):
    return tensor.conj()


def selected_backward(grad, shape, dim, keepdim, indices):
    """Put the gradient of what was selected along `dim` back where it was selected from."""
    if not keepdim and len(shape):
        grad, indices = F.unsqueeze(grad, dim), F.unsqueeze(indices, dim)
    return F.scatter(F.new_zeros(grad, list(shape)), dim, indices, grad)


def _select(tensor, dim, keepdim, indices):
    """Return the elements that `indices` selected along `dim`."""
    if tensor.dim() == 0 or keepdim:
        return F.gather(tensor, dim, indices)
    return F.squeeze(F.gather(tensor, dim, F.unsqueeze(indices, dim)), dim)


# ---------------------------------------------------------------- sums, means, products

derivative("sum", self=lambda grad, self_shape: F.expand(grad, self_shape), result="linear")
derivative(
    "sum.dim_IntList",
    self=lambda grad, self_shape, dim, keepdim: _expanded(grad, self_shape, dim, keepdim),
    result="linear",
)
derivative(
    "nansum",
    self=lambda grad, self, dim, keepdim: _expanded(grad, self.shape, dim, keepdim)
    * F.logical_not(F.isnan(self)),
    result=lambda self_p, self_t, dim, keepdim: F.sum(F.where(F.isnan(self_p), 0, self_t), dim, keepdim),
)
derivative(
    "mean",
    self=lambda grad, self_shape: F.expand(grad / _count(self_shape, None), self_shape),
    result="linear",
)
derivative(
    "mean.dim",
    self=lambda grad, self_shape, dim, keepdim: _expanded(
        grad / _count(self_shape, dim), self_shape, dim, keepdim
    ),
    result="linear",
)
derivative("trace", self=lambda grad, self_shape: trace_backward(grad, self_shape), result="linear")


def trace_backward(grad, shape):
    eye = F.eye(shape[0], shape[1], dtype=grad.dtype, device=grad.device)
    return grad * eye


def _shifted_product(self, dim):
    """Return, for each element, the product of those before it along `dim`."""
    length = self.shape[dim]
    one = F.ones_like(F.narrow(self, dim, 0, 1))
    return F.cumprod(F.cat([one, F.narrow(self, dim, 0, length - 1)], dim), dim)


def _product_of_others(self, dim):
    """Return, for each element, the product of all others along `dim`, zeros and all."""
    before = _shifted_product(self, dim)
    after = F.flip(_shifted_product(F.flip(self, [dim]), dim), [dim])
    return before * after


def prod_backward(grad, self, dim):
    """`grad` has the reduced dimension; `self` is at least 1-d."""
    return grad * conj(_product_of_others(self, dim))


def prod_full_backward(grad, self):
    if self.dim() == 0:
        return grad
    flat = F.reshape(self, [-1])
    if flat.shape[0] == 0:
        return F.zeros_like(self)
    return F.reshape(prod_backward(grad, flat, 0), list(self.shape))


def prod_dim_backward(grad, self, dim, keepdim):
    if self.dim() == 0:
        return grad
    if self.numel() == 0:
        return F.zeros_like(self)
    return prod_backward(restore_dims(grad, self.shape, dim, keepdim), self, dim)


derivative("prod", self=lambda grad, self: prod_full_backward(grad, self))
derivative(
    "prod.dim_int",
    self=lambda grad, self, dim, keepdim: prod_dim_backward(grad, self, dim, keepdim),
)


# ---------------------------------------------------------------- extrema


def extremum_backward(grad, self, result, dim, keepdim):
    """Share the gradient equally among the elements that attain the extremum."""
    result = restore_dims(result, self.shape, dim, keepdim)
    grad = restore_dims(grad, self.shape, dim, keepdim)
    attained = F.eq(self, result)
    if self.is_floating_point():
        attained = F.logical_or(attained, F.logical_and(F.isnan(self), F.isnan(result)))
    dims = normalized(dim, self.dim())
    if self.dim() == 0:
        return grad * attained
    return grad * attained / F.sum(attained, dims, True)


derivative(
    "amax",
    self=lambda grad, self, result, dim, keepdim: extremum_backward(
        grad, self, result, dim, keepdim
    ),
)
derivative(
    "amin",
    self=lambda grad, self, result, dim, keepdim: extremum_backward(
        grad, self, result, dim, keepdim
    ),
)
for _name in ("max", "min", "median", "nanmedian"):
    derivative(
        _name, self=lambda grad, self, result: extremum_backward(grad, self, result, None, False)
    )
for _name in ("max.dim", "min.dim", "median.dim", "nanmedian.dim", "mode", "kthvalue"):
    derivative(
        _name,
        self=lambda grad, self_shape, dim, keepdim, indices: selected_backward(
            grad, self_shape, dim, keepdim, indices
        ),
        result=lambda self_t, dim, keepdim, indices: _select(self_t, dim, keepdim, indices),
    )


def aminmax_backward(grads, self, low, high, dim, keepdim):
    dim = None if dim is None else [dim]
    total = None
    for grad, result in zip(grads, (low, high), strict=True):
        if grad is not None:
            part = extremum_backward(grad, self, result, dim, keepdim)
            total = part if total is None else total + part
    return total


derivative(
    "aminmax",
    self=lambda grads, self, result0, result1, dim, keepdim: aminmax_backward(
        grads, self, result0, result1, dim, keepdim
    ),
)
for _name in (
    "argmax", "argmin", "any", "any.dim", "any.dims", "all", "all.dim", "all.dims", "equal",
    "count_nonzero", "count_nonzero.dim_IntList",
):  # fmt: skip
    derivative(_name)


# ---------------------------------------------------------------- variance


def var_backward(grad, self, dim, correction, keepdim):
    correction = 1 if correction is None else correction
    grad = restore_dims(grad, self.shape, dim, keepdim)
    freedom = _count(self.shape, dim) - correction
    scale = 2.0 / freedom if freedom > 0 else (float("nan") if freedom == 0 else float("inf"))
    centered = self - (F.mean(self, normalized(dim, self.dim()), True) if self.dim() else self)
    return grad * scale * centered


def std_backward(grad, self, result, dim, correction, keepdim):
    grad_var = F.masked_fill(grad / (result * 2), F.eq(result, 0), 0)
    return var_backward(grad_var, self, dim, correction, keepdim)


def _with_mean(first, grad_mean, self, dim, keepdim):
    if grad_mean is None:
        return first
    spread = _expanded(grad_mean / _count(self.shape, dim), self.shape, dim, keepdim)
    return spread if first is None else first + spread


def var_mean_backward(grads, self, dim, correction, keepdim):
    first = None
    if grads[0] is not None:
        first = var_backward(grads[0], self, dim, correction, keepdim)
    return _with_mean(first, grads[1], self, dim, keepdim)


def std_mean_backward(grads, self, deviation, dim, correction, keepdim):
    first = None
    if grads[0] is not None:
        first = std_backward(grads[0], self, deviation, dim, correction, keepdim)
    return _with_mean(first, grads[1], self, dim, keepdim)


derivative(
    "var.correction",
    self=lambda grad, self, dim, correction, keepdim: var_backward(
        grad, self, dim, correction, keepdim
    ),
)
derivative(
    "std.correction",
    self=lambda grad, self, result, dim, correction, keepdim: std_backward(
        grad, self, result, dim, correction, keepdim
    ),
)
derivative(
    "var_mean.correction",
    self=lambda grads, self, dim, correction, keepdim: var_mean_backward(
        grads, self, dim, correction, keepdim
    ),
)
derivative(
    "std_mean.correction",
    self=lambda grads, self, result0, dim, correction, keepdim: std_mean_backward(
        grads, self, result0, dim, correction, keepdim
    ),
)


# ---------------------------------------------------------------- logarithms of sums, scans


def logsumexp_backward(grad, self, result, dim, keepdim):
    result = restore_dims(result, self.shape, dim, keepdim)
    grad = restore_dims(grad, self.shape, dim, keepdim)
    real = F.real(result) if result.is_complex() else result
    empty = F.eq(real, -float("inf"))  # nothing but exp(-inf): the weights are 0, not NaN
    weights = F.exp(self - F.masked_fill(result, empty, 0))
    return grad * conj(weights)


def logsumexp_tangent(self, tangent, result, dim, keepdim):
    """Return the mean of the tangent, weighted with the softmax."""
    dims = normalized(dim, self.dim())
    shift = restore_dims(result, self.shape, dim, keepdim)
    real = F.real(shift) if shift.is_complex() else shift
    weights = F.exp(self - F.masked_fill(shift, F.eq(real, -float("inf")), 0))
    return F.sum(weights * tangent, dims, keepdim) if dims else weights * tangent


derivative(
    "logsumexp",
    self=lambda grad, self, result, dim, keepdim: logsumexp_backward(
        grad, self, result, dim, keepdim
    ),
    result=lambda self_p, self_t, result, dim, keepdim: logsumexp_tangent(self_p, self_t, result, dim, keepdim),
)


def reversed_cumsum(tensor, dim):
    if tensor.dim() == 0:
        return tensor
    return F.flip(F.cumsum(F.flip(tensor, [dim]), dim), [dim])


derivative("cumsum", self=lambda grad, dim: reversed_cumsum(grad, dim), result="linear")


def cumprod_backward(grad, self, result, dim):
    if self.dim() == 0 or self.numel() == 0:
        return grad
    if not has_values(self) or not bool(F.any(innermost(F.eq(self, 0)))):
        return reversed_cumsum(grad * conj(result), dim) / conj(self)
    # d result[i] / d self[k] is the product of self[:i+1] without self[k].
    length = self.shape[dim]
    self = conj(self)
    before = _shifted_product(self, dim)
    columns = []
    for k in range(length):
        rest = F.narrow(self, dim, k + 1, length - k - 1)
        one = F.ones_like(F.narrow(self, dim, 0, 1))
        after = F.cat([one, F.cumprod(rest, dim)], dim)
        inner = F.sum(F.narrow(grad, dim, k, length - k) * after, [dim], True)
        columns.append(F.narrow(before, dim, k, 1) * inner)
    return F.cat(columns, dim)


derivative(
    "cumprod", self=lambda grad, self, result, dim: cumprod_backward(grad, self, result, dim)
)


def _scan_selected_backward(grad, indices, dim):
    if grad.dim() == 0:
        return grad
    return F.scatter_add(F.zeros_like(grad), dim, indices, grad)


for _name in ("cummax", "cummin"):
    derivative(
        _name,
        self=lambda grad, indices, dim: _scan_selected_backward(grad, indices, dim),
        result=lambda self_t, indices, dim: F.gather(self_t, dim, indices),
    )


def logcumsumexp_backward(grad, self, result, dim):
    if grad.dim() == 0 or grad.numel() == 0:
        return grad
    if grad.is_complex():
        logarithm = F.log(conj(grad)) - result
        total = F.flip(F.logcumsumexp(F.flip(logarithm, [dim]), dim), [dim])
        return conj(F.exp(total + self))

    def part(positive):
        lowest = F.full_like(grad, finfo(grad.dtype).min)
        logarithm = F.where(F.gt(positive, 0), F.log(positive), lowest) - result
        total = F.flip(F.logcumsumexp(F.flip(logarithm, [dim]), dim), [dim])
        return F.exp(total + self)

    return part(grad) - part(-grad)


def logcumsumexp_tangent(self_p, self_t, result, dim):
    """Return ``cumsum(exp(self) * tangent) / exp(result)``, by logarithms: nothing overflows."""
    if self_t.dim() == 0 or self_t.numel() == 0:
        return self_t
    if self_t.is_complex():
        return F.exp(F.logcumsumexp(self_p + F.log(self_t), dim) - result)

    def part(positive):
        there = F.gt(positive, 0)
        logarithm = F.where(there, F.log(F.where(there, positive, 1)), finfo(self_t.dtype).min)
        return F.exp(F.logcumsumexp(self_p + logarithm, dim) - result)

    return part(self_t) - part(-self_t)


derivative(
    "logcumsumexp",
    self=lambda grad, self, result, dim: logcumsumexp_backward(grad, self, result, dim),
    result=logcumsumexp_tangent,
)


# ---------------------------------------------------------------- norms


def vector_norm_backward(grad, self, result, ord, dim, keepdim, dtype):
    if dtype is not None:
        self = self.to(dtype)
    result = restore_dims(result, self.shape, dim, keepdim)
    grad = restore_dims(grad, self.shape, dim, keepdim)
    if ord == 0:
        return F.zeros_like(self)
    if ord == 1:
        return F.sgn(self) * grad
    if ord == 2:
        return self * F.masked_fill(grad / result, F.eq(result, 0), 0)
    size = F.abs(self)
    if ord in (float("inf"), -float("inf")):
        attained = F.logical_or(
            F.eq(size, result), F.logical_and(F.isnan(size), F.isnan(result))
        )
        dims = normalized(dim, self.dim())
        count = F.sum(attained, dims, True) if self.dim() else attained.to(size.dtype)
        return F.sgn(self) * (grad / count * attained)
    zero = F.eq(self, 0)
    if ord < 1:
        power = F.masked_fill(F.pow(size, ord - 1), zero, 0)
        return F.sgn(self) * power * grad * F.pow(result, 1 - ord)
    scale = F.masked_fill(grad / F.pow(result, ord - 1), F.eq(result, 0), 0)
    if ord < 2:
        return F.sgn(self) * F.pow(size, ord - 1) * scale
    return self * F.pow(size, ord - 2) * scale


derivative(
    "linalg_vector_norm",
    self=lambda grad, self, result, ord, dim, keepdim, dtype: vector_norm_backward(
        grad, self, result, ord, dim, keepdim, dtype
    ),
)
