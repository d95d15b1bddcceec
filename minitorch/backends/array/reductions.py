"""Kernels of reductions, scans and norms.

Results are row-major whatever the layout of the input (NumPy would keep the input's order), narrow
floating types are reduced in float32, and integer sums and products are int64, as in PyTorch.
"""

from __future__ import annotations

from minitorch.backends.array.common import (
    SMALL,
    accumulate_dtype,
    contiguous,
    is_low_precision,
    ones_vector,
    reduce_axis,
)
from minitorch.backends.array.registry import array_kernel
from minitorch.core.dtype import get_default_dtype

# Type codes for which `add.reduce` picks PyTorch's result type by itself: the floating and complex
# types, and the signed integers and bool, which it widens to int64.
_SUM_BY_ITSELF = "fdFDlqihb?"
_FLOATING = "fdFD"

# A sum over a long axis that is not the innermost adds row after row, so that its error grows
# with the length; from this many elements on such sums are done in two levels.
_TWO_LEVEL_SIZE = 1 << 16
_TWO_LEVEL_LENGTH = 1024

# Sums of more elements go through BLAS, over axes of at most this length.
_BLAS_SIZE = 512
_BLAS_LENGTH = 4096

# Longer running sums and products are kept in double precision, as PyTorch's are.
_SHORT_SCAN = 256


def _row_major(xp, result):
    if result.ndim > 1 and not result.flags.c_contiguous:
        return xp.ascontiguousarray(result)
    return result


def _sum_dtype(xp, self, dtype):
    """Return (type to add in, type of the result) of a sum or product."""
    if dtype is not None:
        result = dtype.np
    elif self.dtype.kind in "biu":
        result = xp.dtype(xp.int64)
    else:
        result = self.dtype
    return accumulate_dtype(xp, result), result


def _reduce(xp, ufunc, self, axis, keepdim, dtype):
    """Reduce with `add` or `multiply`, whatever the types."""
    compute, result_dtype = _sum_dtype(xp, self, dtype)
    if self.dtype.kind == "c" and compute.kind != "c":
        self = self.real
    elif compute.kind == "b":
        self = self != 0
    result = ufunc.reduce(self, axis, compute, None, keepdim)
    return _row_major(xp, result.astype(result_dtype, copy=False))


