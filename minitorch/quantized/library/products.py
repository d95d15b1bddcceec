"""``minitorch.ops.quantized``: linear layers, convolutions, matrix products, with packed parameters."""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import float32, quint8
from minitorch.ops import functions as F
from minitorch.quantized.handle import PerTensor, is_quantized
from minitorch.quantized.kernels import products
from minitorch.quantized.kernels.construction import dequantize_kernel, quantized
from minitorch.quantized.kernels.selection import single
from minitorch.quantized.library.definitions import quantized_operator
from minitorch.quantized.packed import ConvPackedParams, LinearPackedParams
from minitorch.quantized.qparams import choose_qparams


def _dequantized(tensor: Any) -> Any:
    return F.dequantize(tensor) if is_quantized(tensor) else tensor


def _to(scale: float, zero_point: int) -> PerTensor:
    return PerTensor(float(scale), int(zero_point))


def _check_input(name: str, x: Any, features: int, axis: int) -> None:
    if x.ndim == 0 or x.shape[axis] != features:
        raise RuntimeError(
            f"quantized::{name}: the input has {x.shape[axis] if x.ndim else 0} features along dimension {axis}, and the packed "
            f"weight is for {features}"
        )


# ---------------------------------------------------------------- matrices


@quantized_operator(
    "matmul(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc",
    lambda qa, qb, scale, zero_point: F.matmul(_dequantized(qa), _dequantized(qb)),
)
def quantized_matmul_kernel(qa, qb, scale, zero_point):
    for tensor in (qa, qb):
        if not is_quantized(tensor) or not isinstance(tensor.handle.params, PerTensor):
            raise RuntimeError("quantized::matmul: MatMul operands should use per tensor quantization")
    if qa.dtype is not qb.dtype:
        raise RuntimeError(
            f"quantized::matmul: MatMul operands should have same data type: {qa.dtype.name} and {qb.dtype.name}"
        )
    return products.matmul(qa, qb, _to(scale, zero_point))


# ---------------------------------------------------------------- linear layers


@quantized_operator("linear_prepack(Tensor W, Tensor? B=None) -> Any W_prepack")
def linear_prepack_kernel(W, B=None):
    return LinearPackedParams(W, B)


@quantized_operator("linear_unpack(Any W_prepack) -> (Tensor W_origin, Tensor? B_origin)", dense=True)
def linear_unpack_kernel(W_prepack):
    return W_prepack.unpack()


def _float_linear(X: Any, W_prepack: Any) -> Any:
    return F.linear(_dequantized(X), _dequantized(W_prepack.weight), W_prepack.bias)


def _linear(name: str, relu: bool) -> None:
    def linear_kernel(X: Any, W_prepack: Any, Y_scale_i: Any, Y_zero_point_i: Any) -> Any:
        _check_input(name, X, W_prepack.weight.shape[1], -1)
        return products.linear(X, W_prepack, _to(Y_scale_i, Y_zero_point_i), relu)

    def gradient(X: Any, W_prepack: Any, Y_scale_i: Any, Y_zero_point_i: Any) -> Any:
        made = _float_linear(X, W_prepack)
        return F.relu(made) if relu else made

    quantized_operator(f"{name}(Tensor X, Any W_prepack, float Y_scale_i, int Y_zero_point_i) -> Tensor Y", gradient)(
        linear_kernel
    )


_linear("linear", False)
_linear("linear_relu", True)


def _then(name: str, schema: str, fn: Any) -> None:
    """Define a linear layer with an activation that is no clamp: it is computed of float32 sums."""

    def linear_kernel(X: Any, W_prepack: Any, Y_scale_i: Any, Y_zero_point_i: Any, *rest: Any) -> Any:
        _check_input(name, X, W_prepack.weight.shape[1], -1)
        scale = products.product_scale(single(X).scale, W_prepack.weight, [-1])
        sums = products.scaled(products.linear_sums(X, W_prepack), scale, W_prepack.bias, False)
        return quantized(fn(sums, *rest), _to(Y_scale_i, Y_zero_point_i), X.dtype)

    def gradient(X: Any, W_prepack: Any, Y_scale_i: Any, Y_zero_point_i: Any, *rest: Any) -> Any:
        return fn(_float_linear(X, W_prepack), *rest)

    quantized_operator(schema, gradient)(linear_kernel)


_then(
    "linear_leaky_relu",
    "linear_leaky_relu(Tensor X, Any W_prepack, float Y_scale_i, int Y_zero_point_i, float negative_slope) -> Tensor Y",
    F.leaky_relu,
)
_then("linear_tanh", "linear_tanh(Tensor X, Any W_prepack, float Y_scale_i, int Y_zero_point_i) -> Tensor Y", F.tanh)


def _observed(name: str, x: Any, reduce_range: bool) -> Any:
    """Return a float32 input quantized with 8 bits, by its range."""
    if x.dtype is not float32:
        raise RuntimeError(f"quantized::{name}: the input is float32, not {x.dtype.name}")
    return quantized(x, choose_qparams(x, quint8, reduce_range), quint8)


def _linear_dynamic(name: str, relu: bool) -> None:
    def dynamic_kernel(X: Any, W_prepack: Any, reduce_range: bool = False) -> Any:
        weight = W_prepack.weight
        _check_input(name, X, weight.shape[1], -1)
        x = _observed(name, X, reduce_range)
        scale = products.product_scale(x.handle.params.scale, weight, [-1])
        return products.scaled(products.linear_sums(x, W_prepack), scale, W_prepack.bias, relu)

    def gradient(X: Any, W_prepack: Any, reduce_range: bool = False) -> Any:
        made = _float_linear(X, W_prepack)
        return F.relu(made) if relu else made

    quantized_operator(f"{name}(Tensor X, Any W_prepack, bool reduce_range=False) -> Tensor Y", gradient, dense=True)(
        dynamic_kernel
    )


