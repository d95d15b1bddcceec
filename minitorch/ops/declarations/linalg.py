"""Products of matrices, factorizations and solvers."""

from minitorch.ops.registry import CORE, DYNAMIC_SHAPE, FUNCTION, operator

operator("mm(Tensor self, Tensor mat2) -> Tensor", out="mm.out", tags=CORE)
operator("bmm(Tensor self, Tensor mat2) -> Tensor", out="bmm.out", tags=CORE)
operator("mv(Tensor self, Tensor vec) -> Tensor", out="mv.out")
operator("dot(Tensor self, Tensor tensor) -> Tensor", out="dot.out")
operator("vdot(Tensor self, Tensor other) -> Tensor", out="vdot.out")
operator("inner(Tensor self, Tensor other) -> Tensor", out="inner.out")
operator(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    inplace="addmm_", out="addmm.out", tags=CORE,
)
operator(
    "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    inplace="addmv_", out="addmv.out",
)
operator(
    "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)"
    " -> Tensor",
    inplace="addbmm_", out="addbmm.out",
)
operator(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)"
    " -> Tensor",
    inplace="baddbmm_", out="baddbmm.out",
)
operator(
    "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    inplace="addr_", out="addr.out",
)
operator("outer(Tensor self, Tensor vec2) -> Tensor", out="outer.out")
operator("ger(Tensor self, Tensor vec2) -> Tensor", out="ger.out")
operator("matmul(Tensor self, Tensor other) -> Tensor", out="matmul.out")
operator(
    "linalg_matmul(Tensor self, Tensor other) -> Tensor",
    out="linalg_matmul.out", variants=FUNCTION, python_module="linalg",
)
operator(
    "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    out="linear.out", variants=FUNCTION, python_module="nn",
)
operator("einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", variants=0)
operator(
    "tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
    out="tensordot.out", variants=0,
)
operator("kron(Tensor self, Tensor other) -> Tensor", out="kron.out")
operator("chain_matmul(Tensor[] matrices) -> Tensor", out="chain_matmul.out", variants=0)
operator(
    "linalg_multi_dot(Tensor[] tensors) -> Tensor",
    out="linalg_multi_dot.out", variants=FUNCTION, python_module="linalg",
)

operator("cross(Tensor self, Tensor other, int? dim=None) -> Tensor", out="cross.out")
operator(
    "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
    out="linalg_cross.out", variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
    out="linalg_cholesky.out", variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False)"
    " -> (Tensor L, Tensor info)",
    out="linalg_cholesky_ex.L", out_names=("L", "info"), variants=FUNCTION, python_module="linalg",
)
operator("_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()", variants=0)
operator("cholesky(Tensor self, bool upper=False) -> Tensor", out="cholesky.out")
operator("cholesky_inverse(Tensor self, bool upper=False) -> Tensor", out="cholesky_inverse.out")
operator(
    "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
    out="cholesky_solve.out",
)

operator(
    "linalg_det(Tensor A) -> Tensor",
    out="linalg_det.out", variants=FUNCTION, python_module="linalg",
)
operator("det(Tensor self) -> Tensor")
operator(
    "linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
    out="linalg_slogdet.out", out_names=("sign", "logabsdet"), variants=FUNCTION,
    python_module="linalg",
)
operator(
    "slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
    out="slogdet.out", out_names=("sign", "logabsdet"),
)
operator("logdet(Tensor self) -> Tensor")
operator(
    '_linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> (Tensor eigenvalues, '
    'Tensor eigenvectors)',
    out="_linalg_eigh.eigenvalues", out_names=("eigenvalues", "eigenvectors"), variants=0,
)
operator(
    'linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)',
    out="linalg_eigh.eigvals", out_names=("eigvals", "eigvecs"), variants=FUNCTION,
    python_module="linalg",
)
operator(
    'linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor',
    out="linalg_eigvalsh.out", variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
    out="linalg_eig.out", out_names=("eigenvalues", "eigenvectors"), variants=FUNCTION,
    python_module="linalg",
)
operator("_linalg_eigvals(Tensor self) -> Tensor", variants=0)
operator(
    "linalg_eigvals(Tensor self) -> Tensor",
    out="linalg_eigvals.out", variants=FUNCTION, python_module="linalg",
)

