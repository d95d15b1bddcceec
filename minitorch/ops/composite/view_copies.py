"""Copies of views, and what is built of views: splits, chunks joined, places in a storage filled."""

from __future__ import annotations

from typing import Any

from minitorch.core.layout import strided
from minitorch.core.memory_format import contiguous_format
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_explicit, composite_implicit
from minitorch.ops.shapes.common import check, normalize_dim
from minitorch.ops.shapes.views import is_dense
from minitorch.tensor.memory import overlaps_itself


def _copied(view: Any) -> Any:
    """Return a composite that copies the view, or the views, that `view` makes."""

    def view_copy_composite(self, *args, **kwargs):
        result = view(self, *args, **kwargs)
        if isinstance(result, (tuple, list)):
            return [F.clone(r, memory_format=contiguous_format) for r in result]
        return F.clone(result, memory_format=contiguous_format)

    return view_copy_composite


composite_explicit("lift_fresh_copy")(_copied(F.lift_fresh))
composite_explicit("alias_copy")(_copied(F.alias))
composite_explicit("_conj_copy")(_copied(F._conj))
composite_explicit("_neg_view_copy")(_copied(F._neg_view))
composite_explicit("detach_copy")(_copied(F.detach))
composite_explicit("as_strided_copy")(_copied(F.as_strided))
composite_explicit("diagonal_copy")(_copied(F.diagonal))
composite_explicit("expand_copy")(_copied(lambda self, size, *, implicit=False: F.expand(self, size)))
composite_implicit("narrow_copy")(_copied(F.narrow))
composite_explicit("permute_copy")(_copied(F.permute))
composite_explicit("select_copy.int")(_copied(F.select))
composite_explicit("slice_copy.Tensor")(_copied(F.slice))
composite_explicit("squeeze_copy", "squeeze_copy.dim", "squeeze_copy.dims")(_copied(F.squeeze))
composite_explicit("t_copy")(_copied(F.t))
composite_explicit("transpose_copy.int")(_copied(F.transpose))
composite_explicit("unfold_copy")(_copied(F.unfold))
composite_explicit("unsqueeze_copy")(_copied(F.unsqueeze))
composite_explicit("view_as_real_copy")(_copied(F.view_as_real))
composite_explicit("view_as_complex_copy")(_copied(F.view_as_complex))
composite_explicit("split_copy.Tensor")(_copied(F.split))
composite_explicit("split_with_sizes_copy")(_copied(F.split_with_sizes))
composite_explicit("unbind_copy.int")(_copied(F.unbind))


@composite_explicit("view_copy")
def view_copy_composite(self, size):
    return F.clone(F.reshape(self, size), memory_format=contiguous_format)


@composite_explicit("view_copy.dtype")
def view_copy_dtype_composite(self, dtype):
    return F.clone(F.view(self, dtype), memory_format=contiguous_format)


# ---------------------------------------------------------------- pieces


@composite_implicit("unsafe_split.Tensor")
def unsafe_split_composite(self, split_size, dim=0):
    return list(F.split(self, split_size, dim))


@composite_implicit("unsafe_split_with_sizes")
def unsafe_split_with_sizes_composite(self, split_sizes, dim=0):
    return list(F.split_with_sizes(self, split_sizes, dim))


@composite_implicit("unsafe_chunk")
def unsafe_chunk_composite(self, chunks, dim=0):
    return list(F.chunk(self, chunks, dim))


@composite_implicit("_chunk_cat")
def chunk_cat_composite(tensors, dim, num_chunks):
    check(num_chunks >= 1, f"_chunk_cat(): expected at least 1 chunk, got {num_chunks}")
    check(len(tensors) > 0, "_chunk_cat(): expected a non-empty list of tensors")
    dim = normalize_dim(dim, tensors[0].dim(), "_chunk_cat")
    rows = []
    for tensor in tensors:
        check(
            tensor.shape[:dim] == tensors[0].shape[:dim] and tensor.dim() > dim and tensor.numel() > 0,
            f"_chunk_cat(): tensors must not be empty and must agree before dimension {dim}, got shapes "
            f"{[list(t.shape) for t in tensors]}",
        )
        missing = -tensor.shape[dim] % num_chunks
        if missing:
            padding = [0, 0] * (tensor.dim() - 1 - dim) + [0, missing]
            tensor = F.constant_pad_nd(tensor, padding, 0)
        rows.append(F.reshape(tensor, [*tensor.shape[:dim], num_chunks, -1]))
    return F.cat(rows, dim + 1)


# ---------------------------------------------------------------- storages


@composite_explicit("as_strided_scatter")
def as_strided_scatter_composite(self, src, size, stride, storage_offset=None):
    check(
        list(src.shape) == list(size),
        f"as_strided_scatter(): expected src to have a size equal to the slice of self, {list(size)}, got "
        f"{list(src.shape)}",
    )
    if (is_dense(self.handle) and self.storage_offset() == 0) or overlaps_itself(self.handle):
        result = F.clone(self)
    else:
        # What lies around the elements in memory is copied too: the offset counts from its start.
        steps, offset = self.stride(), self.storage_offset()
        extent = offset + 1 + sum([(n - 1) * step for n, step in zip(self.shape, steps, strict=True)])
        whole = F.clone(F.as_strided(self, [extent if self.numel() else 0], [1], 0))
        result = F.detach(F.as_strided(whole, list(self.shape), list(steps), offset))  # no view of it, to autograd
    F.as_strided(result, size, stride, storage_offset).copy_(src)
    return result


@composite_implicit("resize_as_")
def resize_as_composite(self, the_template, *, memory_format=None):
    if the_template.layout is not strided:
        return F.resize_as_sparse_(self, the_template)
    if memory_format is None:
        return F.resize_(self, the_template.shape)
    return F.resize_(self, the_template.shape, memory_format=memory_format)


@composite_implicit("fill_diagonal_")
def fill_diagonal_composite(self, fill_value, wrap=False):
    check(self.dim() >= 2, f"fill_diagonal_(): dimensions must larger than 1, got {self.dim()}")
    check(
        self.dim() == 2 or len(set(self.shape)) == 1,
        f"fill_diagonal_(): all dimensions of input must be of equal length, got shape {list(self.shape)}",
    )
    steps, offset = self.stride(), self.storage_offset()
    step, count = sum(steps), min(self.shape)
    F.as_strided(self, [count], [step], offset).fill_(fill_value)
    if wrap and self.dim() == 2 and self.shape[0] > self.shape[1] + 1:
        # The diagonal begins anew below the first one, a row left out.
        rows, columns = self.shape
        for top in range(columns + 1, rows, columns + 1):
            F.as_strided(self, [min(columns, rows - top)], [step], offset + steps[0] * top).fill_(fill_value)
    return self
