"""Dropout."""

from __future__ import annotations

import warnings

from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = [
    "alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
]  # fmt: skip

_dropout = F.dropout


def _check(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Return `input` with elements set to zero with probability `p`, the rest scaled up.

    Outside training it returns `input`.
    """
    _check(p)
    return F.dropout_(input, p, training) if inplace else _dropout(input, p, training)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Return `input` with elements dropped so that mean and variance stay (for selu)."""
    _check(p)
    if inplace:
        return F.alpha_dropout_(input, p, training)
    return F.alpha_dropout(input, p, training)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Return `input` with whole channels dropped as in `alpha_dropout`."""
    _check(p)
    if inplace:
        return F.feature_alpha_dropout_(input, p, training)
    return F.feature_alpha_dropout(input, p, training)


def _feature(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    if inplace:
        return F.feature_dropout_(input, p, training)
    return F.feature_dropout(input, p, training)


def _check_dim(input: Tensor, name: str, allowed: tuple[int, int]) -> None:
    if input.dim() not in allowed:
        warnings.warn(
            f"{name}: Received a {input.dim()}-D input to {name}, which is deprecated and will "
            f"result in an error in a future release. Note that {name} exists to provide channel-"
            f"wise dropout on inputs with {allowed[1] - 2} spatial dimensions, a channel "
            "dimension, and an optional batch dimension.",
            stacklevel=3,
        )


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Return `input` with whole channels of sequences set to zero."""
    _check(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input"
        )
    if input.dim() == 3:
        return _feature(input, p, training, inplace)
    batched = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = _feature(batched, p, training, inplace)
    return result.squeeze_(0) if inplace else result.squeeze(0)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Return `input` with whole channels of images set to zero."""
    _check(p)
    _check_dim(input, "dropout2d", (3, 4))
    return _feature(input, p, training, inplace)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Return `input` with whole channels of volumes set to zero."""
    _check(p)
    _check_dim(input, "dropout3d", (4, 5))
    return _feature(input, p, training, inplace)
