"""Transforms, constraints and their registry against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

random = np.random.RandomState(3)
X = random.standard_normal((2, 6))
MATRICES = random.standard_normal((2, 3, 3))


def of(library, value):
    return library.tensor(np.asarray(value).tolist(), dtype=library.float64)


TRANSFORMS = {
    "exp": (lambda m, d: d.ExpTransform(), X),
    "power": (lambda m, d: d.PowerTransform(of(m, 1.5)), np.abs(X)),
    "powers": (lambda m, d: d.PowerTransform(of(m, [-1.5, 2, 1, 3, 0.5, 1])), np.abs(X)),
    "sigmoid": (lambda m, d: d.SigmoidTransform(), X),
    "softplus": (lambda m, d: d.SoftplusTransform(), X),
    "tanh": (lambda m, d: d.TanhTransform(), X),
    "abs": (lambda m, d: d.AbsTransform(), X),
    "affine": (lambda m, d: d.AffineTransform(2.0, -3.0), X),
    "affine of vectors": (lambda m, d: d.AffineTransform(of(m, X[0]), of(m, -X[1]), event_dim=1), X),
    "affine of numbers in vectors": (lambda m, d: d.AffineTransform(0.5, 2.0, event_dim=1), X),
    "softmax": (lambda m, d: d.SoftmaxTransform(), X),
    "stick breaking": (lambda m, d: d.StickBreakingTransform(), X),
    "correlations": (lambda m, d: d.CorrCholeskyTransform(), X),
    "lower": (lambda m, d: d.LowerCholeskyTransform(), MATRICES),
    "positive definite": (lambda m, d: d.PositiveDefiniteTransform(), MATRICES),
    "reshape": (lambda m, d: d.ReshapeTransform((6,), (3, 2)), X),
    "independent": (lambda m, d: d.IndependentTransform(d.ExpTransform(), 1), X),
    "cat": (lambda m, d: d.CatTransform([d.ExpTransform(), d.TanhTransform()], -1, [2, 4]), X),
    "stack": (lambda m, d: d.StackTransform([d.ExpTransform(), d.TanhTransform()], 0), X),
    "distribution function": (lambda m, d: d.CumulativeDistributionTransform(d.Normal(0.5, 2.0)), X),
    "compose": (lambda m, d: d.ComposeTransform([d.AffineTransform(0.5, 2.0), d.StickBreakingTransform()]), X),
    "compose in a vector": (lambda m, d: d.ComposeTransform([d.StickBreakingTransform(), d.ExpTransform()]), X),
    "identity": (lambda m, d: d.identity_transform, X),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform(torch, name):
    make, points = TRANSFORMS[name]
    found = []
    for library in (minitorch, torch):
        transform = make(library, library.distributions)
        x = of(library, points).requires_grad_()
        y = transform(x)
        back = transform.inv(y)
        values = [y, back, *library.autograd.grad(back.sum(), [x], retain_graph=True)]
        if transform.bijective:
            values.append(transform.log_abs_det_jacobian(x, y))
            values.append(transform.inv.log_abs_det_jacobian(y, x))
        shapes = [tuple(transform.forward_shape(x.shape)), tuple(transform.inverse_shape(y.shape))]
        domains = [
            (type(c).__name__, c.event_dim) for c in (transform.domain, transform.codomain, transform.inv.domain)
        ]
        try:
            sign = np.asarray(transform.sign).tolist()
        except NotImplementedError:
            sign = None
        found.append(
            (values, shapes, domains, sign, transform.bijective, transform == make(library, library.distributions))
        )
    mine, its = found
    for a, b in zip(mine[0], its[0], strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-7, atol=1e-9)
    if name not in ("compose", "compose in a vector"):  # equality of lists of transforms is ours
        assert mine[5] == its[5]
    assert mine[1:5] == its[1:5]


CONSTRAINTS = {
    "real": (lambda m, c: c.real, X),
    "real_vector": (lambda m, c: c.real_vector, X),
    "positive": (lambda m, c: c.positive, X),
    "greater_than_eq": (lambda m, c: c.greater_than_eq(1.0), X),
    "less_than": (lambda m, c: c.less_than(2.0), X),
    "interval": (lambda m, c: c.interval(-1.0, 2.0), X),
    "half_open_interval": (lambda m, c: c.half_open_interval(of(m, -1.0), of(m, 2.0)), X),
    "unit_interval": (lambda m, c: c.unit_interval, X),
    "simplex": (lambda m, c: c.simplex, X),
    "independent": (lambda m, c: c.independent(c.positive, 1), X),
    "corr_cholesky": (lambda m, c: c.corr_cholesky, X),
    "lower_cholesky": (lambda m, c: c.lower_cholesky, MATRICES),
    "positive_definite": (lambda m, c: c.positive_definite, MATRICES),
    "positive_semidefinite": (lambda m, c: c.positive_semidefinite, MATRICES),
    "cat": (lambda m, c: c.cat([c.positive, c.real], -1, [2, 4]), X),
    "stack": (lambda m, c: c.stack([c.positive, c.unit_interval], 0), X),
    "boolean": (lambda m, c: c.boolean, X),
    "symmetric": (lambda m, c: c.symmetric, MATRICES),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_registry(torch, registry, name):
    make, points = CONSTRAINTS[name]
    found = []
    for library in (minitorch, torch):
        constraint = make(library, library.distributions.constraints)
        x = of(library, points)
        row = [constraint.check(x), constraint.event_dim, constraint.is_discrete]
        try:
            transform = getattr(library.distributions, registry)(constraint)
        except NotImplementedError:
            transform = None
        if transform is not None:
            y = transform(x)
            assert constraint.check(y).all()
            row += [y, transform.bijective, transform.codomain.event_dim]
        found.append(row)
    for a, b in zip(*found, strict=True):
        if hasattr(a, "detach"):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-7, atol=1e-9)
        else:
            assert a == b


VALUES = [
    [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.2, 0.3, 0.5]],
    [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]],
    [[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]],
    [[1.0, -2.0, 3.5], [float("nan"), 1.0, 0.0], [4.0, 5.0, 6.0]],
]


def test_checks(torch):
    def checks(library):
        c = library.distributions.constraints
        value = of(library, VALUES)
        kinds = [
            c.boolean, c.one_hot, c.nonnegative_integer, c.positive_integer, c.integer_interval(0, 3), c.real, c.positive,
            c.nonnegative, c.simplex, c.multinomial(3), c.lower_triangular, c.lower_cholesky, c.corr_cholesky, c.square,
            c.symmetric, c.positive_definite, c.MixtureSameFamilyConstraint(c.positive), c.independent(c.real, 2),
        ]  # fmt: skip
        return [kind.check(value if kind is not c.positive_definite else value[:3]).numpy() for kind in kinds]

    for mine, its in zip(checks(minitorch), checks(torch), strict=True):
        np.testing.assert_array_equal(mine, its)


def test_mixtures_and_independents(torch):
    found = []
    for library in (minitorch, torch):
        d = library.distributions
        weights = of(library, np.abs(X[:, :3]))
        numbers = d.MixtureSameFamily(
            d.Categorical(weights), d.Normal(of(library, X[:, 3:]), of(library, np.abs(X[:, :3])))
        )
        vectors = d.MixtureSameFamily(
            d.Categorical(weights), d.Independent(d.Normal(of(library, MATRICES), of(library, 0.5)), 1)
        )
        row = []
        for mixture in (numbers, vectors, vectors.expand((4, 2)), numbers.expand((3, 2))):
            library.manual_seed(1)
            draws = mixture.sample((5,))
            row += [draws, mixture.log_prob(draws), mixture.mean, mixture.variance]
        row.append(numbers.cdf(of(library, [0.1, 0.4])))
        wide = d.Independent(d.Gamma(of(library, np.abs(X)), of(library, 1.5)), 1)
        row += [wide.log_prob(of(library, np.abs(X))), wide.entropy(), wide.expand((3, 2)).mean]
        flow = d.TransformedDistribution(
            d.Normal(of(library, X), of(library, 1.0)), [d.AffineTransform(0.5, -2.0), d.TanhTransform(cache_size=1)]
        )
        library.manual_seed(2)
        draws = flow.rsample((2,))
        row += [draws, flow.log_prob(draws), flow.cdf(draws), flow.icdf(of(library, np.full((2, 6), 0.3)))]
        widened = d.TransformedDistribution(
            d.Normal(of(library, 0.0), of(library, 1.0)), [d.AffineTransform(of(library, X), 2.0)]
        )
        assert tuple(widened.batch_shape) == (2, 6)
        row += [widened.log_prob(of(library, X)), widened.expand((3, 2, 6)).log_prob(of(library, X))]
        found.append(row)
    for mine, its in zip(*found, strict=True):
        np.testing.assert_allclose(mine.numpy(), its.numpy(), rtol=1e-6, atol=1e-8)


REFUSALS = [
    lambda m, d: d.Uniform(1.0, 0.0),
    lambda m, d: d.Normal(0.0, -1.0),
    lambda m, d: d.Normal(m.tensor([0.0, float("nan")]), 1.0),
    lambda m, d: d.Normal("a", 1.0),
    lambda m, d: d.Bernoulli(),
    lambda m, d: d.Bernoulli(0.5, 0.5),
    lambda m, d: d.Bernoulli(2.0),
    lambda m, d: d.Categorical(m.tensor(1.0)),
    lambda m, d: d.Multinomial(m.tensor([1, 2]), m.ones(2)),
    lambda m, d: d.Binomial(-1, m.tensor(0.5)),
    lambda m, d: d.Geometric(0.0),
    lambda m, d: d.MultivariateNormal(m.tensor(1.0), m.eye(2)),
    lambda m, d: d.MultivariateNormal(m.ones(2)),
    lambda m, d: d.MultivariateNormal(m.ones(2), m.ones(2)),
    lambda m, d: d.MultivariateNormal(m.ones(2), -m.eye(2)),
    lambda m, d: d.LowRankMultivariateNormal(m.ones(2), m.ones(3, 1), m.ones(2)),
    lambda m, d: d.LowRankMultivariateNormal(m.ones(2), m.ones(2, 1), m.ones(3)),
    lambda m, d: d.LKJCholesky(1),
    lambda m, d: d.Wishart(m.tensor(1.0), m.eye(2)),
    lambda m, d: d.Wishart(m.tensor(3.0)),
    lambda m, d: d.Dirichlet(m.tensor(1.0)),
    lambda m, d: d.Independent(d.Normal(0.0, 1.0), 1),
    lambda m, d: d.Normal(0.0, 1.0).log_prob(1.0),
    lambda m, d: d.Normal(m.zeros(2), 1.0).log_prob(m.zeros(3)),
    lambda m, d: d.Exponential(1.0).log_prob(m.tensor(-1.0)),
    lambda m, d: d.OneHotCategorical(m.ones(2)).log_prob(m.ones(2)),
    lambda m, d: d.Dirichlet(m.ones(2)).log_prob(m.tensor([2.0, 1.0])),
    lambda m, d: d.Poisson(1.0).rsample(),
    lambda m, d: d.Poisson(1.0).cdf(m.tensor(1.0)),
    lambda m, d: d.Normal(0.0, 1.0).enumerate_support(),
    lambda m, d: d.Binomial(m.tensor([1.0, 2.0]), m.tensor(0.5)).enumerate_support(),
    lambda m, d: d.Independent(d.Categorical(m.ones(2, 2)), 1).enumerate_support(),
    lambda m, d: d.kl_divergence(d.Poisson(1.0), d.Normal(0.0, 1.0)),
    lambda m, d: d.kl_divergence(d.VonMises(0.0, 1.0), d.Normal(0.0, 1.0)),
    lambda m, d: d.MixtureSameFamily(d.Normal(0, 1), d.Normal(m.zeros(3), 1)),
    lambda m, d: d.MixtureSameFamily(d.Categorical(m.ones(2)), d.Normal(m.zeros(3), 1)),
    lambda m, d: d.TransformedDistribution(d.Normal(0.0, 1.0), d.StickBreakingTransform()),
    lambda m, d: d.TransformedDistribution(d.Normal(0.0, 1.0), 3),
    lambda m, d: d.Distribution.set_default_validate_args(None),
    lambda m, d: d.ContinuousBernoulli(2.0, validate_args=True),
    lambda m, d: d.ExpTransform(2),
    lambda m, d: d.AbsTransform().sign,
    lambda m, d: d.SoftmaxTransform().log_abs_det_jacobian(m.ones(2), m.ones(2)),
    lambda m, d: d.StickBreakingTransform().event_dim + d.ReshapeTransform((2, 3), (6,)).event_dim,
    lambda m, d: d.CorrCholeskyTransform().forward_shape((4,)),
    lambda m, d: d.ReshapeTransform((2, 3), (7,)),
    lambda m, d: d.ReshapeTransform((2, 3), (6,)).forward_shape((5, 2, 2)),
    lambda m, d: d.IndependentTransform(d.ExpTransform(), 1)(m.tensor(1.0)),
    lambda m, d: d.biject_to(d.constraints.square),
    lambda m, d: d.constraints.dependent.check(m.ones(2)),
    lambda m, d: d.constraints.dependent.event_dim,
]


@pytest.mark.parametrize("case", range(len(REFUSALS)))
def test_refusals(torch, case):
    kinds = []
    for library in (minitorch, torch):
        with pytest.raises((ValueError, TypeError, NotImplementedError, AssertionError, RuntimeError)) as caught:
            REFUSALS[case](library, library.distributions)
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]


def test_names(torch):
    d, theirs = minitorch.distributions, torch.distributions
    assert sorted(d.__all__) == sorted(theirs.__all__)
    assert set(theirs.constraints.__all__) <= set(d.constraints.__all__)
    for module in ("normal", "categorical", "studentT", "kl", "utils", "transforms", "relaxed_bernoulli", "exp_family"):
        for name in getattr(theirs, module).__all__:
            assert hasattr(getattr(d, module), name), (module, name)
