"""Rounding to a quantized grid in floating point: what training for quantization computes with."""

from minitorch.ops.registry import FUNCTION, operator

operator(
    "fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int "
    "quant_max) -> Tensor",
    variants=FUNCTION,
)
operator(
    "fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int "
    "quant_min, int quant_max) -> Tensor",
    variants=FUNCTION,
)
operator(
    "fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, "
    "int quant_max) -> (Tensor output, Tensor mask)",
    variants=0,
)
operator("fake_quantize_per_tensor_affine_cachemask_backward(Tensor grad, Tensor mask) -> Tensor", variants=0)
operator(
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor "
    "zero_point, Tensor fake_quant_enabled, int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
    variants=0,
)
operator(
    "_fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor zero_point, int "
    "quant_min, int quant_max, float grad_factor=1.) -> Tensor",
    variants=0,
)
operator(
    "_fake_quantize_learnable_per_tensor_affine_backward(Tensor grad, Tensor self, Tensor scale, Tensor "
    "zero_point, int quant_min, int quant_max, float grad_factor=1.) -> (Tensor, Tensor, Tensor)",
    variants=0,
)
operator(
    "fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int "
    "quant_min, int quant_max) -> Tensor",
    variants=FUNCTION,
)
operator(
    "fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, "
    "int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
    variants=0,
)
operator("fake_quantize_per_channel_affine_cachemask_backward(Tensor grad, Tensor mask) -> Tensor", variants=0)
operator(
    "_fake_quantize_learnable_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, "
    "int quant_min, int quant_max, float grad_factor=1.) -> Tensor",
    variants=0,
)
operator(
    "_fake_quantize_learnable_per_channel_affine_backward(Tensor grad, Tensor self, Tensor scale, Tensor "
    "zero_point, int axis, int quant_min, int quant_max, float grad_factor=1.) -> (Tensor, Tensor, "
    "Tensor)",
    variants=0,
)
operator(
    "fused_moving_avg_obs_fake_quant(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min, Tensor(b!) "
    "running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, "
    "bool per_row_fake_quant=False, bool symmetric_quant=False) -> Tensor",
    variants=FUNCTION,
)
