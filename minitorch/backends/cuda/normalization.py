"""Layer and batch normalization: two or three launches, in place of ten calls."""

from __future__ import annotations

from math import prod
from typing import Any

from minitorch.backends import NoKernel
from minitorch.backends.cuda import programs
from minitorch.backends.cuda.overrides import override
from minitorch.backends.cuda.programs import floating, rows, wide

_BLOCK = 256


def _given(parameter: Any, shape: tuple) -> Any:
    if parameter is None:
        return None
    if tuple(parameter.shape) != tuple(shape):
        raise NoKernel(f"a parameter of shape {parameter.shape} for {tuple(shape)}")
    return rows(parameter)


# ---------------------------------------------------------------- layer norm


def _rows_of(input: Any, normalized_shape: Any) -> tuple[int, int, tuple]:
    """Return (rows, elements of one, shape of what there is one of for each row)."""
    count = len(normalized_shape)
    lead = input.shape[: input.ndim - count]
    if count == 0 or input.shape[len(lead) :] != tuple(normalized_shape) or 0 in input.shape:
        raise NoKernel("no elements, or a shape that does not fit")
    return prod(lead), prod(normalized_shape), (*lead, *(1,) * count)


@override("native_layer_norm")
def native_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    floating(input, weight, bias)
    count, n, kept = _rows_of(input, normalized_shape)
    weight, bias = _given(weight, normalized_shape), _given(bias, normalized_shape)
    result = programs.empty(input.shape, input.dtype)
    mean, rstd = (programs.empty(kept, wide(input.dtype)) for _ in range(2))
    function = programs.kernel("layer_norm", "layer_norm", T=input.dtype)
    blocks = min(count, programs.GRID)
    programs.launch(
        function, blocks, programs.block_for(n), rows(input), weight, bias, result, mean, rstd, count, n, float(eps)
    )
    return result, mean, rstd


