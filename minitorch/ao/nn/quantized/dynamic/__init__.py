"""Modules with quantized weights, whose inputs are quantized by their own range when they come; results are float32."""

from minitorch.ao.nn.quantized.dynamic.modules import *
