# cython: cdivision=True, nonecheck=True
"""Loops over the rows of small arrays (Note [Loops for small operands] in `small`); types in `rows.pxd`.

A row runs along the last dimension.  Sums are taken in float64 and rounded once.
"""
# ruff: noqa: F821 (elements and mathematical functions are declared in the .pxd files)

from __future__ import annotations

from minitorch.backends.array.binding import Loop

loops_import()

# NumPy's vector loops and BLAS overtake these beyond so many elements, or multiplications.
_ROWS = 512
_PRODUCT = 512
# The loops through exp are vectorized themselves.
_ALL = 1 << 62


def is_last(dim, array):
    """Return whether `dim` (an int, or a list of one) is the last of one or more dimensions."""
    ndim = loops_ndim(array)
    if type(dim) is list and len(dim) == 1:
        dim = dim[0]
    return type(dim) is int and ndim > 0 and (dim == ndim - 1 or dim == -1)


def total_of(x, n):
    """Return the sum of `n` elements."""
    total = 0.0
    for i in range(n):
        total += x[i]
    return total


class SumLoop(Loop):
    """``sum(x)`` or ``mean(x)`` of all elements."""

    def __init__(self, mean):
        self.mean = mean

    def run(self, args, kwargs):
        if kwargs or len(args) != 1:
            return None
        first = args[0]
        p = loops_float(first.handle, _ROWS)
        if not p:
            return None
        n = loops_size(first.handle)
        if not n and self.mean:
            return None
        total = total_of(p, n)
        result = loops_new_scalar()
        r = loops_float_of(result)
        r[0] = total / n if self.mean else total
        return result


class SumDimLoop(SumLoop):
    """``sum(x, dim, keepdim)`` or ``mean(x, dim, keepdim)`` over the last dimension."""

    def run(self, args, kwargs):
        if kwargs or len(args) < 2:
            return None
        first = args[0]
        p = loops_float(first.handle, _ROWS)
        if not p or not is_last(args[1], first.handle):
            return None
        keep = len(args) > 2 and args[2]
        n = loops_dim(first.handle, loops_ndim(first.handle) - 1)
        if not n:
            return None
        result = loops_new_reduced_float(first.handle, keep)
        r = loops_float_of(result)
        rows = loops_size(result)
        for i in range(rows):
            total = total_of(p + i * n, n)
            r[i] = total / n if self.mean else total
        return result


class ExtremumLoop(Loop):
    """``max(x, dim, keepdim)`` or ``min(x, dim, keepdim)``: values and positions; NaN counts as either."""

    def __init__(self, sign):
        self.sign = sign

    def run(self, args, kwargs):
        if kwargs or len(args) < 2:
            return None
        first = args[0]
        p = loops_float(first.handle, _ROWS)
        if not p or not is_last(args[1], first.handle):
            return None
        keep = len(args) > 2 and args[2]
        n = loops_dim(first.handle, loops_ndim(first.handle) - 1)
        if not n:
            return None
        values = loops_new_reduced_float(first.handle, keep)
        indices = loops_new_reduced_int64(first.handle, keep)
        r = loops_float_of(values)
        s = loops_int64_of(indices)
        rows = loops_size(values)
        sign = self.sign
        for i in range(rows):
            best = 0
            for j in range(1, n):
                a, b = p[best], p[j]
                if a == a and (sign * b > sign * a or b != b):
                    best = j
            r[i] = p[best]
            s[i] = best
            p += n
        return values, indices


class CumsumLoop(Loop):
    """``cumsum(x, dim)`` along the last dimension."""

    def run(self, args, kwargs):
        if kwargs or len(args) != 2:
            return None
        first = args[0]
        p = loops_float(first.handle, _ROWS)
        if not p or not is_last(args[1], first.handle):
            return None
        n = loops_dim(first.handle, loops_ndim(first.handle) - 1)
        result = loops_new_float(first.handle)
        r = loops_float_of(result)
        i = 0
        while i < loops_size(result):
            total = 0.0
            for j in range(n):
                total += p[i + j]
                r[i + j] = total
            i += n
        return result


