"""Batch rules of factorizations and solvers: a batch of matrices is what they take anyway."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.functorch.layout import batched, rank, sizes
from minitorch.functorch.leading import aligned, leading_batch, merged, one_example, regrouped, with_batch_at
from minitorch.functorch.rules import batch_rule, structure
from minitorch.ops import functions as F
from minitorch.ops.assemble import operator_named
from minitorch.ops.shapes.linalg import is_vector_solve

structure(
    leading_batch,
    "linalg_cholesky_ex", "linalg_det", "linalg_slogdet", "linalg_inv_ex", "linalg_eig", "_linalg_eigvals", "geqrf",
    "linalg_lu_factor_ex", "linalg_ldl_factor_ex", "linalg_matrix_exp", least=2,
)  # fmt: skip
structure(leading_batch, "_linalg_eigh", "linalg_qr", "_linalg_svd", least=2, empty_outputs=True)
structure(leading_batch, "_lu_permutation", least=1)

_solve_ex = operator_named("linalg_solve_ex")
_solve_triangular = operator_named("linalg_solve_triangular")
_ldl_solve = operator_named("linalg_ldl_solve")
_lstsq = operator_named("_linalg_lstsq")


def _with_one_matrix(info: Any, B: Any, dim: int, left: bool, solve: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Solve for all examples with one matrix, which is factorized once: they are more columns of B, or more rows."""
    at = 1 if left else 0
    B = with_batch_at(B, dim, info.batch_size, at)
    result = solve(merged(B, at))
    return regrouped(result, at, B.shape[at], B.shape[at + 1]), at


@batch_rule("linalg_solve_ex")
def solve_rule(info: Any, in_dims: tuple, A: Any, B: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Solve; whether B is a vector is asked of the shapes of one example."""
    a_dim, b_dim = in_dims
    a_rank, b_rank = rank(A, a_dim), rank(B, b_dim)
    vector = is_vector_solve(sizes(A, a_dim), sizes(B, b_dim))
    if a_rank < 2 or b_rank < 1 or (vector and not kwargs.get("left", True)):
        one_example(_solve_ex, in_dims, (A, B), kwargs)
    a_lead = sizes(A, a_dim)[:-2]
    if vector:
        B = F.unsqueeze(B, -1)
        b_rank += 1
    if a_dim is None and a_rank == b_rank == 2:
        codes: list[Any] = []

        def solve(columns: Any) -> Any:
            result, code = _solve_ex.call((A, columns), kwargs)
            codes.append(code)
            return result

        result, dim = _with_one_matrix(info, B, b_dim, kwargs.get("left", True), solve)
        return (F.squeeze(result, -1) if vector else result, codes[0]), [dim, None]
    widest = max(a_rank, b_rank)
    result, info_codes = _solve_ex.call((aligned(A, a_dim, widest), aligned(B, b_dim, widest)), kwargs)
    if vector:
        result = F.squeeze(result, -1)
    lead = a_lead if a_dim is None else [info.batch_size, *a_lead]
    return (result, F.reshape(info_codes, lead)), [0, None if a_dim is None else 0]


@batch_rule("linalg_solve_triangular")
def solve_triangular_rule(info: Any, in_dims: tuple, A: Any, B: Any, **kwargs: Any) -> tuple[Any, Any]:
    ranks = [rank(A, in_dims[0]), rank(B, in_dims[1])]
    if min(ranks) < 2:
        one_example(_solve_triangular, in_dims, (A, B), kwargs)
    if in_dims[0] is None and ranks == [2, 2]:
        return _with_one_matrix(
            info, B, in_dims[1], kwargs.get("left", True), lambda columns: _solve_triangular.call((A, columns), kwargs)
        )
    widest = max(ranks)
    operands = aligned(A, in_dims[0], widest), aligned(B, in_dims[1], widest)
    return _solve_triangular.call(operands, kwargs), 0


@batch_rule("linalg_ldl_solve")
def ldl_solve_rule(info: Any, in_dims: tuple, LD: Any, pivots: Any, B: Any, **kwargs: Any) -> tuple[Any, Any]:
    ld_dim, pivots_dim, b_dim = in_dims
    ranks = [rank(LD, ld_dim), rank(B, b_dim)]
    if min(ranks) < 2 or rank(pivots, pivots_dim) != ranks[0] - 1:
        one_example(_ldl_solve, in_dims, (LD, pivots, B), kwargs)
    if ld_dim is not None or pivots_dim is not None:  # these two must have the same batch
        LD, pivots = batched(LD, ld_dim, info.batch_size), batched(pivots, pivots_dim, info.batch_size)
        ld_dim = pivots_dim = 0
    widest = max(ranks)
    LD, pivots = aligned(LD, ld_dim, widest), aligned(pivots, pivots_dim, widest - 1)
    return _ldl_solve.call((LD, pivots, aligned(B, b_dim, widest)), kwargs), 0


@batch_rule("_linalg_lstsq")
def lstsq_rule(info: Any, in_dims: tuple, A: Any, b: Any, rcond: float | None = None, **kwargs: Any) -> tuple[Any, Any]:
    """Solve; whether `b` is a batch of vectors is asked of the shapes of one example."""
    a_dim, b_dim = in_dims[:2]
    examples = one_example(_lstsq, (a_dim, b_dim, None), (A, b, rcond), kwargs)
    a_rank, b_rank = rank(A, a_dim), rank(b, b_dim)
    vector = b_rank == a_rank - 1 and sizes(A, a_dim)[:-1] == sizes(b, b_dim)
    A, b = batched(A, a_dim, info.batch_size), batched(b, b_dim, info.batch_size)
    if vector:
        b, b_rank = F.unsqueeze(b, -1), b_rank + 1
    widest = max(a_rank, b_rank)
    results = list(_lstsq.call((aligned(A, 0, widest), aligned(b, 0, widest), rcond), kwargs))
    if vector:
        results[0] = F.squeeze(results[0], -1)
    missing = [tuple(part.shape) == (0,) and i > 0 for i, part in enumerate(examples)]
    for i, example in enumerate(examples):
        if not missing[i] and i > 0:
            results[i] = F.reshape(results[i], [info.batch_size, *example.shape])
    return tuple(results), [None if gone else 0 for gone in missing]
