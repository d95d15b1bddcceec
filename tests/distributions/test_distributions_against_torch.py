"""Every distribution against PyTorch's: moments, densities, draws of a seed, gradients, texts, expansion."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from distribution_cases import CASES, IDS, build

import minitorch

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

cases = pytest.mark.parametrize("case", CASES, ids=IDS)
# PyTorch finds most draws of Wishart's singular, by mistake, and draws again; and those of LKJCholesky have rows
# of the wrong lengths, from the third on (docs/distributions.md).
OTHER_DRAWS = ("Wishart", "LKJCholesky")
# Implicit gradients: PyTorch's are approximations of a relative error up to 1e-3.
APPROXIMATE = ("Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT")


def outcome(action):
    """Return what an action gives: a result, or the type of what it raises."""
    try:
        result = action()
    except (NotImplementedError, ValueError, RuntimeError, AttributeError) as error:
        return type(error)
    return result


def as_array(tensor):
    return tensor.detach().numpy()


def equal(ours, theirs, rtol=1e-7, atol=1e-9):
    if isinstance(theirs, type):
        assert ours is theirs, (ours, theirs)
        return
    assert not isinstance(ours, type), ours
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
    assert tuple(ours.shape) == tuple(theirs.shape)
    if str(theirs.dtype).endswith("float32"):
        rtol, atol = max(rtol, 1e-5), max(atol, 1e-6)
    np.testing.assert_allclose(as_array(ours), as_array(theirs), rtol=rtol, atol=atol)


def drawn(torch, case, shape=(3,)):
    """Return both distributions, and the same values for both: PyTorch's draws."""
    theirs, _ = build(torch, case)
    ours, _ = build(minitorch, case)
    torch.manual_seed(3)
    values = theirs.sample(shape)
    return (
        ours,
        theirs,
        minitorch.tensor(values.tolist(), dtype=getattr(minitorch, str(values.dtype).split(".")[-1])),
        values,
    )


@cases
def test_shapes_moments_and_text(torch, case):
    ours, theirs = build(minitorch, case)[0], build(torch, case)[0]
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)
    assert (ours.has_rsample, ours.has_enumerate_support) == (theirs.has_rsample, theirs.has_enumerate_support)
    assert type(ours.support).__name__ == type(theirs.support).__name__
    assert ours.support.event_dim == theirs.support.event_dim
    assert ours.support.is_discrete == theirs.support.is_discrete
    assert sorted(ours.arg_constraints) == sorted(theirs.arg_constraints)
    for name in ("mean", "mode", "variance", "stddev"):
        if (case[0], name) == ("Kumaraswamy", "mode"):
            continue  # PyTorch's is NaN for most parameters, by mistake; test_closed_forms.py has values
        equal(
            outcome(lambda name=name: getattr(ours, name)), outcome(lambda name=name: getattr(theirs, name)), rtol=1e-6
        )
    equal(outcome(ours.entropy), outcome(theirs.entropy), rtol=1e-6)
    equal(outcome(ours.enumerate_support), outcome(theirs.enumerate_support))
    equal(outcome(lambda: ours.enumerate_support(False)), outcome(lambda: theirs.enumerate_support(False)))
    assert repr(ours).split("(")[0] == repr(theirs).split("(")[0]


@cases
def test_draws_of_a_seed(torch, case):
    if case[0] in OTHER_DRAWS:
        pytest.skip("PyTorch's draws are other ones")
    ours, theirs = build(minitorch, case)[0], build(torch, case)[0]
    for shape in ((), (20,), (2, 3)):
        for name in ("sample", "rsample"):
            results = []
            for library, distribution in ((minitorch, ours), (torch, theirs)):
                library.manual_seed(5)
                results.append(outcome(lambda d=distribution, name=name, shape=shape: getattr(d, name)(shape)))
            equal(*results, rtol=1e-6, atol=1e-8)
    # nothing was drawn beyond what PyTorch draws
    equal(minitorch.rand(3), torch.rand(3))


@cases
def test_densities(torch, case):
    ours, theirs, value, values = drawn(torch, case)
    equal(ours.log_prob(value), theirs.log_prob(values), rtol=1e-6, atol=1e-7)
    equal(outcome(lambda: ours.cdf(value)), outcome(lambda: theirs.cdf(values)), rtol=1e-6, atol=1e-7)
    levels = np.linspace(0.05, 0.95, 4).reshape((4,) + (1,) * len(theirs.batch_shape)).tolist()
    dtype = str(values.dtype).split(".")[-1] if values.is_floating_point() else "float64"
    found = outcome(lambda: ours.icdf(minitorch.tensor(levels, dtype=getattr(minitorch, dtype))))
    wanted = outcome(lambda: theirs.icdf(torch.tensor(levels, dtype=getattr(torch, dtype))))
    equal(found, wanted, rtol=1e-6, atol=1e-8)


