"""Batch rules of operators that look at values and have no tensor for a result: they look at those of all examples.

That is no data-dependent control flow of an example's own: what is computed is not changed by it.
"""

from __future__ import annotations

from typing import Any

from minitorch.functorch.rules import batch_rule
from minitorch.ops import functions as F


@batch_rule("_linalg_check_errors")
def check_errors_rule(info: Any, in_dims: tuple, codes: Any, api_name: str, *, is_matrix: bool) -> tuple[Any, Any]:
    F._linalg_check_errors(codes, api_name, is_matrix=False)
    return None, None


@batch_rule("_assert_async.msg")
def assert_rule(info: Any, in_dims: tuple, condition: Any, assert_msg: str) -> tuple[Any, Any]:
    F._assert_async(F.all(condition), assert_msg)
    return None, None


@batch_rule("_any_zero")
def any_zero_rule(info: Any, in_dims: tuple, x: Any) -> tuple[Any, Any]:
    return F._any_zero(x), None
