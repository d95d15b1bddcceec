"""Packed parameters: what ``linear_prepack`` and its kind return, a weight and a bias ready for products."""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import float16, float32, float64, quint4x2
from minitorch.core.meta_array import MetaArray
from minitorch.ops import functions as F
from minitorch.quantized.handle import PerTensor, ints_of, is_quantized
from minitorch.quantized.rounding import unpack

_EXACT_IN_FLOAT32 = 2**24
_LARGEST = 255  # of an input's integers less their zero point


def exact_type(terms: int) -> Any:
    """Return the dtype that holds sums of so many products of 8 bits (`products`, Note [Exact sums])."""
    return float32 if terms * _LARGEST * _LARGEST <= _EXACT_IN_FLOAT32 else float64


def centred(tensor: Any, dtype: Any) -> Any:
    """Return the integers of a tensor less their zero points, as floating point numbers."""
    ints = F.to(ints_of(tensor, "product"), dtype)
    params = tensor.handle.params
    if isinstance(params, PerTensor):
        return F.sub(ints, float(params.zero_point)) if params.zero_point else ints
    shape = [-1 if i == params.axis else 1 for i in range(tensor.ndim)]
    return F.sub(ints, F.reshape(F.to(params.zero_points, dtype), shape))


class _Packed:
    """A quantized weight and a bias; the weight as floating point numbers too, made at the first product."""

    weight: Any
    bias: Any
    _plain: Any = None
    _corrections: Any = None
    # The dimensions of the weight that a product sums over.
    summed: tuple = ()

    def unpack(self) -> tuple:
        """Return weight and bias."""
        return self.weight, self.bias

    def plain_weight(self) -> Any:
        """Return the integers of the weight less their zero points, in the smaller dtype that sums with them are exact in."""
        if self._plain is None:
            ints = self.weight.handle.ints
            terms = 1
            for dim in self.summed:
                terms *= ints.shape[dim]
            dtype = exact_type(terms)
            if dtype is float64 and not isinstance(ints.handle, MetaArray):
                sums = F.sum(F.abs(centred(self.weight, float64)), list(self.summed))
                if sums.numel() and float(F.max(sums).item()) * _LARGEST <= _EXACT_IN_FLOAT32:
                    dtype = float32
            made = centred(self.weight, dtype)
            if isinstance(ints.handle, MetaArray):
                return made
            self._plain = made
        return self._plain

    def corrections(self) -> tuple[Any, Any]:
        """Return the sums of the weight's integers by output, and its zero points, float64; None for those if they are 0."""
        if self._corrections is None:
            params = self.weight.handle.params
            if isinstance(params, PerTensor):
                offsets: Any = float(params.zero_point) or None
            else:
                offsets = F.to(params.zero_points, float64) if bool(F.any(F.ne(params.zero_points, 0)).item()) else None
            self._corrections = F.to(F.sum(self.weight.handle.ints, list(self.summed)), float64), offsets
        return self._corrections

    def __getstate__(self) -> dict:
        return {name: value for name, value in vars(self).items() if name not in ("_plain", "_corrections")}


class LinearPackedParams(_Packed):
    """The quantized weight (out, in) of a linear layer, and its bias in float32."""

    summed = (1,)

    def __init__(self, weight: Any, bias: Any = None):
        _check_weight("linear_prepack", weight, 2)
        _check_bias("linear_prepack", bias, weight.shape[0])
        self.weight, self.bias = weight, bias

    def __repr__(self) -> str:
        return f"LinearPackedParams(weight={tuple(self.weight.shape)}, bias={self.bias is not None})"


class Float16PackedParams(_Packed):
    """The weight (out, in) of a linear layer with the precision of float16, kept as float32, and its bias."""

    def __init__(self, weight: Any, bias: Any = None):
        if weight.ndim != 2 or not weight.dtype.is_floating_point:
            raise RuntimeError(
                f"linear_prepack_fp16: the weight is a floating point matrix, not {weight.dtype.name} of {weight.ndim} dimensions"
            )
        limit = 65504.0  # what is beyond it saturates
        self.weight = F.to(F.to(F.clamp(F.to(weight, float32), -limit, limit), float16), float32)
        self.bias = bias


