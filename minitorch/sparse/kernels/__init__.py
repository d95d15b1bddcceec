"""Kernels of sparse tensors, by family; loaded by `sparse.registration`."""
