"""Kernels that sort, search and count.

NaN counts as larger than every number, as in PyTorch (and in NumPy's sorts).
"""

from __future__ import annotations

from minitorch.backends.array.common import contiguous
from minitorch.backends.array.registry import array_kernel

# Up to this size a stable sort costs no more than NumPy's vectorized unstable one.
_SMALL = 512


def _widened(xp, self):
    """Return `self` in a type that NumPy sorts: its sorts misplace bfloat16's NaN."""
    return self.astype(xp.float32) if self.dtype.kind == "V" else self


def _same_order(xp, array, like):
    """Return `array` with the memory order of `like`, a dense array of the same shape."""
    if array.ndim < 2 or (like.flags.c_contiguous and array.flags.c_contiguous):
        return array
    result = xp.empty_like(like, dtype=array.dtype, order="K")
    result[...] = array
    return result


def _backwards(ndim, dim):
    index = [slice(None)] * ndim
    index[dim] = slice(None, None, -1)
    return tuple(index)


def _order(xp, x, dim, descending):
    """Return the stable order of `x` along `dim`; equal elements keep theirs both ways."""
    if descending:
        turn = _backwards(x.ndim, dim)
        return (x.shape[dim] - 1) - x[turn].argsort(dim, kind="stable")[turn]
    return x.argsort(dim, kind="stable")


def _sort(xp, self, dim, descending, stable):
    if self.dtype.kind == "c":
        raise ValueError
    if self.ndim == 0:
        if not -1 <= dim <= 0:
            raise ValueError
        return self.copy(), xp.zeros((), xp.int64)
    x = _widened(xp, self)
    values = self.copy("C" if 0 in self.strides else "K")
    if not descending and x is self:
        values.sort(dim)
        if self.size <= _SMALL:
            indices = self.argsort(dim, kind="stable")
        elif stable:
            indices = _order_of_sorted(xp, self, values, dim)
        else:
            indices = self.argsort(dim)
    else:
        indices = _order(xp, x, dim, descending)
        values[...] = xp.take_along_axis(self, indices, dim)
    if indices.ndim < 2:
        return values, xp.ascontiguousarray(indices) if descending else indices
    return values, _same_order(xp, indices, values)


def _order_of_sorted(xp, self, values, dim):
    """Return the stable order of `self`, given its sorted `values`.

    The unstable sort is many times faster than the stable one, and the two can differ only
    where neighbours in `values` are equal (or are NaN).
    """
    head = [slice(None)] * self.ndim
    tail = list(head)
    head[dim], tail[dim] = slice(1, None), slice(None, -1)
    if (values[tuple(head)] > values[tuple(tail)]).all():
        return self.argsort(dim)
    return self.argsort(dim, kind="stable")


@array_kernel("sort")
def sort_kernel(xp, self, dim=-1, descending=False):
    return _sort(xp, self, dim, descending, False)


@array_kernel("sort.stable")
def sort_stable_kernel(xp, self, *, stable, dim=-1, descending=False):
    return _sort(xp, self, dim, descending, stable)


@array_kernel("topk")
def topk_kernel(xp, self, k, dim=-1, largest=True, sorted=True):
    if self.dtype.kind in "bc":
        raise ValueError
    if self.ndim == 0:
        if not (0 <= k <= 1 and -1 <= dim <= 0):
            raise ValueError
        return self.copy(), xp.zeros((), xp.int64)
    length = self.shape[dim]
    if not 0 <= k <= length:
        raise ValueError
    dim %= self.ndim
    lead = (slice(None),) * dim
    x = _widened(xp, self)
    if length <= 64 or k * 4 > length:
        indices = _order(xp, x, dim, largest)[(*lead, slice(0, k))]
    elif k == 0:
        indices = xp.zeros((*self.shape[:dim], 0, *self.shape[dim + 1 :]), xp.int64)
    else:
        if largest:
            part = xp.argpartition(x, length - k, dim)[(*lead, slice(length - k, None))]
        else:
            part = xp.argpartition(x, k - 1, dim)[(*lead, slice(0, k))]
        order = _order(xp, xp.take_along_axis(x, part, dim), dim, largest)
        indices = xp.take_along_axis(part, order, dim)
    values = xp.take_along_axis(self, indices, dim)
    return contiguous(xp, values), contiguous(xp, indices)


# ---------------------------------------------------------------- unique


def _from_starts(xp, order, starts, return_inverse, return_counts):
    """Return where groups begin in sorted order, and the inverse and counts if wanted.

    `order` sorts the elements (None: they are in order already) and `starts` marks the first
    of each group of equals.
    """
    none = xp.empty(0, xp.int64)
    inverse = counts = none
    if return_inverse:
        group = xp.cumsum(starts) - 1
        if order is None:
            inverse = group
        else:
            inverse = xp.empty(len(starts), xp.int64)
            inverse[order] = group
    first = xp.flatnonzero(starts)
    if return_counts:
        counts = xp.diff(xp.append(first, len(starts)))
    return first, inverse, counts


