"""Neural networks: PyTorch's ``torch.nn``."""

from minitorch.nn import functional, init, utils
from minitorch.nn.modules import *
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
