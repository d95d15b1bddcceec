"""PyTorch's older name of `minitorch.ao.nn.quantized`."""

from importlib import import_module

import_module("minitorch.ao.aliases").replace(__name__, "minitorch.ao.nn.quantized")
