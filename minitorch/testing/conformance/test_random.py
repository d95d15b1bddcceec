"""Random numbers of a device: seeds, states, generators, and how they are distributed."""

import math

import pytest

import minitorch
from minitorch.testing.conformance.helpers import backend_module, check_equal, only_for_backends

COUNT = 20000
# Name -> (function of a device and a generator, mean, standard deviation).
DISTRIBUTIONS = {
    "rand": (lambda d, g: minitorch.rand(COUNT, device=d, generator=g), 0.5, math.sqrt(1 / 12)),
    "randn": (lambda d, g: minitorch.randn(COUNT, device=d, generator=g), 0.0, 1.0),
    "randint": (
        lambda d, g: minitorch.randint(2, 12, (COUNT,), device=d, generator=g).float(), 6.5, math.sqrt((10**2 - 1) / 12),
    ),
    "uniform_": (lambda d, g: minitorch.empty(COUNT, device=d).uniform_(-1, 3, generator=g), 1.0, 4 / math.sqrt(12)),
    "normal_": (lambda d, g: minitorch.empty(COUNT, device=d).normal_(2, 3, generator=g), 2.0, 3.0),
    "bernoulli": (lambda d, g: minitorch.bernoulli(minitorch.full((COUNT,), 0.3).to(d), generator=g), 0.3, math.sqrt(0.21)),
    "exponential_": (lambda d, g: minitorch.empty(COUNT, device=d).exponential_(2.0, generator=g), 0.5, 0.5),
    "poisson": (lambda d, g: minitorch.poisson(minitorch.full((COUNT,), 4.0).to(d), generator=g), 4.0, 2.0),
    "multinomial": (
        lambda d, g: minitorch.multinomial(minitorch.tensor([1.0, 3.0]).to(d), COUNT, True, generator=g).float(), 0.75,
        math.sqrt(0.75 * 0.25),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_mean_and_deviation(device, name):
    function, mean, deviation = DISTRIBUTIONS[name]
    minitorch.manual_seed(5)
    found = function(device, None)
    assert found.device == device
    found = found.cpu().double()
    assert abs(found.mean().item() - mean) < 5 * deviation / math.sqrt(COUNT)
    assert abs(found.std().item() - deviation) < 0.1 * deviation


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_same_seed_gives_the_same_numbers(device, name):
    function = DISTRIBUTIONS[name][0]
    drawn = []
    for seed in (3, 3, 4):
        minitorch.manual_seed(seed)
        first = function(device, None)
        drawn.append((first.cpu(), function(device, None).cpu()))
    check_equal(drawn[1][0], drawn[0][0])
    check_equal(drawn[1][1], drawn[0][1])
    assert not minitorch.equal(drawn[0][0], drawn[0][1])
    assert not minitorch.equal(drawn[0][0], drawn[2][0])


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_generators(device, name):
    function = DISTRIBUTIONS[name][0]
    one, other = (minitorch.Generator(device=device).manual_seed(11) for _ in range(2))
    assert one.device == device
    assert one.initial_seed() == 11
    first = function(device, one).cpu()
    minitorch.manual_seed(1)
    check_equal(function(device, other).cpu(), first)
    state = one.get_state()
    second = function(device, one).cpu()
    assert not minitorch.equal(first, second)
    one.set_state(state)
    check_equal(function(device, one).cpu(), second)


def test_the_state_of_the_device(device):
    only_for_backends(device)
    module = backend_module(device)
    module.manual_seed(8)
    assert module.initial_seed() == 8
    state = module.get_rng_state()
    assert state.device.type == "cpu"
    first = minitorch.rand(100, device=device).cpu()
    module.set_rng_state(state)
    check_equal(minitorch.rand(100, device=device).cpu(), first)


def test_streams_of_devices_are_their_own(device):
    only_for_backends(device)
    minitorch.manual_seed(2)
    wanted = minitorch.rand(4)
    minitorch.manual_seed(2)
    minitorch.rand(100, device=device)
    check_equal(minitorch.rand(4), wanted)


def test_fork_rng(device):
    minitorch.manual_seed(2)
    wanted = minitorch.rand(4, device=device).cpu()
    minitorch.manual_seed(2)
    with minitorch.random.fork_rng():
        minitorch.rand(9, device=device)
    check_equal(minitorch.rand(4, device=device).cpu(), wanted)


def test_a_generator_of_another_device_is_refused(device):
    only_for_backends(device)
    with pytest.raises(RuntimeError, match="device"):
        minitorch.empty(3, device=device).uniform_(generator=minitorch.Generator())


def test_dropout_scales_what_it_keeps(device):
    minitorch.manual_seed(0)
    x = minitorch.ones(COUNT, device=device, requires_grad=True)
    y = minitorch.nn.functional.dropout(x, 0.25)
    y.sum().backward()
    check_equal(x.grad, y.detach().cpu(), device, 1.0)
    kept = (y != 0).cpu().float()
    check_equal(y, kept / 0.75, device, 1.0)
    assert abs(kept.mean().item() - 0.75) < 0.02
