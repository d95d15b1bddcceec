"""Convolution or linear map and batch normalization in one."""

from __future__ import annotations

import copy
from typing import Any

from minitorch.nn.parameter import Parameter
from minitorch.ops.functions import ones_like, rsqrt, zeros_like

__all__ = [
    "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights",
]  # fmt: skip


def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """Return the weight and bias of the convolution that does the normalization as well."""
    conv_b = zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = zeros_like(bn_rm) if bn_b is None else bn_b
    scale = bn_w * rsqrt(bn_rv + bn_eps)
    shape = [1, -1] if transpose else [-1, 1]
    shape += [1] * (conv_w.dim() - 2)
    weight = conv_w * scale.reshape(shape)
    bias = (conv_b - bn_rm) * scale + bn_b
    return (
        Parameter(weight.to(conv_w.dtype), conv_w.requires_grad),
        Parameter(bias.to(conv_w.dtype), conv_b.requires_grad),
    )


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return a copy of a convolution that does the batch normalization after it as well."""
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias,
        transpose,
    )  # fmt: skip
    return fused


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Parameter, Parameter]:
    """Return the weight and bias of the linear map that does the normalization as well."""
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return a copy of a linear map that does the batch normalization after it as well."""
    return fuse_conv_bn_eval(linear, bn)
