"""Distributions that are transformed ones with closed forms for their moments."""

from __future__ import annotations

import math
from typing import Any

from minitorch.distributions import constraints
from minitorch.distributions.derived import TransformedDistribution
from minitorch.distributions.gamma import Exponential, Gamma
from minitorch.distributions.location_scale import Cauchy, Normal, Uniform
from minitorch.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    StickBreakingTransform,
)
from minitorch.distributions.utils import broadcast_all, eps, euler_constant, filled, tiny
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = [
    "Gumbel", "HalfCauchy", "HalfNormal", "InverseGamma", "Kumaraswamy", "LogNormal", "LogisticNormal", "Pareto", "Weibull",
]  # fmt: skip

_LOC_SCALE = {"loc": constraints.real, "scale": constraints.positive}


class _OfNormal(TransformedDistribution):
    """A transformed normal distribution: its parameters are the normal one's."""

    has_rsample = True  # type: ignore[assignment]
    arg_constraints = _LOC_SCALE

    @property
    def loc(self) -> Tensor:
        """The mean of the normal variable."""
        return self._normal.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the normal variable."""
        return self._normal.scale

    @property
    def _normal(self) -> Any:
        return getattr(self.base_dist, "base_dist", self.base_dist)


class LogNormal(_OfNormal):
    """The distribution of the exponential of a normal variable.

    Parameters
    ----------
    loc, scale : Tensor or float
        The normal variable's mean and standard deviation.
    validate_args : bool, optional
    """

    arg_constraints = _LOC_SCALE
    support = constraints.positive  # type: ignore[assignment]

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        """The mode."""
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        """The variance."""
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self):
        """Return the entropy."""
        return self._normal.entropy() + self.loc


class LogisticNormal(_OfNormal):
    """A distribution of probabilities: stick breaking of n normal variables to n + 1 numbers that sum to 1.

    Parameters
    ----------
    loc, scale : Tensor or float
        The normal variables' means and standard deviations.
    validate_args : bool, optional
    """

    arg_constraints = _LOC_SCALE
    support = constraints.simplex  # type: ignore[assignment]

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)


class _Half(TransformedDistribution):
    """The absolute value of a variable that is symmetric about 0."""

    has_rsample = True  # type: ignore[assignment]
    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative  # type: ignore[assignment]

    @property
    def scale(self) -> Tensor:
        """The scale of the symmetric variable."""
        return self.base_dist.scale  # type: ignore[attr-defined]

    @property
    def mode(self) -> Tensor:
        """Zeros."""
        return F.zeros_like(self.scale)

    def log_prob(self, value):
        """Return the logarithm of the density."""
        self._validate_sample(value)
        return F.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        """Return the distribution function."""
        self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        """Return quantiles."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        """Return the entropy."""
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """The distribution of the absolute value of a normal variable of mean 0.

    Parameters
    ----------
    scale : Tensor or float
        The normal variable's standard deviation.
    validate_args : bool, optional
    """

    arg_constraints = {"scale": constraints.positive}

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.scale.pow(2) * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """The distribution of the absolute value of a Cauchy variable of median 0.

    Parameters
    ----------
    scale : Tensor or float
        The Cauchy variable's scale.
    validate_args : bool, optional
    """

    arg_constraints = {"scale": constraints.positive}

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """Infinite."""
        return filled(self.scale, math.inf, self._extended_shape())

    @property
    def variance(self) -> Tensor:
        """Infinite."""
        return self.base_dist.variance


class Gumbel(TransformedDistribution):
    """The Gumbel distribution: of the largest of many variables.

    Parameters
    ----------
    loc, scale : Tensor or float
    validate_args : bool, optional
    """

    arg_constraints = _LOC_SCALE
    support = constraints.real  # type: ignore[assignment]

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        base = Uniform(
            filled(self.loc, tiny(self.loc)), filled(self.loc, 1 - eps(self.loc)), validate_args=validate_args
        )
        # -log(-log(u)), moved and scaled
        minus_log = [ExpTransform().inv, AffineTransform(loc=0, scale=-filled(self.scale, 1.0))]
        last = AffineTransform(loc=self.loc, scale=-self.scale)
        super().__init__(base, [*minus_log, ExpTransform().inv, last], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        """The location."""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.stddev.pow(2)

    def log_prob(self, value):
        """Return the logarithm of the density."""
        self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self):
        """Return the entropy."""
        return self.scale.log() + (1 + euler_constant)


class InverseGamma(TransformedDistribution):
    """The distribution of the reciprocal of a gamma variable.

    Parameters
    ----------
    concentration, rate : Tensor or float
        The gamma variable's.
    validate_args : bool, optional
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive  # type: ignore[assignment]
    has_rsample = True  # type: ignore[assignment]

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(filled(base.rate, -1.0, ())), validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        """The gamma variable's concentration."""
        return self.base_dist.concentration  # type: ignore[attr-defined]

    @property
    def rate(self) -> Tensor:
        """The gamma variable's rate."""
        return self.base_dist.rate  # type: ignore[attr-defined]

    @property
    def mean(self) -> Tensor:
        """Infinite for concentrations up to 1."""
        return F.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        """The mode."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """Infinite for concentrations up to 2."""
        finite = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return F.where(self.concentration > 2, finite, math.inf)

    def entropy(self):
        """Return the entropy."""
        concentration = self.concentration
        return concentration + self.rate.log() + concentration.lgamma() - (1 + concentration) * concentration.digamma()


class Kumaraswamy(TransformedDistribution):
    """Kumaraswamy's distribution on [0, 1], much like the beta distribution.

    Parameters
    ----------
    concentration1, concentration0 : Tensor or float
        Large values of the first one move the mass towards 1, of the second one towards 0.
    validate_args : bool, optional
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval  # type: ignore[assignment]
    has_rsample = True  # type: ignore[assignment]

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(F.zeros_like(self.concentration0), F.ones_like(self.concentration0), validate_args=validate_args)
        transforms = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        """Return the mean of the n-th power: b B(1 + n / a, b)."""
        first = 1 + n / self.concentration1
        b = self.concentration0
        return b * F.exp(first.lgamma() + b.lgamma() - (first + b).lgamma())

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """NaN where a concentration is below 1."""
        a, b = self.concentration1, self.concentration0
        log_mode = ((a - 1) / (a * b - 1)).log() / a
        return F.where((a < 1) | (b < 1), math.nan, log_mode.exp())

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self._moment(2) - self.mean.pow(2)

    def entropy(self):
        """Return the entropy."""
        a, b = self.concentration1, self.concentration0
        harmonic = F.digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()


