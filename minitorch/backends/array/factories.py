"""Kernels of the factories."""

from __future__ import annotations

from minitorch.backends.array.common import fused_float64
from minitorch.backends.array.registry import array_kernel
from minitorch.core.dtype import get_default_dtype
from minitorch.core.memory_format import format_strides, preserve_format, preserved_strides
from minitorch.ops.shapes.factories import (
    arange_plan,
    fits,
    index_pairs_dtype,
    number_np_dtype,
    range_plan,
    spaced_dtype,
)


def _np(dtype):
    return get_default_dtype().np if dtype is None else dtype.np


def dense(xp, make, shape, strides, np_dtype):
    """Return ``make(shape, np_dtype)`` with its dimensions in the order that `strides` give."""
    axes = sorted(range(len(shape)), key=lambda a: -strides[a])
    inverse = [0] * len(axes)
    for place, axis in enumerate(axes):
        inverse[axis] = place
    return make([shape[a] for a in axes], np_dtype).transpose(inverse)


def _formatted(xp, make, size, np_dtype, memory_format):
    size = tuple(size)
    strides = format_strides(size, np_dtype.itemsize, memory_format)
    return dense(xp, make, size, strides, np_dtype)


def like(xp, make, array, dtype, memory_format):
    """Return a new array of the shape of `array`; by default in its order of dimensions."""
    np_dtype = array.dtype if dtype is None else dtype.np
    if memory_format is None or memory_format is preserve_format:
        flags = getattr(array, "flags", None)  # a handle of another device may have none
        if flags is not None and flags.c_contiguous:
            return make(array.shape, np_dtype)
        itemsize = np_dtype.itemsize
        strides = preserved_strides(array.shape, array.strides, array.itemsize, itemsize)
        return dense(xp, make, array.shape, strides, np_dtype)
    return _formatted(xp, make, array.shape, np_dtype, memory_format)


def _fill(array, value):
    """Fill a new array with a Python number; return it.

    Raises
    ------
    ValueError, TypeError, OverflowError
        If the number does not fit.
    """
    np_dtype = array.dtype
    kind = np_dtype.kind
    if type(value) is complex and kind != "c":
        if kind == "b":
            value = value != 0
        elif value.imag != 0:
            raise ValueError("out of range")
        else:
            value = value.real
    if kind in "fVc":
        # 0 and small numbers fit everywhere; the others are few
        if value and not abs(value) < 240 and not fits(value, np_dtype):
            raise ValueError("out of range")
        if kind == "V":
            value = float(value)
    elif kind == "u" and type(value) is int and value < 0:
        bits = np_dtype.itemsize * 8
        if value <= -(1 << bits):
            raise ValueError("out of range")
        value += 1 << bits
    array.fill(value)
    return array


@array_kernel("empty.memory_format")
def empty_kernel(
    xp, size, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None
):
    if memory_format is None:
        return xp.empty(size, _np(dtype))
    return _formatted(xp, xp.empty, size, _np(dtype), memory_format)


@array_kernel("empty_strided")
def empty_strided_kernel(
    xp, size, stride, *, dtype=None, layout=None, device=None, pin_memory=None
):
    if len(size) != len(stride) or min(stride, default=0) < 0:
        raise ValueError("not strides of this size")
    np_dtype = _np(dtype)
    result = xp.empty(size, np_dtype)
    itemsize = np_dtype.itemsize
    strides = tuple([s * itemsize for s in stride])
    if result.strides == strides:
        return result
    extent = 0 if 0 in size else 1
    if extent:
        for n, s in zip(size, stride, strict=True):
            extent += (n - 1) * s
    if itemsize == 1:  # as_strided does not know all float8 types
        return xp.lib.stride_tricks.as_strided(xp.empty(extent, xp.uint8), size, strides).view(np_dtype)
    return xp.lib.stride_tricks.as_strided(xp.empty(extent, np_dtype), size, strides)


@array_kernel("empty_permuted")
def empty_permuted_kernel(
    xp, size, physical_layout, *, dtype=None, layout=None, device=None, pin_memory=None
):
    if sorted(physical_layout) != list(range(len(size))):
        raise ValueError("not a permutation")
    inverse = [0] * len(size)
    for place, axis in enumerate(physical_layout):
        inverse[axis] = place
    return xp.empty([size[a] for a in physical_layout], _np(dtype)).transpose(inverse)


@array_kernel("zeros")
def zeros_kernel(xp, size, *, dtype=None, layout=None, device=None, pin_memory=None):
    return xp.zeros(size, _np(dtype))


@array_kernel("ones")
def ones_kernel(xp, size, *, dtype=None, layout=None, device=None, pin_memory=None):
    result = xp.empty(size, _np(dtype))
    result.fill(1)
    return result


@array_kernel("full")
def full_kernel(xp, size, fill_value, *, dtype=None, layout=None, device=None, pin_memory=None):
    np_dtype = number_np_dtype(fill_value) if dtype is None else dtype.np
    return _fill(xp.empty(size, np_dtype), fill_value)


@array_kernel("empty_like")
def empty_like_kernel(
    xp, self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None
):
    return like(xp, xp.empty, self, dtype, memory_format)


@array_kernel("zeros_like")
def zeros_like_kernel(
    xp, self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None
):
    return like(xp, xp.zeros, self, dtype, memory_format)


@array_kernel("ones_like")
def ones_like_kernel(
    xp, self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None
):
    result = like(xp, xp.empty, self, dtype, memory_format)
    result.fill(1)
    return result


@array_kernel("full_like")
def full_like_kernel(
    xp,
    self,
    fill_value,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=None,
    memory_format=None,
):
    return _fill(like(xp, xp.empty, self, dtype, memory_format), fill_value)


