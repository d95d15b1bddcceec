"""View operators: other shapes and strides over the same memory; and copies between tensors."""

from __future__ import annotations

from minitorch.ops.registry import CORE, DATA_DEPENDENT, FUNCTION, METHOD, operator

operator("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", variants=METHOD, tags=CORE)
operator("view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", variants=METHOD)
operator("_unsafe_view(Tensor self, SymInt[] size) -> Tensor", variants=FUNCTION)
operator("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)")
operator("reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", variants=METHOD)
operator("view_as(Tensor(a) self, Tensor other) -> Tensor(a)", variants=METHOD)
operator(
    "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
    inplace="as_strided_", tags=CORE,
)
operator("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", inplace="transpose_")
operator("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", inplace="swapaxes_")
operator("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", inplace="swapdims_")
operator("t(Tensor(a) self) -> Tensor(a)", inplace="t_")
operator("permute(Tensor(a) self, int[] dims) -> Tensor(a)", tags=CORE)
operator("movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
operator("movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)")
operator("moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
operator("moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)")
operator("adjoint(Tensor(a) self) -> Tensor(a)")
operator("expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", variants=METHOD, tags=CORE)
operator("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", variants=METHOD)
operator("broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)")
operator("squeeze(Tensor(a) self) -> Tensor(a)", inplace="squeeze_")
operator("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", inplace="squeeze_.dim", tags=CORE)
operator("squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", inplace="squeeze_.dims", tags=CORE)
operator("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", inplace="unsqueeze_", tags=CORE)
operator("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", tags=CORE)
operator(
    "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
    variants=0, tags=CORE,
)
operator("narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)")
operator("narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)")
operator("split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]")
operator("split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]")
operator("split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]", tags=CORE)
operator("chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]")
operator("tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]")
operator("tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]")
operator(
    "tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0)"
    " -> Tensor(a)[]"
)
operator("hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
operator("hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
operator("vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
operator("vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
operator("dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
operator("dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
operator("unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]")
operator("diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", tags=CORE)
operator("unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", variants=METHOD)
operator("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)")
operator("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)")
operator("ravel(Tensor(a) self) -> Tensor(a)")
operator("detach(Tensor(a) self) -> Tensor(a)")
operator("detach_(Tensor(a!) self) -> Tensor(a!)")
operator("alias(Tensor(a) self) -> Tensor(a)", variants=0)
operator("lift_fresh(Tensor(a) self) -> Tensor(a)", variants=0)
operator("lift_fresh_copy(Tensor self) -> Tensor", variants=0)
operator("view_as_real(Tensor(a) self) -> Tensor(a)", variants=FUNCTION)
operator("view_as_complex(Tensor(a) self) -> Tensor(a)", variants=FUNCTION)
operator("conj(Tensor(a) self) -> Tensor(a)")
operator("_conj(Tensor(a) self) -> Tensor(a)", variants=FUNCTION | METHOD)
operator("_neg_view(Tensor(a) self) -> Tensor(a)", variants=FUNCTION | METHOD)
operator("_conj_physical(Tensor self) -> Tensor", variants=FUNCTION | METHOD)
operator("resolve_conj(Tensor(a) self) -> Tensor(a)")
operator("resolve_neg(Tensor(a) self) -> Tensor(a)")
operator("real(Tensor(a) self) -> Tensor(a)", variants=FUNCTION)
operator("imag(Tensor(a) self) -> Tensor(a)", variants=FUNCTION)
operator("atleast_1d(Tensor self) -> Tensor", variants=FUNCTION)
operator("atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", variants=FUNCTION)
operator("atleast_2d(Tensor self) -> Tensor", variants=FUNCTION)
operator("atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", variants=FUNCTION)
operator("atleast_3d(Tensor self) -> Tensor", variants=FUNCTION)
operator("atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", variants=FUNCTION)

# The gradients of views.
operator("select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor", variants=0)
operator(
    "slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt? start, SymInt? end, SymInt step) -> Tensor",
    variants=0,
)
operator(
    "diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor", variants=0
)
operator("unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor", variants=0)

# Copies and casts.
operator("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", tags=CORE)
operator("contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)", variants=METHOD)
operator("copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", variants=METHOD)
operator("_copy_from(Tensor self, Tensor dst, bool non_blocking=False) -> Tensor", variants=0)
operator(
    "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
    variants=0, tags=CORE,
)
operator(
    "to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)",
    variants=METHOD,
)
operator(
    "to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)",
    variants=METHOD,
)
operator(
    "to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)",
    variants=METHOD,
)
operator(
    "to.device_only(Tensor(a) self, Device? device=None, ScalarType? dtype=None, bool non_blocking=False, "
    "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    variants=METHOD,
)
operator(
    "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    variants=METHOD,
)
operator("type_as(Tensor self, Tensor other) -> Tensor", variants=METHOD)
operator(
    "fill.Scalar(Tensor self, Scalar value) -> Tensor",
    variants=FUNCTION, inplace="fill_.Scalar", inplace_variants=FUNCTION | METHOD,
)
operator(
    "fill.Tensor(Tensor self, Tensor value) -> Tensor",
    variants=FUNCTION, inplace="fill_.Tensor", inplace_variants=FUNCTION | METHOD,
)
operator("zero_(Tensor(a!) self) -> Tensor(a!)")
operator("item(Tensor self) -> Scalar", variants=METHOD, tags=DATA_DEPENDENT)
operator("_local_scalar_dense(Tensor self) -> Scalar", variants=0, tags=DATA_DEPENDENT)
operator("resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)", variants=METHOD)
operator("is_nonzero(Tensor self) -> bool")

# Functional forms of operators that write, which functionalization needs and users do not see.
operator("copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", variants=0, tags=CORE)
operator("zero(Tensor self) -> Tensor", variants=0)
operator("resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor", variants=0)
