"""`Linear` and `ReLU` with a weight that is fake quantized."""

from __future__ import annotations

from typing import Any

from minitorch import nn
from minitorch.ao.nn.intrinsic.modules import fused
from minitorch.ao.nn.qat.modules.linear import Linear
from minitorch.nn import functional as F

__all__ = ["LinearReLU"]


class LinearReLU(Linear):
    """`intrinsic.LinearReLU` with a weight that is fake quantized; parameters are those of `qat.Linear`."""

    _FLOAT_MODULE = fused.LinearReLU

    def forward(self, input: Any) -> Any:
        return F.relu(super().forward(input))

    def to_float(self) -> Any:
        """Return the float modules."""
        return fused.LinearReLU(super().to_float(), nn.ReLU())
