"""Factorizations of indefinite matrices: what exists."""

from minitorch.ops.registry import FUNCTION, operator

operator(
    "linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
    out="linalg_ldl_factor.out",
    out_names=("LD", "pivots"),
    variants=FUNCTION,
    python_module="linalg",
)
operator(
    "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> "
    "(Tensor LD, Tensor pivots, Tensor info)",
    out="linalg_ldl_factor_ex.out",
    out_names=("LD", "pivots", "info"),
    variants=FUNCTION,
    python_module="linalg",
)
operator(
    "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
    out="linalg_ldl_solve.out",
    variants=FUNCTION,
    python_module="linalg",
)
