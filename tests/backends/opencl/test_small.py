"""A small slice of the kernels, sized for a simulator that checks each access of memory (.ci/oclgrind).

On an ordinary device the results alone are compared.  The simulated device says that it is a GPU with memory
of its own, so that what runs there are the kernels for GPUs, and copies.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from minitorch.backends.opencl.array import from_host
from minitorch.backends.opencl.namespace import xp

pytestmark = pytest.mark.oclgrind
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def numbers(*shape, dtype=np.float32):
    """Return small whole numbers, which every dtype holds exactly."""
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 11 - 3).astype(dtype)


def agree(ours, expected, **tolerance):
    got = ours.to_host()
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    if got.dtype.kind in "biu":
        np.testing.assert_array_equal(got, expected)
    else:
        kind = np.complex128 if got.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(got.astype(kind), expected.astype(kind), **(tolerance or {"rtol": 1e-6}))


@pytest.mark.parametrize("n", [1, 15, 16, 17, 100])
def test_runs_and_their_tails(n):
    a, b = numbers(n), numbers(n)[::-1].copy()
    x, y = from_host(a), from_host(b)
    agree(x + y * x, a + b * a)
    agree(xp.exp(x), np.exp(a))


@pytest.mark.parametrize(
    ("left", "right"), [((5, 7), (7,)), ((5, 7), (5, 1)), ((3, 1, 20), (4, 1)), ((2, 3, 4), ()), ((1,), (6, 2))], ids=str
)
def test_broadcasting(left, right):
    a, b = numbers(*left), numbers(*right) + 5
    agree(from_host(a) - from_host(b), a - b)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.T, lambda a: a[::-1, ::2], lambda a: a[:, 3], lambda a: a[1:, 1:].T, lambda a: a[2:2],
        lambda a: a[None, :, None],
    ],
    ids=["transposed", "backwards", "column", "offset", "empty", "new axes"],
)  # fmt: skip
def test_views(view):
    a = numbers(6, 20)
    x = view(from_host(a))
    agree(x + x, view(a) + view(a))
    agree(x.copy(), view(a).copy())


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.int64, np.float16, BFLOAT16, np.float64, np.complex64])
def test_dtypes(dtype):
    a = numbers(37).astype(dtype)
    x = from_host(a)
    agree(xp.add(x, x), np.add(a, a))
    agree(x.astype(np.float32), a.astype(np.float32) if a.dtype.kind != "c" else a.real.astype(np.float32))
    agree(xp.equal(x, x), np.equal(a, a))


def test_writing_into_a_view():
    a = numbers(8, 9)
    x = from_host(a)
    x[1:7:2, ::-3] = from_host(numbers(3))
    a[1:7:2, ::-3] = numbers(3)
    agree(x, a)
    x += x
    agree(x, a + a)


@pytest.mark.parametrize(
    ("left", "right"), [((3, 5), (5, 4)), ((17, 33), (33, 18)), ((2, 3, 5), (5, 2)), ((4, 1, 2, 3), (5, 3, 2)), ((7,), (7, 3))],
    ids=str,
)  # fmt: skip
def test_matrix_products(left, right):
    a, b = numbers(*left), numbers(*right)
    agree(xp.matmul(from_host(a), from_host(b)), np.matmul(a, b))
    columns = np.swapaxes(b, -1, -2).copy()
    agree(xp.matmul(from_host(a), from_host(columns).swapaxes(-1, -2)), np.matmul(a, b))


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2), (1, 2)], ids=str)
@pytest.mark.parametrize("name", ["sum", "max", "min", "argmax", "any"])
def test_reductions(name, axis):
    if name == "argmax" and isinstance(axis, tuple):
        return
    a = numbers(3, 5, 18)
    reduce = getattr(xp, name)
    agree(reduce(from_host(a), axis=axis), np.asarray(getattr(np, name)(a, axis=axis)))
    view = from_host(a).transpose((2, 0, 1))[::-1]
    agree(reduce(view, axis=axis), np.asarray(getattr(np, name)(a.transpose(2, 0, 1)[::-1], axis=axis)))


@pytest.mark.parametrize("axis", [0, 1], ids=str)
@pytest.mark.parametrize("name", ["cumsum", "sort", "argsort"])
def test_along_an_axis(name, axis):
    along = getattr(xp, name)
    a = np.random.default_rng(0).permutation(6 * 19).reshape(6, 19).astype(np.float32)
    agree(along(from_host(a), axis=axis), getattr(np, name)(a, axis=axis))


def test_gather_and_scatter():
    a, index = numbers(9, 5), np.array([8, 0, -1, 3, 3])
    agree(xp.take(from_host(a), from_host(index), axis=0), np.take(a, index, axis=0))
    x = from_host(a)
    agree(x[from_host(index)], a[index])
