"""View operators whose result is a copy, and splits that autograd does not treat as views."""

from minitorch.ops.registry import FUNCTION, METHOD, operator

operator("alias_copy(Tensor self) -> Tensor", out="alias_copy.out", variants=FUNCTION)
operator("_conj_copy(Tensor self) -> Tensor", out="_conj_copy.out", variants=FUNCTION)
operator("_neg_view_copy(Tensor self) -> Tensor", out="_neg_view_copy.out", variants=FUNCTION)
operator("detach_copy(Tensor self) -> Tensor", out="detach_copy.out", variants=FUNCTION)
operator(
    "as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
    out="as_strided_copy.out",
    variants=FUNCTION,
)
operator(
    "diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    out="diagonal_copy.out",
    variants=FUNCTION,
)
operator(
    "expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor",
    out="expand_copy.out",
    variants=FUNCTION,
)
operator("narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor", out="narrow_copy.out")
operator("permute_copy(Tensor self, int[] dims) -> Tensor", out="permute_copy.out", variants=FUNCTION)
operator(
    "select_copy.int(Tensor self, int dim, SymInt index) -> Tensor",
    out="select_copy.int_out",
    variants=FUNCTION,
)
operator(
    "slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor",
    out="slice_copy.Tensor_out",
    variants=FUNCTION,
)
operator("squeeze_copy(Tensor self) -> Tensor", out="squeeze_copy.out", variants=FUNCTION)
operator("squeeze_copy.dim(Tensor self, int dim) -> Tensor", out="squeeze_copy.dim_out", variants=FUNCTION)
operator("squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", out="squeeze_copy.dims_out", variants=FUNCTION)
operator("t_copy(Tensor self) -> Tensor", out="t_copy.out", variants=FUNCTION)
operator(
    "transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor",
    out="transpose_copy.int_out",
    variants=FUNCTION,
)
operator(
    "unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor",
    out="unfold_copy.out",
    variants=FUNCTION,
)
operator("unsqueeze_copy(Tensor self, int dim) -> Tensor", out="unsqueeze_copy.out", variants=FUNCTION)
operator("view_copy(Tensor self, SymInt[] size) -> Tensor", out="view_copy.out", variants=FUNCTION)
operator("view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor", out="view_copy.dtype_out", variants=FUNCTION)
operator("view_as_real_copy(Tensor self) -> Tensor", out="view_as_real_copy.out", variants=FUNCTION)
operator("view_as_complex_copy(Tensor self) -> Tensor", out="view_as_complex_copy.out", variants=FUNCTION)
operator("split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", variants=FUNCTION)
operator("split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", variants=FUNCTION)
operator("unbind_copy.int(Tensor self, int dim=0) -> Tensor[]", variants=FUNCTION)
operator("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]")
operator("unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]")
operator("unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]")
operator(
    "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
    out="as_strided_scatter.out",
)
operator("_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", out="_chunk_cat.out", variants=FUNCTION)
operator(
    "resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    variants=FUNCTION | METHOD,
)
operator("fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)", variants=METHOD)
