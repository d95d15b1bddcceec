"""Modules for operators without a module, so that what they return can be observed: sums, products, joined tensors."""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch.ao.nn.quantized.modules.utils import ResultParameters
from minitorch.nn import Identity
from minitorch.nn.modules.module import Module

__all__ = ["FXFloatFunctional", "FloatFunctional", "QFunctional"]


class FXFloatFunctional(Module):
    """`FloatFunctional` without an observer of its own: where the graph is quantized, its operators are observed."""

    def _observed(self, result: Any) -> Any:
        return result

    def forward(self, x: Any) -> Any:
        raise RuntimeError(f"{type(self).__name__} is not intended to use the forward; call its methods, such as add()")

    def add(self, x: Any, y: Any) -> Any:
        """Return ``x + y``."""
        return self._observed(minitorch.add(x, y))

    def add_scalar(self, x: Any, y: float) -> Any:
        """Return ``x + y`` for a number `y`."""
        return minitorch.add(x, y)

    def mul(self, x: Any, y: Any) -> Any:
        """Return ``x * y``."""
        return self._observed(minitorch.mul(x, y))

    def mul_scalar(self, x: Any, y: float) -> Any:
        """Return ``x * y`` for a number `y`."""
        return minitorch.mul(x, y)

    def cat(self, x: list, dim: int = 0) -> Any:
        """Return tensors joined along `dim`."""
        return self._observed(minitorch.cat(x, dim=dim))

    def add_relu(self, x: Any, y: Any) -> Any:
        """Return ``relu(x + y)``."""
        return self._observed(minitorch.nn.functional.relu(minitorch.add(x, y)))

    def matmul(self, x: Any, y: Any) -> Any:
        """Return the product of matrices."""
        return self._observed(minitorch.matmul(x, y))


class FloatFunctional(FXFloatFunctional):
    """Operators in floating point that are observed once the model is prepared; `convert` makes it a `QFunctional`.

    Use one for each place.

    Examples
    --------
    >>> sums = minitorch.ao.nn.quantized.FloatFunctional()
    >>> sums.add(minitorch.ones(2), minitorch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = Identity()

    def _observed(self, result: Any) -> Any:
        return self.activation_post_process(result)

    def add_scalar(self, x: Any, y: float) -> Any:
        return minitorch.add(x, y)  # keeps the parameters of its input

    def mul_scalar(self, x: Any, y: float) -> Any:
        return minitorch.mul(x, y)


class QFunctional(ResultParameters):
    """Operators of quantized numbers.

    Attributes
    ----------
    scale, zero_point : float, int
        Of the result.
    """

    def __init__(self) -> None:
        super().__init__()
        self.scale = 1.0
        self.zero_point = 0
        self.activation_post_process = Identity()

    def _get_name(self) -> str:
        return "QFunctional"

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def forward(self, x: Any) -> Any:
        raise RuntimeError("QFunctional is not intended to use the forward; call its methods, such as add()")

    def add(self, x: Any, y: Any) -> Any:
        """Return ``x + y``."""
        return minitorch.ops.quantized.add(x, y, self.scale, self.zero_point)

    def add_scalar(self, x: Any, y: float) -> Any:
        """Return ``x + y`` for a number `y`."""
        return minitorch.ops.quantized.add_scalar(x, y)

    def mul(self, x: Any, y: Any) -> Any:
        """Return ``x * y``."""
        return minitorch.ops.quantized.mul(x, y, self.scale, self.zero_point)

    def mul_scalar(self, x: Any, y: float) -> Any:
        """Return ``x * y`` for a number `y`."""
        return minitorch.ops.quantized.mul_scalar(x, y)

    def cat(self, x: list, dim: int = 0) -> Any:
        """Return tensors joined along `dim`."""
        return minitorch.ops.quantized.cat(x, dim, self.scale, self.zero_point)

    def add_relu(self, x: Any, y: Any) -> Any:
        """Return ``relu(x + y)``."""
        return minitorch.ops.quantized.add_relu(x, y, self.scale, self.zero_point)

    def matmul(self, x: Any, y: Any) -> Any:
        """Return the product of matrices."""
        return minitorch.ops.quantized.matmul(x, y, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> QFunctional:
        """Return the module for a prepared `FloatFunctional`."""
        if type(mod) is not FloatFunctional:
            raise AssertionError(
                f"QFunctional.from_float expects an instance of FloatFunctional, not {type(mod).__name__}"
            )
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        made = cls()
        made.scale, made.zero_point = float(scale), int(zero_point)
        return made
