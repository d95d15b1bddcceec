"""Packed parameters: what ``linear_prepack`` and its kind return, a weight and a bias ready for products."""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import float16, float32, float64, quint4x2
from minitorch.ops import functions as F
from minitorch.quantized.handle import is_quantized
from minitorch.quantized.rounding import unpack


class LinearPackedParams:
    """The quantized weight (out, in) of a linear layer, and its bias in float32."""

    def __init__(self, weight: Any, bias: Any = None):
        _check_weight("linear_prepack", weight, 2)
        self.weight, self.bias = weight, bias

    def unpack(self) -> tuple:
        """Return weight and bias."""
        return self.weight, self.bias

    def __getstate__(self) -> tuple:
        return self.weight, self.bias

    def __setstate__(self, state: tuple) -> None:
        self.weight, self.bias = state

    def __repr__(self) -> str:
        return f"LinearPackedParams(weight={tuple(self.weight.shape)}, bias={self.bias is not None})"


class ConvPackedParams:
    """The quantized weight (out, in / groups, ...) of a convolution, its bias in float32, and its geometry."""

    def __init__(
        self, weight: Any, bias: Any, stride: list, padding: list, dilation: list, groups: int, name: str = "conv2d_prepack",
        transpose: bool = False, output_padding: tuple = (),
    ):  # fmt: skip
        _check_weight(name, weight, len(stride) + 2)
        self.weight, self.bias = weight, bias
        self.stride, self.padding, self.dilation, self.groups = list(stride), list(padding), list(dilation), groups
        self.transpose, self.output_padding = transpose, list(output_padding) or [0] * len(self.stride)

    def unpack(self) -> tuple:
        """Return weight and bias."""
        return self.weight, self.bias

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


def _check_weight(name: str, weight: Any, rank: int) -> None:
    if not is_quantized(weight) or weight.dtype.name != "qint8":
        raise RuntimeError(f"{name}: the weight is a quantized tensor of qint8, not {weight.dtype!r}")
    if weight.ndim != rank:
        raise RuntimeError(f"{name}: the weight has {rank} dimensions, not {weight.ndim}: {tuple(weight.shape)}")
    scheme = weight.qscheme().name
    if scheme == "per_channel_affine" and weight.q_per_channel_axis() != 0:
        raise RuntimeError(
            f"{name}: a weight with a scale for each channel has them along axis 0, the outputs, and not along "
            f"{weight.q_per_channel_axis()}"
        )
    if scheme not in ("per_tensor_affine", "per_channel_affine"):
        raise RuntimeError(f"{name}: a weight of {scheme} is not supported")
