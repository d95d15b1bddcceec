"""Neural network functions: PyTorch's ``torch.nn.functional``."""

from minitorch.nn.functional.activation import *  # noqa: F403
from minitorch.nn.functional.attention import (
    multi_head_attention_forward,
    scaled_dot_product_attention,
)
from minitorch.nn.functional.convolution import *  # noqa: F403
from minitorch.nn.functional.distance import *  # noqa: F403
from minitorch.nn.functional.dropout import *  # noqa: F403
from minitorch.nn.functional.loss import *  # noqa: F403
from minitorch.nn.functional.normalization import *  # noqa: F403
from minitorch.nn.functional.pooling import *  # noqa: F403
from minitorch.nn.functional.sparse import *  # noqa: F403
from minitorch.nn.functional.vision import *  # noqa: F403
