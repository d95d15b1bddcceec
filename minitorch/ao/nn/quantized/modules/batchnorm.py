"""Batch normalization of quantized numbers."""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch import nn
from minitorch.ao.nn import intrinsic as nni
from minitorch.ao.nn.quantized.modules.utils import output_qparams

__all__ = ["BatchNorm2d", "BatchNorm3d"]


class _BatchNorm(nn.modules.batchnorm._BatchNorm):
    """What batch normalizations share, by running statistics.

    Parameters
    ----------
    num_features : int
    eps, momentum : float

    Attributes
    ----------
    scale, zero_point : Tensor, shape ()
        Of the result.
    """

    scale: Any
    zero_point: Any
    _rank: int
    _operator: str

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, device: Any = None, dtype: Any = None
    ):
        super().__init__(num_features, eps, momentum, True, True, device=device, dtype=dtype)
        self.register_buffer("scale", minitorch.tensor(1.0, device=device))
        self.register_buffer("zero_point", minitorch.tensor(0, device=device))

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() != self._rank:
            raise ValueError(
                f"{type(self).__name__}: Input shape must have {self._rank} dimensions, not {tuple(input.shape)}"
            )

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        return getattr(minitorch.ops.quantized, self._operator)(
            input, self.weight, self.bias, self.running_mean, self.running_var, self.eps, float(self.scale),
            int(self.zero_point),
        )  # fmt: skip

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the module for a prepared float one."""
        scale, zero_point = output_qparams(mod, cls.__name__)
        bn = mod[0] if isinstance(mod, nni._FusedModule) else mod
        made = cls(bn.num_features, bn.eps)
        made.weight, made.bias = bn.weight, bn.bias
        made.running_mean, made.running_var = bn.running_mean, bn.running_var
        made.scale, made.zero_point = minitorch.tensor(scale), minitorch.tensor(zero_point)
        return made


class BatchNorm2d(_BatchNorm):
    """`nn.BatchNorm2d` of quantized numbers, by its running statistics."""

    _rank = 4
    _operator = "batch_norm2d"


class BatchNorm3d(_BatchNorm):
    """`nn.BatchNorm3d` of quantized numbers, by its running statistics."""

    _rank = 5
    _operator = "batch_norm3d"
