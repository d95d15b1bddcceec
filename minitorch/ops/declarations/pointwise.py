"""Pointwise operators: what exists.  Those of `minitorch.special` are in `special_functions`."""

from minitorch.ops.registry import FUNCTION, POINTWISE, operator

# ---------------------------------------------------------------- arithmetic

# A Python number is taken by the Tensor overload of the arithmetic operators.
operator(
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    inplace="add_.Tensor", out="add.out", tags=POINTWISE,
)
operator(
    "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    inplace="add_.Scalar", out="add.Scalar_out", tags=POINTWISE,
)
operator(
    "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    inplace="sub_.Tensor", out="sub.out", tags=POINTWISE,
)
operator(
    "sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    inplace="sub_.Scalar", out="sub.Scalar_out", tags=POINTWISE,
)
operator(
    "subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    inplace="subtract_.Tensor", out="subtract.out", tags=POINTWISE,
)
operator(
    "subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    inplace="subtract_.Scalar", tags=POINTWISE,
)
operator(
    "rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    out="rsub.Tensor_out", variants=FUNCTION, tags=POINTWISE,
)
operator(
    "rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    out="rsub.Scalar_out", variants=FUNCTION, tags=POINTWISE,
)
operator(
    "mul.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="mul_.Tensor", out="mul.out", tags=POINTWISE,
)
operator(
    "mul.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="mul_.Scalar", out="mul.Scalar_out", tags=POINTWISE,
)
operator(
    "multiply.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="multiply_.Tensor", out="multiply.out", tags=POINTWISE,
)
operator(
    "multiply.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="multiply_.Scalar", tags=POINTWISE,
)
operator(
    "div.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="div_.Tensor", out="div.out", tags=POINTWISE,
)
operator(
    "div.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="div_.Scalar", out="div.Scalar_out", tags=POINTWISE,
)
operator(
    "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    inplace="div_.Tensor_mode", out="div.out_mode", tags=POINTWISE,
)
operator(
    "div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
    inplace="div_.Scalar_mode", out="div.Scalar_mode_out", tags=POINTWISE,
)
operator(
    "divide.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="divide_.Tensor", out="divide.out", tags=POINTWISE,
)
operator(
    "divide.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="divide_.Scalar", tags=POINTWISE,
)
operator(
    "divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    inplace="divide_.Tensor_mode", out="divide.out_mode", tags=POINTWISE,
)
operator(
    "divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
    inplace="divide_.Scalar_mode", tags=POINTWISE,
)
operator(
    "true_divide.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="true_divide_.Tensor", out="true_divide.out", tags=POINTWISE,
)
operator(
    "true_divide.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="true_divide_.Scalar", tags=POINTWISE,
)
operator(
    "floor_divide(Tensor self, Tensor other) -> Tensor",
    inplace="floor_divide_.Tensor", out="floor_divide.out", tags=POINTWISE,
)
operator(
    "floor_divide.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="floor_divide_.Scalar", out="floor_divide.Scalar_out", tags=POINTWISE,
)
operator(
    "remainder.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="remainder_.Tensor", out="remainder.Tensor_out", tags=POINTWISE,
)
operator(
    "remainder.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="remainder_.Scalar", out="remainder.Scalar_out", tags=POINTWISE,
)
operator(
    "remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    out="remainder.Scalar_Tensor_out", variants=FUNCTION, tags=POINTWISE,
)
operator(
    "fmod.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="fmod_.Tensor", out="fmod.Tensor_out", tags=POINTWISE,
)
operator(
    "fmod.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="fmod_.Scalar", out="fmod.Scalar_out", tags=POINTWISE,
)
operator("neg(Tensor self) -> Tensor", inplace="neg_", out="neg.out", tags=POINTWISE)
operator("negative(Tensor self) -> Tensor", inplace="negative_", out="negative.out", tags=POINTWISE)
operator("positive(Tensor(a) self) -> Tensor(a)", tags=POINTWISE)
operator("abs(Tensor self) -> Tensor", inplace="abs_", out="abs.out", tags=POINTWISE)
operator("absolute(Tensor self) -> Tensor", inplace="absolute_", out="absolute.out", tags=POINTWISE)
operator("sign(Tensor self) -> Tensor", inplace="sign_", out="sign.out", tags=POINTWISE)
operator("sgn(Tensor self) -> Tensor", inplace="sgn_", out="sgn.out", tags=POINTWISE)
operator("signbit(Tensor self) -> Tensor", out="signbit.out", tags=POINTWISE)
operator(
    "reciprocal(Tensor self) -> Tensor",
    inplace="reciprocal_", out="reciprocal.out", tags=POINTWISE,
)
operator("square(Tensor self) -> Tensor", inplace="square_", out="square.out", tags=POINTWISE)