class Pareto(TransformedDistribution):
    """The Pareto distribution.

    Parameters
    ----------
    scale : Tensor or float
        The smallest value.
    alpha : Tensor or float
        The shape; the density falls as ``x ** -(alpha + 1)``.
    validate_args : bool, optional
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(loc=0, scale=self.scale)], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """From the scale on."""
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        """Infinite for shapes up to 1."""
        a = F.clamp(self.alpha, min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        """The scale."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """Infinite for shapes up to 2."""
        a = F.clamp(self.alpha, min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self):
        """Return the entropy."""
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedDistribution):
    """The Weibull distribution.

    Parameters
    ----------
    scale : Tensor or float
    concentration : Tensor or float
        The shape; 1 gives the exponential distribution.
    validate_args : bool, optional
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive  # type: ignore[assignment]

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(F.ones_like(self.scale), validate_args=validate_args)
        transforms = [
            PowerTransform(exponent=self.concentration.reciprocal()),
            AffineTransform(loc=0, scale=self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.scale * F.exp(F.lgamma(1 + self.concentration.reciprocal()))

    @property
    def mode(self) -> Tensor:
        """The mode."""
        k = self.concentration
        return self.scale * ((k - 1) / k) ** k.reciprocal()

    @property
    def variance(self) -> Tensor:
        """The variance."""
        inverse = self.concentration.reciprocal()
        second, first = F.exp(F.lgamma(1 + 2 * inverse)), F.exp(2 * F.lgamma(1 + inverse))
        return self.scale.pow(2) * (second - first)

    def entropy(self):
        """Return the entropy."""
        inverse = self.concentration.reciprocal()
        return euler_constant * (1 - inverse) + F.log(self.scale * inverse) + 1
