"""`Linear` with batch norm whose weight is fake quantized."""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch import nn
from minitorch.ao.nn.intrinsic.modules import fused
from minitorch.ao.nn.intrinsic.qat.modules.batch_norm import FrozenBatchNorm, folded_scale, take_batch_norm
from minitorch.ao.nn.qat.modules.common import checked_float_module, required_qconfig
from minitorch.nn import functional as F
from minitorch.nn.utils.fusion import fuse_linear_bn_weights

__all__ = ["LinearBn1d"]


class LinearBn1d(FrozenBatchNorm, nn.Linear):
    """A linear map and its batch norm: see `batch_norm`, Note [Folding while training].

    Parameters
    ----------
    in_features, out_features : int
    bias : bool
    eps, momentum : float
        Of the batch norm.
    freeze_bn : bool
        Use the running statistics as they are.
    qconfig : QConfig
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, eps: float = 1e-05, momentum: float = 0.1,
        freeze_bn: bool = False, qconfig: Any = None,
    ):  # fmt: skip
        super().__init__(in_features, out_features, bias)
        self.qconfig = required_qconfig(qconfig, type(self).__name__)
        self.bn = nn.BatchNorm1d(out_features, eps, momentum, True, True)
        self.weight_fake_quant = qconfig.weight()
        self._start(freeze_bn)

    def forward(self, input: Any) -> Any:
        scale = folded_scale(self.bn)
        weight = self.weight_fake_quant(self.weight * scale.reshape([-1, 1]))
        bias = minitorch.zeros(self.out_features, device=weight.device, dtype=weight.dtype)
        result = F.linear(input, weight, bias) / scale.reshape([1, -1])
        if self.bias is not None:
            result = result + self.bias.reshape([1, -1])
        return self.bn(result)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the module for a fused float one, with the same parameters (not copies of them)."""
        checked_float_module(mod, cls, (fused.LinearBn1d,))
        linear, bn = mod[0], mod[1]
        made = cls(
            linear.in_features, linear.out_features, linear.bias is not None, bn.eps, bn.momentum, False, mod.qconfig
        )
        made.weight, made.bias = linear.weight, linear.bias
        take_batch_norm(made.bn, bn)
        return made

    def to_float(self) -> nn.Linear:
        """Return the float linear map with the batch norm folded in."""
        linear, bn = nn.Linear(self.in_features, self.out_features), self.bn
        linear.weight, linear.bias = fuse_linear_bn_weights(
            self.weight.detach(), None if self.bias is None else self.bias.detach(), bn.running_mean, bn.running_var,
            bn.eps, bn.weight.detach(), bn.bias.detach(),
        )  # fmt: skip
        return linear
