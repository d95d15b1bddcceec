"""Kernels of embedding bags, and of rows kept to a norm."""

from __future__ import annotations

from minitorch.backends.array.common import is_low_precision
from minitorch.backends.array.indexing import add_rows
from minitorch.backends.array.precision import widen
from minitorch.backends.array.registry import array_kernel

SUM, MEAN, MAX = 0, 1, 2


def _check_range(positions, rows, name):
    if positions.size and not (int(positions.min()) >= 0 and int(positions.max()) < rows):
        wrong = positions[(positions < 0) | (positions >= rows)]
        raise IndexError(
            f"{name}(): index {int(wrong[0])} is out of range for {rows} rows; indices must be 0 to {rows - 1}"
        )


@array_kernel("embedding_renorm_")
def embedding_renorm_kernel(xp, self, indices, max_norm, norm_type):
    if self.ndim != 2 or indices.dtype.kind != "i":
        raise ValueError("not a matrix and integers")
    used = xp.unique(indices)
    _check_range(used, len(self), "embedding_renorm_")
    rows = widen(self[used])
    if norm_type == 2.0:
        norms = xp.sqrt(xp.einsum("ij,ij->i", rows, rows))
    elif norm_type == float("inf"):
        norms = xp.absolute(rows).max(1)
    else:
        norms = xp.add.reduce(xp.absolute(rows) ** norm_type, 1) ** (1.0 / norm_type)
    long = norms > max_norm
    # The small constant keeps a row that was scaled from being scaled again.
    scaled = rows[long] * (max_norm / (norms[long] + 1e-7)).astype(rows.dtype)[:, None]
    self[used[long]] = scaled.astype(self.dtype)
    return self


@array_kernel("_embedding_bag")
def embedding_bag_kernel(
    xp, weight, indices, offsets, scale_grad_by_freq=False, mode=SUM, sparse=False, per_sample_weights=None,
    include_last_offset=False, padding_idx=-1,
):  # fmt: skip
    count = len(indices)
    if (
        weight.ndim != 2 or indices.ndim != 1 or offsets.ndim != 1 or indices.dtype.kind != "i"
        or (per_sample_weights is not None and (mode != SUM or per_sample_weights.shape != indices.shape))
    ):  # fmt: skip
        raise ValueError("bad arguments")
    if include_last_offset:
        stops, starts = offsets[1:], offsets[:-1]
    else:
        starts = offsets
        stops = xp.append(offsets[1:], xp.asarray(count, offsets.dtype)) if len(offsets) else offsets
    if len(offsets) and int(offsets[0]) != 0:
        raise RuntimeError(f"embedding_bag(): offsets[0] has to be 0, i.e., the first sequence in the mini-batch "
                           f"has to start from position 0, but got {int(offsets[0])}")  # fmt: skip
    if len(offsets) and int(offsets[-1]) > count:
        raise RuntimeError(
            f"embedding_bag(): offsets[-1] can not be greater than the number of indices, {count}, but got "
            f"{int(offsets[-1])}"
        )
    _check_range(indices, len(weight), "embedding_bag")
    bags = len(starts)
    bag_of = xp.repeat(xp.arange(bags, dtype=indices.dtype), (stops - starts).astype(xp.int64))
    read = len(bag_of)  # the last offset may leave some out
    positions, owners, factors = indices[:read], bag_of, per_sample_weights
    if factors is not None:
        factors = factors[:read]
    if padding_idx >= 0:
        kept = positions != padding_idx
        positions, owners = positions[kept], owners[kept]
        factors = None if factors is None else factors[kept]
    rows = widen(weight[positions])
    if factors is not None:
        rows = rows * widen(factors)[:, None]
    sizes = xp.bincount(owners, minlength=bags).astype(indices.dtype)
    offset_to_bag = xp.full(count, bags, indices.dtype)
    offset_to_bag[:read] = bag_of
    if mode == MAX:
        out, winners = _maxima(xp, rows, positions, owners, sizes)
    else:
        out = xp.zeros((bags, rows.shape[1]), rows.dtype)
        if len(rows):
            add_rows(xp, out, owners, rows)
        if mode == MEAN:
            out /= xp.maximum(sizes, 1).astype(out.dtype)[:, None]
        winners = sizes.copy()
    if is_low_precision(weight.dtype):
        out = out.astype(weight.dtype)
    return out, offset_to_bag, sizes, winners


def _maxima(xp, rows, positions, owners, sizes):
    """Return the maximum of each bag and column, and the row of the weight that it came from."""
    shape = (len(sizes), rows.shape[1])
    out = xp.full(shape, -xp.inf, rows.dtype)
    xp.maximum.at(out, owners, rows)
    order = xp.where(rows == out[owners], xp.arange(len(rows))[:, None], len(rows))
    first = xp.full(shape, len(rows))
    xp.minimum.at(first, owners, order)
    winners = xp.append(positions, xp.asarray([0], positions.dtype))[xp.minimum(first, len(rows))]
    out[sizes == 0] = 0
    winners[sizes == 0] = 0
    return out, winners
