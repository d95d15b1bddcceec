"""Fused modules."""

from minitorch.ao.nn.intrinsic.modules.fused import *
from minitorch.ao.nn.intrinsic.modules.fused import __all__
