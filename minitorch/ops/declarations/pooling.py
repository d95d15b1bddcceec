"""Pooling: what exists."""

from minitorch.ops.registry import FUNCTION, operator

operator(
    "max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], "
    "int[1] dilation=[1], bool ceil_mode=False) -> Tensor",
    variants=FUNCTION,
)
operator(
    "max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] "
    "padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)",
    variants=FUNCTION,
)
operator(
    "max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] "
    "dilation=1, bool ceil_mode=False) -> Tensor",
    variants=FUNCTION,
)
operator(
    "max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] "
    "stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor",
    out="max_pool2d_backward.out", variants=0,
)
operator(
    "max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
    "padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
    out="max_pool2d_with_indices.out",
    out_names=("out", "indices"),
    variants=FUNCTION,
    python_module="nn",
)
operator(
    "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, "
    "int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> "
    "Tensor",
    out="max_pool2d_with_indices_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] "
    "dilation=1, bool ceil_mode=False) -> Tensor",
    variants=FUNCTION,
)
operator(
    "max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] "
    "padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
    out="max_pool3d_with_indices.out",
    out_names=("out", "indices"),
    variants=FUNCTION,
    python_module="nn",
)
operator(
    "max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, "
    "int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor indices) -> "
    "Tensor",
    out="max_pool3d_with_indices_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
    variants=FUNCTION,
)
operator(
    "adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
    out="adaptive_max_pool2d.out",
    out_names=("out", "indices"),
    variants=FUNCTION,
    python_module="nn",
)
operator(
    "adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor",
    out="adaptive_max_pool2d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)",
    out="adaptive_max_pool3d.out",
    out_names=("out", "indices"),
    variants=FUNCTION,
    python_module="nn",
)
operator(
    "adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor",
    out="adaptive_max_pool3d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool "
    "ceil_mode=False, bool count_include_pad=True) -> Tensor",
    out="avg_pool1d.out", variants=FUNCTION,
)
operator(
    "avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool "
    "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
    out="avg_pool2d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, "
    "int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> "
    "Tensor",
    out="avg_pool2d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool "
    "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
    out="avg_pool3d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, "
    "int[3] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> "
    "Tensor",
    out="avg_pool3d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
    out="adaptive_avg_pool1d.out", variants=FUNCTION,
)
operator(
    "adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
    out="adaptive_avg_pool2d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
    out="_adaptive_avg_pool2d.out", variants=FUNCTION,
)
operator(
    "_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor",
    out="_adaptive_avg_pool2d_backward.out", variants=0,
)
operator(
    "adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
    out="adaptive_avg_pool3d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
    out="_adaptive_avg_pool3d.out", variants=FUNCTION,
)
operator(
    "_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor",
    out="_adaptive_avg_pool3d_backward.out", variants=0,
)
operator(
    "max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor",
    out="max_unpool2d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] "
    "padding) -> Tensor",
    out="max_unpool3d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> "
    "(Tensor, Tensor)",
    out="fractional_max_pool2d.output", out_names=("output", "indices"), variants=FUNCTION, python_module="nn",
)
operator(
    "fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> "
    "(Tensor, Tensor)",
    out="fractional_max_pool3d.output", out_names=("output", "indices"), variants=FUNCTION, python_module="nn",
)
