"""Divergences of two distributions of one family."""

from __future__ import annotations

import math

from minitorch.autograd import grad
from minitorch.distributions.categorical import Categorical, OneHotCategorical
from minitorch.distributions.continuous_bernoulli import ContinuousBernoulli
from minitorch.distributions.derived import Independent, TransformedDistribution
from minitorch.distributions.discrete import Bernoulli, Binomial, Geometric, Poisson
from minitorch.distributions.distribution import all_true
from minitorch.distributions.exp_family import ExponentialFamily
from minitorch.distributions.gamma import Beta, Dirichlet, Exponential, Gamma
from minitorch.distributions.kl.registry import kl_divergence, register_kl
from minitorch.distributions.location_scale import Cauchy, Laplace, Normal, Uniform
from minitorch.distributions.multivariate_normal import (
    LowRankMultivariateNormal,
    MultivariateNormal,
    log_diagonal,
    low_rank_distance,
    squared_distance,
)
from minitorch.distributions.transformed import Gumbel, HalfNormal, Pareto
from minitorch.distributions.utils import euler_constant, sum_rightmost
from minitorch.functional import broadcast_shapes
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor


def _weighted(probs: Tensor, difference: Tensor, impossible: Tensor) -> Tensor:
    """Return ``probs * difference``: 0 where p never is, infinite where p is and q never is."""
    return F.where(probs == 0, 0.0, F.where(impossible, math.inf, probs * difference))


@register_kl(Bernoulli, Bernoulli)
def kl_bernoulli(p, q):
    ones = _weighted(p.probs, F.softplus(-q.logits) - F.softplus(-p.logits), q.probs == 0)
    zeros = _weighted(1 - p.probs, F.softplus(q.logits) - F.softplus(p.logits), q.probs == 1)
    return ones + zeros


@register_kl(Categorical, Categorical)
def kl_categorical(p, q):
    return _weighted(p.probs, p.logits - q.logits, q.probs == 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def kl_one_hot(p, q):
    return kl_categorical(p._categorical, q._categorical)


@register_kl(Binomial, Binomial)
def kl_binomial(p, q):
    # With more trials under q the logarithm of a sum would remain.
    if not all_true(p.total_count >= q.total_count):
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    success = p.probs * (p.logits - q.logits)
    result = p.total_count * (success + (-p.probs).log1p() - (-q.probs).log1p())
    return F.where(p.total_count > q.total_count, math.inf, result)


@register_kl(Geometric, Geometric)
def kl_geometric(p, q):
    return -p.entropy() - F.log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def kl_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def kl_continuous_bernoulli(p, q):
    of_p = p._log_norm() + F.log1p(-p.probs)
    return p.mean * (p.logits - q.logits) + of_p - q._log_norm() - F.log1p(-q.probs)


@register_kl(Dirichlet, Dirichlet)
def kl_dirichlet(p, q):
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    constants = total.lgamma() - b.sum(-1).lgamma() + (b.lgamma() - a.lgamma()).sum(-1)
    return constants + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Beta, Beta)
def kl_beta(p, q):
    return kl_dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Gamma, Gamma)
def kl_gamma(p, q):
    a, b = p.concentration, q.concentration
    rates = b * (p.rate / q.rate).log() + (q.rate - p.rate) * (a / p.rate)
    return rates + b.lgamma() - a.lgamma() + (a - b) * a.digamma()


@register_kl(Exponential, Exponential)
def kl_exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Normal, Normal)
def kl_normal(p, q):
    variances = (p.scale / q.scale).pow(2)
    return 0.5 * (variances + ((p.loc - q.loc) / q.scale).pow(2) - 1 - variances.log())


@register_kl(HalfNormal, HalfNormal)
def kl_half_normal(p, q):
    return kl_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def kl_laplace(p, q):
    distance = (p.loc - q.loc).abs()
    ratio = p.scale / q.scale
    return distance / q.scale + ratio * F.exp(-distance / p.scale) - ratio.log() - 1