def _starts(xp, rows):
    """Mark the elements (or rows) that differ from the one before; NaN differs from NaN."""
    starts = xp.ones(len(rows), bool)
    if len(rows) > 1:
        differs = rows[1:] != rows[:-1]
        starts[1:] = differs if rows.ndim == 1 else differs.any(axis=1)
    return starts


@array_kernel("_unique2")
def unique2_kernel(xp, self, sorted=True, return_inverse=False, return_counts=False):
    if self.dtype.kind == "c":
        raise ValueError
    flat = self.reshape(-1)
    x = _widened(xp, flat)
    order = x.argsort(kind="stable") if return_inverse or x is not flat else None
    ordered = xp.sort(x) if order is None else x[order]
    first, inverse, counts = _from_starts(
        xp, order, _starts(xp, ordered), return_inverse, return_counts
    )
    values = ordered[first].astype(self.dtype, copy=False)
    if return_inverse:
        inverse = inverse.reshape(self.shape)
    return values, inverse, counts


def _rows(xp, self, dim):
    """Return `self` as a matrix whose rows are its slices along `dim`."""
    front = xp.moveaxis(self, dim, 0)
    if 0 in front.shape[1:]:
        raise ValueError
    columns = 1
    for n in front.shape[1:]:
        columns *= n
    return front.reshape(len(front), columns)


def _chosen(xp, self, dim, indices):
    # As in PyTorch the slices lie one after the other.
    return xp.moveaxis(xp.take(xp.moveaxis(self, dim, 0), indices, axis=0), 0, dim)


@array_kernel("unique_dim")
def unique_dim_kernel(xp, self, dim, sorted=True, return_inverse=False, return_counts=False):
    if self.dtype.kind == "c":
        raise ValueError
    rows = _rows(xp, _widened(xp, self), dim)
    order = xp.lexsort(rows.T[::-1])
    starts = _starts(xp, rows[order])
    first, inverse, counts = _from_starts(xp, order, starts, return_inverse, return_counts)
    return _chosen(xp, self, dim, order[first]), inverse, counts


@array_kernel("unique_consecutive")
def unique_consecutive_kernel(xp, self, return_inverse=False, return_counts=False, dim=None):
    if self.dtype.kind == "c":
        raise ValueError
    if dim is None:
        flat = self.reshape(-1)
        starts = _starts(xp, flat)
        first, inverse, counts = _from_starts(xp, None, starts, return_inverse, return_counts)
        if return_inverse:
            inverse = inverse.reshape(self.shape)
        return flat[first], inverse, counts
    starts = _starts(xp, _rows(xp, self, dim))
    first, inverse, counts = _from_starts(xp, None, starts, return_inverse, return_counts)
    return _chosen(xp, self, dim, first), inverse, counts


# ---------------------------------------------------------------- searching


def _search(xp, sequence, values, right, side, sorter, out_int32):
    if side is not None:
        if side not in ("left", "right") or (right and side == "left"):
            raise ValueError
        right = side == "right"
    where = "right" if right else "left"
    if sorter is not None:
        if sorter.shape != sequence.shape or sorter.dtype.char not in "lq":
            raise ValueError
        sequence = xp.take_along_axis(sequence, sorter, -1)
    sequence, values = _widened(xp, sequence), _widened(xp, values)
    if sequence.ndim == 1:
        result = xp.searchsorted(sequence, values, where)
    else:
        if sequence.shape[:-1] != values.shape[:-1] or sequence.ndim != values.ndim:
            raise ValueError
        result = xp.empty(values.shape, xp.int64)
        for i in xp.ndindex(values.shape[:-1]):
            result[i] = xp.searchsorted(sequence[i], values[i], where)
    return result.astype(xp.int32) if out_int32 else contiguous(xp, xp.asarray(result))


@array_kernel("searchsorted.Tensor")
def searchsorted_kernel(
    xp, sorted_sequence, self, *, out_int32=False, right=False, side=None, sorter=None
):
    return _search(xp, sorted_sequence, self, right, side, sorter, out_int32)


@array_kernel("searchsorted.Scalar")
def searchsorted_scalar_kernel(
    xp, sorted_sequence, self, *, out_int32=False, right=False, side=None, sorter=None
):
    if sorted_sequence.ndim != 1:
        raise ValueError
    return _search(xp, sorted_sequence, xp.asarray(self), right, side, sorter, out_int32)


@array_kernel("bucketize.Tensor")
def bucketize_kernel(xp, self, boundaries, *, out_int32=False, right=False):
    if boundaries.ndim != 1:
        raise ValueError
    return _search(xp, boundaries, self, right, None, None, out_int32)


