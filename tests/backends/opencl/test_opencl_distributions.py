"""Distributions on the opencl device: draws stay there, densities and gradients are the CPU's."""

from __future__ import annotations

import pytest

import minitorch
from minitorch.backends import fallback_policy

# How each is made, and whether its draws are by rejection, on the CPU.
MADE = {
    "Normal": (lambda d, t: d.Normal(t([0.0, 1.0]), t([1.0, 2.0])), False),
    "Categorical": (lambda d, t: d.Categorical(logits=t([[0.0, 1.0, 2.0], [1.0, 0.0, 0.5]])), False),
    "Laplace": (lambda d, t: d.Laplace(t([0.0, 1.0]), t([1.0, 2.0])), False),
    "Gumbel": (lambda d, t: d.Gumbel(t([0.0, 1.0]), t([1.0, 2.0])), False),
    "MultivariateNormal": (lambda d, t: d.MultivariateNormal(t([0.0, 1.0]), t([[2.0, 0.5], [0.5, 1.0]])), False),
    "Gamma": (lambda d, t: d.Gamma(t([0.7, 3.0]), t([1.0, 2.0])), True),
}


@pytest.mark.parametrize("name", MADE)
def test_distribution(name):
    make, by_rejection = MADE[name]
    leaves = []

    def there(value):
        leaves.append(minitorch.tensor(value, device="opencl", requires_grad=True))
        return leaves[-1]

    with fallback_policy("allow" if by_rejection else "error"):
        distribution = make(minitorch.distributions, there)
        draws = distribution.rsample((50,)) if distribution.has_rsample else distribution.sample((50,))
        assert draws.device.type == "opencl"
        if distribution.has_rsample:
            draws.sum().backward()
            assert all(leaf.grad.device.type == "opencl" for leaf in leaves)
        found = distribution.log_prob(draws.detach())
    on_cpu = make(minitorch.distributions, minitorch.tensor)
    minitorch.testing.assert_close(found.cpu(), on_cpu.log_prob(draws.detach().cpu()), rtol=1e-4, atol=1e-4)
