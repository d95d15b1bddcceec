"""Batch normalization and `ReLU` of quantized numbers."""

from __future__ import annotations

from minitorch.ao.nn.quantized.modules import batchnorm

__all__ = ["BNReLU2d", "BNReLU3d"]


class BNReLU2d(batchnorm.BatchNorm2d):
    """`BatchNorm2d` and `ReLU` of quantized numbers."""

    _operator = "batch_norm2d_relu"


class BNReLU3d(batchnorm.BatchNorm3d):
    """`BatchNorm3d` and `ReLU` of quantized numbers."""

    _operator = "batch_norm3d_relu"
