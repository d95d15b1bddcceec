"""Pointwise kernels of the OpenCL backend against NumPy: layouts, dtypes, lazy chains and what is written meanwhile."""

from __future__ import annotations

import gc

import ml_dtypes
import numpy as np
import pytest

from minitorch.backends.opencl import expression, pointwise, runtime
from minitorch.backends.opencl.namespace import xp

EDGES = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 0.5, 2, -3, 1e30, 1e-30] * 4, np.float32)
UNARY = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "sin", "cos", "tan", "arcsin", "arccos",
    "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "floor", "ceil", "trunc", "rint", "sign",
    "absolute", "isnan", "isinf", "isfinite", "signbit", "logical_not", "square", "reciprocal", "negative",
    "deg2rad", "rad2deg",
]  # fmt: skip
BINARY = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "power", "maximum", "minimum",
    "fmax", "fmin", "arctan2", "hypot", "copysign", "nextafter", "logaddexp", "logaddexp2", "heaviside", "equal",
    "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor",
]  # fmt: skip
INTEGER = [
    "add", "subtract", "multiply", "floor_divide", "remainder", "fmod", "power", "gcd", "lcm", "left_shift",
    "right_shift", "maximum", "bitwise_and", "less",
]  # fmt: skip
COMPLEX = [
    "exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "absolute", "reciprocal", "square", "negative", "arcsin",
    "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "sinh", "cosh", "log1p", "expm1", "log10", "conjugate",
]  # fmt: skip


@pytest.fixture(params=["cpu form", "gpu form"])
def device(request, monkeypatch):
    found = runtime.device()
    monkeypatch.setattr(found, "is_cpu", request.param == "cpu form")
    return found


