"""Adadelta."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.ops.functions import zeros_like
from minitorch.optim.optimizer import Optimizer, check, check_lr, number, per_parameter

__all__ = ["Adadelta"]


class Adadelta(Optimizer):
    """Steps in the ratio of running root mean squares of steps and gradients (Zeiler, 2012).

    Parameters
    ----------
    params : iterable of Tensor or dict
    lr : float
    rho : float
        The share of the mean squares that is kept.
    eps : float
    weight_decay : float
    foreach, capturable, differentiable : bool
        Accepted for PyTorch's sake.
    maximize : bool
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(0.0 <= rho <= 1.0, f"Invalid rho value: {rho}")
        check(eps >= 0.0, f"Invalid epsilon value: {eps}")
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; return the loss of `closure`."""
        loss = self._loss_of(closure)
        per_parameter(self, _update)
        return loss


def _update(parameter: Any, grad: Any, state: dict, group: dict) -> None:
    if not state:
        state["step"] = number(0.0)
        state["square_avg"] = zeros_like(parameter)
        state["acc_delta"] = zeros_like(parameter)
    state["step"].add_(1)
    rho, eps = group["rho"], group["eps"]
    if group["weight_decay"] != 0:
        grad = grad.add(parameter, alpha=group["weight_decay"])
    square, steps = state["square_avg"], state["acc_delta"]
    square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
    delta = steps.add(eps).sqrt_().div_(square.add(eps).sqrt_()).mul_(grad)
    steps.mul_(rho).addcmul_(delta, delta, value=1 - rho)
    parameter.add_(delta, alpha=-group["lr"])
