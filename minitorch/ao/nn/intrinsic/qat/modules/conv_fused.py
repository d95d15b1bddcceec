"""Convolutions with batch norm and `ReLU` whose weight is fake quantized."""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch import nn
from minitorch.ao.nn.intrinsic.modules import fused
from minitorch.ao.nn.intrinsic.qat.modules.batch_norm import (
    FrozenBatchNorm,
    folded_scale,
    freeze_bn_stats,
    take_batch_norm,
    update_bn_stats,
)
from minitorch.ao.nn.qat.modules import conv as qat_conv
from minitorch.ao.nn.qat.modules.common import checked_float_module, required_qconfig
from minitorch.nn import functional as F
from minitorch.nn.utils.fusion import fuse_conv_bn_weights

__all__ = [
    "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d",
    "ConvReLU3d", "freeze_bn_stats", "update_bn_stats",
]  # fmt: skip


class _ConvBnNd(FrozenBatchNorm, nn.modules.conv._ConvNd):
    """A convolution and its batch norm: see `batch_norm`, Note [Folding while training].

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, padding_mode
        As of `nn.Conv2d`.
    bias : bool, optional
        Whether the convolution has one besides the batch norm's.
    eps, momentum : float
        Of the batch norm.
    freeze_bn : bool
        Use the running statistics as they are.
    qconfig : QConfig
    """

    _version = 2
    _FLOAT_MODULE: Any
    _FLOAT_CONV_MODULE: Any
    _FLOAT_BN_MODULE: Any
    _FLOAT_FUSED_CONV_MODULE: Any = None  # without the batch norm, if that is no convolution alone
    _FLOAT_RELU_MODULE: Any = None

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: bool | None = None, padding_mode: str = "zeros", eps: float = 1e-05, momentum: float = 0.1,
        freeze_bn: bool = False, qconfig: Any = None,
    ):  # fmt: skip
        # That of the convolution, which stands behind this class among the bases.
        convolution: Any = super()
        convolution.__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bool(bias), padding_mode
        )
        self.qconfig = required_qconfig(qconfig, type(self).__name__)
        self.bn = self._FLOAT_BN_MODULE(out_channels, eps, momentum, True, True)
        self.weight_fake_quant = qconfig.weight()
        self._start(freeze_bn)

    def _through_bn(self, input: Any) -> Any:
        scale = folded_scale(self.bn)
        columns = [1] * self.weight.dim()
        columns[0] = -1
        channels = [1] * self.weight.dim()
        channels[1] = -1
        weight = self.weight_fake_quant(self.weight * scale.reshape(columns))
        bias = minitorch.zeros(self.out_channels, device=weight.device, dtype=input.dtype)
        result = self._conv_forward(input, weight, bias) / scale.reshape(channels)
        if self.bias is not None:
            result = result + self.bias.reshape(channels)
        return self.bn(result)

    def forward(self, input: Any) -> Any:
        result = self._through_bn(input)
        return F.relu(result) if self._FLOAT_RELU_MODULE is not None else result

    def extra_repr(self) -> str:
        return super().extra_repr()

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the module for a fused float one, with the same parameters (not copies of them)."""
        checked_float_module(mod, cls, (cls._FLOAT_MODULE,))
        conv, bn = mod[0], mod[1]
        made = cls(
            conv.in_channels, conv.out_channels, conv.kernel_size, conv.stride, conv.padding, conv.dilation, conv.groups,
            conv.bias is not None, conv.padding_mode, bn.eps, bn.momentum, False, mod.qconfig,
        )  # fmt: skip
        made.weight, made.bias = conv.weight, conv.bias
        take_batch_norm(made.bn, bn)
        return made

    def to_float(self) -> Any:
        """Return the float convolution with the batch norm folded in, and `ReLU` behind it if this one has."""
        conv = self._FLOAT_CONV_MODULE(
            self.in_channels, self.out_channels, self.kernel_size, self.stride, self.padding, self.dilation, self.groups,
            True, self.padding_mode,
        )  # fmt: skip
        bn = self.bn
        conv.weight, conv.bias = fuse_conv_bn_weights(
            self.weight.detach(), None if self.bias is None else self.bias.detach(), bn.running_mean, bn.running_var,
            bn.eps, bn.weight.detach(), bn.bias.detach(),
        )  # fmt: skip
        conv.train(self.training)
        return conv if self._FLOAT_RELU_MODULE is None else self._FLOAT_FUSED_CONV_MODULE(conv, nn.ReLU())


class ConvBn1d(_ConvBnNd, nn.Conv1d):
    """`Conv1d` and `BatchNorm1d` with a weight that is fake quantized."""

    _FLOAT_MODULE = fused.ConvBn1d
    _FLOAT_CONV_MODULE = nn.Conv1d
    _FLOAT_BN_MODULE = nn.BatchNorm1d


class ConvBn2d(_ConvBnNd, nn.Conv2d):
    """`Conv2d` and `BatchNorm2d` with a weight that is fake quantized."""

    _FLOAT_MODULE = fused.ConvBn2d
    _FLOAT_CONV_MODULE = nn.Conv2d
    _FLOAT_BN_MODULE = nn.BatchNorm2d


class ConvBn3d(_ConvBnNd, nn.Conv3d):
    """`Conv3d` and `BatchNorm3d` with a weight that is fake quantized."""

    _FLOAT_MODULE = fused.ConvBn3d
    _FLOAT_CONV_MODULE = nn.Conv3d
    _FLOAT_BN_MODULE = nn.BatchNorm3d


class ConvBnReLU1d(ConvBn1d):
    """`Conv1d`, `BatchNorm1d` and `ReLU` with a weight that is fake quantized."""

    _FLOAT_MODULE = fused.ConvBnReLU1d
    _FLOAT_FUSED_CONV_MODULE = fused.ConvReLU1d
    _FLOAT_RELU_MODULE = nn.ReLU


class ConvBnReLU2d(ConvBn2d):
    """`Conv2d`, `BatchNorm2d` and `ReLU` with a weight that is fake quantized."""

    _FLOAT_MODULE = fused.ConvBnReLU2d
    _FLOAT_FUSED_CONV_MODULE = fused.ConvReLU2d
    _FLOAT_RELU_MODULE = nn.ReLU


class ConvBnReLU3d(ConvBn3d):
    """`Conv3d`, `BatchNorm3d` and `ReLU` with a weight that is fake quantized."""

    _FLOAT_MODULE = fused.ConvBnReLU3d
    _FLOAT_FUSED_CONV_MODULE = fused.ConvReLU3d
    _FLOAT_RELU_MODULE = nn.ReLU


class _WithReLU:
    """Puts `ReLU` behind a convolution; stands before its class among the bases."""

    _FUSED_WITH_RELU: Any

    def forward(self, input: Any) -> Any:
        return F.relu(super().forward(input))  # type: ignore[misc]

    def to_float(self) -> Any:
        return self._FUSED_WITH_RELU(super().to_float(), nn.ReLU())  # type: ignore[misc]


class ConvReLU1d(_WithReLU, qat_conv.Conv1d):
    """`Conv1d` and `ReLU` with a weight that is fake quantized."""


class ConvReLU2d(_WithReLU, qat_conv.Conv2d):
    """`Conv2d` and `ReLU` with a weight that is fake quantized."""


class ConvReLU3d(_WithReLU, qat_conv.Conv3d):
    """`Conv3d` and `ReLU` with a weight that is fake quantized."""
