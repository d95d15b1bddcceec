"""Gathering, scattering, masking and joining."""

from minitorch.ops.registry import CORE, DYNAMIC_SHAPE, FUNCTION, METHOD, operator

operator(
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    out="gather.out", tags=CORE,
)
operator(
    "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    inplace="scatter_.src", out="scatter.src_out", tags=CORE,
)
operator(
    "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    inplace="scatter_.value", out="scatter.value_out", tags=CORE,
)
operator(
    "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
    inplace="scatter_.reduce", out="scatter.reduce_out",
)
operator(
    "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce)"
    " -> Tensor",
    inplace="scatter_.value_reduce", out="scatter.value_reduce_out",
)
operator(
    "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    inplace="scatter_add_", out="scatter_add.out", tags=CORE,
)
operator(
    "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
    "bool include_self=True) -> Tensor",
    inplace="scatter_reduce_.two", out="scatter_reduce.two_out", tags=CORE,
)

operator(
    "index_select(Tensor self, int dim, Tensor index) -> Tensor",
    out="index_select.out", tags=CORE,
)
operator(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    inplace="index_add_", out="index_add.out",
)
operator(
    "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    inplace="index_copy_", out="index_copy.out",
)
operator(
    "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    inplace="index_fill_.int_Scalar",
)
operator(
    "index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
    inplace="index_fill_.int_Tensor",
)
operator(
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, "
    "bool include_self=True) -> Tensor",
    inplace="index_reduce_", out="index_reduce.out",
)
operator(
    "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    out="index.Tensor_out", variants=METHOD, tags=CORE + DYNAMIC_SHAPE,
)
operator(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    inplace="index_put_", tags=CORE,
)

operator(
    "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    inplace="masked_fill_.Scalar",
)
operator(
    "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
    inplace="masked_fill_.Tensor",
)
operator(
    "masked_select(Tensor self, Tensor mask) -> Tensor",
    out="masked_select.out", tags=DYNAMIC_SHAPE,
)
operator(
    "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    inplace="masked_scatter_", tags=CORE,
)
operator("nonzero(Tensor self) -> Tensor", out="nonzero.out", tags=CORE + DYNAMIC_SHAPE)
operator("nonzero_numpy(Tensor self) -> Tensor[]", variants=0)
operator("argwhere(Tensor self) -> Tensor", tags=DYNAMIC_SHAPE)
operator("take(Tensor self, Tensor index) -> Tensor", out="take.out")
operator(
    "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
    out="take_along_dim.out",
)
operator(
    "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
    inplace="put_",
)

operator(
    "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    out="where.self_out", tags=CORE,
)
operator("where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor")
operator("where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor")
operator("where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor")
operator("where(Tensor condition) -> Tensor[]")
operator(
    "one_hot(Tensor self, int num_classes=-1) -> Tensor",
    variants=FUNCTION, tags=DYNAMIC_SHAPE, python_module="nn",
)

operator(
    "repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
    tags=DYNAMIC_SHAPE,
)
operator(
    "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, "
    "SymInt? output_size=None) -> Tensor",
)
operator(
    "repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, "
    "SymInt? output_size=None) -> Tensor",
)
operator(
    "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, "
    "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    variants=FUNCTION, tags=CORE,
)
operator(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, "
    "SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
    variants=0, tags=CORE,
)

operator("tril(Tensor self, SymInt diagonal=0) -> Tensor", inplace="tril_", out="tril.out")
operator("triu(Tensor self, SymInt diagonal=0) -> Tensor", inplace="triu_", out="triu.out")
operator("diag(Tensor self, int diagonal=0) -> Tensor", out="diag.out")
operator("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
operator("diagflat(Tensor self, int offset=0) -> Tensor")
operator("roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor")
operator("flip(Tensor self, int[] dims) -> Tensor", tags=CORE)
operator("fliplr(Tensor self) -> Tensor")
operator("flipud(Tensor self) -> Tensor")
operator("rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor")

operator("cat(Tensor[] tensors, int dim=0) -> Tensor", out="cat.out", variants=FUNCTION, tags=CORE)
operator("concat(Tensor[] tensors, int dim=0) -> Tensor", out="concat.out", variants=FUNCTION)
operator(
    "concatenate(Tensor[] tensors, int dim=0) -> Tensor",
    out="concatenate.out", variants=FUNCTION,
)
operator("stack(Tensor[] tensors, int dim=0) -> Tensor", out="stack.out", variants=FUNCTION)
operator("hstack(Tensor[] tensors) -> Tensor", out="hstack.out", variants=FUNCTION)
operator("vstack(Tensor[] tensors) -> Tensor", out="vstack.out", variants=FUNCTION)
operator("row_stack(Tensor[] tensors) -> Tensor", out="row_stack.out", variants=FUNCTION)
operator("dstack(Tensor[] tensors) -> Tensor", out="dstack.out", variants=FUNCTION)
operator("column_stack(Tensor[] tensors) -> Tensor", out="column_stack.out", variants=FUNCTION)
operator("tile(Tensor self, SymInt[] dims) -> Tensor")
operator("repeat(Tensor self, SymInt[] repeats) -> Tensor", variants=METHOD, tags=CORE)
operator("meshgrid(Tensor[] tensors) -> Tensor[]", variants=0)
operator("meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", variants=0)
operator("cartesian_prod(Tensor[] tensors) -> Tensor", variants=0)
operator(
    "combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
    variants=FUNCTION,
)
operator("block_diag(Tensor[] tensors) -> Tensor", variants=0)

operator(
    "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
)
operator("select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", tags=CORE)
operator(
    "slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, "
    "SymInt step=1) -> Tensor",
    out="slice_scatter.out", tags=CORE,
)
operator(
    "nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor", out="nonzero_static.out"
)
operator(
    "_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor",
    variants=FUNCTION,
)
operator(
    "_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor",
    variants=FUNCTION,
)
operator(
    "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? "
    "offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
    variants=FUNCTION,
)
