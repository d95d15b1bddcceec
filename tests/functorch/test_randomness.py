"""Random operators under vmap: refused, drawn once, or drawn for each example (spec V7)."""

from __future__ import annotations

import warnings

import pytest

import minitorch as mt
from minitorch.func import vmap

SIZE, BATCH = 64, 3

# Of a module, a batched tensor and one that is not, both with values between 0 and 1: what is called; and what becomes of it
# with "same" and with "different": "same" or "other" numbers for the examples, or "refused".
CALLS = {
    "rand": (lambda m, a, u: m.rand(SIZE), "same", "other"),
    "randn": (lambda m, a, u: m.randn(SIZE), "same", "other"),
    "randint": (lambda m, a, u: m.randint(1000, (SIZE,)), "same", "other"),
    "randint from": (lambda m, a, u: m.randint(-1000, 1000, (SIZE,)), "same", "other"),
    "randperm": (lambda m, a, u: m.randperm(SIZE), "same", "other"),
    "normal of numbers": (lambda m, a, u: m.normal(0.0, 1.0, (SIZE,)), "same", "other"),
    "generator": (lambda m, a, u: m.rand(SIZE, generator=m.Generator()), "same", "other"),
    "rand_like batched": (lambda m, a, u: m.rand_like(a), "same", "other"),
    "rand_like": (lambda m, a, u: m.rand_like(u), "same", "other"),
    "randn_like batched": (lambda m, a, u: m.randn_like(a), "same", "other"),
    "randint_like": (lambda m, a, u: m.randint_like(u, 1000), "same", "other"),
    "bernoulli batched": (lambda m, a, u: m.bernoulli(a), "refused", "other"),
    "bernoulli": (lambda m, a, u: m.bernoulli(u), "same", "other"),
    "bernoulli p": (lambda m, a, u: m.bernoulli(u, 0.5), "same", "other"),
    "poisson batched": (lambda m, a, u: m.poisson(a * 100), "refused", "other"),
    "poisson": (lambda m, a, u: m.poisson(u * 100), "same", "other"),
    "binomial batched": (lambda m, a, u: m.binomial(m.full_like(u, 100.0), a), "refused", "other"),
    "binomial": (lambda m, a, u: m.binomial(m.full_like(u, 100.0), u), "same", "other"),
    "gamma batched": (lambda m, a, u: m._standard_gamma(a), "refused", "other"),
    "gamma": (lambda m, a, u: m._standard_gamma(u), "same", "other"),
    "dirichlet batched": (lambda m, a, u: m._sample_dirichlet(a), "refused", "other"),
    "dirichlet": (lambda m, a, u: m._sample_dirichlet(u), "same", "other"),
    "normal batched": (lambda m, a, u: m.normal(a, 1.0), "refused", "other"),
    "normal of both": (lambda m, a, u: m.normal(u, a), "refused", "other"),
    "normal": (lambda m, a, u: m.normal(u, u), "same", "other"),
    "multinomial batched": (lambda m, a, u: m.multinomial(a, 32), "refused", "other"),
    "multinomial rows": (lambda m, a, u: m.multinomial(a.reshape(4, -1), 8), "refused", "other"),
    "multinomial": (lambda m, a, u: m.multinomial(u, 32), "same", "other"),
    "dropout": (lambda m, a, u: m.nn.functional.dropout(u), "same", "other"),
    "dropout mask": (lambda m, a, u: m.nn.functional.dropout(m.ones_like(a)) + 0 * a, "same", "other"),
    "native_dropout": (lambda m, a, u: m.native_dropout(u, 0.5, True)[1], "same", "other"),
    "native_dropout batched": (lambda m, a, u: m.native_dropout(m.ones_like(a) + 0 * a, 0.5, True)[0], "same", "other"),
    "dropout in place": (lambda m, a, u: m.nn.functional.dropout(u.clone(), inplace=True), "same", "refused"),
    "feature dropout": (lambda m, a, u: m.nn.functional.dropout2d(u.reshape(1, SIZE, 1, 1)), "same", "other"),
    "uniform_ batched": (lambda m, a, u: a.clone().uniform_(), "same", "other"),
    "uniform_": (lambda m, a, u: u.clone().uniform_(), "same", "refused"),
    "normal_ batched": (lambda m, a, u: a.clone().normal_(), "same", "other"),
    "random_ batched": (lambda m, a, u: a.clone().random_(1000), "same", "other"),
    "random_": (lambda m, a, u: u.clone().random_(1000), "same", "refused"),
    "exponential_ batched": (lambda m, a, u: a.clone().exponential_(), "same", "other"),
    "geometric_ batched": (lambda m, a, u: a.clone().geometric_(0.01), "same", "other"),
    "bernoulli_ batched": (lambda m, a, u: a.clone().bernoulli_(), "same", "other"),
    "bernoulli_ of a batched": (lambda m, a, u: a.clone().bernoulli_(a), "refused", "other"),
    "bernoulli_ of another": (lambda m, a, u: a.clone().bernoulli_(u), "same", "other"),
    "bernoulli_ into another": (lambda m, a, u: u.clone().bernoulli_(a), "refused", "refused"),
    "out": (lambda m, a, u: m.rand(SIZE, out=m.empty(SIZE)), "refused", "refused"),
}  # fmt: skip


def outcome(module, function, vmap, randomness):
    """Return "same" or "other" by the numbers of the examples, or "refused"."""
    module.manual_seed(0)
    batch, one = module.rand(BATCH, SIZE), module.rand(SIZE)
    try:
        found = vmap(lambda a: function(module, a, one), randomness=randomness)(batch)
    except RuntimeError:
        return "refused"
    assert found.shape[0] == BATCH
    return "same" if bool((found[0] == found[1]).all()) and bool((found[0] == found[2]).all()) else "other"


