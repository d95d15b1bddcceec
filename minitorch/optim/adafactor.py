"""Adafactor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.core.dtype import finfo
from minitorch.ops.functions import zeros, zeros_like
from minitorch.optim.optimizer import Optimizer, check, check_lr, per_parameter

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Adam's kind of steps with the memory of a row and a column for each matrix (Shazeer & Stern, 2018).

    The second moments of a matrix are kept as the means of its rows and of its columns, whose product stands for them.

    Parameters
    ----------
    params : iterable of Tensor or dict
    lr : float
        The largest relative step; also what `weight_decay` is multiplied with.
    beta2_decay : float
        The second moments of step t are averaged with weight ``t ** beta2_decay`` for the new ones.
    eps : tuple of float
        The least root of a second moment (None: the dtype's epsilon), and the least root mean square that a
        parameter's step is relative to.
    d : float
        The root mean square at which an update is clipped.
    weight_decay : float
        Decoupled, as AdamW's.
    foreach : bool
        Accepted for PyTorch's sake.
    maximize : bool

    Raises
    ------
    ValueError
        For options out of range.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_lr(lr)
        check(beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}")
        check(eps[0] is None or eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}")
        check(eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}")
        check(d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}")
        check(weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once; return the loss of `closure`."""
        loss = self._loss_of(closure)
        per_parameter(self, _update, as_real=False)
        return loss


def _update(parameter: Any, grad: Any, state: dict, group: dict) -> None:
    if parameter.is_complex():
        raise RuntimeError("Adafactor does not support complex parameters")
    if not state:
        state["step"] = zeros([])
        if grad.dim() > 1:
            state["row_var"] = grad.new_zeros((*grad.shape[:-1], 1))
            state["col_var"] = grad.new_zeros((*grad.shape[:-2], 1, grad.shape[-1]))
        else:
            state["variance"] = zeros_like(grad)
    state["step"].add_(1)
    step = state["step"].item()
    lr = float(group["lr"])
    least_root, least_scale = group["eps"]
    if least_root is None:
        least_root = finfo(parameter.dtype).eps
    new_weight = step ** group["beta2_decay"]
    count = parameter.numel()
    scale = max(least_scale, parameter.norm(2).item() / count**0.5) * min(lr, step**-0.5)
    if group["weight_decay"] != 0:
        parameter.mul_(1 - lr * group["weight_decay"])
    if grad.dim() > 1:
        rows, columns = state["row_var"], state["col_var"]
        rows.lerp_(grad.norm(2, -1, True).square_().div_(grad.shape[-1]), new_weight)
        columns.lerp_(grad.norm(2, -2, True).square_().div_(grad.shape[-2]), new_weight)
        variance = (rows @ columns).div_(rows.mean(-2, keepdim=True).clamp_(min=least_root))
    else:
        state["variance"].lerp_(grad * grad, new_weight)
        variance = state["variance"].clone()
    update = variance.clamp_(min=least_root * least_root).rsqrt_().mul_(grad)
    excess = max(1.0, update.norm(2).item() / (count**0.5 * group["d"]))
    parameter.add_(update, alpha=-scale / excess)
