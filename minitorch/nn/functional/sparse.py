"""Linear maps and look-ups."""

from __future__ import annotations

from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.core.dtype import int64
from minitorch.ops import functions as F
from minitorch.tensor.creation import tensor
from minitorch.tensor.tensor import Tensor

__all__ = ["bilinear", "embedding", "embedding_bag", "linear", "one_hot"]

linear = F.linear
one_hot = F.one_hot

_embedding = F.embedding


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return the rows of `weight` at the indices `input`.

    Parameters
    ----------
    input : Tensor of integers
    weight : Tensor, shape (rows, size)
    padding_idx : int, optional
        A row that gets no gradient.
    max_norm : float, optional
        Rows looked up whose p-norm exceeds it are scaled down in place first.
    scale_grad_by_freq : bool
        Divide each row's gradient by how often it was looked up.
    """
    if padding_idx is None:
        if max_norm is None and not scale_grad_by_freq and not sparse:
            return _embedding(weight, input)
        padding_idx = -1
    else:
        rows = weight.shape[0]
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        if padding_idx < 0:
            padding_idx += rows
    if max_norm is not None:
        _renorm_rows(weight, input, max_norm, norm_type)
    return _embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _renorm_rows(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows of `weight` that are looked up to at most `max_norm`, in place."""
    with no_grad():
        used = input.reshape(-1).unique()
        rows = weight.index_select(0, used)
        norms = rows.norm(norm_type, 1, keepdim=True)
        scale = F.where(norms > max_norm, max_norm / (norms + 1e-7), F.ones_like(norms))
        weight.index_copy_(0, used, rows * scale)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Return sums, means or maxima of bags of rows of `weight`.

    Parameters
    ----------
    input : Tensor of integers, shape (bags, rows of a bag), or flat with `offsets`
    weight : Tensor, shape (rows, size)
    offsets : Tensor, optional
        Where each bag of a flat `input` starts.
    mode : {"sum", "mean", "max"}
    per_sample_weights : Tensor, optional
        A factor for each row; only with ``"sum"``.
    include_last_offset : bool
        The last offset is where the last bag ends.
    padding_idx : int, optional
        Rows that do not count.
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None:
        if input.shape != per_sample_weights.shape:
            raise ValueError(
                f"embedding_bag: If per_sample_weights ({list(per_sample_weights.shape)}) is not "
                f"None, then it must have the same shape as the input ({list(input.shape)})"
            )
        if mode != "sum":
            raise NotImplementedError(
                "embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                f"supported for mode='sum' (got mode='{mode}')."
            )
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated as a "
                "mini-batch of fixed length sequences"
            )
        bags, length = input.shape
        starts = [length * i for i in range(bags + 1)]
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        starts = offsets.tolist()
        if not include_last_offset:
            starts.append(input.numel())
        if starts and starts[0] != 0:
            raise RuntimeError(f"offsets[0] has to be 0, but got {starts[0]}")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if max_norm is not None:
        _renorm_rows(weight, input, max_norm, norm_type)
    padding = -1
    if padding_idx is not None:
        padding = padding_idx if padding_idx >= 0 else padding_idx + weight.shape[0]
    rows = _embedding(weight, input, padding, scale_grad_by_freq, sparse)
    return _bags(rows, input, starts, mode, per_sample_weights, padding)


def _bags(
    rows: Tensor, input: Tensor, starts: list[int], mode: str, factors: Any, padding: int
) -> Tensor:
    """Reduce the rows of each bag."""
    count = len(starts) - 1
    lengths = [starts[i + 1] - starts[i] for i in range(count)]
    if factors is not None:
        rows = rows * factors.unsqueeze(1)
    bag_of_row = F.repeat_interleave(
        tensor(lengths, dtype=int64, device=input.device)
    )
    kept = input != padding
    if padding >= 0:
        rows, bag_of_row = rows[kept], bag_of_row[kept]
    if mode == "max":
        return _max_bags(rows, bag_of_row, count)
    size = rows.shape[1]
    total = F.zeros([count, size], dtype=rows.dtype, device=rows.device)
    total = total.index_add(0, bag_of_row, rows)
    if mode == "sum":
        return total
    sizes = F.zeros([count], dtype=rows.dtype, device=rows.device)
    sizes = sizes.index_add(0, bag_of_row, F.ones_like(bag_of_row).to(rows.dtype))
    return total / sizes.clamp(min=1).unsqueeze(1)


def _max_bags(rows: Tensor, bag_of_row: Tensor, count: int) -> Tensor:
    """Return the maxima of each bag; 0 for an empty one."""
    results = []
    owners = bag_of_row.tolist()
    start = 0
    for bag in range(count):
        stop = start
        while stop < len(owners) and owners[stop] == bag:
            stop += 1
        if stop == start:
            results.append(F.zeros([rows.shape[1]], dtype=rows.dtype, device=rows.device))
        else:
            results.append(rows[start:stop].max(0)[0])
        start = stop
    if not results:
        return rows.new_zeros([0, rows.shape[1]])
    return F.stack(results)


def bilinear(
    input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """Return ``input1 @ weight[k] @ input2`` for each k, plus `bias`.

    Parameters
    ----------
    input1 : Tensor, shape (..., in1)
    input2 : Tensor, shape (..., in2)
    weight : Tensor, shape (out, in1, in2)
    bias : Tensor, optional, shape (out,)
    """
    if input1.dim() != input2.dim():
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}"
        )
    if input1.shape[-1] != weight.shape[1] or input2.shape[-1] != weight.shape[2]:
        raise RuntimeError(
            f"bilinear(): input sizes {input1.shape[-1]} and {input2.shape[-1]} do not match "
            f"weight of shape {list(weight.shape)}"
        )
    first = input1.reshape(-1, input1.shape[-1])
    second = input2.reshape(-1, input2.shape[-1])
    result = first.matmul(weight).transpose(0, 1).matmul(second.unsqueeze(-1))
    result = result.reshape(*input1.shape[:-1], weight.shape[0])
    return result if bias is None else result + bias
