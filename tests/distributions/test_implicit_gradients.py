"""How gamma and Dirichlet draws move with their parameters, against derivatives of quantiles."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch
from minitorch.backends.array.implicit_gradients import dirichlet_gradient, gamma_gradient

F64 = minitorch.float64

# Shape, probability of at most the draw (or of more, where negative), the draw, its derivative in the shape: from central
# differences of SciPy's gammaincinv and gammainccinv.
GAMMA = [
    (0.1, 0.3, 3.5860860184109674e-06, 0.0004344448794684344),
    (0.1, -0.01, 1.5884778179295025, 7.935601300856108),
    (0.7, 0.001, 4.5170632965198826e-05, 0.000659097501191537),
    (0.7, 0.8, 1.1506443435653357, 1.5901575040774807),
    (0.7, -1e-06, 12.768858085344487, 3.756286645836288),
    (1.0, 0.3, 0.3566749439387324, 0.6619236282362124),
    (1.0, -0.01, 4.605170185988091, 2.287369640672403),
    (3.0, 0.001, 0.1905333775684032, 0.19504744952218897),
    (3.0, 0.8, 4.279029860125334, 1.2559222792745266),
    (3.0, -1e-06, 19.129168188604844, 2.3123404556861287),
    (40.0, 0.3, 36.45767115693809, 0.9583373025727706),
    (40.0, -0.01, 56.164396260148706, 1.1841919004655201),
    (500.0, 0.001, 433.7395413036385, 0.9309117563094191),
    (500.0, 0.8, 518.7154433893111, 1.0188257552025421),
    (500.0, -1e-06, 613.5762105937878, 1.106205650925553),
    (2000.0, 0.3, 1976.3086271674797, 0.9941364720956515),
    (2000.0, -0.01, 2105.505709490844, 1.0260099668910396),
    (100000.0, 0.001, 99025.63189050092, 0.9951139172073304),
    (100000.0, 0.8, 100266.04631293981, 1.0013307223371395),
    (100000.0, -1e-06, 101510.36958868102, 1.007515791398411),
]
# Concentrations, probability, draw, derivative of the draw: from central differences of SciPy's betaincinv.
BETA = [
    (0.3, 0.5, 0.01, 6.098012996577248e-07, 3.070541961617301e-05),
    (0.3, 0.5, 0.4, 0.12680843675975564, 1.1317126757469276),
    (0.3, 0.5, 0.7, 0.6218699773391088, 1.4341892793103426),
    (0.3, 0.5, 0.99, 0.9994815516794394, 0.002630325574846122),
    (2.0, 5.0, 0.01, 0.026763191142755053, 0.03724583706964018),
    (2.0, 5.0, 0.4, 0.2225835336154239, 0.11094898068449512),
    (2.0, 5.0, 0.7, 0.36035769038002013, 0.11704920208438314),
    (2.0, 5.0, 0.99, 0.7056863283197075, 0.07366249537413035),
    (30.0, 0.5, 0.01, 0.8944929762564698, 0.0033516565249238437),
    (30.0, 0.5, 0.4, 0.9881664495276565, 0.0003953690674162718),
    (30.0, 0.5, 0.7, 0.9975078775449538, 8.365815584443933e-05),
    (30.0, 0.5, 0.99, 0.9999973599646244, 8.873430394342811e-08),
    (0.2, 300.0, 0.01, 2.1780633964801414e-13, 2.522561993022248e-11),
    (0.2, 300.0, 0.4, 2.242819906373037e-05, 0.0005320494699302943),
    (0.2, 300.0, 0.7, 0.000403915488646312, 0.004256760361592104),
    (0.2, 300.0, 0.99, 0.007323856913788535, 0.016453374061453314),
    (400.0, 90.0, 0.01, 0.7738375860259439, 0.00044981933458032456),
    (400.0, 90.0, 0.4, 0.8123002466008498, 0.00038253362918212974),
    (400.0, 90.0, 0.7, 0.8258057100969785, 0.00035794782782757234),
    (400.0, 90.0, 0.99, 0.8550236413707035, 0.0003031093199722631),
    (10000.0, 3.0, 0.01, 0.99915984248102, 8.397205330961164e-08),
    (10000.0, 3.0, 0.4, 0.999689541391367, 3.103793771113985e-08),
    (10000.0, 3.0, 0.7, 0.9998086598633481, 1.9130270155804613e-08),
    (10000.0, 3.0, 0.99, 0.9999564007938196, 4.3593896646115e-09),
]


@pytest.mark.parametrize("row", GAMMA)
def test_gamma(row):
    shape, _, draw, slope = row
    found = gamma_gradient(np, np.array([shape]), np.array([draw]))[0]
    assert found == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize("row", BETA)
def test_beta(row):
    a, b, _, draw, slope = row
    found = dirichlet_gradient(np, np.array([draw]), np.array([a]), np.array([a + b]))[0] * (1 - draw)
    assert found == pytest.approx(slope, rel=1e-6)


def test_exponential_has_a_closed_form():
    """A gamma variable of shape 1 is exponential, and its scale moves it in proportion: z = -log(1 - u) / rate."""
    rate = minitorch.tensor(2.0, dtype=F64, requires_grad=True)
    draws = minitorch.distributions.Gamma(minitorch.tensor(1.0, dtype=F64), rate).rsample((50,))
    draws.sum().backward()
    assert rate.grad.item() == pytest.approx(-draws.sum().item() / 2, rel=1e-12)


def test_uniform_component_has_a_closed_form():
    """Beta(a, 1) has the distribution function x ** a, so dx/da = -x log(x) / a."""
    x = np.linspace(0.01, 0.99, 50)
    for a in (0.2, 1.0, 7.0):
        found = dirichlet_gradient(np, x, np.full(50, a), np.full(50, a + 1.0)) * (1 - x)
        np.testing.assert_allclose(found, -x * np.log(x) / a, rtol=1e-11)


def test_edges():
    shapes = np.array([2.0, 2.0, 0.0, -1.0, np.nan, np.inf])
    draws = np.array([0.0, np.inf, 1.0, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(gamma_gradient(np, shapes, draws), [0, np.nan, np.nan, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(
        dirichlet_gradient(np, np.array([0.0, 1.0, 0.5, -0.5]), np.array([2.0, 2.0, -1.0, 1.0]), np.full(4, 3.0)),
        [0, 0, np.nan, np.nan],
    )


def test_mean_of_dirichlet_draws_moves_as_the_mean():
    minitorch.manual_seed(0)
    concentration = minitorch.tensor([0.5, 1.0, 3.0], dtype=F64, requires_grad=True)
    weights = minitorch.tensor([1.0, -1.0, 2.0], dtype=F64)
    dirichlet = minitorch.distributions.Dirichlet(concentration)
    (dirichlet.rsample((20000,)) * weights).sum(-1).mean().backward()
    drawn, concentration.grad = concentration.grad, None
    (dirichlet.mean * weights).sum().backward()
    np.testing.assert_allclose(drawn.numpy(), concentration.grad.numpy(), atol=0.01)


def test_types_and_shapes():
    a, x = minitorch.rand(3, 1) + 1, minitorch.rand(2)
    assert minitorch._standard_gamma_grad(a, x).shape == (3, 2)
    assert minitorch._standard_gamma_grad(a.to("meta"), x.to("meta")).shape == (3, 2)
    with pytest.raises(RuntimeError, match="Found dtype Double of output but expected Float"):
        minitorch._standard_gamma_grad(a, x.double())
    with pytest.raises(NotImplementedError, match="not implemented for 'Half'"):
        minitorch._dirichlet_grad(a.half(), a.half(), a.half())
    with pytest.raises(NotImplementedError, match="the derivative for '_standard_gamma_grad"):
        minitorch._standard_gamma_grad(a.requires_grad_(), x).sum().backward()


@pytest.mark.parametrize("name", ["_standard_gamma", "_sample_dirichlet"])
def test_forward_and_backward_agree(name):
    parameter = minitorch.tensor([[0.5, 2.0, 3.0], [1.0, 4.0, 0.3]], dtype=F64)
    tangent = minitorch.tensor([[1.0, -0.5, 2.0], [0.3, 0.7, -1.0]], dtype=F64)

    def draw(parameter):
        minitorch.manual_seed(4)
        return getattr(minitorch, name)(parameter)

    draws, moved = minitorch.func.jvp(draw, (parameter,), (tangent,))
    assert minitorch.equal(draws, draw(parameter))
    jacobian = minitorch.func.jacrev(draw)(parameter)
    assert minitorch.allclose(moved, (jacobian * tangent).sum((-2, -1)))
    if name == "_standard_gamma":
        assert minitorch.allclose(moved, tangent * minitorch._standard_gamma_grad(parameter, draws))
