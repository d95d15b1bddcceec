"""Activations, and means: the parameters of the result are known.

Note [Tables of 8 bits]
    A function of one element with integers of 8 bits is a table of 256 integers.  It is computed on the CPU and looked up on
    the device: no device's exp can lead to another rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.core.dtype import float32, float64, int32, int64, qint32, quantized_limits
from minitorch.dispatch.operator import OPERATORS
from minitorch.ops import functions as F
from minitorch.ops.shapes.common import normalize_dims
from minitorch.quantized.handle import INTEGERS, PerTensor, is_quantized, like, wrap
from minitorch.quantized.kernels.construction import integer_of
from minitorch.quantized.kernels.selection import single
from minitorch.quantized.registry import NoQuantizedKernel, quantized_kernel
from minitorch.quantized.rounding import dequantize_ints, float32_of, quantize_ints


def mapped(self: Any, fn: Callable[[Any], Any], params: PerTensor) -> Any:
    """Return a function of the elements as a quantized tensor with other parameters (Note [Tables of 8 bits]).

    `fn` is of float32 tensors.
    """
    mine = single(self)
    dtype = self.handle.qdtype
    ints = self.handle.ints
    if dtype is qint32:
        return wrap(quantize_ints(fn(dequantize_ints(ints, mine)), params, dtype), params, dtype)
    low, high = quantized_limits(dtype)
    every = F.to(F.arange(low, high + 1, dtype=int32, device="cpu"), INTEGERS[dtype])
    table = quantize_ints(fn(dequantize_ints(every, mine)), params, dtype)
    places = F.to(F.reshape(ints, [-1]), int64)
    if low:
        places = F.sub(places, low)
    found = F.index_select(F.to(table, device=ints.device), 0, places)
    return wrap(F.reshape(found, list(ints.shape)), params, dtype)


def _fixed(dtype: Any, span: float, low: float) -> PerTensor:
    """Return the parameters of a result in [low, low + span]."""
    if dtype is qint32:
        # A zero point of 0: less the least one, half of the integers leave the range in which they are dequantized.
        return PerTensor(span / 2**32 if low else span / 2**31, 0)
    return PerTensor(span / 256, quantized_limits(dtype)[0] + (128 if low else 0))


def fixed_params(name: str, dtype: Any) -> PerTensor:
    """Return the parameters of the results of sigmoid, hardsigmoid and tanh, whose range is known."""
    return _fixed(dtype, 2.0, -1.0) if name == "tanh" else _fixed(dtype, 1.0, 0.0)


@quantized_kernel("sigmoid")
def sigmoid_kernel(self):
    single(self)
    return mapped(self, F.sigmoid, fixed_params("sigmoid", self.handle.qdtype))


@quantized_kernel("hardsigmoid")
def hardsigmoid_kernel(self):
    single(self)
    return mapped(self, F.hardsigmoid, fixed_params("hardsigmoid", self.handle.qdtype))


@quantized_kernel("tanh")
def tanh_kernel(self):
    single(self)
    return mapped(self, F.tanh, fixed_params("tanh", self.handle.qdtype))


@quantized_kernel("relu")
def relu_kernel(self):
    return like(self, F.clamp_min(self.handle.ints, single(self).zero_point))


@quantized_kernel("clamp")
def clamp_kernel(self, min=None, max=None):
    params = single(self)
    ints = self.handle.ints
    if not params.scale > 0 or (min is None and max is None):
        raise NoQuantizedKernel
    if min is not None:
        ints = F.clamp_min(ints, integer_of(self, min, "clamp"))
    if max is not None:
        ints = F.clamp_max(ints, integer_of(self, max, "clamp"))
    return like(self, ints if ints is not self.handle.ints else F.clone(ints))


@quantized_kernel("clamp_min")
def clamp_min_kernel(self, min):
    return clamp_kernel(self, min)


@quantized_kernel("clamp_max")
def clamp_max_kernel(self, max):
    return clamp_kernel(self, None, max)


@quantized_kernel("hardtanh")
def hardtanh_kernel(self, min_val=-1, max_val=1):
    return clamp_kernel(self, min_val, max_val)


def _keeps_parameters(name: str) -> None:
    """Register a function of one element whose result has the parameters of its argument."""
    op = OPERATORS["aten::" + name]

    def activation_kernel(self: Any, *args: Any, **kwargs: Any) -> Any:
        params = single(self)
        if any([is_quantized(a) or hasattr(a, "handle") for a in args]):
            raise NoQuantizedKernel
        return mapped(self, lambda x: op.call((x, *args), kwargs or None), params)

    quantized_kernel(name)(activation_kernel)


for _name in ("leaky_relu", "threshold", "gelu", "hardswish", "elu", "silu", "mish", "softplus", "abs"):
    _keeps_parameters(_name)


# ---------------------------------------------------------------- means


def averaged(self: Any, total: Any, count: Any) -> Any:
    """Return sums of integers (float64) divided by counts, rounded, with the parameters of `self`.

    The zero point is in each integer, and so in their mean.
    """
    low, high = quantized_limits(self.handle.qdtype)
    return like(self, F.to(F.clamp(F.round(F.div(total, count)), low, high), self.handle.ints.dtype))


@quantized_kernel("mean.dim")
def mean_dim_kernel(self, dim, keepdim=False, *, dtype=None):
    if dtype is not None and dtype is not self.handle.qdtype:
        raise NoQuantizedKernel
    single(self)
    ints = self.handle.ints
    dims = list(range(ints.ndim)) if not dim else list(normalize_dims(dim, ints.ndim, "mean"))
    count = 1
    for d in dims:
        count *= ints.shape[d] if ints.ndim else 1
    if count == 0:
        raise NoQuantizedKernel
    total = F.sum(F.to(ints, float64), dims, keepdim)
    return averaged(self, total, float(count))


@quantized_kernel("mean")
def mean_kernel(self, *, dtype=None):
    return mean_dim_kernel(self, None, dtype=dtype)


def exact_values(self: Any) -> Any:
    """Return the numbers of a tensor with one scale in float64, where they are exact (of 8 bits)."""
    params = single(self)
    centred = F.sub(F.to(self.handle.ints, float64), float(params.zero_point))
    return F.mul(centred, float32_of(params.scale))


def quantized_sum(values: Any, params: PerTensor, dtype: Any) -> Any:
    """Return float64 values, rounded to float32, as a quantized tensor."""
    return wrap(quantize_ints(F.to(values, float32), params, dtype), params, dtype)


@quantized_kernel("upsample_bilinear2d")
def upsample_bilinear_kernel(self, output_size, align_corners, scales_h=None, scales_w=None):
    single(self)
    low, high = quantized_limits(self.handle.qdtype)
    made = F.upsample_bilinear2d(F.to(self.handle.ints, float64), output_size, align_corners, scales_h, scales_w)
    return like(self, F.to(F.clamp(F.round(made), low, high), self.handle.ints.dtype))


@quantized_kernel("std.correction")
def std_kernel(self, dim=None, *, correction=None, keepdim=False):
    params = single(self)
    made = F.std(exact_values(self), dim, correction=correction, keepdim=keepdim)
    return quantized_sum(made, params, self.handle.qdtype)


@quantized_kernel("quantized_batch_norm")
def quantized_batch_norm_kernel(input, weight, bias, mean, var, eps, output_scale, output_zero_point):
    return batch_norm(input, weight, bias, mean, var, eps, PerTensor(float(output_scale), int(output_zero_point)), False)


def batch_norm(x: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float, params: PerTensor, relu: bool) -> Any:
    """Return the normalized channels (dimension 1) of a quantized tensor, quantized with `params`."""
    inverse = F.reciprocal(F.sqrt(F.add(F.to(var, float64), eps)))
    slope = inverse if weight is None else F.mul(F.to(weight, float64), inverse)
    shift = F.neg(F.mul(F.to(mean, float64), slope))
    if bias is not None:
        shift = F.add(F.to(bias, float64), shift)
    # Rounded, so that a fused multiplication and addition below is of exact products.
    shape = [1, -1] + [1] * (x.ndim - 2)
    slope, shift = (F.reshape(F.to(F.to(v, float32), float64), shape) for v in (slope, shift))
    values = F.to(F.add(F.mul(exact_values(x), slope), shift), float32)
    return quantized_sum(F.relu(values) if relu else values, params, x.handle.qdtype)

