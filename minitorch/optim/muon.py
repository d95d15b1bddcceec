"""Muon."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minitorch.ops.functions import zeros_like
from minitorch.optim.optimizer import Optimizer, check, per_parameter
from minitorch.tensor.base import TensorBase

__all__ = ["Muon"]

_ADJUSTMENTS: dict[str | None, Callable[[int, int], float]] = {
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
}
_ADJUSTMENTS[None] = _ADJUSTMENTS["original"]


class Muon(Optimizer):
    """Momentum steps whose matrices are made nearly orthogonal (Jordan et al., 2024; Liu et al., 2025).

    For the weight matrices of hidden layers; biases, embeddings and the like need another optimizer.

    Parameters
    ----------
    params : iterable of Tensor or dict
        Matrices: tensors of two dimensions.
    lr, weight_decay, momentum : float
        The decay is decoupled, as AdamW's.
    nesterov : bool
    ns_coefficients : tuple of float
        Those of the polynomial of the Newton-Schulz iteration: of x, x^3 and x^5.
    eps : float
        The least norm that a matrix is divided by before the iteration.
    ns_steps : int
        How often the polynomial is applied; less than 100.
    adjust_lr_fn : {"original", "match_rms_adamw"}, optional
        How the learning rate depends on the shape: ``sqrt(max(1, rows / columns))``, which is the default, or
        ``0.2 * sqrt(max(rows, columns))``, with which learning rates that were found for AdamW can be used.

    Raises
    ------
    ValueError
        For options out of range, and parameters that are no matrices.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, TensorBase) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        check(lr >= 0.0, f"Learning rate should be >= 0 but is: {lr}")
        check(momentum >= 0.0, f"momentum should be >= 0 but is: {momentum}")
        check(weight_decay >= 0.0, f"weight decay should be >= 0 but is: {weight_decay}")
        check(
            adjust_lr_fn in _ADJUSTMENTS,
            f"Adjust learning rate function {adjust_lr_fn} is not supported; use one of 'original', 'match_rms_adamw'",
        )
        check(len(ns_coefficients) == 3, f"ns_coefficients must be 3 numbers, but are {ns_coefficients}")
        check(ns_steps < 100, f"ns_steps must be less than 100, but is {ns_steps}")
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of matrices, a dictionary with ``"params"`` and options."""
        super().add_param_group(param_group)
        for parameter in self.param_groups[-1]["params"]:
            if parameter.ndim != 2:
                del self.param_groups[-1]
                raise ValueError(
                    f"Muon only supports 2D parameters whereas we found a parameter with size: {parameter.size()}. Give "
                    "the others to an optimizer such as AdamW"
                )

    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; return the loss of `closure`."""
        loss = self._loss_of(closure)
        per_parameter(self, _update, as_real=False)
        return loss


def orthogonalized(matrix: Any, coefficients: tuple[float, float, float], steps: int, eps: float) -> Any:
    """Return a matrix with the singular vectors of another, and singular values near 1, in bfloat16."""
    a, b, c = coefficients
    result = matrix.bfloat16()
    is_tall = matrix.shape[0] > matrix.shape[1]
    if is_tall:
        result = result.T
    result = result.div(result.norm().clamp(min=eps))
    for _ in range(steps):
        gram = result @ result.T
        result = result.addmm(gram.addmm(gram, gram, beta=b, alpha=c), result, beta=a)
    return result.T if is_tall else result


def _update(parameter: Any, grad: Any, state: dict, group: dict) -> None:
    if parameter.is_complex():
        raise ValueError("Complex parameters are not supported")
    if not state:
        state["momentum_buffer"] = zeros_like(grad)
    average = state["momentum_buffer"]
    average.lerp_(grad, 1 - group["momentum"])
    direction = grad.lerp(average, group["momentum"]) if group["nesterov"] else average
    direction = orthogonalized(direction, group["ns_coefficients"], group["ns_steps"], group["eps"])
    lr = float(group["lr"])
    parameter.mul_(1 - lr * group["weight_decay"])
    parameter.add_(direction, alpha=-lr * _ADJUSTMENTS[group["adjust_lr_fn"]](*parameter.shape))
