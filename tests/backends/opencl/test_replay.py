"""Traced operators: the second call does what the first did, on other memory, and only pure calls are kept."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch as mt
from minitorch.backends.opencl import replay
from minitorch.backends.opencl.namespace import xp


def counted(fn):
    calls = []

    def kernel(xp, *args, **kwargs):
        calls.append(args)
        return fn(xp, *args, **kwargs)

    return replay.traced(kernel), calls


def arrays(n, *shape):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape, np.float32) for _ in range(n)]


def test_a_chain_is_replayed():
    kernel, calls = counted(lambda xp, a, b, s=1.0: xp.tanh(a) * b + s)
    for x, y in (arrays(2, 5, 6), arrays(2, 5, 6), arrays(2, 7)):
        np.testing.assert_allclose(
            kernel(xp, xp.asarray(x), xp.asarray(y), 2.0).to_host(), np.tanh(x) * y + 2, rtol=1e-5
        )
    assert len(calls) == 2  # one for each shape


def test_numbers_are_part_of_the_kind():
    kernel, calls = counted(lambda xp, a, s: a * s)
    x = xp.asarray(np.arange(3.0))
    for s in (2.0, 3.0, 2.0, 2):
        assert kernel(xp, x, s).to_host().tolist() == [0, s, 2 * s]
    assert len(calls) == 3  # 2.0, 3.0 and the integer


def test_views_of_operands():
    kernel, calls = counted(lambda xp, a: a[1:] - a[:-1])
    for x in (arrays(1, 9)[0], arrays(1, 9)[0] * 3):
        np.testing.assert_array_equal(kernel(xp, xp.asarray(x)).to_host(), np.diff(x))
        big = xp.asarray(np.concatenate([x, x + 1]))
        np.testing.assert_array_equal(kernel(xp, big[9:]).to_host(), np.diff(x + 1))
    assert len(calls) == 1


def test_a_result_that_is_part_of_larger_memory():
    def fn(xp, a):
        memory = xp.empty((a.shape[0], 2 * a.shape[1]), a.dtype)
        part = memory[:, ::2]
        part[...] = a + 1
        return part

    kernel, _ = counted(fn)
    for _ in range(3):
        (x,) = arrays(1, 4, 300)
        np.testing.assert_array_equal(kernel(xp, xp.asarray(x)).to_host(), x + 1)


def test_what_is_written_is_written_again():
    def fn(xp, target, value):
        xp.add(target, value, out=target)
        return target

    kernel, calls = counted(fn)
    for _ in range(2):
        a = xp.asarray(np.zeros(4))
        assert kernel(xp, a, xp.asarray(np.arange(4.0))) is a
        assert a.to_host().tolist() == [0, 1, 2, 3]
    assert len(calls) == 1


def test_calls_that_look_at_values_are_not_kept():
    kernel, calls = counted(lambda xp, a: a * 2 if float(a[0]) > 0 else a * 3)
    for first in (1.0, -1.0, 1.0):
        x = np.array([first, 5.0])
        assert kernel(xp, xp.asarray(x)).to_host().tolist() == (x * (2 if first > 0 else 3)).tolist()
    assert len(calls) == 3


def test_operands_that_share_memory_are_not_kept():
    kernel, calls = counted(lambda xp, a, b: a * 2 + b)
    x = np.arange(8.0)
    d = xp.asarray(x)
    for _ in range(2):
        assert kernel(xp, d[:4], d[4:]).to_host().tolist() == (x[:4] * 2 + x[4:]).tolist()
    assert len(calls) == 2


def test_errors_leave_nothing_behind():
    def fn(xp, a):
        raise ValueError("no")

    kernel, _ = counted(fn)
    a = xp.asarray(np.ones(3))
    with pytest.raises(ValueError, match="no"):
        kernel(xp, a)
    assert a.device.recorder is None


def test_operators_are_traced():
    x = mt.randn(6, 5)
    d = x.to("opencl")
    for _ in range(3):
        assert mt.allclose(mt.nn.functional.silu(d).cpu(), mt.nn.functional.silu(x), atol=1e-6)
        assert mt.allclose(mt.addcmul(d, d.T.T, d * 1, value=2).cpu(), mt.addcmul(x, x, x, value=2), atol=1e-6)
        y = d.clone()
        y.add_(d, alpha=3)
        y.mul_(2)
        assert mt.allclose(y.cpu(), x * 8, atol=1e-5)
