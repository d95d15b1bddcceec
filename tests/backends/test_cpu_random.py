"""The CPU's random streams are PyTorch's (docs/random.md)."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

from minitorch.backends.cpu import normal_fill, normal_loop
from minitorch.backends.cpu.random import CPUGenerator
from minitorch.core.dtype import DTYPES
from minitorch.core.generator import Generator

F32, F64, I64 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)
FLOATS = [np.dtype(d) for d in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)]


@pytest.fixture
def gen():
    return CPUGenerator().manual_seed(0)


def test_uniform(gen):
    assert gen.uniform((4,), F32).tolist() == pytest.approx(
        [0.49625658988952637, 0.7682217955589294, 0.08847743272781372, 0.13203048706054688], abs=0
    )
    gen.manual_seed(0)
    assert gen.uniform((3,), F64) == pytest.approx([0.97005, 0.70782, 0.45938], abs=1e-5)
    gen.manual_seed(0)
    assert gen.uniform((1,), np.dtype(np.float16))[0] == np.float16(0.49634)


def test_uniform_never_reaches_the_upper_bound(gen):
    assert (gen.uniform((10_000,), np.dtype(ml_dtypes.bfloat16)) < 1).all()
    assert (gen.uniform((100,), F32, 1.0, 1.0000001) == 1).all()


def test_normal_of_few_elements(gen):
    assert gen.normal((4,), F32) == pytest.approx([1.5410, -0.2934, -2.1788, 0.5684], abs=1e-4)


def test_normal_of_a_block(gen):
    drawn = gen.normal((16,), F32)
    assert drawn[:4] == pytest.approx([-1.1258, -1.1524, -0.2506, -0.4339], abs=1e-4)
    assert drawn[8:10] == pytest.approx([0.3223, -1.2633], abs=1e-4)


@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (0.3, 2.7)])
def test_loop_and_arrays_give_the_same_bits(gen, mean, std):
    rows = gen.uniform((300, 16), F32)
    rows[0, 0], rows[0, 8] = 0, 0
    looped = rows.copy()
    mantissas, exponents = np.frexp(np.float32(1) - looped[:, :8])
    rounded = float(np.float32(mean)), float(np.float32(std))
    normal_loop.fill_blocks(looped, mantissas, exponents, *rounded)
    normal_fill.normal_fill_float32(rows, mean, std)
    assert np.array_equal(looped, rows)


@pytest.mark.parametrize("np_dtype", FLOATS, ids=str)
@pytest.mark.parametrize("count", [17, 40, 1000, 70_000])
def test_normal_moments(gen, np_dtype, count):
    drawn = gen.normal((count,), np_dtype, 3.0, 0.5).astype(np.float64)
    assert drawn.mean() == pytest.approx(3, abs=3 / count**0.5)
    assert drawn.std() == pytest.approx(0.5, abs=2 / count**0.5)


def test_second_of_a_pair_is_kept_and_dropped_by_a_seed(gen):
    first = gen.normal((1,), F32)
    second = gen.normal((1,), F32)
    gen.manual_seed(0)
    assert np.array_equal(gen.normal((2,), F32), np.concatenate([first, second]))
    gen.manual_seed(0)
    gen.normal((1,), F32)
    gen.manual_seed(0)
    assert np.array_equal(gen.normal((1,), F32), first)


def test_integers(gen):
    assert gen.integers((6,), I64, 0, 10).tolist() == [4, 9, 3, 0, 3, 9]


def test_permutation(gen):
    assert gen.randperm(6, I64).tolist() == [2, 5, 3, 0, 1, 4]


@pytest.mark.parametrize("n", [0, 1, 2, 10_000, 30_001])
def test_permutation_is_one(gen, n):
    assert sorted(gen.randperm(n, I64).tolist()) == list(range(n))


def test_long_permutations_are_those_of_the_plain_algorithm(gen):
    n = 12_345
    fast = gen.randperm(n, I64)
    gen.manual_seed(0)
    order = list(range(n))
    for i, draw in enumerate(gen.words(n - 1).tolist()):
        j = i + draw % (n - i)
        order[i], order[j] = order[j], order[i]
    assert fast.tolist() == order


def test_bernoulli(gen):
    assert gen.bernoulli_scalar((8,), 0.5).astype(int).tolist() == [0, 0, 1, 0, 0, 0, 1, 1]
    assert gen.bernoulli_scalar((100,), 1.0).all()
    assert not gen.bernoulli_scalar((100,), 0.0).any()
    assert gen.bernoulli(np.ones(100, np.float32)).all()


def test_exponential(gen):
    assert gen.exponential((3,), F32) == pytest.approx([3.5083, 1.2304, 0.6150], abs=1e-4)


def test_poisson_moments_and_how_far_it_draws(gen):
    rates = np.repeat([0.0, 0.5, 9.0, 30.0], 4000)
    drawn = gen.poisson(rates).reshape(4, -1)
    assert drawn[0].max() == 0
    for row, rate in zip(drawn[1:], [0.5, 9.0, 30.0], strict=True):
        assert row.mean() == pytest.approx(rate, rel=0.05)
        assert row.var() == pytest.approx(rate, rel=0.1)
    after = gen.words(1)[0]
    gen.manual_seed(0)
    for rate in rates:
        gen.poisson(np.array([rate]))
    assert gen.words(1)[0] == after


def test_multinomial(gen):
    weights = np.array([[0.0, 1.0, 3.0]])
    drawn = gen.multinomial(weights, 8000, True)
    assert np.bincount(drawn[0], minlength=3) == pytest.approx([0, 2000, 6000], abs=200)
    assert sorted(gen.multinomial(weights, 2, False)[0].tolist()) == [1, 2]


def test_same_stream_in_pieces_of_any_size(gen):
    whole = gen.words(2000).astype(np.int64)
    gen.manual_seed(0)
    pieces = [gen.words(n).astype(np.int64) for n in (1, 2, 253, 300, 700, 744)]
    assert np.array_equal(np.concatenate(pieces), whole)


# ---------------------------------------------------------------- seeds and states


@pytest.mark.parametrize("draws", [0, 1, 623, 624, 625, 1248])
@pytest.mark.parametrize("cached", [False, True])
def test_state_restores_the_stream(gen, draws, cached):
    gen.words(draws)
    if cached:
        gen.normal((1,), F32)
    state = gen.state_array()
    expected = gen.normal((3,), F64).tolist() + gen.words(700).tolist()
    other = CPUGenerator()
    other.set_state_array(state)
    assert other.initial_seed() == 0
    assert other.normal((3,), F64).tolist() + other.words(700).tolist() == expected


def test_state_must_be_one():
    gen = CPUGenerator()
    with pytest.raises(RuntimeError, match=r"size 5056 but found the input RNG state size to be 10"):
        gen.set_state_array(np.zeros(10, np.uint8))
    with pytest.raises(TypeError, match=r"must be a torch.ByteTensor"):
        gen.set_state_array(np.zeros(10, np.float32))
    with pytest.raises(RuntimeError, match="damaged"):
        gen.set_state_array(np.zeros(5056, np.uint8))


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g)), CPUGenerator.clone_state],
)
def test_duplicates_go_their_own_way(gen, duplicate):
    gen.normal((1,), F32)
    other = duplicate(gen)
    assert isinstance(other, CPUGenerator)
    expected = gen.normal((5,), F32)
    assert np.array_equal(other.normal((5,), F32), expected)


def test_seeds():
    gen = CPUGenerator()
    assert gen.initial_seed() == 67280421310721
    assert gen.manual_seed(-1) is gen
    assert gen.initial_seed() == 2**64 - 1
    assert CPUGenerator().manual_seed(7).words(1) == CPUGenerator().manual_seed(2**32 + 7).words(1)
    value = gen.seed()
    assert gen.initial_seed() == value
    assert gen.seed() != value
    with pytest.raises(ValueError, match="Overflow"):
        gen.manual_seed(2**64)
    with pytest.raises(RuntimeError, match="expected a long, but got float"):
        gen.manual_seed(1.5)


def test_generator_picks_the_class_of_the_device():
    assert isinstance(Generator("cpu"), CPUGenerator)
    assert isinstance(Generator(), CPUGenerator)
    with pytest.raises(RuntimeError, match="not supported"):
        Generator("meta")


# ---------------------------------------------------------------- against torch

SIZES = [0, 1, 2, 7, 15, 16, 17, 31, 32, 33, 100, 255, 256, 257, 1000, 5000]


def as_numpy(tensor):
    """Return a torch tensor as an array whose elements can be compared."""
    return tensor.double().numpy() if tensor.element_size() == 2 else tensor.numpy()


class Pair:
    """Our generator and torch's, at the same position of the same stream."""

    def __init__(self, torch, seed):
        self.torch = torch
        self.ours = CPUGenerator().manual_seed(seed)
        self.torch.manual_seed(seed)

    def check(self, name, ours, theirs):
        theirs = as_numpy(theirs)
        ours = ours.astype(theirs.dtype)
        assert np.array_equal(ours, theirs, equal_nan=True), name
        assert position(self.ours.state_array()) == position(self.torch.get_rng_state().numpy()), (
            name
        )


