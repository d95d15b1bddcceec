"""Every kernel of every source, executed on the CPU (``shim.py``) against NumPy.

`CASES` is the index: a kernel without a test in it fails.  Each runs with its threads from first to last, and from last
to first; what is read before it is written, or depends on who comes first, shows in one of them.
"""

from __future__ import annotations

import math

import attention_cases
import ml_dtypes
import numpy as np
import pytest
import shim
from compilation import variants

from minitorch.backends.cuda.programs import names, source
from minitorch.backends.opencl.random import words_on_host

pytestmark = pytest.mark.skipif(shim.COMPILER is None, reason="g++ is not here")
TOLERANCE = {"float32": 2e-6, "float64": 1e-13, "float16": 1e-3, "bfloat16": 8e-3, "int32": 0, "int64": 0}
CASES: dict[tuple[str, str], object] = {}


def case(name, *kernels):
    """Mark the test of kernels of a source: a function of their launcher, a maker of arrays, and the types."""

    def enter(test):
        for kernel in kernels:
            CASES[name, kernel] = test
        return test

    return enter


def typed(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


class Maker:
    """Makes arrays of the storage type, and remembers how far results may be off."""

    def __init__(self, types):
        self.types = types
        self.random = np.random.default_rng(0)
        name = types.get("T", "float32")
        self.T, self.A = typed(name), np.dtype(np.float64 if name == "float64" else np.float32)

    def __call__(self, *shape, macro="T", low=-2.0, high=2.0):
        dtype = typed(self.types[macro])
        if dtype.kind in "iu":
            return self.random.integers(-9, 10, shape).astype(dtype)
        return self.random.uniform(low, high, shape).astype(dtype)

    def index(self, high, *shape):
        return self.random.integers(0, high, shape).astype(self.types["I"])

    def out(self, *shape, dtype=None):
        dtype = self.T if dtype is None else np.dtype(dtype)
        strange = np.full(dtype.itemsize, 1 if dtype.kind == "b" else 0xA7, np.uint8).view(dtype)
        return np.full(shape, strange[0], dtype)

    def close(self, actual, expected, scale=1.0):
        name = actual.dtype.name
        tolerance = (
            max(TOLERANCE[name], TOLERANCE.get(self.T.name, 0) if name == "float32" and self.T.itemsize == 8 else 0)
            * 4
            * scale
        )
        actual, expected = actual.astype(np.float64), np.asarray(expected, np.float64)
        size = max(1.0, float(np.nanmax(np.abs(expected)))) if expected.size else 1.0
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * size)


def wide(*arrays):
    return [None if a is None else a.astype(np.float64) for a in arrays]


NULL = np.uint64(0)
i64, i32, f64, u32 = np.int64, np.int32, np.float64, np.uint32


# ---------------------------------------------------------------- rows


@case("softmax", "softmax", "log_softmax", "softmax_columns", "log_softmax_columns")
def softmax(run, make, name):
    for outer, n, inner in ((3, 37, 1), (2, 130, 3), (1, 1, 1), (4, 5, 33)):
        x, y = make(outer, n, inner, low=-9, high=9), make.out(outer, n, inner, dtype=typed(make.types["O"]))
        run(1 if "columns" in name else outer, 64, x, y, i64(outer * inner), i64(n), i64(inner))
        (w,) = wide(x)
        e = np.exp(w - w.max(1, keepdims=True))
        p = e / e.sum(1, keepdims=True)
        make.close(y, np.log(p) if "log" in name else p)


@case("softmax", "softmax_backward", "log_softmax_backward", "softmax_backward_columns", "log_softmax_backward_columns")
def softmax_backward(run, make, name):
    for outer, n, inner in ((3, 37, 1), (2, 70, 3)):
        g, y = make(outer, n, inner), make(outer, n, inner, low=-1, high=1)
        d = make.out(outer, n, inner, dtype=typed(make.types["O"]))
        run(2, 64, g, y, d, i64(outer * inner), i64(n), i64(inner))
        g, y = wide(g, y)
        expected = g - np.exp(y) * g.sum(1, keepdims=True) if "log" in name else (g - (g * y).sum(1, keepdims=True)) * y
        make.close(d, expected, 4)


