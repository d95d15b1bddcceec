"""Operators that join, repeat, turn, pad and resample."""

from __future__ import annotations

import numpy as np

from minitorch.backends import NoKernel, helpers
from minitorch.backends.opencl.access import Places, gather, scatter
from minitorch.backends.opencl.array import CLArray, empty, from_host
from minitorch.backends.opencl.ctypes import FLOAT32, is_narrow
from minitorch.backends.opencl.geometry import flip, reshape, sliced
from minitorch.backends.opencl.joining import concatenate, roll, stack, tile, triangle
from minitorch.backends.opencl.overrides import override
from minitorch.backends.opencl.pointwise import assign, cast, constant, copy


def plain(*arrays: CLArray) -> None:
    """Leave operands in another memory format to the array kernels, whose results keep it.

    Raises
    ------
    NoKernel
    """
    for array in arrays:
        array.settle()
        if (array.ndim > 2 and not array.flags.c_contiguous) or (array.ndim >= 4 and array.shape[-1] == 1):
            raise NoKernel("the result's dimensions follow those of the operand")


def zero(dtype: np.dtype):
    """Return the number 0 as kernels take it for a dtype."""
    return 0.0 if dtype.kind == "V" else dtype.type(0).item()


# ---------------------------------------------------------------- joining


@override("cat")
def cat_kernel(tensors, dim=0):
    tensors = [t for t in tensors if t.shape != (0,)] or list(tensors[:1])
    if any(t.dtype != tensors[0].dtype for t in tensors):
        raise NoKernel("tensors of several types")
    plain(*tensors)
    return concatenate(tensors, dim)


@override("stack")
def stack_kernel(tensors, dim=0):
    if any(t.dtype != tensors[0].dtype for t in tensors):
        raise NoKernel("tensors of several types")
    return stack(tensors, dim)


@override("repeat")
def repeat_kernel(self, repeats):
    if len(repeats) < self.ndim or min(repeats, default=0) < 0:
        raise ValueError
    return tile(self, tuple(repeats))


@override("roll")
def roll_kernel(self, shifts, dims=()):
    if not dims:
        if len(shifts) != 1:
            raise ValueError
        plain(self)
        return roll(self, shifts[0])
    if len(shifts) != len(dims) or self.ndim == 0:
        raise ValueError
    plain(self)
    return roll(self, tuple(shifts), tuple(dims))


@override("flip")
def flip_kernel(self, dims):
    if not self.ndim:
        if any(not -1 <= d <= 0 for d in dims):
            raise ValueError
        return copy(self)
    if len({d % self.ndim for d in dims}) != len(dims):
        raise ValueError
    self.settle()
    if not self.flags.c_contiguous:
        raise NoKernel("the result's dimensions follow those of the operand")
    return copy(flip(self, tuple(dims)))


@override("tril")
def tril_kernel(self, diagonal=0):
    if self.ndim < 2:
        raise ValueError
    return triangle(self, diagonal, True)


@override("triu")
def triu_kernel(self, diagonal=0):
    if self.ndim < 2:
        raise ValueError
    return triangle(self, diagonal, False)


# ---------------------------------------------------------------- padding


@override("constant_pad_nd")
def constant_pad_nd_kernel(self, pad, value=0):
    plain(self)
    if len(pad) % 2 or len(pad) > 2 * self.ndim:
        raise ValueError
    source, shape, places = self, [], []
    for axis, n in enumerate(self.shape):
        i = 2 * (self.ndim - 1 - axis)
        before, after = (pad[i], pad[i + 1]) if i < len(pad) else (0, 0)
        size = n + before + after
        if size < 0:
            raise ValueError
        shape.append(size)
        first, last = max(0, -before), n - max(0, -after)
        source = sliced(source, axis, first, max(first, last))
        places.append((max(0, before), size - max(0, after)))
    number = float(value) if self.dtype.kind == "V" else np.asarray(value).astype(self.dtype).item()
    result = constant(tuple(shape), number, self.dtype, self.device).settle()
    target = result
    for axis, (start, stop) in enumerate(places):
        target = sliced(target, axis, start, max(start, stop))
    if target.size:
        assign(target, source)
    return result


def _positions(vectors, ndim, view, device) -> list[Places]:
    """Return the places of index vectors of the last dimensions of a walk over `ndim` dimensions."""
    places = []
    first = ndim - len(vectors)
    for k, vector in enumerate(vectors):
        index = from_host(np.ascontiguousarray(vector, np.int32), device)
        strides = tuple([4 if d == first + k and len(vector) != 1 else 0 for d in range(ndim)])
        places.append(Places(index, strides, view.shape[first + k], view.strides[first + k]))
    return places


def spread(self: CLArray, vectors) -> CLArray:
    """Return the elements of the last dimensions that vectors of positions name."""
    first = self.ndim - len(vectors)
    shape = (*self.shape[:first], *[len(v) for v in vectors])
    strides = (*self.strides[:first], *[0] * len(vectors))
    result = empty(shape, self.dtype, self.device).settle()
    return gather(self, 0, strides, _positions(vectors, self.ndim, self, self.device), result)


def spread_backward(grad: CLArray, shape, vectors) -> CLArray:
    """Return the sum of a gradient at the places that vectors of positions took elements from."""
    device, dtype = grad.device, grad.dtype
    compute = FLOAT32 if is_narrow(dtype) else dtype
    result = constant(tuple(shape), zero(compute), compute, device).settle()
    first = len(shape) - len(vectors)
    strides = (*result.strides[:first], *[0] * len(vectors))
    owned = (*[True] * first, *[False] * len(vectors))
    places = _positions(vectors, len(shape), result, device)
    scatter("add", result, 0, strides, owned, places, cast(grad, compute).settle())
    return cast(result, dtype).settle()


