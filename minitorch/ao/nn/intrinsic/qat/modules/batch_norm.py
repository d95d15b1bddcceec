"""What layers share whose batch norm is folded into their weight while they are trained.

Note [Folding while training]
    What is fake quantized is the weight with the norm folded in, by the running statistics, as this is what the converted
    model will have: ``w * gamma / running_std``.  The batch norm still is to see what the layer returns without
    it, to gather its statistics; so the result is divided by ``gamma / running_std`` again, and the bias added.
"""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch.nn.modules.module import Module


def folded_scale(bn: Any) -> Any:
    """Return what batch norm multiplies each channel with, by its running statistics."""
    return bn.weight / minitorch.sqrt(bn.running_var + bn.eps)


class FrozenBatchNorm:
    """The part of such layers that says whether their batch norm gathers statistics; stands before `Module` among the bases."""

    bn: Any
    freeze_bn: bool
    training: bool

    def _start(self, freeze_bn: bool) -> None:
        self.freeze_bn = freeze_bn if self.training else True
        if self.training and freeze_bn:
            self.freeze_bn_stats()
        elif self.training:
            self.update_bn_stats()
        else:
            self.freeze_bn_stats()

    def update_bn_stats(self) -> Any:
        """Gather statistics from now on; return the module."""
        self.freeze_bn = False
        self.bn.training = True
        return self

    def freeze_bn_stats(self) -> Any:
        """Use the running statistics as they are from now on; return the module."""
        self.freeze_bn = True
        self.bn.training = False
        return self

    def train(self, mode: bool = True) -> Any:
        """Train, with the batch norm as it is frozen or not."""
        self.training = mode
        if not self.freeze_bn:
            for module in self.children():  # type: ignore[attr-defined]
                module.train(mode)
        return self


def take_batch_norm(target: Any, source: Any) -> None:
    """Give a batch norm the parameters and statistics of another one, not copies of them."""
    for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
        setattr(target, name, getattr(source, name))


def update_bn_stats(mod: Module) -> None:
    """Make a module with a folded batch norm gather statistics: ``model.apply(update_bn_stats)``."""
    if isinstance(mod, FrozenBatchNorm):
        mod.update_bn_stats()


def freeze_bn_stats(mod: Module) -> None:
    """Make a module with a folded batch norm keep its statistics: ``model.apply(freeze_bn_stats)``."""
    if isinstance(mod, FrozenBatchNorm):
        mod.freeze_bn_stats()
