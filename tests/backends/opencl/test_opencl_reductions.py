"""Reductions, scans and their operators on OpenCL devices, against NumPy and the array kernels on NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("pyopencl")

from minitorch.backends import NoKernel
from minitorch.backends.array.registry import ARRAY_KERNELS
from minitorch.backends.opencl import reduction_operators as _operators
from minitorch.backends.opencl import reductions, runtime, scans
from minitorch.backends.opencl.array import CLArray, from_host
from minitorch.backends.opencl.axes import sum_dtype
from minitorch.backends.opencl.expression import lazy
from minitorch.backends.opencl.overrides import OVERRIDES

if runtime.device_count() == 0:
    pytest.skip("no OpenCL device can be used", allow_module_level=True)

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = ["?", "i1", "u1", "i2", "i4", "u4", "i8", "e", BFLOAT16, "f", "d", "F", "D"]


def random(shape, dtype="f", seed=0):
    """Return numbers of a dtype that sums and products of a few do not overflow."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.random(shape) < 0.7
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -3, 4, shape).astype(dtype)
    x = rng.standard_normal(shape)
    if dtype.kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return np.asarray(x).astype(dtype)


def layouts(x):
    """Yield (name, NumPy array, device array over memory laid out the same)."""
    a = from_host(x)
    yield "contiguous", x, a
    if x.ndim == 0:
        return
    turned = from_host(np.ascontiguousarray(x.T))
    yield "transposed", x, turned.view_of(turned.shape[::-1], turned.strides[::-1], 0)
    step = a.strides[0]
    yield "reversed", x[::-1], a.view_of(a.shape, (-step, *a.strides[1:]), step * (a.shape[0] - 1)) if x.size else a
    last = a.strides[-1]
    yield "steps", x[..., ::2], a.view_of(x[..., ::2].shape, (*a.strides[:-1], 2 * last), 0)
    shape = (3, *x.shape)
    yield "broadcast", np.broadcast_to(x, shape), a.view_of(shape, (0, *a.strides), 0)


def tolerance(dtype):
    dtype = np.dtype(dtype)
    if dtype == BFLOAT16:
        return 1e-2
    return {"e": 2e-3, "f": 2e-5, "F": 2e-5}.get(dtype.char, 1e-11)


def wide(x):
    x = np.asarray(x)
    return x.astype("D") if x.dtype.kind == "c" else x.astype("d") if x.dtype.kind in "fV" else x


def assert_same(got: CLArray, want, dtype=None, scale=1.0):
    want = np.asarray(want)
    assert isinstance(got, CLArray)
    assert got.shape == want.shape
    assert got.dtype == (want.dtype if dtype is None else np.dtype(dtype))
    host = got.to_host()
    if got.dtype.kind in "fVc":
        tol = tolerance(got.dtype) * scale
        np.testing.assert_allclose(wide(host), wide(want), rtol=tol, atol=tol)
    else:
        np.testing.assert_array_equal(host, want)


AXES = [None, 0, -1, (0, 2), ()]
CASES = [
    *[("add", d) for d in DTYPES],
    *[(op, d) for op in ("multiply", "maximum") for d in ("u1", "i8", BFLOAT16, "F")],
    ("minimum", "?"), ("minimum", "f"), ("logical_and", "f"), ("logical_or", "F"), ("logical_and", "i2"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "dtype"), CASES, ids=str)
def test_reduce_of_all_dtypes_and_layouts(op, dtype):
    x = random((4, 21, 5), dtype)
    if op == "multiply" and x.dtype.kind in "fVc":
        x = (x * x.dtype.type(0.1) + x.dtype.type(1)).astype(x.dtype)  # neither overflow nor underflow in any order
    for name, host, a in layouts(x):
        if name != "contiguous" and (op, dtype) not in (("add", "f"), ("add", BFLOAT16), ("maximum", "i8")):
            continue
        for axis in AXES:
            high = wide(host)
            if op == "multiply" and host.dtype.kind in "fVc":
                scale = 50.0
            else:
                scale = 5.0
            expected = sum_dtype(op, x.dtype)
            want = getattr(np, op).reduce(high, axis=axis)
            got = reductions.reduce(op, a, axis)
            assert got.dtype == expected, (name, axis)
            assert_same(got, np.asarray(want).astype(expected), scale=scale)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i8"])
