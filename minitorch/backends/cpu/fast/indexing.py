"""Gathering and scattered sums along one dimension of float32 arrays."""

from __future__ import annotations

from math import prod

import numpy as np
from numba import prange

from minitorch.backends.cpu.fast.jit import loop, serial_loop
from minitorch.backends.cpu.fast.loops_in_use import fits


@loop
def gather_loop(x, index, out):
    """Gather along the middle dimension; return how many positions were out of bounds."""
    bound = x.shape[1]
    wrong = 0
    for i in prange(index.shape[0]):
        for j in range(index.shape[1]):
            for k in range(index.shape[2]):
                position = index[i, j, k]
                if position < 0 or position >= bound:
                    wrong += 1
                else:
                    out[i, j, k] = x[i, position, k]
    return wrong


@loop
def gather_rows_loop(x, index, out):
    """Gather along the last of two dimensions; return how many positions were out of bounds."""
    bound = np.uint64(x.shape[1])
    wrong = 0
    for r in prange(x.shape[0]):
        a = x[r]
        w = index[r]
        b = out[r]
        for j in range(w.size):
            position = np.uint64(w[j])  # negative ones become huge
            wrong += position >= bound
            b[j] = a[position if position < bound else np.uint64(0)]
    return wrong


@loop
def within_loop(index, bound):
    """Return how many positions are out of bounds."""
    wrong = 0
    for i in prange(index.size):
        wrong += index[i] < 0 or index[i] >= bound
    return wrong


@loop
def scatter_add_loop(out, index, source):
    for i in prange(index.shape[0]):
        for j in range(index.shape[1]):
            for k in range(index.shape[2]):
                out[i, index[i, j, k], k] += source[i, j, k]


@loop
def scatter_add_rows_loop(out, index, source):
    for r in prange(index.shape[0]):
        target = out[r]
        places = index[r]
        values = source[r]
        for j in range(places.size):
            target[np.uint64(places[j])] += values[j]


@serial_loop
def add_rows_loop(out, index, rows, skipped):
    n = rows.shape[1]
    for r in range(index.size):
        if index[r] != skipped:
            target = out[index[r]]
            source = rows[r]
            for j in range(n):
                target[j] += source[j]


def _positions(*arrays) -> bool:
    return all(a.dtype.char == "l" and a.flags.carray for a in arrays)


def _middle(array, dim):
    """Return a view with `dim` as the second of three dimensions."""
    return array.reshape(prod(array.shape[:dim]), array.shape[dim], prod(array.shape[dim + 1 :]))


def _agree(self, dim, index) -> bool:
    """Return whether only `dim` has another length, so that the other dimensions can be joined."""
    if self.ndim == 0 or index.ndim != self.ndim or not -self.ndim <= dim < self.ndim or not index.size:
        return False
    dim %= self.ndim
    return self.shape[:dim] == index.shape[:dim] and self.shape[dim + 1 :] == index.shape[dim + 1 :]


def gather_kernel(xp, self, dim, index, *, sparse_grad=False):
    if not fits(self) or not _positions(index) or not _agree(self, dim, index):
        return NotImplemented
    dim %= self.ndim
    out = xp.empty(index.shape, self.dtype)
    if dim == self.ndim - 1 and self.size:
        wrong = gather_rows_loop(*[a.reshape(-1, a.shape[-1]) for a in (self, index, out)])
    else:
        wrong = gather_loop(_middle(self, dim), _middle(index, dim), _middle(out, dim))
    if wrong:
        return NotImplemented  # the NumPy kernel says which
    return out


def _add_into(out, dim, index, src) -> bool:
    """Add `src` at positions along `dim` if that is so simple; return whether it is done."""
    if not fits(out, src) or not _positions(index) or not _agree(out, dim, index) or src.shape != index.shape:
        return False
    dim %= out.ndim
    if within_loop(index.reshape(-1), out.shape[dim]):
        return False
    if dim == out.ndim - 1:
        scatter_add_rows_loop(*[a.reshape(-1, a.shape[-1]) for a in (out, index, src)])
    else:
        scatter_add_loop(_middle(out, dim), _middle(index, dim), _middle(src, dim))
    return True


def scatter_add_kernel(xp, self, dim, index, src):
    out = self.copy()
    return out if _add_into(out, dim, index, src) else NotImplemented


def scatter_add_inplace_kernel(xp, self, dim, index, src):
    return self if _add_into(self, dim, index, src) else NotImplemented


def embedding_dense_backward_kernel(xp, grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    if scale_grad_by_freq or not fits(grad_output) or not _positions(indices) or grad_output.ndim < 1:
        return NotImplemented
    index = indices.reshape(-1)
    columns = grad_output.shape[-1]
    if index.size * columns != grad_output.size or within_loop(index, num_weights):
        return NotImplemented
    out = xp.zeros((num_weights, columns), grad_output.dtype)
    add_rows_loop(out, index, grad_output.reshape(-1, columns), padding_idx)
    return out


KERNELS = {
    "gather": gather_kernel,
    "scatter_add": scatter_add_kernel,
    "scatter_add_": scatter_add_inplace_kernel,
    "embedding_dense_backward": embedding_dense_backward_kernel,
}