@array_kernel("scalar_tensor")
def scalar_tensor_kernel(xp, s, *, dtype=None, layout=None, device=None, pin_memory=None):
    np_dtype = _np(dtype)
    if np_dtype.itemsize <= 2 and np_dtype.kind in "fV" and type(s) is not complex:
        return xp.asarray(float(s), np_dtype)
    return _fill(xp.empty((), np_dtype), s)


def _progression(xp, start, step, count, np_dtype):
    """Return ``start + step * i`` for i below `count`, rounded once."""
    if np_dtype.kind in "iu":
        if np_dtype.itemsize == 8:
            return xp.arange(start, start + count * step, step, np_dtype)
        return xp.arange(start, start + count * step, step).astype(np_dtype)
    values = xp.arange(count, dtype=xp.float64)
    values *= step
    values += start
    return values.astype(np_dtype, copy=False)


@array_kernel("arange")
def arange_kernel(xp, end, *, dtype=None, layout=None, device=None, pin_memory=None):
    if dtype is None and type(end) is int and end >= 0:
        return xp.arange(end, dtype=xp.int64)
    return _progression(xp, *arange_plan(0, end, 1, dtype))


@array_kernel("arange.start", "arange.start_step")
def arange_start_kernel(
    xp, start, end, step=1, *, dtype=None, layout=None, device=None, pin_memory=None
):
    return _progression(xp, *arange_plan(start, end, step, dtype))


@array_kernel("range.step")
def range_kernel(xp, start, end, step=1, *, dtype=None, layout=None, device=None, pin_memory=None):
    return _progression(xp, *range_plan(start, end, step, dtype))


def _spaced(xp, start, end, steps, wide):
    """Return `steps` evenly spaced values, each half counted from its own end.

    Start, end and step are of type `wide`; each value is rounded once, as if fused.
    """
    if steps == 1:
        return xp.full(1, start, wide)
    start = wide.type(start)
    end = wide.type(end)
    step = (end - start) / wide.type(steps - 1) if steps else wide.type(0)
    half = steps // 2
    result = xp.empty(steps, xp.float64 if wide.kind == "f" else wide)
    up = xp.arange(half, dtype=xp.float64)
    down = xp.arange(steps - 1 - half, -1, -1, dtype=xp.float64)
    if wide.char == "d":
        result[:half] = fused_float64(up, step, start)
        result[half:] = fused_float64(down, -step, end)
    else:  # a float32 product is exact in float64
        result[:half] = up * step + start
        result[half:] = end - down * step
    return result


@array_kernel("linspace")
def linspace_kernel(
    xp, start, end, steps, *, dtype=None, layout=None, device=None, pin_memory=None
):
    np_dtype = spaced_dtype((start, end), steps, dtype, "linspace")
    kind = np_dtype.kind
    wide = np_dtype
    if kind in "iu":
        wide = xp.dtype(xp.float64)
        start, end = int(start), int(end)
    elif kind != "c" and np_dtype.itemsize < 4:
        wide = xp.dtype(xp.float32)
    return _spaced(xp, start, end, steps, wide).astype(np_dtype, copy=False)


@array_kernel("logspace")
def logspace_kernel(
    xp, start, end, steps, base=10.0, *, dtype=None, layout=None, device=None, pin_memory=None
):
    np_dtype = spaced_dtype((start, end), steps, dtype, "logspace")
    wide = xp.dtype(xp.complex128 if np_dtype.kind == "c" else xp.float64)
    if np_dtype.kind in "iu":
        start, end = int(start), int(end)
    exponents = _spaced(xp, start, end, steps, wide)
    return xp.power(wide.type(base), exponents).astype(np_dtype, copy=False)


@array_kernel("eye")
def eye_kernel(xp, n, *, dtype=None, layout=None, device=None, pin_memory=None):
    return xp.eye(n, dtype=_np(dtype))


@array_kernel("eye.m")
def eye_m_kernel(xp, n, m, *, dtype=None, layout=None, device=None, pin_memory=None):
    return xp.eye(n, m, dtype=_np(dtype))


@array_kernel("tril_indices")
def tril_indices_kernel(
    xp, row, col, offset=0, *, dtype=None, layout=None, device=None, pin_memory=None
):
    np_dtype = index_pairs_dtype(row, col, dtype, "tril_indices")
    return xp.stack(xp.tril_indices(row, offset, col)).astype(np_dtype, copy=False)


@array_kernel("triu_indices")
def triu_indices_kernel(
    xp, row, col, offset=0, *, dtype=None, layout=None, device=None, pin_memory=None
):
    np_dtype = index_pairs_dtype(row, col, dtype, "triu_indices")
    return xp.stack(xp.triu_indices(row, offset, col)).astype(np_dtype, copy=False)


def _complex_dtype(xp, first, second):
    if first.dtype != second.dtype or first.dtype.char not in "efd":
        raise ValueError("not a pair of real arrays")
    return xp.complex128 if first.dtype.char == "d" else xp.complex64


@array_kernel("complex")
def complex_kernel(xp, real, imag):
    np_dtype = _complex_dtype(xp, real, imag)
    result = xp.empty(xp.broadcast_shapes(real.shape, imag.shape), np_dtype)
    result.real = real
    result.imag = imag
    return result


@array_kernel("polar")
def polar_kernel(xp, abs, angle):
    np_dtype = _complex_dtype(xp, abs, angle)
    result = xp.empty(xp.broadcast_shapes(abs.shape, angle.shape), np_dtype)
    xp.multiply(abs, xp.cos(angle), result.real)
    xp.multiply(abs, xp.sin(angle), result.imag)
    return result
