"""`Linear` and `ReLU` of quantized numbers."""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch.ao.nn import intrinsic as nni
from minitorch.ao.nn.quantized.modules.linear import Linear

__all__ = ["LinearReLU"]


class LinearReLU(Linear):
    """`Linear` and `ReLU` of quantized numbers."""

    _FLOAT_MODULE = nni.LinearReLU

    def forward(self, x: Any) -> Any:
        return minitorch.ops.quantized.linear_relu(x, self._packed_params._packed_params, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedLinearReLU"
