"""Softmax over many classes in clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from minitorch.nn import functional as F
from minitorch.nn.modules.container import ModuleList, Sequential
from minitorch.nn.modules.linear import Linear
from minitorch.nn.modules.module import Module
from minitorch.ops import functions as operators
from minitorch.tensor.tensor import Tensor

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """A softmax whose rare classes are in clusters of smaller size (Grave et al., 2017).

    Parameters
    ----------
    in_features, n_classes : int
    cutoffs : sequence of int
        Where clusters begin; classes are sorted by falling frequency.
    div_value : float
        What the size of each next cluster's projection is divided by.
    head_bias : bool
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(cutoffs)
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or len(set(cutoffs)) != len(cutoffs)
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where "
                "each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, **options),
                    Linear(hidden, size, bias=False, **options),
                )
            )

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """Return the logarithms of the targets' probabilities, and the mean loss."""
        batched = target_.dim() == 1
        if input_.dim() != (2 if batched else 1) or target_.dim() > 1:
            raise RuntimeError(
                "Input and target should have the same size in the batch dimension: expected a 2D input with a 1D "
                f"target or a 1D input with a 0D target, got {input_.dim()}D and {target_.dim()}D"
            )
        if batched and input_.shape[0] != target_.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        x = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        if target.numel() and not 0 <= int(target.min()) <= int(target.max()) < self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{int(target.min())}, {int(target.max())}] were found. "
            )
        rows_of_cluster = operators.zeros_like(target)
        log_tail = operators.zeros([x.shape[0]], dtype=x.dtype, device=x.device)
        for i in range(self.n_clusters):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            logs = F.log_softmax(self.tail[i](x.index_select(0, rows)), dim=1)
            own = target.index_select(0, rows) - low
            log_tail = log_tail.index_add(0, rows, logs.gather(1, own.unsqueeze(1)).squeeze(1))
            rows_of_cluster = rows_of_cluster.index_fill(0, rows, self.shortlist_size + i)
        in_tail = target >= self.shortlist_size
        head_index = operators.where(in_tail, rows_of_cluster, target)
        log_head = F.log_softmax(self.head(x), dim=1)
        output = log_tail + log_head.gather(1, head_index.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i in range(self.n_clusters):
            cluster = F.log_softmax(self.tail[i](input), dim=1)
            parts.append(cluster + head[:, self.shortlist_size + i].unsqueeze(1))
        return operators.cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the logarithms of the probabilities of all classes."""
        return self._full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each row."""
        return self.log_prob(input).argmax(dim=1)
