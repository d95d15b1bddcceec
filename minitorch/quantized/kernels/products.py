"""Products of integers: matrices, linear layers, convolutions.

Note [Exact sums]
    A product of integers is computed with floating point numbers, which BLAS is fast with, and is exact: a sum of n products
    of 8 bits is below ``n * 255 * 255``, which float32 holds up to 258 of them and float64 up to 10**11.  Of a packed
    weight the sum of its integers' sizes is known, and float32 does for most layers (`packed.plain_weight`).  So the order
    of summation does not matter, and all devices have the same sums.  Where a device has a kernel for products of int8
    (``_int_mm`` on OpenCL), linear layers take that, and its sums of 32 bits.

Note [Requantization]
    The sum, with the bias as an integer of the product's scale, times ``input scale * weight scale / output scale`` (rounded to
    float32), is rounded to float32 and then to an integer, half to even; then the zero point is added and the result clamped.
    That is FBGEMM's arithmetic.
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.core.dtype import float32, float64, int8, int16, int32, qint32, quantized_limits, uint8
from minitorch.core.meta_array import MetaArray
from minitorch.dispatch.keys import BACKEND_MASK, BACKENDS
from minitorch.dispatch.operator import OPERATORS
from minitorch.ops import functions as F
from minitorch.quantized.handle import INTEGERS, PerTensor, wrap
from minitorch.quantized.kernels.selection import single
from minitorch.quantized.packed import centred, exact_type
from minitorch.quantized.registry import dense_kernel
from minitorch.quantized.rounding import float32_of

# So many products of two int8 numbers have a sum that 32 bits hold.
_EXACT_IN_INT32 = 1 << 16


def product_scale(scale: float, weight: Any, shape: list[int]) -> Any:
    """Return the scale of products with a weight, float64 of float32 factors: a number, or a row of one a channel."""
    params = weight.handle.params
    if isinstance(params, PerTensor):
        return float32_of(scale) * float32_of(params.scale)
    scales = F.to(F.to(params.scales, float32), float64)
    return F.reshape(F.mul(scales, float32_of(scale)), shape)


def _as_float32(value: Any) -> Any:
    """Return a float64 number or tensor with float32's precision."""
    return float32_of(value) if isinstance(value, float) else F.to(F.to(value, float32), float64)


def requantize(sums: Any, bias: Any, scale: Any, params: PerTensor, dtype: Any, relu: bool) -> Any:
    """Return exact sums of products as a quantized tensor (Note [Requantization]).

    Parameters
    ----------
    sums : Tensor
        Floating point numbers that are integers.
    bias : Tensor or None
        float32, in the shape that broadcasts.
    scale : float or Tensor
        What a unit of `sums` is, float64.
    """
    wide = F.to(sums, float64)
    if bias is not None:
        bias = F.to(bias, float64)
        wide = F.add(wide, F.round(F.div(bias, scale)))
    out = float32_of(params.scale)
    if not out or not math.isfinite(out):
        raise RuntimeError(f"quantized product: the scale of the result, {params.scale}, must be finite, and not 0 in float32")
    multiplier = _as_float32(scale / out if isinstance(scale, float) else F.div(scale, out))
    rounded = F.round_(F.to(F.mul(wide, multiplier), float32))
    low, high = quantized_limits(dtype)
    if relu:
        low = max(low, params.zero_point)
    if dtype is qint32:
        rounded = F.to(rounded, float64)  # where its bounds are exact
    ints = F.clamp_(F.add_(rounded, float(params.zero_point)), low, high)
    return wrap(F.to(ints, INTEGERS[dtype]), params, dtype)


def _multiplies_integers(ints: Any) -> bool:
    """Return whether the device of a tensor has a kernel of its own for products of 8-bit integers."""
    backend = BACKENDS[(ints.key_set & BACKEND_MASK).bit_length() - 1]
    return not isinstance(ints.handle, MetaArray) and OPERATORS["aten::_int_mm"].active(backend) is not None


def _integer_sums(x: Any, packed: Any) -> Any:
    """Return what `linear_sums` does, of integers of 32 bits: ``(x - a) (w - b) = x w - a w - b x + a b``, each summed."""
    ints, weight = x.handle.ints, packed.weight.handle.ints
    zero = single(x).zero_point
    terms = weight.shape[1]
    if ints.dtype is uint8:  # less 128 it is an int8
        ints, zero = F.to(F.sub(F.to(ints, int16), 128), int8), zero - 128
    rows = F.reshape(ints, [-1, terms])
    sums = F.to(F._int_mm(rows, F.t(weight)), float64)
    of_weight, offsets = packed.corrections()
    if zero:
        sums = F.sub(sums, F.mul(of_weight, float(zero)))
    if offsets is not None:
        of_rows = F.to(F.sum(rows, [1], True), float64)
        sums = F.sub(sums, F.mul(F.sub(of_rows, float(terms * zero)), offsets))
    return F.reshape(sums, [*ints.shape[:-1], weight.shape[0]])


