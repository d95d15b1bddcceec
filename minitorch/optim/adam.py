"""Adam."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

from minitorch.ops.functions import maximum, zeros_like
from minitorch.optim.fused import adam_step, fusable
from minitorch.optim.optimizer import Optimizer, check, check_lr, number, per_parameter

__all__ = ["Adam"]


class Adam(Optimizer):
    """Steps scaled by running means of the gradient and its square (Kingma & Ba, 2015).

    Parameters
    ----------
    params : iterable of Tensor or dict
    lr : float
        The learning rate.
    betas : tuple of float
        The shares of the running means that are kept.
    eps : float
        Added to the root mean square.
    weight_decay : float
        A factor of the parameter added to its gradient.
    amsgrad : bool
        Divide by the largest mean square so far (Reddi et al., 2018).
    maximize : bool
    foreach, capturable, differentiable, fused : bool
        Accepted for PyTorch's sake; `fused` False updates by single operators.
    decoupled_weight_decay : bool
        Shrink the parameters apart from the gradient, as `AdamW`.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_lr(lr)
        check(eps >= 0.0, f"Invalid epsilon value: {eps}")
        check(0.0 <= betas[0] < 1.0, f"Invalid beta parameter at index 0: {betas[0]}")
        check(0.0 <= betas[1] < 1.0, f"Invalid beta parameter at index 1: {betas[1]}")
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("amsgrad", False)
            group.setdefault("maximize", False)
            group.setdefault("foreach", None)
            group.setdefault("capturable", False)
            group.setdefault("differentiable", False)
            group.setdefault("decoupled_weight_decay", False)
            group.setdefault("fused", None)

    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; return the loss of `closure`."""
        loss = self._loss_of(closure)
        if fusable(self):
            adam_step(self)
        else:
            per_parameter(self, _update)
        return loss


def _update(parameter: Any, grad: Any, state: dict, group: dict) -> None:
    amsgrad = group["amsgrad"]
    if not state:
        state["step"] = number(0.0)
        state["exp_avg"] = zeros_like(parameter)
        state["exp_avg_sq"] = zeros_like(parameter)
        if amsgrad:
            state["max_exp_avg_sq"] = zeros_like(parameter)
    mean, square = state["exp_avg"], state["exp_avg_sq"]
    beta1, beta2 = group["betas"]
    lr = group["lr"]
    state["step"].add_(1)
    step = state["step"].item()
    if group["weight_decay"] != 0:
        if group["decoupled_weight_decay"]:
            parameter.mul_(1 - lr * group["weight_decay"])
        else:
            grad = grad.add(parameter, alpha=group["weight_decay"])
    mean.lerp_(grad, 1 - beta1)
    square.mul_(beta2).addcmul_(grad, grad.conj(), value=1 - beta2)
    if amsgrad:
        state["max_exp_avg_sq"].copy_(maximum(state["max_exp_avg_sq"], square))
        square = state["max_exp_avg_sq"]
    root = (square.sqrt() / sqrt(1 - beta2**step)).add_(group["eps"])
    parameter.addcdiv_(mean, root, value=-lr / (1 - beta1**step))
