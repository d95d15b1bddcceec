"""The `reduction` argument of losses."""

from __future__ import annotations

import warnings

_NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def number_of(reduction: str) -> int:
    """Return the number that operators take for a reduction's name."""
    found = _NUMBERS.get(reduction)
    if found is None:
        if reduction == "elementwise_mean":
            warnings.warn(
                "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
                stacklevel=3,
            )
            return 1
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return found


def legacy_name(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """Return the reduction that the deprecated arguments `size_average` and `reduce` mean."""
    average = True if size_average is None else size_average
    reduces = True if reduce is None else reduce
    name = "none" if not reduces else "mean" if average else "sum"
    if emit_warning:
        warnings.warn(
            "size_average and reduce args will be deprecated, please use "
            f"reduction='{name}' instead.",
            stacklevel=3,
        )
    return name


def resolve(size_average: bool | None, reduce: bool | None, reduction: str) -> int:
    """Return the number of `reduction`, or of the deprecated arguments where they are given."""
    if size_average is not None or reduce is not None:
        reduction = legacy_name(size_average, reduce)
    return number_of(reduction)
