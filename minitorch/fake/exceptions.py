"""What fake tensors raise where an operator cannot be run without elements."""

from __future__ import annotations

from typing import Any


class UnsupportedFakeTensorException(RuntimeError):
    """A tensor has no fake counterpart.

    Attributes
    ----------
    reason : str
    """

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


class MetadataMismatchError(RuntimeError):
    """A fake run of an operator does not look like the real one (`CrossRefFakeMode`)."""


class _OperatorException(RuntimeError):
    """About a call of one operator.

    Attributes
    ----------
    func : OpOverload
    """

    advice = ""

    def __init__(self, func: Any):
        super().__init__(f"{func}{self.advice.format(func=func.qualname)}")
        self.func = func


class DynamicOutputShapeException(_OperatorException):
    """The shape of a result depends on elements."""

    advice = (
        ": the shape of the result depends on elements, which fake tensors do not have. A mode with "
        "FakeTensorMode(shape_env=ShapeEnv(allow_dynamic_output_shape_ops=True)) gives the size a symbol."
    )


class DataDependentOutputException(_OperatorException):
    """A Python value was asked for that depends on elements."""

    advice = (
        ": the result is a Python value that depends on elements, which fake tensors do not have. For .item() a mode "
        "with FakeTensorMode(shape_env=ShapeEnv(allow_scalar_outputs=True)) gives a symbol."
    )


class UnsupportedOperatorException(_OperatorException):
    """An operator says nowhere what its results look like."""

    advice = (
        ": there is neither a fake impl nor a Meta kernel of this operator, nor is it a composite of others. Add one with "
        "minitorch.library.register_fake({func!r}, fn)."
    )


class FakeTensorDeviceMismatchError(RuntimeError):
    """The tensors of one call claim to be on different devices.

    Attributes
    ----------
    func : OpOverload
    first, second : device
    """

    def __init__(self, func: Any, first: Any, second: Any):
        super().__init__(
            f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}! "
            f"({func}; only a 0-dim CPU tensor may stand among tensors of another device. Move one with .to({str(second)!r}).)"
        )
        self.func = func
        self.first = first
        self.second = second
