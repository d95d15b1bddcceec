"""`Linear` and `ReLU`, dynamically quantized."""

from __future__ import annotations

from typing import Any

from minitorch.ao.nn import intrinsic as nni
from minitorch.ao.nn.quantized.dynamic.modules.linear import Linear
from minitorch.nn import functional as F

__all__ = ["LinearReLU"]


class LinearReLU(Linear):
    """`Linear` and `ReLU`, dynamically quantized."""

    _FLOAT_MODULE = nni.LinearReLU

    def forward(self, x: Any) -> Any:
        return F.relu(super().forward(x))

    def _get_name(self) -> str:
        return "DynamicQuantizedLinearReLU"
