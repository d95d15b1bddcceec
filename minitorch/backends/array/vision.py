"""Kernels of padding and resampling.

Note [Resampling by taps]
    A resampled dimension is a weighted sum of a few elements of the input, the taps: one for
    nearest, two for linear, four for cubic.  Dimensions are resampled one after the other.  The
    gradient is the transposed map, applied as a matrix.
"""

from __future__ import annotations

from math import ceil

from minitorch.backends.array.layout import keeps_format
from minitorch.backends.array.precision import float_kernel, rounded, widen
from minitorch.backends.array.registry import array_kernel
from minitorch.backends.array.resampling_bytes import resample_bytes

# ---------------------------------------------------------------- padding


@array_kernel("constant_pad_nd")
@keeps_format
def constant_pad_nd_kernel(xp, self, pad, value=0):
    if len(pad) % 2 or len(pad) > 2 * self.ndim:
        raise ValueError("bad pad")
    source, target, shape = [], [], []
    for axis, n in enumerate(self.shape):
        i = 2 * (self.ndim - 1 - axis)
        before, after = (pad[i], pad[i + 1]) if i < len(pad) else (0, 0)
        size = n + before + after
        if size < 0:
            raise ValueError("negative size")
        shape.append(size)
        source.append(slice(max(0, -before), n - max(0, -after)))
        target.append(slice(max(0, before), size - max(0, after)))
    result = xp.full(tuple(shape), value, self.dtype)
    result[tuple(target)] = self[tuple(source)]
    return result


def reflected(xp, n, before, after):
    """Return the index of the element that each padded position shows, mirrored at the ends."""
    index = xp.abs(xp.arange(-before, n + after))
    return n - 1 - xp.abs(n - 1 - index)


def replicated(xp, n, before, after):
    """Return the index of the element that each padded position shows, the ends repeated."""
    return xp.clip(xp.arange(-before, n + after), 0, n - 1)


