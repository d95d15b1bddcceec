"""Dropout."""

from __future__ import annotations

from minitorch.nn import functional as F
from minitorch.nn.modules.module import Module
from minitorch.tensor.tensor import Tensor

__all__ = [
    "AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout",
]  # fmt: skip


class _DropoutNd(Module):
    __constants__ = ["p", "inplace"]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Sets elements to zero at random while training, and scales up the rest.

    Parameters
    ----------
    p : float
        The probability of zero.
    inplace : bool
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with elements dropped."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Sets whole channels of sequences to zero at random while training."""

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with channels dropped."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Sets whole channels of images to zero at random while training."""

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with channels dropped."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Sets whole channels of volumes to zero at random while training."""

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with channels dropped."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Drops elements so that mean and variance stay (Klambauer et al., 2017)."""

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with elements dropped."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """Drops whole channels as `AlphaDropout` does elements."""

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with channels dropped."""
        return F.feature_alpha_dropout(input, self.p, self.training)
