"""Sparse tensors: making, converting, asking and multiplying them."""

from minitorch.ops.registry import FUNCTION, METHOD, operator

operator(
    "_sparse_coo_tensor_with_dims(int sparse_dim, int dense_dim, int[] size, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor",
    variants=0,
)
operator(
    "_sparse_coo_tensor_with_dims_and_tensors(int sparse_dim, int dense_dim, SymInt[] size, Tensor "
    "indices, Tensor values, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=False, bool? is_coalesced=None) -> Tensor",
    variants=0,
)
operator(
    "sparse_coo_tensor.size(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
    "device=None, bool? pin_memory=False) -> Tensor",
    variants=0,
)
operator(
    "sparse_coo_tensor.indices(Tensor indices, Tensor values, *, ScalarType? dtype=None, Layout? "
    "layout=None, Device? device=None, bool? pin_memory=None, bool? is_coalesced=None) -> Tensor",
    variants=0,
)
operator(
    "sparse_coo_tensor.indices_size(Tensor indices, Tensor values, int[] size, *, ScalarType? "
    "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool? "
    "is_coalesced=None) -> Tensor",
    variants=0,
)
operator(
    "_sparse_coo_tensor_unsafe(Tensor indices, Tensor values, SymInt[] size, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None, bool? is_coalesced=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "_validate_sparse_coo_tensor_args(Tensor indices, Tensor values, int[] size, bool? "
    "is_coalesced=None, bool? check_pinning=None) -> ()",
    variants=FUNCTION,
)
operator(
    "sparse_compressed_tensor.comp_plain_value_size(Tensor compressed_indices, Tensor plain_indices, "
    "Tensor values, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=False) -> Tensor",
    variants=0,
)
operator(
    "sparse_compressed_tensor.comp_plain_value(Tensor compressed_indices, Tensor plain_indices, Tensor "
    "values, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=False) -> Tensor",
    variants=0,
)
operator(
    "sparse_csr_tensor.crow_col_value_size(Tensor crow_indices, Tensor col_indices, Tensor values, int[] "
    "size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) "
    "-> Tensor",
    variants=0,
)
operator(
    "sparse_csr_tensor.crow_col_value(Tensor crow_indices, Tensor col_indices, Tensor values, *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor",
    variants=0,
)
operator(
    "sparse_csc_tensor.ccol_row_value_size(Tensor ccol_indices, Tensor row_indices, Tensor values, int[] "
    "size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) "
    "-> Tensor",
    variants=0,
)
operator(
    "sparse_csc_tensor.ccol_row_value(Tensor ccol_indices, Tensor row_indices, Tensor values, *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor",
    variants=0,
)
operator(
    "sparse_bsr_tensor.crow_col_value_size(Tensor crow_indices, Tensor col_indices, Tensor values, int[] "
    "size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) "
    "-> Tensor",
    variants=0,
)
operator(
    "sparse_bsr_tensor.crow_col_value(Tensor crow_indices, Tensor col_indices, Tensor values, *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor",
    variants=0,
)
operator(
    "sparse_bsc_tensor.ccol_row_value_size(Tensor ccol_indices, Tensor row_indices, Tensor values, int[] "
    "size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) "
    "-> Tensor",
    variants=0,
)
operator(
    "sparse_bsc_tensor.ccol_row_value(Tensor ccol_indices, Tensor row_indices, Tensor values, *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor",
    variants=0,
)
operator(
    "_sparse_compressed_tensor_unsafe(Tensor compressed_indices, Tensor plain_indices, Tensor values, "
    "SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "_sparse_csr_tensor_unsafe(Tensor crow_indices, Tensor col_indices, Tensor values, int[] size, *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "_sparse_csc_tensor_unsafe(Tensor ccol_indices, Tensor row_indices, Tensor values, int[] size, *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "_sparse_bsr_tensor_unsafe(Tensor crow_indices, Tensor col_indices, Tensor values, int[] size, *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "_sparse_bsc_tensor_unsafe(Tensor ccol_indices, Tensor row_indices, Tensor values, int[] size, *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "_validate_sparse_compressed_tensor_args(Tensor compressed_indices, Tensor plain_indices, Tensor "
    "values, int[] size, Layout layout, bool? check_pinning=None) -> ()",
    variants=FUNCTION,
)
operator(
    "_validate_sparse_csr_tensor_args(Tensor crow_indices, Tensor col_indices, Tensor values, int[] "
    "size, bool? check_pinning=None) -> ()",
    variants=FUNCTION,
)
operator(
    "_validate_sparse_csc_tensor_args(Tensor ccol_indices, Tensor row_indices, Tensor values, int[] "
    "size, bool? check_pinning=None) -> ()",
    variants=FUNCTION,
)
operator(
    "_validate_sparse_bsr_tensor_args(Tensor crow_indices, Tensor col_indices, Tensor values, int[] "
    "size, bool? check_pinning=None) -> ()",
    variants=FUNCTION,
)
operator(
    "_validate_sparse_bsc_tensor_args(Tensor ccol_indices, Tensor row_indices, Tensor values, int[] "
    "size, bool? check_pinning=None) -> ()",
    variants=FUNCTION,
)
operator("to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", variants=METHOD)
operator(
    "to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> "
    "Tensor",
    variants=METHOD,
)
operator("_to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", variants=METHOD)
operator(
    "_to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> "
    "Tensor",
    variants=METHOD,
)
operator("to_sparse_csr(Tensor self, int? dense_dim=None) -> Tensor", variants=METHOD)
operator("_to_sparse_csr(Tensor self, int? dense_dim=None) -> Tensor", variants=METHOD)
operator("to_sparse_csc(Tensor self, int? dense_dim=None) -> Tensor", variants=METHOD)
operator("_to_sparse_csc(Tensor self, int? dense_dim=None) -> Tensor", variants=METHOD)
operator("to_sparse_bsr(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor", variants=METHOD)
operator("_to_sparse_bsr(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor", variants=METHOD)
operator("to_sparse_bsc(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor", variants=METHOD)
operator("_to_sparse_bsc(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor", variants=METHOD)
operator("to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor", variants=METHOD)
operator("_to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None) -> Tensor", variants=METHOD)
operator("to_dense_backward(Tensor grad, Tensor input, bool? masked_grad=None) -> Tensor", variants=0)
operator("sparse_mask(Tensor self, Tensor mask) -> Tensor", variants=METHOD)
operator(
    "_sparse_mask_projection(Tensor self, Tensor mask, bool accumulate_matches=False) -> Tensor",
    variants=METHOD,
)
# Ours: what a tensor is at the entries of a sparse one, and the sparse tensor with other values there.  Each is the
# derivative of the other.
operator("_sparse_values_at(Tensor self, Tensor pattern) -> Tensor", variants=0)
operator("_sparse_with_values(Tensor pattern, Tensor values) -> Tensor", variants=0)
operator("_coalesce(Tensor self) -> Tensor", variants=0)
operator("coalesce(Tensor(a) self) -> Tensor(a)", variants=METHOD)
operator("is_coalesced(Tensor self) -> bool", variants=METHOD)
operator("_coalesced_(Tensor(a!) self, bool coalesced) -> Tensor(a!)", variants=METHOD)
operator("_indices(Tensor(a) self) -> Tensor(a)", variants=METHOD)
operator("_values(Tensor(a) self) -> Tensor(a)", variants=METHOD)
operator("indices(Tensor(a) self) -> Tensor(a)", variants=METHOD)
operator("values(Tensor(a) self) -> Tensor(a)", variants=METHOD)
operator("crow_indices(Tensor(a) self) -> Tensor(a)", variants=METHOD)
operator("ccol_indices(Tensor(a) self) -> Tensor(a)", variants=METHOD)
operator("row_indices(Tensor(a) self) -> Tensor(a)", variants=METHOD)
operator("col_indices(Tensor(a) self) -> Tensor(a)", variants=METHOD)
operator("sparse_dim(Tensor self) -> int", variants=METHOD)
operator("dense_dim(Tensor self) -> int", variants=METHOD)
operator("_dimI(Tensor self) -> int", variants=METHOD)
operator("_dimV(Tensor self) -> int", variants=METHOD)
operator("_nnz(Tensor self) -> int", variants=METHOD)
operator("sparse_resize_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)", variants=METHOD)
operator(
    "sparse_resize_and_clear_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)",
    variants=METHOD,
)
operator("resize_as_sparse_(Tensor(a!) self, Tensor the_template) -> Tensor(a!)")
operator(
    "copy_sparse_to_sparse_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
    variants=0,
)
operator("_sparse_mm(Tensor sparse, Tensor dense) -> Tensor", variants=0)
operator("_sparse_mm.reduce(Tensor sparse, Tensor dense, str reduce) -> Tensor", variants=0)
operator("_sparse_sparse_matmul(Tensor self, Tensor other) -> Tensor", variants=0)
operator(
    "_sparse_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    variants=0,
)
operator(
    "sparse_sampled_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> "
    "Tensor",
    variants=0,
)
operator("smm(Tensor self, Tensor mat2) -> Tensor")
operator(
    "sspaddmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
)
operator("hspmm(Tensor mat1, Tensor mat2) -> Tensor", variants=FUNCTION)
operator("_sparse_sum.dim(Tensor self, int[1] dim) -> Tensor", variants=0)
operator("_sparse_sum(Tensor self) -> Tensor", variants=0)
operator("_sparse_sum.dtype(Tensor self, *, ScalarType dtype) -> Tensor", variants=0)
operator("_sparse_sum.dim_dtype(Tensor self, int[1] dim, *, ScalarType dtype) -> Tensor", variants=0)
operator("_sparse_sum_backward(Tensor grad, Tensor self, int[] dim) -> Tensor", variants=0)
operator(
    "_sparse_csr_sum.dim_dtype(Tensor self, int[1] dim, bool keepdim=False, *, ScalarType? dtype=None) "
    "-> Tensor",
    variants=0,
)
operator(
    "_sparse_csr_prod.dim_dtype(Tensor self, int[1] dim, bool keepdim=False, *, ScalarType? dtype=None) "
    "-> Tensor",
    variants=0,
)
operator("_sparse_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", variants=0)
operator("_sparse_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", variants=0)
operator("_sparse_log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", variants=0)
operator("_sparse_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", variants=0)
operator(
    "_sparse_softmax_backward_data(Tensor grad_output, Tensor output, int dim, Tensor self) -> Tensor",
    variants=0,
)
operator(
    "_sparse_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, Tensor self) -> Tensor",
    variants=0,
)
operator("_spdiags(Tensor diagonals, Tensor offsets, int[] shape, Layout? layout=None) -> Tensor", variants=0)
operator("_sparse_broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)", variants=0)
operator("_sparse_mm_reduce_impl(Tensor self, Tensor other, str reduce) -> (Tensor, Tensor)", variants=0)
operator("_spsolve(Tensor A, Tensor B, *, bool left=True) -> Tensor", variants=0)
# Products of what sparse matrices consist of: what a device has kernels of its own for.
operator("_segment_mm(Tensor offsets, Tensor columns, Tensor values, Tensor dense) -> Tensor", variants=0)
operator(
    "_segment_mm_transposed(Tensor offsets, Tensor columns, Tensor values, Tensor dense, int count) -> Tensor",
    variants=0,
)
operator("_entries_mm(Tensor rows, Tensor columns, Tensor values, Tensor dense, int count) -> Tensor", variants=0)
operator("_sampled_products(Tensor rows, Tensor columns, Tensor mat1, Tensor mat2) -> Tensor", variants=0)
operator("_segment_solve(Tensor offsets, Tensor columns, Tensor values, Tensor dense) -> Tensor", variants=0)
operator(
    "_segment_matmul(Tensor offsets, Tensor columns, Tensor values, Tensor other_offsets, Tensor other_columns, "
    "Tensor other_values, int count) -> (Tensor, Tensor, Tensor)",
    variants=0,
)
operator(
    "_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) -> Tensor",
    variants=FUNCTION,
)
operator(
    "_convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool out_int32=False, "
    "bool transpose=False) -> Tensor",
    variants=FUNCTION,
)
operator(
    "embedding_sparse_backward(Tensor grad, Tensor indices, int num_weights, int padding_idx, bool "
    "scale_grad_by_freq) -> Tensor",
    variants=0,
)
operator(
    "embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt padding_idx, bool "
    "scale_grad_by_freq, bool sparse) -> Tensor",
    variants=0,
)
operator(
    "_embedding_bag_sparse_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, "
    "Tensor bag_size, SymInt num_weights, bool scale_grad_by_freq, int mode, Tensor? per_sample_weights, "
    "int padding_idx=-1) -> Tensor",
    variants=0,
)
