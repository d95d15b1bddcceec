"""The batch rule of the one copied view that is not made of views with rules of their own."""

from __future__ import annotations

from typing import Any

from minitorch.core.memory_format import contiguous_format
from minitorch.functorch.layout import batched
from minitorch.functorch.rules import batch_rule
from minitorch.ops import functions as F


@batch_rule("as_strided_scatter")
def as_strided_scatter_rule(
    info: Any, in_dims: tuple, x: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None
) -> tuple[Any, Any]:
    """Write to a copy in which the examples lie one after the other, each as a copy of one would lie."""
    src = batched(src, in_dims[1], info.batch_size)
    if list(src.shape[1:]) != list(size):
        raise RuntimeError(
            f"as_strided_scatter(): expected src to have a size equal to the slice of self, {list(size)}, got "
            f"{list(src.shape[1:])}"
        )
    x = batched(x, in_dims[0], info.batch_size)
    steps = x.stride()
    # The order of an example's dimensions in memory, which a copy of it keeps.
    order = list(range(1, x.ndim))
    if 0 not in steps[1:]:
        order.sort(key=lambda d: -steps[d])
    result = F.clone(F.permute(x, [0, *order]), memory_format=contiguous_format)
    step = result.stride(0)
    F.copy_(F.as_strided(result, [info.batch_size, *size], [step, *stride], storage_offset), src)
    return F.permute(result, [0, *[order.index(d) + 1 for d in range(1, x.ndim)]]), 0
