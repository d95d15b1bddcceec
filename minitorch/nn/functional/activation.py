"""Activation functions."""

from __future__ import annotations

import warnings
from typing import Any

from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid",
    "hardswish", "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax",
    "logsigmoid", "mish", "prelu", "relu", "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_",
    "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh",
    "tanhshrink", "threshold", "threshold_",
]  # fmt: skip

gelu = F.gelu
glu_operator = F.glu
hardshrink = F.hardshrink
hardtanh_ = F.hardtanh_
celu_ = F.celu_
elu_ = F.elu_
leaky_relu_ = F.leaky_relu_
logsigmoid = F.log_sigmoid
prelu = F.prelu
relu_ = F.relu_
rrelu_ = F.rrelu_
selu_ = F.selu_
softplus = F.softplus
softshrink = F.softshrink
threshold_ = F.threshold_

_relu = F.relu
_softmax = F.softmax
_log_softmax = F.log_softmax


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``max(input, 0)``, elementwise.

    Parameters
    ----------
    input : Tensor
    inplace : bool
        Write the result into `input`.
    """
    return relu_(input) if inplace else _relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``min(max(input, 0), 6)``, elementwise."""
    return F.relu6_(input) if inplace else F.relu6(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Return `input` where it exceeds `threshold`, and `value` elsewhere."""
    if inplace:
        return F.threshold_(input, threshold, value)
    return F.threshold(input, threshold, value)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return `input` where it is positive and ``alpha * (exp(input) - 1)`` elsewhere."""
    return F.elu_(input, alpha) if inplace else F.elu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return the scaled exponential linear unit (Klambauer et al., 2017)."""
    return F.selu_(input) if inplace else F.selu(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return `input` where it is positive and ``alpha * (exp(input / alpha) - 1)`` elsewhere."""
    return F.celu_(input, alpha) if inplace else F.celu(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return `input` where it is positive and ``negative_slope * input`` elsewhere."""
    if inplace:
        return F.leaky_relu_(input, negative_slope)
    return F.leaky_relu(input, negative_slope)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Return the leaky relu with a slope drawn from [lower, upper) for each negative element.

    Outside training the slope is the middle of the interval.
    """
    if inplace:
        return F.rrelu_(input, lower, upper, training)
    return F.rrelu(input, lower, upper, training)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return the first half of `input` along `dim` times the sigmoid of the second half."""
    if input.dim() == 0:
        raise RuntimeError(
            "glu does not support scalars because halving size must be even"
        )
    return glu_operator(input, dim)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Return `input` limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if inplace:
        return F.hardtanh_(input, min_val, max_val)
    return F.hardtanh(input, min_val, max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``relu6(input + 3) / 6``."""
    return F.hardsigmoid_(input) if inplace else F.hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * relu6(input + 3) / 6``."""
    return F.hardswish_(input) if inplace else F.hardswish(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * sigmoid(input)``, the swish function."""
    return F.silu_(input) if inplace else F.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * tanh(softplus(input))`` (Misra, 2019)."""
    return F.mish_(input) if inplace else F.mish(input)


def softsign(input: Tensor) -> Tensor:
    """Return ``input / (1 + abs(input))``."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """Return ``input - tanh(input)``."""
    return input - input.tanh()


def tanh(input: Tensor) -> Tensor:
    """Return the hyperbolic tangent."""
    return input.tanh()


def sigmoid(input: Tensor) -> Tensor:
    """Return ``1 / (1 + exp(-input))``."""
    return input.sigmoid()


def _implicit_dim(name: str, ndim: int) -> int:
    """Return the dimension that an omitted `dim` means; deprecated."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Return ``exp(input)`` scaled to sum to 1 along `dim`.

    Parameters
    ----------
    input : Tensor
    dim : int
    dtype : dtype, optional
        `input` is cast to it first.
    """
    if dim is None:
        dim = _implicit_dim("softmax", input.dim())
    return _softmax(input, dim) if dtype is None else _softmax(input, dim, dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Return the softmax of ``-input``."""
    if dim is None:
        dim = _implicit_dim("softmin", input.dim())
    return _softmax(-input, dim) if dtype is None else _softmax(-input, dim, dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Return the logarithm of the softmax along `dim`, without overflow."""
    if dim is None:
        dim = _implicit_dim("log_softmax", input.dim())
    return _log_softmax(input, dim) if dtype is None else _log_softmax(input, dim, dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """Return a sample of the Gumbel-softmax distribution (Jang et al., 2017).

    Parameters
    ----------
    logits : Tensor
        Unnormalized logarithms of probabilities.
    tau : float
        Temperature.
    hard : bool
        Return one-hot vectors, whose gradient is that of the soft sample.
    """
    noise = -F.empty_like(logits).exponential_().log()
    soft = _softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = F.zeros_like(logits).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft
