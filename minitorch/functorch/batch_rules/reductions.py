"""Batch rules of reductions, scans and norms."""

from __future__ import annotations

from typing import Any

from minitorch.functorch.along import along, rows, whole, whole_by_one
from minitorch.functorch.layout import batched, rank
from minitorch.functorch.rules import batch_rule, refused, structure
from minitorch.ops import functions as F

structure(
    along,
    "sum.dim_IntList", "mean.dim", "nansum", "amax", "amin", "logsumexp", "linalg_vector_norm",
    "var.correction", "std.correction", "var_mean.correction", "std_mean.correction",
    "count_nonzero", "count_nonzero.dim_IntList", "hash_tensor",
    "prod.dim_int", "max.dim", "min.dim", "aminmax", "argmax", "argmin", "any.dim", "all.dim",
    "median.dim", "nanmedian.dim", "mode", "kthvalue",
    reduces=True,
)  # fmt: skip
structure(along, "any.dims", "all.dims", reduces=True, empty="none")
structure(along, "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", reduces=False)

structure(whole, "sum", by="sum.dim_IntList")
structure(whole, "mean", by="mean.dim")
structure(whole, "max", by="amax")
structure(whole, "min", by="amin")
structure(whole, "any", by="any.dims")
structure(whole, "all", by="all.dims")
structure(whole_by_one, "prod", by="prod.dim_int")


def median(by: Any) -> Any:
    """Return the rule of a median of all elements; that of none is NaN, where that along a dimension fails."""

    def rule(info: Any, in_dims: tuple, self: Any) -> tuple[Any, Any]:
        x = rows(self, in_dims[0], info.batch_size)
        if x.shape[1] == 0:
            return F.mean(x, 1), 0
        return by(x, 1)[0], 0

    return rule


batch_rule("median")(median(F.median))
batch_rule("nanmedian")(median(F.nanmedian))


structure(refused, "equal", why="it returns a Python bool, and each example may have another one")


@batch_rule("trace")
def trace(info: Any, in_dims: tuple, self: Any) -> tuple[Any, Any]:
    """Add up the diagonal of each matrix."""
    if rank(self, in_dims[0]) != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {rank(self, in_dims[0])}")
    return F.sum(F.diagonal(batched(self, in_dims[0], info.batch_size), 0, 1, 2), 1), 0
