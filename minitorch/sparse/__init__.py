"""Sparse tensors: coordinates (COO) and compressed rows or columns, of elements (CSR, CSC) or blocks (BSR, BSC)."""

from minitorch.sparse.functions import (
    addmm,
    as_sparse_gradcheck,
    log_softmax,
    mm,
    sampled_addmm,
    softmax,
    spdiags,
    spsolve,
    sum,
)
from minitorch.sparse.invariants import check_sparse_tensor_invariants

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "spsolve",
    "sum",
]
