"""Clipping of gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.core.deprecation import old_name
from minitorch.ops.functions import stack
from minitorch.tensor.base import TensorBase
from minitorch.tensor.creation import tensor
from minitorch.tensor.tensor import Tensor

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _gradients(parameters: Any) -> list[Tensor]:
    if isinstance(parameters, TensorBase):
        parameters = [parameters]
    return [p.grad for p in parameters if p.grad is not None]


def get_total_norm(
    tensors: Any,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the p-norm of all elements of several tensors.

    Parameters
    ----------
    tensors : iterable of Tensor
    norm_type : float
    error_if_nonfinite : bool
        Raise if the norm is infinite or NaN.
    """
    tensors = [tensors] if isinstance(tensors, TensorBase) else list(tensors)
    if not tensors:
        return tensor(0.0)
    norms = [t.norm(float(norm_type)) for t in tensors]
    total = stack([n.to(norms[0].device) for n in norms]).norm(float(norm_type))
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Any, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale gradients, in place, so that their norm, now `total_norm`, is at most `max_norm`."""
    with no_grad():
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for grad in _gradients(parameters):
            grad.mul_(factor.to(grad.device))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale gradients, in place, so that their norm is at most `max_norm`; return their norm.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        Those with a gradient count.
    max_norm : float
    norm_type : float
    error_if_nonfinite : bool
        Raise if the norm is infinite or NaN.
    """
    if not isinstance(parameters, TensorBase):
        parameters = list(parameters)
    with no_grad():
        total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Limit the elements of gradients, in place, to [-clip_value, clip_value]."""
    limit = float(clip_value)
    with no_grad():
        for grad in _gradients(parameters):
            grad.clamp_(min=-limit, max=limit)


clip_grad_norm = old_name(clip_grad_norm_, "clip_grad_norm", "nn.utils")
