"""Divergences of distributions of numbers of different families.

Each is the cross entropy, the mean of ``-log q(x)`` under p, less the entropy of p.  The logarithm of q is linear in a few
functions of x, whose means under p are all that is needed; and where p has values that q never has, the divergence is
infinite.
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.distributions.continuous_bernoulli import ContinuousBernoulli
from minitorch.distributions.discrete import Bernoulli, Binomial, Poisson
from minitorch.distributions.gamma import Beta, Exponential, Gamma
from minitorch.distributions.kl.registry import register_kl
from minitorch.distributions.location_scale import Laplace, Normal, Uniform
from minitorch.distributions.transformed import Gumbel, Pareto
from minitorch.distributions.utils import euler_constant
from minitorch.functional import broadcast_shapes
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

# ---------------------------------------------------------------- means under p


def _x_log_x(x: Tensor) -> Tensor:
    return F.xlogy(x, x)


def mean_log(p) -> Tensor:
    """Return the mean of log(x)."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1  # Uniform


def mean_log_of_rest(p: Uniform) -> Tensor:
    """Return the mean of log(1 - x)."""
    return (_x_log_x(1 - p.low) - _x_log_x(1 - p.high)) / (p.high - p.low) - 1


def laplace_transform(p, t: Tensor) -> Tensor:
    """Return the mean of exp(-t x)."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate + t)
    if isinstance(p, Gamma):
        return (1 + t / p.rate).pow(-p.concentration)
    if isinstance(p, Normal):
        return F.exp(0.5 * (t * p.scale).pow(2) - t * p.loc)
    return (F.exp(-t * p.low) - F.exp(-t * p.high)) / (t * (p.high - p.low))  # Uniform


# ---------------------------------------------------------------- cross entropies


def to_beta(p, q) -> Tensor:
    a, b = q.concentration1, q.concentration0
    return a.lgamma() + b.lgamma() - (a + b).lgamma() - (a - 1) * mean_log(p) - (b - 1) * mean_log_of_rest(p)


def to_continuous_bernoulli(p, q) -> Tensor:
    return -p.mean * q.logits - F.log1p(-q.probs) - q._log_norm()


def to_exponential(p, q) -> Tensor:
    return q.rate * p.mean - q.rate.log()


def to_gamma(p, q) -> Tensor:
    c = q.concentration
    return c.lgamma() - c * q.rate.log() - (c - 1) * mean_log(p) + q.rate * p.mean


def to_gumbel(p, q) -> Tensor:
    t = q.scale.reciprocal()
    return q.scale.log() + (p.mean - q.loc) * t + F.exp(q.loc * t) * laplace_transform(p, t)


def to_laplace(p, q) -> Tensor:
    """The mean distance of a normal variable from a point is that of the folded normal distribution."""
    z = (p.loc - q.loc) / p.scale
    distance = p.scale * (math.sqrt(2 / math.pi) * F.exp(-0.5 * z.pow(2)) + z * F.erf(math.sqrt(0.5) * z))
    return (2 * q.scale).log() + distance / q.scale


def to_normal(p, q) -> Tensor:
    return 0.5 * math.log(2 * math.pi) + q.scale.log() + (p.variance + (p.mean - q.loc).pow(2)) / (2 * q.scale.pow(2))


def to_pareto(p, q) -> Tensor:
    return (q.alpha + 1) * mean_log(p) - q.alpha.log() - q.alpha * q.scale.log()


def to_uniform(p, q) -> Tensor:
    return (q.high - q.low).log()


def ends(distribution) -> tuple[Any, Any]:
    """Return the smallest and the largest value of a distribution."""
    if isinstance(distribution, Uniform):
        return distribution.low, distribution.high
    if isinstance(distribution, (Beta, ContinuousBernoulli)):
        return 0.0, 1.0
    if isinstance(distribution, (Exponential, Gamma)):
        return 0.0, math.inf
    if isinstance(distribution, Pareto):
        return distribution.scale, math.inf
    return -math.inf, math.inf


def by_cross_entropy(cross_entropy):
    """Return the divergence: infinite where p reaches beyond q."""

    def kl(p, q):
        result = cross_entropy(p, q) - p.entropy()
        (low_p, high_p), (low_q, high_q) = ends(p), ends(q)
        beyond = (low_q > low_p) | (high_q < high_p)
        if isinstance(beyond, bool):
            return F.full_like(result, math.inf) if beyond else result
        return F.where(beyond, math.inf, result)

    return kl


def kl_infinite(p, q) -> Tensor:
    """Return infinity: p always has values that q never has."""
    shape = broadcast_shapes(tuple(p.batch_shape), tuple(q.batch_shape))
    return p.mean.new_full(shape, math.inf)


CROSS_ENTROPIES = {
    ContinuousBernoulli: to_continuous_bernoulli, Beta: to_beta, Exponential: to_exponential, Gamma: to_gamma, Gumbel: to_gumbel,
    Laplace: to_laplace, Normal: to_normal, Pareto: to_pareto, Uniform: to_uniform,
}  # fmt: skip

FINITE = {
    Beta: (ContinuousBernoulli, Exponential, Gamma, Normal, Uniform),
    ContinuousBernoulli: (Exponential, Normal, Uniform),
    Exponential: (Gamma, Gumbel, Normal),
    Gamma: (Exponential, Gumbel, Normal),
    Gumbel: (Normal,),
    Laplace: (Normal,),
    Normal: (Gumbel, Laplace),
    Pareto: (Exponential, Gamma, Normal),
    Uniform: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto),
}  # fmt: skip

INFINITE = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}  # fmt: skip

for first, others in FINITE.items():
    for other in others:
        register_kl(first, other)(by_cross_entropy(CROSS_ENTROPIES[other]))
for first, others in INFINITE.items():
    for other in others:
        register_kl(first, other)(kl_infinite)


@register_kl(Bernoulli, Poisson)
def kl_bernoulli_poisson(p, q):
    return q.rate - p.probs * q.rate.log() - p.entropy()
