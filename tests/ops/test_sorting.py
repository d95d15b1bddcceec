"""Sorting, searching and counting: edge rules with literal expectations."""

import math

import numpy as np
import pytest

import minitorch as mt

NAN, INF = math.nan, math.inf


def same(tensor, expected, dtype=None):
    """Assert values (NaN equal to NaN) and, if given, the dtype."""
    if dtype is not None:
        assert tensor.dtype is dtype
    np.testing.assert_array_equal(tensor.detach().numpy(), np.asarray(expected))


@pytest.mark.parametrize("dtype", [mt.float32, mt.float64, mt.bfloat16, mt.float16])
def test_nan_sorts_as_the_largest(dtype):
    x = mt.tensor([3.0, NAN, -INF, INF, 1.0], dtype=dtype)
    values, indices = x.sort()
    same(values.float(), [-INF, 1, 3, INF, NAN])
    same(indices, [2, 4, 0, 3, 1])
    same(x.sort(descending=True).indices, [1, 3, 0, 4, 2])
    same(x.topk(2).indices, [1, 3])
    same(x.topk(2, largest=False).indices, [2, 4])


@pytest.mark.parametrize("descending", [False, True])
def test_stable_sort_keeps_the_order_of_equals(descending):
    keys = np.random.default_rng(0).integers(0, 5, 2000)
    _, indices = mt.from_numpy(keys).sort(stable=True, descending=descending)
    expected = np.argsort(-keys if descending else keys, kind="stable")
    same(indices, expected)


@pytest.mark.parametrize("shape", [(7,), (40, 50), (3, 700)])
@pytest.mark.parametrize("dim", [0, -1])
def test_indices_select_the_values(shape, dim):
    x = mt.from_numpy(np.random.default_rng(1).standard_normal(shape))
    for values, indices in (x.sort(dim), x.sort(dim, descending=True), x.topk(3, dim)):
        same(x.gather(dim, indices), values.numpy())
    same(x.sort(dim).values, np.sort(x.numpy(), dim))
    same(x.argsort(dim), np.argsort(x.numpy(), dim))


def test_sort_keeps_the_layout():
    x = mt.ones(3, 4).t()
    assert x.sort(0).values.stride() == (1, 4)
    assert x.argsort().stride() == (1, 4)
    assert x.topk(2).values.is_contiguous()


def test_sort_errors():
    with pytest.raises(RuntimeError, match="out of range"):
        mt.ones(3).topk(4)
    with pytest.raises(NotImplementedError, match="complex"):
        mt.ones(3, dtype=mt.complex64).sort()
    with pytest.raises(IndexError):
        mt.ones(3).sort(1)


def test_unique():
    x = mt.tensor([[3, 1], [3, 2]])
    same(mt.unique(x), [1, 2, 3])
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    same(values, [1, 2, 3])
    same(inverse, [[2, 0], [2, 1]])
    same(counts, [1, 1, 2])
    assert len(mt.unique(mt.tensor([NAN, NAN]))) == 2


def test_unique_of_slices():
    x = mt.tensor([[1, 2], [0, 3], [1, 2]])
    values, inverse, counts = mt.unique(x, dim=0, return_inverse=True, return_counts=True)
    same(values, [[0, 3], [1, 2]])
    same(inverse, [1, 0, 1])
    same(counts, [1, 2])
    with pytest.raises(RuntimeError, match="0 sized"):
        mt.unique(mt.ones(3, 0), dim=0)


def test_unique_consecutive():
    values, counts = mt.unique_consecutive(mt.tensor([1, 1, 2, 1]), return_counts=True)
    same(values, [1, 2, 1])
    same(counts, [2, 1, 1])
    same(mt.unique_consecutive(mt.tensor([[1, 1, 2]]), dim=1), [[1, 2]])


def test_searching():
    edges = mt.tensor([1.0, 3.0, 5.0])
    same(mt.searchsorted(edges, mt.tensor([3.0, NAN])), [1, 3], mt.int64)
    same(mt.searchsorted(edges, 3.0, right=True), 2)
    same(mt.bucketize(mt.tensor([[0, 3], [4, 9]]), edges, out_int32=True), [[0, 1], [2, 3]], mt.int32)
    rows = mt.tensor([[1, 2, 3], [4, 5, 6]])
    same(mt.searchsorted(rows, mt.tensor([[2], [7]]), side="right"), [[2], [3]])
    shuffled = mt.tensor([3.0, 1.0, 5.0])
    same(mt.searchsorted(shuffled, mt.tensor([3.0]), sorter=mt.tensor([1, 0, 2])), [1])
    with pytest.raises(RuntimeError, match="opposites"):
        mt.searchsorted(edges, mt.tensor(1.0), right=True, side="left")


def test_isin():
    x = mt.tensor([[1, 2], [3, 4]])
    same(mt.isin(x, mt.tensor([2, 3])), [[False, True], [True, False]])
    same(mt.isin(x, mt.arange(50) * 2, invert=True), [[True, False], [True, False]])
    same(mt.isin(x, 4), [[False, False], [False, True]])
    same(mt.isin(4, x), True)


def test_counting():
    same(mt.bincount(mt.tensor([1, 3, 1]), minlength=5), [0, 2, 0, 1, 0], mt.int64)
    same(mt.bincount(mt.tensor([1, 1]), mt.tensor([0.5, 1.0])), [0, 1.5], mt.float32)
    with pytest.raises(RuntimeError, match="non-negative"):
        mt.bincount(mt.tensor([-1]))
    same(mt.histc(mt.tensor([1.0, 2.0, 3.0, NAN]), 2, 1, 3), [1, 2])
    hist, edges = mt.histogram(mt.tensor([0.0, 1.0, 1.0]), 2)
    same(hist, [1, 2])
    same(edges, [0, 0.5, 1])
    grid = mt.histogramdd(mt.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]]), bins=[2, 2])
    same(grid.hist, [[1, 0], [1, 1]])


def test_gradients_go_back_to_where_values_came_from():
    x = mt.tensor([3.0, 1.0, 2.0], requires_grad=True)
    (x.sort().values * mt.tensor([1.0, 10.0, 100.0])).sum().backward()
    same(x.grad, [100, 1, 10])
    x.grad = None
    x.topk(2).values.sum().backward()
    same(x.grad, [1, 0, 1])
