"""Maximum pooling of planes."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from minitorch.backends.array.pooling import _Windows
from minitorch.backends.cpu.fast.jit import f, loop
from minitorch.backends.cpu.fast.loops_in_use import fits

_LOWEST = f(-np.inf)


@njit(forceinline=True, error_model="numpy")
def _best(plane, i, j, kernel, stride, padding, dilation):
    """Return the maximum of a window and its flat position; the first one counts, NaN above all."""
    height, width = plane.shape
    top = i * stride[0] - padding[0]
    left = j * stride[1] - padding[1]
    bottom = min(top + (kernel[0] - 1) * dilation[0] + 1, height)
    right = min(left + (kernel[1] - 1) * dilation[1] + 1, width)
    while top < 0:
        top += dilation[0]
    while left < 0:
        left += dilation[1]
    best = _LOWEST
    position = top * width + left
    for y in range(top, bottom, dilation[0]):
        for x in range(left, right, dilation[1]):
            value = plane[y, x]
            better = (value > best) | (value != value)  # no branch: the outcome is random
            best = value if better else best
            position = y * width + x if better else position
    return best, position


@loop
def max_pool_indices_loop(x, kernel, stride, padding, dilation, out, indices):
    for p in prange(x.shape[0]):
        plane = x[p]
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                best, position = _best(plane, i, j, kernel, stride, padding, dilation)
                out[p, i, j] = best
                indices[p, i, j] = position


# Note [Pairs]
# Windows of two by two, side by side, are what most networks pool.  Without the bounds and inner
# loops of `_best` they are vectorized, and their gradient needs no branches.  For other windows NumPy's
# strided maxima are quicker than either: the branches of a loop are random there.


@njit(forceinline=True, error_model="numpy")
def _better(value, best):
    return (value > best) | (value != value)  # no branch: the outcome is random


@loop
def max_pool_pairs_loop(x, out):
    for p in prange(x.shape[0]):
        for i in range(out.shape[1]):
            upper = x[p, 2 * i]
            lower = x[p, 2 * i + 1]
            target = out[p, i]
            for j in range(target.size):
                best = upper[2 * j]
                value = upper[2 * j + 1]
                best = value if _better(value, best) else best
                value = lower[2 * j]
                best = value if _better(value, best) else best
                value = lower[2 * j + 1]
                best = value if _better(value, best) else best
                target[j] = best


@njit(forceinline=True, error_model="numpy")
def _larger(a, b):
    return a if a > b else b  # one instruction, as there is no NaN


@loop
def max_pool_pairs_backward_loop(bits, x, out):
    for p in prange(x.shape[0]):
        for i in range(bits.shape[1]):
            upper = x[p, 2 * i]
            lower = x[p, 2 * i + 1]
            above = out[p, 2 * i]
            below = out[p, 2 * i + 1]
            for j in range(bits.shape[2]):
                first, second, third = upper[2 * j], upper[2 * j + 1], lower[2 * j]
                best = _larger(_larger(first, second), _larger(third, lower[2 * j + 1]))
                # The first that equals the maximum gets the gradient: by masks of its bits, no branches.
                left = bits[p, i, j]
                mask = -np.int32(first == best)
                above[2 * j] = left & mask
                left &= ~mask
                mask = -np.int32(second == best)
                above[2 * j + 1] = left & mask
                left &= ~mask
                mask = -np.int32(third == best)
                below[2 * j] = left & mask
                below[2 * j + 1] = left & ~mask


@loop
def scatter_planes_loop(grad, indices, out):
    for p in prange(grad.shape[0]):
        for k in range(grad.shape[1]):
            out[p, indices[p, k]] += grad[p, k]


def _windows(shape, *args):
    try:
        return _Windows(shape, 2, *args)
    except ValueError:
        return None  # the NumPy kernel says what is wrong


def _geometry(windows):
    return windows.kernel, windows.stride, windows.padding, windows.dilation


def _planes(array):
    return array.reshape(-1, *array.shape[-2:])


def _are_pairs(windows) -> bool:
    """Return whether the windows are two by two, side by side, and all inside."""
    pair = (2, 2)
    return windows.kernel == windows.stride == pair and windows.dilation == (1, 1) and not windows.is_padded


def max_pool2d_kernel(xp, self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
    windows = _windows(self.shape, kernel_size, stride, padding, dilation, ceil_mode) if fits(self) else None
    if windows is None or not _are_pairs(windows):
        return NotImplemented
    out = xp.empty((*windows.lead, *windows.out), self.dtype)
    max_pool_pairs_loop(_planes(self), _planes(out))
    return out


def max_pool2d_backward_kernel(
    xp, grad_output, self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False
):
    fitting = fits(grad_output, self)
    windows = _windows(self.shape, kernel_size, stride, padding, dilation, ceil_mode) if fitting else None
    if windows is None or not _are_pairs(windows) or grad_output.shape != (*windows.lead, *windows.out):
        return NotImplemented
    if np.isnan(self).any():
        return NotImplemented
    odd = self.shape[-2] % 2 or self.shape[-1] % 2  # what no window covers has no gradient
    out = (xp.zeros if odd else xp.empty)(self.shape, self.dtype)
    max_pool_pairs_backward_loop(_planes(grad_output).view(np.int32), _planes(self), _planes(out).view(np.int32))
    return out


def max_pool2d_with_indices_kernel(xp, self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
    windows = _windows(self.shape, kernel_size, stride, padding, dilation, ceil_mode) if fits(self) else None
    if windows is None:
        return NotImplemented
    shape = (*windows.lead, *windows.out)
    out, indices = xp.empty(shape, self.dtype), xp.empty(shape, xp.int64)
    max_pool_indices_loop(_planes(self), *_geometry(windows), _planes(out), _planes(indices))
    return out, indices


def max_pool2d_with_indices_backward_kernel(
    xp, grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices
):
    windows = _windows(self.shape, kernel_size, stride, padding, dilation, ceil_mode) if fits(grad_output) else None
    if (
        windows is None
        or self.dtype != grad_output.dtype
        or grad_output.shape != (*windows.lead, *windows.out)
        or indices.shape != grad_output.shape
        or indices.dtype.char != "l"
        or not indices.flags.carray
    ):
        return NotImplemented
    size = self.shape[-2] * self.shape[-1]
    if indices.size == 0 or indices.min() < 0 or indices.max() >= size:
        return NotImplemented
    out = xp.zeros(self.shape, self.dtype)
    count = grad_output.shape[-2] * grad_output.shape[-1]
    scatter_planes_loop(grad_output.reshape(-1, count), indices.reshape(-1, count), out.reshape(-1, size))
    return out


KERNELS = {
    "max_pool2d": max_pool2d_kernel,
    "max_pool2d_backward": max_pool2d_backward_kernel,
    "max_pool2d_with_indices": max_pool2d_with_indices_kernel,
    "max_pool2d_with_indices_backward": max_pool2d_with_indices_backward_kernel,
}
