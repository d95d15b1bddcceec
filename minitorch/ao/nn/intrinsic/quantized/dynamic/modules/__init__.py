"""Dynamically quantized modules that stand for several in a row."""

from minitorch.ao.nn.intrinsic.quantized.dynamic.modules.linear_relu import LinearReLU

__all__ = ["LinearReLU"]
