"""Sparse tensors joined along a dimension, or a new one."""

from __future__ import annotations

from minitorch.ops import functions as F
from minitorch.ops.shapes.common import check, normalize_dim
from minitorch.sparse.handles import compressed, is_compressed, is_sparse
from minitorch.sparse.pattern import constructed, in_layout_of, to_coo, with_zeros
from minitorch.sparse.refusal import Unsupported
from minitorch.sparse.registration import sparse_kernel


def _check_sparse(name, tensors):
    for place, tensor in enumerate(tensors):
        if not is_sparse(tensor):
            raise Unsupported(f"{name}() of sparse tensors found a dense tensor at position {place}; to_sparse() it")


def _joined(parts, dim):
    first = parts[0].handle
    n = first.sparse_dim
    for place, part in enumerate(parts):
        check(
            part.handle.sparse_dim == n and part.handle.dense_dim == first.dense_dim,
            f"cat(): all tensors must have the same sparse and dense dimensions: {n} and {first.dense_dim} at position 0, "
            f"but {part.handle.sparse_dim} and {part.handle.dense_dim} at position {place}",
        )
        same = [s for d, s in enumerate(part.shape) if d != dim] == [s for d, s in enumerate(parts[0].shape) if d != dim]
        check(
            same,
            f"cat(): sizes must match except in dimension {dim}: {tuple(parts[0].shape)} at position 0, but "
            f"{tuple(part.shape)} at position {place}",
        )
    shape = list(parts[0].shape)
    shape[dim] = sum(part.shape[dim] for part in parts)
    indices, values, start = [], [], 0
    for part in parts:
        handle = part.handle
        length = part.shape[dim]
        if dim < n:
            rows = list(F.unbind(handle.indices))
            rows[dim] = F.add(rows[dim], start)
            indices.append(F.stack(rows))
            values.append(handle.values)
        else:
            # Along a dense dimension each value gets zeros where the other tensors are.
            wide = list(handle.values.shape)
            place = dim - n + 1
            before, after = list(wide), list(wide)
            before[place], after[place] = start, shape[dim] - start - length
            indices.append(handle.indices)
            zeros = [F.new_zeros(handle.values, size) for size in (before, after)]
            values.append(F.cat([zeros[0], handle.values, zeros[1]], place))
        start += length
    return constructed(shape, F.cat(indices, 1), F.cat(values))


@sparse_kernel("cat")
def cat(tensors, dim=0):
    _check_sparse("cat", tensors)
    first = tensors[0]
    dim = normalize_dim(dim, first.ndim, "cat")
    result = _joined([to_coo(t) for t in tensors], dim)
    return in_layout_of(with_zeros(result), first) if is_compressed(first) else result


@sparse_kernel("stack")
def stack(tensors, dim=0):
    _check_sparse("stack", tensors)
    first = tensors[0]
    dim = normalize_dim(dim, first.ndim + 1, "stack")
    for tensor in tensors:
        check(
            tuple(tensor.shape) == tuple(first.shape),
            f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry 0 and {list(tensor.shape)}",
        )
    if not is_compressed(first):
        return _joined([F.unsqueeze(to_coo(t), dim) for t in tensors], dim)
    # Batches of a compressed layout have as many entries each.
    layout = first.layout
    handles = [t.handle for t in tensors]
    alike = all(
        t.layout is layout and t.handle.nnz == handles[0].nnz and t.handle.blocksize == handles[0].blocksize for t in tensors
    )
    if not alike or dim > handles[0].batch_dim:
        raise Unsupported(
            "stack() of a compressed layout makes a batch, whose tensors have one layout and as many entries each; "
            "to_sparse() first"
        )
    parts = [F.stack(list(c), dim) for c in zip(*[h.components() for h in handles], strict=True)]
    shape = [*first.shape[:dim], len(tensors), *first.shape[dim:]]
    return compressed(layout, shape, *parts)


