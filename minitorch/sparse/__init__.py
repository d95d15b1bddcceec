"""Sparse tensors: coordinates (COO) and compressed rows or columns, of elements (CSR, CSC) or blocks (BSR, BSC)."""
