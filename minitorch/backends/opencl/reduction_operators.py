"""Operators that are reductions of a chain: sums, means, moments, extrema, norms."""

from __future__ import annotations

import numpy as np

from minitorch import get_default_dtype
from minitorch.backends import NoKernel
from minitorch.backends.opencl.axes import normal_axes, reduced_shape, wide_type
from minitorch.backends.opencl.chains import computed, op, predicate, shaped
from minitorch.backends.opencl.ctypes import BOOL, INT64, is_narrow
from minitorch.backends.opencl.expression import Scalar, lazy
from minitorch.backends.opencl.overrides import override
from minitorch.backends.opencl.pointwise import cast
from minitorch.backends.opencl.reductions import deviations, extremes, reduce


def _axis(dim):
    """Return a schema's ``int[]? dim`` as an axis; None and an empty list mean all."""
    return tuple(dim) if dim else None


def _count(shape, axis) -> int:
    count = 1
    for a in normal_axes(axis, len(shape)):
        count *= shape[a]
    return count


def _real_part(self, dtype):
    """Return the elements to reduce into `dtype`; of complex numbers only the real part may be asked for."""
    if self.dtype.kind != "c" or dtype.kind == "c":
        return self
    return lazy("real", (self,), np.dtype(self.dtype.type(0).real.dtype), self.device)


def _total(name, self, axis, keepdim, dtype):
    if dtype is not None:
        out = dtype.np
    else:
        out = INT64 if self.dtype.kind in "biu" else self.dtype
    return reduce(name, _real_part(self, out), axis, out, keepdim)


@override("sum")
def sum_operator(self, *, dtype=None):
    return _total("add", self, None, False, dtype)


@override("sum.dim_IntList")
def sum_dim_operator(self, dim, keepdim=False, *, dtype=None):
    return _total("add", self, _axis(dim), keepdim, dtype)


@override("prod")
def prod_operator(self, *, dtype=None):
    return _total("multiply", self, None, False, dtype)


@override("prod.dim_int")
def prod_dim_operator(self, dim, keepdim=False, *, dtype=None):
    return _total("multiply", self, dim, keepdim, dtype)


def _mean(self, axis, keepdim, dtype):
    out = self.dtype if dtype is None else dtype.np
    if out.kind not in "fcV":
        raise NoKernel("the mean of integers has no type")
    return reduce("add", _real_part(self, out), axis, out, keepdim, post="mean", number=_count(self.shape, axis))


@override("mean")
def mean_operator(self, *, dtype=None):
    return _mean(self, None, False, dtype)


@override("mean.dim")
def mean_dim_operator(self, dim, keepdim=False, *, dtype=None):
    return _mean(self, _axis(dim), keepdim, dtype)


# ---------------------------------------------------------------- moments


def _moments(self, dim, correction, keepdim, post):
    """Return the variance or its root, and the mean."""
    if self.dtype.kind not in "fcV":
        raise NoKernel("moments of integers")
    axis = _axis(dim)
    wide = wide_type(self.dtype)
    squares, mean = deviations(self, axis, wide)
    divisor = _count(self.shape, axis) - (1 if correction is None else correction)
    out = squares.dtype if self.dtype.kind == "c" else self.dtype
    moment = reduce("add", squares, axis, out, keepdim, post=post, number=divisor if divisor > 0 else 0)
    mean = cast(mean, self.dtype).settle()
    return moment, mean if keepdim else shaped(mean, moment.shape)


@override("var.correction")
def var_operator(self, dim=None, *, correction=None, keepdim=False):
    return _moments(self, dim, correction, keepdim, "mean")[0]


@override("std.correction")
def std_operator(self, dim=None, *, correction=None, keepdim=False):
    return _moments(self, dim, correction, keepdim, "root_mean")[0]


@override("var_mean.correction")
def var_mean_operator(self, dim=None, *, correction=None, keepdim=False):
    return _moments(self, dim, correction, keepdim, "mean")


@override("std_mean.correction")
def std_mean_operator(self, dim=None, *, correction=None, keepdim=False):
    return _moments(self, dim, correction, keepdim, "root_mean")


# ---------------------------------------------------------------- extrema


