"""Random numbers of OpenCL devices: the stream's definition, its independence of the device, and its distributions."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch as mt
from minitorch.backends.opencl import random, runtime


def test_known_answer():
    """The first test vector of the Random123 library."""
    assert random.words_on_host(0, 1, 0).ravel().tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


@pytest.mark.parametrize("count", [1, 15, 16, 17, 1024, 5000])
def test_device_and_host_agree(count):
    seed, first = 1234567890123, (1 << 32) - 7
    expected = random.words_on_host(first, count, seed)
    for planes in (1, 2, 4):
        found = random.words(first, count, seed, planes, runtime.device())
        assert [w.to_host().tolist() for w in found] == expected[:planes].tolist()


def test_uniform_is_made_of_words():
    generator = mt.Generator("opencl").manual_seed(7)
    expected = (random.words_on_host(0, 1000, 7)[0] >> 8).astype(np.float32) * np.float32(2.0**-24)
    assert (mt.rand(1000, device="opencl", generator=generator).cpu().numpy() == expected).all()
    assert generator.get_offset() == 1000


def test_a_stream_continues():
    generator = mt.Generator("opencl").manual_seed(3)
    whole = mt.rand(64, device="opencl", generator=generator).cpu()
    generator.manual_seed(3)
    parts = [mt.rand(n, device="opencl", generator=generator).cpu() for n in (10, 1, 53)]
    assert mt.cat(parts).equal(whole)
    generator.set_offset(11)
    assert mt.rand(53, device="opencl", generator=generator).cpu().equal(whole[11:])


def test_state():
    generator = mt.Generator("opencl").manual_seed(-1)
    state = generator.get_state()
    first = mt.randn(5, device="opencl", generator=generator).cpu()
    generator.set_state(state)
    assert mt.randn(5, device="opencl", generator=generator).cpu().equal(first)
    with pytest.raises(RuntimeError, match="16 bytes"):
        generator.set_state(mt.zeros(3, dtype=mt.uint8))


def test_manual_seed_seeds_the_device():
    mt.manual_seed(5)
    first = mt.randn(8, device="opencl").cpu()
    mt.manual_seed(5)
    assert mt.randn(8, device="opencl").cpu().equal(first)


@pytest.mark.parametrize(("draw", "mean", "deviation"), [
    (lambda x: x.uniform_(-1, 3), 1.0, 4 / 12**0.5),
    (lambda x: x.normal_(1, 2), 1.0, 2.0),
    (lambda x: x.exponential_(2.0), 0.5, 0.5),
    (lambda x: x.geometric_(0.25), 4.0, 12**0.5),
    (lambda x: x.bernoulli_(0.3), 0.3, 0.21**0.5),
    (lambda x: x.log_normal_(0.0, 0.5), np.exp(0.125), ((np.exp(0.25) - 1) * np.exp(0.25)) ** 0.5),
    (lambda x: x.random_(-3, 5), 0.5, (63 / 12) ** 0.5),
])  # fmt: skip
@pytest.mark.parametrize("dtype", [mt.float32, mt.float64])
def test_distributions(draw, mean, deviation, dtype):
    mt.manual_seed(0)
    x = draw(mt.empty(200_000, dtype=dtype, device="opencl")).cpu().double()
    assert abs(x.mean().item() - mean) < 5 * deviation / 200_000**0.5
    assert abs(x.std().item() - deviation) < 0.03 * deviation


def test_permutation_and_multinomial():
    mt.manual_seed(0)
    assert mt.randperm(1000, device="opencl").cpu().sort().values.tolist() == list(range(1000))
    weights = mt.tensor([0.0, 1.0, 3.0, 0.0, 4.0], device="opencl")
    drawn = mt.multinomial(weights, 20_000, replacement=True).cpu()
    shares = mt.bincount(drawn, minlength=5).double() / 20_000
    assert (shares - mt.tensor([0, 1 / 8, 3 / 8, 0, 4 / 8])).abs().max().item() < 0.02
    assert sorted(mt.multinomial(weights, 3).tolist()) == [1, 2, 4]


def test_dropout_keeps_the_share():
    mt.manual_seed(0)
    x = mt.nn.functional.dropout(mt.ones(100_000, device="opencl"), 0.25)
    assert abs((x == 0).float().mean().item() - 0.25) < 0.01
    assert abs(x.mean().item() - 1) < 0.02