def _pad_vectors(self, padding, index_of, mirrored):
    d = len(padding) // 2
    if self.ndim not in (d + 1, d + 2):
        raise ValueError
    vectors = []
    for axis, before, after in helpers.pads_of(padding):
        n = self.shape[axis]
        if n + before + after <= 0 or n == 0 or (mirrored and not (before < n and after < n)):
            raise ValueError
        vectors.append(index_of(np, n, before, after))
    return vectors[::-1]


@override("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad_kernel(self, padding):
    plain(self)
    return spread(self, _pad_vectors(self, padding, helpers.reflected, True))


@override("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad_kernel(self, padding):
    plain(self)
    return spread(self, _pad_vectors(self, padding, helpers.replicated, False))


def _pad_backward(grad_output, self, padding, index_of, mirrored):
    vectors = _pad_vectors(self, padding, index_of, mirrored)
    if grad_output.shape != (*self.shape[: self.ndim - len(vectors)], *[len(v) for v in vectors]):
        raise ValueError
    return spread_backward(grad_output, self.shape, vectors)


@override("reflection_pad1d_backward", "reflection_pad2d_backward", "reflection_pad3d_backward")
def reflection_pad_backward_kernel(grad_output, self, padding):
    return _pad_backward(grad_output, self, padding, helpers.reflected, True)


@override("replication_pad1d_backward", "replication_pad2d_backward", "replication_pad3d_backward")
def replication_pad_backward_kernel(grad_output, self, padding):
    return _pad_backward(grad_output, self, padding, helpers.replicated, False)


# ---------------------------------------------------------------- resampling by the nearest element


def _nearest_vectors(sizes, output_size, scales, exact):
    return [
        helpers.nearest_taps(np, n, c, s, None, exact)[0][0]
        for n, c, s in zip(sizes, output_size, scales, strict=True)
    ]


def _nearest(self, output_size, scales, exact):
    plain(self)
    helpers.check_resample(self, output_size, len(output_size))
    return spread(self, _nearest_vectors(self.shape[2:], output_size, scales, exact))


def _nearest_backward(grad_output, output_size, input_size, scales, exact):
    if grad_output.shape != (*input_size[:2], *output_size):
        raise ValueError
    return spread_backward(grad_output, input_size, _nearest_vectors(input_size[2:], output_size, scales, exact))


@override("upsample_nearest1d")
def upsample_nearest1d_kernel(self, output_size, scales=None):
    return _nearest(self, output_size, (scales,), False)


@override("upsample_nearest2d")
def upsample_nearest2d_kernel(self, output_size, scales_h=None, scales_w=None):
    return _nearest(self, output_size, (scales_h, scales_w), False)


@override("upsample_nearest3d")
def upsample_nearest3d_kernel(self, output_size, scales_d=None, scales_h=None, scales_w=None):
    return _nearest(self, output_size, (scales_d, scales_h, scales_w), False)


@override("_upsample_nearest_exact2d")
def upsample_nearest_exact2d_kernel(self, output_size, scales_h=None, scales_w=None):
    return _nearest(self, output_size, (scales_h, scales_w), True)


@override("upsample_nearest1d_backward")
def upsample_nearest1d_backward_kernel(grad_output, output_size, input_size, scales=None):
    return _nearest_backward(grad_output, output_size, input_size, (scales,), False)


@override("upsample_nearest2d_backward")
def upsample_nearest2d_backward_kernel(grad_output, output_size, input_size, scales_h=None, scales_w=None):
    return _nearest_backward(grad_output, output_size, input_size, (scales_h, scales_w), False)


@override("upsample_nearest3d_backward")
def upsample_nearest3d_backward_kernel(
    grad_output, output_size, input_size, scales_d=None, scales_h=None, scales_w=None
):
    return _nearest_backward(grad_output, output_size, input_size, (scales_d, scales_h, scales_w), False)


@override("_upsample_nearest_exact2d_backward")
def upsample_nearest_exact2d_backward_kernel(grad_output, output_size, input_size, scales_h=None, scales_w=None):
    return _nearest_backward(grad_output, output_size, input_size, (scales_h, scales_w), True)


# ---------------------------------------------------------------- the gradients of views


def _placed(grad_output, input_sizes, view_of):
    dtype = grad_output.dtype
    result = constant(tuple(input_sizes), zero(dtype), dtype, grad_output.device).settle()
    target = view_of(result)
    if target.size:
        assign(target, grad_output)
    return result


@override("select_backward")
def select_backward_kernel(grad_output, input_sizes, dim, index):
    def chosen(result):
        axis = dim % len(input_sizes)
        at = index + input_sizes[axis] if index < 0 else index
        part = sliced(result, axis, at, at + 1)
        return reshape(part, part.shape[:axis] + part.shape[axis + 1 :])

    if not input_sizes or not -len(input_sizes) <= dim < len(input_sizes):
        raise ValueError
    if not -input_sizes[dim] <= index < input_sizes[dim]:
        raise ValueError
    return _placed(grad_output, input_sizes, chosen)


@override("slice_backward")
def slice_backward_kernel(grad_output, input_sizes, dim, start, end, step):
    if not input_sizes or not -len(input_sizes) <= dim < len(input_sizes) or step <= 0:
        raise ValueError
    axis = dim % len(input_sizes)
    first, last, _ = slice(start, end, step).indices(input_sizes[axis])
    return _placed(grad_output, input_sizes, lambda result: sliced(result, axis, first, last, step))


