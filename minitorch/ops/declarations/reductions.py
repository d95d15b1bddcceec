"""Reductions, scans and norms."""

from minitorch.ops.registry import CORE, DATA_DEPENDENT, FUNCTION, METHOD, REDUCTION, operator

operator("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", tags=REDUCTION)
operator(
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor",
    out="sum.IntList_out", tags=CORE + REDUCTION,
)
operator(
    "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    out="mean.dtype_out", tags=CORE + REDUCTION,
)
operator(
    "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor",
    out="mean.out", tags=CORE + REDUCTION,
)
operator("prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", tags=CORE + REDUCTION)
operator(
    "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor",
    out="prod.int_out", tags=CORE + REDUCTION,
)
operator(
    "amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    out="amax.out", tags=CORE + REDUCTION,
)
operator(
    "amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    out="amin.out", tags=CORE + REDUCTION,
)
operator("max(Tensor self) -> Tensor", out="max.unary_out", tags=REDUCTION)
operator(
    "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    out="max.dim_max", out_names=("max", "max_values"), tags=CORE + REDUCTION,
)
operator("max.other(Tensor self, Tensor other) -> Tensor", out="max.out")
operator("min(Tensor self) -> Tensor", out="min.unary_out", tags=REDUCTION)
operator(
    "min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    out="min.dim_min", out_names=("min", "min_indices"), tags=CORE + REDUCTION,
)
operator("min.other(Tensor self, Tensor other) -> Tensor", out="min.out")
operator(
    "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    out="aminmax.out", out_names=("min", "max"), tags=REDUCTION,
)

operator(
    "argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    out="argmax.out", tags=CORE + REDUCTION,
)
operator(
    "argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    out="argmin.out", tags=CORE + REDUCTION,
)
operator("any(Tensor self) -> Tensor", out="any.all_out", tags=CORE + REDUCTION)
operator(
    "any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
    out="any.out", tags=CORE + REDUCTION,
)
operator(
    "any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    out="any.dims_out", tags=CORE + REDUCTION,
)
operator("all(Tensor self) -> Tensor", out="all.all_out", tags=REDUCTION)
operator(
    "all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
    out="all.out", tags=REDUCTION,
)
operator(
    "all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    out="all.dims_out", tags=REDUCTION,
)

operator(
    "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
    "bool keepdim=False) -> Tensor",
    out="var.correction_out", tags=CORE + REDUCTION,
)
operator("var(Tensor self, bool unbiased=True) -> Tensor", tags=REDUCTION)
operator(
    "var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
    out="var.out", tags=CORE + REDUCTION,
)
operator(
    "std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
    "bool keepdim=False) -> Tensor",
    out="std.correction_out", tags=REDUCTION,
)
operator("std(Tensor self, bool unbiased=True) -> Tensor", tags=REDUCTION)
operator(
    "std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
    out="std.out", tags=REDUCTION,
)
operator(
    "var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
    "bool keepdim=False) -> (Tensor, Tensor)",
    variants=FUNCTION, tags=REDUCTION,
)
operator(
    "var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
    variants=FUNCTION, tags=REDUCTION,
)
operator(
    "var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)"
    " -> (Tensor, Tensor)",
    variants=FUNCTION, tags=REDUCTION,
)
operator(
    "std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
    "bool keepdim=False) -> (Tensor, Tensor)",
    variants=FUNCTION, tags=REDUCTION,
)
operator(
    "std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
    variants=FUNCTION, tags=REDUCTION,
)
operator(
    "std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)"
    " -> (Tensor, Tensor)",
    variants=FUNCTION, tags=REDUCTION,
)

operator(
    "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    out="logsumexp.out", tags=REDUCTION,
)
operator("median(Tensor self) -> Tensor")
operator(
    "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    out="median.dim_values", out_names=("values", "indices"),
)
operator("nanmedian(Tensor self) -> Tensor")
operator(
    "nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    out="nanmedian.dim_values", out_names=("values", "indices"),
)
operator(
    "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    out="mode.values", out_names=("values", "indices"),
)
operator(
    "kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, "
    "Tensor indices)",
    out="kthvalue.values", out_names=("values", "indices"),
)