class ConvPackedParams(_Packed):
    """The quantized weight (out, in / groups, ...) of a convolution, its bias in float32, and its geometry."""

    def __init__(
        self, weight: Any, bias: Any, stride: list, padding: list, dilation: list, groups: int, name: str = "conv2d_prepack",
        transpose: bool = False, output_padding: tuple = (),
    ):  # fmt: skip
        _check_weight(name, weight, len(stride) + 2, 1 if transpose else 0)
        _check_bias(name, bias, weight.shape[1] * groups if transpose else weight.shape[0])
        self.weight, self.bias = weight, bias
        self.stride, self.padding, self.dilation, self.groups = list(stride), list(padding), list(dilation), groups
        self.transpose, self.output_padding = transpose, list(output_padding) or [0] * len(self.stride)
        kernel = tuple(range(2, len(stride) + 2))
        self.summed = (0, *kernel) if transpose else (1, *kernel)

    def __repr__(self) -> str:
        return f"ConvPackedParams(weight={tuple(self.weight.shape)}, stride={self.stride}, groups={self.groups})"


class EmbeddingPackedParams:
    """The rows of an embedding: quint8 or quint4x2, with a float32 scale and zero point for each row."""

    def __init__(self, weight: Any):
        if not is_quantized(weight) or weight.dtype.name not in ("quint8", "quint4x2"):
            raise RuntimeError(
                "embedding_bag_prepack: the weight is a quantized tensor of quint8 or quint4x2, with "
                f"per_channel_affine_float_qparams, not {weight.dtype!r}"
            )
        if weight.qscheme().name != "per_channel_affine_float_qparams" or weight.q_per_channel_axis() != 0:
            raise RuntimeError(
                "embedding_bag_prepack: Expect embedding_bag weights to be quantized using "
                f"kPerChannelAffineFloatQParams along axis 0, not {weight.qscheme()!r}"
            )
        self.weight = weight

    def unpack(self) -> Any:
        """Return the weight."""
        return self.weight

    def rows(self) -> Any:
        """Return the rows as float32: ``integer * scale + bias``; of 4 bits, scale and bias have the precision of float16."""
        handle = self.weight.handle
        four = handle.qdtype is quint4x2
        ints = unpack(handle.ints, handle.qdtype, handle.shape) if four else handle.ints
        scale = F.reshape(handle.params.scales, [-1, 1])
        bias = F.neg(F.mul(F.reshape(handle.params.zero_points, [-1, 1]), scale))
        if four:
            scale, bias = (F.to(F.to(v, float16), float32) for v in (scale, bias))
        exact = F.add(F.mul(F.to(ints, float64), F.to(scale, float64)), F.to(bias, float64))
        return F.to(exact, float32)


def _check_bias(name: str, bias: Any, count: int) -> None:
    if bias is not None and tuple(bias.shape) != (count,):
        raise RuntimeError(f"{name}: bias should have {count} elements, one for each output; its shape is {tuple(bias.shape)}")


def _check_weight(name: str, weight: Any, rank: int, axis: int = 0) -> None:
    if not is_quantized(weight) or weight.dtype.name != "qint8":
        raise RuntimeError(f"{name}: the weight is a quantized tensor of qint8, not {weight.dtype!r}")
    if weight.ndim != rank:
        raise RuntimeError(f"{name}: the weight has {rank} dimensions, not {weight.ndim}: {tuple(weight.shape)}")
    scheme = weight.qscheme().name
    if scheme == "per_channel_affine" and weight.q_per_channel_axis() != axis:
        raise RuntimeError(
            f"{name}: a weight with a scale for each channel has them along axis {axis}, the outputs, and not along "
            f"{weight.q_per_channel_axis()}"
        )
    if scheme not in ("per_tensor_affine", "per_channel_affine"):
        raise RuntimeError(f"{name}: a weight of {scheme} is not supported")
