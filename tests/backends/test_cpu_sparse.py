"""Products of sparse matrices on the CPU: SciPy's, numba's, and NumPy's where neither is installed."""

from __future__ import annotations

import numpy as np
import pytest
import sparse_cases

import minitorch as mt
from minitorch.backends.cpu import sparse
from minitorch.ops import functions as F
from minitorch.testing import assert_close


@pytest.fixture(params=["scipy", "numpy"])
def library(request, monkeypatch):
    if request.param == "scipy":
        pytest.importorskip("scipy.sparse")
    else:
        monkeypatch.setattr(sparse, "scipy_sparse", lambda: None)


@pytest.mark.parametrize("k", sparse_cases.WIDTHS)
@pytest.mark.parametrize("dtype", sparse_cases.DTYPES)
def test_products(library, dtype, k):
    sparse_cases.check_products("cpu", dtype, k)


@pytest.mark.parametrize("dtype", sparse_cases.DTYPES)
def test_products_of_two(library, dtype):
    sparse_cases.check_matmul("cpu", dtype)


def test_indices_of_32_bits(library):
    sparse_cases.check_products("cpu", "float32", 16, mt.int32)


def test_bounds(library):
    sparse_cases.check_bounds("cpu")


def test_offsets_are_looked_at(library):
    for offsets in ([0, 2, 1], [-1, 1, 2], [0, 1, 5]):
        with pytest.raises(IndexError, match="offsets of rows must rise"):
            F._segment_mm(mt.tensor(offsets), mt.tensor([0, 1]), mt.ones(2), mt.ones(3, 4))


@pytest.mark.parametrize("k", [1, 7])
@pytest.mark.parametrize("dtype", [mt.float32, mt.float64])
def test_loops_for_large_operands(monkeypatch, dtype, k):
    pytest.importorskip("numba")
    if sparse._fast() is None:
        pytest.skip("switched off")
    monkeypatch.setattr(sparse, "minimum", lambda: 0)
    sparse_cases.check_products("cpu", str(dtype).removeprefix("torch."), k)
    sparse_cases.check_bounds("cpu")


def test_large_and_small_operands_agree():
    rng = np.random.default_rng(0)
    n, nnz, k = 3000, 40000, 16
    rows = mt.from_numpy(np.sort(rng.integers(0, n, nnz)))
    columns, values = mt.from_numpy(rng.integers(0, n, nnz)), mt.from_numpy(rng.standard_normal(nnz))
    dense = mt.from_numpy(rng.standard_normal((n, k)))
    offsets = mt.searchsorted(rows, mt.arange(n + 1))
    assert nnz * k > sparse.minimum()
    assert_close(F._segment_mm(offsets, columns, values, dense), F._entries_mm(rows, columns, values, dense, n))
