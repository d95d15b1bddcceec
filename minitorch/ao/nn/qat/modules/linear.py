"""`Linear` with a weight that is fake quantized."""

from __future__ import annotations

from typing import Any

from minitorch import nn
from minitorch.ao.nn.intrinsic.modules.fused import LinearReLU
from minitorch.ao.nn.qat.modules.common import checked_float_module, required_qconfig
from minitorch.nn import functional as F
from minitorch.nn.modules.activation import NonDynamicallyQuantizableLinear

__all__ = ["Linear"]


class Linear(nn.Linear):
    """A linear map whose weight is rounded to the grid that `qconfig.weight` chooses.

    Parameters
    ----------
    in_features, out_features : int
    bias : bool
    qconfig : QConfig
    """

    _FLOAT_MODULE: Any = nn.Linear

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, qconfig: Any = None, device: Any = None,
        dtype: Any = None,
    ):  # fmt: skip
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        self.qconfig = required_qconfig(qconfig, type(self).__name__)
        self.weight_fake_quant = qconfig.weight()

    def forward(self, input: Any) -> Any:
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the module for a float one, with the same parameters (not copies of them)."""
        checked_float_module(mod, cls, (nn.Linear, NonDynamicallyQuantizableLinear, LinearReLU))
        linear = mod[0] if type(mod) is LinearReLU else mod
        made = cls(linear.in_features, linear.out_features, bias=linear.bias is not None, qconfig=mod.qconfig)
        made.weight, made.bias = linear.weight, linear.bias
        return made

    def to_float(self) -> nn.Linear:
        """Return the float module."""
        made = nn.Linear(self.in_features, self.out_features, self.bias is not None)
        made.weight = nn.Parameter(self.weight.detach())
        if self.bias is not None:
            made.bias = nn.Parameter(self.bias.detach())
        return made
