"""NAdam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.ops.functions import zeros_like
from minitorch.optim.optimizer import Optimizer, check, check_lr, number, per_parameter

__all__ = ["NAdam"]


class NAdam(Optimizer):
    """Adam with Nesterov momentum (Dozat, 2016).

    Parameters
    ----------
    params : iterable of Tensor or dict
    lr : float
    betas : tuple of float
    eps : float
    weight_decay : float
    momentum_decay : float
        How fast the momentum approaches its full value.
    decoupled_weight_decay : bool
        Shrink the parameters apart from the gradient, as `AdamW`.
    foreach, capturable, differentiable : bool
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
        momentum_decay: float = 4e-3,
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
        check(momentum_decay >= 0.0, f"Invalid momentum_decay value: {momentum_decay}")
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable,
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
        state["mu_product"] = number(1.0)
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
    now = beta1 * (1.0 - 0.5 * 0.96 ** (step * group["momentum_decay"]))
    then = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * group["momentum_decay"]))
    product = state["mu_product"].mul_(now).item()
    mean, square = state["exp_avg"], state["exp_avg_sq"]
    mean.lerp_(grad, 1 - beta1)
    square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    root = square.div(1 - beta2**step).sqrt_().add_(group["eps"])
    parameter.addcdiv_(grad, root, value=-lr * (1.0 - now) / (1.0 - product))
    parameter.addcdiv_(mean, root, value=-lr * then / (1.0 - product * then))