# ---------------------------------------------------------------- powers and roots

operator(
    "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    inplace="pow_.Tensor", out="pow.Tensor_Tensor_out", tags=POINTWISE,
)
operator(
    "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    inplace="pow_.Scalar", out="pow.Tensor_Scalar_out", tags=POINTWISE,
)
operator(
    "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
    out="pow.Scalar_out", variants=FUNCTION, tags=POINTWISE,
)
operator(
    "float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    out="float_power.Tensor_Tensor_out", tags=POINTWISE,
)
operator(
    "float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    out="float_power.Tensor_Scalar_out", tags=POINTWISE,
)
operator(
    "float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
    out="float_power.Scalar_out", variants=FUNCTION, tags=POINTWISE,
)
operator("float_power_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)", tags=POINTWISE)
operator("float_power_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)", tags=POINTWISE)
operator("sqrt(Tensor self) -> Tensor", inplace="sqrt_", out="sqrt.out", tags=POINTWISE)
operator("rsqrt(Tensor self) -> Tensor", inplace="rsqrt_", out="rsqrt.out", tags=POINTWISE)

# ---------------------------------------------------------------- exponentials and logarithms

operator("exp(Tensor self) -> Tensor", inplace="exp_", out="exp.out", tags=POINTWISE)
operator("exp2(Tensor self) -> Tensor", inplace="exp2_", out="exp2.out", tags=POINTWISE)
operator("expm1(Tensor self) -> Tensor", inplace="expm1_", out="expm1.out", tags=POINTWISE)
operator("log(Tensor self) -> Tensor", inplace="log_", out="log.out", tags=POINTWISE)
operator("log2(Tensor self) -> Tensor", inplace="log2_", out="log2.out", tags=POINTWISE)
operator("log10(Tensor self) -> Tensor", inplace="log10_", out="log10.out", tags=POINTWISE)
operator("log1p(Tensor self) -> Tensor", inplace="log1p_", out="log1p.out", tags=POINTWISE)
operator(
    "xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="xlogy_.Tensor", out="xlogy.OutTensor", tags=POINTWISE,
)
operator(
    "xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor",
    inplace="xlogy_.Scalar_Other", out="xlogy.OutScalar_Other", tags=POINTWISE,
)
operator(
    "xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor",
    out="xlogy.OutScalar_Self", variants=FUNCTION, tags=POINTWISE,
)
operator("logaddexp(Tensor self, Tensor other) -> Tensor", out="logaddexp.out", tags=POINTWISE)
operator("logaddexp2(Tensor self, Tensor other) -> Tensor", out="logaddexp2.out", tags=POINTWISE)
operator("sigmoid(Tensor self) -> Tensor", inplace="sigmoid_", out="sigmoid.out", tags=POINTWISE)
operator(
    "logit(Tensor self, float? eps=None) -> Tensor",
    inplace="logit_", out="logit.out", tags=POINTWISE,
)
operator(
    "ldexp.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="ldexp_", out="ldexp.out", tags=POINTWISE,
)
operator(
    "frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
    out="frexp.Tensor_out", out_names=("mantissa", "exponent"), tags=POINTWISE,
)

# ---------------------------------------------------------------- trigonometry