@pytest.mark.parametrize("name", CALLS)
def test_modes(name):
    function, same, different = CALLS[name]
    assert outcome(mt, function, vmap, "same") == same
    assert outcome(mt, function, vmap, "different") == different
    with pytest.raises(RuntimeError, match=r"randomness error mode|out= of a random|is not possible"):
        vmap(lambda a: function(mt, a, mt.ones(SIZE)))(mt.ones(BATCH, SIZE))


@pytest.mark.oracle
@pytest.mark.parametrize("name", CALLS)
def test_modes_are_those_of_pytorch(name, torch):
    function, same, different = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its loops
        assert outcome(torch, function, torch.vmap, "same") == same
        assert outcome(torch, function, torch.vmap, "different") == different


def test_composites_draw_inside():
    """Also those that are not marked as random, with nothing batched."""
    q, x = mt.rand(2, 8, 4), mt.rand(SIZE) - 0.5
    functions = [
        lambda a: mt.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=0.5),
        lambda a: mt.nn.functional.rrelu(x, training=True),
        lambda a: mt.nn.functional.rrelu(a - 0.5, training=True) - mt.nn.functional.rrelu(a - 0.5),
    ]
    for function in functions:
        batch = mt.rand(SIZE).expand(BATCH, SIZE)
        with pytest.raises(RuntimeError, match="randomness error mode"):
            vmap(function)(batch)
        found = vmap(function, randomness="different")(batch)
        assert not (found[0] == found[1]).all()
        found = vmap(function, randomness="same")(batch)
        assert (found[0] == found[1]).all()
    # What drops nothing draws nothing.
    assert vmap(lambda a: mt.nn.functional.dropout(x, 0.5, training=False))(batch).shape == (BATCH, SIZE)
    assert vmap(lambda a: mt.nn.functional.scaled_dot_product_attention(q, q, q))(batch).shape == (BATCH, 2, 8, 4)


def test_a_batch_is_drawn_at_once():
    """The numbers are those of one call for the whole batch, from the generator that was given."""
    x = mt.zeros(BATCH, 4)
    for seed in range(2):
        found = vmap(
            lambda a, g=mt.Generator().manual_seed(seed): mt.rand(4, generator=g), randomness="different"
        )(x)  # fmt: skip
        assert (found == mt.rand(BATCH, 4, generator=mt.Generator().manual_seed(seed))).all()
    one = vmap(lambda a: mt.rand(4, generator=mt.Generator().manual_seed(0)), randomness="same")(x)
    assert (one[2] == mt.rand(4, generator=mt.Generator().manual_seed(0))).all()


def test_levels_have_modes_of_their_own():
    x = mt.zeros(2, BATCH)

    def outer(row, randomness):
        return vmap(lambda a: mt.rand(SIZE), randomness=randomness)(row)

    found = vmap(lambda row: outer(row, "same"), randomness="different")(x)
    assert found.shape == (2, BATCH, SIZE)
    assert (found[0, 0] == found[0, 1]).all()
    assert not (found[0, 0] == found[1, 0]).all()
    found = vmap(lambda row: outer(row, "different"), randomness="same")(x)
    assert not (found[0, 0] == found[0, 1]).all()
    assert (found[0] == found[1]).all()
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(lambda row: outer(row, "different"))(x)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(lambda row: outer(row, "error"), randomness="same")(x)


def test_the_place_of_the_batch_and_formats():
    x = mt.zeros(2, 3, 4, 5, 6)
    found = vmap(lambda a: mt.rand_like(a, memory_format=mt.channels_last), in_dims=2, randomness="different")(x)
    assert found.shape == (4, 2, 3, 5, 6)
    assert found[0].is_contiguous(memory_format=mt.channels_last)
    assert vmap(lambda a: mt.randn_like(a, dtype=mt.float64), -1, randomness="same")(x).shape == (6, 2, 3, 4, 5)
    for randomness in ("same", "different"):
        y = mt.zeros(3, 4)
        vmap(lambda a: a.uniform_(1, 2), in_dims=-1, randomness=randomness)(y)  # writes through
        assert ((y >= 1) & (y <= 2)).all()
        assert vmap(lambda a: mt.randperm(4), randomness=randomness)(mt.zeros(0, 2)).shape == (0, 4)
        assert vmap(lambda a: mt.rand(4), randomness=randomness)(mt.zeros(0, 2)).shape == (0, 4)


def test_gradients_meet_the_same_mask():
    def kept(x):
        return mt.nn.functional.dropout(x, 0.5).sum()

    x = mt.ones(BATCH, SIZE)
    found = vmap(mt.func.grad(kept), randomness="different")(x)
    assert set(found.unique().tolist()) == {0.0, 2.0}
    assert not (found[0] == found[1]).all()
    found = vmap(mt.func.grad(kept), randomness="same")(x)
    assert set(found.unique().tolist()) == {0.0, 2.0}
    assert (found[0] == found[1]).all()


def test_chunks_with_the_same_randomness():
    found = vmap(lambda a: a + mt.rand(SIZE), randomness="same", chunk_size=2)(mt.zeros(5, SIZE))
    assert (found == found[0]).all()
    found = vmap(lambda a: a + mt.rand(SIZE), randomness="different", chunk_size=2)(mt.zeros(5, SIZE))
    assert not (found[0] == found[2]).all()


def test_bounds_that_are_batched():
    with pytest.raises(RuntimeError, match="randint_like"):
        vmap(lambda a: mt.randint_like(mt.zeros(3), a), randomness="different")(mt.tensor([2, 3]))
