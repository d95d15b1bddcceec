"""Averaged stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.ops.functions import zeros_like
from minitorch.optim.optimizer import Optimizer, check, check_lr, number, per_parameter

__all__ = ["ASGD"]


class ASGD(Optimizer):
    """Gradient descent that also averages the parameters (Polyak & Juditsky, 1992).

    Parameters
    ----------
    params : iterable of Tensor or dict
    lr, lambd, alpha : float
        The learning rate, its decay, and the power of that.
    t0 : float
        The step at which averaging starts.
    weight_decay : float
    foreach, differentiable, capturable : bool
        Accepted for PyTorch's sake.
    maximize : bool
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
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
        state["eta"] = number(float(group["lr"]))
        state["mu"] = number(1.0)
        state["ax"] = zeros_like(parameter)
    state["step"].add_(1)
    step = state["step"].item()
    if group["weight_decay"] != 0:
        grad = grad.add(parameter, alpha=group["weight_decay"])
    eta, mu, average = state["eta"].item(), state["mu"].item(), state["ax"]
    parameter.mul_(1 - group["lambd"] * eta)
    parameter.add_(grad, alpha=-eta)
    if mu == 1:
        average.copy_(parameter)
    else:
        average.add_(parameter.sub(average).mul_(mu))
    lr = group["lr"]
    state["eta"].fill_(lr / (1 + group["lambd"] * lr * step) ** group["alpha"])
    state["mu"].fill_(1 / max(1, step - group["t0"]))
