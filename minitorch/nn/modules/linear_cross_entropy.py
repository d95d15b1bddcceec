"""A linear layer and the cross entropy of its outputs, as one module."""

from __future__ import annotations

import math
from typing import Any

from minitorch.nn import functional as F
from minitorch.nn.functional.chunked_cross_entropy import LinearCrossEntropyOptions
from minitorch.nn.modules.linear import Linear
from minitorch.nn.modules.loss import _WeightedLoss
from minitorch.tensor.tensor import Tensor

__all__ = ["LinearCrossEntropyLoss", "LinearCrossEntropyOptions"]


class LinearCrossEntropyLoss(_WeightedLoss):
    """The cross entropy of targets and the softmax of a learned linear function of the input.

    Parameters
    ----------
    in_features, num_classes : int
    out_features : tuple of int
        The shape of the targets of one example: a class is told for each element.
    bias : bool
        Whether the linear function adds one.
    device, dtype : optional
        Of the linear function.
    reduction : {"mean", "sum", "none"}
    weight : Tensor, optional, shape (num_classes,)
    ignore_index : int, optional
        A class number that does not count, -100 if left out.
    label_smoothing : float
        The share of the uniform distribution mixed into the target.
    options : LinearCrossEntropyOptions, optional
        Go through the batch in chunks, with less memory; else at once.

    Raises
    ------
    RuntimeError
        If `weight` has another shape, or `label_smoothing` is not in [0, 1].

    Examples
    --------
    >>> loss = LinearCrossEntropyLoss(5, 10, out_features=(4, 3))
    >>> loss(minitorch.randn(2, 5), minitorch.zeros(2, 4, 3, dtype=minitorch.int64)).shape
    torch.Size([])
    """

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(
                f"LinearCrossEntropyLoss: expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}"
            )
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(
                f"LinearCrossEntropyLoss: expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            )
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        # One row for each class and element, as Linear has no more dimensions.
        self.linear = Linear(in_features, num_classes * math.prod(out_features), bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss; see `functional.linear_cross_entropy`."""
        outputs = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input, self.linear.weight.reshape(*outputs, -1), target,
            linear_bias=None if bias is None else bias.reshape(outputs), weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Return the options as text."""
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
