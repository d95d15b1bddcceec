"""Tools for neural networks: PyTorch's ``torch.nn.utils``."""

from minitorch.nn.utils import parametrizations, parametrize, prune, rnn
from minitorch.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from minitorch.nn.utils.construction import (
    convert_conv2d_weight_memory_format,
    convert_conv3d_weight_memory_format,
    skip_init,
)
from minitorch.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from minitorch.nn.utils.fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
from minitorch.nn.utils.weight_norm import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm


def __getattr__(name):
    if name == "stateless":  # imported when first named: it loads the function transforms
        from importlib import import_module

        return import_module("minitorch.nn.utils.stateless")
    raise AttributeError(f"module 'minitorch.nn.utils' has no attribute {name!r}")