@override("native_layer_norm_backward")
def native_layer_norm_backward(
    grad_out: Any, input: Any, normalized_shape: Any, mean: Any, rstd: Any, weight: Any, bias: Any, output_mask: Any
) -> Any:
    floating(input, grad_out, weight)
    dtype = wide(input.dtype)
    count, n, kept = _rows_of(input, normalized_shape)
    if (
        grad_out.shape != input.shape
        or mean.dtype != dtype
        or rstd.dtype != dtype
        or mean.size != count
        or rstd.size != count
    ):
        raise NoKernel("a gradient or statistics that do not fit")
    weight = _given(weight, normalized_shape)
    g, x, mean, rstd = rows(grad_out), rows(input), rows(mean), rows(rstd)
    result = grad_weight = grad_bias = None
    if output_mask[0]:
        result = programs.empty(input.shape, input.dtype)
        function = programs.kernel("layer_norm", "layer_norm_backward", T=input.dtype)
        blocks = min(count, programs.GRID)
        programs.launch(function, blocks, programs.block_for(n), g, x, mean, rstd, weight, result, count, n)
    if output_mask[1]:
        grad_weight = programs.empty(tuple(normalized_shape), dtype)
    if output_mask[2]:
        grad_bias = programs.empty(tuple(normalized_shape), dtype)
    if output_mask[1] or output_mask[2]:
        function = programs.kernel("layer_norm", "layer_norm_parameters", T=input.dtype)
        programs.launch(function, -(-n // 32), _BLOCK, g, x, mean, rstd, grad_weight, grad_bias, count, n)
    return result, grad_weight, grad_bias


# ---------------------------------------------------------------- batch norm


def _planes(input: Any) -> tuple[int, int, int]:
    """Return (batch, channels, elements) of a row-major array.

    Raises
    ------
    NoKernel
        If it is not row-major: the result is to have its memory format.
    """
    if input.ndim < 2 or input.size == 0:
        raise NoKernel("no elements or channels")
    if not input.flags.c_contiguous or (input.ndim >= 4 and input.shape[-1] == 1):
        raise NoKernel("another memory format")
    return input.shape[0], input.shape[1], prod(input.shape[2:])


def _types(input: Any, parameters: tuple, running: tuple) -> dict[str, Any]:
    types = {"T": input.dtype}
    for macro, arrays in (("P", parameters), ("R", running)):
        there = [a for a in arrays if a is not None]
        for a in there:
            floating(there[0], a)
            if a.dtype not in (input.dtype, wide(input.dtype)):
                raise NoKernel("operands of several types")
        types[macro] = there[0].dtype if there else input.dtype
    return types


def _running(types: dict, running_mean: Any, running_var: Any, channels: int, eps: float) -> tuple:
    """Return what inference normalizes with, in the type that is computed in."""
    if running_mean is None or running_var is None:
        raise NoKernel("no running statistics")
    mean, invstd = (programs.empty((channels,), wide(types["T"])) for _ in range(2))
    function = programs.kernel("batch_norm", "batch_norm_running", **types)
    programs.over(function, channels, rows(running_mean), rows(running_var), mean, invstd, channels, float(eps))
    return mean, invstd


@override("native_batch_norm")
def native_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> Any:
    floating(input)
    batch, channels, elements = _planes(input)
    types = _types(input, (weight, bias), (running_mean, running_var))
    weight, bias = _given(weight, (channels,)), _given(bias, (channels,))
    for a in (running_mean, running_var):
        if a is not None and (a.shape != (channels,) or not a.flags.c_contiguous):
            raise NoKernel("running statistics that do not fit")
    dtype = wide(input.dtype)
    if training:
        mean, invstd = (programs.empty((channels,), dtype) for _ in range(2))
        programs.launch(
            programs.kernel("batch_norm", "batch_norm_statistics", **types), channels, programs.block_for(batch * elements),
            input, mean, invstd, running_mean, running_var, batch, channels, elements, float(momentum), float(eps),
        )  # fmt: skip
    else:
        mean, invstd = _running(types, running_mean, running_var, channels, eps)
    result = programs.empty(input.shape, input.dtype)
    programs.over(
        programs.kernel("batch_norm", "batch_norm_apply", **types), input.size,
        input, mean, invstd, weight, bias, result, input.size, channels, elements,
    )  # fmt: skip
    if not training:
        mean, invstd = (programs.empty((0,), dtype) for _ in range(2))
    return result, mean, invstd


@override("native_batch_norm_backward")
def native_batch_norm_backward(
    grad_out: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, save_mean: Any, save_invstd: Any,
    train: bool, eps: float, output_mask: Any,
) -> Any:  # fmt: skip
    floating(input, grad_out)
    if grad_out.shape != input.shape:
        raise NoKernel("the gradient has another shape")
    batch, channels, elements = _planes(input)
    g = rows(grad_out)
    types = _types(input, (weight,), () if train else (running_mean, running_var))
    weight = _given(weight, (channels,))
    dtype = wide(input.dtype)
    if train:
        if save_mean.dtype != dtype or save_invstd.dtype != dtype or save_mean.size != channels:
            raise NoKernel("statistics that do not fit")
        mean, invstd = rows(save_mean), rows(save_invstd)
    else:
        mean, invstd = _running(types, running_mean, running_var, channels, eps)
    total, dot = (programs.empty((channels,), dtype) for _ in range(2))
    programs.launch(
        programs.kernel("batch_norm", "batch_norm_sums", **types), channels, programs.block_for(batch * elements),
        g, input, mean, invstd, total, dot, batch, channels, elements,
    )  # fmt: skip
    result = None
    if output_mask[0]:
        result = programs.empty(input.shape, input.dtype)
        programs.over(
            programs.kernel("batch_norm", "batch_norm_backward", **types), input.size,
            g, input, mean, invstd, weight, total, dot, result, input.size, channels, elements, bool(train),
        )  # fmt: skip
    return result, dot if output_mask[1] else None, total if output_mask[2] else None
