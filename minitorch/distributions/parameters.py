"""Distributions given by probabilities or by logits: each is computed from the other when it is first read."""

from __future__ import annotations

from typing import Any

from minitorch.core.size import Size
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits
from minitorch.tensor.tensor import Tensor


def check_one_given(probs: Any, logits: Any) -> None:
    """Raise ValueError unless exactly one of the two is there."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class _Either(Distribution):
    """What both kinds share: which of the two was given."""

    _given: str

    @property
    def _param(self) -> Tensor:
        return self.__dict__[self._given]

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._param.shape

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)


class BinaryParameter(_Either):
    """A probability of success, or its log odds, for each element."""

    def _set_parameter(self, probs: Any, logits: Any, *others: Any) -> tuple[Tensor, ...]:
        """Broadcast the parameter that is given with others, keep it, and return the others."""
        check_one_given(probs, logits)
        self._given = "logits" if probs is None else "probs"
        *rest, value = broadcast_all(*others, logits if probs is None else probs)
        setattr(self, self._given, value)
        return tuple(other.type_as(value) for other in rest)

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities of success."""
        return logits_to_probs(self.logits, is_binary=True)


class CategoricalParameter(_Either):
    """Probabilities along the last dimension, or their logarithms up to a constant; both are kept normalised."""

    def _set_parameter(self, probs: Any, logits: Any) -> Size:
        """Keep the parameter that is given, and return its batch shape."""
        check_one_given(probs, logits)
        self._given = "logits" if probs is None else "probs"
        value = logits if probs is None else probs
        if value.dim() < 1:
            raise ValueError(f"`{self._given}` parameter must be at least one-dimensional.")
        if probs is None:
            self.logits = value - value.logsumexp(-1, keepdim=True)
        else:
            self.probs = value / value.sum(-1, keepdim=True)
        self._num_events = value.shape[-1]
        return value.shape[:-1]

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits)