@pytest.mark.parametrize("op", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_reduce_of_bits(op, dtype):
    x = random((6, 33), dtype)
    for axis in (None, 0, 1):
        assert_same(reductions.reduce(op, from_host(x), axis), getattr(np, op).reduce(x, axis=axis))


@pytest.mark.parametrize("shape", [(7,), (16,), (5, 100), (100, 5), (3, 70, 17), (130, 70), (2, 3, 4, 5), ()], ids=str)
def test_keepdims_and_result_dtype(shape):
    x = random(shape)
    a = from_host(x)
    for axis in (None, *range(-len(shape), len(shape))):
        assert_same(reductions.sum(a, axis, keepdims=True), x.sum(axis, keepdims=True), scale=5)
        assert_same(reductions.sum(a, axis, dtype="d"), x.sum(axis, dtype="d"), scale=5)
        assert_same(reductions.sum(a, axis, dtype="i4"), x.astype("i4").sum(axis, dtype="i4"))
        assert_same(reductions.sum(a, axis, initial=3.5), x.sum(axis, initial=3.5), scale=5)
        assert_same(reductions.mean(a, axis), x.mean(axis), scale=5)


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
@pytest.mark.parametrize("dtype", [BFLOAT16, "f"], ids=str)
def test_nan_in_extrema(name, dtype):
    x = random((9, 40), dtype)
    x[2, 3] = x[5, 0] = np.nan
    x[7] = np.nan
    x[8] = -np.inf
    for axis in (None, 0, 1):
        want = getattr(np, name).reduce(wide(x), axis=axis)
        assert_same(reductions.reduce(name, from_host(x), axis), np.asarray(want).astype(x.dtype))


@pytest.mark.parametrize("shape", [(1000003,), (3, 400000), (400000, 3), (1000, 1001), (60, 50, 40)], ids=str)
def test_long_sums_are_split_and_accurate(shape):
    x = np.random.default_rng(1).random(shape, dtype="f")
    a = from_host(x)
    for axis in (None, *range(len(shape))):
        want = x.sum(axis, dtype="d")
        np.testing.assert_allclose(reductions.sum(a, axis).to_host(), want, rtol=2e-6)
        if not isinstance(axis, tuple):
            assert_same(reductions.argmax(a, axis), x.argmax(axis))
    np.testing.assert_array_equal(reductions.count_nonzero(from_host(x > 0.5)).to_host(), np.count_nonzero(x > 0.5))


def test_sum_of_many_bfloat16_ones():
    x = np.ones(10000, BFLOAT16)
    assert float(reductions.sum(from_host(x)).to_host()) == 9984  # the nearest that bfloat16 has


def test_the_chain_is_part_of_the_reduction():
    x, y = random((50, 70)), random((70,), seed=1)
    a, b = from_host(x), from_host(y)
    chain = lazy("multiply", (lazy("add", (a, b), a.dtype, a.device), a), a.dtype, a.device)
    for axis in (None, 0, 1):
        assert_same(reductions.sum(chain, axis), ((x + y) * x).sum(axis), scale=20)
    assert chain.node is not None  # it was not needed in memory
    assert_same(chain, (x + y) * x)


def test_reductions_of_nothing():
    a = from_host(np.empty((0, 3), "f"))
    assert_same(reductions.sum(a, 0), np.zeros(3, "f"))
    assert_same(reductions.prod(a, 0), np.ones(3, "f"))
    assert_same(reductions.sum(a, 1), np.zeros(0, "f"))
    assert_same(reductions.max(a, 1), np.zeros(0, "f"))
    assert_same(reductions.all(a), np.asarray(True))
    assert_same(reductions.mean(a, 0), np.full(3, np.nan, "f"))
    with pytest.raises(ValueError, match="no identity"):
        reductions.max(a, 0)
    with pytest.raises(ValueError, match="empty sequence"):
        reductions.argmax(a, 0)
    with pytest.raises(np.exceptions.AxisError):
        reductions.sum(a, 2)
    with pytest.raises(ValueError, match="duplicate"):
        reductions.sum(a, (0, -2))


@pytest.mark.parametrize("dtype", ["?", "i1", "i8", BFLOAT16, "f"], ids=str)
def test_places_of_extrema(dtype):
    x = random((40, 33), dtype)
    if x.dtype.kind in "fV":
        x[3, 4] = x[3, 20] = x[20, 4] = np.nan
    for layout, host, a in layouts(x):
        if x.dtype.char != "f" and layout != "contiguous":
            continue
        h = wide(host)
        for axis in (None, 0, 1):
            assert_same(reductions.argmax(a, axis), h.argmax(axis))
            assert_same(reductions.argmin(a, axis), h.argmin(axis))
            assert_same(reductions.argmax(a, axis, keepdims=True), h.argmax(axis, keepdims=True))


@pytest.mark.parametrize("dtype", ["i4", "f", "F"], ids=str)
def test_variance(dtype):
    x = random((30, 41), dtype)
    a = from_host(x)
    for axis in (None, 0, 1):
        for ddof in (0, 1):
            assert_same(reductions.var(a, axis, ddof=ddof), x.var(axis, ddof=ddof), scale=10)
        assert_same(reductions.std(a, axis, ddof=1, keepdims=True), x.std(axis, ddof=1, keepdims=True), scale=10)


# ---------------------------------------------------------------- scans


SCANS = [
    *[("add", d) for d in ("?", "u1", "i4", "e", BFLOAT16, "f", "d", "F")],
    ("multiply", "f"), ("multiply", "F"), ("maximum", BFLOAT16), ("minimum", "i1"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "dtype"), SCANS, ids=str)
def test_accumulate(op, dtype):
    x = random((6, 35), dtype)
    for layout, host, a in layouts(x):
        if layout != "contiguous" and x.dtype.char != "f":
            continue
        for axis in range(-1, host.ndim):
            expected = sum_dtype(op, x.dtype)
            want = getattr(np, op).accumulate(wide(host).astype(expected if expected.kind in "iub" else wide(host).dtype), axis)
            assert_same(scans.accumulate(op, a, axis), want.astype(expected), scale=20)


@pytest.mark.parametrize("shape", [(200000,), (3, 100001), (100001, 3), (2, 50000, 2), (40000, 32)], ids=str)
def test_long_scans_go_in_blocks(shape):
    x = np.random.default_rng(2).standard_normal(shape).astype("f")
    x[tuple([n // 2 for n in shape])] = 50.0
    a = from_host(x)
    for axis in range(len(shape)):
        got = scans.cumsum(a, axis).to_host()
        np.testing.assert_allclose(got, x.cumsum(axis, dtype="d"), rtol=1e-5, atol=2e-4)
        np.testing.assert_array_equal(scans.accumulate("maximum", a, axis).to_host(), np.maximum.accumulate(x, axis))
    assert_same(scans.cumsum(a), x.reshape(-1).cumsum(dtype="d").astype("f"), scale=20)


def test_scans_of_nothing():
    assert scans.cumsum(from_host(np.empty((0, 3), "f")), 0).shape == (0, 3)
    assert_same(scans.cumprod(from_host(np.asarray(3.0, "f"))), np.asarray([3.0], "f"))
    with pytest.raises(TypeError):
        scans.accumulate("add", from_host(np.asarray(3.0, "f")))


# ---------------------------------------------------------------- operators


class DType:
    """Stands for a dtype of minitorch."""

    def __init__(self, char):
        self.np = np.dtype(char)


OPERATORS = [
    ("sum", (), {}), ("sum", (), {"dtype": DType("d")}), ("sum.dim_IntList", ([0],), {}), ("sum.dim_IntList", ([-1], True), {}),
    ("sum.dim_IntList", ([0, 1],), {}), ("sum.dim_IntList", ([],), {}), ("prod", (), {}), ("prod.dim_int", (1,), {}),
    ("mean", (), {}), ("mean.dim", ([0],), {}), ("mean.dim", ([1], True), {}), ("mean.dim", (None,), {}),
    ("var.correction", ([1],), {}), ("var.correction", (None,), {"correction": 0}),
    ("var.correction", ([0],), {"correction": 2.5, "keepdim": True}),
    ("std.correction", ([1],), {}), ("var_mean.correction", ([0],), {}), ("std_mean.correction", ([1],), {"keepdim": True}),
    ("amax", ([0],), {}), ("amin", ([], True), {}), ("amax", ([0, 1],), {}), ("max", (), {}), ("min", (), {}),
    ("max.dim", (0,), {}), ("min.dim", (-1, True), {}), ("argmax", (), {}), ("argmax", (None, True), {}), ("argmax", (1,), {}),
    ("argmin", (0, True), {}), ("aminmax", (), {"dim": 1}), ("logsumexp", ([1],), {}), ("logsumexp", ([0, 1], True), {}),
    ("cumsum", (0,), {}), ("cumsum", (1,), {}), ("cumprod", (-1,), {}), ("cummax", (0,), {}), ("cummin", (1,), {}),
    ("logcumsumexp", (1,), {}),
    *[("linalg_vector_norm", (o,), {}) for o in (0, 1, 2, 3, 0.5, -1, float("inf"), -float("inf"))],
    ("linalg_vector_norm", (2, [0], True), {}), ("linalg_vector_norm", (3.5, [1]), {"dtype": DType("d")}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "options"), OPERATORS, ids=str)
def test_operators_give_what_the_array_kernels_give(name, args, options):
    check_operator(name, args, options, "f")
    if args:  # the other form of an operator has the same function
        check_operator(name, args, options, BFLOAT16)


@pytest.mark.parametrize("dtype", ["i4", "F"])
@pytest.mark.parametrize(
    ("name", "args"),
    [
        *[(name, ([1],)) for name in ("sum.dim_IntList", "mean.dim", "var_mean.correction", "amax", "logsumexp")],
        *[(name, (1,)) for name in ("prod.dim_int", "max.dim", "argmin", "cumsum", "cummax")],
        ("linalg_vector_norm", (2, [1])),
    ],
)
def test_operators_of_integers_and_complex_numbers(name, args, dtype):
    check_operator(name, args, {}, dtype)


def check_operator(name, args, options, dtype):
    x = random((12, 37), dtype)
    if x.dtype.kind in "fV" and not name.startswith(("prod", "cumprod")):
        x[4, 5] = x[4, 6]
    for layout, host, a in layouts(x):
        if layout not in ("contiguous", "transposed") or (layout == "transposed" and x.dtype.char != "f"):
            continue
        try:
            want = ARRAY_KERNELS[name](np, host, *args, **options)
        except ValueError:
            with pytest.raises((ValueError, NoKernel)):
                OVERRIDES[name](a, *args, **options)
            return
        if x.dtype.kind == "c" and name in ("logsumexp", "logcumsumexp"):
            with pytest.raises(NoKernel):
                OVERRIDES[name](a, *args, **options)
            return
        got = OVERRIDES[name](a, *args, **options)
        if not isinstance(want, tuple):
            got, want = (got,), (want,)
        for one, other in zip(got, want, strict=True):
            assert_same(one, other, scale=30 if name in ("prod", "cumprod", "cumsum") or name.startswith("prod") else 8)


def test_running_extrema_with_nan():
    x = random((5, 64))
    x[1, 3] = x[2, 10] = x[2, 30] = np.nan
    x[3] = 1.0
    for name in ("cummax", "cummin"):
        for axis in (0, 1):
            for got, want in zip(OVERRIDES[name](from_host(x), axis), ARRAY_KERNELS[name](np, x, axis), strict=True):
                assert_same(got, want)


def test_dropout_backward():
    g, mask = random((33, 7), BFLOAT16), random((33, 7), "?")
    got = OVERRIDES["native_dropout_backward"](from_host(g), from_host(mask), 2.0)
    assert_same(got, ARRAY_KERNELS["native_dropout_backward"](np, g, mask, 2.0))


@pytest.fixture
def gpu_form(monkeypatch):
    """Make the kernels take the form for GPUs, on whatever device there is."""
    device = runtime.device()
    monkeypatch.setattr(device, "is_cpu", False)
    return device


@pytest.mark.parametrize("shape", [(1000,), (70, 300), (300, 70), (5, 6, 80), (100000,)], ids=str)
def test_gpu_forms(gpu_form, shape):
    x = random(shape)
    a = from_host(x)
    for axis in (None, *range(len(shape))):
        assert_same(reductions.sum(a, axis), x.sum(axis, dtype="d").astype("f"), scale=20)
        assert_same(reductions.max(a, axis), x.max(axis))
        assert_same(reductions.argmin(a, axis), x.argmin(axis))
        assert_same(reductions.var(a, axis), x.var(axis), scale=10)
        if axis is not None:
            assert_same(scans.cumsum(a, axis), x.cumsum(axis, dtype="d").astype("f"), scale=50)


assert _operators
