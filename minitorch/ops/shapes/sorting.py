"""Shapes, types and argument errors of sorting, searching and counting."""

from __future__ import annotations

import numpy as np

from minitorch.core.dtype import from_numpy_dtype
from minitorch.errors import NeedsElementsError
from minitorch.ops.shapes.common import MetaArray, check, contiguous_strides, normalize_dim
from minitorch.ops.shapes.reductions import BOOL, INT64, no_complex, word
from minitorch.ops.shapes.registry import shape

INT32 = np.dtype(np.int32)


def dense_strides(array) -> tuple:
    """Return the byte strides of a gapless copy that keeps the order of `array`'s dimensions.

    An expanded array has no order to keep: its copy is row-major.
    """
    if 0 in array.strides:
        return contiguous_strides(array.shape, array.dtype.itemsize)
    order = sorted(range(array.ndim), key=lambda i: (-abs(array.strides[i]), i))
    strides = [0] * array.ndim
    step = array.dtype.itemsize
    for i in reversed(order):
        strides[i] = step
        step *= max(array.shape[i], 1)
    return tuple(strides)


def scaled_strides(strides, old_size: int, new_size: int) -> tuple:
    return tuple(s // old_size * new_size for s in strides)


def _sort_shape(self, dim, name):
    normalize_dim(dim, self.ndim, name)
    no_complex(self, name)
    strides = dense_strides(self)
    return (
        MetaArray(self.shape, self.dtype, strides),
        MetaArray(self.shape, INT64, scaled_strides(strides, self.dtype.itemsize, 8)),
    )


@shape("sort")
def sort_shape(self, dim=-1, descending=False):
    return _sort_shape(self, dim, "sort")


@shape("sort.stable")
def sort_stable_shape(self, *, stable, dim=-1, descending=False):
    return _sort_shape(self, dim, "sort")


@shape("topk")
def topk_shape(self, k, dim=-1, largest=True, sorted=True):
    dim = normalize_dim(dim, self.ndim, "topk")
    kind = self.dtype.kind
    check(kind not in "bc", f"topk(): does not support {word(self.dtype)}; convert it first")
    length = self.shape[dim] if self.ndim else 1
    check(
        0 <= k <= length,
        f"topk(): selected index k out of range: k is {k}, dimension {dim} has {length} elements",
    )
    result = list(self.shape)
    if self.ndim:
        result[dim] = k
    return MetaArray(result, self.dtype), MetaArray(result, INT64)


# ---------------------------------------------------------------- unique


def dynamic(name: str) -> None:
    """Refuse a result whose shape depends on elements that a meta tensor does not have."""
    raise NeedsElementsError(name, "the shape of the result")


def _unique_checks(self, dim, name):
    check(
        self.dtype.kind != "c",
        f"{name}(): not implemented for {word(self.dtype)}: complex numbers have no order",
        NotImplementedError,
    )
    if dim is not None:
        dim = normalize_dim(dim, self.ndim, name)
        check(
            self.ndim > 0,
            f"{name}(): Dimension specified as {dim} but tensor has no dimensions",
            IndexError,
        )
        check(
            0 not in self.shape[:dim] + self.shape[dim + 1 :],
            f"{name}(): There are 0 sized dimensions, and they aren't selected, so unique cannot "
            f"be applied (shape {tuple(self.shape)}, dim {dim})",
        )


@shape("_unique2")
def unique2_shape(self, sorted=True, return_inverse=False, return_counts=False):
    _unique_checks(self, None, "unique")
    dynamic("unique")


@shape("unique_dim")
def unique_dim_shape(self, dim, sorted=True, return_inverse=False, return_counts=False):
    _unique_checks(self, dim, "unique")
    dynamic("unique")


@shape("unique_consecutive")
def unique_consecutive_shape(self, return_inverse=False, return_counts=False, dim=None):
    _unique_checks(self, dim, "unique_consecutive")
    dynamic("unique_consecutive")


# ---------------------------------------------------------------- searching


def _search_shape(name, sequence, values_shape, out_int32, right=False, side=None, sorter=None):
    check(
        side in (None, "left", "right"),
        f"{name}(): side can only be 'left' or 'right' but got {side!r}",
    )
    check(
        not (right and side == "left"),
        f"{name}(): side and right can't be set to opposites, got side of left while right was "
        "True",
    )
    check(
        sequence.ndim != 0,
        f"{name}(): boundaries tensor should have positive dimension, but got 0 dimension",
    )
    check(
        sequence.ndim == 1 or (tuple(sequence.shape[:-1]) == tuple(values_shape[:-1])
        and len(values_shape) == sequence.ndim),
        f"{name}(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
        "boundaries tensor and input value tensor must match, but we got boundaries tensor "
        f"{list(sequence.shape)} and input value tensor {list(values_shape)}",
    )
    if sorter is not None:
        check(
            sorter.shape == sequence.shape,
            f"{name}(): boundary and sorter must have the same size, but got boundary tensor "
            f"{list(sequence.shape)} and got sorter tensor {list(sorter.shape)}",
        )
        check(
            sorter.dtype == INT64,
            f"{name}(): sorter must be a tensor of long dtype but got dtype {word(sorter.dtype)}",
        )
    return MetaArray(values_shape, INT32 if out_int32 else INT64)


@shape("searchsorted.Tensor")
def searchsorted_shape(
    sorted_sequence, self, *, out_int32=False, right=False, side=None, sorter=None
):
    return _search_shape(
        "searchsorted", sorted_sequence, self.shape, out_int32, right, side, sorter
    )


@shape("searchsorted.Scalar")
def searchsorted_scalar_shape(
    sorted_sequence, self, *, out_int32=False, right=False, side=None, sorter=None
):
    return _search_shape("searchsorted", sorted_sequence, (), out_int32, right, side, sorter)


def _bucketize_shape(values_shape, boundaries, out_int32):
    check(
        boundaries.ndim == 1,
        f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})",
    )
    return MetaArray(values_shape, INT32 if out_int32 else INT64)


