"""Averages of a model's parameters over training: stochastic weight averaging and moving averages.

Izmailov et al., "Averaging Weights Leads to Wider Optima and Better Generalization", 2018.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.core.dtype import int64
from minitorch.nn.modules.batchnorm import _BatchNorm
from minitorch.nn.modules.module import Module
from minitorch.optim.lr_scheduler import LRScheduler
from minitorch.optim.optimizer import Optimizer
from minitorch.tensor.creation import tensor

__all__ = [
    "AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn",
]  # fmt: skip


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay: float = 0.999) -> Callable:
    """Return the function of an exponential moving average: ``decay * average + (1 - decay) * current``."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable:
    """Return the function of the mean of all that was averaged."""

    @no_grad()
    def swa_update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """Return `get_ema_avg_fn` for lists of parameters, in place."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: Any, current_param_list: Any, _: Any) -> None:
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable:
    """Return `get_swa_avg_fn` for lists of parameters, in place."""
    one = get_swa_avg_fn()

    @no_grad()
    def swa_update(averaged_param_list: Any, current_param_list: Any, num_averaged: Any) -> None:
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            average.copy_(one(average, current, num_averaged))

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of those that it is shown.

    Parameters
    ----------
    model : Module
    device : device, optional
        Where the averages are.
    avg_fn : callable, optional
        ``avg_fn(average, current, number averaged)`` returns the new average; the mean unless given.
    multi_avg_fn : callable, optional
        The same for lists of averages, which it changes in place.  One of the two can be given.
    use_buffers : bool
        Whether buffers are averaged too; else they are copied.

    Attributes
    ----------
    module : Module
        The copy.
    n_averaged : Tensor
        How many were averaged.

    Examples
    --------
    >>> model = minitorch.nn.Linear(2, 1)
    >>> average = minitorch.optim.swa_utils.AveragedModel(model)
    >>> for step in range(3):
    ...     average.update_parameters(model)
    >>> average.n_averaged
    tensor(3)
    """

    n_averaged: Any

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable | None = None,
        multi_avg_fn: Callable | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the averaged model computes."""
        return self.module(*args, **kwargs)

    def _averaged_of(self, model: Module) -> list[Any]:
        if self.use_buffers:
            return [p.detach() for p in itertools.chain(model.parameters(), model.buffers())]
        return [p.detach() for p in model.parameters()]

    def update_parameters(self, model: Module) -> None:
        """Average the parameters of a model in."""
        with no_grad():
            averages = self._averaged_of(self.module)
            currents = [c.to(a.device) for a, c in zip(averages, self._averaged_of(model), strict=True)]
            if self.n_averaged == 0:
                for average, current in zip(averages, currents, strict=True):
                    average.copy_(current)
            else:
                count = self.n_averaged if not averages else self.n_averaged.to(averages[0].device)
                if self.avg_fn is None:
                    (self.multi_avg_fn or get_swa_multi_avg_fn())(averages, currents, count)
                else:
                    for average, current in zip(averages, currents, strict=True):
                        average.copy_(self.avg_fn(average, current, count))
            if not self.use_buffers:
                for own, other in zip(self.module.buffers(), model.buffers(), strict=True):
                    own.detach().copy_(other.detach().to(own.device))
            self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of batch normalization anew, in one pass over data.

    Parameters
    ----------
    loader : iterable
        Batches: tensors, or lists and tuples whose first element is the model's input.
    model : Module
    device : device, optional
        Where inputs are moved to.
    """
    momenta: dict[Any, Any] = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    try:
        for module in momenta:
            module.momentum = None  # the mean over all batches
        with no_grad():
            for batch in loader:
                value = batch[0] if isinstance(batch, (list, tuple)) else batch
                model(value if device is None else value.to(device))
    finally:
        for module, momentum in momenta.items():
            module.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """Moves the learning rate to a fixed value, over some epochs, and keeps it there.

    Parameters
    ----------
    optimizer : Optimizer
    swa_lr : float or list of float
        The value, for all groups or for each.
    anneal_epochs : int
    anneal_strategy : {"cos", "linear"}
    last_epoch : int
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        groups = optimizer.param_groups
        rates = list(swa_lr) if isinstance(swa_lr, (list, tuple)) else [swa_lr] * len(groups)
        if len(rates) != len(groups):
            raise ValueError(f"swa_lr must have the same length as optimizer.param_groups: {len(rates)} != {len(groups)}")
        for rate, group in zip(rates, groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _weight(self, step: int) -> float:
        """Return how much of the way to the fixed value lies behind at a step."""
        done = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return done if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * done)) / 2

    def get_lr(self) -> list[Any]:
        """Return the next learning rate of each group."""
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._weight(step - 1), self._weight(step)
        rates = []
        for group in self.optimizer.param_groups:
            goal = group["swa_lr"]
            # The rate that the way began with, from where it is now; another scheduler may have changed it.
            start = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates
