"""Normalization as users call it, written with the `native_` operators."""

from __future__ import annotations

from math import prod

from minitorch.core.dtype import complex128, finfo, float32, float64, uint8
from minitorch.dispatch.operator import OPERATORS
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_explicit, composite_implicit


@composite_implicit("batch_norm")
def batch_norm_composite(
    input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
):
    return F.native_batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )[0]


NATIVE_LAYER_NORM = OPERATORS["aten::native_layer_norm"]


@composite_implicit("layer_norm")
def layer_norm_composite(
    input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True
):
    return NATIVE_LAYER_NORM.call((input, normalized_shape, weight, bias, eps), None)[0]


@composite_implicit("group_norm")
def group_norm_composite(
    input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True
):
    if input.dim() < 2:
        raise RuntimeError(
            f"group_norm(): Expected at least 2 dimensions for input tensor but received "
            f"{input.dim()}"
        )
    n, c = input.shape[:2]
    return F.native_group_norm(
        input, weight, bias, n, c, prod(input.shape[2:]), num_groups, eps
    )[0]


@composite_implicit("instance_norm")
def instance_norm_composite(
    input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled
):
    """Normalize each (example, channel) plane: batch norm of a batch of one."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "instance_norm(): Expected running_mean and running_var to be defined when "
            "use_input_stats is false"
        )
    n, c = input.shape[:2]
    flat = input.reshape(1, n * c, *input.shape[2:])
    weight, bias, mean, var = (
        None if t is None else t.repeat(n) for t in (weight, bias, running_mean, running_var)
    )
    out = F.native_batch_norm(flat, weight, bias, mean, var, use_input_stats, momentum, eps)[0]
    if use_input_stats:
        if running_mean is not None:
            running_mean.copy_(mean.view(n, c).mean(0))
        if running_var is not None:
            running_var.copy_(var.view(n, c).mean(0))
    return out.reshape(input.shape)


@composite_implicit("rms_norm")
def rms_norm_composite(input, normalized_shape, weight=None, eps=None):
    if input.is_complex():
        # The mean is that of the squares, not of the squared lengths, as in PyTorch.
        if eps is None:
            eps = finfo(float64 if input.dtype is complex128 else float32).eps
        dims = list(range(-len(normalized_shape), 0))
        result = input * F.rsqrt(F.mean(input * input, dims, True) + eps)
        return result if weight is None else result * weight
    return F._fused_rms_norm(input, normalized_shape, weight, eps)[0]


@composite_implicit("_native_batch_norm_legit")
def native_batch_norm_legit_composite(
    input, weight, bias, running_mean, running_var, training, momentum, eps
):
    return F.native_batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )


@composite_implicit("_native_batch_norm_legit.no_stats")
def native_batch_norm_no_stats_composite(input, weight, bias, training, momentum, eps):
    return F.native_batch_norm(input, weight, bias, None, None, training, momentum, eps)


@composite_implicit("_batch_norm_with_update")
def batch_norm_with_update_composite(
    input, weight, bias, running_mean, running_var, momentum, eps
):
    results = F.native_batch_norm(
        input, weight, bias, running_mean, running_var, True, momentum, eps
    )
    # The fourth is what a GPU library keeps for its backward pass.
    return (*results, F.empty([0], dtype=uint8, device=input.device))


@composite_explicit("_native_batch_norm_legit_functional")
def native_batch_norm_functional_composite(
    input, weight, bias, running_mean, running_var, training, momentum, eps
):
    mean, var = F.clone(running_mean), F.clone(running_var)
    results = F.native_batch_norm(input, weight, bias, mean, var, training, momentum, eps)
    return (*results, mean, var)
