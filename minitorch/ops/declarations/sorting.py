"""Sorting, searching and counting."""

from minitorch.ops.registry import CORE, DYNAMIC_SHAPE, FUNCTION, operator

operator(
    "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    out="sort.values", out_names=("values", "indices"), tags=CORE,
)
operator(
    "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False)"
    " -> (Tensor values, Tensor indices)",
    out="sort.values_stable", out_names=("values", "indices"),
)
operator("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor")
operator(
    "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
    out="argsort.stable_out",
)
operator(
    "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True)"
    " -> (Tensor values, Tensor indices)",
    out="topk.values", out_names=("values", "indices"), tags=CORE,
)
operator("msort(Tensor self) -> Tensor", out="msort.out")
operator(
    "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, "
    "bool return_counts=False) -> (Tensor, Tensor, Tensor)",
    variants=0, tags=DYNAMIC_SHAPE,
)
operator(
    "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, "
    "bool return_counts=False) -> (Tensor, Tensor, Tensor)",
    variants=0, tags=DYNAMIC_SHAPE,
)
operator(
    "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, "
    "int? dim=None) -> (Tensor, Tensor, Tensor)",
    variants=0, tags=DYNAMIC_SHAPE,
)

operator(
    "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, "
    "bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
    out="searchsorted.Tensor_out", variants=FUNCTION,
)
operator(
    "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, "
    "bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
    out="searchsorted.Scalar_out", variants=FUNCTION,
)
operator(
    "bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, "
    "bool right=False) -> Tensor",
    out="bucketize.Tensor_out", variants=FUNCTION,
)
operator(
    "bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, "
    "bool right=False) -> Tensor",
    out="bucketize.Scalar_out", variants=FUNCTION,
)
operator(
    "isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, "
    "bool invert=False) -> Tensor",
    out="isin.Tensor_Tensor_out", variants=FUNCTION,
)
operator(
    "isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, "
    "bool invert=False) -> Tensor",
    out="isin.Tensor_Scalar_out", variants=FUNCTION,
)
operator(
    "isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, "
    "bool invert=False) -> Tensor",
    out="isin.Scalar_Tensor_out", variants=FUNCTION,
)

operator("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", out="histc.out")
operator(
    "bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
    tags=DYNAMIC_SHAPE,
)
operator(
    "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, "
    "bool density=False) -> (Tensor hist, Tensor bin_edges)",
    out="histogram.bins_tensor_out", out_names=("hist", "bin_edges"),
)
operator(
    "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, "
    "bool density=False) -> (Tensor hist, Tensor bin_edges)",
    out="histogram.bin_ct_out", out_names=("hist", "bin_edges"),
)