@shape("bucketize.Tensor")
def bucketize_shape(self, boundaries, *, out_int32=False, right=False):
    return _bucketize_shape(self.shape, boundaries, out_int32)


@shape("bucketize.Scalar")
def bucketize_scalar_shape(self, boundaries, *, out_int32=False, right=False):
    return _bucketize_shape((), boundaries, out_int32)


@shape("isin.Tensor_Tensor")
def isin_shape(elements, test_elements, *, assume_unique=False, invert=False):
    return MetaArray(elements.shape, BOOL)


@shape("isin.Tensor_Scalar")
def isin_scalar_shape(elements, test_element, *, assume_unique=False, invert=False):
    return MetaArray(elements.shape, BOOL)


@shape("isin.Scalar_Tensor")
def isin_of_scalar_shape(element, test_elements, *, assume_unique=False, invert=False):
    return MetaArray((), BOOL)


# ---------------------------------------------------------------- counting


@shape("bincount")
def bincount_shape(self, weights=None, minlength=0):
    check(
        self.dtype.kind in "iu",
        f"bincount(): not implemented for {word(self.dtype)}; it counts integers",
        NotImplementedError,
    )
    check(minlength >= 0, f"bincount(): minlength should be >= 0, got {minlength}")
    check(
        self.ndim == 1,
        "bincount(): only supports 1-d non-negative integral inputs, got shape "
        f"{tuple(self.shape)}",
    )
    check(
        weights is None or tuple(weights.shape) == tuple(self.shape),
        "bincount(): weights should be 1-d and have the same length as input",
    )
    if getattr(self, "__array__", None) is not None and self.size and self.min() < 0:
        raise RuntimeError("bincount(): only supports 1-d non-negative integral inputs")
    dynamic("bincount")


def _float_only(self, name):
    check(
        self.dtype.kind in "fV",
        f"{name}(): not implemented for {word(self.dtype)}; convert to a floating point type",
        NotImplementedError,
    )


@shape("histc")
def histc_shape(self, bins=100, min=0, max=0):
    _float_only(self, "histc")
    check(bins > 0, f"histc(): bins must be > 0, but got {bins}")
    check(max >= min, f"histc(): max must be larger than min, got min {min} and max {max}")
    _finite_limits(self, min, max, "histc")
    return MetaArray((bins,), self.dtype)


def _finite_limits(self, low, high, name):
    if low == high and getattr(self, "__array__", None) is not None and self.size:
        low, high = float(self.min()), float(self.max())
    check(
        abs(low) < float("inf") and abs(high) < float("inf"),
        f"{name}(): range of [{low}, {high}] is not finite",
    )


def _histogram_checks(self, weight):
    _float_only(self, "histogram")
    if weight is not None:
        check(
            tuple(weight.shape) == tuple(self.shape),
            "histogram(): if weight tensor is provided it should have the same shape as the "
            f"input tensor; got {tuple(weight.shape)} and {tuple(self.shape)}",
        )
        check(
            weight.dtype == self.dtype,
            "histogram(): weight must have the input's dtype, "
            f"{from_numpy_dtype(self.dtype).name}, not {from_numpy_dtype(weight.dtype).name}",
        )


@shape("histogram.bins_tensor")
def histogram_shape(self, bins, *, weight=None, density=False):
    _histogram_checks(self, weight)
    check(
        bins.ndim == 1 and bins.size > 0,
        "histogram(): bins tensor should be one-dimensional and not empty, got shape "
        f"{tuple(bins.shape)}",
    )
    check(bins.dtype == self.dtype, "histogram(): bins must have the dtype of the input")
    return MetaArray((bins.size - 1,), self.dtype), MetaArray(bins.shape, self.dtype)


@shape("histogram.bin_ct")
def histogram_count_shape(self, bins=100, *, range=None, weight=None, density=False):
    _histogram_checks(self, weight)
    check(bins > 0, f"histogram(): bins must be > 0, but got {bins}")
    check(
        range is None or (len(range) == 2 and range[0] <= range[1]),
        f"histogram(): range must be two increasing numbers, got {range}",
    )
    _finite_limits(self, 0.0, 0.0, "histogram")
    return MetaArray((bins,), self.dtype), MetaArray((bins + 1,), self.dtype)


@shape("argsort")
def argsort_shape(self, dim=-1, descending=False):
    return _sort_shape(self, dim, "argsort")[1]


@shape("argsort.stable")
def argsort_stable_shape(self, *, stable, dim=-1, descending=False):
    return _sort_shape(self, dim, "argsort")[1]
