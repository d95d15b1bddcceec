"""From real tensors to fake ones: geometry, sharing, what is remembered and what is refused."""

from __future__ import annotations

import copy
import gc
import weakref

import pytest

import minitorch as mt
from minitorch import nn
from minitorch._subclasses import FakeTensor, FakeTensorMode, UnsupportedFakeTensorException
from minitorch._subclasses.fake_tensor import FakeTensorConverter
from minitorch._subclasses.fake_utils import FakeCopyMode
from minitorch.func import vmap


@pytest.fixture
def mode():
    return FakeTensorMode()


def same_geometry(fake, real):
    return (
        fake.shape == real.shape
        and fake.dtype is real.dtype
        and fake.device is real.device
        and fake.stride() == real.stride()
        and fake.storage_offset() == real.storage_offset()
        and fake.untyped_storage().nbytes() == real.untyped_storage().nbytes()
    )


@pytest.mark.parametrize(
    "real",
    [
        mt.ones(2, 3),
        mt.ones(2, 3).t(),
        mt.ones(4, 5)[1:, ::2],
        mt.ones(3, 1).expand(3, 4),
        mt.ones(2, 0, 3),
        mt.tensor(3),
        mt.ones(2, 3, dtype=mt.bfloat16),
        mt.empty(2, 3, device="meta").t(),
        mt.ones(10).as_strided((2, 3), (1, 2), 3),
    ],
    ids=lambda real: f"{list(real.shape)}{list(real.stride())}",
)
def test_geometry(mode, real):
    fake = mode.from_tensor(real)
    assert type(fake) is FakeTensor
    assert same_geometry(fake, real)


def test_what_autograd_knows(mode):
    leaf = mt.ones(3, requires_grad=True)
    (leaf * 2).sum().backward()
    computed = leaf * 2
    fake, inner = mode.from_tensor(leaf), mode.from_tensor(computed)
    assert fake.requires_grad
    assert fake.is_leaf
    assert same_geometry(fake.grad, leaf.grad)
    assert inner.requires_grad
    assert not inner.is_leaf
    assert isinstance(mode.from_tensor(nn.Parameter(mt.ones(2))), nn.Parameter)
    frozen = mode.from_tensor(nn.Parameter(mt.ones(2), requires_grad=False))
    assert isinstance(frozen, nn.Parameter)
    assert not frozen.requires_grad
    with mt.inference_mode():
        made = mt.ones(2)
    assert mode.from_tensor(made).is_inference()
    (fake * inner).sum().backward()
    assert fake.grad.shape == (3,)


def test_bits(mode):
    real = mt.ones(2, dtype=mt.complex64).conj()
    fake = mode.from_tensor(real)
    assert fake.is_conj()
    assert mode.from_tensor(real.imag).is_neg()


def test_the_same_tensor_gives_the_same_fake(mode):
    real = mt.ones(3)
    fake = mode.from_tensor(real)
    assert mode.from_tensor(real) is fake
    assert mode.from_tensor(fake) is fake
    assert FakeTensorMode().from_tensor(real) is not fake
    assert FakeTensorConverter().from_real_tensor(mode, real) is not fake
    assert FakeTensor.from_tensor(real, mode) is fake


def test_memory_that_is_shared_stays_shared(mode):
    base = mt.ones(4, 5)
    row, column, other = base[1], base[:, 2], mt.ones(4, 5)
    fakes = [mode.from_tensor(t) for t in (row, column, base, base.detach(), other)]
    storages = [f.untyped_storage() for f in fakes]
    assert storages[0] == storages[1] == storages[2] == storages[3]
    assert storages[0] != storages[4]
    assert fakes[0]._base is fakes[2]
    assert fakes[1]._base is fakes[2]
    version = fakes[1]._version
    fakes[0].add_(1)
    assert fakes[1]._version == version + 1


def test_nothing_is_kept_alive(mode):
    real = mt.ones(1000)
    fake = mode.from_tensor(real)
    memory, gone = weakref.ref(real), weakref.ref(fake)
    del real
    gc.collect()
    assert memory() is None
    assert not mode.converter._made
    assert not mode.converter._storages
    del fake
    gc.collect()
    assert gone() is None


def test_a_storage_that_is_gone_is_not_mistaken_for_another(mode):
    kept = []
    for _ in range(20):
        real = mt.ones(3)
        kept.append(mode.from_tensor(real))
        mode.from_tensor(real[1:])
        del real
        gc.collect()
    storages = [fake.untyped_storage() for fake in kept]
    assert all(one != other for i, one in enumerate(storages) for other in storages[:i])


def test_modules(mode):
    real = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 3))
    real[2].weight = real[0].weight
    with FakeCopyMode(mode):
        fake = copy.deepcopy(real)
    assert fake[2].weight is fake[0].weight
    assert isinstance(fake[0].weight, nn.Parameter)
    assert isinstance(fake[1].running_mean, FakeTensor)
    assert type(real[0].weight) is nn.Parameter
    with mode:
        fake(mt.ones(4, 3)).sum().backward()
    assert fake[0].weight.grad.shape == (3, 3)
    assert real[0].weight.grad is None


def test_conversion_is_no_business_of_active_modes(mode):
    row = mt.ones(4, 5)[1]
    with mode:
        fake = mode.from_tensor(row)
    assert fake.storage_offset() == 5


class Wrapped(mt.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError


def test_what_has_no_counterpart(mode):
    with pytest.raises(UnsupportedFakeTensorException, match="Wrapped defines __torch_dispatch__"):
        mode.from_tensor(mt.Tensor._make_subclass(Wrapped, mt.ones(2)))
    with pytest.raises(UnsupportedFakeTensorException, match="transform"):
        vmap(mode.from_tensor)(mt.ones(2, 3))
    with pytest.raises(TypeError, match="expected a Tensor"):
        mode.from_tensor(3)
    with pytest.raises(AssertionError, match="shape environment"):
        mode.from_tensor(mt.ones(2), static_shapes=False)
