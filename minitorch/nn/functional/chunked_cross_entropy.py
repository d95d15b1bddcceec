"""The cross entropy of a linear function: whole, or in chunks that keep no scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minitorch.nn.functional.loss import cross_entropy
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = ["linear_cross_entropy"]

_POLICIES = ("auto", "accurate", "balanced", "compact")


@dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` goes through a batch in chunks.

    The scores of a chunk, (rows, classes), are thrown away, and computed anew in the backward pass: where there are many more
    classes than features, as in language models, they are most of the memory.

    Parameters
    ----------
    allow_retain_graph : bool
        Whether there may be a second backward pass; there always may.
    batch_chunk_size : int, optional
        How many rows a chunk has; all if neither this nor `chunking_method` says.
    chunking_method : str or None
        ``"aspect_ratio"`` takes so many rows that their scores need the memory of the input, ``"aspect_ratio:N"`` divides that
        by N; ``"auto"`` is ``"aspect_ratio:2"`` unless `batch_chunk_size` is given; None leaves it to `batch_chunk_size`.
    acc_policy : {"auto", "accurate", "balanced", "compact"}
        Which kernels PyTorch takes; there is one way here.
    acc_dtype : dtype, optional
        What the losses and their sum are computed in; the dtype of the input if omitted.

    Raises
    ------
    ValueError
        If an option has none of these values, or, when used, the two ways to choose a size give different ones.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"LinearCrossEntropyOptions: acc_policy {self.acc_policy!r} is none of {_POLICIES}")
        if self.chunking_method not in (None, "auto"):
            name, sign, factor = str(self.chunking_method).partition(":")
            if name != "aspect_ratio" or (sign and not (factor.isdigit() and int(factor) > 0)):
                raise ValueError(f"LinearCrossEntropyOptions: invalid chunking_method {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"LinearCrossEntropyOptions: batch_chunk_size must be a positive int or None, got {size!r}")
        if self.acc_dtype is not None and not self.acc_dtype.is_floating_point:
            raise ValueError(f"LinearCrossEntropyOptions: acc_dtype must be a floating dtype or None, got {self.acc_dtype}")

    def rows(self, batch: int, features: int, classes: int) -> int:
        """Return how many rows a chunk has."""
        method = self.chunking_method
        given = None if self.batch_chunk_size is None else min(self.batch_chunk_size, batch)
        if method is None or (method == "auto" and given is not None):
            return batch if given is None else given
        factor = 2 if method == "auto" else int(method.partition(":")[2] or 1)
        wanted = -(-batch // max(-(-classes // max(features, 1)), 1))
        rows = max(min((1 << max(wanted - 1, 0).bit_length()) // factor, batch), 1)
        if given is not None and self.batch_chunk_size != rows:
            raise ValueError(
                f"linear_cross_entropy(): batch_chunk_size={self.batch_chunk_size} and chunking_method={method!r}, which gives "
                f"{rows} rows, disagree; pass one of them"
            )
        return rows


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """Return the cross entropy of `target` and the softmax of a linear function of `input`.

    Parameters
    ----------
    input : Tensor, shape (features,) or (batch, features)
    linear_weight : Tensor, shape (classes, ..., features)
        With dimensions between, there is a target for each of their elements, and `input` has a batch.
    target : Tensor
        Class numbers, shape (batch, ...), or probabilities, shape (batch, classes, ...); without the batch as `input`.
    linear_bias : Tensor, optional, shape (classes, ...)
    weight : Tensor, optional, shape (classes,)
    reduction : {"mean", "sum", "none"}
    ignore_index : int, optional
        A class number that does not count, -100 if left out.
    label_smoothing : float
        The share of the uniform distribution mixed into the target.
    options : LinearCrossEntropyOptions, optional
        Go through the batch in chunks, with less memory; else at once.

    Raises
    ------
    RuntimeError
        If shapes or dtypes do not fit each other, or `ignore_index` is given with probabilities.
    ValueError
        If batch sizes differ, or the options contradict each other.

    Examples
    --------
    >>> x, w = minitorch.zeros(4, 3), minitorch.zeros(5, 3)
    >>> linear_cross_entropy(x, w, minitorch.tensor([0, 1, 2, 3]))  # the logarithm of 5
    tensor(1.6094)
    """
    name = "linear_cross_entropy()"
    if input.dim() not in (1, 2):
        raise RuntimeError(f"{name}: expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"{name}: expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            f"{name}: expected equal input and linear_weight last dimensions (in_features), got {input.shape[-1]} and "
            f"{linear_weight.shape[-1]}"
        )
    outputs = tuple(linear_weight.shape[:-1])
    if len(outputs) > 1 and input.dim() == 1:
        raise RuntimeError(
            f"{name}: a linear_weight of shape {tuple(linear_weight.shape)} requires batched input, (N, {input.shape[-1]}), "
            f"got shape {tuple(input.shape)}; add a batch dimension with input.unsqueeze(0)"
        )
    if linear_bias is not None and tuple(linear_bias.shape) != outputs:
        raise RuntimeError(f"{name}: expected linear_bias shape {outputs}, got {tuple(linear_bias.shape)}")
    if ignore_index is None:
        ignore_index = -100
    elif target.is_floating_point():
        raise RuntimeError(f"{name}: ignore_index cannot be specified when target contains probabilities")
    flat_weight = linear_weight.flatten(0, -2)
    flat_bias = None if linear_bias is None else linear_bias.flatten()

    def loss(rows: Tensor, flat_weight: Tensor, flat_bias: Tensor | None, target: Tensor, reduction: str) -> Tensor:
        scores = F.linear(rows, flat_weight, flat_bias)
        if len(outputs) > 1:
            scores = scores.reshape(rows.shape[0], *outputs)
        if options is not None and options.acc_dtype is not None:
            scores = scores.to(options.acc_dtype)
        return cross_entropy(
            scores, target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
        )

    rows = input.shape[0]
    if options is not None and input.dim() == 2 and rows:
        rows = options.rows(rows, input.shape[1], flat_weight.shape[0])
    if rows == input.shape[0] or input.dim() == 1 or not target.dim() or target.shape[0] != input.shape[0]:
        return loss(input, flat_weight, flat_bias, target, reduction).to(input.dtype)

    from minitorch.utils.checkpoint import checkpoint

    kind = "sum" if reduction == "mean" else reduction
    parts = [
        checkpoint(loss, x, flat_weight, flat_bias, y, kind, use_reentrant=False, preserve_rng_state=False)
        for x, y in zip(input.split(rows), target.split(rows), strict=True)
    ]
    if reduction == "none":
        return F.cat(parts).to(input.dtype)
    total = F.stack(parts).sum()
    if reduction == "mean":
        total = total / _count(target, outputs, weight, ignore_index)
    return total.to(input.dtype)


def _count(target: Tensor, outputs: tuple, weight: Tensor | None, ignore_index: int) -> Any:
    """Return what a mean of losses divides their sum by: the weights of the targets that count."""
    if target.is_floating_point():
        return target.numel() // outputs[0]
    counted = target != ignore_index
    if weight is None:
        return counted.sum()
    return (weight[F.where(counted, target, 0)] * counted).sum()
