"""Sorting, searching and sets on an OpenCL device against NumPy: by NumPy over shared memory, and by kernels."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("pyopencl")

from opencl_forms import device_in_form

from minitorch.backends.opencl import geometry, sorting
from minitorch.backends.opencl.array import from_host

pytestmark = pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(t) for t in ("?", "i1", "u1", "i4", "i8", "f2", "f4", "f8", "c8")] + [BFLOAT16]


@pytest.fixture(params=("shared", "gpu"))
def device(request):
    """Return the device in each form that it has kernels for."""
    return device_in_form(request.param)


def numbers(shape, dtype, seed=0):
    random = np.random.RandomState(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "biu":
        return random.randint(0, 2 if dtype.kind == "b" else 40, shape).astype(dtype)
    x = random.randint(-20, 20, shape) / 4
    if dtype.kind == "c":
        x = x + 1j * random.randint(-3, 3, shape)
    x = x.astype(dtype)
    flat = x.reshape(-1)
    if flat.size > 8:
        flat[[1, 5]] = np.nan
        flat[[2, 7]] = np.inf
        flat[3] = -0.0
        if dtype.kind == "c":
            flat[6], flat[8] = complex(np.nan, 1), complex(1, np.nan)
    return x


def wide(x):
    return x.astype(np.float32) if x.dtype.kind == "V" else x


def same(found, expected):
    values = found.to_host()
    assert found.shape == np.shape(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(wide(values), wide(expected))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sort(device, dtype):
    for shape in ((7,), (5, 33), (3, 4, 100)):
        x = numbers(shape, dtype)
        for host, array in (
            (x, from_host(x, device)), (x[..., ::-1], geometry.flip(from_host(x, device), -1)),
            (x.T, geometry.permute(from_host(x, device), range(x.ndim)[::-1])),
        ):  # fmt: skip
            for axis in {0, -1, None}:
                order = np.argsort(wide(host), axis, kind="stable")
                same(sorting.argsort(array, axis, kind="stable"), order)
                expected = np.take_along_axis(host if axis is not None else host.reshape(-1), order, -1 if axis is None else axis)
                same(sorting.sort(array, axis), expected)
                if axis is not None:
                    turned = np.flip(np.argsort(np.flip(wide(host), axis), axis, kind="stable"), axis)
                    same(sorting.order_of(array, axis, descending=True), host.shape[axis] - 1 - turned)
            third = np.sort(wide(host), -1)[..., 2]
            found = sorting.argpartition(array, 2, -1).to_host()
            np.testing.assert_array_equal(np.take_along_axis(wide(host), found, -1)[..., 2], third)
            np.testing.assert_array_equal(wide(sorting.partition(array, 2, -1).to_host())[..., 2], third)
    for shape in ((0,), (0, 3), (3, 0), (1,), ()):
        x = numbers(shape, dtype)
        if x.ndim:
            same(sorting.sort(from_host(x, device)), np.sort(x))
        same(sorting.argsort(from_host(x, device)), np.argsort(wide(x)))


def test_large_and_stable(device):
    x = np.random.RandomState(0).randint(0, 1000, 100_000).astype(np.float32)
    same(sorting.argsort(from_host(x, device), stable=True), np.argsort(x, stable=True))
    same(sorting.sort(from_host(x, device)), np.sort(x))


def test_lexsort(device):
    a, b, c = (numbers((200,), t, k) for k, t in enumerate(("i4", "f4", "u1")))
    same(sorting.lexsort([from_host(k, device) for k in (a, b, c)]), np.lexsort((a, b, c)))
    keys = numbers((3, 4, 20), np.int64)
    same(sorting.lexsort(from_host(keys, device)), np.lexsort(keys))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_searchsorted(device, dtype):
    row, values = np.sort(wide(numbers((100,), dtype))).astype(dtype), numbers((20, 30), dtype, 3)
    for side in ("left", "right"):
        same(
            sorting.searchsorted(from_host(row, device), from_host(values, device), side),
            np.searchsorted(wide(row), wide(values), side),
        )
    order = np.random.RandomState(0).permutation(100)
    sorter = np.argsort(wide(row[order]), kind="stable")
    same(
        sorting.searchsorted(from_host(row[order], device), from_host(values[::2].T, device), "left", from_host(sorter, device)),
        np.searchsorted(wide(row[order]), wide(values[::2].T), "left", sorter),
    )
    same(sorting.searchsorted(from_host(row[:0], device), from_host(values, device)), np.zeros(values.shape, np.int64))
    rows = np.sort(numbers((4, 9), np.float32), 1)
    found = sorting.search_rows(from_host(rows, device), from_host(numbers((4, 5), np.int32), device), True)
    same(found, np.stack([np.searchsorted(r, v, "right") for r, v in zip(rows, numbers((4, 5), np.int32), strict=True)]))
    bins = np.array([0.0, 1.0, 2.5])
    same(sorting.digitize(from_host(rows, device), from_host(bins, device)), np.digitize(rows, bins))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_unique(device, dtype):
    for shape in ((30, 20), (7,), (0,), ()):
        x = numbers(shape, dtype)
        found = sorting.unique(from_host(x, device), return_index=True, return_inverse=True, return_counts=True)
        expected = np.unique(wide(x), return_index=True, return_inverse=True, return_counts=True)
        for one, other in zip(found, expected, strict=True):
            same(one, other.astype(dtype) if other is expected[0] else other)
        same(sorting.unique(from_host(x, device)), expected[0].astype(dtype))
        same(
            sorting.unique(from_host(x, device), equal_nan=False), np.unique(wide(x), equal_nan=False).astype(dtype)
        )


@pytest.mark.parametrize("axis", [0, 1])
def test_unique_slices(device, axis):
    x = np.random.RandomState(0).randint(0, 2, (20, 4))
    found = sorting.unique(from_host(x, device), True, True, True, axis)
    for one, other in zip(found, np.unique(x, True, True, True, axis), strict=True):
        same(one, other)


@pytest.mark.parametrize("invert", [False, True])
def test_isin(device, invert):
    x, tests = numbers((20, 30), np.float32), numbers((9,), np.int32, 2)
    same(sorting.isin(from_host(x, device), from_host(tests, device), invert=invert), np.isin(x, tests, invert=invert))
    same(sorting.isin(from_host(x, device), [], invert=invert), np.isin(x, [], invert=invert))
