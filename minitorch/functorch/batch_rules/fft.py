"""Batch rules of the Fourier transforms."""

from __future__ import annotations

from typing import Any

from minitorch.functorch.layout import rank, shifted_all, to_front
from minitorch.functorch.leading import one_example
from minitorch.functorch.rules import Rule, structure


def transform(op: Any) -> Rule:
    """Return the rule of a transform over dimensions that are its second argument."""

    def rule(info: Any, in_dims: tuple, x: Any, dims: Any, *rest: Any) -> tuple[Any, Any]:
        found = rank(x, in_dims[0])
        if not found and dims:
            one_example(op, in_dims, (x, dims, *rest))
        return op.call((to_front(x, in_dims[0]), shifted_all(dims, found), *rest), None), 0

    return rule


structure(transform, "_fft_c2c", "_fft_r2c", "_fft_c2r")
