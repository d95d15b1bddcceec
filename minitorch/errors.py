"""Exception types that say more than a built-in one; each derives from what PyTorch raises."""

from __future__ import annotations


class MissingKernelError(NotImplementedError):
    """No kernel is registered for the operator and the key that the call arrived at.

    Attributes
    ----------
    qualname : str
        The operator.
    """

    qualname = ""


class NeedsElementsError(NotImplementedError):
    """What an operator returns depends on elements, and the tensor has none.

    Parameters
    ----------
    name : str
        The operator.
    what : str
        What it is that depends on them.
    """

    def __init__(self, name: str, what: str):
        super().__init__(
            f"{name}(): {what} depends on the values, which a meta tensor does not have; run it on a device with data"
        )
        self.name = name


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
