"""Kernels of pooling.

A pooled array is the maximum or sum of as many strided views of the padded input as the window
has elements; nothing is gathered.
"""

from __future__ import annotations

from itertools import product

from minitorch.backends.array.common import contiguous, is_low_precision
from minitorch.backends.array.layout import keeps_format
from minitorch.backends.array.precision import float_kernel, widen
from minitorch.backends.array.registry import array_kernel


def _full(values, count):
    return tuple(values) * count if len(values) == 1 else tuple(values)


def pooled_size(size, kernel, stride, padding, dilation, ceil_mode):
    """Return how many windows of pooling fit a length."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return span // stride + 1
    count = -(-span // stride) + 1
    # The last window must start inside the input or its left padding.
    return count - 1 if (count - 1) * stride >= size + padding else count


class _Windows:
    """The windows of pooling the last `d` dimensions of arrays of one shape."""

    def __init__(self, shape, d, kernel_size, stride, padding, dilation, ceil_mode):
        self.d = d
        self.kernel = _full(kernel_size, d)
        self.stride = _full(stride, d) if len(stride) else self.kernel
        self.padding = _full(padding, d)
        self.dilation = _full(dilation, d)
        self.lead = tuple(shape[:-d])
        self.size = tuple(shape[-d:])
        if (
            min(self.kernel) <= 0
            or min(self.stride) <= 0
            or min(self.dilation) <= 0
            or any(
                p < 0 or 2 * p > t * (k - 1) + 1
                for p, k, t in zip(self.padding, self.kernel, self.dilation, strict=True)
            )
            or len(self.lead) not in (1, 2)
            or 0 in (*self.lead[-1:], *self.size)
        ):
            raise ValueError("bad window")
        self.out = tuple(
            pooled_size(n, k, s, p, t, ceil_mode)
            for n, k, s, p, t in zip(
                self.size, self.kernel, self.stride, self.padding, self.dilation, strict=True
            )
        )
        if min(self.out) <= 0:
            raise ValueError("window larger than input")
        self.reach = tuple(
            max((o - 1) * s + t * (k - 1) + 1, p + n)
            for o, s, t, k, p, n in zip(
                self.out, self.stride, self.dilation, self.kernel, self.padding, self.size,
                strict=True,
            )
        )  # fmt: skip
        self.is_padded = any(
            p or r > n for p, r, n in zip(self.padding, self.reach, self.size, strict=True)
        )
        self.overlapping = any(
            s < t * (k - 1) + 1
            for s, t, k in zip(self.stride, self.dilation, self.kernel, strict=True)
        )
        self.interior = (
            ...,
            *(slice(p, p + n) for p, n in zip(self.padding, self.size, strict=True)),
        )

    def pad(self, xp, array, value):
        """Return `array` padded as far as the windows reach."""
        if not self.is_padded:
            return array
        padded = xp.full((*self.lead, *self.reach), value, array.dtype)
        padded[self.interior] = array
        return padded

    def offsets(self):
        return product(*map(range, self.kernel))

    def view(self, padded, offset):
        """Return the elements at `offset` of all windows."""
        return padded[
            (
                ...,
                *(
                    slice(i * t, i * t + (o - 1) * s + 1, s)
                    for i, t, o, s in zip(
                        offset, self.dilation, self.out, self.stride, strict=True
                    )
                ),
            )
        ]

    def positions(self, xp, offset):
        """Return the flat index, in the unpadded input, of the element at `offset`."""
        flat = 0
        for j, (i, t, o, s, p, n) in enumerate(
            zip(
                offset, self.dilation, self.out, self.stride, self.padding, self.size,
                strict=True,
            )
        ):  # fmt: skip
            along = xp.arange(o) * s + (i * t - p)
            flat = flat * n + along.reshape((-1,) + (1,) * (self.d - 1 - j))
        return flat

    def first_positions(self, xp):
        """Return the flat index of the first element of each window that is not padding."""
        flat = 0
        for j, (t, o, s, p, n) in enumerate(
            zip(self.dilation, self.out, self.stride, self.padding, self.size, strict=True)
        ):
            start = xp.arange(o) * s - p
            start = start + xp.maximum(0, -(start // t)) * t
            flat = flat * n + start.reshape((-1,) + (1,) * (self.d - 1 - j))
        return flat


def _lowest(xp, dtype):
    return -xp.inf if dtype.kind == "f" else xp.iinfo(dtype).min


def _maxima(xp, padded, windows):
    """Return the maximum of each window."""
    offsets = windows.offsets()
    result = xp.ascontiguousarray(windows.view(padded, next(offsets)))
    if result.base is not None or result is padded:
        result = result.copy()
    for offset in offsets:
        xp.maximum(result, windows.view(padded, offset), out=result)
    return result


def _max_pool(xp, self, windows):
    return _maxima(xp, windows.pad(xp, self, _lowest(xp, self.dtype)), windows)


@array_kernel("max_pool2d")
@keeps_format
def max_pool2d_kernel(
    xp, self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False
):
    if is_low_precision(self.dtype):
        return max_pool2d_kernel(
            xp, widen(self), kernel_size, stride, padding, dilation, ceil_mode
        ).astype(self.dtype)
    windows = _Windows(self.shape, 2, kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool(xp, self, windows)


@array_kernel("max_pool2d_backward")
@float_kernel
def max_pool2d_backward_kernel(
    xp, grad_output, self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False
):
    """Give each gradient to the first element of its window that equals the maximum."""
    windows = _Windows(self.shape, 2, kernel_size, stride, padding, dilation, ceil_mode)
    padded = windows.pad(xp, self, _lowest(xp, self.dtype))
    maxima = _maxima(xp, padded, windows)
    if (maxima != maxima).any():
        # NaN equals nothing: find it by position.
        indices = _argmax(xp, padded, windows)[1]
        return _scatter(xp, grad_output, indices, windows)
    result = xp.zeros((*windows.lead, *windows.reach), self.dtype)
    integer = xp.int32 if self.dtype.itemsize == 4 else xp.int64
    bits = contiguous(xp, grad_output).view(integer)
    left = xp.ones(maxima.shape, bool)
    part = xp.empty(maxima.shape, integer)
    for offset in windows.offsets():
        chosen = xp.equal(windows.view(padded, offset), maxima)
        xp.logical_and(chosen, left, out=chosen)
        xp.logical_xor(left, chosen, out=left)
        target = windows.view(result, offset)
        if windows.overlapping:
            xp.multiply(bits, chosen, out=part)
            target += part.view(self.dtype)
        else:
            xp.multiply(bits, chosen, out=target.view(integer))
    if windows.is_padded:
        result = xp.ascontiguousarray(result[windows.interior])
    return result


def _argmax(xp, padded, windows):
    """Return maxima, and their flat indices, of each window."""
    best = xp.full((*windows.lead, *windows.out), _lowest(xp, padded.dtype), padded.dtype)
    indices = xp.empty(best.shape, xp.int64)
    indices[...] = windows.first_positions(xp)
    floating = padded.dtype.kind == "f"
    for offset in windows.offsets():
        candidate = windows.view(padded, offset)
        better = candidate > best
        if floating:
            better |= candidate != candidate
        xp.copyto(best, candidate, where=better)
        xp.copyto(indices, windows.positions(xp, offset), where=better)
    return best, indices


def _max_pool_with_indices(xp, self, d, kernel_size, stride, padding, dilation, ceil_mode):
    windows = _Windows(self.shape, d, kernel_size, stride, padding, dilation, ceil_mode)
    wide = widen(self)
    best, indices = _argmax(xp, windows.pad(xp, wide, _lowest(xp, wide.dtype)), windows)
    return best.astype(self.dtype, copy=False), indices


@array_kernel("max_pool2d_with_indices")
@keeps_format
def max_pool2d_with_indices_kernel(
    xp, self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False
):
    return _max_pool_with_indices(
        xp, self, 2, kernel_size, stride, padding, dilation, ceil_mode
    )


@array_kernel("max_pool3d_with_indices")
@keeps_format
def max_pool3d_with_indices_kernel(
    xp, self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False
):
    return _max_pool_with_indices(
        xp, self, 3, kernel_size, stride, padding, dilation, ceil_mode
    )


def _scatter(xp, grad, indices, windows):
    """Add each gradient to the element of the input that its index names."""
    return scatter_planes(
        xp, grad, indices, windows.lead, windows.size, windows.overlapping
    )


def scatter_planes(xp, values, indices, lead, size, add):
    """Return zeros of shape `lead` + `size` with `values` put or added at flat `indices`."""
    plane = 1
    for n in size:
        plane *= n
    count = 1
    for n in lead:
        count *= n
    result = xp.zeros((count, plane), values.dtype)
    if values.size:
        flat = indices.reshape(count, -1) + (xp.arange(count) * plane)[:, None]
        if add:
            xp.add.at(result.reshape(-1), flat.reshape(-1), values.reshape(-1))
        else:
            result.reshape(-1)[flat.reshape(-1)] = values.reshape(-1)
    return result.reshape(*lead, *size)


def _max_pool_backward(xp, grad_output, self, d, windows_args, indices):
    windows = _Windows(self.shape, d, *windows_args)
    if grad_output.shape != indices.shape or grad_output.shape[-d:] != windows.out:
        raise ValueError("shapes differ")
    return _scatter(xp, widen(grad_output), indices, windows).astype(
        grad_output.dtype, copy=False
    )


@array_kernel("max_pool2d_with_indices_backward")
def max_pool2d_with_indices_backward_kernel(
    xp, grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices
):
    args = (kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool_backward(xp, grad_output, self, 2, args, indices)


@array_kernel("max_pool3d_with_indices_backward")
def max_pool3d_with_indices_backward_kernel(
    xp, grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices
):
    args = (kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool_backward(xp, grad_output, self, 3, args, indices)


# ---------------------------------------------------------------- averages


def _divisors(xp, windows, count_include_pad, divisor_override, dtype):
    """Return what the sums of windows are divided by: a number, or an array of output shape."""
    if divisor_override is not None:
        if divisor_override == 0:
            raise ValueError("divisor 0")
        return divisor_override
    total = 1
    uniform = True
    for j, (o, s, p, k, n) in enumerate(
        zip(
            windows.out, windows.stride, windows.padding, windows.kernel, windows.size,
            strict=True,
        )
    ):  # fmt: skip
        start = xp.arange(o) * s - p
        stop = xp.minimum(start + k, n + p)
        if not count_include_pad:
            start = xp.maximum(start, 0)
            stop = xp.minimum(stop, n)
        counts = stop - start
        if int(counts.min()) == k:
            total = total * k
        else:
            uniform = False
            total = total * counts.reshape((-1,) + (1,) * (windows.d - 1 - j))
    return total if uniform else xp.asarray(total, dtype)


def _avg_pool(xp, self, d, kernel_size, stride, padding, ceil_mode, include, override):
    windows = _Windows(self.shape, d, kernel_size, stride, padding, (1,), ceil_mode)
    divisors = _divisors(xp, windows, include, override, self.dtype)
    padded = windows.pad(xp, self, 0)
    offsets = windows.offsets()
    result = xp.array(windows.view(padded, next(offsets)), order="C", copy=True)
    for offset in offsets:
        xp.add(result, windows.view(padded, offset), out=result)
    if result.dtype.kind in "iu":
        # Integers are divided towards zero.
        return (result - xp.fmod(result, divisors)) // divisors
    return xp.divide(result, divisors, out=result)


def _avg_pool_backward(
    xp, grad_output, self, d, kernel_size, stride, padding, ceil_mode, include, override
):
    windows = _Windows(self.shape, d, kernel_size, stride, padding, (1,), ceil_mode)
    if grad_output.shape != (*windows.lead, *windows.out):
        raise ValueError("shapes differ")
    share = grad_output / _divisors(xp, windows, include, override, self.dtype)
    result = xp.zeros((*windows.lead, *windows.reach), self.dtype)
    for offset in windows.offsets():
        target = windows.view(result, offset)
        target += share
    if windows.is_padded:
        result = xp.ascontiguousarray(result[windows.interior])
    return result


@array_kernel("avg_pool2d")
@keeps_format
def avg_pool2d_kernel(
    xp, self, kernel_size, stride=(), padding=(0,), ceil_mode=False, count_include_pad=True,
    divisor_override=None,
):  # fmt: skip
    wide = _avg_pool(
        xp, widen(self), 2, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip
    return wide.astype(self.dtype, copy=False)


@array_kernel("avg_pool3d")
def avg_pool3d_kernel(
    xp, self, kernel_size, stride=(), padding=(0,), ceil_mode=False, count_include_pad=True,
    divisor_override=None,
):  # fmt: skip
    wide = _avg_pool(
        xp, widen(self), 3, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip
    return wide.astype(self.dtype, copy=False)


@array_kernel("avg_pool2d_backward")
@float_kernel
def avg_pool2d_backward_kernel(
    xp, grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad,
    divisor_override,
):  # fmt: skip
    return _avg_pool_backward(
        xp, grad_output, self, 2, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


@array_kernel("avg_pool3d_backward")
@float_kernel
def avg_pool3d_backward_kernel(
    xp, grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad,
    divisor_override,
):  # fmt: skip
    return _avg_pool_backward(
        xp, grad_output, self, 3, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


# ---------------------------------------------------------------- adaptive pooling


def adaptive_bounds(size, count):
    """Return the (start, stop) of each of `count` windows that cover a length of `size`."""
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _along(array, axis, start, stop):
    return array[(slice(None),) * axis + (slice(start, stop),)]


def _adaptive_avg(xp, self, d, output_size):
    if not self.ndim - d >= 1 or len(output_size) != d or 0 in self.shape[1:]:
        raise ValueError("bad shape")
    result = self
    for axis, count in zip(range(self.ndim - d, self.ndim), output_size, strict=True):
        size = result.shape[axis]
        if count == size:
            continue
        if count == 1:
            result = xp.add.reduce(result, axis=axis, keepdims=True) / result.dtype.type(size)
            continue
        if count and size % count == 0:
            shape = (*result.shape[:axis], count, size // count, *result.shape[axis + 1 :])
            result = xp.add.reduce(result.reshape(shape), axis=axis + 1)
            result = result / result.dtype.type(size // count)
            continue
        pooled = xp.empty(
            (*result.shape[:axis], count, *result.shape[axis + 1 :]), result.dtype
        )
        for i, (start, stop) in enumerate(adaptive_bounds(size, count)):
            part = xp.add.reduce(_along(result, axis, start, stop), axis=axis, keepdims=True)
            xp.divide(part, part.dtype.type(stop - start), out=_along(pooled, axis, i, i + 1))
        result = pooled
    if result is self or not result.flags.c_contiguous:
        result = xp.array(result, order="C", copy=True)
    return result


def _adaptive_avg_backward(xp, grad_output, self, d):
    result = grad_output
    for axis in range(self.ndim - d, self.ndim):
        size, count = self.shape[axis], grad_output.shape[axis]
        if count == size:
            continue
        shape = (*result.shape[:axis], size, *result.shape[axis + 1 :])
        if count == 1:
            spread = xp.empty(shape, result.dtype)
            spread[...] = result / result.dtype.type(size)
        else:
            spread = xp.zeros(shape, result.dtype)
            for i, (start, stop) in enumerate(adaptive_bounds(size, count)):
                target = _along(spread, axis, start, stop)
                target += _along(result, axis, i, i + 1) / result.dtype.type(stop - start)
        result = spread
    if result is grad_output:
        result = grad_output.copy()
    return result


@array_kernel("_adaptive_avg_pool2d")
@keeps_format
@float_kernel
def adaptive_avg_pool2d_kernel(xp, self, output_size):
    return _adaptive_avg(xp, self, 2, output_size)


@array_kernel("_adaptive_avg_pool3d")
@float_kernel
def adaptive_avg_pool3d_kernel(xp, self, output_size):
    return _adaptive_avg(xp, self, 3, output_size)


@array_kernel("_adaptive_avg_pool2d_backward")
@float_kernel
def adaptive_avg_pool2d_backward_kernel(xp, grad_output, self):
    return _adaptive_avg_backward(xp, grad_output, self, 2)


@array_kernel("_adaptive_avg_pool3d_backward")
@float_kernel
def adaptive_avg_pool3d_backward_kernel(xp, grad_output, self):
    return _adaptive_avg_backward(xp, grad_output, self, 3)


def _adaptive_max(xp, self, d, output_size):
    if not self.ndim - d >= 1 or len(output_size) != d or 0 in self.shape[1:]:
        raise ValueError("bad shape")
    lead, size = self.shape[:-d], self.shape[-d:]
    best = xp.empty((*lead, *output_size), self.dtype)
    indices = xp.empty(best.shape, xp.int64)
    bounds = [adaptive_bounds(n, c) for n, c in zip(size, output_size, strict=True)]
    strides = [1]
    for n in reversed(size[1:]):
        strides.insert(0, strides[0] * n)
    for cell in product(*map(range, output_size)):
        limits = [b[i] for b, i in zip(bounds, cell, strict=True)]
        window = self[(..., *(slice(*x) for x in limits))]
        flat = window.reshape(*lead, -1)
        chosen = flat.argmax(axis=-1)  # the first NaN, if there is one
        index = 0
        rest = chosen
        for (start, stop), step in zip(reversed(limits), reversed(strides), strict=True):
            index = index + (rest % (stop - start) + start) * step
            rest = rest // (stop - start)
        indices[(..., *cell)] = index
        best[(..., *cell)] = xp.take_along_axis(flat, chosen[..., None], axis=-1)[..., 0]
    return best, indices


@array_kernel("adaptive_max_pool2d")
@keeps_format
@float_kernel
def adaptive_max_pool2d_kernel(xp, self, output_size):
    return _adaptive_max(xp, self, 2, output_size)


@array_kernel("adaptive_max_pool3d")
@float_kernel
def adaptive_max_pool3d_kernel(xp, self, output_size):
    return _adaptive_max(xp, self, 3, output_size)


@array_kernel("adaptive_max_pool2d_backward")
@float_kernel
def adaptive_max_pool2d_backward_kernel(xp, grad_output, self, indices):
    return scatter_planes(
        xp, grad_output, indices, self.shape[:-2], self.shape[-2:], True
    )


@array_kernel("adaptive_max_pool3d_backward")
@float_kernel
def adaptive_max_pool3d_backward_kernel(xp, grad_output, self, indices):
    return scatter_planes(
        xp, grad_output, indices, self.shape[:-3], self.shape[-3:], True
    )


# ---------------------------------------------------------------- unpooling


def _unpool(xp, self, indices, d, output_size):
    plane = 1
    for n in output_size:
        plane *= n
    if self.shape != indices.shape or self.ndim not in (d + 1, d + 2):
        raise ValueError("shapes differ")
    if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < plane:
        raise IndexError(
            f"max_unpooling{d}d: found an invalid max index: {int(indices.max())} (output "
            f"volumes are of size {tuple(output_size)})"
        )
    return scatter_planes(xp, self, indices, self.shape[:-d], tuple(output_size), False)


@array_kernel("max_unpool2d")
@keeps_format
def max_unpool2d_kernel(xp, self, indices, output_size):
    return _unpool(xp, self, indices, 2, output_size)


@array_kernel("max_unpool3d")
def max_unpool3d_kernel(xp, self, indices, output_size, stride, padding):
    return _unpool(xp, self, indices, 3, output_size)
