"""Products of sparse matrices on OpenCL; nothing falls back to the CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import minitorch as mt
from minitorch.backends import fallback_policy

sys.path.insert(0, str(Path(__file__).parents[1]))
import sparse_cases


@pytest.fixture(autouse=True)
def no_fallback():
    with fallback_policy("error"):
        yield


@pytest.mark.parametrize("k", [5, 40])
@pytest.mark.parametrize("dtype", sparse_cases.DTYPES)
def test_products(dtype, k):
    sparse_cases.check_products("opencl", dtype, k)


def test_indices_of_32_bits():
    sparse_cases.check_products("opencl", "float32", 16, mt.int32)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "bfloat16", "int64"])
def test_products_of_two(dtype):
    sparse_cases.check_matmul("opencl", dtype)


def test_bounds():
    sparse_cases.check_bounds("opencl")
