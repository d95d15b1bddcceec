"""Sparse tensors print as PyTorch's do."""

from __future__ import annotations

import warnings

import pytest
from sparse_samples import KINDS, LAYOUTS, in_layout

import minitorch

_TEXT = """\
tensor(indices=tensor([[0, 1],
                       [2, 0]]),
       values=tensor([1., 2.]),
       size=(2, 3), nnz=2, layout=torch.sparse_coo)"""
_CSR = """\
tensor(crow_indices=tensor([0, 1, 2]),
       col_indices=tensor([1, 0]),
       values=tensor([3, 4]), size=(2, 2), nnz=2, dtype=torch.int32,
       layout=torch.sparse_csr)"""


def test_components_stand_below_one_another():
    assert repr(minitorch.sparse_coo_tensor([[0, 1], [2, 0]], [1.0, 2.0], (2, 3))) == _TEXT
    found = repr(minitorch.sparse_csr_tensor([0, 1, 2], [1, 0], [3, 4], dtype=minitorch.int32))
    assert found == _CSR


_CASES = {
    "gradient": lambda t, d: d.to_sparse().requires_grad_(),
    "history": lambda t, d: d.requires_grad_().to_sparse(),
    "history csr": lambda t, d: d.requires_grad_().to_sparse_csr(),
    "history of values": lambda t, d: t.sparse_coo_tensor([[0]], t.tensor([1.0], requires_grad=True), (2,)),
    "dense values": lambda t, d: d.requires_grad_().to_sparse().to_dense(),
    "parameter": lambda t, d: t.nn.Parameter(d.to_sparse()),
    "half": lambda t, d: d.half().to_sparse(),
    "complex": lambda t, d: d.cfloat().to_sparse_csr(),
    "bool": lambda t, d: (d > 0).to_sparse(),
    "int64": lambda t, d: d.long().to_sparse_csc(),
    "long": lambda t, d: t.arange(3000.0).to_sparse(),
    "no values": lambda t, d: t.zeros(3, 3, layout=t.sparse_csc),
    "no values coo": lambda t, d: t.sparse_coo_tensor((2, 0), dtype=t.float64),
    "scalar": lambda t, d: t.tensor(3.0).to_sparse(),
    "meta": lambda t, d: t.zeros(3, 3, layout=t.sparse_coo, device="meta"),
    "meta csr": lambda t, d: t.zeros(3, 3, layout=t.sparse_csr, device="meta"),
}


@pytest.mark.oracle
@pytest.mark.parametrize("case", _CASES)
def test_texts_are_those_of_pytorch(case, torch):
    def text(library):
        return repr(_CASES[case](library, library.tensor(KINDS["plain"][0].tolist())))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = text(torch)
    assert text(minitorch) == expected


@pytest.mark.oracle
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_prints_as_in_pytorch(layout, kind, torch):
    values, dense_dim = KINDS[kind]

    def text(library):
        return repr(in_layout(library.tensor(values.tolist()).reshape(values.shape), layout, dense_dim, library))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = text(torch)
    assert text(minitorch) == expected
