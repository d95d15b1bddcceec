"""Batch rules of products behind `minitorch.sparse`."""

from __future__ import annotations

from typing import Any

from minitorch.core.layout import strided
from minitorch.functorch.layout import shifted, to_front
from minitorch.functorch.leading import aligned, merged, one_example, regrouped
from minitorch.functorch.rules import batch_rule
from minitorch.ops import functions as F
from minitorch.ops.assemble import operator_named

_addmm = operator_named("_sparse_addmm")
_dense = operator_named("addmm")  # has the same errors


@batch_rule("_sparse_addmm")
def sparse_addmm_rule(
    info: Any, in_dims: tuple, self: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1
) -> tuple[Any, Any]:
    """Fold a batch of dense matrices into more columns (or rows) of one; of sparse matrices there is one product each.

    The gradient of a sparse factor has the factor's entries, which a product of batches (bmm) would not give it.
    """
    one_example(_dense, in_dims, (self, a, b), {"beta": beta, "alpha": alpha})
    self_dim, a_dim, b_dim = in_dims
    count = info.batch_size
    nothing = F.new_zeros(self, [1, 1])
    if a_dim is None and b_dim is not None and b.layout is strided:
        columns = F.transpose(to_front(b, b_dim), 0, 1)
        product = _addmm.call((nothing, a, merged(columns, 1)), {"beta": 0, "alpha": alpha})
        product = F.transpose(regrouped(product, 1, count, columns.shape[2]), 0, 1)
    elif b_dim is None and a_dim is not None and a.layout is strided:
        rows = to_front(a, a_dim)
        product = _addmm.call((nothing, merged(rows, 0), b), {"beta": 0, "alpha": alpha})
        product = regrouped(product, 0, count, rows.shape[1])
    else:
        lefts = [a] * count if a_dim is None else F.unbind(a, a_dim)
        rights = [b] * count if b_dim is None else F.unbind(b, b_dim)
        products = [
            _addmm.call((nothing, left, right), {"beta": 0, "alpha": alpha})
            for left, right in zip(lefts, rights, strict=True)
        ]
        product = F.stack(products)
    if beta == 0:
        return product, 0
    summand = self if self_dim is None else aligned(self, self_dim, 2)
    return F.add(product, summand if beta == 1 else F.mul(summand, beta)), 0


def _softmax_rule(name: str) -> None:
    op = operator_named(name)

    @batch_rule(name)
    def softmax_rule(info: Any, in_dims: tuple, x: Any, dim: int, half_to_float: bool) -> tuple[Any, Any]:
        x = to_front(x, in_dims[0])
        return op.call((x, shifted(dim, x.ndim - 1), half_to_float), None), 0


_softmax_rule("_sparse_softmax")
_softmax_rule("_sparse_log_softmax")
