"""Fused modules whose weights are fake quantized."""

from minitorch.ao.nn.intrinsic.qat.modules.conv_fused import *
from minitorch.ao.nn.intrinsic.qat.modules.conv_fused import __all__ as _convolutions
from minitorch.ao.nn.intrinsic.qat.modules.linear_fused import LinearBn1d
from minitorch.ao.nn.intrinsic.qat.modules.linear_relu import LinearReLU

__all__ = [*_convolutions, "LinearBn1d", "LinearReLU"]
