"""Whole optimizer steps: one launch a parameter, and nothing that the host waits for."""

from __future__ import annotations

from typing import Any

from minitorch.backends import NoKernel
from minitorch.backends.cuda import programs
from minitorch.backends.cuda.overrides import override
from minitorch.backends.cuda.programs import floating, rows


def _check(parameters: Any, grads: Any, *state: Any) -> None:
    """Refuse what a walk over the memory would mix up, before anything is written."""
    for place, p in enumerate(parameters):
        floating(p, grads[place], *[row[place] for row in state])
        if grads[place].shape != p.shape:
            raise NoKernel("a gradient of another shape")
        for a in (p, *[row[place] for row in state]):
            if not a.flags.c_contiguous or a.shape != p.shape:
                raise NoKernel("state that is not row-major")


def _float(number: Any) -> Any:
    """Return a factor of mixed precision, which kernels read on the device."""
    if number is not None and (number.dtype.name != "float32" or number.size != 1):
        raise NoKernel("a scale or a flag of another type")
    return None if number is None else rows(number)


@override("_fused_sgd_")
def fused_sgd(
    self: Any, grads: Any, momentum_buffer_list: Any, *, weight_decay: float, momentum: float, lr: float, dampening: float,
    nesterov: bool, maximize: bool, is_first_step: bool, grad_scale: Any = None, found_inf: Any = None,
) -> None:  # fmt: skip
    buffers = momentum_buffer_list if momentum != 0.0 else None
    _check(self, grads, *([] if buffers is None else [buffers]))
    scale, skip = _float(grad_scale), _float(found_inf)
    for place, p in enumerate(self):
        buffer = None if buffers is None else buffers[place]
        programs.over(
            programs.kernel("optimizer", "sgd", T=p.dtype, S=p.dtype), p.size, p, rows(grads[place]), buffer, scale, skip, p.size,
            float(weight_decay), float(momentum), float(lr), float(dampening), bool(nesterov), bool(maximize),
            bool(is_first_step),
        )  # fmt: skip


def _adam(
    parameters: Any, grads: Any, exp_avgs: Any, exp_avg_sqs: Any, max_exp_avg_sqs: Any, state_steps: Any, lr: float, beta1: float,
    beta2: float, weight_decay: float, eps: float, amsgrad: bool, maximize: bool, grad_scale: Any, found_inf: Any,
    decoupled: bool,
) -> None:  # fmt: skip
    _check(parameters, grads, exp_avgs, exp_avg_sqs, *([max_exp_avg_sqs] if amsgrad else []))
    if any(s.size != 1 or s.dtype.name not in ("float32", "float64") for s in state_steps):
        raise NoKernel("counts of steps that are not floating numbers")
    scale, skip = _float(grad_scale), _float(found_inf)
    for place, p in enumerate(parameters):
        step = state_steps[place]
        types = {"T": p.dtype, "S": step.dtype}
        programs.launch(programs.kernel("optimizer", "count_up", **types), 1, 1, step, skip)
        largest = max_exp_avg_sqs[place] if amsgrad else None
        programs.over(
            programs.kernel("optimizer", "adam", **types), p.size,
            p, rows(grads[place]), exp_avgs[place], exp_avg_sqs[place], largest, step, scale, skip, p.size,
            float(lr), float(beta1), float(beta2), float(weight_decay), float(eps), bool(maximize), decoupled,
        )  # fmt: skip


@override("_fused_adam_")
def fused_adam(
    self: Any, grads: Any, exp_avgs: Any, exp_avg_sqs: Any, max_exp_avg_sqs: Any, state_steps: Any, *, lr: float, beta1: float,
    beta2: float, weight_decay: float, eps: float, amsgrad: bool, maximize: bool, grad_scale: Any = None, found_inf: Any = None,
) -> None:  # fmt: skip
    _adam(
        self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay, eps, amsgrad,
        maximize, grad_scale, found_inf, False,
    )  # fmt: skip


@override("_fused_adamw_")
def fused_adamw(
    self: Any, grads: Any, exp_avgs: Any, exp_avg_sqs: Any, max_exp_avg_sqs: Any, state_steps: Any, *, lr: float, beta1: float,
    beta2: float, weight_decay: float, eps: float, amsgrad: bool, maximize: bool, grad_scale: Any = None, found_inf: Any = None,
) -> None:  # fmt: skip
    _adam(
        self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay, eps, amsgrad,
        maximize, grad_scale, found_inf, True,
    )  # fmt: skip
