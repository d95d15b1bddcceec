"""Shapes, types and argument errors of reductions, scans and norms."""

from __future__ import annotations

import numpy as np

from minitorch.core.dtype import from_numpy_dtype, get_default_dtype
from minitorch.ops.shapes.common import (
    MetaArray,
    check,
    normalize_dim,
    normalize_dims,
    reduced_shape,
)
from minitorch.ops.shapes.registry import shape

INT64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)


def word(np_dtype) -> str:
    """Return PyTorch's word for a type: ``"Long"``."""
    return from_numpy_dtype(np_dtype).scalar_name


def is_inexact(np_dtype) -> bool:
    """Return whether a type is floating point or complex."""
    return np_dtype.kind in "fcV"


def real_dtype(np_dtype):
    """Return the type of the real part."""
    return from_numpy_dtype(np_dtype).to_real().np


def float_dtype(np_dtype):
    """Return `np_dtype`, or the default dtype for bool and integers."""
    return np_dtype if is_inexact(np_dtype) else get_default_dtype().np


def no_complex(self, name: str) -> None:
    """Refuse complex inputs, which have no order."""
    check(
        self.dtype.kind != "c",
        f"{name}(): not implemented for {word(self.dtype)}: complex numbers have no order; "
        "compare .abs() or .real instead",
        NotImplementedError,
    )


def no_bool(self, name: str) -> None:
    check(
        self.dtype.kind != "b",
        f"{name}(): not implemented for Bool; convert with .to(uint8) first",
        NotImplementedError,
    )


def _dims(self, dim, name: str) -> tuple:
    return normalize_dims(dim, self.ndim, name)


def _sum_dtype(self, dtype):
    if dtype is not None:
        return dtype.np
    return self.dtype if is_inexact(self.dtype) else INT64


def _reduced(self, dim, keepdim, np_dtype, name):
    return MetaArray(reduced_shape(self.shape, _dims(self, dim, name), keepdim), np_dtype)


@shape("sum")
def sum_shape(self, *, dtype=None):
    return MetaArray((), _sum_dtype(self, dtype))


@shape("prod")
def prod_shape(self, *, dtype=None):
    return MetaArray((), _sum_dtype(self, dtype))


@shape("sum.dim_IntList")
def sum_dim_shape(self, dim, keepdim=False, *, dtype=None):
    return _reduced(self, dim, keepdim, _sum_dtype(self, dtype), "sum")


@shape("nansum")
def nansum_shape(self, dim=None, keepdim=False, *, dtype=None):
    result = _reduced(self, dim, keepdim, _sum_dtype(self, dtype), "nansum")
    check(self.dtype.kind != "c", "nansum(): does not support complex inputs")
    return result


@shape("prod.dim_int")
def prod_dim_shape(self, dim, keepdim=False, *, dtype=None):
    return _reduced(self, [dim], keepdim, _sum_dtype(self, dtype), "prod")


def _mean_dtype(self, dtype):
    target = self.dtype if dtype is None else dtype.np
    which = "Input" if dtype is None else "Optional"
    check(
        is_inexact(target),
        f"mean(): could not infer output dtype. {which} dtype must be either a floating point "
        f"or complex dtype. Got: {word(target)}",
    )
    return target


@shape("mean")
def mean_shape(self, *, dtype=None):
    return MetaArray((), _mean_dtype(self, dtype))


@shape("mean.dim")
def mean_dim_shape(self, dim, keepdim=False, *, dtype=None):
    return _reduced(self, dim, keepdim, _mean_dtype(self, dtype), "mean")


# ---------------------------------------------------------------- extrema


def check_not_empty(self, dims, name: str, given: bool) -> None:
    """Refuse a reduction of no elements by an operation that has no identity."""
    if not given:
        check(
            self.size > 0,
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument.",
        )
        return
    for d in dims:
        check(
            self.ndim == 0 or self.shape[d] > 0,
            f"{name}(): Expected reduction dim {d} to have non-zero size.",
            IndexError,
        )


def _extremum_shape(self, dim, keepdim, name):
    dims = _dims(self, dim, name)
    no_complex(self, name)
    check_not_empty(self, dims, name, bool(dim))
    return MetaArray(reduced_shape(self.shape, dims, keepdim), self.dtype)


