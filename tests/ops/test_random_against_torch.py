"""Samplers that reject, initialisers and modules draw PyTorch's numbers and leave the stream where PyTorch does."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch
import minitorch.nn


def drawn(library, draw, seed=7):
    """Return what `draw` returns after a seed, the next number of the stream, and the numbers in order."""
    library.manual_seed(seed)
    result = draw(library)
    results = result if isinstance(result, list | tuple) else [result]
    arrays = [r.detach().float().numpy() if str(r.dtype).endswith("bfloat16") else r.detach().numpy() for r in results]
    return arrays, library.rand(1).item()


def same(torch, draw, exact=True):
    ours, our_next = drawn(minitorch, draw)
    theirs, their_next = drawn(torch, draw)
    assert our_next == their_next
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        if exact:
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(a, b, 1e-6, 1e-6)


WIDE = ["float32", "float64"]


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("count", [0.0, 5.0, 20.0, 1e3, 1e5, 1e7])
def test_binomial(torch, dtype, count):
    def draw(m):
        prob = m.linspace(0.0, 1.0, 41, dtype=getattr(m, dtype))
        return m.binomial(m.full((41,), count, dtype=prob.dtype), prob)

    same(torch, draw)


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", WIDE)
def test_binomial_of_odd_parameters(torch, dtype):
    inf, nan = float("inf"), float("nan")

    def draw(m):
        count = m.tensor([4.0, 4.0, 4.0, 4.0, inf, -1.0, 2.7, 1e15], dtype=getattr(m, dtype))
        prob = m.tensor([-1.0, 2.0, nan, 1.0, 0.3, 0.5, 0.9, 0.3], dtype=getattr(m, dtype))
        return m.binomial(count, prob)

    same(torch, draw)
    same(torch, lambda m: m.binomial(m.full((2, 3), 30.0), m.tensor([[0.1, 0.5, 0.8]])))


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", WIDE)
def test_gamma_and_dirichlet(torch, dtype):
    special = [0.0, -1.0, float("nan"), float("inf"), 1e-9, 0.1, 1.0, 1000.0]

    def shapes(m):
        return m.linspace(0.05, 30.0, 120, dtype=getattr(m, dtype))

    same(torch, lambda m: m._standard_gamma(shapes(m)))
    same(torch, lambda m: m._standard_gamma(m.tensor(special, dtype=getattr(m, dtype))))
    same(torch, lambda m: m._sample_dirichlet(shapes(m).reshape(30, 4) / 10), exact=dtype == "float32")
    same(torch, lambda m: m._sample_dirichlet(m.tensor(2.0, dtype=getattr(m, dtype))))


@pytest.mark.oracle
def test_a_normal_left_over_by_gamma_is_the_next_normal(torch):
    same(torch, lambda m: [m._standard_gamma(m.ones(1)), m.randn(3)])
    same(torch, lambda m: [m.randn(3), m._standard_gamma(m.ones(2)), m.rand(2)])


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", [*WIDE, "float16"])
def test_poisson_of_large_rates(torch, dtype):
    same(torch, lambda m: m.poisson(m.tensor([3.0, 20.0, 6e4, float("inf"), 1.0], dtype=getattr(m, dtype))))


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", [*WIDE, "bfloat16"])
def test_rrelu(torch, dtype):
    same(torch, lambda m: m.rrelu((m.arange(99) - 49.5).to(getattr(m, dtype)) / 50, 0.1, 0.4, True))


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", [*WIDE, "bfloat16"])
@pytest.mark.parametrize("shape", [(5, 3), (40, 30), (17,)])
@pytest.mark.parametrize(
    "limits",
    [{}, {"a": -0.5, "b": 0.5}, {"std": 0.02}, {"mean": 1.0, "std": 0.5, "a": 0.0, "b": 0.3}, {"a": 1.2, "b": 1.3}],
)
def test_trunc_normal(torch, dtype, shape, limits):
    same(torch, lambda m: m.nn.init.trunc_normal_(m.empty(shape, dtype=getattr(m, dtype)), **limits))


@pytest.mark.oracle
@pytest.mark.parametrize("shape", [(5, 3), (8, 4, 3, 3), (3, 64)])
@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize(
    "fill",
    [
        lambda init, x: init.kaiming_uniform_(x),
        lambda init, x: init.kaiming_normal_(x, mode="fan_out", nonlinearity="relu"),
        lambda init, x: init.xavier_uniform_(x, gain=2.0),
        lambda init, x: init.xavier_normal_(x),
        lambda init, x: init.orthogonal_(x),
    ],
)
def test_initialisers(torch, shape, dtype, fill):
    same(torch, lambda m: fill(m.nn.init, m.empty(shape, dtype=getattr(m, dtype))), exact=False)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "make",
    [
        lambda nn: nn.Conv2d(3, 8, 3),
        lambda nn: nn.LSTM(4, 6, 2),
        lambda nn: nn.Embedding(20, 7),
        lambda nn: nn.Bilinear(3, 4, 5),
        lambda nn: nn.MultiheadAttention(8, 2),
        lambda nn: nn.TransformerEncoderLayer(8, 2, 16),
        lambda nn: nn.ConvTranspose2d(4, 6, 3, groups=2),
    ],
)
def test_fresh_modules(torch, make):
    same(torch, lambda m: list(make(m.nn).parameters()))


@pytest.mark.oracle
@pytest.mark.parametrize("high", [2**28 - 1, 2**28, 2**32, 2**40])
def test_the_threshold_of_long_draws(torch, high):
    same(torch, lambda m: [m.randint(0, high, (20,)), m.randint(-high, high, (20,))])


def test_refusals():
    half, wide = minitorch.ones(2, dtype=minitorch.float16), minitorch.ones(2)
    for name in ("_standard_gamma", "_sample_dirichlet"):
        with pytest.raises(NotImplementedError, match="not implemented for 'Half'"):
            getattr(minitorch, name)(half)
    with pytest.raises(ValueError, match="floating-point dtypes for count"):
        minitorch.binomial(minitorch.ones(2, dtype=minitorch.int64), wide)
    with pytest.raises(RuntimeError, match="expected Float"):
        minitorch.binomial(wide, wide.double())
    with pytest.raises(RuntimeError, match=r"size|broadcast"):
        minitorch.binomial(wide, minitorch.ones(3))
    prob = minitorch.full((3,), 0.5, requires_grad=True)
    with pytest.raises(RuntimeError, match="derivative for aten::binomial is not implemented"):
        minitorch.binomial(minitorch.full((3,), 4.0), prob).sum().backward()


def test_moments():
    """The means and variances of the samplers, within five standard errors."""
    minitorch.manual_seed(0)
    n = 4000
    for count, prob in ((6.0, 0.3), (200.0, 0.7)):
        x = minitorch.binomial(minitorch.full((n,), count), minitorch.full((n,), prob)).double()
        variance = count * prob * (1 - prob)
        assert abs(x.mean().item() - count * prob) < 5 * (variance / n) ** 0.5
        assert abs(x.var().item() / variance - 1) < 0.15
    for shape in (0.4, 3.0):
        x = minitorch._standard_gamma(minitorch.full((n,), shape)).double()
        assert abs(x.mean().item() - shape) < 5 * (shape / n) ** 0.5
    x = minitorch._sample_dirichlet(minitorch.tensor([1.0, 2.0, 5.0]).expand(n, 3)).double()
    np.testing.assert_allclose(x.sum(1).numpy(), 1, atol=1e-6)
    np.testing.assert_allclose(x.mean(0).numpy(), [1 / 8, 2 / 8, 5 / 8], atol=0.02)
