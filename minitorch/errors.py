"""Exception types that say more than a built-in one; each derives from what PyTorch raises."""

from __future__ import annotations


class MissingKernelError(NotImplementedError):
    """No kernel is registered for the operator and the key that the call arrived at."""


class SchemaError(RuntimeError):
    """A schema string cannot be parsed, or contradicts the operator it belongs to."""


class LinAlgError(RuntimeError):
    """A matrix is singular, not positive definite, or a decomposition did not converge."""


class OutOfBoundsError(IndexError, RuntimeError):
    """A position among an operator's arguments is outside a dimension; PyTorch raises one or the other, by operator."""


class OutOfMemoryError(RuntimeError):
    """A device has no memory left for an allocation."""


class AcceleratorError(RuntimeError):
    """A device reported a failure.

    Parameters
    ----------
    message : str
    error_code : int
        The driver's number for the failure.
    """

    def __init__(self, message: str = "", error_code: int = 0):
        super().__init__(message)
        self.error_code = error_code