operator("sin(Tensor self) -> Tensor", inplace="sin_", out="sin.out", tags=POINTWISE)
operator("cos(Tensor self) -> Tensor", inplace="cos_", out="cos.out", tags=POINTWISE)
operator("tan(Tensor self) -> Tensor", inplace="tan_", out="tan.out", tags=POINTWISE)
operator("asin(Tensor self) -> Tensor", inplace="asin_", out="asin.out", tags=POINTWISE)
operator("acos(Tensor self) -> Tensor", inplace="acos_", out="acos.out", tags=POINTWISE)
operator("atan(Tensor self) -> Tensor", inplace="atan_", out="atan.out", tags=POINTWISE)
operator("sinh(Tensor self) -> Tensor", inplace="sinh_", out="sinh.out", tags=POINTWISE)
operator("cosh(Tensor self) -> Tensor", inplace="cosh_", out="cosh.out", tags=POINTWISE)
operator("tanh(Tensor self) -> Tensor", inplace="tanh_", out="tanh.out", tags=POINTWISE)
operator("asinh(Tensor self) -> Tensor", inplace="asinh_", out="asinh.out", tags=POINTWISE)
operator("acosh(Tensor self) -> Tensor", inplace="acosh_", out="acosh.out", tags=POINTWISE)
operator("atanh(Tensor self) -> Tensor", inplace="atanh_", out="atanh.out", tags=POINTWISE)
operator("arcsin(Tensor self) -> Tensor", inplace="arcsin_", out="arcsin.out", tags=POINTWISE)
operator("arccos(Tensor self) -> Tensor", inplace="arccos_", out="arccos.out", tags=POINTWISE)
operator("arctan(Tensor self) -> Tensor", inplace="arctan_", out="arctan.out", tags=POINTWISE)
operator("arcsinh(Tensor self) -> Tensor", inplace="arcsinh_", out="arcsinh.out", tags=POINTWISE)
operator("arccosh(Tensor self) -> Tensor", inplace="arccosh_", out="arccosh.out", tags=POINTWISE)
operator("arctanh(Tensor self) -> Tensor", inplace="arctanh_", out="arctanh.out", tags=POINTWISE)
operator(
    "atan2(Tensor self, Tensor other) -> Tensor",
    inplace="atan2_", out="atan2.out", tags=POINTWISE,
)
operator(
    "arctan2(Tensor self, Tensor other) -> Tensor",
    inplace="arctan2_", out="arctan2.out", tags=POINTWISE,
)
operator(
    "hypot(Tensor self, Tensor other) -> Tensor",
    inplace="hypot_", out="hypot.out", tags=POINTWISE,
)
operator("sinc(Tensor self) -> Tensor", inplace="sinc_", out="sinc.out", tags=POINTWISE)
operator("deg2rad(Tensor self) -> Tensor", inplace="deg2rad_", out="deg2rad.out", tags=POINTWISE)
operator("rad2deg(Tensor self) -> Tensor", inplace="rad2deg_", out="rad2deg.out", tags=POINTWISE)
operator("angle(Tensor self) -> Tensor", out="angle.out", tags=POINTWISE)

# ---------------------------------------------------------------- rounding

operator("floor(Tensor self) -> Tensor", inplace="floor_", out="floor.out", tags=POINTWISE)
operator("ceil(Tensor self) -> Tensor", inplace="ceil_", out="ceil.out", tags=POINTWISE)
operator("trunc(Tensor self) -> Tensor", inplace="trunc_", out="trunc.out", tags=POINTWISE)
operator("fix(Tensor self) -> Tensor", inplace="fix_", out="fix.out", tags=POINTWISE)
operator("round(Tensor self) -> Tensor", inplace="round_", out="round.out", tags=POINTWISE)
operator(
    "round.decimals(Tensor self, *, int decimals) -> Tensor",
    inplace="round_.decimals", out="round.decimals_out", tags=POINTWISE,
)
operator("frac(Tensor self) -> Tensor", inplace="frac_", out="frac.out", tags=POINTWISE)

# ---------------------------------------------------------------- limits

operator(
    "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    inplace="clamp_", out="clamp.out", tags=POINTWISE,
)
operator(
    "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    inplace="clamp_.Tensor", out="clamp.Tensor_out", tags=POINTWISE,
)
operator(
    "clamp_min(Tensor self, Scalar min) -> Tensor",
    inplace="clamp_min_", out="clamp_min.out", tags=POINTWISE,
)
operator(
    "clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
    inplace="clamp_min_.Tensor", out="clamp_min.Tensor_out", tags=POINTWISE,
)
operator(
    "clamp_max(Tensor self, Scalar max) -> Tensor",
    inplace="clamp_max_", out="clamp_max.out", tags=POINTWISE,
)
operator(
    "clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
    inplace="clamp_max_.Tensor", out="clamp_max.Tensor_out", tags=POINTWISE,
)
operator(
    "clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    inplace="clip_", out="clip.out", tags=POINTWISE,
)
operator(
    "clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    inplace="clip_.Tensor", out="clip.Tensor_out", tags=POINTWISE,
)
operator("maximum(Tensor self, Tensor other) -> Tensor", out="maximum.out", tags=POINTWISE)
operator("minimum(Tensor self, Tensor other) -> Tensor", out="minimum.out", tags=POINTWISE)
operator("fmax(Tensor self, Tensor other) -> Tensor", out="fmax.out", tags=POINTWISE)
operator("fmin(Tensor self, Tensor other) -> Tensor", out="fmin.out", tags=POINTWISE)
operator(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    inplace="nan_to_num_", out="nan_to_num.out", tags=POINTWISE,
)

