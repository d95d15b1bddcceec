"""CUDA logic on a stand-in: products of sparse matrices."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
import sparse_cases

pytest.importorskip("scipy.sparse", reason="the stand-in of cupyx.scipy.sparse is around SciPy's matrices")


@pytest.mark.parametrize("k", sparse_cases.WIDTHS)
@pytest.mark.parametrize("dtype", sparse_cases.DTYPES)
def test_products(dtype, k):
    sparse_cases.check_products("cuda", dtype, k)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "bfloat16"])
def test_products_of_two(dtype):
    sparse_cases.check_matmul("cuda", dtype)


def test_bounds():
    sparse_cases.check_bounds("cuda")
