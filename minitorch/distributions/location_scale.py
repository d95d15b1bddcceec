"""Distributions of a location and a scale: normal, Laplace, Cauchy, Student's t, uniform, generalized Pareto."""

from __future__ import annotations

import math
from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.core.size import Size
from minitorch.distributions import constraints
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.exp_family import ExponentialFamily
from minitorch.distributions.gamma import Chi2
from minitorch.distributions.utils import broadcast_all, eps, filled, standard_normal, uniforms
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = ["Cauchy", "GeneralizedPareto", "Laplace", "Normal", "StudentT", "Uniform"]

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class _LocationScale(Distribution):
    """A standard distribution, multiplied by `scale` and moved by `loc`; both broadcast."""

    has_rsample = True
    support = constraints.real
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The location."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The location."""
        return self.loc

    def _standardized(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return (value - self.loc) / self.scale


class Normal(_LocationScale, ExponentialFamily):
    """The normal distribution.

    Parameters
    ----------
    loc : Tensor or float
        The mean.
    scale : Tensor or float
        The standard deviation, positive.
    validate_args : bool, optional

    Examples
    --------
    >>> import minitorch
    >>> from minitorch.distributions import Normal
    >>> Normal(0.0, 1.0).log_prob(minitorch.tensor(0.0))
    tensor(-0.9189)
    """

    _mean_carrier_measure = 0

    @property
    def stddev(self) -> Tensor:
        """The scale."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The square of the scale."""
        return self.scale.pow(2)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws that are not differentiable."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return F.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return ``loc + scale * z`` with standard normal z."""
        return self.loc + standard_normal(self._extended_shape(sample_shape), self.loc) * self.scale

    def log_prob(self, value):
        """Return the logarithm of the density."""
        self._validate_sample(value)
        return -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - _HALF_LOG_2PI

    def cdf(self, value):
        """Return the distribution function."""
        return 0.5 * (1 + F.erf(self._standardized(value) / math.sqrt(2)))

    def icdf(self, value):
        """Return quantiles."""
        return self.loc + self.scale * F.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        """Return the entropy."""
        return 0.5 + _HALF_LOG_2PI + self.scale.log()

    @property
    def _natural_params(self):
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x, y):
        return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()


class Laplace(_LocationScale):
    """The Laplace distribution, of density ``exp(-|x - loc| / scale) / (2 scale)``.

    Parameters
    ----------
    loc, scale : Tensor or float
    validate_args : bool, optional
    """

    @property
    def variance(self) -> Tensor:
        """Twice the square of the scale."""
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        """The root of the variance."""
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return quantiles of uniform draws."""
        # from the open interval: -1 would be infinity
        u = F.uniform(filled(self.loc, 0.0, self._extended_shape(sample_shape)), eps(self.loc) - 1, 1)
        return self.loc - self.scale * u.sign() * F.log1p(-u.abs())

    def log_prob(self, value):
        """Return the logarithm of the density."""
        self._validate_sample(value)
        return -F.log(2 * self.scale) - F.abs(value - self.loc) / self.scale

    def cdf(self, value):
        """Return the distribution function."""
        z = self._standardized(value)
        return 0.5 - 0.5 * z.sign() * F.expm1(-z.abs())

    def icdf(self, value):
        """Return quantiles."""
        centred = value - 0.5
        return self.loc - self.scale * centred.sign() * F.log1p(-2 * centred.abs())

    def entropy(self):
        """Return the entropy."""
        return 1 + F.log(2 * self.scale)


class Cauchy(_LocationScale):
    """The Cauchy distribution; it has no mean.

    Parameters
    ----------
    loc : Tensor or float
        The median.
    scale : Tensor or float
        Half the width at half the maximum.
    validate_args : bool, optional
    """

    @property
    def mean(self) -> Tensor:
        """NaN: the integral does not exist."""
        return filled(self.loc, math.nan, self._extended_shape())

    @property
    def variance(self) -> Tensor:
        """Infinite."""
        return filled(self.loc, math.inf, self._extended_shape())

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return ``loc + scale * z`` with z of the standard distribution."""
        z = F.cauchy(filled(self.loc, 0.0, self._extended_shape(sample_shape)))
        return self.loc + z * self.scale

    def log_prob(self, value):
        """Return the logarithm of the density."""
        return -math.log(math.pi) - self.scale.log() - self._standardized(value).square().log1p()

    def cdf(self, value):
        """Return the distribution function."""
        return F.atan(self._standardized(value)) / math.pi + 0.5

    def icdf(self, value):
        """Return quantiles."""
        return F.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        """Return the entropy."""
        return math.log(4 * math.pi) + self.scale.log()


