"""PyTorch's older name of `minitorch.ao.quantization`."""

from minitorch.ao.aliases import replace

replace(__name__, "minitorch.ao.quantization")
