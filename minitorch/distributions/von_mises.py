"""The von Mises distribution, of angles."""

from __future__ import annotations

import math
from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.core.dtype import bool_, float64
from minitorch.core.size import Size
from minitorch.distributions import constraints
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.utils import broadcast_all, lazy_property, uniforms
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor
from minitorch.tensor.wrapper import has_values, innermost

__all__ = ["VonMises"]


class VonMises(Distribution):
    """The von Mises distribution: what the normal distribution is to numbers, to angles in radians.

    Parameters
    ----------
    loc : Tensor or float
        The mean, modulo a full turn.
    concentration : Tensor or float
        About one over the variance.
    validate_args : bool, optional
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean direction."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The mean direction."""
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance: 1 less the mean of the cosine of the distance to the mean direction."""
        return 1 - F.special_i1e(self.concentration) / F.special_i0e(self.concentration)

    def log_prob(self, value):
        """Return the logarithm of the density."""
        self._validate_sample(value)
        # log I0(k) = log(I0(k) exp(-k)) + k, which does not overflow
        log_bessel = F.special_i0e(self.concentration).log() + self.concentration
        return self.concentration * F.cos(value - self.loc) - math.log(2 * math.pi) - log_bessel

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws in [-pi, pi).

        Notes
        -----
        Rejection from a wrapped Cauchy distribution (Best & Fisher, 1979), in float64: in float32 hardly anything is accepted
        where the concentration is small.  Each round draws three numbers for all elements, also for those that have been
        accepted.
        """
        with no_grad():
            shape = self._extended_shape(sample_shape)
            loc, concentration = self.loc.to(float64), self.concentration.to(float64)
            envelope = _envelope(concentration)
            angles = loc.new_zeros(tuple(shape))
            accepted = F.zeros_like(angles, dtype=bool_)
            while not bool(innermost(accepted).all()) if has_values(accepted) else False:
                u1, u2, u3 = uniforms((3, *shape), loc).unbind(0)
                z = F.cos(math.pi * u1)
                cosine = (1 + envelope * z) / (envelope + z)
                c = concentration * (envelope - cosine)
                accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                angles = F.where(accept, (u3 - 0.5).sign() * cosine.acos(), angles)
                accepted = accepted | accept
            return ((angles + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)


def _envelope(concentration: Tensor) -> Tensor:
    """Return the parameter of the wrapped Cauchy distribution that is sampled."""
    tau = 1 + (1 + 4 * concentration**2).sqrt()
    rho = (tau - (2 * tau).sqrt()) / (2 * concentration)
    exact = (1 + rho**2) / (2 * rho)
    return F.where(concentration < 1e-5, 1 / concentration + concentration, exact)
