"""Operators on sparse tensors of OpenCL devices: the results are those of the CPU."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch.backends import fallback_policy
from minitorch.testing import assert_close

A = mt.tensor([[0.0, 1, 2, 0], [3, 0, 0, -5], [0, 0, 0, 0], [1, 2, 3, 4]])
B = mt.arange(12.0).reshape(4, 3) - 5

OPERATORS = {
    "mm": lambda s, b: s @ b,
    "rmm": lambda s, b: b.t() @ s,
    "sparse.mm": mt.sparse.mm,
    "mm of two": lambda s, b: mt.sparse.mm(s, s),
    "addmm": lambda s, b: mt.addmm(b, s, b, beta=2),
    "sampled": lambda s, b: mt.sparse.sampled_addmm(s, b, b.t()),
    "mean": lambda s, b: mt.sparse.mm(s, b, "mean"),
    "amax of rows": lambda s, b: mt.sparse.mm(s, b, "amax"),
    "sum": lambda s, b: s.sum(1, keepdim=True),
    "amax": lambda s, b: s.amax(1, keepdim=True),
    "norm": lambda s, b: s.norm(),
    "softmax": lambda s, b: mt.sparse.softmax(s, 1),
    "hspmm": lambda s, b: mt.hspmm(s, b) if s.layout is mt.sparse_coo else s @ b,
}


def results(operator, sparse, dense):
    """Return the result and the gradients, on the CPU and without layout."""
    sparse, dense = sparse.detach().requires_grad_(), dense.detach().requires_grad_()
    result = operator(sparse, dense)
    result = result if result.layout is mt.strided else result.to_dense()
    (result * result).sum().backward()
    found = [result.detach(), sparse.grad, dense.grad]
    return [None if t is None else (t if t.layout is mt.strided else t.to_dense()).cpu() for t in found]


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name, layout):
    sparse = A.to_sparse() if layout == "coo" else getattr(A, f"to_sparse_{layout}")()
    wanted = results(OPERATORS[name], sparse, B)
    with fallback_policy("error"):
        there = sparse.to("opencl")
        assert there.values().device.type == "opencl"
        found = results(OPERATORS[name], there, B.to("opencl"))
    for ours, theirs in zip(found, wanted, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert_close(ours, theirs)
