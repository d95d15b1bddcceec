"""Matrix products of the OpenCL backend: every kernel form, and BLAS on shared memory, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from minitorch.backends.opencl import linalg, runtime
from minitorch.backends.opencl.namespace import xp

SHAPES = [
    ((3, 4), (4, 5)),
    ((33, 70), (70, 35)),
    ((2, 1, 9, 40), (3, 40, 33)),
    ((40,), (40,)),
    ((5, 40), (40,)),
    ((40,), (40, 7)),
    ((64, 64), (64, 64)),
    ((4, 0), (0, 3)),
    ((0, 4), (4, 3)),
    ((5, 2, 3, 4), (5, 2, 4, 3)),
]


def numbers(rng, shape, dtype):
    x = rng.standard_normal(shape) * 3
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def turned(x):
    """Return the array on the device, column-major in its last two dimensions."""
    return xp.asarray(x.swapaxes(-1, -2).copy()).swapaxes(-1, -2) if x.ndim > 1 else xp.asarray(x)


@pytest.fixture(params=["kernels", "gpu kernels", "host"])
def form(request, monkeypatch):
    device = runtime.device()
    if request.param == "host":
        if not device.unified:
            pytest.skip("the device has memory of its own")
        monkeypatch.setattr(linalg, "HOST_FROM", 0)
    else:
        monkeypatch.setattr(linalg, "HOST_FROM", 1 << 60)
        monkeypatch.setattr(device, "is_cpu", request.param == "kernels")
    return request.param


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "c8", "f2"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_matmul(form, shapes, dtype):
    rng = np.random.default_rng(0)
    a, b = (numbers(rng, s, dtype) for s in shapes)
    wide = np.float32 if dtype == "f2" else dtype
    expected = np.matmul(a.astype(wide), b.astype(wide)).astype(dtype)
    tolerance = {"rtol": 2e-2, "atol": 0.1} if dtype == "f2" else {"rtol": 1e-4, "atol": 2e-3}
    for left in (xp.asarray(a), turned(a)):
        for right in (xp.asarray(b), turned(b)):
            result = xp.matmul(left, right).to_host()
            assert result.dtype == expected.dtype
            assert result.shape == expected.shape
            np.testing.assert_allclose(result, expected, **tolerance)


def test_out_with_strides(form):
    rng = np.random.default_rng(1)
    a, b = numbers(rng, (33, 40), "f4"), numbers(rng, (40, 50), "f4")
    memory = xp.zeros((50, 33), "f4")
    out = memory.T
    assert xp.matmul(xp.asarray(a), xp.asarray(b), out=out) is out
    np.testing.assert_allclose(memory.to_host(), (a @ b).T, rtol=1e-4, atol=1e-4)


def test_out_that_is_an_operand(form):
    rng = np.random.default_rng(2)
    a = numbers(rng, (20, 20), "f4")
    x = xp.asarray(a)
    xp.matmul(x, x, out=x)
    np.testing.assert_allclose(x.to_host(), a @ a, rtol=1e-4, atol=1e-4)


def test_sizes_that_do_not_fit():
    with pytest.raises(ValueError, match="the sizes 3 and 4 differ"):
        xp.matmul(xp.zeros((2, 3)), xp.zeros((4, 2)))


def test_tensordot_and_einsum():
    rng = np.random.default_rng(3)
    a, b = numbers(rng, (3, 4, 5), "f4"), numbers(rng, (5, 4, 2), "f4")
    np.testing.assert_allclose(
        xp.tensordot(xp.asarray(a), xp.asarray(b), ([1, 2], [1, 0])).to_host(),
        np.tensordot(a, b, ([1, 2], [1, 0])),
        rtol=1e-4,
    )
    for text in ("ijk,kjl->il", "ijk,kjl->l", "...k,kjl->...jl"):
        expected = np.einsum(text, a, b)
        np.testing.assert_allclose(
            xp.einsum(text, xp.asarray(a), xp.asarray(b)).to_host(), expected, rtol=1e-4, atol=1e-4
        )
    square = numbers(rng, (4, 4), "f4")
    np.testing.assert_allclose(xp.einsum("ii->i", xp.asarray(square)).to_host(), np.diagonal(square))
