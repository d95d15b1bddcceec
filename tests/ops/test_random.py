"""Random operators: PyTorch's numbers end to end, gradients, generators, errors."""

import numpy as np
import pytest

import minitorch

M = minitorch


@pytest.fixture(autouse=True)
def seeded():
    state = M.get_rng_state()
    M.manual_seed(0)
    yield
    M.set_rng_state(state)


def near(values):
    return pytest.approx(values, abs=1e-4)


def test_first_numbers_of_seed_0():
    assert M.rand(4).tolist() == near([0.4963, 0.7682, 0.0885, 0.1320])
    M.manual_seed(0)
    assert M.randn(4).tolist() == near([1.5410, -0.2934, -2.1788, 0.5684])
    M.manual_seed(0)
    assert M.randint(0, 10, (6,)).tolist() == [4, 9, 3, 0, 3, 9]
    M.manual_seed(0)
    assert M.randperm(6).tolist() == [2, 5, 3, 0, 1, 4]
    M.manual_seed(0)
    assert M.empty(8).bernoulli_(0.5).tolist() == [0, 0, 1, 0, 0, 0, 1, 1]
    M.manual_seed(0)
    assert M.empty(3).exponential_().tolist() == near([3.5083, 1.2304, 0.6150])


def test_generators_are_independent():
    gen = M.Generator().manual_seed(3)
    first = M.rand(3, generator=gen)
    M.rand(10)
    gen.manual_seed(3)
    assert M.rand(3, generator=gen).tolist() == first.tolist()
    assert M.empty(3).uniform_(generator=gen.manual_seed(3)).tolist() == first.tolist()
    state = gen.get_state()
    assert state.dtype is M.uint8
    after = M.randn(1, generator=gen).item()
    gen.set_state(state)
    assert M.randn(1, generator=gen).item() == after


def test_rng_state_and_fork():
    state = M.get_rng_state()
    first = M.randn(3).tolist()
    M.set_rng_state(state)
    with M.random.fork_rng():
        assert M.randn(3).tolist() == first
        M.manual_seed(77)
    assert M.randn(3).tolist() == first
    assert M.initial_seed() == 0
    assert M.manual_seed(5) is M.default_generator
    assert M.seed() == M.initial_seed()


def test_dtypes_and_shapes():
    assert M.rand(2, 3, dtype=M.float64).dtype is M.float64
    assert M.randn(2, dtype=M.complex64).dtype is M.complex64
    assert M.randint(5, (2, 3)).dtype is M.int64
    assert M.randint(5, (2,), dtype=M.uint8).dtype is M.uint8
    assert M.randint_like(M.zeros(2, 2), 3, 8).dtype is M.float32
    assert M.randperm(4, dtype=M.int32).dtype is M.int32
    assert M.multinomial(M.ones(2, 5), 3).shape == (2, 3)
    assert M.normal(0.0, 1.0, (2, 3)).shape == (2, 3)
    assert M.normal(M.zeros(2, 1), M.ones(3)).shape == (2, 3)
    for call in (M.rand, M.randn):
        assert call(2, 3, device="meta").is_meta
        assert call((2, 3)).shape == call([2, 3]).shape == call(size=(2, 3)).shape == (2, 3)


def test_filling_returns_the_tensor_and_counts_as_a_change():
    x = M.zeros(3)
    assert x.uniform_(2, 3) is x
    assert x._version == 1
    assert ((x >= 2) & (x < 3)).all().item()