@case("layer_norm", "layer_norm")
def layer_norm(run, make, name):
    for rows, n, affine in ((5, 33, True), (2, 128, False), (1, 1, True)):
        x, w, b = make(rows, n), make(n), make(n)
        y, mean, rstd = make.out(rows, n), make.out(rows, dtype=make.A), make.out(rows, dtype=make.A)
        run(3, 64, x, w if affine else NULL, b if affine else NULL, y, mean, rstd, i64(rows), i64(n), f64(1e-5))
        x, w, b = wide(x, w, b)
        m, scale = x.mean(1), 1 / np.sqrt(x.var(1) + 1e-5)
        h = (x - m[:, None]) * scale[:, None]
        make.close(y, h * w + b if affine else h, 4)
        make.close(mean, m)
        make.close(rstd, scale, 4)


def _layer_norm_operands(make, rows, n):
    g, x, w = make(rows, n), make(rows, n), make(n)
    wx = x.astype(np.float64)
    return g, x, w, wx.mean(1).astype(make.A), (1 / np.sqrt(wx.var(1) + 1e-5)).astype(make.A)


@case("layer_norm", "layer_norm_backward")
def layer_norm_backward(run, make, name):
    for rows, n, affine in ((5, 33, True), (2, 128, False)):
        g, x, w, mean, rstd = _layer_norm_operands(make, rows, n)
        d = make.out(rows, n)
        run(2, 96, g, x, mean, rstd, w if affine else NULL, d, i64(rows), i64(n))
        g, x, w, mean, rstd = wide(g, x, w, mean, rstd)
        h, v = (x - mean[:, None]) * rstd[:, None], g * w if affine else g
        expected = (v - v.mean(1, keepdims=True) - h * (v * h).mean(1, keepdims=True)) * rstd[:, None]
        make.close(d, expected, 4)


