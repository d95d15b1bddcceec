"""Modules that stand for several in a row, with quantized weights and inputs that are quantized when they come."""

from minitorch.ao.nn.intrinsic.quantized.dynamic.modules import *