def test_out():
    out = M.empty(0, dtype=M.float64)
    M.manual_seed(1)
    assert M.rand(3, out=out) is out
    M.manual_seed(1)
    assert out.tolist() == M.rand(3, dtype=M.float64).tolist()
    assert M.randperm(5, out=M.empty(0, dtype=M.int32)).shape == (5,)
    assert M.randint(3, (2,), out=M.empty(0, dtype=M.int64)).shape == (2,)
    with pytest.raises(RuntimeError, match="scalar type Long"):
        M.multinomial(M.ones(3), 2, out=M.empty(2))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: M.rand(2, dtype=M.int64), NotImplementedError, "check_uniform_bounds.*Long"),
        (lambda: M.randn(2, dtype=M.int64), NotImplementedError, "normal_kernel_cpu.*Long"),
        (lambda: M.randint(0, (2,)), RuntimeError, "from=0 >= to=0"),
        (lambda: M.randint(5, 3, (2,)), RuntimeError, "from=5 >= to=3"),
        (lambda: M.randint(300, (2,), dtype=M.uint8), RuntimeError, "out of bounds for unsigned"),
        (lambda: M.randperm(-1), RuntimeError, "negative dimension"),
        (lambda: M.randperm(300, dtype=M.uint8), RuntimeError, "uint8_t without overflow"),
        (lambda: M.zeros(2).uniform_(3, 1), RuntimeError, "from=3 > to=1"),
        (lambda: M.zeros(2).uniform_(-3e38, 3e38), RuntimeError, "exceed the limit"),
        (lambda: M.zeros(2).normal_(0, -1), RuntimeError, "std >= 0.0, but found std -1"),
        (lambda: M.normal(M.zeros(2), -M.ones(2)), RuntimeError, "all elements of std >= 0.0"),
        (lambda: M.zeros(2).exponential_(0), RuntimeError, "lambda > 0.0"),
        (lambda: M.zeros(2).long().exponential_(), RuntimeError, "continuous probability"),
        (lambda: M.zeros(2).cauchy_(0, 0), RuntimeError, "sigma > 0.0"),
        (lambda: M.zeros(2).geometric_(1.0), RuntimeError, r"p to be in \(0, 1\)"),
        (lambda: M.zeros(2).log_normal_(0, 0), RuntimeError, "std > 0.0"),
        (lambda: M.zeros(2).bernoulli_(1.5), RuntimeError, r"p to be in \[0, 1\]"),
        (lambda: M.bernoulli(M.tensor([0.5, -0.1])), RuntimeError, "p_in >= 0"),
        (lambda: M.bernoulli(M.tensor([1, 0])), NotImplementedError, "bernoulli_tensor"),
        (lambda: M.poisson(M.tensor([-1.0])), RuntimeError, "invalid Poisson rate"),
        (lambda: M.multinomial(M.ones(2), 3), RuntimeError, "without replacement"),
        (lambda: M.multinomial(M.zeros(2), 1), RuntimeError, "sum of probabilities <= 0"),
        (lambda: M.multinomial(M.tensor([1.0, -1]), 1), RuntimeError, "element < 0"),
        (lambda: M.multinomial(M.ones(2, 2, 2), 1), RuntimeError, "1 or 2 dim"),
        (lambda: M.dropout(M.ones(2), 1.5, True), RuntimeError, "between 0 and 1"),
        (lambda: M.feature_dropout(M.ones(2), 0.5, True), RuntimeError, "at least 2 dim"),
        (lambda: M.Generator("meta"), RuntimeError, "not supported"),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_dropout():
    x = M.ones(1000, requires_grad=True)
    y = M.dropout(x, 0.25, True)
    assert sorted(set(y.tolist())) == near([0, 4 / 3])
    assert y.mean().item() == pytest.approx(1, abs=0.1)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    assert M.dropout(x, 0.5, False) is x
    assert M.dropout(x, 0.0, True) is x
    assert not M.dropout(x, 1.0, True).any().item()
    z = M.ones(10)
    assert M.dropout_(z, 0.5, True) is z


def test_native_dropout():
    x = M.ones(100, requires_grad=True)
    y, mask = M.native_dropout(x, 0.5, True)
    assert mask.dtype is M.bool
    assert y.tolist() == (mask * 2.0).tolist()
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    y, mask = M.native_dropout(x, 0.5, False)
    assert y.tolist() == x.tolist()
    assert mask.all().item()


def test_feature_dropout_drops_whole_maps():
    y = M.feature_dropout(M.ones(8, 8, 3, 3), 0.5, True)
    per_map = y.reshape(64, 9)
    assert (per_map == per_map[:, :1]).all().item()
    assert set(y.reshape(-1).tolist()) == {0.0, 2.0}


def test_alpha_dropout_keeps_mean_and_variance():
    y = M.alpha_dropout(M.randn(100_000), 0.3, True)
    assert y.mean().item() == pytest.approx(0, abs=0.02)
    assert y.std().item() == pytest.approx(1, abs=0.02)