def position(state):
    """Return what of a state decides the draws to come."""
    left, next_word = int(state[8:12].view(np.int32)[0]), int(state[16:24].view(np.int64)[0])
    return left, next_word % 624, state[24:].tobytes()


@pytest.mark.oracle
@pytest.mark.parametrize("seed", [0, 123456789, 2**40 + 3, -1])
@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16"])
def test_floats_against_torch(torch, seed, name):
    pair = Pair(torch, seed)
    gen = pair.ours
    dtype, np_dtype = getattr(torch, name), DTYPES[name].np
    for n in SIZES:
        empty = torch.empty(n, dtype=dtype)
        gap = torch.empty(n, 2, dtype=dtype)[:, 0]
        shape = (n,)
        pair.check("rand", gen.uniform(shape, np_dtype), torch.rand(n, dtype=dtype))
        pair.check("uniform_", gen.uniform(shape, np_dtype, 1.1, 1.3), empty.uniform_(1.1, 1.3))
        pair.check("randn", gen.normal(shape, np_dtype), torch.randn(n, dtype=dtype))
        pair.check("normal_", gen.normal(shape, np_dtype, 0.3, 2.7), empty.normal_(0.3, 2.7))
        pair.check(
            "normal_, strided",
            gen.normal(shape, np_dtype, 0.3, 2.7, blocks=False),
            gap.normal_(0.3, 2.7),
        )
        pair.check("exponential_", gen.exponential(shape, np_dtype, 0.37), empty.exponential_(0.37))
        pair.check("cauchy_", gen.cauchy(shape, np_dtype, 0.3, 2.5), empty.cauchy_(0.3, 2.5))
        pair.check("geometric_", gen.geometric(shape, np_dtype, 0.13), empty.geometric_(0.13))
        pair.check(
            "log_normal_", gen.log_normal(shape, np_dtype, 0.3, 0.5), empty.log_normal_(0.3, 0.5)
        )
        p = torch.linspace(0, 1, n).to(dtype)
        pair.check("bernoulli", gen.bernoulli(as_numpy(p).astype(np_dtype)), torch.bernoulli(p))
        pair.check("bernoulli_", gen.bernoulli_scalar(shape, 0.3), empty.bernoulli_(0.3))
        rates = torch.linspace(0, 40, n).to(dtype)
        pair.check("poisson", gen.poisson(as_numpy(rates).astype(np_dtype)), torch.poisson(rates))
        if n:
            weights = torch.linspace(0.1, 1, 3 * n, dtype=torch.float64).reshape(3, n).to(dtype)
            ours = as_numpy(weights).astype(np_dtype)
            pair.check(
                "multinomial 1", gen.multinomial(ours, 1, False), torch.multinomial(weights, 1)
            )
            pair.check(
                "multinomial, replacement",
                gen.multinomial(ours, 50, True),
                torch.multinomial(weights, 50, replacement=True),
            )
            if np_dtype.itemsize >= 4 and n < 1000:  # no ties
                pair.check(
                    "multinomial", gen.multinomial(ours, n, False), torch.multinomial(weights, n)
                )


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_against_torch(torch, name):
    pair = Pair(torch, 5)
    gen = pair.ours
    dtype, np_dtype = getattr(torch, name), DTYPES[name].np
    for n in SIZES:
        pair.check("randn", gen.normal((n,), np_dtype), torch.randn(n, dtype=dtype))
        pair.check("rand", gen.uniform((n,), np_dtype), torch.rand(n, dtype=dtype))


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["int64", "int32", "uint8", "int16", "int8", "bool", "float32"])
def test_integers_against_torch(torch, name):
    pair = Pair(torch, 6)
    gen = pair.ours
    dtype, np_dtype = getattr(torch, name), DTYPES[name].np
    bounds = {
        "int64": [(0, 10), (-5, 7), (0, 2**28 - 1), (0, 2**28), (0, 2**32), (-(2**40), 2**40)],
        "int32": [(0, 10), (-5, 7), (0, 2**28), (-(2**31), 2**31 - 1)],
        "int16": [(-5, 7)],
        "uint8": [(0, 256)],
        "int8": [(-128, 128)],
        "bool": [(0, 2)],
        "float32": [(-5, 7), (0, 2**24)],
    }
    digits = {
        "int64": 63,
        "int32": 31,
        "int16": 15,
        "uint8": 8,
        "int8": 7,
        "bool": 1,
        "float32": 24,
    }
    for n in SIZES:
        for low, high in bounds[name]:
            pair.check(
                (low, high),
                gen.integers((n,), np_dtype, low, high),
                torch.randint(low, high, (n,), dtype=dtype),
            )
        pair.check(
            "random_",
            gen.integers_of_type((n,), np_dtype, digits[name]),
            torch.empty(n, dtype=dtype).random_(),
        )
        pair.check("randperm", gen.randperm(n, I64), torch.randperm(n))
    pair.check("randperm", gen.randperm(20_000, I64), torch.randperm(20_000))


@pytest.mark.oracle
def test_states_travel_to_torch_and_back(torch):
    torch.manual_seed(11)
    torch.rand(1000)
    torch.randn(1)
    gen = CPUGenerator()
    gen.set_state_array(torch.get_rng_state().numpy())
    assert np.array_equal(gen.normal((5,), F32), torch.randn(5).numpy())
    gen.words(77)
    gen.normal((1,), F32)
    torch.set_rng_state(torch.from_numpy(gen.state_array()))
    assert np.array_equal(gen.normal((40,), F32), torch.randn(40).numpy())
    assert np.array_equal(gen.normal((5,), F64), torch.randn(5, dtype=torch.float64).numpy())
