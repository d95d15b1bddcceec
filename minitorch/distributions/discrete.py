"""Distributions of counts: Bernoulli, binomial, geometric, negative binomial, Poisson."""

from __future__ import annotations

import math
from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.core.size import Size
from minitorch.distributions import constraints
from minitorch.distributions.distribution import all_true, as_text
from minitorch.distributions.exp_family import ExponentialFamily
from minitorch.distributions.gamma import Gamma
from minitorch.distributions.parameters import BinaryParameter
from minitorch.distributions.utils import broadcast_all, filled, lazy_property, tiny
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = ["Bernoulli", "Binomial", "Geometric", "NegativeBinomial", "Poisson"]

_EITHER = {"probs": constraints.unit_interval, "logits": constraints.real}


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Return the cross entropy of probabilities with those of logits, elementwise; both broadcast."""
    if tuple(logits.shape) != tuple(target.shape):
        logits, target = broadcast_all(logits, target)
    return F.binary_cross_entropy_with_logits(logits, target, reduction=0)


class Bernoulli(BinaryParameter, ExponentialFamily):
    """1 with a probability, else 0.

    Parameters
    ----------
    probs : Tensor or float, optional
        The probability of 1.
    logits : Tensor or float, optional
        Its log odds; exactly one of the two is given.
    validate_args : bool, optional

    Examples
    --------
    >>> import minitorch
    >>> from minitorch.distributions import Bernoulli
    >>> Bernoulli(logits=minitorch.zeros(2)).probs
    tensor([0.5000, 0.5000])
    """

    arg_constraints = _EITHER
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._set_parameter(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The probability."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The likelier value; NaN where both are as likely."""
        return F.where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs.dtype))

    @property
    def variance(self) -> Tensor:
        """p (1 - p)."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws."""
        with no_grad():
            return F.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        """Return the logarithm of the probability."""
        self._validate_sample(value)
        return -cross_entropy(self.logits, value)

    def entropy(self):
        """Return the entropy."""
        return cross_entropy(self.logits, self.probs)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return 0 and 1."""
        return self._along_first_dim(F.arange(2, dtype=self._param.dtype, device=self._param.device), expand)

    @property
    def _natural_params(self):
        return (F.logit(self.probs),)

    def _log_normalizer(self, x):
        return F.log1p(F.exp(x))


class Geometric(BinaryParameter):
    """The number of failures before the first success.

    Parameters
    ----------
    probs : Tensor or float, optional
        The probability of success, positive.
    logits : Tensor or float, optional
        Its log odds; exactly one of the two is given.
    validate_args : bool, optional
    """

    arg_constraints = _EITHER
    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._set_parameter(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not all_true(self.probs > 0):
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of distribution "
                f"{self!r} to be positive but found invalid values:\n{as_text(self.probs)}"
            )

    @property
    def mean(self) -> Tensor:
        """(1 - p) / p."""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        """Zeros."""
        return F.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        """(1 - p) / p ** 2."""
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            u = F.uniform(filled(self.probs, 0.0, shape), tiny(self.probs), 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        """Return the logarithm of the probability."""
        self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        # 0 log(0) for a sure success at the first trial
        failing = F.where((probs == 1) & (value == 0), 0.0, probs)
        return value * (-failing).log1p() + self.probs.log()

    def entropy(self):
        """Return the entropy."""
        return cross_entropy(self.logits, self.probs) / self.probs


class Binomial(BinaryParameter):
    """The number of successes among trials.

    Parameters
    ----------
    total_count : Tensor or int
        How many trials.
    probs : Tensor or float, optional
        The probability of success.
    logits : Tensor or float, optional
        Its log odds; exactly one of the two is given.
    validate_args : bool, optional
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, **_EITHER}
    has_enumerate_support = True

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        (self.total_count,) = self._set_parameter(probs, logits, total_count)
        super().__init__(self._param.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """The integers up to the number of trials."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        """n p."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        """The largest of the likeliest values."""
        return F.minimum(((self.total_count + 1) * self.probs).floor(), self.total_count)

    @property
    def variance(self) -> Tensor:
        """n p (1 - p)."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return F.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        """Return the logarithm of the probability."""
        self._validate_sample(value)
        count, logits = self.total_count, self.logits
        ways = F.lgamma(count + 1) - F.lgamma(value + 1) - F.lgamma(count - value + 1)
        # max(logits, 0) with the slope 1/2 at 0
        positive = (F.clamp(logits, min=0) + logits - F.clamp(logits, max=0)) / 2
        return ways + value * logits - count * positive - count * F.log1p(F.exp(-logits.abs()))

    def _one_count(self, what: str) -> int:
        most = int(self.total_count.max())
        if not self.total_count.min() == most:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{what}`.")
        return most

    def entropy(self):
        """Return the entropy, a sum over all values; one number of trials for all."""
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(F.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return 0 to n; one number of trials for all."""
        most = self._one_count("enumerate_support")
        return self._along_first_dim(F.arange(1 + most, dtype=self._param.dtype, device=self._param.device), expand)


class NegativeBinomial(BinaryParameter):
    """The number of successes before a number of failures.

    Parameters
    ----------
    total_count : Tensor or float
        The number of failures, which need not be whole.
    probs : Tensor or float, optional
        The probability of success, below 1.
    logits : Tensor or float, optional
        Its log odds; exactly one of the two is given.
    validate_args : bool, optional
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        (self.total_count,) = self._set_parameter(probs, logits, total_count)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """r times the odds."""
        return self.total_count * F.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        """The largest of the likeliest values."""
        return F.clamp(((self.total_count - 1) * self.logits.exp()).floor(), min=0.0)

    @property
    def variance(self) -> Tensor:
        """The mean over the probability of failure."""
        return self.mean / F.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        # of the rates of the Poisson distributions whose mixture this is
        return Gamma(self.total_count, F.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Return Poisson draws whose rates are gamma draws."""
        with no_grad():
            return F.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value):
        """Return the logarithm of the probability."""
        self._validate_sample(value)
        count = self.total_count
        power = count * F.log_sigmoid(-self.logits) + value * F.log_sigmoid(self.logits)
        ways = F.lgamma(count + value) - F.lgamma(1.0 + value) - F.lgamma(count)
        return power + F.where(count + value == 0.0, 0.0, ways)


class Poisson(ExponentialFamily):
    """The Poisson distribution.

    Parameters
    ----------
    rate : Tensor or float
        The mean.
    validate_args : bool, optional
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The rate."""
        return self.rate

    @property
    def mode(self) -> Tensor:
        """The rate, rounded down."""
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        """The rate."""
        return self.rate

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws."""
        with no_grad():
            return F.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        """Return the logarithm of the probability."""
        self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return F.xlogy(value, rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self):
        return (F.log(self.rate),)

    def _log_normalizer(self, x):
        return F.exp(x)