operator(
    'quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, '
    'str interpolation="linear") -> Tensor',
    out="quantile.out",
)
operator(
    'quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, '
    'str interpolation="linear") -> Tensor',
    out="quantile.scalar_out",
)
operator(
    'nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, '
    'str interpolation="linear") -> Tensor',
    out="nanquantile.out",
)
operator(
    'nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, '
    'str interpolation="linear") -> Tensor',
    out="nanquantile.scalar_out",
)

operator("norm.Scalar(Tensor self, Scalar p=2) -> Tensor", variants=0, tags=REDUCTION)
operator(
    "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
    out="norm.out", variants=0, tags=REDUCTION,
)
operator(
    "norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, "
    "ScalarType dtype) -> Tensor",
    out="norm.dtype_out", variants=0, tags=REDUCTION,
)
operator(
    "norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
    variants=0, tags=REDUCTION,
)
operator(
    "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    out="linalg_vector_norm.out", variants=FUNCTION, tags=REDUCTION, python_module="linalg",
)
operator(
    "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
    inplace="renorm_", out="renorm.out",
)

operator("count_nonzero(Tensor self, int? dim=None) -> Tensor", tags=REDUCTION)
operator("count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor", tags=REDUCTION)
operator(
    "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor",
    out="nansum.out", tags=REDUCTION,
)
operator(
    "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor",
    out="nanmean.out",
)

operator(
    "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    inplace="cumsum_", out="cumsum.out", tags=CORE,
)
operator(
    "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    inplace="cumprod_", out="cumprod.out",
)
operator(
    "cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    out="cummax.out", out_names=("values", "indices"),
)
operator(
    "cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    out="cummin.out", out_names=("values", "indices"),
)
operator("logcumsumexp(Tensor self, int dim) -> Tensor", out="logcumsumexp.out")
operator(
    "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None)"
    " -> Tensor",
    out="diff.out",
)

operator("trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", variants=FUNCTION)
operator("trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", variants=FUNCTION)
operator("trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", variants=FUNCTION)
operator("trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor", variants=FUNCTION)
operator("cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", variants=FUNCTION)
operator(
    "cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    variants=FUNCTION,
)
operator(
    "gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1)"
    " -> Tensor[]",
    variants=FUNCTION,
)
operator(
    "gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1)"
    " -> Tensor[]",
    variants=FUNCTION,
)
operator(
    "gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]",
    variants=FUNCTION,
)
# Tensors before numbers, because a tensor of one element would do as a number.
operator(
    "gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1)"
    " -> Tensor[]",
    variants=FUNCTION,
)
operator(
    "gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1)"
    " -> Tensor[]",
    variants=FUNCTION,
)
operator(
    "gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1)"
    " -> Tensor[]",
    variants=FUNCTION,
)
operator(
    "gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1)"
    " -> Tensor[]",
    variants=FUNCTION,
)

operator("trace(Tensor self) -> Tensor")
operator("equal(Tensor self, Tensor other) -> bool", tags=DATA_DEPENDENT)
operator(
    "allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, "
    "bool equal_nan=False) -> bool",
    tags=DATA_DEPENDENT,
)
operator(
    "isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, "
    "bool equal_nan=False) -> Tensor",
)
operator(
    "cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None)"
    " -> Tensor",
)
operator("corrcoef(Tensor self) -> Tensor")
operator(
    "special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    out="special_logsumexp.out", variants=FUNCTION, python_module="special",
)
operator("sum_to_size(Tensor self, SymInt[] size) -> Tensor", variants=METHOD)
operator(
    "hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor",
    out="hash_tensor.out",
)
operator("_assert_async.msg(Tensor self, str assert_msg) -> ()", variants=0)
