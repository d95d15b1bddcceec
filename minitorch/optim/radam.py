"""RAdam."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

from minitorch.ops.functions import zeros_like
from minitorch.optim.optimizer import Optimizer, check, check_lr, number, per_parameter

__all__ = ["RAdam"]


class RAdam(Optimizer):
    """Adam that trusts the mean square only once it has been seen enough (Liu et al., 2020).

    Parameters
    ----------
    params : iterable of Tensor or dict
    lr : float
    betas : tuple of float
    eps : float
    weight_decay : float
    decoupled_weight_decay : bool
        Shrink the parameters apart from the gradient, as `AdamW`.
    foreach, capturable, differentiable : bool
        Accepted for PyTorch's sake.
    maximize : bool
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(eps >= 0.0, f"Invalid epsilon value: {eps}")
        check(0.0 <= betas[0] < 1.0, f"Invalid beta parameter at index 0: {betas[0]}")
        check(0.0 <= betas[1] < 1.0, f"Invalid beta parameter at index 1: {betas[1]}")
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
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
        state["exp_avg_sq"] = zeros_like(parameter)
    state["step"].add_(1)
    step = state["step"].item()
    beta1, beta2 = group["betas"]
    lr, decay = group["lr"], group["weight_decay"]
    if decay != 0:
        if group["decoupled_weight_decay"]:
            parameter.mul_(1 - lr * decay)
        else:
            grad = grad.add(parameter, alpha=decay)
    mean, square = state["exp_avg"], state["exp_avg_sq"]
    mean.lerp_(grad, 1 - beta1)
    square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    corrected = mean / (1 - beta1**step)
    rest = 1 - beta2**step
    # The length of the simple moving average that the running mean approximates.
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * beta2**step / rest
    if length > 5.0:
        factor = sqrt(
            (length - 4) * (length - 2) * longest
            / ((longest - 4) * (longest - 2) * length)
        )  # fmt: skip
        root = square.sqrt().add_(group["eps"])
        parameter.add_(corrected.mul_(lr).mul_(sqrt(rest)).div_(root).mul_(factor), alpha=-1.0)
    else:
        parameter.add_(corrected.mul_(lr), alpha=-1.0)
