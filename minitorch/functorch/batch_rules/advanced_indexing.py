"""Batch rules of indexing with tensors: ``x[i, j]`` and ``x[i, j] = v``.

Note [Where the batch goes]
    Dimensions that stand for the broadcast indices replace the indexed ones where these are
    adjacent, and come first where they are not.  A mapped dimension in front of the tensor changes neither,
    as long as it is not indexed.  Where the indices are mapped as well it is, by a range: then the mapped dimension and those
    of the indices come first, and what stood before the indexed ones has to be put back.
"""

from __future__ import annotations

from typing import Any

from minitorch.functorch.layout import batched, move, padded, rank, sizes, to_front
from minitorch.functorch.rules import batch_rule
from minitorch.ops import functions as F


class _Indices:
    """The indices of one call, masks as positions.

    Attributes
    ----------
    items, dims : list
        The indices and which dimension of each is mapped, both with None for a dimension that is not indexed.
    used : list of int
        Which dimensions of an example are indexed.
    common : int
        How many dimensions the broadcast indices of an example have.
    first : int
        Where these stand in the result of an example.
    mapped : bool
        Whether an index is.
    adjacent : bool
        Whether the indexed dimensions are.
    added : list of int
        Dimensions of size 1 that masks without dimensions index; `reshaped` adds them.
    """

    def __init__(self, op_name: str, shape: list[int], indices: Any, dims: Any):
        self.items: list[Any] = []
        self.dims: list[int | None] = []
        self.added: list[int] = []
        for index, dim in zip(indices, dims or [None] * len(indices), strict=True):
            if index is None or index.dtype.scalar_name not in ("Bool", "Byte"):
                self.items.append(index)
                self.dims.append(dim)
            else:
                self._add_mask(op_name, shape, index, dim)
        self.used = [i for i, item in enumerate(self.items) if item is not None]
        self.common = max([rank(self.items[i], self.dims[i]) for i in self.used], default=0)
        self.adjacent = not self.used or self.used[-1] - self.used[0] == len(self.used) - 1
        self.first = self.used[0] if self.used and self.adjacent else 0
        self.mapped = any(dim is not None for dim in self.dims)

    def _add_mask(self, op_name: str, shape: list[int], mask: Any, dim: int | None) -> None:
        if dim is not None:
            raise RuntimeError(
                f"vmap: {op_name} with a boolean mask that is mapped over has a dynamic shape, which may differ from example "
                "to example. Use where(mask, a, b) or masked_fill instead, or a mask that is the same for all examples."
            )
        place = len(self.items)
        if mask.ndim == 0:
            self.added.append(place)
            mask = F.reshape(mask, [1])
        else:
            start = place - len(self.added)
            for d in range(mask.ndim):
                if start + d >= len(shape) or mask.shape[d] != shape[start + d]:
                    raise IndexError(
                        f"{op_name}(): The shape of the mask {list(mask.shape)} at index {d} does not match the shape of the "
                        f"indexed tensor {shape} at index {start + d}"
                    )
        for positions in F.unbind(F.nonzero(mask), 1):
            self.items.append(positions)
            self.dims.append(None)

    def reshaped(self, x: Any, lead: int) -> Any:
        """Return a tensor with the dimensions that masks without dimensions index; `lead` is 1 behind a mapped one."""
        for place in self.added:
            x = F.unsqueeze(x, place + lead)
        return x

    def lined_up(self) -> list[Any]:
        """Return the indices such that they broadcast, the mapped dimension first."""
        return [
            None if item is None else padded(item, dim, self.common) for item, dim in zip(self.items, self.dims, strict=True)
        ]

    def with_range(self, size: int, device: Any) -> list[Any]:
        """Return the indices of a tensor with a mapped dimension in front: an example's are for that example."""
        return [F.view(F.arange(size, device=device), [size, *[1] * self.common]), *self.lined_up()]


@batch_rule("index.Tensor")
def index_rule(info: Any, in_dims: tuple, x: Any, indices: Any) -> tuple[Any, Any]:
    """Index all examples at once."""
    which = _Indices("index", sizes(x, in_dims[0]), indices, in_dims[1])
    x = which.reshaped(to_front(x, in_dims[0]), 0 if in_dims[0] is None else 1)
    if not which.mapped:
        return F.index(x, [None, *which.items]), 0 if which.adjacent else which.common
    if in_dims[0] is None:
        return F.index(x, which.lined_up()), which.first
    result = F.index(x, which.with_range(info.batch_size, x.device))
    if which.first:
        # From (batch, indices, before, behind) to (batch, before, indices, behind).
        order = list(range(result.ndim))
        order[1 : 1 + which.common + which.first] = [
            *range(1 + which.common, 1 + which.common + which.first), *range(1, 1 + which.common)
        ]  # fmt: skip
        result = F.permute(result, order)
    return result, 0


@batch_rule("index_put")
def index_put_rule(
    info: Any, in_dims: tuple, x: Any, indices: Any, values: Any, accumulate: bool = False
) -> tuple[Any, Any]:
    """Put values into all examples at once, in the order in which the indices stand in the result of `index_rule`."""
    size = info.batch_size
    which = _Indices("index_put", sizes(x, in_dims[0]), indices, in_dims[1])
    x = which.reshaped(batched(x, in_dims[0], size), 1)
    example_rank = x.ndim - 1 - len(which.used) + which.common
    if rank(values, in_dims[2]) > example_rank:
        raise RuntimeError(
            f"index_put(): shape mismatch: value tensor of {rank(values, in_dims[2])} dimensions cannot be broadcast to an "
            f"indexing result of {example_rank} dimensions"
        )
    values = padded(values, in_dims[2], example_rank)
    if which.mapped:
        places = which.with_range(size, x.device)
        if which.first:
            values = padded(batched(values, None if in_dims[2] is None else 0, size), 0, example_rank)
            order = list(range(values.ndim))
            order[1 : 1 + which.common + which.first] = [
                *range(1 + which.first, 1 + which.first + which.common), *range(1, 1 + which.first)
            ]  # fmt: skip
            values = F.permute(values, order)
    else:
        places = [None, *which.items]
        if not which.adjacent:
            values = padded(batched(values, None if in_dims[2] is None else 0, size), 0, example_rank)
            values = move(values, 0, which.common)
    result = F.index_put(x, places, values, accumulate)
    for place in reversed(which.added):
        result = F.squeeze(result, place + 1)
    return result, 0

