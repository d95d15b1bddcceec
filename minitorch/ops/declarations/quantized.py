"""Quantized tensors: making them, and what they consist of."""

from minitorch.ops.registry import FUNCTION, METHOD, operator

operator("quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor", variants=FUNCTION)
operator(
    "quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, ScalarType dtype) "
    "-> Tensor",
    variants=FUNCTION,
)
operator(
    "quantize_per_tensor.tensors(Tensor[] tensors, Tensor scales, Tensor zero_points, ScalarType dtype) "
    "-> Tensor[]",
    variants=FUNCTION,
)
operator("quantize_per_tensor_dynamic(Tensor self, ScalarType dtype, bool reduce_range) -> Tensor", variants=FUNCTION)
operator(
    "quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype) -> "
    "Tensor",
    variants=FUNCTION,
)
operator("dequantize.self(Tensor self) -> Tensor")
operator("dequantize.tensors(Tensor[] tensors) -> Tensor[]")
operator("dequantize.tensor(Tensor qtensor) -> Tensor")
operator("dequantize.list(Tensor[] qtensors) -> Tensor[]")
operator("dequantize.any(Any tensors) -> Any")
operator("q_scale(Tensor self) -> float")
operator("q_zero_point(Tensor self) -> int")
operator("q_per_channel_scales(Tensor self) -> Tensor")
operator("q_per_channel_zero_points(Tensor self) -> Tensor")
operator("q_per_channel_axis(Tensor self) -> int")
operator("int_repr(Tensor self) -> Tensor")
operator("_make_per_tensor_quantized_tensor(Tensor self, float scale, int zero_point) -> Tensor", variants=FUNCTION)
operator(
    "_make_per_channel_quantized_tensor(Tensor self, Tensor scale, Tensor zero_point, int axis) -> Tensor",
    variants=FUNCTION,
)
operator("qscheme(Tensor self) -> QScheme", variants=METHOD)
operator("_choose_qparams_per_tensor(Tensor self, bool reduce_range=False) -> (float, int)", variants=FUNCTION)
operator(
    "choose_qparams_optimized(Tensor input, int numel, int n_bins, float ratio, int bit_width) -> "
    "(Tensor, Tensor)",
    variants=FUNCTION,
)
operator(
    "_empty_affine_quantized(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
    "device=None, bool? pin_memory=None, float scale=1., int zero_point=0, MemoryFormat? "
    "memory_format=0) -> Tensor",
    variants=FUNCTION,
)
operator(
    "_empty_per_channel_affine_quantized(SymInt[] size, *, Tensor scales, Tensor zero_points, int axis, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=0) -> Tensor",
    variants=FUNCTION,
)
operator(
    "empty_quantized(int[] size, Tensor qtensor, *, ScalarType? dtype=None, Layout? layout=None, Device? "
    "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    variants=FUNCTION,
)
operator("_int_mm(Tensor self, Tensor mat2) -> Tensor", variants=FUNCTION)
operator("_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor", variants=FUNCTION)
operator(
    "_weight_int4pack_mm(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor",
    variants=0,
)
operator("_convert_weight_to_int4pack(Tensor self, int innerKTiles) -> Tensor", variants=0)
operator(
    "quantized_max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] "
    "dilation=1, bool ceil_mode=False) -> Tensor",
    variants=FUNCTION,
)
operator(
    "quantized_max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] "
    "dilation=[1], bool ceil_mode=False) -> Tensor",
    variants=FUNCTION,
)
operator(
    "quantized_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, float "
    "eps, float output_scale, int output_zero_point) -> Tensor",
    variants=FUNCTION,
)