@cases
def test_gradients_of_densities(torch, case):
    _, _, value, values = drawn(torch, case)
    slopes = []
    for library, points in ((minitorch, value), (torch, values)):
        distribution, given = build(library, case, requires_grad=True)
        points = points.detach()
        points = points.requires_grad_() if points.is_floating_point() else points
        distribution.log_prob(points).sum().backward()
        slopes.append([t.grad for t in given.values() if hasattr(t, "grad")] + [points.grad])
    for mine, its in zip(*slopes, strict=True):
        assert (mine is None) == (its is None)
        if mine is not None:
            equal(mine, its, rtol=1e-5, atol=1e-7)


@cases
def test_gradients_of_draws(torch, case):
    numbers = not any(isinstance(value, np.ndarray) for value in case[1].values())
    if numbers or not build(torch, case)[0].has_rsample or case[0] in OTHER_DRAWS:
        pytest.skip("no reparametrised draws of the same numbers")
    slopes = []
    for library in (minitorch, torch):
        distribution, given = build(library, case, requires_grad=True)
        library.manual_seed(11)
        draws = distribution.rsample((4,))
        weights = library.tensor(np.cos(np.arange(draws.numel())).tolist(), dtype=draws.dtype).reshape(draws.shape)
        (draws * weights).sum().backward()
        slopes.append([t.grad for t in given.values() if hasattr(t, "grad")])
    rtol = 5e-3 if case[0] in APPROXIMATE else 1e-6
    for mine, its in zip(*slopes, strict=True):
        assert (mine is None) == (its is None)
        if mine is not None:
            equal(mine, its, rtol=rtol, atol=rtol * 0.1 * float(its.abs().max()))


@cases
def test_expansion(torch, case):
    ours, theirs, value, values = drawn(torch, case, ())
    batch = (2, *theirs.batch_shape)
    # reading what is computed from the parameters must not stand in the way
    outcome(lambda: (ours.variance, ours.entropy()))
    wide, wides = ours.expand(batch), theirs.expand(batch)
    assert tuple(wide.batch_shape) == batch
    assert tuple(wide.event_shape) == tuple(wides.event_shape)
    equal(wide.log_prob(value), wides.log_prob(values), rtol=1e-6, atol=1e-7)
    for name in ("mean", "variance"):
        equal(
            outcome(lambda name=name: getattr(wide, name)), outcome(lambda name=name: getattr(wides, name)), rtol=1e-6
        )
    if case[0] != "Multinomial":  # PyTorch's expanded one cannot compute it
        equal(outcome(wide.entropy), outcome(wides.entropy))
    if case[0] not in OTHER_DRAWS:
        results = []
        for library, distribution in ((minitorch, wide), (torch, wides)):
            library.manual_seed(5)
            results.append(distribution.sample((2,)))
        equal(*results, rtol=1e-6, atol=1e-8)
    again = wide.expand((3, *batch))
    assert tuple(again.sample().shape) == (3, *batch, *theirs.event_shape)


@pytest.mark.parametrize(
    "case", [c for c in CASES if c[0] != "VonMises"], ids=[c[0] for c in CASES if c[0] != "VonMises"]
)
def test_float32(torch, case):
    ours, theirs = build(minitorch, case, dtype="float32")[0], build(torch, case, dtype="float32")[0]
    torch.manual_seed(1)
    values = theirs.sample((2,))
    value = minitorch.tensor(values.tolist(), dtype=getattr(minitorch, str(values.dtype).split(".")[-1]))
    equal(ours.log_prob(value), theirs.log_prob(values), rtol=1e-3, atol=1e-3)
    assert ours.sample().dtype is value.dtype


def test_correlations_of_two_rows_are_pytorchs(torch):
    results = []
    for library in (minitorch, torch):
        library.manual_seed(3)
        results.append(library.distributions.LKJCholesky(2, library.tensor(1.5)).sample((20,)))
    equal(*results)


def test_warning_free_draws_of_wishart():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        minitorch.distributions.Wishart(minitorch.tensor(5.0), minitorch.eye(2)).sample((3,))
