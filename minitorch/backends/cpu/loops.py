# cython: wraparound=False, cdivision=True
"""Loops over float32 arrays that do in one pass what takes NumPy's functions several.

One source, compiled in two ways: ahead of time by the build (`loops.pxd`, vectorized for AVX2 on
x86), and, in parallel form, by numba where that is installed (`fast/jit.py`).  Interpreted they
would be far slower than NumPy and are not used.  The functions of a number that they call
(`exp32`, `log32`, `sqrt32`, `narrow32`) come from those two places.

All arrays are row-major; the last of the arguments are written to.
"""

from __future__ import annotations

import math

import numpy as np

from minitorch.backends.array.special import ERF_TANH

COMPILED = not __file__.endswith(".py")
BLOCK = 4096  # elements that one thread takes at a time
prange = range  # numba's, for numba

f = np.float32
ZERO, ONE, MINUS_HALF = f(0), f(1), f(-0.5)
LOWEST, INFINITE = f(-np.inf), f(np.inf)
# Note [Gelu by one exponential], in backends/array/activation.py
_gelu = [f(-c / (math.sqrt(0.5) * 2.0 ** (len(ERF_TANH) - 1 - i))) for i, c in enumerate(ERF_TANH)]
G0, G1, G2, G3, G4, G5, G6 = _gelu
CUBIC = f(-2.0 * math.sqrt(2.0 / math.pi) * 0.044715)
LINEAR = f(-2.0 * math.sqrt(2.0 / math.pi))
SLOPE_CUBIC = f(6.0 * math.sqrt(2.0 / math.pi) * 0.044715)
SLOPE_LINEAR = f(2.0 * math.sqrt(2.0 / math.pi))
INV_SQRT_2PI = f(1.0 / math.sqrt(2.0 * math.pi))

# ruff: noqa: F821 - the functions of a number come from the compiler


def row_max(a, n):
    """Return the largest of the first `n` elements, any one where there is a NaN: the callers' sums bring it back."""
    top = a[0]
    for j in range(n):
        top = a[j] if a[j] > top else top
    return top


def exp_loop(x, out):
    n = x.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, n)):
            out[i] = exp32(x[i])


def log_loop(x, out):
    n = x.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, n)):
            out[i] = log32(x[i])


def relu_loop(x, out):
    n = x.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, n)):
            out[i] = ZERO if x[i] < ZERO else x[i]


def sigmoid_loop(x, out):
    n = x.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, n)):
            out[i] = ONE / (ONE + exp32(-x[i]))


def silu_loop(x, out):
    n = x.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, n)):
            out[i] = x[i] / (ONE + exp32(-x[i]))


def gelu_loop(x, out):
    n = x.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, n)):
            v = x[i]
            s = v * v
            p = (((((G0 * s + G1) * s + G2) * s + G3) * s + G4) * s + G5) * s + G6
            out[i] = v / (ONE + exp32(v * p))


def gelu_tanh_loop(x, out):
    n = x.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, n)):
            v = x[i]
            out[i] = v / (ONE + exp32(v * (v * v * CUBIC + LINEAR)))


def sigmoid_backward_loop(grad, y, out):
    n = grad.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, n)):
            out[i] = grad[i] * ((ONE - y[i]) * y[i])


def tanh_backward_loop(grad, y, out):
    n = grad.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, n)):
            out[i] = grad[i] * (ONE - y[i] * y[i])


def silu_backward_loop(grad, x, out):
    n = grad.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, n)):
            s = ONE / (ONE + exp32(-x[i]))
            out[i] = grad[i] * (s * (ONE + x[i] * (ONE - s)))


def gelu_backward_loop(grad, x, out):
    n = grad.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        # GCC vectorizes one exponential a loop, not two.
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, n)):
            v = x[i]
            out[i] = v * (exp32(v * v * MINUS_HALF) * INV_SQRT_2PI)
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, n)):
            v = x[i]
            s = v * v
            p = (((((G0 * s + G1) * s + G2) * s + G3) * s + G4) * s + G5) * s + G6
            out[i] = grad[i] * (ONE / (ONE + exp32(v * p)) + out[i])