def _sum_long_axis(xp, self, axis, keepdim):
    """Sum over one long axis in blocks, then over the blocks."""
    axis %= self.ndim
    length = self.shape[axis]
    block = 1 << (length.bit_length() // 2)
    whole = length // block * block
    body = self[(slice(None),) * axis + (slice(0, whole),)]
    shape = (*self.shape[:axis], whole // block, block, *self.shape[axis + 1 :])
    step = self.strides[axis]
    strides = (*self.strides[:axis], step * block, step, *self.strides[axis + 1 :])
    blocks = xp.lib.stride_tricks.as_strided(body, shape, strides)
    result = xp.add.reduce(xp.add.reduce(blocks, axis + 1), axis, None, None, keepdim)
    if whole != length:
        rest = self[(slice(None),) * axis + (slice(whole, None),)]
        result += xp.add.reduce(rest, axis, None, None, keepdim)
    return result


_ones: dict = {}


def _many_ones(xp, count, dtype):
    """Return at most `_BLAS_LENGTH` ones."""
    key = (xp, dtype.char)
    found = _ones.get(key)
    if found is None:
        found = _ones[key] = xp.ones(_BLAS_LENGTH, dtype)
    return found[:count]


def _add_by_product(xp, self, axis, keepdim):
    """Return the sum over all, the first or the last axis as a product with ones, or None.

    BLAS adds several times as fast as `add.reduce`; it adds in as many lanes, and rows are
    short or cut in pieces, so that it is as accurate.
    """
    if axis is None:
        if keepdim or self.size % 128:
            return None
        return xp.add.reduce(self.reshape(-1, 128).dot(_many_ones(xp, 128, self.dtype)), None)
    if type(axis) is not int or self.ndim < 2:
        return None
    length = self.shape[axis]
    if not 0 < length <= _BLAS_LENGTH:
        return None
    if axis in (-1, self.ndim - 1):
        result = self.reshape(-1, length).dot(_many_ones(xp, length, self.dtype))
        return result.reshape((*self.shape[:-1], 1) if keepdim else self.shape[:-1])
    if axis in (0, -self.ndim):
        result = _many_ones(xp, length, self.dtype).dot(self.reshape(length, -1))
        return result.reshape((1, *self.shape[1:]) if keepdim else self.shape[1:])
    return None


def _add(xp, self, axis, keepdim):
    """Return the sum over `axis` of an array whose type needs no widening."""
    if (
        self.size > _TWO_LEVEL_SIZE
        and type(axis) is int
        and -self.ndim <= axis < self.ndim
        and self.shape[axis] > _TWO_LEVEL_LENGTH
        and self.strides[axis] != self.itemsize
        and self.dtype.char in "fF"
    ):
        return _row_major(xp, _sum_long_axis(xp, self, axis, keepdim))
    if self.size > _BLAS_SIZE and self.dtype.char in "fd" and self.flags.c_contiguous:
        result = _add_by_product(xp, self, axis, keepdim)
        if result is not None:
            return result
    if self.size <= SMALL and self.ndim == 2 and type(axis) is int and self.dtype.char in "fd":
        if axis in (1, -1):
            result = self.dot(ones_vector(xp, self.shape[1], self.dtype))
            return result.reshape(-1, 1) if keepdim else result
        if axis in (0, -2):
            result = ones_vector(xp, self.shape[0], self.dtype).dot(self)
            return result.reshape(1, -1) if keepdim else result
    result = xp.add.reduce(self, axis, None, None, keepdim)
    if result.ndim > 1 and not result.flags.c_contiguous:
        return xp.ascontiguousarray(result)
    return result


@array_kernel("sum")
def sum_kernel(xp, self, *, dtype=None):
    if dtype is None and self.dtype.char in _SUM_BY_ITSELF:
        if self.size <= SMALL and self.dtype.char in "fd" and self.flags.c_contiguous:
            return self.reshape(-1).dot(ones_vector(xp, self.size, self.dtype))
        return _add(xp, self, None, False)
    return _reduce(xp, xp.add, self, None, False, dtype)


@array_kernel("sum.dim_IntList")
def sum_dim_kernel(xp, self, dim, keepdim=False, *, dtype=None):
    axis = reduce_axis(dim)
    if dtype is None and self.dtype.char in _SUM_BY_ITSELF:
        return _add(xp, self, axis, keepdim)
    return _reduce(xp, xp.add, self, axis, keepdim, dtype)


@array_kernel("nansum")
def nansum_kernel(xp, self, dim=None, keepdim=False, *, dtype=None):
    if self.dtype.kind == "c":
        raise ValueError
    if self.dtype.kind in "fV":
        self = xp.where(xp.isnan(self), self.dtype.type(0), self)
    return _reduce(xp, xp.add, self, reduce_axis(dim), keepdim, dtype)


@array_kernel("prod")
def prod_kernel(xp, self, *, dtype=None):
    return _reduce(xp, xp.multiply, self, None, False, dtype)


@array_kernel("prod.dim_int")
def prod_dim_kernel(xp, self, dim, keepdim=False, *, dtype=None):
    return _reduce(xp, xp.multiply, self, dim, keepdim, dtype)


def _mean(xp, self, axis, keepdim, dtype):
    if dtype is None and self.dtype.char in _FLOATING:
        if axis is None and not keepdim and 0 < self.size <= SMALL and self.dtype.char in "fd" and self.flags.c_contiguous:
            total = self.reshape(-1).dot(ones_vector(xp, self.size, self.dtype))
            return total / self.dtype.type(self.size)
        result = _add(xp, self, axis, keepdim)
        count = self.size // (result.size or 1)
        if result.ndim:
            result /= count
            return result
        return result / count
    target = self.dtype if dtype is None else dtype.np
    if target.kind not in "fcV":
        raise ValueError
    compute = accumulate_dtype(xp, target)
    if self.dtype.kind == "c" and compute.kind != "c":
        self = self.real
    result = _add(xp, self.astype(compute, copy=False), axis, keepdim)
    result = result / compute.type(self.size // (result.size or 1))
    return result.astype(target, copy=False)


@array_kernel("mean")
def mean_kernel(xp, self, *, dtype=None):
    return _mean(xp, self, None, False, dtype)


@array_kernel("mean.dim")
def mean_dim_kernel(xp, self, dim, keepdim=False, *, dtype=None):
    return _mean(xp, self, reduce_axis(dim), keepdim, dtype)


# ---------------------------------------------------------------- extrema


def _extremum(xp, ufunc, self, axis, keepdim):
    if self.dtype.kind == "c":
        raise ValueError
    result = ufunc.reduce(self, axis, None, None, keepdim)
    if result.ndim > 1 and not result.flags.c_contiguous:
        return xp.ascontiguousarray(result)
    return result


@array_kernel("amax")
def amax_kernel(xp, self, dim=(), keepdim=False):
    return _extremum(xp, xp.maximum, self, reduce_axis(dim), keepdim)


@array_kernel("amin")
def amin_kernel(xp, self, dim=(), keepdim=False):
    return _extremum(xp, xp.minimum, self, reduce_axis(dim), keepdim)


@array_kernel("max")
def max_kernel(xp, self):
    return _extremum(xp, xp.maximum, self, None, False)


@array_kernel("min")
def min_kernel(xp, self):
    return _extremum(xp, xp.minimum, self, None, False)


def _position(xp, found, self, dim, keepdim):
    """Return argmax's or argmin's `found` along `dim`, with the dimension kept if asked for."""
    if keepdim and self.ndim:
        dim %= self.ndim
        return found.reshape((*self.shape[:dim], 1, *self.shape[dim + 1 :]))
    return found


@array_kernel("max.dim")
def max_dim_kernel(xp, self, dim, keepdim=False):
    values = _extremum(xp, xp.maximum, self, dim, keepdim)
    indices = self.argmax(dim)
    return values, _position(xp, indices, self, dim, True) if keepdim else indices


@array_kernel("min.dim")
def min_dim_kernel(xp, self, dim, keepdim=False):
    values = _extremum(xp, xp.minimum, self, dim, keepdim)
    indices = self.argmin(dim)
    return values, _position(xp, indices, self, dim, True) if keepdim else indices


@array_kernel("aminmax")
def aminmax_kernel(xp, self, *, dim=None, keepdim=False):
    return (
        _extremum(xp, xp.minimum, self, dim, keepdim),
        _extremum(xp, xp.maximum, self, dim, keepdim),
    )


@array_kernel("argmax")
def argmax_kernel(xp, self, dim=None, keepdim=False):
    if self.dtype.kind in "bc":
        raise ValueError
    indices = self.argmax(dim)
    if keepdim:
        if dim is None:
            return indices.reshape((1,) * self.ndim)
        return _position(xp, indices, self, dim, True)
    return indices


@array_kernel("argmin")
def argmin_kernel(xp, self, dim=None, keepdim=False):
    if self.dtype.kind in "bc":
        raise ValueError
    indices = self.argmin(dim)
    if keepdim:
        if dim is None:
            return indices.reshape((1,) * self.ndim)
        return _position(xp, indices, self, dim, True)
    return indices


# ---------------------------------------------------------------- any, all


def _logical(xp, ufunc, self, axis, keepdim):
    if self.dtype.kind == "V":
        self = self != 0
    result = _row_major(xp, ufunc.reduce(self, axis, None, None, keepdim))
    return result.astype(self.dtype) if self.dtype.char == "B" else result


@array_kernel("any")
def any_kernel(xp, self):
    return _logical(xp, xp.logical_or, self, None, False)


@array_kernel("any.dim")
def any_dim_kernel(xp, self, dim, keepdim=False):
    return _logical(xp, xp.logical_or, self, dim, keepdim)


@array_kernel("any.dims")
def any_dims_kernel(xp, self, dim=None, keepdim=False):
    return _logical(xp, xp.logical_or, self, _dims_axis(self, dim), keepdim)


@array_kernel("all")
def all_kernel(xp, self):
    return _logical(xp, xp.logical_and, self, None, False)


@array_kernel("all.dim")
def all_dim_kernel(xp, self, dim, keepdim=False):
    return _logical(xp, xp.logical_and, self, dim, keepdim)


@array_kernel("all.dims")
def all_dims_kernel(xp, self, dim=None, keepdim=False):
    return _logical(xp, xp.logical_and, self, _dims_axis(self, dim), keepdim)


def _dims_axis(self, dim):
    """Return the axis of any.dims and all.dims, for which an empty list reduces nothing."""
    if dim is None:
        return None
    return dim[0] if len(dim) == 1 else tuple(dim)


# ---------------------------------------------------------------- variance


def _var_mean(xp, self, dim, correction, keepdim):
    """Return variance and mean in the type to compute in (two passes)."""
    kind = self.dtype.kind
    if kind not in "fcV":
        raise ValueError
    axis = reduce_axis(dim)
    x = self.astype(xp.float32) if is_low_precision(self.dtype) else self
    total = _add(xp, x, axis, True)
    count = x.size // (total.size or 1)
    mean = total / (count if total.ndim else x.dtype.type(count))
    deviation = x - mean
    if kind == "c":
        real, imag = deviation.real, deviation.imag
        squares = real * real + imag * imag
    else:
        squares = xp.multiply(deviation, deviation)
    variance = _add(xp, squares, axis, keepdim)
    divisor = count - (1 if correction is None else correction)
    divisor = squares.dtype.type(divisor if divisor > 0 else 0)
    variance = variance / divisor
    return variance, mean if keepdim else mean.reshape(variance.shape)


@array_kernel("var.correction")
def var_kernel(xp, self, dim=None, *, correction=None, keepdim=False):
    variance = _var_mean(xp, self, dim, correction, keepdim)[0]
    return variance.astype(self.dtype) if is_low_precision(self.dtype) else variance


@array_kernel("std.correction")
def std_kernel(xp, self, dim=None, *, correction=None, keepdim=False):
    result = xp.sqrt(_var_mean(xp, self, dim, correction, keepdim)[0])
    return result.astype(self.dtype) if is_low_precision(self.dtype) else result


@array_kernel("var_mean.correction")
def var_mean_kernel(xp, self, dim=None, *, correction=None, keepdim=False):
    variance, mean = _var_mean(xp, self, dim, correction, keepdim)
    if is_low_precision(self.dtype):
        return variance.astype(self.dtype), mean.astype(self.dtype)
    return variance, mean


@array_kernel("std_mean.correction")
def std_mean_kernel(xp, self, dim=None, *, correction=None, keepdim=False):
    variance, mean = _var_mean(xp, self, dim, correction, keepdim)
    if is_low_precision(self.dtype):
        return xp.sqrt(variance).astype(self.dtype), mean.astype(self.dtype)
    return xp.sqrt(variance), mean


# ---------------------------------------------------------------- logarithms of sums


@array_kernel("logsumexp")
def logsumexp_kernel(xp, self, dim, keepdim=False):
    dtype = self.dtype
    if dtype.kind in "biu":
        dtype = get_default_dtype().np
    x = self.astype(accumulate_dtype(xp, dtype), copy=False)
    axis = reduce_axis(dim)
    if x.size == 0:
        return xp.log(xp.add.reduce(xp.exp(x), axis, None, None, keepdim)).astype(dtype)
    real = x.real if x.dtype.kind == "c" else x
    top = xp.maximum.reduce(real, axis, None, None, True)
    top = xp.where(xp.isinf(top), real.dtype.type(0), top)
    total = _add(xp, xp.exp(x - top), axis, keepdim)
    result = xp.log(total) + (top if keepdim else top.reshape(total.shape))
    return result.astype(dtype, copy=False)


@array_kernel("logcumsumexp")
def logcumsumexp_kernel(xp, self, dim):
    if self.dtype.kind not in "fcV":
        raise ValueError
    if self.ndim == 0:
        if not -1 <= dim <= 0:
            raise ValueError
        return self.copy()
    if self.dtype.kind == "c":
        return _complex_logcumsumexp(xp, self, dim)
    x = self.astype(accumulate_dtype(xp, self.dtype), copy=False)
    result = xp.logaddexp.accumulate(x, dim).astype(self.dtype, copy=False)
    return contiguous(xp, result)


def _complex_logcumsumexp(xp, self, dim):
    result = xp.array(self, order="C")
    rows = xp.moveaxis(result, dim, 0)
    for i in range(1, len(rows)):
        low, high = rows[i - 1], rows[i].copy()
        swap = low.real > high.real
        big, small = xp.where(swap, low, high), xp.where(swap, high, low)
        rows[i] = xp.where(xp.isneginf(big.real), big, big + xp.log1p(xp.exp(small - big)))
    return result


# ---------------------------------------------------------------- scans


_SCAN_BLOCK = 32


def _cumsum_of_rows(xp, self):
    """Return running sums over the last axis of a row-major array, or None if some are infinite.

    Blocks are summed by a product with a triangle of ones, which is several times as fast as
    `add.accumulate` and rounds less; what came before each block is added in double precision.
    """
    length = self.shape[-1]
    blocks = -(-length // _SCAN_BLOCK)
    whole = blocks * _SCAN_BLOCK
    padded = self
    if whole != length:
        padded = xp.zeros((*self.shape[:-1], whole), self.dtype)
        padded[..., :length] = self
    triangle = _below(xp, self.dtype)
    sums = padded.reshape(-1, _SCAN_BLOCK).dot(triangle).reshape(-1, blocks, _SCAN_BLOCK)
    totals = xp.add.accumulate(sums[:, :, -1], 1, xp.float64)
    if not xp.isfinite(totals[:, -1]).all():  # zeros in the triangle make NaN of infinities
        return None
    sums[:, 1:] += totals[:, :-1, None].astype(self.dtype)
    sums = sums.reshape(*self.shape[:-1], whole)
    return sums if whole == length else xp.ascontiguousarray(sums[..., :length])


_triangles: dict = {}


def _below(xp, dtype):
    key = (xp, dtype.char)
    if key not in _triangles:
        places = xp.arange(_SCAN_BLOCK)
        _triangles[key] = (places[:, None] <= places).astype(dtype)
    return _triangles[key]


def _cumsum_over_rows(xp, self, dim):
    """Return running sums over an axis that is not the last, row after row."""
    out = xp.empty(self.shape, self.dtype)
    source, target = xp.moveaxis(self, dim, 0), xp.moveaxis(out, dim, 0)
    running = source[0].astype(xp.float64)
    target[0] = source[0]
    for i in range(1, len(source)):
        xp.add(running, source[i], out=running)
        target[i] = running
    return out


def _accumulate(xp, ufunc, self, dim, dtype):
    if dtype is None and ufunc is xp.add and self.size > 1024 and self.dtype.char in "fd":
        dim = dim + self.ndim if dim < 0 else dim
        if dim == self.ndim - 1:
            if self.shape[dim] >= 2 * _SCAN_BLOCK and self.flags.c_contiguous:
                result = _cumsum_of_rows(xp, self)
                if result is not None:
                    return result
        elif 0 <= dim < self.ndim and self.size > 64 * self.shape[dim]:
            return _cumsum_over_rows(xp, self, dim)
    if dtype is None and self.ndim and self.dtype.char in "dDlfF":
        if self.dtype.char in "dDl" or self.shape[dim] <= _SHORT_SCAN:
            result = ufunc.accumulate(self, dim)
            return result if result.flags.c_contiguous else xp.ascontiguousarray(result)
    compute, result_dtype = _sum_dtype(xp, self, dtype)
    if self.ndim == 0:
        if not -1 <= dim <= 0:
            raise ValueError
        return self.astype(result_dtype)
    if self.dtype.kind == "c" and compute.kind != "c":
        self = self.real
    if compute.char == "f" and self.shape[dim] > _SHORT_SCAN:
        compute = xp.dtype(xp.float64)
    elif compute.char == "F" and self.shape[dim] > _SHORT_SCAN:
        compute = xp.dtype(xp.complex128)
    result = ufunc.accumulate(self, dim, compute).astype(result_dtype, copy=False)
    return result if result.flags.c_contiguous else xp.ascontiguousarray(result)


@array_kernel("cumsum")
def cumsum_kernel(xp, self, dim, *, dtype=None):
    return _accumulate(xp, xp.add, self, dim, dtype)


@array_kernel("cumprod")
def cumprod_kernel(xp, self, dim, *, dtype=None):
    return _accumulate(xp, xp.multiply, self, dim, dtype)


def _running_extremum(xp, ufunc, self, dim):
    """Return running extrema and the last position that attained each, NaN winning."""
    if self.dtype.kind == "c":
        raise ValueError
    if self.ndim == 0:
        if not -1 <= dim <= 0:
            raise ValueError
        return self.copy(), xp.zeros((), xp.int64)
    values = ufunc.accumulate(self, dim)
    attained = self == values
    if self.dtype.kind in "fV":
        attained |= xp.isnan(self)
    shape = [1] * self.ndim
    shape[dim] = self.shape[dim]
    positions = xp.arange(self.shape[dim]).reshape(shape)
    indices = xp.maximum.accumulate(xp.where(attained, positions, 0), dim)
    return contiguous(xp, values), contiguous(xp, indices)


@array_kernel("cummax")
def cummax_kernel(xp, self, dim):
    return _running_extremum(xp, xp.maximum, self, dim)


@array_kernel("cummin")
def cummin_kernel(xp, self, dim):
    return _running_extremum(xp, xp.minimum, self, dim)


# ---------------------------------------------------------------- order statistics


def _sortable(xp, self):
    """Return `self` in a type that sorts NaN last; complex and bool are refused."""
    kind = self.dtype.kind
    if kind in "bc":
        raise ValueError
    return self.astype(xp.float32) if kind == "V" else self


def _pick(xp, self, indices, dim, keepdim):
    """Return values and indices of one position along `dim`, given with the dimension kept."""
    values = xp.take_along_axis(self, indices, dim)
    if not keepdim:
        return contiguous(xp, values.squeeze(dim).copy()), contiguous(
            xp, indices.squeeze(dim).copy()
        )
    return contiguous(xp, values), contiguous(xp, indices)


def _scalar_pick(xp, self, dim):
    if not -1 <= dim <= 0:
        raise ValueError
    return self.copy(), xp.zeros((), xp.int64)


def _nth_index(xp, x, k, dim):
    """Return the index of the `k`-th smallest along `dim`, which is kept."""
    order = xp.argpartition(x, k, dim)
    return order[(slice(None),) * (dim % x.ndim) + (slice(k, k + 1),)]


@array_kernel("median")
def median_kernel(xp, self):
    x = _sortable(xp, self).reshape(-1)
    if x.size == 0:
        if self.dtype.kind not in "fV":
            raise ValueError
        return self.dtype.type(float("nan"))
    if x.dtype.kind == "f":
        nans = xp.isnan(x)
        if nans.any():
            return self.dtype.type(float("nan"))
    k = (x.size - 1) // 2
    return xp.partition(x, k)[k].astype(self.dtype)


@array_kernel("nanmedian")
def nanmedian_kernel(xp, self):
    x = _sortable(xp, self).reshape(-1)
    if x.dtype.kind == "f":
        x = x[~xp.isnan(x)]
    if x.size == 0:
        if self.dtype.kind not in "fV":
            raise ValueError
        return self.dtype.type(float("nan"))
    k = (x.size - 1) // 2
    return xp.partition(x, k)[k].astype(self.dtype)


@array_kernel("median.dim")
def median_dim_kernel(xp, self, dim, keepdim=False):
    x = _sortable(xp, self)
    if self.ndim == 0:
        return _scalar_pick(xp, self, dim)
    indices = _nth_index(xp, x, (x.shape[dim] - 1) // 2, dim)
    if x.dtype.kind == "f":
        nans = xp.isnan(x)
        first = xp.expand_dims(nans.argmax(dim), dim)
        indices = xp.where(nans.any(dim, keepdims=True), first, indices)
    return _pick(xp, self, indices, dim, keepdim)


@array_kernel("nanmedian.dim")
def nanmedian_dim_kernel(xp, self, dim, keepdim=False):
    x = _sortable(xp, self)
    if self.ndim == 0:
        return _scalar_pick(xp, self, dim)
    if self.shape[dim] == 0:
        raise ValueError
    if x.dtype.kind != "f":
        return median_dim_kernel(xp, self, dim, keepdim)
    order = xp.argsort(x, dim)
    valid = xp.add.reduce(~xp.isnan(x), dim, None, None, True)
    middle = xp.maximum((valid - 1) // 2, 0)
    return _pick(xp, self, xp.take_along_axis(order, middle, dim), dim, keepdim)


@array_kernel("kthvalue")
def kthvalue_kernel(xp, self, k, dim=-1, keepdim=False):
    x = _sortable(xp, self)
    if self.ndim == 0:
        if k != 1:
            raise ValueError
        return _scalar_pick(xp, self, dim)
    if not 1 <= k <= self.shape[dim]:
        raise ValueError
    return _pick(xp, self, _nth_index(xp, x, k - 1, dim), dim, keepdim)


@array_kernel("mode")
def mode_kernel(xp, self, dim=-1, keepdim=False):
    """Return the most frequent value along `dim`, the smallest of several, and where it is last.

    In the sorted rows a value's run ends where its count is complete; the first maximum of the
    running count is the answer.
    """
    if self.dtype.kind == "c":
        raise ValueError
    if self.ndim == 0:
        return _scalar_pick(xp, self, dim)
    length = self.shape[dim]
    if length == 0:
        raise ValueError
    x = self.astype(xp.float32) if self.dtype.kind == "V" else self
    x = xp.moveaxis(x, dim, -1)
    order = xp.argsort(x, -1, kind="stable")
    ordered = xp.take_along_axis(x, order, -1)
    starts = xp.empty(ordered.shape, bool)
    starts[..., :1] = True
    xp.not_equal(ordered[..., 1:], ordered[..., :-1], out=starts[..., 1:])
    positions = xp.arange(length)
    begun = xp.maximum.accumulate(xp.where(starts, positions, 0), -1)
    best = (positions - begun).argmax(-1)
    indices = xp.take_along_axis(order, best[..., None], -1)
    return _pick(xp, self, xp.moveaxis(indices, -1, dim), dim, keepdim)


# ---------------------------------------------------------------- norms


@array_kernel("linalg_vector_norm")
def vector_norm_kernel(xp, self, ord=2, dim=None, keepdim=False, *, dtype=None):
    kind = self.dtype.kind
    if kind not in "fcV":
        raise ValueError
    x = self
    if dtype is not None:
        if kind == "c" and dtype.np.kind != "c":
            raise ValueError
        x = self.astype(dtype.np, copy=False)
    target = x.dtype
    if is_low_precision(target):
        x = x.astype(xp.float32)
    if ord == 2 and not dim and not keepdim and x.flags.c_contiguous:
        flat = x.reshape(-1)
        if kind == "c":
            flat = flat.view(flat.real.dtype)
        result = xp.sqrt(flat.dot(flat))
        return result.astype(target) if target.kind == "V" or target.itemsize == 2 else result
    if x.dtype.kind == "c":
        x = xp.abs(x)
        target = x.dtype
    axis = reduce_axis(dim)
    if ord == 2:
        result = xp.sqrt(_add(xp, x * x, axis, keepdim))
    elif ord == 1:
        result = _add(xp, xp.abs(x), axis, keepdim)
    elif ord == 0:
        result = _add(xp, (x != 0).astype(x.dtype), axis, keepdim)
    elif ord == float("inf"):
        result = _extremum(xp, xp.maximum, xp.abs(x), axis, keepdim)
    elif ord == -float("inf"):
        result = _extremum(xp, xp.minimum, xp.abs(x), axis, keepdim)
    else:
        result = _add(xp, xp.power(xp.abs(x), x.dtype.type(ord)), axis, keepdim)
        if ord < 0 and self.size == 0 and result.size:
            raise ValueError
        result = xp.power(result, x.dtype.type(1.0 / ord))
    return result.astype(target, copy=False)


# ---------------------------------------------------------------- the rest


@array_kernel("count_nonzero")
def count_nonzero_kernel(xp, self, dim=None):
    return _count_nonzero(xp, self, dim)


@array_kernel("count_nonzero.dim_IntList")
def count_nonzero_dims_kernel(xp, self, dim):
    return _count_nonzero(xp, self, reduce_axis(dim))


def _count_nonzero(xp, self, axis):
    return _row_major(xp, xp.add.reduce(self != 0, axis, xp.int64))


@array_kernel("trace")
def trace_kernel(xp, self):
    if self.ndim != 2:
        raise ValueError
    return _reduce(xp, xp.add, self.diagonal(), None, False, None)


@array_kernel("equal")
def equal_kernel(xp, self, other):
    return self.shape == other.shape and bool((self == other).all())