def check(result, expected, rtol=2e-5, atol=1e-6):
    result = result.to_host()
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    rng = np.random.default_rng(0)
    for x in (rng.standard_normal((7, 5), np.float32), rng.standard_normal(70), EDGES):
        with np.errstate(all="ignore"):
            check(getattr(xp, name)(xp.asarray(x)), getattr(np, name)(x))


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    a, b = (m.ravel().copy() for m in np.meshgrid(EDGES[:9], EDGES[:9]))
    with np.errstate(all="ignore"):
        check(getattr(xp, name)(xp.asarray(a), xp.asarray(b)), getattr(np, name)(a, b))


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u4"])
@pytest.mark.parametrize("name", INTEGER)
def test_integers(name, dtype):
    a = np.arange(-20 if dtype[0] == "i" else 0, 20).astype(dtype)
    with np.errstate(all="ignore"):
        check(getattr(xp, name)(xp.asarray(a), 3), getattr(np, name)(a, np.array(3, dtype)))
        check(
            getattr(xp, name)(xp.asarray(a), xp.asarray(a[::-1].copy()) // 5 + 6),
            getattr(np, name)(a, a[::-1] // 5 + 6),
        )


@pytest.mark.parametrize("name", COMPLEX)
def test_complex(name):
    rng = np.random.default_rng(1)
    z = (rng.standard_normal(40) + 1j * rng.standard_normal(40)).astype(np.complex64)
    check(getattr(xp, name)(xp.asarray(z)), getattr(np, name)(z), rtol=1e-4, atol=1e-5)


def layouts(x):
    """Yield views of an array (20, 24) and of its like on the device."""
    d = xp.asarray(x)
    yield x, d
    yield x.T, d.T
    yield x[::2, 1:], d[::2, 1:]
    yield x[::-1, ::-3], d[::-1, ::-3]
    yield np.broadcast_to(x[:1], x.shape), xp.broadcast_to(d[:1], x.shape)
    yield np.broadcast_to(x[:, :1], x.shape), xp.broadcast_to(d[:, :1], x.shape)
    yield x[:0], d[:0]
    yield x[3, 4], d[3, 4]
    yield x.reshape(2, 10, 3, 8).transpose(2, 0, 3, 1), d.reshape(2, 10, 3, 8).transpose(2, 0, 3, 1)


@pytest.mark.parametrize("dtype", ["?", "i4", "i8", "f2", "f4", "f8", "c8", "bfloat16"])
def test_layouts(device, dtype):
    dtype = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    x = (np.random.default_rng(2).standard_normal((20, 24)) * 4).astype(dtype)
    for a, d in layouts(x):
        assert d.shape == a.shape
        check((d == d), a == a)
        if dtype.kind in "fc":
            check(d + d * 2, (a + a * dtype.type(2)).astype(dtype), rtol=1e-2 if dtype.itemsize == 2 else 1e-6)
        check(d.astype("f4"), a.real.astype("f4"))
        check(d.copy(), np.array(a))


def test_large_arrays(device):
    x = np.random.default_rng(3).standard_normal((1000, 1003), np.float32)
    d = xp.asarray(x)
    check(d * 2 + 1, x * 2 + 1)
    check(d.T + d[0, 0], x.T + x[0, 0])
    check(d[:, ::2] - d[:, :1], x[:, ::2] - x[:, :1])


def test_chains_are_one_kernel(monkeypatch):
    launches = []
    run = pointwise.run
    monkeypatch.setattr(pointwise, "run", lambda *args: launches.append(args) or run(*args))
    x = np.random.default_rng(4).standard_normal(100, np.float32)
    check(1 / (1 + xp.exp(-xp.asarray(x))), 1 / (1 + np.exp(-x)))
    assert len(launches) == 1


def test_writes_wait_for_readers():
    a = xp.asarray(np.arange(6.0))
    double = a * 2
    twice = double + 1
    a[1:3] = 100.0
    a += 1
    check(double, np.arange(6.0) * 2)
    check(twice, np.arange(6.0) * 2 + 1)
    check(a, np.array([1.0, 101, 101, 4, 5, 6]))


def test_out_replaces_what_is_not_computed():
    a = xp.asarray(np.arange(6.0))
    t = xp.empty(6, "f8")
    xp.add(a, 1, out=t)
    before = xp.multiply(t, 10)
    xp.multiply(t, t, out=t)
    check(before, (np.arange(6.0) + 1) * 10)
    check(t, (np.arange(6.0) + 1) ** 2)


def test_overlapping_assignment():
    x = np.arange(10.0)
    a = xp.asarray(x)
    a[:] = a[::-1]
    check(a, x[::-1].copy())
    a[1:] = a[:-1]
    check(a, np.concatenate([x[::-1][:1], x[::-1][:-1]]))


def test_a_view_of_a_constant_shares_its_memory():
    a = xp.zeros((2, 3))
    a.reshape(6)[2] = 5
    check(a, np.array([[0, 0, 5.0], [0, 0, 0]]))


def test_long_chains_are_cut():
    x = np.random.default_rng(5).standard_normal(50)
    d, expected = xp.asarray(x), x
    for i in range(3 * expression.MAX_WEIGHT):
        d, expected = d * 0.5 + i, expected * 0.5 + i
    check(d, expected)


def test_expanded_memory_is_not_written():
    a = xp.broadcast_to(xp.asarray(np.ones((1, 3))), (4, 3))
    with pytest.raises(ValueError, match="read-only"):
        xp.copyto(a, 2.0)
    a[0] = 2.0  # a row alone does not overlap itself


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="could not be broadcast together"):
        xp.asarray(np.ones((2, 3))) + xp.asarray(np.ones((4, 3)))
    with pytest.raises(ValueError, match="broadcast"):
        xp.asarray(np.ones((2, 3)))[:] = xp.asarray(np.ones((4, 3)))


def test_memory_goes_back_to_the_pool():
    gc.collect()
    device = runtime.device()
    before = device.allocated
    a = xp.asarray(np.ones(1000)) + 1
    a.settle()
    assert device.allocated > before
    del a
    gc.collect()
    assert device.allocated == before


def test_promotion_is_numpys():
    a = np.arange(4, dtype=np.int8)
    for other in (2, 2.5, np.float32(2), np.int64(2), 1j, True):
        check(xp.asarray(a) * other, a * other)