class StudentT(_LocationScale):
    """Student's t distribution.

    Parameters
    ----------
    df : Tensor or float
        The degrees of freedom.
    loc, scale : Tensor or float
    validate_args : bool, optional
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df, validate_args=False)
        Distribution.__init__(self, self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The location; NaN for at most one degree of freedom."""
        return F.where(self.df > 1, self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        """Infinite for at most two degrees of freedom, NaN for at most one."""
        df = F.where(self.df > 2, self.df, 3.0)
        finite = self.scale.pow(2) * df / (df - 2)
        return F.where(self.df > 2, finite, F.where(self.df > 1, filled(self.df, math.inf), math.nan))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return normal draws, each over the root of a chi-squared one that is divided by its degrees of freedom."""
        z = standard_normal(self._extended_shape(sample_shape), self.df)
        return self.loc + self.scale * (z * F.rsqrt(self._chi2.rsample(sample_shape) / self.df))

    def log_prob(self, value):
        """Return the logarithm of the density."""
        y = self._standardized(value)
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        constant = self.scale.log() + 0.5 * (self.df.log() + math.log(math.pi)) + half.lgamma() - more.lgamma()
        return -more * F.log1p(y**2 / self.df) - constant

    def entropy(self):
        """Return the entropy."""
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + log_beta


class Uniform(Distribution):
    """The uniform distribution on [low, high).

    Parameters
    ----------
    low, high : Tensor or float
        The ends, `low` below `high`.
    validate_args : bool, optional
    """

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @property
    def arg_constraints(self):
        """Each end bounds the other one."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """The interval."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        """The middle."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        """NaN: all values are as likely."""
        return math.nan * self.high

    @property
    def stddev(self) -> Tensor:
        """The width over the root of 12."""
        return (self.high - self.low) / math.sqrt(12)

    @property
    def variance(self) -> Tensor:
        """A twelfth of the square of the width."""
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return ``low + (high - low) * u``."""
        return self.low + uniforms(self._extended_shape(sample_shape), self.low) * (self.high - self.low)

    def log_prob(self, value):
        """Return the logarithm of the density; minus infinity at `high`."""
        self._validate_sample(value)
        inside = (self.low <= value) & (self.high > value)
        return F.log(inside.type_as(self.low)) - F.log(self.high - self.low)

    def cdf(self, value):
        """Return the distribution function."""
        self._validate_sample(value)
        return F.clamp((value - self.low) / (self.high - self.low), min=0, max=1)

    def icdf(self, value):
        """Return quantiles."""
        return value * (self.high - self.low) + self.low

    def entropy(self):
        """Return the entropy."""
        return F.log(self.high - self.low)


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution: of excesses over a threshold.

    Parameters
    ----------
    loc : Tensor or float
        The smallest value.
    scale : Tensor or float
    concentration : Tensor or float
        The shape: negative ones bound the support above, 0 gives the exponential distribution, positive ones heavy tails.
    validate_args : bool, optional
    """

    has_rsample = True
    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """From `loc` to infinity, or to where a negative shape ends it."""
        negative = self.concentration < 0
        width = self.scale / F.where(negative, self.concentration, -1.0)
        return constraints.interval(self.loc, F.where(negative, self.loc - width, math.inf))

    def _shape(self) -> tuple[Tensor, Tensor]:
        """Return where the distribution is the exponential one, and shapes that can be divided by."""
        exponential = F.isclose(self.concentration, F.zeros_like(self.concentration))
        return exponential, F.where(exponential, 1.0, self.concentration)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return quantiles of uniform draws."""
        return self.icdf(uniforms(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value):
        """Return the logarithm of the density."""
        self._validate_sample(value)
        z = (value - self.loc) / self.scale
        exponential, shape = self._shape()
        power = 1 / shape + 1
        # A shape of -1 is the uniform distribution: its density does not end in log(0) * 0.
        heavy = F.where(power == 0, 0.0, power * F.log1p(shape * z))
        return -self.scale.log() - F.where(exponential, z, heavy)

    def log_survival_function(self, value):
        """Return the logarithm of the probability of more than `value`."""
        self._validate_sample(value)
        z = (value - self.loc) / self.scale
        exponential, shape = self._shape()
        return F.where(exponential, -z, -F.log1p(shape * z) / shape)

    def log_cdf(self, value):
        """Return the logarithm of the distribution function."""
        return F.log1p(-F.exp(self.log_survival_function(value)))

    def cdf(self, value):
        """Return the distribution function."""
        return F.exp(self.log_cdf(value))

    def icdf(self, value):
        """Return quantiles."""
        exponential, shape = self._shape()
        log_survival = F.log1p(-value)
        heavy = self.scale / shape * F.expm1(-shape * log_survival)
        return self.loc + F.where(exponential, -self.scale * log_survival, heavy)

    @property
    def mean(self) -> Tensor:
        """NaN for shapes from 1 on."""
        exists = self.concentration < 1
        return F.where(exists, self.loc + self.scale / (1 - F.where(exists, self.concentration, 0.5)), math.nan)

    @property
    def variance(self) -> Tensor:
        """NaN for shapes from 1/2 on."""
        exists = self.concentration < 0.5
        shape = F.where(exists, self.concentration, 0.25)
        return F.where(exists, self.scale**2 / ((1 - shape) ** 2 * (1 - 2 * shape)), math.nan)

    @property
    def mode(self) -> Tensor:
        """The smallest value."""
        return self.loc

    def entropy(self):
        """Return the entropy."""
        return self.scale.log() + self.concentration + 1