@register_kl(Cauchy, Cauchy)
def kl_cauchy(p, q):
    """Chyzak & Nielsen (2019)."""
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def kl_gumbel(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return distance - ratio.log() + (ratio - 1) * euler_constant + F.exp(F.lgamma(1 + ratio) - distance) - 1


@register_kl(Pareto, Pareto)
def kl_pareto(p, q):
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return F.where(p.scale < q.scale, math.inf, result)


@register_kl(Uniform, Uniform)
def kl_uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return F.where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(ExponentialFamily, ExponentialFamily)
def kl_exponential_family(p, q):
    """The Bregman divergence of the log normaliser, between the natural parameters."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"kl_divergence({type(p).__name__}, {type(q).__name__}): the cross KL-divergence between different "
            "exponential families cannot be computed using Bregman divergences"
        )
    of_p = [parameter.detach().requires_grad_() for parameter in p._natural_params]
    of_q = q._natural_params
    normalizer = p._log_normalizer(*of_p)
    slopes = grad(normalizer.sum(), of_p, create_graph=True)
    result = q._log_normalizer(*of_q) - normalizer
    for theta_p, theta_q, slope in zip(of_p, of_q, slopes, strict=True):
        product = (theta_q - theta_p) * slope
        result = result - sum_rightmost(product, len(q.event_shape))
    return result


@register_kl(TransformedDistribution, TransformedDistribution)
def kl_transformed(p, q):
    """That of the bases, where the transforms are the same ones."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            f"kl_divergence({type(p).__name__}, {type(q).__name__}): only for equal transforms and event shapes"
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), len(p.event_shape) - len(p.base_dist.event_shape))


@register_kl(Independent, Independent)
def kl_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            f"kl_divergence(Independent, Independent): {p.reinterpreted_batch_ndims} and "
            f"{q.reinterpreted_batch_ndims} reinterpreted dimensions"
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# ---------------------------------------------------------------- normal distributions of vectors


def _squared_columns(lower: Tensor, matrix: Tensor) -> Tensor:
    """Return the trace of ``L^-T L^-1 M M^T``, given the triangle L and M."""
    batch = broadcast_shapes(tuple(lower.shape[:-2]), tuple(matrix.shape[:-2]))
    solved = F.linalg_solve_triangular(
        lower.expand((*batch, *lower.shape[-2:])), matrix.expand((*batch, *matrix.shape[-2:])), upper=False
    )
    return solved.square().sum((-2, -1))


def _check_events(p, q) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two {type(p).__name__}s with different event shapes cannot be computed: "
            f"{tuple(p.event_shape)}, {tuple(q.event_shape)}"
        )


def _log_det(distribution) -> Tensor:
    if isinstance(distribution, LowRankMultivariateNormal):
        return distribution._log_det()
    return 2 * log_diagonal(distribution._unbroadcasted_scale_tril)


def _square_roots(distribution) -> list[Tensor]:
    """Return matrices M of which the sum of ``M M^T`` is the covariance."""
    if isinstance(distribution, LowRankMultivariateNormal):
        return [distribution._unbroadcasted_cov_factor, F.diag_embed(distribution._unbroadcasted_cov_diag.sqrt())]
    return [distribution._unbroadcasted_scale_tril]


def _trace(q, roots: list[Tensor]) -> Tensor:
    """Return the trace of the inverse covariance of q times that of p, given roots of the latter."""
    if not isinstance(q, LowRankMultivariateNormal):
        return sum(_squared_columns(q._unbroadcasted_scale_tril, root) for root in roots)  # type: ignore[return-value]
    factor, diagonal = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag.unsqueeze(-1)
    total: Tensor | int = 0
    for root in roots:
        projected = (factor / diagonal).mT @ root
        total = total + (root.square() / diagonal).sum((-2, -1)) - _squared_columns(q._capacitance_tril, projected)
    return total  # type: ignore[return-value]


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def kl_multivariate_normal(p, q):
    _check_events(p, q)
    apart = q.loc - p.loc
    if isinstance(q, LowRankMultivariateNormal):
        distance = low_rank_distance(q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, apart, q._capacitance_tril)
    else:
        distance = squared_distance(q._unbroadcasted_scale_tril, apart)
    return 0.5 * (_log_det(q) - _log_det(p) + _trace(q, _square_roots(p)) + distance - p.event_shape[0])
