"""Optimizer steps by one operator per parameter group.

The operator gets all parameters of a group with their state. It does what the update functions
in `sgd` and `adam` say, with fewer calls; see `backends/array/optimizers.py`.
"""

from __future__ import annotations

from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.dispatch.operator import OPERATORS
from minitorch.ops.functions import zeros, zeros_like
from minitorch.tensor.base import TensorBase, is_plain
from minitorch.tensor.components import has_components

_SGD = OPERATORS["aten::_fused_sgd_"]
_ADAM = OPERATORS["aten::_fused_adam_"]
_ADAMW = OPERATORS["aten::_fused_adamw_"]
_DEVICES = ("cpu", "cuda", "opencl")
_TYPES = ("float32", "float64")


def fusable(optimizer: Any) -> bool:
    """Return whether the fused operators take all of an optimizer's parameters."""
    device = None
    for group in optimizer.param_groups:
        if group["fused"] is False or group["differentiable"] or isinstance(group["lr"], TensorBase):
            return False
        for parameter in group["params"]:
            grad = parameter.grad
            if grad is None:
                continue
            if (
                not _is_taken(parameter)
                or not _is_taken(grad)
                or has_components(grad)  # a sparse one
                or parameter.dtype.name not in _TYPES
                or parameter.device.type not in _DEVICES
                or (device is not None and parameter.device != device)  # one call takes the lists of one device
            ):
                return False
            device = parameter.device
    return True


def _is_taken(tensor: Any) -> bool:
    """Return whether the fused operators take a tensor: a plain one, or a fake one that stands for it.

    Other classes with handlers may know the operators of the update functions alone.
    """
    if is_plain(tensor):
        return True
    from minitorch.fake.fake_tensor import FakeTensor

    return isinstance(tensor, FakeTensor)


def sgd_step(optimizer: Any) -> None:
    """Update the parameters of an `SGD`."""
    state = optimizer.state
    with no_grad():
        for group in optimizer.param_groups:
            momentum = group["momentum"]
            fresh: tuple[list, list, list] = ([], [], [])
            known: tuple[list, list, list] = ([], [], [])
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is None:
                    continue
                target = known
                if momentum != 0:
                    own = state[parameter]
                    buffer = own.get("momentum_buffer")
                    if buffer is None:
                        buffer = own["momentum_buffer"] = zeros_like(parameter)
                        target = fresh
                    target[2].append(buffer)
                target[0].append(parameter)
                target[1].append(grad)
            for first, (parameters, grads, buffers) in ((True, fresh), (False, known)):
                if not parameters:
                    continue
                options = {
                    "weight_decay": float(group["weight_decay"]), "momentum": float(momentum),
                    "lr": float(group["lr"]), "dampening": float(group["dampening"]),
                    "nesterov": group["nesterov"], "maximize": group["maximize"],
                    "is_first_step": first,
                }  # fmt: skip
                _SGD.call((parameters, grads, buffers), options)
                for parameter in parameters:
                    parameter.bump_version()


def adam_step(optimizer: Any) -> None:
    """Update the parameters of an `Adam` or `AdamW`."""
    state = optimizer.state
    with no_grad():
        for group in optimizer.param_groups:
            amsgrad = group["amsgrad"]
            parameters, grads, means, squares, largest, steps = [], [], [], [], [], []
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is None:
                    continue
                own = state[parameter]
                if not own:
                    own["step"] = zeros([], device=parameter.device)
                    own["exp_avg"] = zeros_like(parameter)
                    own["exp_avg_sq"] = zeros_like(parameter)
                    if amsgrad:
                        own["max_exp_avg_sq"] = zeros_like(parameter)
                if parameter.device.type != "cpu":  # the kernel counts up where it runs, and the host need not wait
                    own["step"] = own["step"].to(parameter.device)
                parameters.append(parameter)
                grads.append(grad)
                means.append(own["exp_avg"])
                squares.append(own["exp_avg_sq"])
                step = own["step"]
                if step.device != parameter.device:  # as loaded, or left by the update functions
                    step = own["step"] = step.to(parameter.device)
                steps.append(step)
                if amsgrad:
                    largest.append(own["max_exp_avg_sq"])
            if not parameters:
                continue
            beta1, beta2 = group["betas"]
            options = {
                "lr": float(group["lr"]), "beta1": float(beta1), "beta2": float(beta2),
                "weight_decay": float(group["weight_decay"]), "eps": float(group["eps"]),
                "amsgrad": amsgrad, "maximize": group["maximize"],
            }  # fmt: skip
            op = _ADAMW if group["decoupled_weight_decay"] else _ADAM
            op.call((parameters, grads, means, squares, largest, steps), options)
            for parameter in parameters:
                parameter.bump_version()
