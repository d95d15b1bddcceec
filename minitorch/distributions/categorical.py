"""Distributions over categories: one of them, one-hot vectors, counts."""

from __future__ import annotations

import math
from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.core.dtype import finfo, int64
from minitorch.core.size import Size
from minitorch.distributions import constraints
from minitorch.distributions.discrete import Binomial
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.parameters import CategoricalParameter
from minitorch.distributions.utils import broadcast_all, filled
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = ["Categorical", "Multinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough"]

_EITHER = {"probs": constraints.simplex, "logits": constraints.real_vector}


class Categorical(CategoricalParameter):
    """One of n categories, as its number.

    Parameters
    ----------
    probs : Tensor, shape (..., n), optional
        Probabilities, or what is proportional to them.
    logits : Tensor, shape (..., n), optional
        Their logarithms up to a constant; exactly one of the two is given.
    validate_args : bool, optional

    Examples
    --------
    >>> import minitorch
    >>> from minitorch.distributions import Categorical
    >>> Categorical(minitorch.tensor([1.0, 1.0, 2.0])).log_prob(minitorch.tensor(2)).exp()
    tensor(0.5000)
    """

    arg_constraints = _EITHER
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self._set_parameter(probs, logits), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """The numbers of the categories."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        """NaN: categories are no quantities."""
        return filled(self.probs, math.nan, self._extended_shape())

    @property
    def mode(self) -> Tensor:
        """The likeliest category."""
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        """NaN: categories are no quantities."""
        return filled(self.probs, math.nan, self._extended_shape())

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws, int64."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            draws = F.multinomial(rows, Size(sample_shape).numel(), True)
            return draws.mT.reshape(shape)

    def log_prob(self, value):
        """Return the logarithm of the probability."""
        self._validate_sample(value)
        value = value.to(int64)
        shape = broadcast_all(value, self.logits[..., 0])[0].shape
        logits = self.logits.expand((*shape, self._num_events))
        return logits.gather(-1, value.expand(shape).unsqueeze(-1)).squeeze(-1)

    def entropy(self):
        """Return the entropy."""
        finite = F.clamp(self.logits, min=finfo(self.logits.dtype).min)
        return -(finite * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return the numbers of all categories."""
        return self._along_first_dim(F.arange(self._num_events, dtype=int64, device=self._param.device), expand)


class _OfCategorical(Distribution):
    """A distribution that has the parameters of a categorical one, kept in ``_categorical``."""

    arg_constraints = _EITHER
    _categorical: Categorical

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)


class OneHotCategorical(_OfCategorical):
    """One of n categories, as a vector with a 1 at its place.

    Parameters
    ----------
    probs, logits : Tensor, shape (..., n), optional
        As of `Categorical`.
    validate_args : bool, optional
    """

    arg_constraints = _EITHER
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The probabilities."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The vector of the likeliest category."""
        return self._one_hot(self._categorical.mode)

    @property
    def variance(self) -> Tensor:
        """The variances of the components."""
        return self.probs * (1 - self.probs)

    def _one_hot(self, numbers: Tensor) -> Tensor:
        return F.one_hot(numbers, self._event_shape[0]).to(self._param.dtype)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws, of the type of the parameters."""
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value):
        """Return the logarithm of the probability."""
        self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self):
        """Return the entropy."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return the vectors of all categories."""
        size = self._event_shape[0]
        return self._along_first_dim(F.eye(size, dtype=self._param.dtype, device=self._param.device), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose draws have the gradient of the probabilities (Bengio et al., 2013).

    Parameters
    ----------
    probs, logits : Tensor, shape (..., n), optional
        As of `Categorical`.
    validate_args : bool, optional
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws with the gradient of the probabilities."""
        probs = self.probs
        return self.sample(sample_shape) + (probs - probs.detach())


class Multinomial(_OfCategorical):
    """How often each of n categories comes in a number of draws.

    Parameters
    ----------
    total_count : int
        How many draws.
    probs, logits : Tensor, shape (..., n), optional
        As of `Categorical`.
    validate_args : bool, optional

    Raises
    ------
    NotImplementedError
        If `total_count` is no int: one number is for all.
    """

    arg_constraints = _EITHER

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        self._binomial = Binomial(total_count, probs=self.probs, validate_args=False)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        """Counts that sum to at most the number of draws."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        """n p."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        """n p (1 - p), of each component."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws, of the type of the parameters."""
        draws = self._categorical.sample((self.total_count, *sample_shape))
        return F.one_hot(draws, self._event_shape[0]).sum(0).type_as(self.probs)

    def log_prob(self, value):
        """Return the logarithm of the probability."""
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        ways = F.lgamma(value.sum(-1) + 1) - F.lgamma(value + 1).sum(-1)
        # 0 log(0) for a category that cannot come, and does not
        logits = F.where((value == 0) & (logits == -math.inf), 0.0, logits)
        return ways + (logits * value).sum(-1)

    def entropy(self):
        """Return the entropy."""
        count = self.total_count
        counts = self._binomial.enumerate_support(expand=False)[1:]
        expected = (F.exp(self._binomial.log_prob(counts)) * F.lgamma(counts + 1)).sum((0, -1))
        return count * self._categorical.entropy() - math.lgamma(count + 1) + expected
