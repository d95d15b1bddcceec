"""Indexing on an OpenCL device against NumPy: over shared memory, over kernels for CPUs, over kernels for GPUs."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("pyopencl")

from opencl_forms import FORMS, device_in_form

from minitorch.backends.opencl import geometry, indexing, joining, runtime
from minitorch.backends.opencl.array import CLArray, from_host

pytestmark = pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")  # a compiler's log is no matter of ours

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
MOVED = [np.dtype(t) for t in ("?", "i1", "u1", "i2", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")] + [BFLOAT16]
SUMMED = [np.dtype(t) for t in ("i1", "u1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16")] + [BFLOAT16]


@pytest.fixture(params=FORMS)
def device(request):
    """Return the device in each form that it has kernels for."""
    return device_in_form(request.param)


def numbers(shape, dtype, seed=0):
    random = np.random.RandomState(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return random.rand(*shape) < 0.5
    if dtype.kind in "iu":
        return random.randint(0 if dtype.kind == "u" else -100, 100, shape).astype(dtype)
    x = random.randint(-64, 64, shape) / 8
    if dtype.kind == "c":
        x = x + 1j * random.randint(-64, 64, shape) / 8
    return x.astype(dtype)


def same(found: CLArray, expected) -> None:
    expected = np.asarray(expected)
    values = found.to_host()
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    if expected.dtype.kind == "V":
        values, expected = values.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_array_equal(values, expected)


def layouts(x, device):
    """Yield pairs (NumPy array, device array) of several memory layouts."""
    yield x, from_host(x, device)
    base = from_host(np.ascontiguousarray(x.T), device)
    yield x, geometry.permute(base, range(x.ndim)[::-1])
    wide = np.repeat(x, 2, axis=-1)
    yield wide[..., ::2], indexing.get_items(from_host(wide, device), (..., slice(None, None, 2)))
    yield x[..., ::-1], geometry.flip(from_host(x, device), -1)


def on_device(items, device):
    if isinstance(items, tuple):
        return tuple([from_host(i, device) if isinstance(i, np.ndarray) else i for i in items])
    return from_host(items, device) if isinstance(items, np.ndarray) else items


I1 = np.array([2, 0, -1, 2])
I2 = np.array([[1], [-2]])
M2 = np.array([[True, False, True, True], [False] * 4, [True, True, False, False]])
INDICES = [
    (0,), (slice(1, None),), (Ellipsis, -1), (None, slice(None), 1), (slice(None, None, -2), None, Ellipsis),
    I1, (I1,), (I1.astype(np.int32), I1), (I1, slice(None), I1 % 2), (slice(None), I1), (slice(None), I1, I2), (I2, I1),
    (I1, I2), (0, slice(None), I1), (slice(None), 0, I1), (I1, 1), (I1, None, I2), (None, I1, Ellipsis),
    (Ellipsis, I2), (slice(None, None, -1), I1, slice(None, None, 2)), M2, (M2,), (M2, 1), (M2, I1[:1]), (slice(None), M2[0]),
    (M2[:, 0], slice(None), I1[:2]), (M2[:, 0], I1[:2]), (np.array(True), 1), (np.array(False),), (slice(None), np.array(True)),
    np.zeros((3, 4, 5), bool), np.zeros(0, np.int64), (slice(0, 0), I1), np.array(2), (np.array(1), slice(None), I1),
    (Ellipsis, np.zeros((2, 0), np.int64)), (I1[None, :, None], I2[:, None]), (slice(None), I1, Ellipsis, I2[:, :1]),
]


@pytest.mark.parametrize("items", INDICES, ids=range(len(INDICES)))
def test_get_and_set_as_numpy(device, items):
    x = numbers((3, 4, 5), np.float32)
    for host, array in layouts(x, device):
        expected = host[items]
        same(indexing.get_items(array, on_device(items, device)), expected)
        value = numbers(expected.shape, np.float32, 1)
        chosen = np.arange(x.size).reshape(x.shape)[items]
        if not device.is_cpu and np.unique(chosen).size < chosen.size:
            value = value.reshape(-1)[:1].reshape(())  # on GPUs any of several values may stay
        for v in (value, np.float32(7), value[..., :1] if value.ndim else value):
            wanted, target = host.copy(), joining.concatenate([array])
            wanted[items] = v
            indexing.set_items(target, on_device(items, device), from_host(np.asarray(v), device))
            same(target, wanted)
    view = geometry.flip(from_host(x, device), 1)
    wanted = x.copy()
    wanted[:, ::-1][items] = 3
    indexing.set_items(view, on_device(items, device), 3)
    same(geometry.flip(view, 1), wanted)


@pytest.mark.parametrize("dtype", MOVED, ids=str)
def test_all_dtypes_move(device, dtype):
    x = numbers((6, 5), dtype)
    array = from_host(x, device)
    same(indexing.get_items(array, from_host(I1, device)), x[I1])
    same(indexing.take(array, from_host(I2, device)), x.reshape(-1)[I2])
    wanted, value = x.copy(), numbers((4, 5), dtype, 3)
    wanted[[2, 0, 5, 3]] = value
    indexing.set_items(array, [2, 0, 5, 3], from_host(value, device))
    same(array, wanted)


@pytest.mark.parametrize("dtype", SUMMED, ids=str)
@pytest.mark.parametrize("op", ["add", "multiply", "maximum", "minimum"])
def test_at_as_numpy(device, dtype, op):
    if dtype.kind == "c" and (op != "add" or dtype.itemsize == 16) and op in ("maximum", "minimum"):
        pytest.skip("no order")
    base = numbers((6, 40), dtype)
    wide = np.dtype(np.float32) if dtype.kind == "V" or dtype == np.float16 else dtype
    for items, shape in (
        ((np.array([1, 1, -1, 3, 1]),), (5, 40)), ((slice(None), np.array([[3, 3, 0, -40, 3]])), (6, 1, 5)),
        ((np.array([[0], [0]]), np.array([3, 3, 5])), (2, 3)),
    ):  # fmt: skip
        value = numbers(shape, dtype, 5)
        if op == "multiply" and dtype.kind in "fVc":
            value = np.where(value.astype(wide) > 0, 2, 0.5).astype(dtype)
        wanted = base.astype(wide)
        getattr(np, op).at(wanted, items, value.astype(wide))
        array = from_host(base, device)
        indexing.ufunc_at(op, array, on_device(items, device), from_host(value, device))
        same(array, wanted.astype(dtype))
        scalar = base.astype(wide)
        getattr(np, op).at(scalar, items, value.reshape(-1)[0].astype(wide))
        array = from_host(base, device)
        indexing.ufunc_at(op, array, on_device(items, device), value.reshape(-1)[0])
        same(array, scalar.astype(dtype))


def test_sums_do_not_depend_on_threads():
    """On CPU devices work-items own what they write: the same order of sums every time, that of NumPy."""
    device = runtime.device()
    if not device.is_cpu:
        pytest.skip("GPUs add atomically")
    index = np.random.RandomState(0).randint(0, 100, 100_000)
    value = np.random.RandomState(1).randn(100_000).astype(np.float32)
    wanted = np.zeros(100, np.float32)
    np.add.at(wanted, index, value)
    array = from_host(np.zeros(100, np.float32))
    indexing.add_at(array, from_host(index), from_host(value))
    same(array, wanted)


def test_large(device):
    random = np.random.RandomState(0)
    x = random.randn(1_000_000).astype(np.float32)
    index = random.randint(-1_000_000, 1_000_000, 1_000_000)
    array, positions = from_host(x, device), from_host(index, device)
    same(indexing.take(array, positions), x[index])
    same(indexing.get_items(array, from_host(x > 0, device)), x[x > 0])
    same(indexing.flatnonzero(from_host(x > 1, device)), np.flatnonzero(x > 1))
    rows, chosen = random.randint(-8, 8, (16384, 128)).astype(np.float32), random.randint(0, 1000, 16384)
    wanted = np.zeros((1000, 128), np.float32)
    np.add.at(wanted, chosen, rows)
    target = from_host(np.zeros((1000, 128), np.float32), device)
    indexing.add_at(target, from_host(chosen, device), from_host(rows, device))
    same(target, wanted)
    if device.is_cpu:
        last = from_host(np.zeros(1000, np.int64), device)
        wanted = np.zeros(1000, np.int64)
        wanted[chosen] = np.arange(16384)
        indexing.set_items(last, from_host(chosen, device), from_host(np.arange(16384), device))
        same(last, wanted)


@pytest.mark.parametrize("rows", [63, 64, 333, 1000, 5001])
def test_numbers_of_rows(device, rows):
    """Rows are done in groups; the last group may have fewer than it has work-items for."""
    x = numbers((rows, 5, 37), np.float32)
    array = from_host(x, device)
    order = np.random.RandomState(0).permutation(rows)
    same(indexing.take(array, from_host(order, device), 0), x[order])
    swapped = x.transpose(1, 0, 2)
    same(indexing.take(geometry.permute(array, (1, 0, 2)), from_host(order, device), 1), swapped[:, order])
    wanted = x.copy()
    np.add.at(wanted, (slice(None), [1, 1, 4]), 2)
    indexing.add_at(array, (slice(None), from_host(np.array([1, 1, 4]), device)), 2)
    same(array, wanted)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, None])
def test_take(device, axis):
    x = numbers((3, 4, 5), np.float32)
    for host, array in layouts(x, device):
        for index in (np.array([0, 2, -1]), np.array([[1], [2]]), np.array(1), np.zeros((0, 2), np.int64), [0, 1], 2):
            same(indexing.take(array, on_device(index, device), axis), host.take(index, axis))
        same(indexing.take(array, [7, -9], axis, mode="wrap"), host.take([7, -9], axis, mode="wrap"))
        same(indexing.take(array, [7, -9], axis, mode="clip"), host.take([7, -9], axis, mode="clip"))


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_along_axis(device, axis):
    x = numbers((4, 6), np.float32)
    for host, array in layouts(x, device):
        order = np.argsort(host, axis)[:3] if axis != 0 else np.argsort(host, 0)[:2]
        if axis is None:
            order = np.array([3, 0, -1])
        same(indexing.take_along_axis(array, from_host(order, device), axis), np.take_along_axis(host, order, axis)) if (
            order.shape[0] == 4 or axis in (0, None)
        ) else None
        full = np.argsort(host, axis)
        wanted, target = host.copy(), joining.concatenate([array])
        values = numbers(full.shape, np.float32, 2)
        np.put_along_axis(wanted, full, values, axis)
        indexing.put_along_axis(target, from_host(full, device), from_host(values, device), axis)
        same(target, wanted)
    one = np.argmax(x, 1)[:, None]
    same(indexing.take_along_axis(from_host(x, device), from_host(one, device), 1), np.take_along_axis(x, one, 1))


def test_out_of_bounds(device):
    array = from_host(numbers((3, 5), np.float32), device)
    before = array.to_host()
    bad = from_host(np.array([0, 7]), device)
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension 1 with size 5"):
        indexing.get_items(array, (slice(None), bad))
    with pytest.raises(IndexError, match="index -4 is out of bounds for dimension 0 with size 3"):
        indexing.take(array, from_host(np.array([-4]), device), 0)
    with pytest.raises(IndexError, match="index 7"):
        indexing.set_items(array, (slice(None), bad), 1)
    with pytest.raises(IndexError, match="index 7"):
        indexing.add_at(array, (slice(None), bad), 1)
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        indexing.get_items(array, 3)
    with pytest.raises(IndexError, match="too many indices"):
        indexing.get_items(array, (0, 0, 0))
    with pytest.raises(IndexError, match="boolean index did not match"):
        indexing.get_items(array, from_host(np.ones((3, 4), bool), device))
    with pytest.raises(IndexError):
        indexing.get_items(array, from_host(np.ones(2, np.float32), device))
    with pytest.raises(IndexError, match="shape mismatch"):
        indexing.get_items(array, (from_host(np.arange(2), device), from_host(np.arange(3), device)))
    with pytest.raises(ValueError, match="could not broadcast"):
        indexing.set_items(array, from_host(np.arange(2), device), from_host(np.ones(3), device))
    same(array, before)


def test_operands_in_the_memory_written_to(device):
    x = np.arange(10)
    array, wanted = from_host(x, device), x.copy()
    wanted[wanted[::-1].copy()] = wanted.copy() * 2
    indexing.set_items(array, geometry.flip(array), indexing.get_items(array, slice(None)))
    expected = x.copy()
    expected[x[::-1]] = x
    same(array, expected)
    array = from_host(x, device)
    indexing.add_at(array, array, array)
    same(array, x * 2)


@pytest.mark.parametrize("dtype", ["?", "i4", "f4", "c8", BFLOAT16], ids=str)
def test_nonzero(device, dtype):
    x = numbers((4, 6), dtype)
    x[x == numbers((4, 6), dtype, 9)] = 0
    for host, array in layouts(x, device):
        for found, expected in zip(indexing.nonzero(array), host.nonzero(), strict=True):
            same(found, expected)
        same(indexing.flatnonzero(array), np.flatnonzero(host))
        same(indexing.argwhere(array), np.argwhere(host))
        same(indexing.compress(host[:, 0] != 0, array, 0), host.compress(host[:, 0] != 0, 0))
        same(indexing.extract(array, array), host[host != 0])
    assert indexing.argwhere(from_host(np.float32(3), device)).shape == (1, 0)
    assert [p.shape for p in indexing.nonzero(from_host(np.zeros((0, 2)), device))] == [(0,), (0,)]
    mask = np.arange(20000) % 7 == 3
    same(indexing.flatnonzero(from_host(mask, device)), np.flatnonzero(mask))


def test_putmask(device):
    x = numbers((4, 6), np.float32)
    for values in (np.float32(2), numbers((4, 6), np.float32, 1), np.array([1, 2, 3, 4, 5], np.float32)):
        wanted, array = x.copy(), from_host(x, device)
        np.putmask(wanted, x > 0, values)
        indexing.putmask(array, from_host(x > 0, device), from_host(values, device) if values.ndim else float(values))
        same(array, wanted)


def test_bincount(device):
    x = np.random.RandomState(0).randint(0, 50, 20000)
    same(indexing.bincount(from_host(x, device)), np.bincount(x))
    same(indexing.bincount(from_host(x.astype(np.uint8), device), minlength=70), np.bincount(x, minlength=70))
    weights = numbers((20000,), np.float32)
    same(indexing.bincount(from_host(x, device), from_host(weights, device)), np.bincount(x, weights))
    same(indexing.bincount(from_host(x[:0], device), minlength=3), np.bincount(x[:0], minlength=3))
    with pytest.raises(ValueError, match="negative"):
        indexing.bincount(from_host(-x - 1, device))


def test_unravel_index(device):
    flat = np.array([[0, 7], [23, 11]])
    expected = np.unravel_index(flat, (2, 3, 4))
    for found, part in zip(indexing.unravel_index(from_host(flat, device), (2, 3, 4)), expected, strict=True):
        same(found, part)
    with pytest.raises(ValueError, match="24"):
        indexing.unravel_index(from_host(flat + 1, device), (2, 3, 4))


# ---------------------------------------------------------------- views


def test_views(device):
    x = numbers((2, 3, 4, 5), np.float32)
    for host, array in layouts(x, device):
        same(geometry.moveaxis(array, 0, -1), np.moveaxis(host, 0, -1))
        same(geometry.moveaxis(array, (0, 2), (1, 0)), np.moveaxis(host, (0, 2), (1, 0)))
        same(geometry.swapaxes(array, 1, -1), np.swapaxes(host, 1, -1))
        same(geometry.expand_dims(array, (0, -1)), np.expand_dims(host, (0, -1)))
        same(geometry.flip(array, (0, 2)), np.flip(host, (0, 2)))
        same(geometry.flip(array), np.flip(host))
        same(geometry.broadcast_to(array, (3, 2, 3, 4, 5)), np.broadcast_to(host, (3, 2, 3, 4, 5)))
        for offset in (0, 1, -2, 9, -9):
            same(geometry.diagonal(array, offset, 1, -1), np.diagonal(host, offset, 1, -1))
        for shape in ((-1,), (6, 20), (2, 3, 20), (2, 3, 2, 2, 5), (1, 6, 1, 4, 5, 1), (120, 1)):
            same(geometry.reshape(array, shape), host.reshape(shape))
        assert geometry.diagonal(array).block is array.block
        assert geometry.reshape(array, (1, 2, 3, 1, 4, 5)).block is array.block
    assert geometry.reshape(from_host(np.zeros((0, 3)), device), (3, -1)).shape == (3, 0)
    with pytest.raises(ValueError, match="cannot reshape"):
        geometry.reshape(array, (7, -1))


# ---------------------------------------------------------------- joining


@pytest.mark.parametrize("dtype", MOVED, ids=str)
def test_joining(device, dtype):
    x, y = numbers((2, 3, 4), dtype), numbers((2, 1, 4), dtype, 1)
    a, b = from_host(x, device), from_host(y, device)
    same(joining.concatenate([a, b, a], 1), np.concatenate([x, y, x], 1))
    same(joining.concatenate([a, b], None), np.concatenate([x, y], None))
    same(joining.stack([a, a], -1), np.stack([x, x], -1))
    same(joining.append(a, b), np.append(x, y))
    same(joining.tile(a, (2, 1, 3, 2)), np.tile(x, (2, 1, 3, 2)))
    same(joining.repeat(a, 3, 1), np.repeat(x, 3, 1))
    same(joining.repeat(a, 2), np.repeat(x, 2))
    same(joining.repeat(a, from_host(np.array([2, 0, 1]), device), 1), np.repeat(x, [2, 0, 1], 1))
    same(joining.roll(a, 3), np.roll(x, 3))
    same(joining.roll(a, (1, -2), (0, 2)), np.roll(x, (1, -2), (0, 2)))
    same(joining.roll(a, 5, 1), np.roll(x, 5, 1))
    for k in (0, 1, -2, 7):
        same(joining.tril(a, k), np.tril(x, k))
        same(joining.triu(geometry.permute(a, (0, 2, 1)), k), np.triu(x.transpose(0, 2, 1), k))
    if dtype.kind not in "u":
        same(joining.diff(a), np.diff(x))
        same(joining.diff(a, 2, 1), np.diff(x, 2, 1))
    for k in range(-1, 4):
        same(joining.rot90(a, k, (1, 2)), np.rot90(x, k, (1, 2)))
    same(joining.eye(3, 4, 1, dtype, device), np.eye(3, 4, 1, dtype))


def test_joining_of_other_dtypes_and_empty(device):
    x, y = numbers((2, 3), np.float32), numbers((2, 3), np.int64)
    same(joining.concatenate([from_host(x, device), from_host(y, device)]), np.concatenate([x, y]))
    same(joining.concatenate([from_host(x, device), from_host(x[:0], device)]), x)
    same(joining.roll(from_host(x[:0], device), 1, 0), x[:0])
    with pytest.raises(ValueError, match="must match exactly"):
        joining.concatenate([from_host(x, device), from_host(x[:, :1], device)])
    with pytest.raises(ValueError, match="negative"):
        joining.repeat(from_host(x, device), from_host(np.array([1, -1]), device), 0)
    large = np.arange(30000)
    counts = large % 4
    same(joining.repeat(from_host(large, device), from_host(counts, device), 0), np.repeat(large, counts))


@pytest.mark.parametrize(
    "args",
    [(5,), (2, 9), (0, 10, 3), (10, 0, -3), (0.0, 1.0, 0.1), (1, 2, 0.3), (5, 2), (-3.5, 70000, 0.7), (0, 100000), (0.1, 5)],
    ids=str,
)
@pytest.mark.parametrize("dtype", [None, "f2", "f4", "f8", "i4", "i8", "u1"])
def test_arange_is_exact(device, args, dtype):
    if (dtype in ("f2", "u1") and max(args) > 1000) or (dtype == "u1" and args[0] < 0):
        pytest.skip("not in range")
    same(joining.arange(*args, dtype=dtype, device=device), np.arange(*args, dtype=dtype))


def test_linspace_and_triangles():
    same(joining.linspace(0, 1, 7), np.linspace(0, 1, 7))
    same(joining.linspace(-1, 2, 9, False, dtype=np.float32), np.linspace(-1, 2, 9, False, dtype=np.float32))
    for found, expected in zip(joining.tril_indices(4, 1, 5), np.tril_indices(4, 1, 5), strict=True):
        same(found, expected)
