"""Reductions of neighbouring slices, and look-ups that a mask guards."""

from __future__ import annotations

from math import inf, nan

from minitorch.core.dtype import int64
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_implicit
from minitorch.ops.shapes.common import check, normalize_dim
from minitorch.tensor.wrapper import has_elements, has_values

_IDENTITY = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -inf, "min": inf}
_SCATTER_MODE = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin"}


def _limits(data, lengths, offsets, axis, unsafe):
    """Return the starts and the lengths of the segments, of shape data.shape[:axis] + (segments,)."""
    name = "segment_reduce"
    check(
        (lengths is None) != (offsets is None),
        f"{name}(): Either lengths or offsets must be defined, and only one of them",
    )
    given = lengths if offsets is None else offsets
    check(given.dim() == axis + 1, f"{name}(): expected lengths or offsets of {axis + 1} dimensions, got {given.dim()}")
    if offsets is not None:
        starts = offsets.narrow(-1, 0, offsets.shape[-1] - 1)
        return starts, offsets.narrow(-1, 1, offsets.shape[-1] - 1) - starts
    # Under vmap there are no values to look at; what no segment takes is left out then.
    if not unsafe and has_values(lengths) and has_elements(lengths):
        check(not bool((lengths < 0).any()), f"{name}(): lengths contains negative value!")
        check(
            bool((lengths.sum(-1) == data.shape[axis]).all()),
            f"{name}(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1)="
            f"{data.shape[axis]} when unsafe is False",
        )
    return F.cumsum(lengths, -1) - lengths, lengths


@composite_implicit("segment_reduce")
def segment_reduce_composite(
    data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None
):
    check(reduce in _IDENTITY, f"segment_reduce(): reduce must be one of {list(_IDENTITY)}, got {reduce!r}")
    check(indices is None, "segment_reduce(): indices based reduction is not supported, pass lengths or offsets")
    check(data.numel() > 0, "segment_reduce(): data must not be empty")
    axis = normalize_dim(axis, data.dim(), "segment_reduce")
    starts, lengths = _limits(data, lengths, offsets, axis, unsafe)
    count = lengths.shape[-1]
    lead, size, rest = list(data.shape[:axis]), data.shape[axis], list(data.shape[axis + 1 :])
    # How many segments end at or before a place is the segment it belongs to.
    places = F.arange(size, device=data.device)
    ends = (starts + lengths).unsqueeze(-2)
    owner = (places.unsqueeze(-1) >= ends).to(int64).sum(-1)
    outside = owner >= count
    owner = owner.clamp(max=count)
    first = _IDENTITY[reduce] if initial is None else initial
    shape = [*lead, count + 1, *rest]  # one more for what no segment takes
    out = F.full(shape, first, dtype=data.dtype, device=data.device)
    index = owner.masked_fill(outside, count).reshape([*lead, size, *([1] * len(rest))]).expand(data.shape)
    out = F.scatter_reduce(out, axis, index, data, _SCATTER_MODE[reduce], include_self=True)
    out = out.narrow(axis, 0, count)
    if reduce == "mean":
        sizes = lengths.reshape([*lead, count, *([1] * len(rest))])
        empty = nan if initial is None else initial
        return F.where(sizes > 0, out / sizes.clamp(min=1).to(data.dtype), empty)
    return out.contiguous()


def _inside(self, indices):
    """Return the indices, moved to the next place that exists."""
    result = []
    for place, index in enumerate(indices):
        if index is not None:
            index = F.clamp(index, -self.shape[place], self.shape[place] - 1)
        result.append(index)
    return result


@composite_implicit("_unsafe_masked_index")
def unsafe_masked_index_composite(self, mask, indices, fill):
    if self.numel() == 0:
        return F.full(mask.shape, fill, dtype=self.dtype, device=self.device)
    return F.masked_fill(F.index(self, _inside(self, indices)), F.logical_not(mask), fill)


@composite_implicit("_unsafe_masked_index_put_accumulate")
def unsafe_masked_index_put_accumulate_composite(self, mask, indices, values):
    if self.numel() == 0:
        return self.clone()
    return F.index_put(self, _inside(self, indices), F.masked_fill(values, F.logical_not(mask), 0), True)
