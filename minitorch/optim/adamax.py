"""Adamax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.ops.functions import maximum, zeros_like
from minitorch.optim.optimizer import Optimizer, check, check_lr, number, per_parameter

__all__ = ["Adamax"]


class Adamax(Optimizer):
    """Adam with a running maximum in place of the mean square (Kingma & Ba, 2015).

    Parameters
    ----------
    params : iterable of Tensor or dict
    lr : float
    betas : tuple of float
    eps : float
    weight_decay : float
    foreach, differentiable, capturable : bool
        Accepted for PyTorch's sake.
    maximize : bool
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check(eps >= 0.0, f"Invalid epsilon value: {eps}")
        check(0.0 <= betas[0] < 1.0, f"Invalid beta parameter at index 0: {betas[0]}")
        check(0.0 <= betas[1] < 1.0, f"Invalid beta parameter at index 1: {betas[1]}")
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable,
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
        state["exp_avg"] = zeros_like(parameter)
        state["exp_inf"] = zeros_like(parameter)
    state["step"].add_(1)
    beta1, beta2 = group["betas"]
    if group["weight_decay"] != 0:
        grad = grad.add(parameter, alpha=group["weight_decay"])
    mean, largest = state["exp_avg"], state["exp_inf"]
    mean.lerp_(grad, 1 - beta1)
    largest.copy_(maximum(largest * beta2, grad.abs().add_(group["eps"])))
    correction = 1 - beta1 ** state["step"].item()
    parameter.addcdiv_(mean, largest, value=-group["lr"] / correction)
