"""RMSprop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.ops.functions import zeros_like
from minitorch.optim.optimizer import Optimizer, check, check_lr, number, per_parameter

__all__ = ["RMSprop"]


class RMSprop(Optimizer):
    """Steps divided by a running root mean square of the gradient (Hinton, 2012).

    Parameters
    ----------
    params : iterable of Tensor or dict
    lr : float
    alpha : float
        The share of the mean square that is kept.
    eps : float
        Added to the root mean square.
    weight_decay, momentum : float
    centered : bool
        Use the variance in place of the mean square.
    capturable, foreach, differentiable : bool
        Accepted for PyTorch's sake.
    maximize : bool
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(eps >= 0.0, f"Invalid epsilon value: {eps}")
        check(momentum >= 0.0, f"Invalid momentum value: {momentum}")
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        check(alpha >= 0.0, f"Invalid alpha value: {alpha}")
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable,
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
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(parameter)
        if group["centered"]:
            state["grad_avg"] = zeros_like(parameter)
    state["step"].add_(1)
    alpha = group["alpha"]
    if group["weight_decay"] != 0:
        grad = grad.add(parameter, alpha=group["weight_decay"])
    square = state["square_avg"]
    square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
    if group["centered"]:
        mean = state["grad_avg"]
        mean.lerp_(grad, 1 - alpha)
        root = square.addcmul(mean, mean, value=-1).sqrt_()
    else:
        root = square.sqrt()
    root.add_(group["eps"])
    if group["momentum"] > 0:
        buffer = state["momentum_buffer"]
        buffer.mul_(group["momentum"]).addcdiv_(grad, root)
        parameter.add_(buffer, alpha=-group["lr"])
    else:
        parameter.addcdiv_(grad, root, value=-group["lr"])