@case("layer_norm", "layer_norm_parameters")
def layer_norm_parameters(run, make, name):
    for rows, n, both in ((5, 33, True), (20, 64, False)):
        g, x, _, mean, rstd = _layer_norm_operands(make, rows, n)
        gw, gb = make.out(n, dtype=make.A), make.out(n, dtype=make.A)
        run(-(-n // 32), 256, g, x, mean, rstd, gw if both else NULL, gb, i64(rows), i64(n))
        g, x, mean, rstd = wide(g, x, mean, rstd)
        make.close(gb, g.sum(0), 8)
        if both:
            make.close(gw, (g * (x - mean[:, None]) * rstd[:, None]).sum(0), 8)


# ---------------------------------------------------------------- batch norm

SHAPE = (3, 4, 10)


@case("batch_norm", "batch_norm_statistics")
def batch_norm_statistics(run, make, name):
    x = make(*SHAPE)
    running_mean, running_var = make(4, macro="R"), make(4, macro="R", low=0.5, high=2)
    before = wide(running_mean, running_var)
    mean, invstd = make.out(4, dtype=make.A), make.out(4, dtype=make.A)
    sizes = i64(3), i64(4), i64(10)
    run(4, 64, x, mean, invstd, running_mean, running_var, *sizes, f64(0.1), f64(1e-5))
    (w,) = wide(x)
    make.close(mean, w.mean((0, 2)))
    make.close(invstd, 1 / np.sqrt(w.var((0, 2)) + 1e-5), 4)
    make.close(running_mean, before[0] * 0.9 + 0.1 * w.mean((0, 2)), 2)
    make.close(running_var, before[1] * 0.9 + 0.1 * w.var((0, 2), ddof=1), 2)
    run(4, 32, x, mean, invstd, NULL, NULL, *sizes, f64(0.1), f64(1e-5))
    single = x[:1, :, :1].copy()
    run(4, 32, single, mean, invstd, NULL, running_var, i64(1), i64(4), i64(1), f64(0.1), f64(1e-5))
    assert np.isnan(running_var.astype(np.float64)).all()


@case("batch_norm", "batch_norm_running")
def batch_norm_running(run, make, name):
    running_mean, running_var = make(40, macro="R"), make(40, macro="R", low=0.5, high=2)
    mean, invstd = make.out(40, dtype=make.A), make.out(40, dtype=make.A)
    run(2, 32, running_mean, running_var, mean, invstd, i64(40), f64(1e-3))
    make.close(mean, running_mean)
    make.close(invstd, 1 / np.sqrt(running_var.astype(np.float64) + 1e-3))


@case("batch_norm", "batch_norm_apply")
def batch_norm_apply(run, make, name):
    x, mean, invstd = make(*SHAPE), make(4).astype(make.A), make(4, low=0.5, high=2).astype(make.A)
    for affine in (True, False):
        w, b, y = make(4, macro="P"), make(4, macro="P"), make.out(*SHAPE)
        run(2, 32, x, mean, invstd, w if affine else NULL, b if affine else NULL, y, i64(120), i64(4), i64(10))
        h = (x.astype(np.float64) - mean[:, None]) * invstd[:, None]
        make.close(y, h * wide(w)[0][:, None] + wide(b)[0][:, None] if affine else h, 2)


@case("batch_norm", "batch_norm_sums")
def batch_norm_sums(run, make, name):
    g, x, mean, invstd = make(*SHAPE), make(*SHAPE), make(4).astype(make.A), make(4, low=0.5, high=2).astype(make.A)
    total, dot = make.out(4, dtype=make.A), make.out(4, dtype=make.A)
    run(4, 64, g, x, mean, invstd, total, dot, i64(3), i64(4), i64(10))
    g, x = wide(g, x)
    make.close(total, g.sum((0, 2)), 4)
    make.close(dot, (g * (x - mean[:, None]) * invstd[:, None]).sum((0, 2)), 4)


@case("batch_norm", "batch_norm_backward")
def batch_norm_backward(run, make, name):
    g, x, mean, invstd = make(*SHAPE), make(*SHAPE), make(4).astype(make.A), make(4, low=0.5, high=2).astype(make.A)
    total, dot, w = make(4).astype(make.A), make(4).astype(make.A), make(4, macro="P")
    for train in (1, 0):
        d = make.out(*SHAPE)
        run(2, 32, g, x, mean, invstd, w if train else NULL, total, dot, d, i64(120), i64(4), i64(10), i32(train))
        wg, wx, ww = wide(g, x, w)
        if train:
            wg = (wg - (total[:, None] + (wx - mean[:, None]) * invstd[:, None] * dot[:, None]) / 30) * ww[:, None]
        make.close(d, wg * invstd[:, None], 4)


# ---------------------------------------------------------------- elements

_erf = np.vectorize(math.erf)


def _slope(function, x):
    h = 1e-5
    return (function(x + h) - function(x - h)) / (2 * h)


FUNCTIONS = {
    "gelu": lambda x: x * 0.5 * (1 + _erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + np.exp(-x)),
}


@case("activation", *FUNCTIONS)
def activation(run, make, name):
    x, y = make(1000, low=-6, high=6), make.out(1000)
    run(3, 64, x, y, i64(1000))
    make.close(y, FUNCTIONS[name](x.astype(np.float64)))


@case("activation", "gelu_backward", "gelu_tanh_backward", "silu_backward")
def activation_backward(run, make, name):
    g, x, d = make(1000), make(1000, low=-6, high=6), make.out(1000)
    run(3, 64, g, x, d, i64(1000))
    g, x = wide(g, x)
    expected = g * _slope(FUNCTIONS[name.removesuffix("_backward")], x)
    make.close(d, expected, 1e4 if make.T.name == "float64" else 2)


@case("philox", "philox_words")
def philox_words(run, make, name):
    for first, seed in ((0, 0), (123456789012, 0x123456789ABCDEF)):
        out = make.out(4, 100, dtype=np.uint32)
        run(2, 32, out, i64(100), i64(first), u32(seed & 0xFFFFFFFF), u32(seed >> 32), i64(4))
        assert np.array_equal(out, words_on_host(first, 100, seed))


@case("dropout", "dropout")
def dropout(run, make, name):
    x, y, mask = make(300), make.out(300), make.out(300, dtype=bool)
    scale = float(make.T.type(1 / 0.7))
    run(2, 64, x, y, mask, i64(300), i64(11), u32(5), u32(6), f64(0.7), f64(scale))
    w = words_on_host(11, 300, 5 | 6 << 32).astype(np.uint64)
    u = ((w[0] | w[1] << np.uint64(32)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    assert np.array_equal(mask, u < 0.7)
    make.close(y, x.astype(np.float64) * (u < 0.7) * scale)


# ---------------------------------------------------------------- losses, rows of tables, sums at places


@case("loss", "nll_forward")
def nll_forward(run, make, name):
    for batch, classes, rest, weighted, reduction in ((70, 5, 1, True, 1), (3, 7, 4, False, 2), (9, 4, 1, True, 0)):
        x, w, t = make(batch, classes, rest), make(classes, low=0.5, high=2), make.index(classes, batch, rest)
        t[0, 0] = -100
        loss = make.out(*((batch, rest) if reduction == 0 else ()))
        total, wrong = make.out(), np.zeros(2, i64)
        run(
            1,
            64,
            x,
            t,
            w if weighted else NULL,
            loss,
            total,
            wrong,
            i64(t.size),
            i64(classes),
            i64(rest),
            i64(-100),
            i32(reduction),
        )
        kept = (t != -100) * (w.astype(np.float64)[np.where(t < 0, 0, t)] if weighted else 1.0)
        picked = np.take_along_axis(x.astype(np.float64), np.where(t < 0, 0, t)[:, None], 1)[:, 0]
        losses = -picked * kept
        expected = losses if reduction == 0 else losses.sum() / (kept.sum() if reduction == 1 else 1)
        make.close(loss, expected, 4)
        make.close(total, 0 if reduction == 0 else kept.sum(), 4)
        assert not wrong.any()
    t[2, 0] = classes + 3
    run(1, 32, x, t, NULL, loss, total, wrong, i64(t.size), i64(classes), i64(rest), i64(-100), i32(0))
    assert wrong.tolist() == [1, classes + 3]


@case("loss", "nll_backward")
def nll_backward(run, make, name):
    batch, classes, rest = 6, 5, 3
    w, t, total = make(classes, low=0.5, high=2), make.index(classes, batch, rest), np.array(7, make.T)
    t[0, 0], w[1] = -100, 0
    for reduction in (0, 1, 2):
        g, d = make(*((batch, rest) if reduction == 0 else (1,))), np.zeros((batch, classes, rest), make.T)
        run(1, 32, g, t, w, total, d, i64(t.size), i64(classes), i64(rest), i64(-100), i32(reduction))
        factor = (
            (t != -100)
            * w.astype(np.float64)[np.where(t < 0, 0, t)]
            * -g.astype(np.float64)
            / (7 if reduction == 1 else 1)
        )
        expected = np.zeros(d.shape)
        np.put_along_axis(expected, np.where(t < 0, 0, t)[:, None], np.broadcast_to(factor, t.shape)[:, None], 1)
        make.close(d, expected, 2)


@case("embedding", "embedding")
def embedding(run, make, name):
    table, index, wrong = make(9, 6), make.index(9, 20), np.zeros(2, i64)
    y = make.out(20, 6)
    run(2, 32, table, index, y, wrong, i64(20), i64(6), i64(9))
    assert np.array_equal(y, table[index])
    assert not wrong.any()
    index[3] = -2
    run(2, 32, table, index, y, wrong, i64(20), i64(6), i64(9))
    assert wrong.tolist() == [1, -2]


@case("embedding", "embedding_backward")
def embedding_backward(run, make, name):
    g, index, wrong = make(20, 6), make.index(9, 20), np.zeros(2, i64)
    counts = np.bincount(index, minlength=9).astype(i64)
    for given, padding in ((counts, -1), (NULL, int(index[0]))):
        sums = np.zeros((9, 6), make.A)
        run(2, 32, g, index, given, sums, wrong, i64(20), i64(6), i64(9), i64(padding))
        expected = np.zeros((9, 6))
        part = g.astype(np.float64) / (counts[index][:, None] if padding < 0 else 1)
        np.add.at(expected, index, np.where((index == padding)[:, None], 0, part))
        make.close(sums, expected, 4)
    index[3] = 9
    run(2, 32, g, index, NULL, sums, wrong, i64(20), i64(6), i64(9), i64(-1))
    assert wrong.tolist() == [1, 9]


@case("embedding", "embedding_round")
def embedding_round(run, make, name):
    sums, y = np.linspace(-3, 3, 77).astype(make.A), make.out(77)
    sums[:3] = [np.nan, np.inf, 3e38]
    run(2, 32, sums, y, i64(77))
    with np.errstate(over="ignore"):
        assert np.array_equal(y.astype(np.float64), sums.astype(make.T).astype(np.float64), equal_nan=True)


@case("scatter", "scatter_add", "index_add")
def scatter(run, make, name):
    outer, n, m, inner = 3, 5, 8, 4
    out, before, source_ = make(outer, n, inner), None, make(outer, m, inner)
    before, wrong = out.copy(), np.zeros(2, i64)
    whole = name == "scatter_add"
    index = make.index(n, *((outer, m, inner) if whole else (m,)))
    extra = () if whole else (make.T.type(3),)
    run(2, 32, out, index, source_, wrong, i64(outer), i64(n), i64(m), i64(inner), *extra)
    expected = before.astype(np.float64)
    if whole:
        a, b, c = np.indices(source_.shape)
        np.add.at(expected, (a, index, c), source_)
    else:
        np.add.at(expected, (slice(None), index), source_ * 3.0)
    make.close(out, expected, 4)
    assert not wrong.any()
    index.reshape(-1)[2] = n
    run(2, 32, out, index, source_, wrong, i64(outer), i64(n), i64(m), i64(inner), *extra)
    assert wrong.tolist() == [1, n]


# ---------------------------------------------------------------- optimizers


@case("optimizer", "count_up")
def count_up(run, make, name):
    step = np.array([4], typed(make.types["S"]))
    run(1, 1, step, NULL)
    run(1, 1, step, np.array([1], "f4"))
    run(1, 1, step, np.array([0], "f4"))
    assert step[0] == 6


@case("optimizer", "sgd")
def sgd(run, make, name):
    for momentum, nesterov, maximize, first, decay in ((0.0, 0, 0, 0, 0.0), (0.9, 0, 1, 1, 0.1), (0.9, 1, 0, 0, 0.1)):
        p, g, b = make(50), make(50), make(50)
        wp, wg, wb = wide(p, g, b)
        scale = np.array([2.0], "f4")
        numbers = f64(decay), f64(momentum), f64(0.1), f64(0.3), i32(nesterov), i32(maximize), i32(first)
        run(1, 32, p, g, b if momentum else NULL, scale, NULL, i64(50), *numbers)
        u = (-wg if maximize else wg) / 2 + decay * wp
        if momentum:
            wb = u if first else wb * momentum + u * 0.7
            make.close(b, wb, 2)
            u = u + momentum * wb if nesterov else wb
        make.close(p, wp - 0.1 * u, 2)
    before = p.copy()
    run(1, 32, p, g, NULL, NULL, np.array([1], "f4"), i64(50), *numbers)
    assert np.array_equal(p, before)


@case("optimizer", "adam")
def adam(run, make, name):
    for amsgrad, decoupled, maximize, decay in ((0, 0, 0, 0.0), (1, 1, 1, 0.1), (0, 0, 0, 0.1)):
        p, g, m, v, top = make(50), make(50), make(50), make(50, low=0.1, high=1), make(50, low=0.1, high=1)
        wp, wg, wm, wv, wt = wide(p, g, m, v, top)
        step = np.array([3], typed(make.types["S"]))
        numbers = f64(0.01), f64(0.9), f64(0.99), f64(decay), f64(1e-8), i32(maximize), i32(decoupled)
        run(1, 32, p, g, m, v, top if amsgrad else NULL, step, NULL, NULL, i64(50), *numbers)
        u = -wg if maximize else wg
        u, wp = (u, wp * (1 - 0.01 * decay)) if decoupled else (u + decay * wp, wp)
        wm, wv = wm + (u - wm) * (1 - 0.9), wv * 0.99 + u * u * (1 - 0.99)
        root = np.maximum(wt, wv) if amsgrad else wv
        make.close(m, wm, 2)
        make.close(v, wv, 2)
        if amsgrad:
            make.close(top, root, 2)
        make.close(p, wp - 0.01 / (1 - 0.9**3) * wm / (np.sqrt(root) / math.sqrt(1 - 0.99**3) + 1e-8), 2)
    before = p.copy()
    run(1, 32, p, g, m, v, NULL, step, NULL, np.array([1], "f4"), i64(50), *numbers)
    assert np.array_equal(p, before)


# ---------------------------------------------------------------- pooling

# planes, height, width, then pairs: window, stride, padding, dilation
WINDOWS = (
    (2, 7, 9, (2, 3), (2, 2), (0, 0), (1, 1)),
    (1, 8, 6, (3, 3), (1, 2), (1, 1), (1, 1)),
    (2, 9, 9, (2, 2), (3, 1), (1, 0), (2, 2)),
)


def windows_of(h, w, kernel, stride, padding, dilation):
    """Return the numbers of rows and columns of windows, and the elements of each: (row, column) -> places."""
    out = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip((h, w), kernel, stride, padding, dilation, strict=True)
    ]
    places = {}
    for i in range(out[0]):
        for j in range(out[1]):
            inside = [
                (r, c)
                for r in range(
                    i * stride[0] - padding[0], i * stride[0] - padding[0] + dilation[0] * kernel[0], dilation[0]
                )
                for c in range(
                    j * stride[1] - padding[1], j * stride[1] - padding[1] + dilation[1] * kernel[1], dilation[1]
                )
            ]
            places[i, j] = [(r, c) for r, c in inside if 0 <= r < h and 0 <= c < w]
    return out, places


def numbers(planes, h, w, out, *pairs):
    return tuple([i64(v) for v in (planes, h, w, *out, *[n for pair in pairs for n in pair])])


@case("pooling", "max_pool", "max_pool_backward")
def max_pool(run, make, name):
    for planes, h, w, *pairs in WINDOWS:
        out, places = windows_of(h, w, *pairs)
        x = make(planes, h, w)
        x[0, 0, 0] = x[0, 0, 1] = 3  # equal ones: the first
        x[0, 3, 3] = np.nan
        y, index = np.empty((planes, *out), make.T), np.empty((planes, *out), i64)
        for plane in range(planes):
            for (i, j), inside in places.items():
                values = [float(x[plane, r, c]) for r, c in inside]
                bad = [k for k, v in enumerate(values) if v != v]
                k = bad[-1] if bad else int(np.argmax(values))
                y[plane, i, j], index[plane, i, j] = values[k], inside[k][0] * w + inside[k][1]
        sizes = numbers(planes, h, w, out, *pairs)
        if name == "max_pool":
            got, where = make.out(planes, *out), make.out(planes, *out, dtype=i64)
            run(2, 32, x, got, where, *sizes)
            assert np.array_equal(got, y, equal_nan=True)
            assert np.array_equal(where, index)
            got = make.out(planes, *out)
            run(2, 32, x, got, NULL, *sizes)
            assert np.array_equal(got, y, equal_nan=True)
        else:
            g, d = make(planes, *out), make.out(planes, h, w)
            run(2, 32, g, index, d, *sizes)
            expected = np.zeros((planes, h * w))
            for plane in range(planes):
                np.add.at(expected[plane], index[plane].reshape(-1), g[plane].astype(np.float64).reshape(-1))
            make.close(d, expected.reshape(planes, h, w), 2)


@case("pooling", "avg_pool", "avg_pool_backward")
def avg_pool(run, make, name):
    for planes, h, w, kernel, stride, padding, _ in WINDOWS:
        pairs = kernel, stride, padding, (1, 1)
        out, places = windows_of(h, w, *pairs)
        sizes = numbers(planes, h, w, out, *pairs)
        for with_padding, given in ((1, 0), (0, 0), (1, 7)):
            x, g = make(planes, h, w), make(planes, *out)
            y, d = np.zeros((planes, *out)), np.zeros((planes, h, w))
            for (i, j), inside in places.items():
                r0, c0 = i * stride[0] - padding[0], j * stride[1] - padding[1]
                area = (min(r0 + kernel[0], h + padding[0]) - r0) * (min(c0 + kernel[1], w + padding[1]) - c0)
                divisor = given or (area if with_padding else len(inside))
                for r, c in inside:
                    y[:, i, j] += x[:, r, c].astype(np.float64) / divisor
                    d[:, r, c] += g[:, i, j].astype(np.float64) / divisor
            if name == "avg_pool":
                got = make.out(planes, *out)
                run(2, 32, x, got, *sizes, i32(with_padding), i64(given))
                make.close(got, y, 2)
            else:
                got = make.out(planes, h, w)
                run(2, 32, g, got, *sizes, i32(with_padding), i64(given))
                make.close(got, d, 2)


for _kernel, _test in attention_cases.CASES.items():
    case("attention", _kernel)(_test)


# ---------------------------------------------------------------- the tests


def all_kernels():
    """Return (source, kernel, types) of everything there is."""
    if shim.COMPILER is None:
        return []
    return [
        (name, kernel, types)
        for name in names()
        for types in variants(name)
        for kernel in shim.kernels_of(shim.preprocess(source(name, variants(name)[0])))
    ]


ALL = all_kernels()


def test_every_kernel_has_a_test_and_every_test_a_kernel():
    assert {(name, kernel) for name, kernel, _ in ALL} == set(CASES)


@pytest.mark.parametrize(("name", "kernel", "types"), ALL, ids=["-".join((n, k, *t.values())) for n, k, t in ALL])
@pytest.mark.parametrize("order", [0, 1], ids=["forward", "backward"])
def test_on_the_cpu(name, kernel, types, order, monkeypatch):
    monkeypatch.setattr(shim.Kernel, "order", order)
    function = shim.Kernel(source(name, types), kernel)
    CASES[name, kernel](lambda blocks, threads, *args: function((blocks,), (threads,), args), Maker(types), kernel)


def test_the_shim_sees_a_missing_barrier(monkeypatch):
    text = """
    extern "C" __global__ void turn(int* out) {
      __shared__ int s[64];
      s[threadIdx.x] = threadIdx.x + blockIdx.x;
      BARRIER
      out[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
    }"""
    expected = np.concatenate([np.arange(64)[::-1] + block for block in range(2)])
    results = {}
    for barrier in ("__syncthreads();", ""):
        out = np.zeros(128, np.int32)
        shim.Kernel(text.replace("BARRIER", barrier), "turn")((2,), (64,), (out,))
        results[barrier] = np.array_equal(out, expected)
    assert results == {"__syncthreads();": True, "": False}


def test_the_shim_sees_a_barrier_that_some_do_not_reach():
    text = 'extern "C" __global__ void part(int* out) { if (threadIdx.x < 40) __syncthreads(); out[threadIdx.x] = 1; }'
    with pytest.raises(RuntimeError, match="same barrier"):
        shim.Kernel(text, "part")((1,), (64,), (np.zeros(64, np.int32),))


def test_the_shim_checks_arguments_as_the_device_would_read_them():
    kernel = shim.Kernel('extern "C" __global__ void f(float* out, long long n) { out[0] = n; }', "f")
    out = np.zeros(1, np.float32)
    for wrong in (
        (out, np.int32(1)),
        (out.astype(np.float64), np.int64(1)),
        (out,),
        (np.int64(3), np.int64(1)),
        (out, out),
    ):
        with pytest.raises(TypeError):
            kernel((1,), (1,), wrong)
    with pytest.raises(ValueError, match="no device launches"):
        kernel((0,), (1,), (out, np.int64(1)))
    kernel((1,), (1,), (out, np.int64(7)))
    assert out[0] == 7
