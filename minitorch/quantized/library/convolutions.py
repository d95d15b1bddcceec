"""``minitorch.ops.quantized``: convolutions with packed parameters, and pooling."""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.namespace import ops
from minitorch.ops import functions as F
from minitorch.quantized.kernels import products
from minitorch.quantized.kernels.construction import dequantize_kernel, quantized
from minitorch.quantized.kernels.selection import single
from minitorch.quantized.library.definitions import quantized_operator
from minitorch.quantized.library.products import check_input, dequantized, observed, to_params
from minitorch.quantized.packed import ConvPackedParams


def _prepack(name: str) -> None:
    def prepack_kernel(weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
        return ConvPackedParams(weight, bias, stride, padding, dilation, groups, name)

    quantized_operator(
        f"{name}(Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups) -> Any"
    )(prepack_kernel)


def _prepack_transposed(name: str) -> None:
    def prepack_kernel(
        weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, dilation: Any, groups: Any
    ) -> Any:
        return ConvPackedParams(weight, bias, stride, padding, dilation, groups, name, True, tuple(output_padding))

    quantized_operator(
        f"{name}(Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] output_padding, int[] dilation, int groups) -> "
        "Any"
    )(prepack_kernel)


def _facts(name: str) -> None:
    quantized_operator(f"{name}_unpack(Any packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)", dense=True)(
        lambda packed: packed.unpack()
    )
    quantized_operator(f"{name}_stride(Any packed_weights) -> int[]", dense=True)(lambda packed: packed.stride)
    quantized_operator(f"{name}_padding(Any packed_weights) -> int[]", dense=True)(lambda packed: packed.padding)
    quantized_operator(f"{name}_dilation(Any packed_weights) -> int[]", dense=True)(lambda packed: packed.dilation)
    quantized_operator(f"{name}_groups(Any packed_weights) -> int", dense=True)(lambda packed: packed.groups)
    quantized_operator(f"{name}_transpose(Any packed_weights) -> int", dense=True)(lambda packed: int(packed.transpose))
    quantized_operator(f"{name}_output_padding(Any packed_weights) -> int[]", dense=True)(lambda packed: packed.output_padding)


def _check_image(name: str, x: Any, packed: Any) -> None:
    rank = len(packed.stride) + 2
    if x.ndim != rank:
        raise RuntimeError(f"quantized::{name}: Expected activation data type to have {rank} dimensions, got {x.ndim}")
    channels = packed.weight.shape[0] if packed.transpose else packed.weight.shape[1] * packed.groups
    check_input(name, x, channels, 1)


def _float_convolution(x: Any, packed: Any) -> Any:
    return F.convolution(
        dequantized(x), dequantized(packed.weight), packed.bias, packed.stride, packed.padding, packed.dilation,
        packed.transpose, packed.output_padding, packed.groups,
    )  # fmt: skip


def _conv(name: str, schema: str, relu: bool) -> None:
    def conv_kernel(qx: Any, packed_weight: Any, output_scale: Any, output_zero_point: Any) -> Any:
        _check_image(name, qx, packed_weight)
        return products.convolution(qx, packed_weight, to_params(output_scale, output_zero_point), relu)

    def gradient(qx: Any, packed_weight: Any, output_scale: Any, output_zero_point: Any) -> Any:
        made = _float_convolution(qx, packed_weight)
        return F.relu(made) if relu else made

    quantized_operator(schema, gradient)(conv_kernel)


def _conv_dynamic(name: str) -> None:
    def dynamic_kernel(qx: Any, packed_weight: Any, reduce_range: bool = False) -> Any:
        _check_image(name, qx, packed_weight)
        x = observed(name, qx, reduce_range)
        shape = products.channel_shape(packed_weight)
        scale = products.conv_scale(x.handle.params.scale, packed_weight)
        bias = None if packed_weight.bias is None else F.reshape(packed_weight.bias, shape)
        return products.scaled(products.conv_sums(x, packed_weight), scale, bias, False)

    def gradient(qx: Any, packed_weight: Any, reduce_range: bool = False) -> Any:
        return _float_convolution(qx, packed_weight)

    quantized_operator(f"{name}(Tensor qx, Any packed_weight, bool reduce_range=False) -> Tensor", gradient, dense=True)(
        dynamic_kernel
    )


_CONV = "Tensor qx, Any packed_weight, float output_scale, int output_zero_point"
for _rank, _overload in ((1, ""), (2, ".new"), (3, ".new")):
    _name = f"conv{_rank}d"
    _prepack(f"{_name}_prepack")
    _facts(_name)
    _conv(_name, f"{_name}{_overload}({_CONV}) -> Tensor", False)
    _conv(f"{_name}_relu", f"{_name}_relu{_overload}({_CONV}) -> Tensor", True)
    _conv_dynamic(f"{_name}_dynamic")
    _transposed = f"conv_transpose{_rank}d"
    _prepack_transposed(f"{_transposed}_prepack")
    _facts(_transposed)
    _conv(_transposed, f"{_transposed}({_CONV}) -> Tensor", False)
    _conv_dynamic(f"{_transposed}_dynamic")


_prepack("conv_prepack")
quantized_operator("conv_unpack(Any packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)", dense=True)(
    lambda packed: packed.unpack()
)
quantized_operator("conv2d_unpack_sizes(Any packed_weights) -> Any", dense=True)(
    lambda packed: [list(packed.weight.shape), None if packed.bias is None else list(packed.bias.shape)]
)


def _legacy(name: str) -> None:
    """Define the overload whose geometry stands beside the packed weight, which has it too."""

    def kernel(
        qx: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: Any, output_scale: Any, output_zero_point: Any
    ) -> Any:
        return getattr(ops.quantized, name).new(qx, weight, output_scale, output_zero_point)

    quantized_operator(
        f"{name}(Tensor qx, Any weight, int[] stride, int[] padding, int[] dilation, int groups, float output_scale, int "
        "output_zero_point) -> Tensor",
        lambda qx, weight, *rest: F.relu(_float_convolution(qx, weight)) if "relu" in name else _float_convolution(qx, weight),
    )(kernel)


for _name in ("conv2d", "conv2d_relu", "conv3d", "conv3d_relu"):
    _legacy(_name)


def _conv_add(name: str, relu: bool) -> None:
    def add_kernel(qx: Any, qaccum: Any, packed_weight: Any, output_scale: Any, output_zero_point: Any) -> Any:
        _check_image(name, qx, packed_weight)
        shape = products.channel_shape(packed_weight)
        scale = products.conv_scale(single(qx).scale, packed_weight)
        bias = None if packed_weight.bias is None else F.reshape(packed_weight.bias, shape)
        sums = products.scaled(products.conv_sums(qx, packed_weight), scale, bias, False)
        made = F.add(sums, dequantize_kernel(qaccum))
        return quantized(F.relu(made) if relu else made, to_params(output_scale, output_zero_point), qx.dtype)

    def gradient(qx: Any, qaccum: Any, packed_weight: Any, output_scale: Any, output_zero_point: Any) -> Any:
        made = F.add(_float_convolution(qx, packed_weight), dequantized(qaccum))
        return F.relu(made) if relu else made

    quantized_operator(
        f"{name}(Tensor qx, Tensor qaccum, Any packed_weight, float output_scale, int output_zero_point) -> Tensor", gradient
    )(add_kernel)


_conv_add("conv2d_add", False)
_conv_add("conv2d_add_relu", True)


# ---------------------------------------------------------------- pooling


@quantized_operator(
    "max_pool2d(Tensor qx, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode) -> Tensor",
    lambda qx, *args: F.max_pool2d(dequantized(qx), *args),
)
def max_pool2d_kernel(qx, kernel_size, stride, padding, dilation, ceil_mode):
    return F.quantized_max_pool2d(qx, kernel_size, stride, padding, dilation, ceil_mode)


@quantized_operator(
    "max_pool1d(Tensor qx, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode) -> Tensor",
    lambda qx, *args: F.max_pool1d(dequantized(qx), *args),
)
def max_pool1d_kernel(qx, kernel_size, stride, padding, dilation, ceil_mode):
    return F.quantized_max_pool1d(qx, kernel_size, stride, padding, dilation, ceil_mode)


