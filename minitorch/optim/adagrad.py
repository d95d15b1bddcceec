"""Adagrad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.ops.functions import full_like
from minitorch.optim.optimizer import Optimizer, check, check_lr, number, per_parameter, with_values

__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """Steps divided by the root of the summed squares of gradients (Duchi et al., 2011).

    A sparse gradient changes what it has entries for.

    Parameters
    ----------
    params : iterable of Tensor or dict
    lr, lr_decay, weight_decay : float
    initial_accumulator_value : float
        What the sums start with.
    eps : float
        Added to the root.
    foreach, differentiable, fused : bool
        Accepted for PyTorch's sake.
    maximize : bool
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check(lr_decay >= 0.0, f"Invalid lr_decay value: {lr_decay}")
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        check(
            initial_accumulator_value >= 0.0,
            f"Invalid initial_accumulator_value value: {initial_accumulator_value}",
        )
        check(eps >= 0.0, f"Invalid epsilon value: {eps}")
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter] = {
                    "step": number(0.0),
                    "sum": full_like(parameter, group["initial_accumulator_value"]).detach(),
                }

    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; return the loss of `closure`."""
        loss = self._loss_of(closure)
        per_parameter(self, _update, sparse=True)
        return loss


def _update(parameter: Any, grad: Any, state: dict, group: dict) -> None:
    if not state:  # a parameter of a group that was added later
        state["step"] = number(0.0)
        state["sum"] = full_like(parameter, group["initial_accumulator_value"])
    state["step"].add_(1)
    if group["weight_decay"] != 0:
        if grad.is_sparse:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        grad = grad.add(parameter, alpha=group["weight_decay"])
    rate = group["lr"] / (1 + (state["step"].item() - 1) * group["lr_decay"])
    total = state["sum"]
    if grad.is_sparse:
        grad = grad.coalesce()
        values = grad.values()
        total.add_(with_values(grad, values * values))
        root = total.sparse_mask(grad).values().sqrt().add_(group["eps"])
        parameter.add_(with_values(grad, values / root), alpha=-rate)
        return
    total.addcmul_(grad, grad, value=1)
    parameter.addcdiv_(grad, total.sqrt().add_(group["eps"]), value=-rate)
