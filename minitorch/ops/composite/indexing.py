"""Indexing, joining and repeating written with other operators."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement

from minitorch.core.dtype import float32, from_numpy_dtype
from minitorch.core.memory_format import contiguous_format
from minitorch.core.meta_array import MetaArray
from minitorch.core.promotion import result_type
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_implicit
from minitorch.ops.shapes.common import broadcast_shapes, check, normalize_dim
from minitorch.tensor.wrapper import has_elements, has_values

# ---------------------------------------------------------------- where, nonzero


def operand(value):
    """Return what stands for a tensor or a number in `result_type`."""
    if hasattr(value, "shape"):
        return MetaArray((1,) * value.dim(), value.dtype.np)
    return value


def number_beside(tensor, value, dtype):
    """Return a number as a 0-dim tensor where another tensor is: a fake one beside a fake one."""
    if tensor._handle_is_all:
        return F.new_full(tensor, [], value, dtype=dtype)
    return F.scalar_tensor(value, dtype=dtype, device=tensor.device)


@composite_implicit("where.ScalarOther")
def where_scalar_other_composite(condition, self, other):
    if self.is_quantized:  # it quantizes numbers itself
        return F.where(condition, self, number_beside(self, other, float32))
    dtype = from_numpy_dtype(result_type(operand(self), other))
    other = number_beside(self, other, dtype)
    return F.where(condition, self.to(dtype), other)


@composite_implicit("where.ScalarSelf")
def where_scalar_self_composite(condition, self, other):
    if other.is_quantized:
        return F.where(condition, number_beside(other, self, float32), other)
    dtype = from_numpy_dtype(result_type(self, operand(other)))
    self = number_beside(other, self, dtype)
    return F.where(condition, self, other.to(dtype))


@composite_implicit("where.Scalar")
def where_scalar_composite(condition, self, other):
    dtype = from_numpy_dtype(result_type(self, other))
    return F.where(condition, number_beside(condition, self, dtype), number_beside(condition, other, dtype))


@composite_implicit("where")
def where_nonzero_composite(condition):
    return list(F.nonzero_numpy(condition))


@composite_implicit("nonzero_numpy")
def nonzero_numpy_composite(self):
    if self.dim() == 0:
        self = F.unsqueeze(self, 0)
    return list(F.unbind(F.nonzero(self), 1))


@composite_implicit("argwhere")
def argwhere_composite(self):
    return F.nonzero(self)


@composite_implicit("take_along_dim")
def take_along_dim_composite(self, indices, dim=None):
    check(
        indices.dtype.name == "int64",
        "take_along_dim(): dtype of indices should be Long but got "
        f"{indices.dtype.scalar_name}",
    )
    if dim is None:
        return F.gather(F.reshape(self, [-1]), 0, F.reshape(indices, [-1]))
    check(
        self.dim() == indices.dim(),
        "take_along_dim(): input and indices should have the same number of dimensions, but got "
        f"{self.dim()} dimensions for input, and {indices.dim()} dimensions for indices",
    )
    dim = normalize_dim(dim, self.dim(), "take_along_dim")
    own, wanted = list(self.shape), list(indices.shape)
    if self.dim():
        own[dim] = wanted[dim] = 1
    common = list(broadcast_shapes(tuple(own), tuple(wanted)))
    own, wanted = list(common), list(common)
    if self.dim():
        own[dim], wanted[dim] = self.shape[dim], indices.shape[dim]
        indices = F.where(indices < 0, indices + self.shape[dim], indices)
    return F.gather(F.expand(self, own), dim, F.expand(indices, wanted))


@composite_implicit("one_hot")
def one_hot_composite(self, num_classes=-1):
    check(
        self.dtype.name == "int64",
        f"one_hot is only applicable to index tensor of type LongTensor, got {self.dtype.name}",
    )
    if self.numel() == 0:
        check(
            num_classes > 0,
            "Can not infer total number of classes from empty tensor."
            if num_classes < 0
            else f"num_classes must be positive, got {num_classes}",
        )
        return F.new_zeros(self, [*self.shape, num_classes])
    if not has_elements(self):
        check(
            num_classes > 0,
            "When vmap-ing one_hot, please provide an explicit positive num_classes argument: the number of classes found "
            f"in the values may differ from example to example; got {num_classes}.",
        )
    elif self.device.type != "meta" and (num_classes == -1 or has_values(self)):
        check(int(F.min(self)) >= 0, "Class values must be non-negative.")
        top = int(F.max(self))
        if num_classes == -1:
            num_classes = top + 1
        check(
            num_classes > top,
            f"Class values must be smaller than num_classes, got {top} and {num_classes}",
        )
    check(num_classes > 0, f"num_classes must be positive, got {num_classes}")
    zeros = F.new_zeros(self, [*self.shape, num_classes])
    return F.scatter(zeros, -1, F.unsqueeze(self, -1), 1)


# ---------------------------------------------------------------- repeating


@composite_implicit("repeat_interleave.self_Tensor")
def repeat_interleave_tensor_composite(self, repeats, dim=None, *, output_size=None):
    if dim is None:
        self, dim = F.reshape(self, [-1]), 0
    dim = normalize_dim(dim, self.dim(), "repeat_interleave")
    length = self.shape[dim] if self.dim() else 1
    check(
        repeats.dim() == 0 or (repeats.dim() == 1 and repeats.shape[0] in (1, length)),
        f"repeat_interleave(): repeats must be 0-dim or 1-dim tensor with the size of dim {dim} "
        f"({length}), got shape {tuple(repeats.shape)}",
    )
    if repeats.dim() == 0 or repeats.shape[0] == 1 != length:
        repeats = F.expand(F.reshape(repeats, [1]), [length])
    return F.index_select(self, dim, F.repeat_interleave(repeats, output_size=output_size))


@composite_implicit("repeat_interleave.self_int")
def repeat_interleave_int_composite(self, repeats, dim=None, *, output_size=None):
    check(repeats >= 0, f"repeat_interleave(): repeats can not be negative, got {repeats}")
    if dim is None:
        self, dim = F.reshape(self, [-1]), 0
    elif self.dim() == 0:
        normalize_dim(dim, 0, "repeat_interleave")
        self, dim = F.reshape(self, [1]), 0
    dim = normalize_dim(dim, self.dim(), "repeat_interleave")
    shape = list(self.shape)
    spread = F.expand(F.unsqueeze(self, dim + 1), [*shape[: dim + 1], repeats, *shape[dim + 1 :]])
    shape[dim] *= repeats
    return F.reshape(F.clone(spread), shape)


@composite_implicit("tile")
def tile_composite(self, dims):
    lead = self.dim() - len(dims)
    return F.repeat(self, [1] * lead + list(dims) if lead > 0 else list(dims))


# ---------------------------------------------------------------- diagonals, turning


@composite_implicit("diag")
def diag_composite(self, diagonal=0):
    if self.dim() == 1:
        return F.diag_embed(self, diagonal)
    check(
        self.dim() == 2,
        f"diag(): Supports 1D or 2D tensors. Got {self.dim()}D",
    )
    return F.clone(F.diagonal(self, diagonal))


@composite_implicit("diagflat")
def diagflat_composite(self, offset=0):
    return F.diag_embed(F.reshape(self, [-1]), offset)


@composite_implicit("fliplr")
def fliplr_composite(self):
    check(self.dim() >= 2, "Input must be >= 2-d.")
    return F.flip(self, [1])


@composite_implicit("flipud")
def flipud_composite(self):
    check(self.dim() >= 1, "Input must be >= 1-d.")
    return F.flip(self, [0])


@composite_implicit("rot90")
def rot90_composite(self, k=1, dims=(0, 1)):
    ndim = self.dim()
    check(
        len(dims) == 2,
        f"rot90(): expected total rotation dims == 2, but got dims = {len(dims)}",
    )
    check(ndim >= 2, f"rot90(): expected total dims >= 2, but got total dims = {ndim}")
    for d in dims:
        check(-ndim <= d < ndim, f"rot90(): Rotation dim out of range, dim = {d}")
    first, second = (d % ndim for d in dims)
    check(
        first != second,
        f"rot90(): expected rotation dims to be different, but got dim0 = {dims[0]} and "
        f"dim1 = {dims[1]}",
    )
    k %= 4
    if k == 0:
        return F.clone(self, memory_format=contiguous_format)
    if k == 2:
        return F.flip(self, [first, second])
    return F.transpose(F.flip(self, [second if k == 1 else first]), first, second)


# ---------------------------------------------------------------- joining


@composite_implicit("concat", "concatenate")
def concat_composite(tensors, dim=0):
    return F.cat(tensors, dim)


@composite_implicit("hstack")
def hstack_composite(tensors):
    check(len(tensors) > 0, "hstack expects a non-empty TensorList")
    tensors = [F.atleast_1d(t) for t in tensors]
    return F.cat(tensors, 0 if tensors[0].dim() == 1 else 1)


@composite_implicit("vstack", "row_stack")
def vstack_composite(tensors):
    check(len(tensors) > 0, "vstack expects a non-empty TensorList")
    return F.cat([F.atleast_2d(t) for t in tensors], 0)


@composite_implicit("dstack")
def dstack_composite(tensors):
    check(len(tensors) > 0, "dstack expects a non-empty TensorList")
    return F.cat([F.atleast_3d(t) for t in tensors], 2)


@composite_implicit("column_stack")
def column_stack_composite(tensors):
    check(len(tensors) > 0, "column_stack expects a non-empty TensorList")
    return F.hstack([F.reshape(t, [t.numel(), 1]) if t.dim() <= 1 else t for t in tensors])


@composite_implicit("block_diag")
def block_diag_composite(tensors):
    blocks = []
    for place, tensor in enumerate(tensors):
        check(
            tensor.dim() <= 2,
            f"block_diag: Input tensors must have 2 or fewer dimensions. Input {place} has "
            f"{tensor.dim()} dimensions",
        )
        blocks.append(F.atleast_2d(tensor))
    dtype = from_numpy_dtype(result_type(*[MetaArray((1,), b.dtype.np) for b in blocks]))
    columns = sum(b.shape[1] for b in blocks)
    rows, left = [], 0
    for block in blocks:
        height, width = block.shape
        block = block.to(dtype)
        right = columns - left - width
        rows.append(
            F.cat(
                [F.new_zeros(block, [height, left]), block, F.new_zeros(block, [height, right])], 1
            )
        )
        left += width
    return F.cat(rows, 0)


# ---------------------------------------------------------------- grids


def _meshgrid(tensors, indexing):
    check(len(tensors) > 0, "meshgrid expects a non-empty TensorList")
    check(
        indexing in ("ij", "xy"),
        f"torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: {indexing}",
    )
    for tensor in tensors:
        check(
            tensor.dim() <= 1,
            f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: shape "
            f"{tuple(tensor.shape)}",
        )
        check(
            tensor.dtype is tensors[0].dtype and tensor.device == tensors[0].device,
            "torch.meshgrid expects all tensors to have the same dtype and device",
        )
    swap = indexing == "xy" and len(tensors) >= 2
    if swap:
        tensors = [tensors[1], tensors[0], *tensors[2:]]
    shape = [t.numel() for t in tensors]
    grids = []
    for place, tensor in enumerate(tensors):
        spread = [1] * len(tensors)
        spread[place] = tensor.numel()
        grids.append(F.expand(F.view(tensor, spread), shape))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return grids


@composite_implicit("meshgrid")
def meshgrid_composite(tensors):
    return _meshgrid(tensors, "ij")


@composite_implicit("meshgrid.indexing")
def meshgrid_indexing_composite(tensors, *, indexing):
    return _meshgrid(tensors, indexing)


@composite_implicit("cartesian_prod")
def cartesian_prod_composite(tensors):
    for tensor in tensors:
        check(
            tensor.dim() == 1,
            f"cartesian_prod(): Expect a 1D vector, but got shape {tuple(tensor.shape)}",
        )
    if len(tensors) == 1:
        return tensors[0]
    grids = _meshgrid(tensors, "ij")
    return F.stack([F.reshape(g, [-1]) for g in grids], 1)


@composite_implicit("combinations")
def combinations_composite(self, r=2, with_replacement=False):
    check(
        self.dim() == 1,
        f"combinations(): Expect a 1D vector, but got shape {tuple(self.shape)}",
    )
    check(r >= 0, f"combinations(): Expect a non-negative number, but got {r}")
    if r == 0:
        return F.new_empty(self.detach(), [0])
    choose = combinations_with_replacement if with_replacement else combinations
    chosen = [place for places in choose(range(self.numel()), r) for place in places]
    from minitorch.core.dtype import int64
    from minitorch.tensor.creation import tensor

    index = tensor(chosen, dtype=int64, device=self.device)
    return F.reshape(F.index_select(self, 0, index), [len(chosen) // r, r])
