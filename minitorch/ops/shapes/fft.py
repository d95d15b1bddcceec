"""Shapes, strides and types of the Fourier transforms.

PyTorch's transforms leave the transformed dimensions innermost in memory, the batch
dimensions outside in the order of the input's strides.
"""

from __future__ import annotations

import numpy as np

from minitorch.ops.shapes.common import MetaArray, check, contiguous_strides, normalize_dims
from minitorch.ops.shapes.reductions import real_dtype, word
from minitorch.ops.shapes.registry import shape


def axis_order(strides, dims, last=None) -> list[int]:
    """Return the axes from the outermost to the innermost, as a transform leaves them.

    Parameters
    ----------
    strides : tuple of int
        Of the input.
    dims : list of int
        The transformed dimensions, counted from the front.
    last : int, optional
        The one of them that stays innermost; the others are ordered by their strides.
    """
    batch = sorted((d for d in range(len(strides)) if d not in dims), key=lambda d: -strides[d])
    moving = sorted((d for d in dims if d != last), key=lambda d: -strides[d])
    return batch + moving + ([] if last is None else [last])


def ordered(shape_, order, np_dtype) -> MetaArray:
    """Return a dense array whose axes lie in memory in `order`."""
    shape_ = tuple(shape_)
    inner = contiguous_strides([shape_[d] for d in order], np_dtype.itemsize)
    strides = [0] * len(shape_)
    for d, stride in zip(order, inner, strict=True):
        strides[d] = stride
    return MetaArray(shape_, np_dtype, tuple(strides))


@shape("_fft_c2c")
def fft_c2c_shape(self, dim, normalization, forward):
    check(
        self.dtype.kind == "c",
        f"_fft_c2c(): expected a complex input, got {word(self.dtype)}",
    )
    if not dim:
        return MetaArray(self.shape, self.dtype)
    dims = normalize_dims(dim, self.ndim, "_fft_c2c")
    return ordered(self.shape, axis_order(self.strides, dims), self.dtype)


@shape("_fft_r2c")
def fft_r2c_shape(self, dim, normalization, onesided):
    check(
        self.dtype.char in "fd",
        f"_fft_r2c(): expected a float or double input, got {word(self.dtype)}",
    )
    dims = normalize_dims(dim, self.ndim, "_fft_r2c")
    last = dims[-1]
    result = list(self.shape)
    if onesided:
        result[last] = result[last] // 2 + 1
    kind = np.dtype(np.complex64 if self.dtype.char == "f" else np.complex128)
    return ordered(result, axis_order(self.strides, dims, last), kind)


@shape("_fft_c2r")
def fft_c2r_shape(self, dim, normalization, last_dim_size):
    check(
        self.dtype.kind == "c",
        f"_fft_c2r(): expected a complex input, got {word(self.dtype)}",
    )
    dims = normalize_dims(dim, self.ndim, "_fft_c2r")
    last = dims[-1]
    check(
        last_dim_size >= 1,
        f"_fft_c2r(): Invalid number of data points ({last_dim_size}) specified",
    )
    between = self
    if len(dims) > 1:
        between = ordered(self.shape, axis_order(self.strides, dims[:-1]), self.dtype)
    result = list(self.shape)
    result[last] = last_dim_size
    order = axis_order(between.strides, [last], last)
    return ordered(result, order, real_dtype(self.dtype))
