"""Convolutions with a weight that is fake quantized."""

from __future__ import annotations

from typing import Any

from minitorch import nn
from minitorch.ao.nn.intrinsic.modules.fused import ConvReLU1d, ConvReLU2d, ConvReLU3d
from minitorch.ao.nn.qat.modules.common import checked_float_module, required_qconfig

__all__ = ["Conv1d", "Conv2d", "Conv3d"]


class _ConvNd(nn.modules.conv._ConvNd):
    """What convolutions share whose weight is fake quantized; stands before the float class among the bases."""

    _FLOAT_MODULE: Any
    _FUSED_WITH_RELU: Any

    def __init__(self, *args: Any, qconfig: Any = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.qconfig = required_qconfig(qconfig, type(self).__name__)
        self.weight_fake_quant = qconfig.weight()

    def forward(self, input: Any) -> Any:
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the module for a float one, with the same parameters (not copies of them)."""
        checked_float_module(mod, cls, (cls._FLOAT_MODULE, cls._FUSED_WITH_RELU))
        conv = mod[0] if type(mod) is cls._FUSED_WITH_RELU else mod
        made = cls(
            conv.in_channels, conv.out_channels, conv.kernel_size, stride=conv.stride, padding=conv.padding,
            dilation=conv.dilation, groups=conv.groups, bias=conv.bias is not None, padding_mode=conv.padding_mode,
            qconfig=mod.qconfig,
        )  # fmt: skip
        made.weight, made.bias = conv.weight, conv.bias
        return made

    def to_float(self) -> Any:
        """Return the float module, with `ReLU` behind it if this one has."""
        conv = self._FLOAT_MODULE(
            self.in_channels, self.out_channels, self.kernel_size, self.stride, self.padding, self.dilation, self.groups,
            self.bias is not None, self.padding_mode,
        )  # fmt: skip
        conv.weight = nn.Parameter(self.weight.detach())
        if self.bias is not None:
            conv.bias = nn.Parameter(self.bias.detach())
        return conv


class Conv1d(_ConvNd, nn.Conv1d):
    """`nn.Conv1d` with a weight that is fake quantized; takes its arguments, and a `qconfig`."""

    _FLOAT_MODULE = nn.Conv1d
    _FUSED_WITH_RELU = ConvReLU1d


class Conv2d(_ConvNd, nn.Conv2d):
    """`nn.Conv2d` with a weight that is fake quantized; takes its arguments, and a `qconfig`."""

    _FLOAT_MODULE = nn.Conv2d
    _FUSED_WITH_RELU = ConvReLU2d


class Conv3d(_ConvNd, nn.Conv3d):
    """`nn.Conv3d` with a weight that is fake quantized; takes its arguments, and a `qconfig`."""

    _FLOAT_MODULE = nn.Conv3d
    _FUSED_WITH_RELU = ConvReLU3d
