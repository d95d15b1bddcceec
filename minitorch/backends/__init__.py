"""Backends."""


class NoKernel(NotImplementedError):
    """A backend has no kernel for these operands."""