operator(
    "linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
    out="linalg_inv_ex.inverse", out_names=("inverse", "info"), variants=FUNCTION,
    python_module="linalg",
)
operator(
    "linalg_inv(Tensor A) -> Tensor",
    out="linalg_inv.out", variants=FUNCTION, python_module="linalg",
)
operator("inverse(Tensor self) -> Tensor", out="inverse.out")
operator(
    "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)"
    " -> (Tensor result, Tensor info)",
    out="linalg_solve_ex.out", out_names=("result", "info"), variants=FUNCTION,
    python_module="linalg",
)
operator(
    "linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
    out="linalg_solve.out", variants=FUNCTION, python_module="linalg",
)
operator(
    "_linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None)"
    " -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    variants=0,
)
operator(
    "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None)"
    " -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    out="linalg_lstsq.out", out_names=("solution", "residuals", "rank", "singular_values"),
    variants=FUNCTION, tags=DYNAMIC_SHAPE, python_module="linalg",
)
operator(
    'linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)',
    out="linalg_qr.out", out_names=("Q", "R"), variants=FUNCTION, python_module="linalg",
)
operator(
    "qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
    out="qr.Q", out_names=("Q", "R"),
)
operator(
    "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None)"
    " -> (Tensor U, Tensor S, Tensor Vh)",
    out="_linalg_svd.U", out_names=("U", "S", "Vh"), variants=0,
)
operator(
    "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, "
    "Tensor S, Tensor Vh)",
    out="linalg_svd.U", out_names=("U", "S", "Vh"), variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
    out="linalg_svdvals.out", variants=FUNCTION, python_module="linalg",
)
operator(
    "svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
    out="svd.U", out_names=("U", "S", "V"),
)

operator(
    "linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    out="linalg_norm.out", variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    out="linalg_norm.ord_str_out", variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor",
    out="linalg_matrix_norm.out", variants=FUNCTION, python_module="linalg",
)
operator(
    'linalg_matrix_norm.str_ord(Tensor self, str ord="fro", int[] dim=[-2, -1], '
    'bool keepdim=False, *, ScalarType? dtype=None) -> Tensor',
    out="linalg_matrix_norm.str_ord_out", variants=FUNCTION, python_module="linalg",
)
operator(
    "frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    out="frobenius_norm.out", variants=FUNCTION,
)
operator(
    "nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
    out="nuclear_norm.out", variants=FUNCTION,
)
operator(
    "nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
    out="nuclear_norm.dim_out", variants=FUNCTION,
)

operator(
    "linalg_matrix_power(Tensor self, int n) -> Tensor",
    out="linalg_matrix_power.out", variants=FUNCTION, python_module="linalg",
)
operator("matrix_power(Tensor self, int n) -> Tensor", out="matrix_power.out")
operator("linalg_matrix_exp(Tensor self) -> Tensor", variants=FUNCTION, python_module="linalg")
operator("matrix_exp(Tensor self) -> Tensor")

operator(
    "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, "
    "bool hermitian=False) -> Tensor",
    variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, "
    "bool hermitian=False) -> Tensor",
    out="linalg_pinv.atol_rtol_float_out", variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
    out="linalg_pinv.out", variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
    out="linalg_pinv.out_rcond_tensor", variants=FUNCTION, python_module="linalg",
)
operator("pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor")

operator(
    "linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, "
    "Tensor? rtol=None, bool hermitian=False) -> Tensor",
    out="linalg_matrix_rank.atol_rtol_tensor_out", variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, "
    "bool hermitian=False) -> Tensor",
    out="linalg_matrix_rank.atol_rtol_float_out", variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
    out="linalg_matrix_rank.out", variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor",
    out="linalg_matrix_rank.out_tol_tensor", variants=FUNCTION, python_module="linalg",
)

operator(
    "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, "
    "Tensor pivots, Tensor info)",
    out="linalg_lu_factor_ex.out", out_names=("LU", "pivots", "info"), variants=FUNCTION,
    python_module="linalg",
)
operator(
    "linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
    out="linalg_lu_factor.out", out_names=("LU", "pivots"), variants=FUNCTION,
    python_module="linalg",
)
operator(
    "linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
    out="linalg_lu.out", out_names=("P", "L", "U"), variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False)"
    " -> Tensor",
    out="linalg_lu_solve.out", variants=FUNCTION, python_module="linalg",
)
operator("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", out="lu_solve.out")
operator("_lu_permutation(Tensor pivots, int rows) -> Tensor", variants=0)
operator(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, "
    "bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
    out="lu_unpack.out", out_names=("P", "L", "U"), variants=FUNCTION,
)
operator(
    "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, "
    "bool unitriangular=False) -> Tensor",
    out="linalg_solve_triangular.out", variants=FUNCTION, python_module="linalg",
)
operator(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, "
    "bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
    out="triangular_solve.X", out_names=("X", "M"),
)

operator(
    "linalg_cond(Tensor self, Scalar? p=None) -> Tensor",
    out="linalg_cond.out", variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_cond.p_str(Tensor self, str p) -> Tensor",
    out="linalg_cond.p_str_out", variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor",
    variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
    out="linalg_householder_product.out", variants=FUNCTION, python_module="linalg",
)
operator("orgqr(Tensor self, Tensor input2) -> Tensor", out="orgqr.out")
operator("geqrf(Tensor self) -> (Tensor a, Tensor tau)", out="geqrf.a", out_names=("a", "tau"))
operator(
    "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False)"
    " -> Tensor",
    out="ormqr.out",
)
operator(
    "linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
    variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
    out="linalg_vecdot.out", variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_tensorinv(Tensor self, int ind=2) -> Tensor",
    out="linalg_tensorinv.out", variants=FUNCTION, python_module="linalg",
)
operator(
    "linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
    out="linalg_tensorsolve.out", variants=FUNCTION, python_module="linalg",
)
operator("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", variants=FUNCTION)
