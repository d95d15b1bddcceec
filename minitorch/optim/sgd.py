"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.optim.fused import fusable, sgd_step
from minitorch.optim.optimizer import Optimizer, check, check_lr, per_parameter

__all__ = ["SGD"]


class SGD(Optimizer):
    """Gradient descent, with momentum.

    A sparse gradient changes the rows that it has entries for; its momentum is sparse too.  With `weight_decay` it is an
    error: the sum would be dense.

    Parameters
    ----------
    params : iterable of Tensor or dict
    lr : float
        The learning rate.
    momentum : float
        The share of the last step that is kept.
    dampening : float
        What the new gradient lacks in the momentum.
    weight_decay : float
        A factor of the parameter added to its gradient.
    nesterov : bool
        Look ahead along the momentum (Sutskever et al., 2013).
    maximize : bool
        Go up, not down.
    foreach, differentiable, fused : bool
        Accepted for PyTorch's sake; `fused` False updates by single operators.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check(momentum >= 0.0, f"Invalid momentum value: {momentum}")
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("nesterov", False)
            group.setdefault("maximize", False)
            group.setdefault("foreach", None)
            group.setdefault("differentiable", False)
            group.setdefault("fused", None)

    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; return the loss of `closure`."""
        loss = self._loss_of(closure)
        if fusable(self):
            sgd_step(self)
        else:
            per_parameter(self, _update, sparse=True)
        return loss


def _update(parameter: Any, grad: Any, state: dict, group: dict) -> None:
    if group["weight_decay"] != 0:
        grad = grad.add(parameter, alpha=group["weight_decay"])
    momentum = group["momentum"]
    if momentum != 0:
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = state["momentum_buffer"] = grad.clone().detach()
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
        grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
    parameter.add_(grad, alpha=-group["lr"])