def linear_sums(x: Any, packed: Any) -> Any:
    """Return the exact sums of a quantized input (..., in) with a packed weight (out, in)."""
    if packed.weight.shape[1] <= _EXACT_IN_INT32 and _multiplies_integers(x.handle.ints):
        return _integer_sums(x, packed)
    weight = packed.plain_weight()
    return F.matmul(centred(x, weight.dtype), F.t(weight))


def linear(x: Any, packed: Any, params: PerTensor, relu: bool) -> Any:
    """Return a quantized linear layer of a quantized input."""
    scale = product_scale(single(x).scale, packed.weight, [-1])
    return requantize(linear_sums(x, packed), packed.bias, scale, params, x.handle.qdtype, relu)


def scaled(sums: Any, scale: Any, bias: Any, relu: bool) -> Any:
    """Return exact sums as float32 numbers, with a bias."""
    result = F.to(F.mul(F.to(sums, float64), scale), float32)
    if bias is not None:
        result = F.add(result, F.to(bias, float32))
    return F.relu(result) if relu else result


def matmul(a: Any, b: Any, params: PerTensor) -> Any:
    """Return the product of two quantized tensors."""
    terms = a.shape[-1]
    dtype = exact_type(terms)
    sums = F.matmul(centred(a, dtype), centred(b, dtype))
    scale = float32_of(single(a).scale) * float32_of(single(b).scale)
    return requantize(sums, None, scale, params, a.handle.qdtype, False)


def conv_sums(x: Any, packed: Any) -> Any:
    """Return the exact sums of a convolution; what is padded stands for 0."""
    weight = packed.plain_weight()
    return F.convolution(
        centred(x, weight.dtype), weight, None, packed.stride, packed.padding, packed.dilation, packed.transpose,
        packed.output_padding, packed.groups,
    )  # fmt: skip


def channel_shape(packed: Any) -> list[int]:
    """Return the shape in which a row of one a channel broadcasts with the result of a convolution."""
    return [1, -1] + [1] * len(packed.stride)


def conv_scale(scale: float, packed: Any) -> Any:
    """Return what `product_scale` does, in the shape of a convolution's result."""
    weight = packed.weight
    if packed.transpose and packed.groups > 1 and not isinstance(weight.handle.params, PerTensor):
        scales = F.repeat(F.to(F.to(weight.handle.params.scales, float32), float64), [packed.groups])
        return F.reshape(F.mul(scales, float32_of(scale)), channel_shape(packed))
    return product_scale(scale, weight, channel_shape(packed))


def convolution(x: Any, packed: Any, params: PerTensor, relu: bool) -> Any:
    """Return a quantized convolution of a quantized input."""
    scale = conv_scale(single(x).scale, packed)
    shape = channel_shape(packed)
    bias = None if packed.bias is None else F.reshape(packed.bias, shape)
    return requantize(conv_sums(x, packed), bias, scale, params, x.handle.qdtype, relu)


# ---------------------------------------------------------------- products of ordinary integers


@dense_kernel("_int_mm")
def int_mm_kernel(self, mat2):
    for name, value in (("self", self), ("mat2", mat2)):
        if value.dtype is not int8:
            raise RuntimeError(f"_int_mm: {name} is int8, not {value.dtype.name}")
        if value.ndim != 2:
            raise RuntimeError(f"_int_mm: {name} is a matrix, not of {value.ndim} dimensions")
    if self.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"_int_mm: self.shape[1] and mat2.shape[0] must be equal, and are {self.shape[1]} and {mat2.shape[0]}"
        )
    dtype = exact_type(self.shape[1])
    return F.to(F.mm(F.to(self, dtype), F.to(mat2, dtype)), int32)


@dense_kernel("_weight_int8pack_mm")
def weight_int8pack_mm_kernel(self, mat2, scales):
    if mat2.dtype is not int8 or mat2.ndim != 2 or self.ndim != 2:
        raise RuntimeError(
            f"_weight_int8pack_mm: self is a floating point matrix and mat2 an int8 matrix, not {self.dtype.name} of "
            f"{self.ndim} and {mat2.dtype.name} of {mat2.ndim} dimensions"
        )
    if scales.shape != mat2.shape[:1] or self.shape[1] != mat2.shape[1]:
        raise RuntimeError(
            f"_weight_int8pack_mm: self is (m, k), mat2 (n, k) and scales (n,), not {tuple(self.shape)}, {tuple(mat2.shape)} "
            f"and {tuple(scales.shape)}"
        )
    product = F.mm(F.to(self, float32), F.t(F.to(mat2, float32)))
    return F.to(F.mul(product, F.to(scales, float32)), self.dtype)


