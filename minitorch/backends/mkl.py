"""``torch.backends.mkl``: a library of linear algebra; NumPy's is used instead."""

def is_available() -> bool:
    """Return whether the library is used: False."""
    return False
