"""The continuous Bernoulli distribution (Loaiza-Ganem & Cunningham, 2019)."""

from __future__ import annotations

import math
from typing import Any

from minitorch.core.size import Size
from minitorch.distributions import constraints
from minitorch.distributions.discrete import cross_entropy
from minitorch.distributions.distribution import all_true, as_text
from minitorch.distributions.exp_family import ExponentialFamily
from minitorch.distributions.parameters import BinaryParameter
from minitorch.distributions.utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs, uniforms
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(BinaryParameter, ExponentialFamily):
    """A distribution on [0, 1] of density proportional to ``probs ** x * (1 - probs) ** (1 - x)``.

    Parameters
    ----------
    probs : Tensor or float, optional
        Not the mean.  It is kept a little away from 0 and 1.
    logits : Tensor or float, optional
        Its log odds; exactly one of the two is given.
    lims : tuple of float
        Between these values of `probs` a Taylor series about 1/2 is used, where the closed forms divide 0 by 0.
    validate_args : bool, optional
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._set_parameter(probs, logits)
        if probs is not None:
            # before they are clamped, when they always are probabilities
            check = self._validate_args if validate_args is None else validate_args
            if check and not all_true(constraints.unit_interval.check(self.probs)):
                raise ValueError(f"The parameter probs has invalid values:\n{as_text(self.probs)}")
            self.__dict__["probs"] = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """The parameter, as a probability."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _stable(self) -> Tensor:
        """Return where the closed forms are used."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """Return probabilities for the closed forms, harmless where these are not used."""
        return F.where(self._stable(), self.probs, self._lims[0])

    def _log_norm(self) -> Tensor:
        """Return log(2 atanh(1 - 2 p) / (1 - 2 p)), which the density is multiplied by."""
        p = self._cut_probs()
        low = F.where(p <= 0.5, p, 0.0)
        high = F.where(p >= 0.5, p, 1.0)
        width = F.where(p <= 0.5, F.log1p(-2.0 * low), F.log(2.0 * high - 1.0))
        closed = F.log(F.abs(F.log1p(-p) - F.log(p))) - width
        x = F.pow(self.probs - 0.5, 2)
        return F.where(self._stable(), closed, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        p = self._cut_probs()
        closed = p / (2.0 * p - 1.0) + 1.0 / (F.log1p(-p) - F.log(p))
        x = self.probs - 0.5
        return F.where(self._stable(), closed, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * F.pow(x, 2)) * x)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        p = self._cut_probs()
        closed = p * (p - 1.0) / F.pow(1.0 - 2.0 * p, 2) + 1.0 / F.pow(F.log1p(-p) - F.log(p), 2)
        x = F.pow(self.probs - 0.5, 2)
        return F.where(self._stable(), closed, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return quantiles of uniform draws."""
        return self.icdf(uniforms(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value):
        """Return the logarithm of the density."""
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -cross_entropy(logits, value) + self._log_norm()

    def cdf(self, value):
        """Return the distribution function."""
        self._validate_sample(value)
        p = self._cut_probs()
        closed = (F.pow(p, value) * F.pow(1.0 - p, 1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = F.where(self._stable(), closed, value)
        return F.where(value <= 0.0, 0.0, F.where(value >= 1.0, 1.0, inside))

    def icdf(self, value):
        """Return quantiles."""
        p = self._cut_probs()
        closed = (F.log1p(-p + value * (2.0 * p - 1.0)) - F.log1p(-p)) / (F.log(p) - F.log1p(-p))
        return F.where(self._stable(), closed, value)

    def entropy(self):
        """Return the entropy."""
        log_failure, log_success = F.log1p(-self.probs), F.log(self.probs)
        return self.mean * (log_failure - log_success) - self._log_norm() - log_failure

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        stable = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = F.where(stable, x, self._lims[0] - 0.5)
        closed = F.log(F.abs(F.special_expm1(cut))) - F.log(F.abs(cut))
        return F.where(stable, closed, 0.5 * x + F.pow(x, 2) / 24.0 - F.pow(x, 4) / 2880.0)
