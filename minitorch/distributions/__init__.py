"""Probability distributions: densities, draws, divergences.  PyTorch's ``torch.distributions`` (`docs/distributions.md`)."""

import sys as _sys

from minitorch.distributions import (
    categorical,
    constraint_registry,
    constraints,
    continuous_bernoulli,
    derived,
    discrete,
    distribution,
    exp_family,
    gamma,
    kl,
    location_scale,
    matrices,
    multivariate_normal,
    relaxed,
    transformed,
    transforms,
    utils,
    von_mises,
)
from minitorch.distributions.categorical import (
    Categorical,
    Multinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from minitorch.distributions.constraint_registry import biject_to, transform_to
from minitorch.distributions.continuous_bernoulli import ContinuousBernoulli
from minitorch.distributions.derived import Independent, MixtureSameFamily, TransformedDistribution
from minitorch.distributions.discrete import Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.exp_family import ExponentialFamily
from minitorch.distributions.gamma import Beta, Chi2, Dirichlet, Exponential, FisherSnedecor, Gamma
from minitorch.distributions.kl import kl_divergence, register_kl
from minitorch.distributions.location_scale import Cauchy, GeneralizedPareto, Laplace, Normal, StudentT, Uniform
from minitorch.distributions.matrices import LKJCholesky, Wishart
from minitorch.distributions.multivariate_normal import LowRankMultivariateNormal, MultivariateNormal
from minitorch.distributions.relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from minitorch.distributions.transformed import (
    Gumbel,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Kumaraswamy,
    LogisticNormal,
    LogNormal,
    Pareto,
    Weibull,
)
from minitorch.distributions.transforms import *
from minitorch.distributions.von_mises import VonMises

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli", "Dirichlet", "Distribution",
    "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy",
    "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal",
    "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal",
    "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "RelaxedBernoulli",
    "RelaxedOneHotCategorical", "StudentT", "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart",
    "biject_to", "kl_divergence", "register_kl", "transform_to", *transforms.__all__,
]  # fmt: skip

# PyTorch has a module for each distribution (`from torch.distributions.normal import Normal`); here a family shares one.
_HOMES = {
    "bernoulli": discrete, "beta": gamma, "binomial": discrete, "cauchy": location_scale, "chi2": gamma, "dirichlet": gamma,
    "exponential": gamma, "fishersnedecor": gamma, "generalized_pareto": location_scale, "geometric": discrete,
    "gumbel": transformed, "half_cauchy": transformed, "half_normal": transformed, "independent": derived,
    "inverse_gamma": transformed, "kumaraswamy": transformed, "laplace": location_scale, "lkj_cholesky": matrices,
    "log_normal": transformed, "logistic_normal": transformed, "lowrank_multivariate_normal": multivariate_normal,
    "mixture_same_family": derived, "multinomial": categorical, "negative_binomial": discrete, "normal": location_scale,
    "one_hot_categorical": categorical, "pareto": transformed, "poisson": discrete, "relaxed_bernoulli": relaxed,
    "relaxed_categorical": relaxed, "studentT": location_scale, "transformed_distribution": derived,
    "uniform": location_scale, "weibull": transformed, "wishart": matrices,
}  # fmt: skip
for _name, _home in _HOMES.items():
    globals()[_name] = _sys.modules[f"{__name__}.{_name}"] = _home
del _name, _home
