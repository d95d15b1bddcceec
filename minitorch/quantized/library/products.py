"""``minitorch.ops.quantized``: matrix products and linear layers, with packed parameters."""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import float32, qint32, quint8
from minitorch.ops import functions as F
from minitorch.quantized.handle import PerTensor, is_quantized
from minitorch.quantized.kernels import products
from minitorch.quantized.kernels.construction import has_values, quantized
from minitorch.quantized.kernels.selection import single
from minitorch.quantized.library.definitions import quantized_operator
from minitorch.quantized.packed import Float16PackedParams, LinearPackedParams
from minitorch.quantized.qparams import choose_qparams


def dequantized(tensor: Any) -> Any:
    """Return a tensor of floats, recorded."""
    return F.dequantize(tensor) if is_quantized(tensor) else tensor


def to_params(scale: float, zero_point: int) -> PerTensor:
    """Return the parameters of a result."""
    return PerTensor(float(scale), int(zero_point))


def check_input(name: str, x: Any, features: int, axis: int) -> None:
    """Raise for an input that does not fit a packed weight."""
    if x.dtype is qint32:
        raise RuntimeError(f"quantized::{name}: Expected input data type QUInt8 but got {x.dtype.scalar_name}")
    if x.ndim == 0 or x.shape[axis] != features:
        raise RuntimeError(
            f"quantized::{name}: the input has {x.shape[axis] if x.ndim else 0} features along dimension {axis}, and the packed "
            f"weight is for {features}"
        )


# ---------------------------------------------------------------- matrices


@quantized_operator(
    "matmul(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc",
    lambda qa, qb, scale, zero_point: F.matmul(dequantized(qa), dequantized(qb)),
)
def quantized_matmul_kernel(qa, qb, scale, zero_point):
    for tensor in (qa, qb):
        if not is_quantized(tensor) or not isinstance(tensor.handle.params, PerTensor):
            raise RuntimeError("quantized::matmul: MatMul operands should use per tensor quantization")
    if qa.dtype is not qb.dtype:
        raise RuntimeError(
            f"quantized::matmul: MatMul operands should have same data type: {qa.dtype.name} and {qb.dtype.name}"
        )
    return products.matmul(qa, qb, to_params(scale, zero_point))


# ---------------------------------------------------------------- linear layers


@quantized_operator("linear_prepack(Tensor W, Tensor? B=None) -> Any W_prepack")
def linear_prepack_kernel(W, B=None):
    return LinearPackedParams(W, B)


@quantized_operator("linear_unpack(Any W_prepack) -> (Tensor W_origin, Tensor? B_origin)", dense=True)
def linear_unpack_kernel(W_prepack):
    return W_prepack.unpack()


def _float_linear(X: Any, W_prepack: Any) -> Any:
    return F.linear(dequantized(X), dequantized(W_prepack.weight), W_prepack.bias)


def _linear(name: str, relu: bool) -> None:
    def linear_kernel(X: Any, W_prepack: Any, Y_scale_i: Any, Y_zero_point_i: Any) -> Any:
        check_input(name, X, W_prepack.weight.shape[1], -1)
        return products.linear(X, W_prepack, to_params(Y_scale_i, Y_zero_point_i), relu)

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
        check_input(name, X, W_prepack.weight.shape[1], -1)
        scale = products.product_scale(single(X).scale, W_prepack.weight, [-1])
        sums = products.scaled(products.linear_sums(X, W_prepack), scale, W_prepack.bias, False)
        return quantized(fn(sums, *rest), to_params(Y_scale_i, Y_zero_point_i), X.dtype)

    def gradient(X: Any, W_prepack: Any, Y_scale_i: Any, Y_zero_point_i: Any, *rest: Any) -> Any:
        return fn(_float_linear(X, W_prepack), *rest)

    quantized_operator(schema, gradient)(linear_kernel)


_then(
    "linear_leaky_relu",
    "linear_leaky_relu(Tensor X, Any W_prepack, float Y_scale_i, int Y_zero_point_i, float negative_slope) -> Tensor Y",
    F.leaky_relu,
)
_then("linear_tanh", "linear_tanh(Tensor X, Any W_prepack, float Y_scale_i, int Y_zero_point_i) -> Tensor Y", F.tanh)


def observed(name: str, x: Any, reduce_range: bool) -> Any:
    """Return a float32 input quantized with 8 bits, by its range."""
    if x.dtype is not float32:
        raise RuntimeError(f"quantized::{name}: the input is float32, not {x.dtype.name}")
    # The result is one of floats, whose shape is known without values.
    params = choose_qparams(f"quantized::{name}", x, quint8, reduce_range) if has_values(x) else PerTensor(1.0, 0)
    return quantized(x, params, quint8)


def _linear_dynamic(name: str, relu: bool) -> None:
    def dynamic_kernel(X: Any, W_prepack: Any, reduce_range: bool = False) -> Any:
        weight = W_prepack.weight
        check_input(name, X, weight.shape[1], -1)
        x = observed(name, X, reduce_range)
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


def _quantized_thendequantized(name: str, relu: bool) -> None:
    """Define a linear layer of floats that quantizes its input with given parameters."""

    def kernel(X: Any, X_scale: Any, X_zero_point: Any, W_prepack: Any) -> Any:
        check_input(name, X, W_prepack.weight.shape[1], -1)
        x = quantized(X, to_params(X_scale, X_zero_point), quint8)
        scale = products.product_scale(x.handle.params.scale, W_prepack.weight, [-1])
        return products.scaled(products.linear_sums(x, W_prepack), scale, W_prepack.bias, relu)

    def gradient(X: Any, X_scale: Any, X_zero_point: Any, W_prepack: Any) -> Any:
        made = _float_linear(F.dequantize(F.quantize_per_tensor(X, X_scale, X_zero_point, quint8)), W_prepack)
        return F.relu(made) if relu else made

    quantized_operator(f"{name}(Tensor X, float X_scale, int X_zero_point, Any W_prepack) -> Tensor Y", gradient, dense=True)(
        kernel
    )


_quantized_thendequantized("linear_with_input_q_dq_qweight_dq_output_fp32", False)
_quantized_thendequantized("linear_with_input_q_dq_qweight_dq_relu_output_fp32", True)


# ---------------------------------------------------------------- weights of 16 bits


@quantized_operator("linear_prepack_fp16(Tensor W, Tensor? B=None) -> Any W_prepack", dense=True)
def linear_prepack_fp16_kernel(W, B=None):
    return Float16PackedParams(W, B)


@quantized_operator("linear_unpack_fp16(Any W_prepack) -> (Tensor W_origin, Tensor? B_origin)", dense=True)
def linear_unpack_fp16_kernel(W_prepack):
    return W_prepack.unpack()


def _linear_fp16(name: str, relu: bool) -> None:
    def kernel(X: Any, W_prepack: Any) -> Any:
        made = F.linear(X, W_prepack.weight, W_prepack.bias)
        return F.relu(made) if relu else made

    quantized_operator(f"{name}(Tensor X, Any W_prepack) -> Tensor Y", kernel, dense=True)(kernel)


_linear_fp16("linear_dynamic_fp16", False)
_linear_fp16("linear_relu_dynamic_fp16", True)


def _linear_of_unpacked(X: Any, weight: Any, bias: Any) -> Any:
    return F.linear(X, Float16PackedParams(weight, bias).weight, bias)


quantized_operator(
    "linear_dynamic_fp16_unpacked_weight(Tensor X, Tensor weight, Tensor? bias) -> Tensor Y", _linear_of_unpacked, dense=True
)(_linear_of_unpacked)