@array_kernel("bucketize.Scalar")
def bucketize_scalar_kernel(xp, self, boundaries, *, out_int32=False, right=False):
    return bucketize_kernel(
        xp, xp.asarray(self), boundaries, out_int32=out_int32, right=right
    )


def _isin(xp, elements, tests, invert):
    elements, tests = _widened(xp, elements), _widened(xp, tests)
    if tests.size <= 8:
        found = xp.zeros(elements.shape, bool)
        for test in tests.reshape(-1):
            found |= elements == test
        return contiguous(xp, ~found if invert else found)
    return xp.isin(elements, tests, invert=invert)


@array_kernel("isin.Tensor_Tensor")
def isin_kernel(xp, elements, test_elements, *, assume_unique=False, invert=False):
    return _isin(xp, elements, test_elements, invert)


@array_kernel("isin.Tensor_Scalar")
def isin_scalar_kernel(xp, elements, test_element, *, assume_unique=False, invert=False):
    found = elements != test_element if invert else elements == test_element
    return contiguous(xp, found)


@array_kernel("isin.Scalar_Tensor")
def isin_of_scalar_kernel(xp, element, test_elements, *, assume_unique=False, invert=False):
    found = (test_elements == element).any()
    return ~found if invert else found


# ---------------------------------------------------------------- counting


@array_kernel("bincount")
def bincount_kernel(xp, self, weights=None, minlength=0):
    if self.ndim != 1 or self.dtype.kind not in "iu" or minlength < 0:
        raise ValueError
    if weights is None:
        return xp.bincount(self.astype(xp.int64, copy=False), minlength=minlength)
    if weights.shape != self.shape:
        raise ValueError
    if self.size == 0:
        return xp.zeros(minlength, xp.int64)
    counts = xp.bincount(
        self.astype(xp.int64, copy=False), weights.astype(xp.float64), minlength
    )
    return counts.astype(xp.float32) if weights.dtype.char == "f" else counts


def _finite_range(xp, x, low, high):
    """Return the limits of a histogram; equal limits mean those of the data."""
    if low == high and x.size:
        low, high = x.min().item(), x.max().item()
    if not (abs(low) < float("inf") and abs(high) < float("inf") and low <= high):
        raise ValueError
    return low, high


@array_kernel("histc")
def histc_kernel(xp, self, bins=100, min=0, max=0):
    if bins <= 0 or self.dtype.kind not in "fV" or max < min:
        raise ValueError
    x = _widened(xp, self).reshape(-1)
    low, high = _finite_range(xp, x, float(min), float(max))
    if low == high:
        low, high = low - 1.0, high + 1.0
    x = x[(x >= low) & (x <= high)]
    one = x.dtype.type
    place = ((x - one(low)) * one(bins) / one(high - low)).astype(xp.int64)
    xp.minimum(place, bins - 1, out=place)
    return xp.bincount(place, minlength=bins).astype(self.dtype)


def _histogram(xp, self, edges, weight, density):
    x = self.reshape(-1)
    bins = len(edges) - 1
    inside = (x >= edges[0]) & (x <= edges[-1])
    place = xp.searchsorted(edges, x[inside], "right") - 1
    xp.minimum(place, bins - 1, out=place)
    if weight is None:
        counts = xp.bincount(place, minlength=bins)
    else:
        if weight.shape != self.shape or weight.dtype != self.dtype:
            raise ValueError
        counts = xp.bincount(place, weight.reshape(-1)[inside].astype(xp.float64), bins)
    counts = counts.astype(self.dtype)
    if density:
        counts /= counts.sum() * xp.diff(edges)
    return counts, edges


@array_kernel("histogram.bins_tensor")
def histogram_kernel(xp, self, bins, *, weight=None, density=False):
    if self.dtype != bins.dtype or self.dtype.char not in "fd" or bins.ndim != 1 or not bins.size:
        raise ValueError
    return _histogram(xp, self, bins.copy(), weight, density)


@array_kernel("histogram.bin_ct")
def histogram_count_kernel(xp, self, bins=100, *, range=None, weight=None, density=False):
    if self.dtype.char not in "fd" or bins <= 0:
        raise ValueError
    if range is None:
        low, high = _finite_range(xp, self, 0.0, 0.0)
    elif len(range) == 2 and range[0] <= range[1]:
        low, high = range
    else:
        raise ValueError
    if low == high:
        low, high = (low - 0.5, high + 0.5) if self.size or range is not None else (0.0, 1.0)
    edges = xp.linspace(low, high, bins + 1, dtype=self.dtype)
    return _histogram(xp, self, edges, weight, density)


@array_kernel("argsort")
def argsort_kernel(xp, self, dim=-1, descending=False):
    return _sort(xp, self, dim, descending, False)[1]


@array_kernel("argsort.stable")
def argsort_stable_kernel(xp, self, *, stable, dim=-1, descending=False):
    return _sort(xp, self, dim, descending, stable)[1]
