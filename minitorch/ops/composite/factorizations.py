"""Factorizations as users call them."""

from __future__ import annotations

from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_implicit


@composite_implicit("linalg_ldl_factor")
def ldl_factor_composite(self, *, hermitian=False):
    LD, pivots, _ = F.linalg_ldl_factor_ex(self, hermitian=hermitian, check_errors=True)
    return LD, pivots
