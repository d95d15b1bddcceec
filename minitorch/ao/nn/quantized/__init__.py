"""Quantized modules: their inputs, weights and results are quantized tensors."""

from minitorch.ao.nn.quantized import dynamic, functional
from minitorch.ao.nn.quantized.modules import *
from minitorch.ao.nn.quantized.modules import MaxPool2d
