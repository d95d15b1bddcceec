"""Divergences of all registered pairs against PyTorch's, and their gradients."""

from __future__ import annotations

import numpy as np
import pytest
from distribution_cases import matrix, positive, real, unit

import minitorch

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

# Two sets of parameters for each family, of one batch shape.
FAMILIES = {
    "Bernoulli": [{"probs": unit(4)}, {"logits": real(4)}],
    "Beta": [{"concentration1": positive(4), "concentration0": positive(4)} for _ in range(2)],
    "Binomial": [{"total_count": 7, "probs": unit(4)} for _ in range(2)],
    "Categorical": [{"probs": positive(4, 3)}, {"logits": real(4, 3)}],
    "Cauchy": [{"loc": real(4), "scale": positive(4)} for _ in range(2)],
    "ContinuousBernoulli": [{"probs": np.array([0.2, 0.5, 0.4999, 0.9])}, {"probs": unit(4)}],
    "Dirichlet": [{"concentration": positive(4, 3)} for _ in range(2)],
    "Exponential": [{"rate": positive(4)} for _ in range(2)],
    "Gamma": [{"concentration": positive(4), "rate": positive(4)} for _ in range(2)],
    "Geometric": [{"probs": unit(4)}, {"logits": real(4)}],
    "Gumbel": [{"loc": real(4), "scale": positive(4)} for _ in range(2)],
    "HalfNormal": [{"scale": positive(4)} for _ in range(2)],
    "Laplace": [{"loc": real(4), "scale": positive(4)} for _ in range(2)],
    "LogNormal": [{"loc": real(4), "scale": positive(4)} for _ in range(2)],
    "LowRankMultivariateNormal": [
        {"loc": real(4, 3), "cov_factor": real(4, 3, 2), "cov_diag": positive(4, 3)} for _ in range(2)
    ],
    "MultivariateNormal": [
        {"loc": real(4, 3), "covariance_matrix": matrix(4)},
        {"loc": real(4, 3), "precision_matrix": matrix()},
    ],
    "Normal": [{"loc": real(4), "scale": positive(4)} for _ in range(2)],
    "OneHotCategorical": [{"probs": positive(4, 3)}, {"logits": real(4, 3)}],
    "Pareto": [
        {"scale": positive(4), "alpha": np.array([0.8, 1.5, 2.5, 4.0])},
        {"scale": positive(4, high=1), "alpha": positive(4)},
    ],
    "Poisson": [{"rate": positive(4, high=9)} for _ in range(2)],
    "Uniform": [
        {"low": np.array([-1.0, 0.1, 0.2, 0.4]), "high": np.array([0.5, 0.9, 1.5, 0.8])},
        {"low": np.array([-2.0, -0.1, 0.3, 0.1]), "high": np.array([1.5, 2.0, 1.2, 0.9])},
    ],
    "VonMises": [{"loc": real(4), "concentration": positive(4)} for _ in range(2)],
    "Weibull": [{"scale": positive(4), "concentration": positive(4)} for _ in range(2)],
}


def pair(library, name, which, requires_grad=False):
    given = {}
    for key, value in FAMILIES[name][which].items():
        given[key] = library.tensor(value.tolist(), dtype=library.float64) if isinstance(value, np.ndarray) else value
        if requires_grad and isinstance(value, np.ndarray):
            given[key].requires_grad_()
    return getattr(library.distributions, name)(**given), [t for t in given.values() if hasattr(t, "grad")]


def divergence(library, first, second):
    p, of_p = pair(library, first, 0, requires_grad=True)
    q, of_q = pair(library, second, 1, requires_grad=True)
    try:
        result = library.distributions.kl_divergence(p, q)
    except NotImplementedError:
        return None, []
    if result.requires_grad and bool(library.isfinite(result).all()):
        result.sum().backward()
    return result, [t.grad for t in of_p + of_q]


@pytest.mark.parametrize("first", FAMILIES)
def test_every_pair(torch, first):
    """Also pairs that are not registered: those raise in both libraries."""
    for second in FAMILIES:
        mine, my_slopes = divergence(minitorch, first, second)
        its, its_slopes = divergence(torch, first, second)
        assert (mine is None) == (its is None), (first, second)
        if mine is None:
            continue
        want = its.detach().numpy()
        if (first, second) == ("ContinuousBernoulli", "Uniform"):
            # PyTorch calls it infinite where the ends are equal, too: they are not here
            assert not (FAMILIES[second][1]["low"] == 0).any()
        np.testing.assert_allclose(mine.detach().numpy(), want, rtol=1e-7, atol=1e-9, err_msg=f"{first} {second}")
        for a, b in zip(my_slopes, its_slopes, strict=True):
            if b is not None and a is not None and np.isfinite(b.numpy()).all():
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-7, err_msg=f"{first} {second}")


def test_the_same_pairs_are_registered(torch):
    def names(library):
        d = library.distributions  # programs, such as a docstring's example, may have registered classes of their own
        return {(p.__name__, q.__name__) for p, q in d.kl._KL_REGISTRY if getattr(d, p.__name__, None) is p}

    assert names(minitorch) == names(torch)


def test_independent_transformed_and_exponential_families(torch):
    results = []
    for library in (minitorch, torch):
        d = library.distributions
        p, _ = pair(library, "Normal", 0)
        q, _ = pair(library, "Normal", 1)
        independent = d.kl_divergence(d.Independent(p, 1), d.Independent(q, 1))
        shift = [d.AffineTransform(1.0, 2.0)]
        transformed = d.kl_divergence(d.TransformedDistribution(p, shift), d.TransformedDistribution(q, shift))
        bregman = d.kl._KL_REGISTRY[d.ExponentialFamily, d.ExponentialFamily]
        families = [
            bregman(*[pair(library, name, k)[0] for k in (0, 1)]) for name in ("Normal", "Gamma", "Dirichlet", "Beta")
        ]
        entropies = [
            d.ExponentialFamily.entropy(pair(library, name, 0)[0]) for name in ("Normal", "Gamma", "Exponential")
        ]
        results.append([t.detach().numpy() for t in [independent, transformed, *families, *entropies]])
        with pytest.raises(NotImplementedError):
            d.kl_divergence(d.Independent(p, 1), d.Independent(p.expand((2, 4)), 2))
    for mine, its in zip(*results, strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-7)
