"""Parameters for each distribution: scalars, batches, parameters that broadcast."""

from __future__ import annotations

import numpy as np

random = np.random.RandomState(7)


def positive(*shape, low=0.3, high=3.0):
    return random.uniform(low, high, shape)


def real(*shape):
    return random.standard_normal(shape)


def unit(*shape):
    return random.uniform(0.1, 0.9, shape)


def matrix(*batch, n=3):
    root = random.standard_normal((*batch, n, n))
    return root @ np.swapaxes(root, -1, -2) + n * np.eye(n)


def counts(*shape):
    return random.randint(1, 30, shape).astype(np.float64)


CASES: list[tuple[str, dict]] = [
    ("Bernoulli", {"probs": unit(4)}),
    ("Bernoulli", {"logits": real(2, 3)}),
    ("Bernoulli", {"probs": np.array([0.0, 0.5, 1.0])}),
    ("Beta", {"concentration1": positive(3, 1), "concentration0": positive(2)}),
    ("Beta", {"concentration1": 0.5, "concentration0": 2.0}),
    ("Binomial", {"total_count": counts(5), "probs": unit(2, 5)}),
    ("Binomial", {"total_count": 6, "logits": real(3)}),
    ("Categorical", {"probs": positive(2, 4)}),
    ("Categorical", {"logits": real(5)}),
    ("Cauchy", {"loc": real(3), "scale": positive(2, 1)}),
    ("Chi2", {"df": positive(4)}),
    ("ContinuousBernoulli", {"probs": np.array([0.01, 0.3, 0.4995, 0.5, 0.5005, 0.8])}),
    ("ContinuousBernoulli", {"logits": real(2, 3)}),
    ("Dirichlet", {"concentration": positive(2, 4)}),
    ("Dirichlet", {"concentration": np.array([[0.3, 0.7, 0.2], [2.0, 1.0, 4.0]])}),
    ("Exponential", {"rate": positive(3)}),
    ("FisherSnedecor", {"df1": positive(3, low=1, high=9), "df2": positive(2, 1, low=1, high=9)}),
    ("Gamma", {"concentration": positive(3), "rate": positive(2, 1)}),
    ("Gamma", {"concentration": 0.1, "rate": 2.0}),
    ("GeneralizedPareto", {"loc": real(3), "scale": positive(2, 1), "concentration": np.array([-0.5, 0.0, 0.4])}),
    ("Geometric", {"probs": unit(4)}),
    ("Geometric", {"logits": real(2, 2)}),
    ("Gumbel", {"loc": real(3), "scale": positive(2, 1)}),
    ("HalfCauchy", {"scale": positive(3)}),
    ("HalfNormal", {"scale": positive(3)}),
    ("InverseGamma", {"concentration": positive(3, high=5), "rate": positive(2, 1)}),
    ("Kumaraswamy", {"concentration1": positive(3), "concentration0": positive(2, 1)}),
    ("Laplace", {"loc": real(3), "scale": positive(2, 1)}),
    ("LKJCholesky", {"dim": 3, "concentration": positive(2)}),
    ("LKJCholesky", {"dim": 4, "concentration": 1.5}),
    ("LogNormal", {"loc": real(3), "scale": positive(2, 1, high=1)}),
    ("LogisticNormal", {"loc": real(2, 3), "scale": positive(3)}),
    ("LowRankMultivariateNormal", {"loc": real(3), "cov_factor": real(2, 3, 2), "cov_diag": positive(3)}),
    ("Multinomial", {"total_count": 7, "probs": positive(2, 3)}),
    ("Multinomial", {"total_count": 3, "logits": real(4)}),
    ("MultivariateNormal", {"loc": real(2, 1, 3), "covariance_matrix": matrix(2)}),
    ("MultivariateNormal", {"loc": real(3), "precision_matrix": matrix()}),
    ("MultivariateNormal", {"loc": real(2, 3), "scale_tril": np.linalg.cholesky(matrix())}),
    ("NegativeBinomial", {"total_count": positive(3, high=6), "probs": unit(2, 1)}),
    ("NegativeBinomial", {"total_count": 4.0, "logits": real(3)}),
    ("Normal", {"loc": real(3), "scale": positive(2, 1)}),
    ("Normal", {"loc": 1.0, "scale": 2.0}),
    ("Normal", {"loc": real(5, 4), "scale": positive(4)}),
    ("OneHotCategorical", {"probs": positive(2, 4)}),
    ("OneHotCategorical", {"logits": real(3)}),
    ("OneHotCategoricalStraightThrough", {"probs": positive(2, 4)}),
    ("Pareto", {"scale": positive(3), "alpha": positive(2, 1, high=5)}),
    ("Poisson", {"rate": positive(4, high=20)}),
    ("RelaxedBernoulli", {"temperature": np.array(0.7), "probs": unit(3)}),
    ("RelaxedBernoulli", {"temperature": np.array(0.7), "logits": real(3)}),
    ("RelaxedOneHotCategorical", {"temperature": np.array(0.7), "probs": positive(2, 3)}),
    ("RelaxedOneHotCategorical", {"temperature": np.array(1.3), "logits": real(4)}),
    ("StudentT", {"df": np.array([0.7, 1.5, 4.0]), "loc": real(2, 1), "scale": positive(3)}),
    ("Uniform", {"low": real(3), "high": real(2, 1) + 6}),
    ("VonMises", {"loc": real(3), "concentration": positive(2, 1, high=8)}),
    ("Weibull", {"scale": positive(3), "concentration": positive(2, 1, low=1.1)}),
    ("Wishart", {"df": positive(2, low=5, high=9), "covariance_matrix": matrix(2)}),
    ("Wishart", {"df": 4.5, "scale_tril": np.linalg.cholesky(matrix())}),
]
IDS = [f"{name}-{k}" for k, (name, _) in enumerate(CASES)]


# PyTorch compares this one's parameters with float32 constants, and refuses float64.
NARROW = ("GeneralizedPareto",)


def parameters(library, case, requires_grad=False, dtype="float64"):
    """Return a case's parameters as a library's tensors; numbers stay numbers."""
    result = {}
    dtype = "float32" if case[0] in NARROW else dtype
    for name, value in case[1].items():
        if isinstance(value, np.ndarray):
            value = library.tensor(value.tolist(), dtype=getattr(library, dtype))
            value = value.requires_grad_() if requires_grad else value
        result[name] = value
    return result


def build(library, case, requires_grad=False, dtype="float64", **kwargs):
    """Return the distribution of a case, and its parameters."""
    given = parameters(library, case, requires_grad, dtype)
    return getattr(library.distributions, case[0])(**given, **kwargs), given
