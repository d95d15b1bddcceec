"""Modules to be trained for dynamic quantization."""

from minitorch.ao.nn.qat.dynamic.modules import *
