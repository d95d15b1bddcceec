"""`assert_close` of sparse tensors: indices have to be equal, values close; the texts are PyTorch's."""

from __future__ import annotations

import warnings

import pytest

import minitorch
from minitorch.testing import assert_close


def _pairs(library):
    dense = library.tensor([[1.0, 0, 2], [0, 3, 0]])
    coo, csr = dense.to_sparse(), dense.to_sparse_csr()
    twice = library.sparse_coo_tensor([[0, 0], [0, 0]], [0.5, 0.5], (2, 3))
    wide = library.sparse_csr_tensor(csr.crow_indices().int(), csr.col_indices().int(), csr.values(), (2, 3))
    return {
        "equal": (coo, coo.clone(), {}),
        "values": (coo, library.sparse_coo_tensor(coo.indices(), coo.values() * 1.5, (2, 3)), {}),
        "values within tolerances": (
            coo, library.sparse_coo_tensor(coo.indices(), coo.values() * 1.5, (2, 3)), {"rtol": 1, "atol": 1},
        ),
        "indices": (coo, library.sparse_coo_tensor(coo.indices().flip(1), coo.values(), (2, 3)), {}),
        "columns": (csr, library.sparse_csr_tensor([0, 2, 3], [0, 1, 1], [1.0, 2, 3], (2, 3)), {}),
        "csr values": (csr, library.sparse_csr_tensor(csr.crow_indices(), csr.col_indices(), csr.values() + 1, (2, 3)), {}),
        "numbers of values": (twice, twice.coalesce(), {}),
        "layouts": (coo, csr, {}),
        "sparse and dense": (coo, dense, {}),
        "layouts that may differ": (coo, csr, {"check_layout": False}),
        "sparse and dense that may differ": (dense, csr, {"check_layout": False}),
        "dtypes": (coo, coo.double(), {}),
        "dtypes that may differ": (coo, coo.double(), {"check_dtype": False}),
        "types of indices": (csr, wide, {}),
        "blocks": (dense.to_sparse_bsr((1, 3)), (2 * dense).to_sparse_bsr((1, 3)), {}),
    }  # fmt: skip


CASES = list(_pairs(minitorch))


def _verdict(library, check, case):
    actual, expected, options = _pairs(library)[case]
    try:
        check(actual, expected, **options)
    except AssertionError as error:
        return str(error)
    return None


def test_verdicts():
    close = {"equal", "values within tolerances", "dtypes that may differ", "types of indices"}
    close |= {case for case in CASES if case.startswith(("layouts that", "sparse and dense that"))}
    assert {case for case in CASES if _verdict(minitorch, assert_close, case) is None} == close


@pytest.mark.oracle
@pytest.mark.parametrize("case", CASES)
def test_texts_are_those_of_pytorch(case, torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = _verdict(torch, torch.testing.assert_close, case)
    assert _verdict(minitorch, assert_close, case) == expected