def pads_of(padding):
    """Yield (axis from the end, before, after)."""
    for i in range(len(padding) // 2):
        yield -1 - i, padding[2 * i], padding[2 * i + 1]


def _index_pad(xp, self, padding, index_of, mirrored):
    d = len(padding) // 2
    if self.ndim not in (d + 1, d + 2):
        raise ValueError("bad rank")
    result = self
    for axis, before, after in pads_of(padding):
        n = self.shape[axis]
        if n + before + after <= 0 or n == 0 or (mirrored and not (before < n and after < n)):
            raise ValueError("bad pad")
        result = xp.take(result, index_of(xp, n, before, after), axis=axis)
    return result


def _index_pad_backward(xp, grad_output, self, padding, index_of):
    result = widen(grad_output)
    for axis, before, after in pads_of(padding):
        n = self.shape[axis]
        if result.shape[axis] != n + before + after:
            raise ValueError("bad gradient")
        moved = xp.moveaxis(result, axis, 0)
        total = xp.zeros((n, *moved.shape[1:]), moved.dtype)
        xp.add.at(total, index_of(xp, n, before, after), moved)
        result = xp.moveaxis(total, 0, axis)
    return xp.ascontiguousarray(rounded(result, grad_output.dtype))


@array_kernel("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
@keeps_format
def reflection_pad_kernel(xp, self, padding):
    return _index_pad(xp, self, padding, reflected, True)


@array_kernel("replication_pad1d", "replication_pad2d", "replication_pad3d")
@keeps_format
def replication_pad_kernel(xp, self, padding):
    return _index_pad(xp, self, padding, replicated, False)


@array_kernel(
    "reflection_pad1d_backward", "reflection_pad2d_backward", "reflection_pad3d_backward"
)
def reflection_pad_backward_kernel(xp, grad_output, self, padding):
    return _index_pad_backward(xp, grad_output, self, padding, reflected)


@array_kernel(
    "replication_pad1d_backward", "replication_pad2d_backward", "replication_pad3d_backward"
)
def replication_pad_backward_kernel(xp, grad_output, self, padding):
    return _index_pad_backward(xp, grad_output, self, padding, replicated)


# ---------------------------------------------------------------- resampling


def _scale(size, count, align_corners, given):
    """Return how far two neighbours of the output are apart in the input."""
    if align_corners:
        return (size - 1) / (count - 1) if count > 1 else 0.0
    if given is not None and given > 0:
        return 1.0 / given
    return size / count


def nearest_taps(xp, size, count, given, dtype, exact):
    """Return the index of the nearest element for each output."""
    # Single precision, as in PyTorch, because rounding decides the index.
    scale = xp.float32(_scale(size, count, False, given))
    positions = xp.arange(count, dtype=xp.float32)
    if exact:
        positions = positions + xp.float32(0.5)
    index = xp.floor(positions * scale).astype(xp.int64)
    return [(xp.minimum(index, size - 1), None)]


def _positions(xp, size, count, align_corners, given, dtype):
    scale = dtype.type(_scale(size, count, align_corners, given))
    positions = xp.arange(count, dtype=dtype)
    if align_corners:
        return positions * scale
    return (positions + dtype.type(0.5)) * scale - dtype.type(0.5)


def linear_taps(xp, size, count, align_corners, given, dtype):
    """Return two (index, weight) pairs, or one where the size stays."""
    if size == count:
        return [(xp.arange(size), None)]
    position = xp.maximum(_positions(xp, size, count, align_corners, given, dtype), 0)
    low = xp.minimum(position.astype(xp.int64), size - 1)
    high = xp.minimum(low + 1, size - 1)
    share = xp.clip(position - low.astype(dtype), 0, 1)
    return [(low, 1 - share), (high, share)]


def _cubic(xp, x, a):
    """Return the cubic convolution kernel (Keys, 1981) at distance `x`."""
    x = xp.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return xp.where(x <= 1, near, xp.where(x < 2, far, 0))


def cubic_taps(xp, size, count, align_corners, given, dtype):
    """Return four (index, weight) pairs."""
    position = _positions(xp, size, count, align_corners, given, dtype)
    base = xp.floor(position)
    share = position - base
    base = base.astype(xp.int64)
    return [
        (xp.clip(base + k, 0, size - 1), _cubic(xp, share - k, -0.75).astype(dtype))
        for k in (-1, 0, 1, 2)
    ]


def _triangle(xp, x, _):
    return xp.maximum(1 - xp.abs(x), 0)


def antialias_taps(xp, size, count, align_corners, given, dtype, cubic):
    """Return the taps of a kernel widened by the scale, so that all elements count."""
    scale = _scale(size, count, align_corners, given)
    widening = max(scale, 1.0)
    support = (2.0 if cubic else 1.0) * widening
    center = scale * (xp.arange(count) + 0.5)
    low = xp.maximum((center - support + 0.5).astype(xp.int64), 0)
    high = xp.minimum((center + support + 0.5).astype(xp.int64), size)
    kernel = _cubic if cubic else _triangle
    index = low[:, None] + xp.arange(int(ceil(support)) * 2 + 2)
    weight = kernel(xp, (index - center[:, None] + 0.5) / widening, -0.5)
    weight = xp.where(index < high[:, None], weight, 0.0)
    total = weight.sum(axis=1, keepdims=True)
    weight = xp.where(total != 0, weight / total, weight).astype(dtype)
    index = xp.minimum(index, size - 1)
    return [(index[:, k], weight[:, k]) for k in range(index.shape[1])]


def _shaped(weight, axis, ndim):
    return weight.reshape((-1,) + (1,) * (ndim - 1 - axis))


def _resample(xp, x, taps_of_axes):
    """Return `x` with its last dimensions resampled."""
    first = x.ndim - len(taps_of_axes)
    for axis, taps in enumerate(taps_of_axes, first):
        total = None
        for index, weight in taps:
            part = xp.take(x, index, axis=axis)
            if weight is not None:
                part *= _shaped(weight, axis, x.ndim)
            if total is None:
                total = part
            else:
                total += part
        x = total
    return x


def _resample_backward(xp, grad, sizes, taps_of_axes):
    """Return the gradient of the input: the transposed maps, as matrices."""
    first = grad.ndim - len(taps_of_axes)
    for axis, (taps, size) in enumerate(zip(taps_of_axes, sizes, strict=True), first):
        count = grad.shape[axis]
        matrix = xp.zeros((count, size), grad.dtype)
        rows = xp.arange(count)
        for index, weight in taps:
            matrix[rows, index] += 1 if weight is None else weight
        grad = xp.moveaxis(xp.matmul(xp.moveaxis(grad, axis, -1), matrix), -1, axis)
    return xp.ascontiguousarray(grad)


def check_resample(self, output_size, d):
    if self.ndim != d + 2 or len(output_size) != d or min(output_size) <= 0:
        raise ValueError("bad size")
    if 0 in self.shape[1:]:
        raise ValueError("empty input")


def _nearest(xp, self, output_size, scales, exact):
    d = len(output_size)
    check_resample(self, output_size, d)
    taps = [
        nearest_taps(xp, n, c, s, None, exact)
        for n, c, s in zip(self.shape[2:], output_size, scales, strict=True)
    ]
    return _resample(xp, self, taps)


def _nearest_backward(xp, grad_output, output_size, input_size, scales, exact):
    grad = widen(grad_output)
    taps = [
        nearest_taps(xp, n, c, s, None, exact)
        for n, c, s in zip(input_size[2:], output_size, scales, strict=True)
    ]
    return rounded(_resample_backward(xp, grad, input_size[2:], taps), grad_output.dtype)


@array_kernel("upsample_nearest1d")
def upsample_nearest1d_kernel(xp, self, output_size, scales=None):
    return _nearest(xp, self, output_size, (scales,), False)


@array_kernel("upsample_nearest2d")
@keeps_format
def upsample_nearest2d_kernel(xp, self, output_size, scales_h=None, scales_w=None):
    return _nearest(xp, self, output_size, (scales_h, scales_w), False)


@array_kernel("upsample_nearest3d")
@keeps_format
def upsample_nearest3d_kernel(
    xp, self, output_size, scales_d=None, scales_h=None, scales_w=None
):
    return _nearest(xp, self, output_size, (scales_d, scales_h, scales_w), False)


@array_kernel("_upsample_nearest_exact1d")
def upsample_nearest_exact1d_kernel(xp, self, output_size, scales=None):
    return _nearest(xp, self, output_size, (scales,), True)


@array_kernel("_upsample_nearest_exact2d")
@keeps_format
def upsample_nearest_exact2d_kernel(xp, self, output_size, scales_h=None, scales_w=None):
    return _nearest(xp, self, output_size, (scales_h, scales_w), True)


@array_kernel("_upsample_nearest_exact3d")
@keeps_format
def upsample_nearest_exact3d_kernel(
    xp, self, output_size, scales_d=None, scales_h=None, scales_w=None
):
    return _nearest(xp, self, output_size, (scales_d, scales_h, scales_w), True)


@array_kernel("upsample_nearest1d_backward")
def upsample_nearest1d_backward_kernel(xp, grad_output, output_size, input_size, scales=None):
    return _nearest_backward(xp, grad_output, output_size, input_size, (scales,), False)


@array_kernel("upsample_nearest2d_backward")
def upsample_nearest2d_backward_kernel(
    xp, grad_output, output_size, input_size, scales_h=None, scales_w=None
):
    scales = (scales_h, scales_w)
    return _nearest_backward(xp, grad_output, output_size, input_size, scales, False)


@array_kernel("upsample_nearest3d_backward")
def upsample_nearest3d_backward_kernel(
    xp, grad_output, output_size, input_size, scales_d=None, scales_h=None, scales_w=None
):
    scales = (scales_d, scales_h, scales_w)
    return _nearest_backward(xp, grad_output, output_size, input_size, scales, False)


@array_kernel("_upsample_nearest_exact1d_backward")
def upsample_nearest_exact1d_backward_kernel(
    xp, grad_output, output_size, input_size, scales=None
):
    return _nearest_backward(xp, grad_output, output_size, input_size, (scales,), True)


@array_kernel("_upsample_nearest_exact2d_backward")
def upsample_nearest_exact2d_backward_kernel(
    xp, grad_output, output_size, input_size, scales_h=None, scales_w=None
):
    scales = (scales_h, scales_w)
    return _nearest_backward(xp, grad_output, output_size, input_size, scales, True)


@array_kernel("_upsample_nearest_exact3d_backward")
def upsample_nearest_exact3d_backward_kernel(
    xp, grad_output, output_size, input_size, scales_d=None, scales_h=None, scales_w=None
):
    scales = (scales_d, scales_h, scales_w)
    return _nearest_backward(xp, grad_output, output_size, input_size, scales, True)


def _smooth(xp, self, output_size, scales, taps_of, align_corners, *options):
    check_resample(self, output_size, len(output_size))
    taps = [
        taps_of(xp, n, c, align_corners, s, self.dtype, *options)
        for n, c, s in zip(self.shape[2:], output_size, scales, strict=True)
    ]
    return _resample(xp, self, taps)


def _smooth_image(xp, self, *arguments):
    """Resample an image of floats, or of bytes."""
    if self.dtype.char != "B":
        return float_kernel(_smooth)(xp, self, *arguments)
    output_size, scales, taps_of, align_corners, *options = arguments
    check_resample(self, output_size, len(output_size))
    double = xp.dtype("float64")
    taps = [
        (c, taps_of(xp, n, c, align_corners, s, double, *options))
        for n, c, s in zip(self.shape[2:], output_size, scales, strict=True)
    ]
    return resample_bytes(xp, self, taps)


def _smooth_backward(
    xp, grad, output_size, input_size, scales, taps_of, align_corners, *options
):
    taps = [
        taps_of(xp, n, c, align_corners, s, grad.dtype, *options)
        for n, c, s in zip(input_size[2:], output_size, scales, strict=True)
    ]
    return _resample_backward(xp, grad, input_size[2:], taps)


@array_kernel("upsample_linear1d")
@float_kernel
def upsample_linear1d_kernel(xp, self, output_size, align_corners, scales=None):
    return _smooth(xp, self, output_size, (scales,), linear_taps, align_corners)


@array_kernel("upsample_bilinear2d")
@keeps_format
def upsample_bilinear2d_kernel(
    xp, self, output_size, align_corners, scales_h=None, scales_w=None
):
    return _smooth_image(xp, self, output_size, (scales_h, scales_w), linear_taps, align_corners)


@array_kernel("upsample_trilinear3d")
@keeps_format
@float_kernel
def upsample_trilinear3d_kernel(
    xp, self, output_size, align_corners, scales_d=None, scales_h=None, scales_w=None
):
    scales = (scales_d, scales_h, scales_w)
    return _smooth(xp, self, output_size, scales, linear_taps, align_corners)


@array_kernel("upsample_bicubic2d")
@keeps_format
def upsample_bicubic2d_kernel(
    xp, self, output_size, align_corners, scales_h=None, scales_w=None
):
    return _smooth_image(xp, self, output_size, (scales_h, scales_w), cubic_taps, align_corners)


@array_kernel("_upsample_bilinear2d_aa")
@keeps_format
def upsample_bilinear2d_aa_kernel(
    xp, self, output_size, align_corners, scales_h=None, scales_w=None
):
    scales = (scales_h, scales_w)
    return _smooth_image(xp, self, output_size, scales, antialias_taps, align_corners, False)


@array_kernel("_upsample_bicubic2d_aa")
@keeps_format
def upsample_bicubic2d_aa_kernel(
    xp, self, output_size, align_corners, scales_h=None, scales_w=None
):
    scales = (scales_h, scales_w)
    return _smooth_image(xp, self, output_size, scales, antialias_taps, align_corners, True)


@array_kernel("upsample_linear1d_backward")
@float_kernel
def upsample_linear1d_backward_kernel(
    xp, grad_output, output_size, input_size, align_corners, scales=None
):
    return _smooth_backward(
        xp, grad_output, output_size, input_size, (scales,), linear_taps, align_corners
    )


@array_kernel("upsample_bilinear2d_backward")
@float_kernel
def upsample_bilinear2d_backward_kernel(
    xp, grad_output, output_size, input_size, align_corners, scales_h=None, scales_w=None
):
    scales = (scales_h, scales_w)
    return _smooth_backward(
        xp, grad_output, output_size, input_size, scales, linear_taps, align_corners
    )


@array_kernel("upsample_trilinear3d_backward")
@float_kernel
def upsample_trilinear3d_backward_kernel(
    xp, grad_output, output_size, input_size, align_corners, scales_d=None, scales_h=None,
    scales_w=None,
):  # fmt: skip
    scales = (scales_d, scales_h, scales_w)
    return _smooth_backward(
        xp, grad_output, output_size, input_size, scales, linear_taps, align_corners
    )


@array_kernel("upsample_bicubic2d_backward")
@float_kernel
def upsample_bicubic2d_backward_kernel(
    xp, grad_output, output_size, input_size, align_corners, scales_h=None, scales_w=None
):
    scales = (scales_h, scales_w)
    return _smooth_backward(
        xp, grad_output, output_size, input_size, scales, cubic_taps, align_corners
    )


@array_kernel("_upsample_bilinear2d_aa_backward")
@float_kernel
def upsample_bilinear2d_aa_backward_kernel(
    xp, grad_output, output_size, input_size, align_corners, scales_h=None, scales_w=None
):
    scales = (scales_h, scales_w)
    return _smooth_backward(
        xp, grad_output, output_size, input_size, scales, antialias_taps, align_corners, False
    )


@array_kernel("_upsample_bicubic2d_aa_backward")
@float_kernel
def upsample_bicubic2d_aa_backward_kernel(
    xp, grad_output, output_size, input_size, align_corners, scales_h=None, scales_w=None
):
    scales = (scales_h, scales_w)
    return _smooth_backward(
        xp, grad_output, output_size, input_size, scales, antialias_taps, align_corners, True
    )