# ---------------------------------------------------------------- several operands

operator(
    "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
    inplace="lerp_.Scalar", out="lerp.Scalar_out", tags=POINTWISE,
)
operator(
    "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    inplace="lerp_.Tensor", out="lerp.Tensor_out", tags=POINTWISE,
)
operator(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    inplace="addcmul_", out="addcmul.out", tags=POINTWISE,
)
operator(
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    inplace="addcdiv_", out="addcdiv.out", tags=POINTWISE,
)
operator("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", out="dist.out")
operator(
    "copysign.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="copysign_.Tensor", out="copysign.out", tags=POINTWISE,
)
operator(
    "copysign.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="copysign_.Scalar", out="copysign.Scalar_out", tags=POINTWISE,
)
operator(
    "nextafter(Tensor self, Tensor other) -> Tensor",
    inplace="nextafter_", out="nextafter.out", tags=POINTWISE,
)
operator(
    "heaviside(Tensor self, Tensor values) -> Tensor",
    inplace="heaviside_", out="heaviside.out", tags=POINTWISE,
)
operator("gcd(Tensor self, Tensor other) -> Tensor", inplace="gcd_", out="gcd.out", tags=POINTWISE)
operator("lcm(Tensor self, Tensor other) -> Tensor", inplace="lcm_", out="lcm.out", tags=POINTWISE)
operator(
    "conj_physical(Tensor self) -> Tensor",
    inplace="conj_physical_", out="conj_physical.out", tags=POINTWISE,
)

# ---------------------------------------------------------------- comparison

operator(
    "eq.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="eq_.Tensor", out="eq.Tensor_out", tags=POINTWISE,
)
operator(
    "eq.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="eq_.Scalar", out="eq.Scalar_out", tags=POINTWISE,
)
operator("eq.Tensor_list(Tensor[] a, Tensor[] b) -> bool", tags=POINTWISE)
operator(
    "ne.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="ne_.Tensor", out="ne.Tensor_out", tags=POINTWISE,
)
operator(
    "ne.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="ne_.Scalar", out="ne.Scalar_out", tags=POINTWISE,
)
operator("ne.Tensor_list(Tensor[] a, Tensor[] b) -> bool", tags=POINTWISE)
operator(
    "lt.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="lt_.Tensor", out="lt.Tensor_out", tags=POINTWISE,
)
operator(
    "lt.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="lt_.Scalar", out="lt.Scalar_out", tags=POINTWISE,
)
operator(
    "le.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="le_.Tensor", out="le.Tensor_out", tags=POINTWISE,
)
operator(
    "le.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="le_.Scalar", out="le.Scalar_out", tags=POINTWISE,
)
operator(
    "gt.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="gt_.Tensor", out="gt.Tensor_out", tags=POINTWISE,
)
operator(
    "gt.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="gt_.Scalar", out="gt.Scalar_out", tags=POINTWISE,
)
operator(
    "ge.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="ge_.Tensor", out="ge.Tensor_out", tags=POINTWISE,
)
operator(
    "ge.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="ge_.Scalar", out="ge.Scalar_out", tags=POINTWISE,
)
operator(
    "not_equal.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="not_equal_.Tensor", out="not_equal.Tensor_out", tags=POINTWISE,
)
operator(
    "not_equal.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="not_equal_.Scalar", out="not_equal.Scalar_out", tags=POINTWISE,
)
operator(
    "less.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="less_.Tensor", out="less.Tensor_out", tags=POINTWISE,
)
operator(
    "less.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="less_.Scalar", out="less.Scalar_out", tags=POINTWISE,
)
operator(
    "less_equal.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="less_equal_.Tensor", out="less_equal.Tensor_out", tags=POINTWISE,
)
operator(
    "less_equal.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="less_equal_.Scalar", out="less_equal.Scalar_out", tags=POINTWISE,
)
operator(
    "greater.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="greater_.Tensor", out="greater.Tensor_out", tags=POINTWISE,
)
operator(
    "greater.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="greater_.Scalar", out="greater.Scalar_out", tags=POINTWISE,
)
operator(
    "greater_equal.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="greater_equal_.Tensor", out="greater_equal.Tensor_out", tags=POINTWISE,
)
operator(
    "greater_equal.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="greater_equal_.Scalar", out="greater_equal.Scalar_out", tags=POINTWISE,
)
operator("isnan(Tensor self) -> Tensor", out="isnan.out", tags=POINTWISE)
operator("isinf(Tensor self) -> Tensor", out="isinf.out", tags=POINTWISE)
operator("isfinite(Tensor self) -> Tensor", tags=POINTWISE)
operator("isposinf(Tensor self) -> Tensor", out="isposinf.out", tags=POINTWISE)
operator("isneginf(Tensor self) -> Tensor", out="isneginf.out", tags=POINTWISE)
operator("isreal(Tensor self) -> Tensor", tags=POINTWISE)

