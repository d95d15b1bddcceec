"""Kernels of the factorization ``A = P L D L^H P^T`` of symmetric and Hermitian matrices (Bunch and Kaufman, 1977).

The compact form and the pivots are LAPACK's (``sytrf``, lower triangle), so that factors may be
exchanged with other libraries: a positive pivot is the row (from 1) that was exchanged with this
one, a pair of equal negative ones marks a block of two rows.
"""

from __future__ import annotations

from math import prod, sqrt

from minitorch.backends.array.registry import array_kernel
from minitorch.errors import LinAlgError
from minitorch.ops.shapes.common import broadcast_shapes

# Keeps the growth of the elements smallest.
_ALPHA = (1 + sqrt(17)) / 8


def _conjugate(xp, values, hermitian):
    return xp.conj(values) if hermitian else values


def _size(xp, values):
    """Return what LAPACK compares: for complex numbers the sum of the parts' absolute values."""
    if values.dtype.kind == "c":
        return xp.absolute(values.real) + xp.absolute(values.imag)
    return xp.absolute(values)


def _choose(xp, a, k):
    """Return the row to exchange, and how many rows the block has; (None, 1) where the column is zero."""
    n = len(a)
    diagonal = _size(xp, a[k, k])
    if k + 1 < n:
        sizes = _size(xp, a[k + 1 :, k])
        best = k + 1 + int(sizes.argmax())
        largest = float(sizes.max())
    else:
        best, largest = k, 0.0
    if max(diagonal, largest) == 0:
        return None, 1
    if diagonal >= _ALPHA * largest:
        return k, 1
    row = _size(xp, xp.concatenate([a[best, k:best], a[best + 1 :, best]])).max()
    if diagonal >= _ALPHA * largest * (largest / row):
        return k, 1
    return (best, 1) if _size(xp, a[best, best]) >= _ALPHA * row else (best, 2)


def _exchange(xp, a, k, kk, kp, hermitian):
    """Exchange rows and columns `kk` and `kp` of what is left of the lower triangle."""
    a[kp + 1 :, [kk, kp]] = a[kp + 1 :, [kp, kk]]
    column = _conjugate(xp, a[kk + 1 : kp, kk].copy(), hermitian)
    a[kk + 1 : kp, kk] = _conjugate(xp, a[kp, kk + 1 : kp], hermitian)
    a[kp, kk + 1 : kp] = column
    if hermitian:
        a[kp, kk] = xp.conj(a[kp, kk])
    a[[kk, kp], [kk, kp]] = a[[kp, kk], [kp, kk]]
    if kk > k:
        a[[kk, kp], k] = a[[kp, kk], k]


def _factor(xp, a, pivots, hermitian):
    """Factor one matrix in place; return 0, or the first column (from 1) that D is zero in."""
    n, k, info = len(a), 0, 0
    while k < n:
        if hermitian:
            a[k, k] = a[k, k].real
        kp, step = _choose(xp, a, k)
        if kp is None:
            info = info or k + 1
            pivots[k] = k + 1
            k += 1
            continue
        kk = k + step - 1
        if kp != kk:
            _exchange(xp, a, k, kk, kp, hermitian)
        rest = a[k + step :, k : k + step]
        if step == 1:
            block = a[k : k + 1, k : k + 1]
        else:
            block = a[k : k + 2, k : k + 2].copy()
            block[0, 1] = _conjugate(xp, block[1, 0], hermitian)
        if len(rest):
            left = rest @ xp.linalg.inv(block)
            a[k + step :, k + step :] -= left @ _conjugate(xp, rest, hermitian).T
            rest[...] = left
        pivots[k : k + step] = kp + 1 if step == 1 else -(kp + 1)
        k += step
    return info


@array_kernel("linalg_ldl_factor_ex")
def ldl_factor_kernel(xp, self, *, hermitian=False, check_errors=False):
    if self.ndim < 2 or self.shape[-1] != self.shape[-2] or self.dtype.char not in "fdFD":
        raise ValueError("not square matrices of floats")
    n = self.shape[-1]
    hermitian = hermitian and self.dtype.kind == "c"
    count = prod(self.shape[:-2])
    factors = xp.tril(self).reshape(count, n, n)
    pivots = xp.zeros((count, n), xp.int32)
    info = xp.zeros(count, xp.int32)
    for i in range(count):
        info[i] = _factor(xp, factors[i], pivots[i], hermitian)
    if check_errors and info.any():
        raise LinAlgError(
            f"linalg.ldl_factor: the factorization could not be completed: D[{int(info[info > 0][0])}] is zero, and a "
            "system with it has no unique solution"
        )
    factors = xp.tril(factors).swapaxes(-1, -2)
    columns = xp.ascontiguousarray(factors).reshape(self.shape).swapaxes(-1, -2)
    return columns, pivots.reshape(self.shape[:-1]), info.reshape(self.shape[:-2])


def _exchange_rows(b, i, j):
    if i != j:
        b[[i, j]] = b[[j, i]]


def _solve(xp, a, pivots, b, hermitian):
    """Solve one system in place: first with L and D, upwards with the transposed L."""
    n, k = len(a), 0
    while k < n:
        step = 1 if pivots[k] > 0 else 2
        kk = k + step - 1
        _exchange_rows(b, kk, abs(int(pivots[k])) - 1)
        b[k + step :] -= a[k + step :, k : k + step] @ b[k : k + step]
        if step == 1:
            b[k] /= a[k, k]
        else:
            block = a[k : k + 2, k : k + 2].copy()
            block[0, 1] = _conjugate(xp, block[1, 0], hermitian)
            b[k : k + 2] = xp.linalg.solve(block, b[k : k + 2])
        k += step
    k = n - 1
    while k >= 0:
        step = 1 if pivots[k] > 0 else 2
        first = k - step + 1
        b[first : k + 1] -= _conjugate(xp, a[k + 1 :, first : k + 1], hermitian).T @ b[k + 1 :]
        _exchange_rows(b, k, abs(int(pivots[k])) - 1)
        k -= step


@array_kernel("linalg_ldl_solve")
def ldl_solve_kernel(xp, LD, pivots, B, *, hermitian=False):
    n = LD.shape[-1]
    if (
        LD.ndim < 2 or B.ndim < 2 or LD.shape[-2] != n or B.shape[-2] != n or pivots.shape != LD.shape[:-1]
        or LD.dtype != B.dtype or LD.dtype.char not in "fdFD" or pivots.dtype.kind not in "iu"
    ):  # fmt: skip
        raise ValueError("operands do not fit")
    hermitian = hermitian and LD.dtype.kind == "c"
    batch = broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    count = prod(batch)
    factors = xp.broadcast_to(LD, (*batch, n, n)).reshape(count, n, n)
    pivots = xp.broadcast_to(pivots, (*batch, n)).reshape(count, n)
    columns = B.shape[-1]
    result = xp.empty((count, columns, n), B.dtype).swapaxes(-1, -2)
    result[...] = xp.broadcast_to(B, (*batch, n, columns)).reshape(count, n, columns)
    for i in range(count):
        _solve(xp, factors[i], pivots[i], result[i], hermitian)
    return result.swapaxes(-1, -2).reshape(*batch, columns, n).swapaxes(-1, -2)
