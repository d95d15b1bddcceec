"""Convolutions and `ReLU` of quantized numbers."""

from __future__ import annotations

from minitorch.ao.nn import intrinsic as nni
from minitorch.ao.nn.intrinsic import qat as nniqat
from minitorch.ao.nn.quantized.modules import conv

__all__ = ["ConvReLU1d", "ConvReLU2d", "ConvReLU3d"]


class ConvReLU1d(conv.Conv1d):
    """`Conv1d` and `ReLU` of quantized numbers."""

    _operator = "_relu"
    _FLOAT_MODULE = nni.ConvReLU1d
    _NNIQAT_CONV_BN_MODULE = nniqat.ConvBnReLU1d


class ConvReLU2d(conv.Conv2d):
    """`Conv2d` and `ReLU` of quantized numbers."""

    _operator = "_relu"
    _FLOAT_MODULE = nni.ConvReLU2d
    _NNIQAT_CONV_BN_MODULE = nniqat.ConvBnReLU2d


class ConvReLU3d(conv.Conv3d):
    """`Conv3d` and `ReLU` of quantized numbers."""

    _operator = "_relu"
    _FLOAT_MODULE = nni.ConvReLU3d
    _NNIQAT_CONV_BN_MODULE = nniqat.ConvBnReLU3d