@shape("amax")
def amax_shape(self, dim=(), keepdim=False):
    return _extremum_shape(self, dim, keepdim, "amax")


@shape("amin")
def amin_shape(self, dim=(), keepdim=False):
    return _extremum_shape(self, dim, keepdim, "amin")


@shape("max")
def max_shape(self):
    return _extremum_shape(self, None, False, "max")


@shape("min")
def min_shape(self):
    return _extremum_shape(self, None, False, "min")


def _with_indices(self, dim, keepdim, name):
    values = _extremum_shape(self, [dim], keepdim, name)
    return values, MetaArray(values.shape, INT64)


@shape("max.dim")
def max_dim_shape(self, dim, keepdim=False):
    return _with_indices(self, dim, keepdim, "max")


@shape("min.dim")
def min_dim_shape(self, dim, keepdim=False):
    return _with_indices(self, dim, keepdim, "min")


@shape("aminmax")
def aminmax_shape(self, *, dim=None, keepdim=False):
    if dim is None:
        check(
            self.size > 0,
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity.",
        )
    result = _extremum_shape(self, None if dim is None else [dim], keepdim, "aminmax")
    return result, MetaArray(result.shape, result.dtype)


def _arg_shape(self, dim, keepdim, name):
    kind = self.dtype.kind
    check(kind != "b", f"{name}(): does not support bool input; convert with .to(uint8) first")
    check(kind != "c", f"{name}(): does not support complex input; compare .abs() instead")
    if dim is None:
        check(
            self.size > 0,
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0.",
            IndexError,
        )
        return MetaArray((1,) * self.ndim if keepdim else (), INT64)
    dims = _dims(self, [dim], name)
    check_not_empty(self, dims, name, True)
    return MetaArray(reduced_shape(self.shape, dims, keepdim), INT64)


@shape("argmax")
def argmax_shape(self, dim=None, keepdim=False):
    return _arg_shape(self, dim, keepdim, "argmax")


@shape("argmin")
def argmin_shape(self, dim=None, keepdim=False):
    return _arg_shape(self, dim, keepdim, "argmin")


# ---------------------------------------------------------------- any, all


def _logical_dtype(self):
    return self.dtype if self.dtype.char == "B" else BOOL


@shape("any", "all")
def any_shape(self):
    return MetaArray((), _logical_dtype(self))


@shape("any.dim", "all.dim")
def any_dim_shape(self, dim, keepdim=False):
    return _reduced(self, [dim], keepdim, _logical_dtype(self), "")


@shape("any.dims", "all.dims")
def any_dims_shape(self, dim=None, keepdim=False):
    if dim is not None and len(dim) == 0:
        return MetaArray(self.shape, _logical_dtype(self))
    return _reduced(self, dim, keepdim, _logical_dtype(self), "")


# ---------------------------------------------------------------- variance


def _var_shape(self, dim, keepdim, name):
    check(
        is_inexact(self.dtype),
        f"{name} only support floating point and complex dtypes, not {word(self.dtype)}",
    )
    return _reduced(self, dim, keepdim, real_dtype(self.dtype), name.split()[0])


@shape("var.correction", "std.correction")
def var_shape(self, dim=None, *, correction=None, keepdim=False):
    return _var_shape(self, dim, keepdim, "std and var")


@shape("var_mean.correction", "std_mean.correction")
def var_mean_shape(self, dim=None, *, correction=None, keepdim=False):
    variance = _var_shape(self, dim, keepdim, "var_mean and std_mean")
    return variance, MetaArray(variance.shape, self.dtype)


# ---------------------------------------------------------------- logarithms of sums, scans


@shape("logsumexp")
def logsumexp_shape(self, dim, keepdim=False):
    return _reduced(self, dim, keepdim, float_dtype(self.dtype), "logsumexp")


@shape("logcumsumexp")
def logcumsumexp_shape(self, dim):
    normalize_dim(dim, self.ndim, "logcumsumexp")
    check(
        is_inexact(self.dtype),
        f"logcumsumexp(): not implemented for {word(self.dtype)}; convert to a floating point "
        "type first",
        NotImplementedError,
    )
    return MetaArray(self.shape, self.dtype)


