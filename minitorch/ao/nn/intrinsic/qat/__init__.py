"""Fused modules whose weights are fake quantized, to be trained."""

from minitorch.ao.nn.intrinsic.qat.modules import *
