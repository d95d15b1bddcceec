"""Neural network functions: PyTorch's ``torch.nn.functional``."""

from minitorch.nn.functional.activation import *
from minitorch.nn.functional.attention import (
    multi_head_attention_forward,
    scaled_dot_product_attention,
)
from minitorch.nn.functional.chunked_cross_entropy import *
from minitorch.nn.functional.convolution import *
from minitorch.nn.functional.distance import *
from minitorch.nn.functional.dropout import *
from minitorch.nn.functional.loss import *
from minitorch.nn.functional.normalization import *
from minitorch.nn.functional.pooling import *
from minitorch.nn.functional.sparse import *
from minitorch.nn.functional.vision import *
from minitorch.ops.overriding import overridable as _overridable

# What is written in Python is seen whole by ``__torch_function__``; the rest are operators, which are anyway.
_WHOLE = (
    "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices", "affine_grid", "batch_norm", "bilinear", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "cross_entropy", "dropout1d", "dropout2d", "dropout3d", "embedding_bag", "fold",
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices", "gaussian_nll_loss", "glu", "grid_sample", "group_norm", "gumbel_softmax",
    "huber_loss", "instance_norm", "interpolate", "l1_loss", "linear_cross_entropy", "local_response_norm",
    "log_softmax", "lp_pool1d", "lp_pool2d", "lp_pool3d", "margin_ranking_loss", "max_unpool1d", "max_unpool2d",
    "max_unpool3d", "mse_loss", "multi_head_attention_forward", "multilabel_soft_margin_loss", "nll_loss", "normalize",
    "pad", "smooth_l1_loss", "softmax", "softmin", "softsign", "tanhshrink", "triplet_margin_with_distance_loss",
    "unfold",
)  # fmt: skip
for _name in _WHOLE:
    globals()[_name] = _overridable(globals()[_name])
