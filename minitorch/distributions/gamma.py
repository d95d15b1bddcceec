"""The gamma family: gamma, chi-squared, exponential, beta, Dirichlet, Fisher and Snedecor's F."""

from __future__ import annotations

import math
from typing import Any

from minitorch.core.size import Size
from minitorch.distributions import constraints
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.exp_family import ExponentialFamily
from minitorch.distributions.utils import broadcast_all, filled, is_number, tiny
from minitorch.ops import functions as F
from minitorch.tensor.creation import tensor
from minitorch.tensor.tensor import Tensor

__all__ = ["Beta", "Chi2", "Dirichlet", "Exponential", "FisherSnedecor", "Gamma"]


def _at_least(value: Tensor, least: float) -> Tensor:
    """Return a value raised to a lower bound; its gradient is that of the value it had."""
    return value + (F.clamp(value, min=least) - value).detach()


class Gamma(ExponentialFamily):
    """The gamma distribution, of density proportional to ``x ** (concentration - 1) * exp(-rate * x)``.

    Parameters
    ----------
    concentration : Tensor or float
        The shape.
    rate : Tensor or float
        One over the scale.
    validate_args : bool, optional
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The concentration over the rate."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        """0 for concentrations up to 1."""
        return F.clamp((self.concentration - 1) / self.rate, min=0)

    @property
    def variance(self) -> Tensor:
        """The concentration over the square of the rate."""
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws; their gradient in the concentration is implicit."""
        shape = self._extended_shape(sample_shape)
        draws = F._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        return _at_least(draws, tiny(draws))

    def log_prob(self, value):
        """Return the logarithm of the density."""
        value = _as_tensor(value, self.rate)
        self._validate_sample(value)
        return (
            F.xlogy(self.concentration, self.rate)
            + F.xlogy(self.concentration - 1, value)
            - self.rate * value
            - self.concentration.lgamma()
        )

    def cdf(self, value):
        """Return the distribution function."""
        self._validate_sample(value)
        return F.igamma(self.concentration, self.rate * value)

    def entropy(self):
        """Return the entropy."""
        concentration = self.concentration
        return (
            concentration - self.rate.log() + concentration.lgamma() + (1.0 - concentration) * concentration.digamma()
        )

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return F.lgamma(x + 1) + (x + 1) * F.log(-y.reciprocal())


def _as_tensor(value: Any, like: Tensor) -> Any:
    return tensor(value, dtype=like.dtype, device=like.device) if is_number(value) else value


class Chi2(Gamma):
    """The chi-squared distribution: of the sum of `df` squared standard normals.

    Parameters
    ----------
    df : Tensor or float
        The degrees of freedom.
    validate_args : bool, optional
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2


class Exponential(ExponentialFamily):
    """The exponential distribution.

    Parameters
    ----------
    rate : Tensor or float
        One over the mean.
    validate_args : bool, optional
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """One over the rate."""
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        """Zeros."""
        return F.zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        """One over the rate."""
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        """One over the square of the rate."""
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws of rate 1, over the rate."""
        return F.exponential(filled(self.rate, 0.0, self._extended_shape(sample_shape))) / self.rate

    def log_prob(self, value):
        """Return the logarithm of the density."""
        self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        """Return the distribution function."""
        self._validate_sample(value)
        return 1 - F.exp(-self.rate * value)

    def icdf(self, value):
        """Return quantiles."""
        return -F.log1p(-value) / self.rate

    def entropy(self):
        """Return the entropy."""
        return 1.0 - self.rate.log()

    @property
    def _natural_params(self):
        return (-self.rate,)

    def _log_normalizer(self, x):
        return -F.log(-x)


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution, of probabilities that sum to 1 along the last dimension.

    Parameters
    ----------
    concentration : Tensor, shape (..., n)
    validate_args : bool, optional

    Raises
    ------
    ValueError
        If `concentration` has no dimension.
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws; their gradient is implicit."""
        return F._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        """Return the logarithm of the density."""
        self._validate_sample(value)
        concentration = self.concentration
        return (
            F.xlogy(concentration - 1.0, value).sum(-1)
            + concentration.sum(-1).lgamma()
            - concentration.lgamma().sum(-1)
        )

    @property
    def mean(self) -> Tensor:
        """The concentrations over their sum."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        """Where all concentrations are below 1 each corner has infinite density, and the first one is returned."""
        more = F.clamp(self.concentration - 1, min=0.0)
        corner = (F.arange(more.shape[-1], device=more.device) == 0).to(more.dtype)
        return F.where((self.concentration < 1).all(-1, keepdim=True), corner, more / more.sum(-1, True))

    @property
    def variance(self) -> Tensor:
        """The variances of the components."""
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self):
        """Return the entropy."""
        concentration, size = self.concentration, self.concentration.shape[-1]
        total = concentration.sum(-1)
        return (
            concentration.lgamma().sum(-1)
            - total.lgamma()
            - (size - total) * total.digamma()
            - ((concentration - 1.0) * concentration.digamma()).sum(-1)
        )

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()


class Beta(ExponentialFamily):
    """The beta distribution on [0, 1]: the first component of a Dirichlet distribution of two.

    Parameters
    ----------
    concentration1, concentration0 : Tensor or float
        Large values of the first one move the mass towards 1, of the second one towards 0.
    validate_args : bool, optional
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        both = F.stack(list(broadcast_all(concentration1, concentration0)), -1)
        self._dirichlet = Dirichlet(both, validate_args=False)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    @property
    def concentration1(self) -> Tensor:
        """The first concentration."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """The second concentration."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        """The first concentration over the sum."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        """The Dirichlet's."""
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        """The variance."""
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws; their gradient is implicit."""
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value):
        """Return the logarithm of the density."""
        self._validate_sample(value)
        return self._dirichlet.log_prob(F.stack([value, 1.0 - value], -1))

    def entropy(self):
        """Return the entropy."""
        return self._dirichlet.entropy()

    @property
    def _natural_params(self):
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x, y):
        return F.lgamma(x) + F.lgamma(y) - F.lgamma(x + y)


class FisherSnedecor(Distribution):
    """Fisher and Snedecor's F distribution: of the ratio of two chi-squared variables over their degrees of freedom.

    Parameters
    ----------
    df1, df2 : Tensor or float
        The degrees of freedom.
    validate_args : bool, optional
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1, validate_args=False)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2, validate_args=False)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """NaN for `df2` up to 2."""
        df2 = F.where(self.df2 > 2, self.df2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        """NaN for `df1` up to 2."""
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return F.where(self.df1 > 2, mode, math.nan)

    @property
    def variance(self) -> Tensor:
        """NaN for `df2` up to 4."""
        df2 = F.where(self.df2 > 4, self.df2, math.nan)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return ratios of gamma draws."""
        shape = self._extended_shape(sample_shape)
        above = self._gamma1.rsample(sample_shape).view(shape)
        below = self._gamma2.rsample(sample_shape).view(shape)
        ratio = above / _at_least(below, tiny(below))
        return _at_least(ratio, tiny(ratio))

    def log_prob(self, value):
        """Return the logarithm of the density."""
        self._validate_sample(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        constant = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        slope = half1 * ratio.log() + (half1 - 1) * F.log(value)
        return constant + slope - (half1 + half2) * F.log1p(ratio * value)
