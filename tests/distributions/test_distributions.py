"""What distributions do beyond the numbers that PyTorch's give: closed forms, moments of draws, meta, vmap, subclasses."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from distribution_cases import CASES, IDS, build, parameters

import minitorch
import minitorch.distributions as d
from minitorch.func import grad, vmap

F64 = minitorch.float64
cases = pytest.mark.parametrize("case", CASES, ids=IDS)


def t(value):
    return minitorch.tensor(value, dtype=F64)


# ---------------------------------------------------------------- closed forms

LOG_PROBS = [
    (d.Normal(t(1.0), t(2.0)), 2.0, -math.log(2) - 0.5 * math.log(2 * math.pi) - 0.125),
    (d.Laplace(t(0.0), t(2.0)), 3.0, -math.log(4) - 1.5),
    (d.Cauchy(t(0.0), t(1.0)), 1.0, -math.log(2 * math.pi)),
    (d.StudentT(t(1.0)), 1.0, -math.log(2 * math.pi)),
    (d.Exponential(t(2.0)), 0.5, math.log(2) - 1),
    (d.Gamma(t(3.0), t(2.0)), 1.5, 3 * math.log(2) + 2 * math.log(1.5) - 3 - math.log(2)),
    (d.Chi2(t(2.0)), 3.0, -math.log(2) - 1.5),
    (d.InverseGamma(t(1.0), t(2.0)), 2.0, math.log(2) - 2 * math.log(2) - 1),
    (d.Beta(t(2.0), t(3.0)), 0.25, math.log(12 * 0.25 * 0.75**2)),
    (d.Kumaraswamy(t(2.0), t(3.0)), 0.5, math.log(6 * 0.5 * 0.75**2)),
    (d.Uniform(t(1.0), t(3.0)), 1.5, -math.log(2)),
    (d.Pareto(t(1.0), t(2.0)), 2.0, math.log(2 / 8)),
    (d.GeneralizedPareto(t(0.0), t(1.0), t(0.5)), 2.0, -3 * math.log(2)),
    (d.Weibull(t(1.0), t(2.0)), 0.5, -0.25),
    (d.Gumbel(t(0.0), t(1.0)), 0.0, -1.0),
    (d.LogNormal(t(0.0), t(1.0)), 1.0, -0.5 * math.log(2 * math.pi)),
    (d.HalfNormal(t(1.0)), 0.0, 0.5 * math.log(2 / math.pi)),
    (d.HalfCauchy(t(1.0)), 1.0, -math.log(math.pi)),
    (d.FisherSnedecor(t(2.0), t(2.0)), 1.0, -math.log(4)),
    (d.VonMises(t(0.0), t(1e-9)), 1.0, -math.log(2 * math.pi)),
    (d.ContinuousBernoulli(t(0.5)), 0.3, 0.0),
    (d.Bernoulli(t(0.25)), 1.0, math.log(0.25)),
    (d.Geometric(t(0.25)), 2.0, math.log(0.25 * 0.75**2)),
    (d.Binomial(4, t(0.25)), 1.0, math.log(4 * 0.25 * 0.75**3)),
    (d.NegativeBinomial(t(2.0), t(0.25)), 1.0, math.log(2 * 0.25 * 0.75**2)),
    (d.Poisson(t(2.0)), 3.0, 3 * math.log(2) - 2 - math.log(6)),
    (d.Categorical(t([1.0, 3.0])), 1.0, math.log(0.75)),
    (d.OneHotCategorical(t([1.0, 3.0])), [0.0, 1.0], math.log(0.75)),
    (d.Multinomial(3, t([0.25, 0.75])), [1.0, 2.0], math.log(3 * 0.25 * 0.75**2)),
    (d.Dirichlet(t([1.0, 1.0, 1.0])), [0.2, 0.3, 0.5], math.log(2)),
    (d.MultivariateNormal(t([0.0, 0.0]), t([[4.0, 0.0], [0.0, 1.0]])), [2.0, 1.0], -math.log(4 * math.pi) - 1),
    (d.LowRankMultivariateNormal(t([0.0]), t([[1.0]]), t([3.0])), [2.0], -0.5 * math.log(8 * math.pi) - 0.5),
    (d.LKJCholesky(2, t(1.0)), [[1.0, 0.0], [0.6, 0.8]], -math.log(2)),
    (d.Wishart(t(1.5), t([[2.0]])), [[1.0]], -0.25 - 0.25 * 0 - 0.75 * math.log(4) - math.lgamma(0.75)),
]


@pytest.mark.parametrize("row", LOG_PROBS, ids=lambda row: type(row[0]).__name__)
def test_densities(row):
    distribution, value, expected = row
    assert distribution.log_prob(t(value)).item() == pytest.approx(expected, rel=1e-7, abs=1e-8)


def test_modes_beyond_pytorchs():
    # (a - 1) / (a b - 1), to the power 1 / a
    assert d.Kumaraswamy(t(2.0), t(3.0)).mode.item() == pytest.approx(0.2**0.5)
    assert math.isnan(d.Kumaraswamy(t(0.5), t(3.0)).mode.item())
    assert d.GeneralizedPareto(t(0.0), t(1.0), t(-1.0)).log_prob(t(0.5)).item() == 0


def test_infinite_and_undefined_moments():
    student = d.StudentT(t([0.5, 1.5, 3.0]))
    assert student.variance.tolist()[1:] == [math.inf, 3.0]
    assert math.isnan(student.variance[0])
    assert math.isnan(d.Cauchy(0.0, 1.0).mean)
    assert d.Pareto(t(1.0), t(0.5)).mean.item() == math.inf


def test_divergence_is_the_mean_logarithm_of_the_ratio():
    minitorch.manual_seed(0)
    pairs = [
        (d.Gamma(t(2.0), t(1.5)), d.Gumbel(t(0.5), t(1.5))),
        (d.Uniform(t(0.1), t(0.7)), d.Beta(t(2.0), t(3.0))),
        (d.Normal(t(0.3), t(0.8)), d.Laplace(t(-0.2), t(1.0))),
        (d.Pareto(t(1.0), t(6.0)), d.Gamma(t(2.0), t(1.5))),
        (d.ContinuousBernoulli(t(0.8)), d.Uniform(t(0.0), t(1.0))),
    ]
    for p, q in pairs:
        x = p.sample((20000,))
        drawn = p.log_prob(x) - q.log_prob(x)
        error = 5 * drawn.std().item() / 20000**0.5
        assert d.kl_divergence(p, q).item() == pytest.approx(drawn.mean().item(), abs=error)


def test_divergence_of_what_reaches_beyond_is_infinite():
    assert d.kl_divergence(d.Normal(0.0, 1.0), d.Exponential(1.0)).item() == math.inf
    assert d.kl_divergence(d.Uniform(-0.1, 0.5), d.Beta(1.0, 1.0)).item() == math.inf
    assert d.kl_divergence(d.Categorical(t([0.5, 0.5])), d.Categorical(t([1.0, 0.0]))).item() == math.inf
    assert d.kl_divergence(d.Categorical(t([1.0, 0.0])), d.Categorical(t([1.0, 0.0]))).item() == 0


NO_MEAN = ("Cauchy", "HalfCauchy", "Categorical", "VonMises")


@cases
def test_moments_of_draws(case):
    """The means and variances of 4000 draws, within six standard errors."""
    distribution = build(minitorch, case)[0]
    if case[0] in NO_MEAN:
        pytest.skip("no mean of numbers")
    try:
        mean, variance = distribution.mean.numpy(), distribution.variance.numpy()
    except NotImplementedError:
        pytest.skip("no closed form")
    minitorch.manual_seed(0)
    draws = distribution.sample((4000,)).numpy()
    usable = np.isfinite(mean) & np.isfinite(variance)
    if not usable.any():
        pytest.skip("no finite variance")
    error = 6 * np.sqrt(variance / 4000) + 1e-12
    assert (np.abs(draws.mean(0) - mean) < error)[usable].all()
    spread = ((draws - mean) ** 2).mean(0)
    noise = 6 * ((draws - mean) ** 2).std(0) / 4000**0.5 + 1e-12
    # of heavy tails nothing follows
    light = usable & (noise < 0.5 * variance + 1e-9)
    assert (np.abs(spread - variance) < noise)[light].all()
    assert distribution.support.check(minitorch.tensor(draws)).all()


def test_moments_of_angles_and_correlations():
    minitorch.manual_seed(0)
    angles = d.VonMises(t(0.5), t(3.0)).sample((4000,))
    assert (1 - (angles - 0.5).cos().mean()).item() == pytest.approx(
        d.VonMises(t(0.5), t(3.0)).variance.item(), abs=0.02
    )
    factors = d.LKJCholesky(3, t(2.0)).sample((4000,))
    correlations = factors @ factors.mT
    assert correlations[:, 0, 1].mean().item() == pytest.approx(0, abs=0.04)
    # (r + 1) / 2 is Beta(a, a) with a = concentration + (n - 2) / 2, so that r has the variance 1 / (2 a + 1)
    assert correlations[:, 0, 2].var().item() == pytest.approx(1 / 6, abs=0.02)


# ---------------------------------------------------------------- where and under what they run


@cases
def test_meta(case):
    given = {k: v.to("meta") if hasattr(v, "to") else v for k, v in parameters(minitorch, case).items()}
    distribution, real = getattr(d, case[0])(**given), build(minitorch, case)[0]
    draws = distribution.sample((2,))
    assert draws.shape == real.sample((2,)).shape
    assert distribution.log_prob(draws).shape == real.log_prob(real.sample((2,))).shape
    if any(hasattr(v, "to") for v in given.values()):
        assert draws.device.type == "meta"


BATCHED = [c for c in CASES if any(isinstance(v, np.ndarray) and v.ndim for v in c[1].values())]


@pytest.mark.parametrize("case", BATCHED, ids=[f"{c[0]}-{k}" for k, c in enumerate(BATCHED)])
def test_vmap_and_grad(case):
    given = parameters(minitorch, case)
    mapped = {k: minitorch.stack([v, v]) for k, v in given.items() if hasattr(v, "dim") and v.dim()}
    value = build(minitorch, case)[0].sample()

    def density(*values):
        return getattr(d, case[0])(**{**given, **dict(zip(mapped, values, strict=True))}).log_prob(value)

    expected = build(minitorch, case)[0].log_prob(value)
    found = vmap(density)(*mapped.values())
    assert minitorch.allclose(found, minitorch.stack([expected, expected]))

    def draw(*values):
        return getattr(d, case[0])(**{**given, **dict(zip(mapped, values, strict=True))}).sample()

    assert vmap(draw, randomness="different")(*mapped.values()).shape == (2, *value.shape)
    leaf = next(iter(mapped))
    slope = grad(lambda v: density(*[v if k == leaf else given[k] for k in mapped]).sum())(given[leaf])
    given[leaf].requires_grad_()
    getattr(d, case[0])(**given).log_prob(value).sum().backward()
    assert minitorch.allclose(slope, given[leaf].grad, equal_nan=True)


def test_a_batch_with_a_wrong_example_is_refused():
    with pytest.raises(ValueError, match="parameter scale"):
        vmap(lambda s: d.Normal(0.0, s).log_prob(minitorch.tensor(0.0)))(minitorch.tensor([1.0, -1.0]))


def test_lazy_parameters_keep_their_gradient():
    probs = t([0.2, 0.7]).requires_grad_()
    bernoulli = d.Bernoulli(probs)
    bernoulli.sample()
    with minitorch.no_grad():
        assert bernoulli.logits.requires_grad
    bernoulli.log_prob(t([1.0, 0.0])).sum().backward()
    np.testing.assert_allclose(probs.grad.numpy(), [1 / 0.2, -1 / 0.3])


def test_straight_through():
    probs = t([0.2, 0.3, 0.5]).requires_grad_()
    draw = d.OneHotCategoricalStraightThrough(probs).rsample()
    assert sorted(draw.tolist()) == pytest.approx([0, 0, 1])
    (draw * t([1.0, 2.0, 3.0])).sum().backward()
    assert probs.grad.abs().sum() > 0


# ---------------------------------------------------------------- transforms


def test_the_cache_gives_back_the_very_value():
    x = minitorch.randn(3)
    tanh = d.TanhTransform(cache_size=1)
    assert tanh.inv(tanh(x)) is x
    assert tanh.inv.inv is tanh
    plain = d.TanhTransform()
    assert plain.inv(plain(x)) is not x
    assert d.TanhTransform().with_cache() == d.TanhTransform()
    chain = d.ComposeTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0)], cache_size=1)
    assert chain.inv(chain(x)) is x
    assert chain.inv.inv is chain
    assert pickle.loads(pickle.dumps(chain)) == chain

    class Own(d.Transform):
        def __init__(self, extra):
            super().__init__()

    with pytest.raises(NotImplementedError, match="with_cache"):
        Own(1).with_cache()


def test_values_far_out_are_exact_with_a_cache():
    """The inverse of a rounded 1 is infinite; the cached value is not."""
    policy = d.TransformedDistribution(d.Normal(t(30.0), t(0.1)), [d.TanhTransform(cache_size=1)])
    assert minitorch.isfinite(policy.log_prob(policy.rsample()))


def test_equality_of_transforms():
    assert d.AffineTransform(t([1.0, 2.0]), 1.0) == d.AffineTransform(t([1.0, 2.0]), 1.0)
    assert d.AffineTransform(1.0, 2.0) != d.AffineTransform(1.0, 3.0)
    assert d.ExpTransform() != d.TanhTransform()
    assert d.ExpTransform().inv == d.ExpTransform().inv


# ---------------------------------------------------------------- subclasses, copies, settings


def test_a_subclass_needs_its_own_expand():
    class Shifted(d.Normal):
        def __init__(self, loc):
            super().__init__(loc + 1, 1.0)

    with pytest.raises(NotImplementedError, match="expand"):
        Shifted(t([0.0])).expand((2, 1))

    class Same(d.Normal):
        pass

    assert isinstance(Same(t(0.0), t(1.0)).expand((2,)), Same)


def test_pytorchs_way_to_write_expand():
    class Scaled(d.Distribution):
        arg_constraints = {"scale": d.constraints.positive}

        def __init__(self, scale, validate_args=None):
            self.scale, self.unnamed = scale, scale * 2
            super().__init__(scale.shape, validate_args=validate_args)

        def expand(self, batch_shape, _instance=None):
            new = self._get_checked_instance(Scaled, _instance)
            new.scale = self.scale.expand(batch_shape)
            new.unnamed = self.unnamed.expand(batch_shape)
            super(Scaled, new).__init__(batch_shape, validate_args=False)
            new._validate_args = self._validate_args
            return new

    assert Scaled(t([1.0])).expand((3,)).batch_shape == (3,)

    class Careless(Scaled):
        def expand(self, batch_shape, _instance=None):
            return d.Distribution.expand(self, batch_shape, _instance)

    with pytest.raises(NotImplementedError, match="attribute unnamed of Careless"):
        Careless(t([1.0])).expand((3,))


def test_missing_definitions_warn():
    class Bare(d.Distribution):
        pass

    with pytest.warns(UserWarning, match="arg_constraints"):
        Bare()
    bare = Bare((), (), validate_args=False)
    bare._validate_args = True
    with pytest.warns(UserWarning, match="does not define `support`"):
        bare._validate_sample(t(1.0))
    with pytest.raises(NotImplementedError):
        bare.log_prob(t(1.0))
    with pytest.warns(FutureWarning, match="sample_n"):
        assert d.Normal(0.0, 1.0).sample_n(3).shape == (3,)


def test_validation_can_be_switched_off():
    assert math.isnan(d.Normal(t(0.0), t(-1.0), validate_args=False).log_prob(t(0.0)).item())
    d.Distribution.set_default_validate_args(False)
    try:
        d.Normal(0.0, -1.0)
    finally:
        d.Distribution.set_default_validate_args(True)
    with pytest.raises(
        ValueError, match=r"parameter scale \(Tensor of shape \(\)\) of distribution Normal\(loc: 0.0, scale: -1.0\)"
    ):
        d.Normal(0.0, -1.0)
    with pytest.raises(TypeError, match="type_p"):
        d.register_kl(int, d.Normal)


def test_ambiguous_divergences_warn():
    class First(d.Normal):
        pass

    class Second(d.Normal):
        pass

    from minitorch.distributions.kl import _KL_MEMOIZE, _KL_REGISTRY

    d.register_kl(First, d.Normal)(lambda p, q: 1)
    d.register_kl(d.Normal, Second)(lambda p, q: 2)
    try:
        with pytest.warns(RuntimeWarning, match="Ambiguous"):
            assert d.kl_divergence(First(0.0, 1.0), Second(0.0, 1.0)) == 1
        assert d.kl_divergence(First(0.0, 1.0), d.Normal(0.0, 1.0)) == 1
    finally:
        del _KL_REGISTRY[First, d.Normal], _KL_REGISTRY[d.Normal, Second]
        _KL_MEMOIZE.clear()


@cases
def test_copies(case):
    distribution = build(minitorch, case)[0]
    other = copy.deepcopy(distribution)
    assert type(other) is type(distribution)
    assert other.batch_shape == distribution.batch_shape
    assert repr(other) == repr(distribution)


def test_texts():
    assert repr(d.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    assert repr(d.Independent(d.Normal(t([0.0, 0.0]), 1.0), 1)) == (
        "Independent(Normal(loc: torch.Size([2]), scale: torch.Size([2])), 1)"
    )
    assert repr(d.constraints.interval(0, 1)) == "Interval(lower_bound=0, upper_bound=1)"
    assert repr(d.constraints.real_vector) == "IndependentConstraint(Real(), 1)"
    assert repr(d.ExpTransform().inv) == "_InverseTransform(ExpTransform())"


def test_import_of_minitorch_does_not_load_distributions():
    code = "import sys, minitorch; assert 'minitorch.distributions' not in sys.modules; minitorch.distributions.Normal"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pytorchs_module_names():
    from minitorch.distributions.multivariate_normal import MultivariateNormal
    from minitorch.distributions.normal import Normal
    from minitorch.distributions.studentT import StudentT
    from minitorch.distributions.utils import broadcast_all

    assert (Normal, MultivariateNormal, StudentT) == (d.Normal, d.MultivariateNormal, d.StudentT)
    assert [x.shape for x in broadcast_all(1.0, minitorch.ones(2))] == [(2,), (2,)]
    with pytest.raises(ValueError, match="diag"):
        d.utils.tril_matrix_to_vec(minitorch.ones(2, 2), 2)
    matrix = d.utils.vec_to_tril_matrix(minitorch.arange(1.0, 7.0))
    assert matrix.tolist() == [[1, 0, 0], [2, 3, 0], [4, 5, 6]]
    assert d.utils.tril_matrix_to_vec(matrix).tolist() == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ValueError, match="cannot be expressed"):
        d.utils.vec_to_tril_matrix(minitorch.ones(4))