_linear_dynamic("linear_dynamic", False)
_linear_dynamic("linear_relu_dynamic", True)


# ---------------------------------------------------------------- convolutions


def _prepack(name: str, rank: int) -> None:
    def prepack_kernel(weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any) -> Any:
        return ConvPackedParams(weight, bias, stride, padding, dilation, groups, name)

    quantized_operator(
        f"{name}(Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups) -> Any"
    )(prepack_kernel)


def _facts(name: str) -> None:
    quantized_operator(f"{name}_unpack(Any packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)", dense=True)(
        lambda packed: packed.unpack()
    )
    quantized_operator(f"{name}_stride(Any packed_weights) -> int[]", dense=True)(lambda packed: packed.stride)
    quantized_operator(f"{name}_padding(Any packed_weights) -> int[]", dense=True)(lambda packed: packed.padding)
    quantized_operator(f"{name}_dilation(Any packed_weights) -> int[]", dense=True)(lambda packed: packed.dilation)
    quantized_operator(f"{name}_groups(Any packed_weights) -> int", dense=True)(lambda packed: packed.groups)


def _check_image(name: str, x: Any, packed: Any) -> None:
    rank = len(packed.stride) + 2
    if x.ndim != rank:
        raise RuntimeError(f"quantized::{name}: Expected activation data type to have {rank} dimensions, got {x.ndim}")
    _check_input(name, x, packed.weight.shape[1] * packed.groups, 1)


def _float_convolution(x: Any, packed: Any) -> Any:
    return F.convolution(
        _dequantized(x), _dequantized(packed.weight), packed.bias, packed.stride, packed.padding, packed.dilation,
        packed.transpose, packed.output_padding, packed.groups,
    )  # fmt: skip


def _conv(name: str, schema: str, relu: bool) -> None:
    def conv_kernel(qx: Any, packed_weight: Any, output_scale: Any, output_zero_point: Any) -> Any:
        _check_image(name, qx, packed_weight)
        return products.convolution(qx, packed_weight, _to(output_scale, output_zero_point), relu)

    def gradient(qx: Any, packed_weight: Any, output_scale: Any, output_zero_point: Any) -> Any:
        made = _float_convolution(qx, packed_weight)
        return F.relu(made) if relu else made

    quantized_operator(schema, gradient)(conv_kernel)


def _conv_dynamic(name: str) -> None:
    def dynamic_kernel(qx: Any, packed_weight: Any, reduce_range: bool = False) -> Any:
        _check_image(name, qx, packed_weight)
        x = _observed(name, qx, reduce_range)
        shape = products.channel_shape(packed_weight)
        scale = products.product_scale(x.handle.params.scale, packed_weight.weight, shape)
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
    _prepack(f"{_name}_prepack", _rank)
    _facts(_name)
    _conv(_name, f"{_name}{_overload}({_CONV}) -> Tensor", False)
    _conv(f"{_name}_relu", f"{_name}_relu{_overload}({_CONV}) -> Tensor", True)
    _conv_dynamic(f"{_name}_dynamic")


def _conv_add(name: str, relu: bool) -> None:
    def add_kernel(qx: Any, qaccum: Any, packed_weight: Any, output_scale: Any, output_zero_point: Any) -> Any:
        _check_image(name, qx, packed_weight)
        shape = products.channel_shape(packed_weight)
        scale = products.product_scale(single(qx).scale, packed_weight.weight, shape)
        bias = None if packed_weight.bias is None else F.reshape(packed_weight.bias, shape)
        sums = products.scaled(products.conv_sums(qx, packed_weight), scale, bias, False)
        made = F.add(sums, dequantize_kernel(qaccum))
        return quantized(F.relu(made) if relu else made, _to(output_scale, output_zero_point), qx.dtype)

    def gradient(qx: Any, qaccum: Any, packed_weight: Any, output_scale: Any, output_zero_point: Any) -> Any:
        made = F.add(_float_convolution(qx, packed_weight), _dequantized(qaccum))
        return F.relu(made) if relu else made

    quantized_operator(
        f"{name}(Tensor qx, Tensor qaccum, Any packed_weight, float output_scale, int output_zero_point) -> Tensor", gradient
    )(add_kernel)


_conv_add("conv2d_add", False)
_conv_add("conv2d_add_relu", True)


# ---------------------------------------------------------------- pooling


@quantized_operator(
    "max_pool2d(Tensor qx, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode) -> Tensor",
    lambda qx, *args: F.max_pool2d(_dequantized(qx), *args),
)
def max_pool2d_kernel(qx, kernel_size, stride, padding, dilation, ceil_mode):
    return F.quantized_max_pool2d(qx, kernel_size, stride, padding, dilation, ceil_mode)


@quantized_operator(
    "max_pool1d(Tensor qx, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode) -> Tensor",
    lambda qx, *args: F.max_pool1d(_dequantized(qx), *args),
)
def max_pool1d_kernel(qx, kernel_size, stride, padding, dilation, ceil_mode):
    return F.quantized_max_pool1d(qx, kernel_size, stride, padding, dilation, ceil_mode)