def test_draws_have_no_gradient():
    x = M.ones(3, requires_grad=True)
    y = (x * 2).normal_()
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]
    mean = M.zeros(3, requires_grad=True)
    M.normal(mean, M.ones(2, 3)).sum().backward()
    assert mean.grad.tolist() == [0, 0, 0]


# ---------------------------------------------------------------- against torch


def layouts():
    """Return (shape, strides) of arrays that lie in memory in all kinds of ways."""
    return [
        ((), ()),
        ((5,), (1,)),
        ((40,), (2,)),
        ((4, 5), (5, 1)),
        ((4, 5), (1, 4)),
        ((4, 5), (12, 2)),
        ((2, 3, 4), (4, 8, 1)),
        ((2, 3, 4, 5), (60, 1, 15, 3)),
        ((3, 1, 4), (1, 7, 3)),
        ((4, 4), (1, 4)),
    ]


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_fills_follow_memory_as_torchs(torch, name):
    calls = [
        lambda t: t.uniform_(1, 2),
        lambda t: t.normal_(0.5, 2),
        lambda t: t.bernoulli_(0.3),
        lambda t: t.random_(100),
        lambda t: t.random_(),
        lambda t: t.exponential_(2),
        lambda t: t.cauchy_(),
        lambda t: t.geometric_(0.3),
        lambda t: t.log_normal_(),
    ]
    for shape, strides in layouts():
        for call in calls:
            M.manual_seed(1)
            torch.manual_seed(1)
            ours = call(M.empty_strided(shape, strides, dtype=getattr(M, name)))
            theirs = call(torch.empty_strided(shape, strides, dtype=getattr(torch, name)))
            assert np.array_equal(ours.numpy(), theirs.numpy()), (shape, strides)


@pytest.mark.oracle
def test_functions_against_torch(torch):
    calls = [
        lambda m, x: m.bernoulli(x),
        lambda m, x: m.bernoulli(x, 0.3),
        lambda m, x: m.poisson(x * 20),
        lambda m, x: m.rand_like(x),
        lambda m, x: m.randn_like(x),
        lambda m, x: m.randint_like(x, 9),
        lambda m, x: m.randint_like(x, -3, 9),
        lambda m, x: m.normal(x, 0.7),
        lambda m, x: m.normal(0.3, x),
        lambda m, x: m.normal(x, x),
        lambda m, x: m.dropout(x, 0.3, True),
        lambda m, x: m.alpha_dropout(x, 0.3, True),
        lambda m, x: m.native_dropout(x, 0.3, True)[0],
        lambda m, x: m.zeros(x.shape).bernoulli_(x),
        lambda m, x: m.feature_dropout(x, 0.3, True) if x.ndim > 1 else x,
        lambda m, x: m.feature_alpha_dropout(x, 0.3, True) if x.ndim > 1 else x,
    ]
    for shape, strides in layouts():
        values = np.asarray(np.random.RandomState(0).rand(*shape), np.float32)
        for call in calls:
            M.manual_seed(2)
            torch.manual_seed(2)
            ours = M.empty_strided(shape, strides).copy_(M.tensor(values))
            theirs = torch.empty_strided(shape, strides).copy_(torch.tensor(values))
            a, b = call(M, ours), call(torch, theirs)
            assert np.array_equal(a.numpy(), b.numpy()), (shape, strides, calls.index(call))


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:.*out of bounds")
def test_integers_of_floating_tensors_against_torch(torch):
    for name, low, high in [
        ("float32", 0, 2**25),
        ("float32", -(2**25) - 1, 2**26 + 1),
        ("float16", -3001, 4097),
        ("float16", 0, 4096),
        ("bfloat16", -1000, 1001),
        ("float64", -(2**54), 2**54 + 1),
    ]:
        M.manual_seed(2)
        torch.manual_seed(2)
        ours = M.randint(low, high, (50,), dtype=getattr(M, name))
        theirs = torch.randint(low, high, (50,), dtype=getattr(torch, name))
        assert ours.double().tolist() == theirs.double().tolist(), (name, low, high)
