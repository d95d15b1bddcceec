"""Quantized modules that stand for several in a row."""

from minitorch.ao.nn.intrinsic.quantized import dynamic
from minitorch.ao.nn.intrinsic.quantized.modules import *
