"""``torch.backends.openmp``: threads of compiled kernels, which are NumPy's and Numba's affair here."""

def is_available() -> bool:
    """Return whether the library is used: False."""
    return False