class SoftmaxLoop(Loop):
    """``_softmax`` or ``_log_softmax`` along the last dimension."""

    def __init__(self, logarithm, limit=_ALL):
        self.logarithm = logarithm
        self.limit = limit

    def run(self, args, kwargs):
        if kwargs or len(args) != 3 or args[2]:
            return None
        first = args[0]
        p = loops_float(first.handle, self.limit)
        if not p or not is_last(args[1], first.handle):
            return None
        n = loops_dim(first.handle, loops_ndim(first.handle) - 1)
        size = loops_size(first.handle)
        result = loops_new_float(first.handle)
        r = loops_float_of(result)
        i = 0
        while i < size:
            if self.logarithm:
                loops_log_softmax_row(p + i, r + i, n)
            else:
                loops_softmax_row(p + i, r + i, n)
            i += n
        return result


class SoftmaxBackwardLoop(Loop):
    """``_softmax_backward_data`` or ``_log_softmax_backward_data`` along the last dimension."""

    def __init__(self, logarithm, limit=_ALL):
        self.logarithm = logarithm
        self.limit = limit

    def run(self, args, kwargs):
        if kwargs or len(args) != 4:
            return None
        first, second = args[0], args[1]
        p = loops_float(first.handle, self.limit)
        q = loops_float(second.handle, self.limit)
        if not p or not q or not is_last(args[2], second.handle) or args[3].np is not second.handle.dtype:
            return None
        if not loops_same_shape(first.handle, second.handle):
            return None
        n = loops_dim(second.handle, loops_ndim(second.handle) - 1)
        size = loops_size(second.handle)
        result = loops_new_float(second.handle)
        r = loops_float_of(result)
        i = 0
        while i < size:
            if self.logarithm:
                loops_log_softmax_backward_row(p + i, q + i, r + i, n)
            else:
                loops_softmax_backward_row(p + i, q + i, r + i, n)
            i += n
        return result


class LayerNormLoop(Loop):
    """``native_layer_norm`` over the last dimension."""

    def run(self, args, kwargs):
        if kwargs or len(args) != 5:
            return None
        first = args[0]
        p = loops_float(first.handle, _ROWS)
        if not p or len(args[1]) != 1 or not loops_ndim(first.handle):
            return None
        n = loops_dim(first.handle, loops_ndim(first.handle) - 1)
        if not n or args[1][0] != n:
            return None
        w = p  # no weight, no bias
        b = p
        if args[2] is not None:
            second = args[2]
            w = loops_float(second.handle, n)
            if not w or loops_size(second.handle) != n or loops_ndim(second.handle) != 1:
                return None
        if args[3] is not None:
            second = args[3]
            b = loops_float(second.handle, n)
            if not b or loops_size(second.handle) != n or loops_ndim(second.handle) != 1:
                return None
        eps = args[4]
        out = loops_new_float(first.handle)
        means = loops_new_reduced_float(first.handle, True)
        rstds = loops_new_reduced_float(first.handle, True)
        r = loops_float_of(out)
        s = loops_float_of(means)
        t = loops_float_of(rstds)
        rows = loops_size(means)
        for i in range(rows):
            mean = total_of(p, n) / n
            square = 0.0
            for j in range(n):
                v = p[j] - mean
                square += v * v
            rstd = 1.0 / sqrt(square / n + eps)
            for j in range(n):
                v = (p[j] - mean) * rstd
                if args[2] is not None:
                    v *= w[j]
                if args[3] is not None:
                    v += b[j]
                r[j] = v
            s[i] = mean
            t[i] = rstd
            p += n
            r += n
        return out, means, rstds


