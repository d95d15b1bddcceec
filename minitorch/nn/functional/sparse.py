"""Linear maps and look-ups."""

from __future__ import annotations

from minitorch.autograd.grad_mode import no_grad
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = ["bilinear", "embedding", "embedding_bag", "linear", "one_hot"]

linear = F.linear
one_hot = F.one_hot

_embedding = F.embedding
_BAG_MODES = {"sum": 0, "mean": 1, "max": 2}


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
    sparse : bool
        Whether the gradient of `weight` is a tensor of layout ``sparse_coo``, of the rows that were looked up.

    Examples
    --------
    >>> weight = minitorch.ones(5, 2, requires_grad=True)
    >>> embedding(minitorch.tensor([1, 3]), weight, sparse=True).sum().backward()
    >>> weight.grad.layout, weight.grad._nnz()
    (torch.sparse_coo, 2)
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
        F.embedding_renorm_(weight, input, max_norm, norm_type)


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
    sparse : bool
        Whether the gradient of `weight` is a tensor of layout ``sparse_coo``; not with ``"max"``.
    include_last_offset : bool
        The last offset is where the last bag ends.
    padding_idx : int, optional
        Rows that do not count.
    """
    if mode not in _BAG_MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max":
        if scale_grad_by_freq:
            raise ValueError("max mode does not support scaling the gradient by the frequency")
        if sparse:
            raise ValueError("max mode does not support sparse weights")
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
        offsets = F.arange(0, bags * length, length, dtype=input.dtype, device=input.device) if length else (
            F.zeros([bags], dtype=input.dtype, device=input.device)
        )
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
        include_last_offset = False
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if max_norm is not None:
        _renorm_rows(weight, input, max_norm, norm_type)
    return F.embedding_bag(
        weight, input, offsets, scale_grad_by_freq, _BAG_MODES[mode], sparse, per_sample_weights, include_last_offset,
        padding_idx,
    )[0]  # fmt: skip


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
