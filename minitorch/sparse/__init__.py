"""Sparse tensors: coordinates (COO) and compressed rows or columns, of elements (CSR, CSC) or blocks (BSR, BSC)."""

from minitorch.sparse.invariants import check_sparse_tensor_invariants

__all__ = ["check_sparse_tensor_invariants"]
