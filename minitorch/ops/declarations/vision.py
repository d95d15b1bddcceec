"""Padding, resampling and other operators of images: what exists."""

from minitorch.ops.registry import FUNCTION, operator

operator(
    "constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
    out="constant_pad_nd.out", variants=FUNCTION,
)
operator(
    "pad(Tensor self, SymInt[] pad, str mode='constant', float? value=None) -> Tensor",
    variants=FUNCTION, python_module="nn",
)
operator(
    "_pad_circular(Tensor self, SymInt[] pad) -> Tensor",
    variants=FUNCTION, python_module="nn",
)
operator(
    "reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
    out="reflection_pad1d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor",
    out="reflection_pad1d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
    out="reflection_pad2d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor",
    out="reflection_pad2d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
    out="reflection_pad3d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "reflection_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor",
    out="reflection_pad3d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
    out="replication_pad1d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> "
    "Tensor",
    out="replication_pad1d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
    out="replication_pad2d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> "
    "Tensor",
    out="replication_pad2d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
    out="replication_pad3d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "replication_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> "
    "Tensor",
    out="replication_pad3d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor",
    out="upsample_nearest1d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "upsample_nearest1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] "
    "input_size, float? scales=None) -> Tensor",
    out="upsample_nearest1d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> "
    "Tensor",
    out="_upsample_nearest_exact1d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "_upsample_nearest_exact1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] "
    "input_size, float? scales=None) -> Tensor",
    out="_upsample_nearest_exact1d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? "
    "scales_w=None) -> Tensor",
    out="upsample_nearest2d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "upsample_nearest2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] "
    "input_size, float? scales_h=None, float? scales_w=None) -> Tensor",
    out="upsample_nearest2d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, "
    "float? scales_w=None) -> Tensor",
    out="_upsample_nearest_exact2d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "_upsample_nearest_exact2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] "
    "input_size, float? scales_h=None, float? scales_w=None) -> Tensor",
    out="_upsample_nearest_exact2d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? "
    "scales_h=None, float? scales_w=None) -> Tensor",
    out="upsample_nearest3d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "upsample_nearest3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] "
    "input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
    out="upsample_nearest3d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, "
    "float? scales_h=None, float? scales_w=None) -> Tensor",
    out="_upsample_nearest_exact3d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "_upsample_nearest_exact3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] "
    "input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
    out="_upsample_nearest_exact3d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? "
    "scales=None) -> Tensor",
    out="upsample_linear1d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "upsample_linear1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] "
    "input_size, bool align_corners, float? scales=None) -> Tensor",
    out="upsample_linear1d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? "
    "scales_h=None, float? scales_w=None) -> Tensor",
    out="upsample_bilinear2d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "upsample_bilinear2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] "
    "input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
    out="upsample_bilinear2d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? "
    "scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
    out="upsample_trilinear3d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "upsample_trilinear3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] "
    "input_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? "
    "scales_w=None) -> Tensor",
    out="upsample_trilinear3d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? "
    "scales_h=None, float? scales_w=None) -> Tensor",
    out="upsample_bicubic2d.out", variants=FUNCTION, python_module="nn",
)
operator(
    "upsample_bicubic2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] "
    "input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
    out="upsample_bicubic2d_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
    "scale_factors) -> Tensor",
    variants=FUNCTION,
)
operator(
    "_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? "
    "scales_h=None, float? scales_w=None) -> Tensor",
    out="_upsample_bilinear2d_aa.out", variants=FUNCTION, python_module="nn",
)
operator(
    "_upsample_bilinear2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] "
    "input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
    out="_upsample_bilinear2d_aa_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? "
    "scales_h=None, float? scales_w=None) -> Tensor",
    out="_upsample_bicubic2d_aa.out", variants=FUNCTION, python_module="nn",
)
operator(
    "_upsample_bicubic2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] "
    "input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
    out="_upsample_bicubic2d_aa_backward.grad_input", out_names=("grad_input",), variants=0,
)
operator(
    "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
    out="pixel_shuffle.out", variants=FUNCTION,
)
operator(
    "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
    out="pixel_unshuffle.out", variants=FUNCTION,
)
operator(
    "channel_shuffle(Tensor self, SymInt groups) -> Tensor",
    out="channel_shuffle.out", variants=FUNCTION,
)
operator(
    "grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
    "align_corners) -> Tensor",
    variants=FUNCTION,
)
operator(
    "grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
    "bool align_corners) -> Tensor",
    out="grid_sampler_2d.out", variants=FUNCTION,
)
operator(
    "grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
    "bool align_corners) -> Tensor",
    out="grid_sampler_3d.out", variants=FUNCTION,
)
operator(
    "affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
    out="affine_grid_generator.out", variants=FUNCTION,
)
