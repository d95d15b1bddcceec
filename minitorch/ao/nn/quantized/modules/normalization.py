"""Normalizations of quantized numbers that need no running statistics."""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch import nn
from minitorch.ao.nn.quantized.modules.utils import output_qparams

__all__ = ["GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm"]


def _set(module: Any, weight: Any, bias: Any, scale: float, zero_point: int) -> None:
    module.weight, module.bias = weight, bias
    module.register_buffer("scale", minitorch.tensor(float(scale)))
    module.register_buffer("zero_point", minitorch.tensor(int(zero_point)))


class LayerNorm(nn.LayerNorm):
    """`nn.LayerNorm` of quantized numbers.

    Parameters
    ----------
    normalized_shape : tuple of int
    weight, bias : Parameter or None
        In floating point.
    scale, zero_point : float, int
        Of the result.
    eps : float
    """

    scale: Any
    zero_point: Any

    def __init__(
        self, normalized_shape: Any, weight: Any, bias: Any, scale: float, zero_point: int, eps: float = 1e-5,
        elementwise_affine: bool = True, device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__(normalized_shape, eps, elementwise_affine, device=device, dtype=dtype)
        _set(self, weight, bias, scale, zero_point)

    def forward(self, input: Any) -> Any:
        return minitorch.ops.quantized.layer_norm(
            input,
            list(self.normalized_shape),
            self.weight,
            self.bias,
            self.eps,
            float(self.scale),
            int(self.zero_point),
        )

    def _get_name(self) -> str:
        return "QuantizedLayerNorm"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> LayerNorm:
        """Return the module for a prepared float one."""
        qparams = output_qparams(mod, "LayerNorm")
        return cls(mod.normalized_shape, mod.weight, mod.bias, *qparams, mod.eps, mod.elementwise_affine)


class GroupNorm(nn.GroupNorm):
    """`nn.GroupNorm` of quantized numbers.

    Parameters
    ----------
    num_groups, num_channels : int
    weight, bias : Parameter or None
        In floating point.
    scale, zero_point : float, int
        Of the result.
    eps : float
    """

    scale: Any
    zero_point: Any

    def __init__(
        self, num_groups: int, num_channels: int, weight: Any, bias: Any, scale: float, zero_point: int, eps: float = 1e-5,
        affine: bool = True, device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__(num_groups, num_channels, eps, affine, device=device, dtype=dtype)
        _set(self, weight, bias, scale, zero_point)

    def forward(self, input: Any) -> Any:
        return minitorch.ops.quantized.group_norm(
            input, self.num_groups, self.weight, self.bias, self.eps, float(self.scale), int(self.zero_point)
        )

    def _get_name(self) -> str:
        return "QuantizedGroupNorm"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> GroupNorm:
        """Return the module for a prepared float one."""
        qparams = output_qparams(mod, "GroupNorm")
        return cls(mod.num_groups, mod.num_channels, mod.weight, mod.bias, *qparams, mod.eps, mod.affine)


class _InstanceNorm:
    """What instance normalizations share; stands before the float class among the bases."""

    scale: Any
    zero_point: Any
    weight: Any
    bias: Any
    eps: float

    def __init__(
        self, num_features: int, weight: Any, bias: Any, scale: float, zero_point: int, eps: float = 1e-5,
        momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False, device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype)  # type: ignore[call-arg]
        _set(self, weight, bias, scale, zero_point)

    def forward(self, input: Any) -> Any:
        return minitorch.ops.quantized.instance_norm(
            input, self.weight, self.bias, self.eps, float(self.scale), int(self.zero_point)
        )

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the module for a prepared float one."""
        qparams = output_qparams(mod, cls.__name__)
        return cls(mod.num_features, mod.weight, mod.bias, *qparams, mod.eps, affine=mod.affine)


class InstanceNorm1d(_InstanceNorm, nn.InstanceNorm1d):
    """`nn.InstanceNorm1d` of quantized numbers."""


class InstanceNorm2d(_InstanceNorm, nn.InstanceNorm2d):
    """`nn.InstanceNorm2d` of quantized numbers."""


class InstanceNorm3d(_InstanceNorm, nn.InstanceNorm3d):
    """`nn.InstanceNorm3d` of quantized numbers."""
