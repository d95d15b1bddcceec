"""Activations: what exists."""

from minitorch.ops.registry import FUNCTION, POINTWISE, operator

operator("relu(Tensor self) -> Tensor", inplace="relu_", out="relu.out", tags=POINTWISE)
operator(
    "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
    inplace="threshold_", out="threshold.out", variants=FUNCTION, tags=POINTWISE,
)
operator(
    "threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
    out="threshold_backward.grad_input", out_names=("grad_input",), variants=0, tags=POINTWISE,
)
operator("relu6(Tensor self) -> Tensor", inplace="relu6_", variants=FUNCTION, python_module="nn")
operator(
    "gelu(Tensor self, *, str approximate='none') -> Tensor",
    inplace="gelu_", out="gelu.out", variants=FUNCTION, python_module="nn", tags=POINTWISE,
)
operator(
    "gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor",
    out="gelu_backward.grad_input", out_names=("grad_input",), variants=0, tags=POINTWISE,
)
operator(
    "silu(Tensor self) -> Tensor",
    inplace="silu_", out="silu.out", variants=FUNCTION, python_module="nn", tags=POINTWISE,
)
operator(
    "silu_backward(Tensor grad_output, Tensor self) -> Tensor",
    out="silu_backward.grad_input", out_names=("grad_input",), variants=0, tags=POINTWISE,
)
operator(
    "mish(Tensor self) -> Tensor",
    inplace="mish_", out="mish.out", variants=FUNCTION, python_module="nn", tags=POINTWISE,
)
operator("mish_backward(Tensor grad_output, Tensor self) -> Tensor", variants=0, tags=POINTWISE)
operator(
    "sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
    out="sigmoid_backward.grad_input", out_names=("grad_input",), variants=0, tags=POINTWISE,
)
operator(
    "tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
    out="tanh_backward.grad_input", out_names=("grad_input",), variants=0, tags=POINTWISE,
)
operator(
    "logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor",
    out="logit_backward.grad_input", out_names=("grad_input",), variants=0, tags=POINTWISE,
)
operator(
    "log_sigmoid(Tensor self) -> Tensor",
    out="log_sigmoid.out", variants=FUNCTION, python_module="nn",
)
operator(
    "log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
    out="log_sigmoid_forward.output", out_names=("output", "buffer"), variants=0,
)
operator(
    "log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor",
    out="log_sigmoid_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
    out="softplus.out", variants=FUNCTION, python_module="nn", tags=POINTWISE,
)
operator(
    "softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> "
    "Tensor",
    out="softplus_backward.grad_input", out_names=("grad_input",), variants=0, tags=POINTWISE,
)
operator(
    "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
    inplace="elu_", out="elu.out", variants=FUNCTION, python_module="nn", tags=POINTWISE,
)
operator("celu(Tensor self, Scalar alpha=1.0) -> Tensor", inplace="celu_", variants=FUNCTION)
operator("selu(Tensor self) -> Tensor", inplace="selu_", variants=FUNCTION)
operator(
    "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool "
    "is_result, Tensor self_or_result) -> Tensor",
    out="elu_backward.grad_input", out_names=("grad_input",), variants=0, tags=POINTWISE,
)
operator(
    "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
    inplace="leaky_relu_",
    out="leaky_relu.out",
    variants=FUNCTION,
    python_module="nn",
    tags=POINTWISE,
)
operator(
    "leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool "
    "self_is_result) -> Tensor",
    out="leaky_relu_backward.grad_input", out_names=("grad_input",), variants=0, tags=POINTWISE,
)
operator("prelu(Tensor self, Tensor weight) -> Tensor")
operator("_prelu_kernel(Tensor self, Tensor weight) -> Tensor", variants=FUNCTION, tags=POINTWISE)
operator(
    "_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, "
    "Tensor)",
    variants=0,
)
operator(
    "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool "
    "training=False, Generator? generator=None) -> Tensor",
    inplace="rrelu_", variants=FUNCTION,
)
operator(
    "glu(Tensor self, int dim=-1) -> Tensor",
    out="glu.out", variants=FUNCTION, python_module="nn",
)
operator(
    "glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor",
    out="glu_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "hardsigmoid(Tensor self) -> Tensor",
    inplace="hardsigmoid_",
    out="hardsigmoid.out",
    variants=FUNCTION,
    python_module="nn",
    tags=POINTWISE,
)
operator(
    "hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor",
    out="hardsigmoid_backward.grad_input", out_names=("grad_input",), variants=0, tags=POINTWISE,
)
operator(
    "hardswish(Tensor self) -> Tensor",
    inplace="hardswish_",
    out="hardswish.out",
    variants=FUNCTION,
    python_module="nn",
    tags=POINTWISE,
)
operator(
    "hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
    out="hardswish_backward.out", variants=0, tags=POINTWISE,
)
operator(
    "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    inplace="hardtanh_", out="hardtanh.out", variants=FUNCTION, python_module="nn", tags=POINTWISE,
)
operator(
    "hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> "
    "Tensor",
    out="hardtanh_backward.grad_input", out_names=("grad_input",), variants=0, tags=POINTWISE,
)
operator(
    "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    out="hardshrink.out", tags=POINTWISE,
)
operator(
    "hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor",
    out="hardshrink_backward.grad_input", out_names=("grad_input",), variants=0, tags=POINTWISE,
)
operator(
    "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    out="softshrink.out", variants=FUNCTION, python_module="nn", tags=POINTWISE,
)
operator(
    "softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor",
    out="softshrink_backward.grad_input", out_names=("grad_input",), variants=0, tags=POINTWISE,
)
operator(
    "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    out="softmax.int_out",
)
operator(
    "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    out="_softmax.out", variants=FUNCTION,
)
operator(
    "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType "
    "input_dtype) -> Tensor",
    out="_softmax_backward_data.out", out_names=("grad_input",), variants=FUNCTION,
)
operator(
    "log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    out="log_softmax.int_out",
)
operator(
    "_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    out="_log_softmax.out", variants=FUNCTION,
)
operator(
    "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType "
    "input_dtype) -> Tensor",
    out="_log_softmax_backward_data.out", variants=FUNCTION,
)

