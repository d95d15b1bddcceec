"""Running sums and the largest elements, row by row; rows are the last dimension."""

from __future__ import annotations

from numba import prange

from minitorch.backends.cpu.fast.jit import loop
from minitorch.backends.cpu.fast.loops_in_use import fits
from minitorch.backends.cpu.fast.softmax import as_rows, is_last


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


def cumsum_kernel(xp, self, dim, *, dtype=None):
    if not is_last(dim, self) or not fits(self) or (dtype is not None and dtype.np != self.dtype):
        return NotImplemented
    out = xp.empty(self.shape, self.dtype)
    cumsum_loop(as_rows(self), as_rows(out))
    return out


_FEW = 32  # beyond, moving the kept ones costs more than partitioning


def topk_kernel(xp, self, k, dim=-1, largest=True, sorted=True):
    if not largest or not is_last(dim, self) or not fits(self) or not 0 < k <= min(_FEW, self.shape[-1]):
        return NotImplemented
    shape = (*self.shape[:-1], k)
    values, indices = xp.empty(shape, self.dtype), xp.empty(shape, xp.int64)
    topk_loop(as_rows(self), k, as_rows(values), as_rows(indices))
    return values, indices


KERNELS = {"cumsum": cumsum_kernel, "topk": topk_kernel}
