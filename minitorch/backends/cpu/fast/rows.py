"""Softmax, running sums and the largest elements, row by row; rows are the last dimension."""

from __future__ import annotations

import numpy as np
from numba import prange

from minitorch.backends.cpu.fast.jit import ONE, ZERO, difference, exp32, f, fits, loop, row_max


@loop
def softmax_loop(x, out):
    for r in prange(x.shape[0]):
        a = x[r]
        b = out[r]
        top = row_max(a)
        total = ZERO
        for j in range(a.size):
            e = exp32(a[j] - top)
            b[j] = e
            total += e
        scale = ONE / total
        for j in range(a.size):
            b[j] *= scale


@loop
def log_softmax_loop(x, out):
    for r in prange(x.shape[0]):
        a = x[r]
        b = out[r]
        top = row_max(a)
        total = ZERO
        for j in range(a.size):
            total += exp32(a[j] - top)
        shift = f(np.log(total))
        for j in range(a.size):
            # Adding the shifts first would lose digits where the maximum is large.
            b[j] = difference(a[j], top, shift)


@loop
def softmax_backward_loop(grad, y, out):
    for r in prange(grad.shape[0]):
        g = grad[r]
        a = y[r]
        b = out[r]
        dot = ZERO
        for j in range(g.size):
            dot += g[j] * a[j]
        for j in range(g.size):
            b[j] = (g[j] - dot) * a[j]


@loop
def log_softmax_backward_loop(grad, y, out):
    for r in prange(grad.shape[0]):
        g = grad[r]
        a = y[r]
        b = out[r]
        total = ZERO
        for j in range(g.size):
            total += g[j]
        for j in range(g.size):
            b[j] = g[j] - exp32(a[j]) * total


@loop
def cumsum_loop(x, out):
    """Sum in float64; four rows at once hide the latency of the additions."""
    rows, n = x.shape
    for block in prange((rows + 3) // 4):
        r = block * 4
        if r + 4 <= rows:
            s0 = s1 = s2 = s3 = 0.0
            for j in range(n):
                s0 += x[r, j]
                s1 += x[r + 1, j]
                s2 += x[r + 2, j]
                s3 += x[r + 3, j]
                out[r, j] = s0
                out[r + 1, j] = s1
                out[r + 2, j] = s2
                out[r + 3, j] = s3
        else:
            for q in range(r, rows):
                s = 0.0
                for j in range(n):
                    s += x[q, j]
                    out[q, j] = s


@loop
def topk_loop(x, k, values, indices):
    """Keep the `k` largest so far in order, NaN before all."""
    for r in prange(x.shape[0]):
        a = x[r]
        v = values[r]
        w = indices[r]
        count = 0
        for j in range(a.size):
            value = a[j]
            if count == k:
                last = v[k - 1]
                if value <= last or last != last:
                    continue
                p = k - 1
            else:
                p = count
                count += 1
            while p > 0 and (v[p - 1] < value or (value != value and v[p - 1] == v[p - 1])):
                v[p] = v[p - 1]
                w[p] = w[p - 1]
                p -= 1
            v[p] = value
            w[p] = j


def _is_last(dim, array) -> bool:
    return array.ndim > 0 and array.size > 0 and dim in (-1, array.ndim - 1)


def _rows(array):
    return array.reshape(-1, array.shape[-1])


def _forward(run):
    def row_kernel(xp, self, dim, half_to_float=False):
        if half_to_float or not _is_last(dim, self) or not fits(self):
            return NotImplemented
        out = xp.empty(self.shape, self.dtype)
        run(_rows(self), _rows(out))
        return out

    return row_kernel


def _backward(run):
    def row_backward_kernel(xp, grad_output, output, dim, input_dtype):
        if (
            not _is_last(dim, output)
            or not fits(grad_output, output)
            or grad_output.shape != output.shape
            or input_dtype.np != output.dtype
        ):
            return NotImplemented
        out = xp.empty(output.shape, output.dtype)
        run(_rows(grad_output), _rows(output), _rows(out))
        return out

    return row_backward_kernel


def cumsum_kernel(xp, self, dim, *, dtype=None):
    if not _is_last(dim, self) or not fits(self) or (dtype is not None and dtype.np != self.dtype):
        return NotImplemented
    out = xp.empty(self.shape, self.dtype)
    cumsum_loop(_rows(self), _rows(out))
    return out


_FEW = 32  # beyond, moving the kept ones costs more than partitioning


def topk_kernel(xp, self, k, dim=-1, largest=True, sorted=True):
    if not largest or not _is_last(dim, self) or not fits(self) or not 0 < k <= min(_FEW, self.shape[-1]):
        return NotImplemented
    shape = (*self.shape[:-1], k)
    values, indices = xp.empty(shape, self.dtype), xp.empty(shape, xp.int64)
    topk_loop(_rows(self), k, _rows(values), _rows(indices))
    return values, indices


KERNELS = {
    "_softmax": _forward(softmax_loop),
    "_log_softmax": _forward(log_softmax_loop),
    "_softmax_backward_data": _backward(softmax_backward_loop),
    "_log_softmax_backward_data": _backward(log_softmax_backward_loop),
    "cumsum": cumsum_kernel,
    "topk": topk_kernel,
}
