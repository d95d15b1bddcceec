"""Resilient backpropagation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.ops.functions import full_like, where, zeros_like
from minitorch.optim.optimizer import Optimizer, check, check_lr, number, per_parameter

__all__ = ["Rprop"]


class Rprop(Optimizer):
    """Steps of sizes that grow while the gradient's sign stays (Riedmiller & Braun, 1993).

    Parameters
    ----------
    params : iterable of Tensor or dict
    lr : float
        The first step size.
    etas : tuple of float
        The factors of the step size where the sign changes, and where it stays.
    step_sizes : tuple of float
        The least and the largest step size.
    capturable, foreach, differentiable : bool
        Accepted for PyTorch's sake.
    maximize : bool
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(0.0 < etas[0] < 1.0 < etas[1], f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
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
        state["prev"] = zeros_like(parameter)
        state["step_size"] = full_like(parameter, float(group["lr"])).detach()
    state["step"].add_(1)
    shrink, grow = group["etas"]
    least, largest = group["step_sizes"]
    sign = grad.mul(state["prev"]).sign()
    factor = where(sign > 0, grow, where(sign < 0, shrink, 1.0)).to(parameter.dtype)
    size = state["step_size"]
    size.mul_(factor).clamp_(least, largest)
    # Where the sign changed the last step went too far: wait for the next gradient.
    grad = where(sign < 0, 0.0, grad)
    parameter.addcmul_(grad.sign(), size, value=-1)
    state["prev"].copy_(grad)
