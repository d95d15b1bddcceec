"""Padding."""

from __future__ import annotations

from typing import Any

from minitorch.nn import functional as F
from minitorch.nn.modules.arguments import pair, quadruple, sextuple
from minitorch.nn.modules.module import Module
from minitorch.tensor.tensor import Tensor

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d",
    "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d",
    "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _ConstantPadNd(Module):
    __constants__ = ["padding", "value"]
    _expand: Any

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__()
        self.padding = type(self)._expand(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Return the padded input."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Adds elements of one value at the ends of sequences.

    Parameters
    ----------
    padding : int or tuple
        How many before and after, for the last dimension first.
    value : float
    """

    _expand = staticmethod(pair)


class ConstantPad2d(_ConstantPadNd):
    """Adds elements of one value around images; parameters as for `ConstantPad1d`."""

    _expand = staticmethod(quadruple)


class ConstantPad3d(_ConstantPadNd):
    """Adds elements of one value around volumes; parameters as for `ConstantPad1d`."""

    _expand = staticmethod(sextuple)


class ZeroPad1d(ConstantPad1d):
    """Adds zeros at the ends of sequences."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Adds zeros around images."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Adds zeros around volumes."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ModePadNd(Module):
    __constants__ = ["padding"]
    _expand: Any
    _mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = type(self)._expand(padding)

    def forward(self, input: Tensor) -> Tensor:
        """Return the padded input."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ReflectionPad1d(_ModePadNd):
    """Continues sequences by their mirror image.

    Parameters
    ----------
    padding : int or tuple
    """

    _expand = staticmethod(pair)
    _mode = "reflect"


class ReflectionPad2d(_ModePadNd):
    """Continues images by their mirror image."""

    _expand = staticmethod(quadruple)
    _mode = "reflect"


class ReflectionPad3d(_ModePadNd):
    """Continues volumes by their mirror image."""

    _expand = staticmethod(sextuple)
    _mode = "reflect"


class ReplicationPad1d(_ModePadNd):
    """Continues sequences by their end elements.

    Parameters
    ----------
    padding : int or tuple
    """

    _expand = staticmethod(pair)
    _mode = "replicate"


class ReplicationPad2d(_ModePadNd):
    """Continues images by their border."""

    _expand = staticmethod(quadruple)
    _mode = "replicate"


class ReplicationPad3d(_ModePadNd):
    """Continues volumes by their border."""

    _expand = staticmethod(sextuple)
    _mode = "replicate"


class CircularPad1d(_ModePadNd):
    """Continues sequences as if they were periodic.

    Parameters
    ----------
    padding : int or tuple
    """

    _expand = staticmethod(pair)
    _mode = "circular"


class CircularPad2d(_ModePadNd):
    """Continues images as if they were periodic."""

    _expand = staticmethod(quadruple)
    _mode = "circular"


class CircularPad3d(_ModePadNd):
    """Continues volumes as if they were periodic."""

    _expand = staticmethod(sextuple)
    _mode = "circular"