# ---------------------------------------------------------------- logic and bits

operator(
    "logical_and(Tensor self, Tensor other) -> Tensor",
    inplace="logical_and_", out="logical_and.out", tags=POINTWISE,
)
operator(
    "logical_or(Tensor self, Tensor other) -> Tensor",
    inplace="logical_or_", out="logical_or.out", tags=POINTWISE,
)
operator(
    "logical_xor(Tensor self, Tensor other) -> Tensor",
    inplace="logical_xor_", out="logical_xor.out", tags=POINTWISE,
)
operator(
    "logical_not(Tensor self) -> Tensor",
    inplace="logical_not_", out="logical_not.out", tags=POINTWISE,
)
operator(
    "bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="bitwise_and_.Tensor", out="bitwise_and.Tensor_out", tags=POINTWISE,
)
operator(
    "bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="bitwise_and_.Scalar", out="bitwise_and.Scalar_out", tags=POINTWISE,
)
operator(
    "bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    out="bitwise_and.Scalar_Tensor_out", variants=FUNCTION, tags=POINTWISE,
)
operator(
    "bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="bitwise_or_.Tensor", out="bitwise_or.Tensor_out", tags=POINTWISE,
)
operator(
    "bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="bitwise_or_.Scalar", out="bitwise_or.Scalar_out", tags=POINTWISE,
)
operator(
    "bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    out="bitwise_or.Scalar_Tensor_out", variants=FUNCTION, tags=POINTWISE,
)
operator(
    "bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="bitwise_xor_.Tensor", out="bitwise_xor.Tensor_out", tags=POINTWISE,
)
operator(
    "bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="bitwise_xor_.Scalar", out="bitwise_xor.Scalar_out", tags=POINTWISE,
)
operator(
    "bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    out="bitwise_xor.Scalar_Tensor_out", variants=FUNCTION, tags=POINTWISE,
)
operator(
    "bitwise_not(Tensor self) -> Tensor",
    inplace="bitwise_not_", out="bitwise_not.out", tags=POINTWISE,
)
operator(
    "bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="bitwise_left_shift_.Tensor", out="bitwise_left_shift.Tensor_out", tags=POINTWISE,
)
operator(
    "bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="bitwise_left_shift_.Tensor_Scalar",
    out="bitwise_left_shift.Tensor_Scalar_out",
    tags=POINTWISE,
)
operator(
    "bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    out="bitwise_left_shift.Scalar_Tensor_out", variants=FUNCTION, tags=POINTWISE,
)
operator(
    "bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor",
    inplace="bitwise_right_shift_.Tensor", out="bitwise_right_shift.Tensor_out", tags=POINTWISE,
)
operator(
    "bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
    inplace="bitwise_right_shift_.Tensor_Scalar",
    out="bitwise_right_shift.Tensor_Scalar_out",
    tags=POINTWISE,
)
operator(
    "bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    out="bitwise_right_shift.Scalar_Tensor_out", variants=FUNCTION, tags=POINTWISE,
)
