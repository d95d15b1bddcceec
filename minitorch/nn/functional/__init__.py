"""Neural network functions: PyTorch's ``torch.nn.functional``."""

from minitorch.nn.functional.activation import *
from minitorch.nn.functional.attention import (
    multi_head_attention_forward,
    scaled_dot_product_attention,
)
from minitorch.nn.functional.convolution import *
from minitorch.nn.functional.distance import *
from minitorch.nn.functional.dropout import *
from minitorch.nn.functional.loss import *
from minitorch.nn.functional.normalization import *
from minitorch.nn.functional.pooling import *
from minitorch.nn.functional.sparse import *
from minitorch.nn.functional.vision import *