def gelu_tanh_backward_loop(grad, x, out):
    n = grad.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, n)):
            v = x[i]
            q = v * v
            s = ONE / (ONE + exp32(v * (q * CUBIC + LINEAR)))
            out[i] = grad[i] * (s + v * (q * SLOPE_CUBIC + SLOPE_LINEAR) * (ONE - s) * s)


def threshold_backward_loop(grad, x, threshold, out):
    n = grad.shape[0]
    for block in prange((n + BLOCK - 1) // BLOCK):
        for i in range(block * BLOCK, min(block * BLOCK + BLOCK, n)):
            g = grad[i]  # read always: LLVM makes no vector instructions of a read behind a condition
            out[i] = ZERO if x[i] <= threshold else g


def softmax_loop(x, out):
    for r in prange(x.shape[0]):
        a = x[r]
        b = out[r]
        top = row_max(a, a.shape[0])
        total = ZERO
        for j in range(a.shape[0]):
            e = exp32(a[j] - top)
            b[j] = e
            total += e
        scale = ONE / total
        for j in range(a.shape[0]):
            b[j] *= scale


def log_softmax_loop(x, out):
    for r in prange(x.shape[0]):
        a = x[r]
        b = out[r]
        top = row_max(a, a.shape[0])
        total = ZERO
        for j in range(a.shape[0]):
            # Kept, so that no compiler adds the shifts first: that loses digits where the maximum is large.
            b[j] = a[j] - top
            total += exp32(b[j])
        shift = log32(total)
        for j in range(a.shape[0]):
            b[j] -= shift


def softmax_backward_loop(grad, y, out):
    for r in prange(grad.shape[0]):
        g = grad[r]
        a = y[r]
        b = out[r]
        dot = ZERO
        for j in range(g.shape[0]):
            dot += g[j] * a[j]
        for j in range(g.shape[0]):
            b[j] = (g[j] - dot) * a[j]


def log_softmax_backward_loop(grad, y, out):
    for r in prange(grad.shape[0]):
        g = grad[r]
        a = y[r]
        b = out[r]
        total = ZERO
        for j in range(g.shape[0]):
            total += g[j]
        for j in range(g.shape[0]):
            b[j] = g[j] - exp32(a[j]) * total


def layer_norm_loop(x, weight, bias, share, eps, out, mean, rstd):
    n = x.shape[1]
    for r in prange(x.shape[0]):
        a = x[r]
        b = out[r]
        total = ZERO
        for j in range(n):
            total += a[j]
        m = total * share
        square = ZERO
        for j in range(n):
            d = a[j] - m
            square += d * d
        k = ONE / sqrt32(square * share + eps)
        mean[r] = m
        rstd[r] = k
        if weight is None:
            if bias is None:
                for j in range(n):
                    b[j] = (a[j] - m) * k
            else:
                for j in range(n):
                    b[j] = (a[j] - m) * k + bias[j]
        else:
            if bias is None:
                for j in range(n):
                    b[j] = (a[j] - m) * k * weight[j]
            else:
                for j in range(n):
                    b[j] = (a[j] - m) * k * weight[j] + bias[j]


def layer_norm_input_loop(grad, x, mean, rstd, weight, share, out):
    n = x.shape[1]
    for r in prange(x.shape[0]):
        g = grad[r]
        a = x[r]
        b = out[r]
        m = mean[r]
        k = rstd[r]
        total = ZERO
        dot = ZERO
        if weight is None:
            for j in range(n):
                total += g[j]
                dot += g[j] * (a[j] - m)
        else:
            for j in range(n):
                v = g[j] * weight[j]
                total += v
                dot += v * (a[j] - m)
        # (g - mean(g) - normal * mean(g normal)) / std
        slope = dot * share * k * k
        centre = total * share
        if weight is None:
            for j in range(n):
                b[j] = (g[j] - centre - (a[j] - m) * slope) * k
        else:
            for j in range(n):
                b[j] = (g[j] * weight[j] - centre - (a[j] - m) * slope) * k


def layer_norm_parameters_loop(grad, x, mean, rstd, weight_parts, bias_parts):
    """Sum over as many parts of the rows as `weight_parts` has: their number must not depend on the threads."""
    rows = x.shape[0]
    n = x.shape[1]
    parts = weight_parts.shape[0]
    for part in prange(parts):
        w = weight_parts[part]
        v = bias_parts[part]
        for r in range(rows * part // parts, rows * (part + 1) // parts):
            g = grad[r]
            a = x[r]
            m = mean[r]
            k = rstd[r]
            for j in range(n):
                w[j] += g[j] * ((a[j] - m) * k)
                v[j] += g[j]


def batch_norm_statistics_loop(x, mean, square):
    """Write the mean of each channel, and the sum of squares around it."""
    batch = x.shape[0]
    channels = x.shape[1]
    n = x.shape[2]
    share = 1.0 / (batch * n)
    for c in prange(channels):
        total = 0.0
        for b in range(batch):
            a = x[b, c]
            part = ZERO
            for j in range(n):
                part += a[j]
            total += part
        m = narrow32(total * share)
        squares = 0.0
        for b in range(batch):
            a = x[b, c]
            part = ZERO
            for j in range(n):
                d = a[j] - m
                part += d * d
            squares += part
        mean[c] = m
        square[c] = narrow32(squares)


def affine_loop(x, scale, shift, out):
    batch = x.shape[0]
    channels = x.shape[1]
    n = x.shape[2]
    for p in prange(batch * channels):
        b = p // channels
        c = p - b * channels
        source = x[b, c]
        target = out[b, c]
        k = scale[c]
        s = shift[c]
        for j in range(n):
            target[j] = source[j] * k + s


def normalize_loop(x, mean, scale, bias, out):
    batch = x.shape[0]
    channels = x.shape[1]
    n = x.shape[2]
    for p in prange(batch * channels):
        b = p // channels
        c = p - b * channels
        source = x[b, c]
        target = out[b, c]
        m = mean[c]
        k = scale[c]
        s = bias[c]
        for j in range(n):
            target[j] = (source[j] - m) * k + s


def batch_norm_sums_loop(grad, x, mean, total, dot):
    batch = x.shape[0]
    channels = x.shape[1]
    n = x.shape[2]
    for c in prange(channels):
        m = mean[c]
        sums = 0.0
        dots = 0.0
        for b in range(batch):
            g = grad[b, c]
            a = x[b, c]
            part = ZERO
            other = ZERO
            for j in range(n):
                part += g[j]
                other += g[j] * (a[j] - m)
            sums += part
            dots += other
        total[c] = narrow32(sums)
        dot[c] = narrow32(dots)


def batch_norm_input_loop(grad, x, mean, scale, slope, centre, out):
    batch = x.shape[0]
    channels = x.shape[1]
    n = x.shape[2]
    for p in prange(batch * channels):
        b = p // channels
        c = p - b * channels
        g = grad[b, c]
        a = x[b, c]
        target = out[b, c]
        m = mean[c]
        k = scale[c]
        q = slope[c]
        s = centre[c]
        for j in range(n):
            target[j] = (g[j] - s - (a[j] - m) * q) * k


def attend_loop(scores, length, scale, is_causal, logsumexp):
    """Turn the rows of scores into probabilities; row `r` is query ``r % length``."""
    columns = scores.shape[1]
    for r in prange(scores.shape[0]):
        a = scores[r]
        n = min(r % length + 1, columns) if is_causal else columns
        for j in range(n):
            a[j] = a[j] * scale
        top = row_max(a, n)
        if top == LOWEST:  # no key at all: 0, not NaN
            top = ZERO
        total = ZERO
        for j in range(n):
            e = exp32(a[j] - top)
            a[j] = e
            total += e
        k = ZERO if total == ZERO else ONE / total
        for j in range(n):
            a[j] *= k
        for j in range(n, columns):
            a[j] = ZERO
        logsumexp[r] = LOWEST if total == ZERO else log32(total) + top


def attend_backward_loop(scores, grad, length, scale, is_causal, logsumexp, dots):
    """Turn scores into probabilities, and the gradient of those into that of the scaled scores."""
    columns = scores.shape[1]
    for r in prange(scores.shape[0]):
        a = scores[r]
        g = grad[r]
        n = min(r % length + 1, columns) if is_causal else columns
        shift = logsumexp[r]
        shift = INFINITE if shift == LOWEST else shift
        dot = dots[r]
        for j in range(n):
            e = exp32(a[j] * scale - shift)
            a[j] = e
            g[j] = (g[j] - dot) * e * scale
        for j in range(n, columns):
            a[j] = ZERO
            g[j] = ZERO
