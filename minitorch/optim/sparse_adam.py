"""Adam for gradients of few rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from minitorch.core.layout import strided
from minitorch.ops.functions import zeros_like
from minitorch.optim.optimizer import Optimizer, check, check_lr, per_parameter, with_values

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam that updates only what a sparse gradient has entries for (Kingma & Ba, 2015), as of an embedding.

    Where a gradient has no entry neither the parameter nor the averages change: they do not decay.

    Parameters
    ----------
    params : iterable of Tensor or dict
        Dense parameters, whose gradients are of layout ``sparse_coo``.
    lr : float
        Greater than zero.
    betas : tuple of float
        How much of the averages of the gradient and of its square is kept.
    eps : float
        Added to the root; greater than zero.
    maximize : bool
        Go up, not down.

    Raises
    ------
    ValueError
        For a parameter that is sparse itself, and for numbers out of range.

    Examples
    --------
    >>> table = minitorch.nn.Embedding(100, 4, sparse=True)
    >>> optimizer = SparseAdam(table.parameters(), lr=0.1)
    >>> table(minitorch.tensor([3, 7])).sum().backward()
    >>> optimizer.step()
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_lr(lr)
        check(lr > 0.0, f"Invalid learning rate: {lr}")
        check(eps > 0.0, f"Invalid epsilon value: {eps}")
        for place in (0, 1):
            check(0.0 <= betas[place] < 1.0, f"Invalid beta parameter at index {place}: {betas[place]}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        found = [
            [g, p] for g, group in enumerate(self.param_groups) for p, parameter in enumerate(_listed(group["params"]))
            if parameter.layout is not strided
        ]
        check(not found, f"Sparse params at indices {found}: SparseAdam requires dense parameter tensors")

    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; return the loss of `closure`."""
        loss = self._loss_of(closure)
        per_parameter(self, _update, sparse=True)
        return loss


def _listed(params: Iterable) -> list:
    return list(params)


def _update(parameter: Any, grad: Any, state: dict, group: dict) -> None:
    if not grad.is_sparse:
        raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
    if not state:
        state["step"] = 0
        state["exp_avg"] = zeros_like(parameter)
        state["exp_avg_sq"] = zeros_like(parameter)
    state["step"] += 1
    grad = grad.coalesce()
    values = grad.values()
    if not values.numel():
        return
    beta1, beta2 = group["betas"]
    average = _moved(state["exp_avg"], grad, values, beta1)
    square = _moved(state["exp_avg_sq"], grad, values * values, beta2)
    correction = (1 - beta2 ** state["step"]) ** 0.5 / (1 - beta1 ** state["step"])
    step = average / square.sqrt().add_(group["eps"])
    parameter.add_(with_values(grad, step), alpha=-group["lr"] * correction)


def _moved(total: Any, grad: Any, values: Any, beta: float) -> Any:
    """Move an average towards `values` where `grad` has entries; return what it is there."""
    old = total.sparse_mask(grad).values()
    change = (values - old) * (1 - beta)
    total.add_(with_values(grad, change))
    return old + change