@shape("cumsum", "cumprod")
def cumsum_shape(self, dim, *, dtype=None):
    normalize_dim(dim, self.ndim)
    return MetaArray(self.shape, _sum_dtype(self, dtype))


@shape("cummax", "cummin")
def cummax_shape(self, dim):
    normalize_dim(dim, self.ndim)
    no_complex(self, "cummax and cummin")
    return MetaArray(self.shape, self.dtype), MetaArray(self.shape, INT64)


# ---------------------------------------------------------------- order statistics


def _median_shape(self, name):
    no_complex(self, name)
    no_bool(self, name)
    check(
        self.size > 0 or is_inexact(self.dtype),
        f"{name}(): the median of no elements is NaN, which {word(self.dtype)} cannot hold",
    )
    return MetaArray((), self.dtype)


@shape("median")
def median_shape(self):
    return _median_shape(self, "median")


@shape("nanmedian")
def nanmedian_shape(self):
    return _median_shape(self, "nanmedian")


@shape("median.dim")
def median_dim_shape(self, dim, keepdim=False):
    result = _with_indices(self, dim, keepdim, "median")
    no_bool(self, "median")
    return result


@shape("nanmedian.dim")
def nanmedian_dim_shape(self, dim, keepdim=False):
    result = _with_indices(self, dim, keepdim, "nanmedian")
    no_bool(self, "nanmedian")
    return result


@shape("mode")
def mode_shape(self, dim=-1, keepdim=False):
    return _with_indices(self, dim, keepdim, "mode")


@shape("kthvalue")
def kthvalue_shape(self, k, dim=-1, keepdim=False):
    result = _with_indices(self, dim, keepdim, "kthvalue")
    no_bool(self, "kthvalue")
    length = self.shape[dim] if self.ndim else 1
    check(
        1 <= k <= length,
        f"kthvalue(): selected number k out of range for dimension {dim}: k is {k}, "
        f"the dimension has {length} elements",
    )
    return result


# ---------------------------------------------------------------- norms


def _norm_text(ord) -> str:
    return "inf" if ord == float("inf") else f"{ord:g}"


@shape("linalg_vector_norm")
def vector_norm_shape(self, ord=2, dim=None, keepdim=False, *, dtype=None):
    check(
        is_inexact(self.dtype),
        "linalg.vector_norm: Expected a floating point or complex tensor as input. "
        f"Got {word(self.dtype)}",
    )
    check(
        not isinstance(ord, complex),
        "linalg.vector_norm: Expected a non-complex scalar as the order of norm.",
    )
    target = self.dtype
    if dtype is not None:
        target = dtype.np
        check(
            is_inexact(target),
            f"linalg.vector_norm: dtype should be floating point or complex, got {word(target)}",
        )
        check(
            (target.kind == "c") == (self.dtype.kind == "c"),
            "linalg.vector_norm: dtype should be "
            + ("complex for complex" if self.dtype.kind == "c" else "real for real")
            + f" inputs, got {word(target)}",
        )
    dims = _dims(self, dim, "linalg.vector_norm")
    if ord < 0 or ord == float("inf"):
        text = (
            f"linalg.vector_norm cannot compute the {_norm_text(ord)} norm on an empty "
        )
        if not dim:
            check(
                self.size > 0,
                text + "tensor because the operation does not have an identity",
            )
        else:
            check(
                all(self.shape[d] for d in dims),
                text + f"dimension because the operation does not have an identity (shape "
                f"{tuple(self.shape)}, dims {dims})",
            )
    return MetaArray(reduced_shape(self.shape, dims, keepdim), real_dtype(target))


# ---------------------------------------------------------------- the rest


@shape("count_nonzero")
def count_nonzero_shape(self, dim=None):
    return _reduced(self, None if dim is None else [dim], False, INT64, "count_nonzero")


@shape("count_nonzero.dim_IntList")
def count_nonzero_dims_shape(self, dim):
    return _reduced(self, dim, False, INT64, "count_nonzero")


@shape("trace")
def trace_shape(self):
    check(self.ndim == 2, f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    return MetaArray((), _sum_dtype(self, None))