def _ordered(self, but="c"):
    if self.dtype.kind in but:
        raise NoKernel(f"elements of type {self.dtype} have no order")
    return self


@override("amax")
def amax_operator(self, dim=(), keepdim=False):
    return reduce("maximum", _ordered(self), _axis(dim), None, keepdim)


@override("amin")
def amin_operator(self, dim=(), keepdim=False):
    return reduce("minimum", _ordered(self), _axis(dim), None, keepdim)


@override("max")
def max_operator(self):
    return reduce("maximum", _ordered(self))


@override("min")
def min_operator(self):
    return reduce("minimum", _ordered(self))


@override("max.dim")
def max_dim_operator(self, dim, keepdim=False):
    return extremes("maximum", _ordered(self), dim, keepdim)


@override("min.dim")
def min_dim_operator(self, dim, keepdim=False):
    return extremes("minimum", _ordered(self), dim, keepdim)


@override("argmax")
def argmax_operator(self, dim=None, keepdim=False):
    return extremes("maximum", _ordered(self, "bc"), dim, keepdim)[1]


@override("argmin")
def argmin_operator(self, dim=None, keepdim=False):
    return extremes("minimum", _ordered(self, "bc"), dim, keepdim)[1]


@override("aminmax")
def aminmax_operator(self, *, dim=None, keepdim=False):
    _ordered(self)
    return reduce("minimum", self, dim, None, keepdim), reduce("maximum", self, dim, None, keepdim)


# ---------------------------------------------------------------- logarithms of sums, norms


@override("logsumexp")
def logsumexp_operator(self, dim, keepdim=False):
    dtype = self.dtype
    if dtype.kind in "biu":
        dtype = get_default_dtype().np
    if dtype.kind == "c" or self.size == 0:
        raise NoKernel("complex numbers, or none")
    axis = _axis(dim)
    x = cast(self, wide_type(dtype)).settle()
    top = reduce("maximum", x, axis, keepdims=True)
    finite = _finite(top)
    total = reduce("add", op("exp", op("subtract", x, finite)), axis, keepdims=True)
    result = computed(op("add", op("log", total), finite), dtype)
    return result if keepdim else shaped(result, reduced_shape(self.shape, normal_axes(axis, self.ndim), False))


def _finite(top):
    """Return the extremes with 0 for infinite ones, computed."""
    chosen = lazy("where", (predicate("isinf", top), Scalar(0.0, top.dtype), top), top.dtype, top.device)
    return chosen.settle()


@override("linalg_vector_norm")
def vector_norm_operator(self, ord=2, dim=None, keepdim=False, *, dtype=None):
    if self.dtype.kind not in "fcV" or self.size == 0 or (dtype is not None and self.dtype.kind == "c" and dtype.np.kind != "c"):
        raise NoKernel("a norm of nothing, or of integers")
    x = self if dtype is None else cast(self, dtype.np)
    target = x.dtype
    x = cast(x, wide_type(target))
    if x.dtype.kind == "c":
        target = np.dtype(x.dtype.type(0).real.dtype)
        x = lazy("complex_absolute", (x,), target, x.device)
    axis = _axis(dim)
    ord = float(ord)
    if ord == 2:
        return reduce("add", op("multiply", x, x), axis, target, keepdim, post="root")
    if ord == 0:
        return reduce("add", cast(cast(x, BOOL), x.dtype), axis, target, keepdim)
    size = op("absolute", x)
    if ord == 1:
        return reduce("add", size, axis, target, keepdim)
    if ord in (np.inf, -np.inf):
        return reduce("maximum" if ord > 0 else "minimum", size, axis, target, keepdim)
    total = reduce("add", op("power", size, ord), axis, None, keepdim)
    return computed(op("power", total, 1.0 / ord), target)


@override("native_dropout_backward")
def native_dropout_backward_operator(grad_output, mask, scale):
    dtype = grad_output.dtype
    if mask.dtype != BOOL or dtype.kind not in "fV":
        raise NoKernel("a mask that is not bool, or a gradient that is not floating")
    wide = cast(grad_output, wide_type(dtype)) if is_narrow(dtype) else grad_output
    return cast(op("multiply", op("multiply", wide, cast(mask, wide.dtype)), float(scale)), dtype).settle()
