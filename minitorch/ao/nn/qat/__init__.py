"""Modules whose weights are fake quantized, to be trained."""

from minitorch.ao.nn.qat import dynamic
from minitorch.ao.nn.qat.modules import *
