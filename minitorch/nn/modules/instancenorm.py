"""Instance normalization."""

from __future__ import annotations

import warnings
from typing import Any

from minitorch.nn import functional as F
from minitorch.nn.modules.batchnorm import _NormBase
from minitorch.tensor.tensor import Tensor

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _InstanceNorm(_NormBase):
    _dimensions: int

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _check_input_dim(self, input: Tensor) -> None:
        d = self._dimensions
        if input.dim() not in (d + 1, d + 2):
            raise ValueError(f"expected {d + 1}D or {d + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` normalized within each channel of each example."""
        self._check_input_dim(input)
        unbatched = input.dim() == self._dimensions + 1
        channels = input.size(0 if unbatched else 1)
        if channels != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={0 if unbatched else 1} to match num_features "
                    f"({self.num_features}), but got: {channels}."
                )
            warnings.warn(
                f"input's size at dim={0 if unbatched else 1} does not match num_features. You "
                "can silence this warning by not passing in num_features, which is not used "
                "because affine=False",
                stacklevel=2,
            )
        if unbatched:
            return self._normalized(input.unsqueeze(0)).squeeze(0)
        return self._normalized(input)

    def _normalized(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0, self.eps,
        )  # fmt: skip


class InstanceNorm1d(_InstanceNorm):
    """Normalization of each channel of each sequence (Ulyanov et al., 2016).

    Parameters
    ----------
    num_features : int
    eps, momentum : float
    affine, track_running_stats : bool
        Both False, other than in batch normalization.
    """

    _dimensions = 1


class InstanceNorm2d(_InstanceNorm):
    """Normalization of each channel of each image; parameters as for `InstanceNorm1d`."""

    _dimensions = 2


class InstanceNorm3d(_InstanceNorm):
    """Normalization of each channel of each volume; parameters as for `InstanceNorm1d`."""

    _dimensions = 3
