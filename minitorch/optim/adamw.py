"""Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Any

from minitorch.optim.adam import Adam

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam that shrinks the parameters apart from the gradient (Loshchilov & Hutter, 2019).

    Parameters
    ----------
    params : iterable of Tensor or dict
    lr : float
    betas : tuple of float
    eps : float
    weight_decay : float
        The parameters lose ``lr * weight_decay`` of their size at each step.
    amsgrad, maximize, foreach, capturable, differentiable, fused : bool
        As for `Adam`.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
            capturable=capturable, differentiable=differentiable, fused=fused,
            decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