class LayerNormBackwardLoop(Loop):
    """``native_layer_norm_backward`` over the last dimension, all gradients that have a place asked for."""

    def run(self, args, kwargs):
        if kwargs or len(args) != 8:
            return None
        first, second, third, fourth = args[0], args[1], args[3], args[4]
        g = loops_float(first.handle, _ROWS)
        p = loops_float(second.handle, _ROWS)
        m = loops_float(third.handle, _ROWS)
        d = loops_float(fourth.handle, _ROWS)
        if not g or not p or not m or not d or len(args[2]) != 1 or not loops_same_shape(first.handle, second.handle):
            return None
        n = args[2][0]
        need_input, need_weight, need_bias = args[7]
        if not n or not need_input or need_weight != (args[5] is not None) or need_bias != (args[6] is not None):
            return None
        rows = loops_size(second.handle) // n
        if loops_size(third.handle) != rows or loops_size(fourth.handle) != rows:
            return None
        grad_input = loops_new_float(second.handle)
        r = loops_float_of(grad_input)
        grad_weight = grad_bias = None
        w = s = t = r
        if need_weight:
            fifth = args[5]
            w = loops_float(fifth.handle, n)
            if not w or loops_size(fifth.handle) != n:
                return None
            grad_weight = loops_new_float(fifth.handle)
            s = loops_float_of(grad_weight)
            for j in range(n):
                s[j] = 0.0
        if need_bias:
            fifth = args[6]
            if not loops_float(fifth.handle, n) or loops_size(fifth.handle) != n:
                return None
            grad_bias = loops_new_float(fifth.handle)
            t = loops_float_of(grad_bias)
            for j in range(n):
                t[j] = 0.0
        for i in range(rows):
            mean = along = 0.0
            for j in range(n):
                normal = (p[j] - m[i]) * d[i]
                v = g[j]
                if need_bias:
                    t[j] += g[j]
                if need_weight:
                    s[j] += g[j] * normal
                    v = v * w[j]
                mean += v
                along += v * normal
            mean /= n
            along /= n
            for j in range(n):
                normal = (p[j] - m[i]) * d[i]
                v = g[j]
                if need_weight:
                    v = v * w[j]
                r[j] = (v - mean - normal * along) * d[i]
            p += n
            g += n
            r += n
        return grad_input, grad_weight, grad_bias


class ProductLoop(Loop):
    """``mm(a, b)``, or ``linear(a, b, bias)``, whose `b` is transposed."""

    def __init__(self, transposed):
        self.transposed = transposed

    def run(self, args, kwargs):
        if kwargs or len(args) < 2:
            return None
        first, second = args[0], args[1]
        p = loops_float(first.handle, _PRODUCT)
        q = loops_float(second.handle, _PRODUCT)
        if not p or not q or loops_ndim(first.handle) != 2 or loops_ndim(second.handle) != 2:
            return None
        rows = loops_dim(first.handle, 0)
        depth = loops_dim(first.handle, 1)
        columns = loops_dim(second.handle, 0 if self.transposed else 1)
        if loops_dim(second.handle, 1 if self.transposed else 0) != depth or rows * columns * depth > _PRODUCT:
            return None
        bias = args[2] if len(args) > 2 else None
        b = p
        if bias is not None:
            third = bias
            b = loops_float(third.handle, _PRODUCT)
            if not b or loops_ndim(third.handle) != 1 or loops_size(third.handle) != columns:
                return None
        result = loops_new_matrix(rows, columns)
        r = loops_float_of(result)
        for _ in range(rows):
            for j in range(columns):
                total = 0.0
                if self.transposed:
                    for k in range(depth):
                        total += p[k] * q[j * depth + k]
                else:
                    for k in range(depth):
                        total += p[k] * q[k * columns + j]
                r[j] = total + b[j] if bias is not None else total
            p += depth
            r += columns
        return result


LOOPS = {
    "sum": SumLoop(False), "mean": SumLoop(True),
    "sum.dim_IntList": SumDimLoop(False), "mean.dim": SumDimLoop(True),
    "max.dim": ExtremumLoop(1.0), "min.dim": ExtremumLoop(-1.0), "cumsum": CumsumLoop(),
    "_softmax": SoftmaxLoop(False), "_log_softmax": SoftmaxLoop(True),
    "_softmax_backward_data": SoftmaxBackwardLoop(False),
    "_log_softmax_backward_data": SoftmaxBackwardLoop(True),
    "native_layer_norm": LayerNormLoop(), "native_layer_norm_backward": LayerNormBackwardLoop(),
    "mm": ProductLoop(False), "linear": ProductLoop(True),
}
