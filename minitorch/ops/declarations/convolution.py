"""Convolutions: what exists."""

from minitorch.ops.registry import FUNCTION, operator

operator(
    "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
    "padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> "
    "Tensor",
    out="convolution.out", variants=FUNCTION,
)
operator(
    "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? "
    "bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, "
    "SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, "
    "Tensor)",
    out="convolution_backward.out", out_names=("out0", "out1", "out2"), variants=0,
)
operator(
    "_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
    "padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, "
    "bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
    out="_convolution.out", variants=FUNCTION,
)
operator(
    "conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] "
    "padding=[0], SymInt[1] dilation=[1], SymInt groups=1) -> Tensor",
    variants=FUNCTION,
)
operator(
    "conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], "
    "str padding='valid', SymInt[1] dilation=[1], SymInt groups=1) -> Tensor",
    variants=FUNCTION,
)
operator(
    "conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], "
    "SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
    variants=FUNCTION,
)
operator(
    "conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], "
    "str padding='valid', SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
    variants=FUNCTION,
)
operator(
    "conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], "
    "SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
    variants=FUNCTION,
)
operator(
    "conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, "
    "1], str padding='valid', SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
    variants=FUNCTION,
)
operator(
    "conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], "
    "SymInt[1] padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, SymInt[1] "
    "dilation=[1]) -> Tensor",
    variants=FUNCTION,
)
operator(
    "conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] "
    "stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt "
    "groups=1, SymInt[2] dilation=[1, 1]) -> Tensor",
    variants=FUNCTION,
)
operator(
    "conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] "
    "stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], "
    "SymInt groups=1, SymInt[3] dilation=[1, 1, 1]) -> Tensor",
    variants=FUNCTION,
)
operator(
    "conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
    out="conv_tbc.out", variants=FUNCTION,
)
operator(
    "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) "
    "-> Tensor",
    out="im2col.out", variants=FUNCTION, python_module="nn",
)
operator(
    "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] "
    "padding, int[2] stride) -> Tensor",
    out="col2im.out", variants=FUNCTION, python_module="nn",
)
