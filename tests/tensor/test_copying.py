"""`copy`, `deepcopy` and `pickle`: what shares memory keeps sharing it."""

import copy
import pickle

import numpy as np
import pytest

import minitorch
from minitorch import nn


def repickled(value):
    return pickle.loads(pickle.dumps(value))


DUPLICATES = pytest.mark.parametrize("duplicate", [copy.deepcopy, repickled])
EVERY_DTYPE = ["bool", "uint8", "int16", "int64", "float16", "bfloat16", "float8_e5m2", "float32"]
EVERY_DTYPE += ["float64", "complex64", "uint64"]


@DUPLICATES
@pytest.mark.parametrize("name", EVERY_DTYPE)
def test_values_and_dtype(duplicate, name):
    x = minitorch.arange(6).reshape(2, 3).to(getattr(minitorch, name))
    y = duplicate(x)
    assert y.dtype is x.dtype
    assert y.shape == x.shape
    assert y.tolist() == x.tolist()
    assert y.data_ptr() != x.data_ptr()


@DUPLICATES
@pytest.mark.parametrize(
    "make",
    [
        lambda: minitorch.tensor(3.5),
        lambda: minitorch.zeros(0, 3),
        lambda: minitorch.arange(12).reshape(3, 4).t(),
        lambda: minitorch.arange(12).reshape(3, 4)[1:, ::2],
        lambda: minitorch.arange(3).expand(2, 3),
        lambda: minitorch.from_numpy(np.arange(4)[::-1]),
        lambda: minitorch.from_numpy(np.asfortranarray(np.arange(6).reshape(2, 3))),
    ],
)
def test_geometry(duplicate, make):
    x = make()
    y = duplicate(x)
    assert y.tolist() == x.tolist()
    assert y.stride() == x.stride()
    if x.numel():
        assert y.storage_offset() == x.storage_offset()


@DUPLICATES
def test_views_share_memory_among_the_copies(duplicate):
    base = minitorch.arange(6.0)
    base_copy, view_copy, again = duplicate([base, base[2:4], base])
    assert again is base_copy
    view_copy.fill_(-1)
    assert base_copy.tolist() == [0, 1, -1, -1, 4, 5]
    assert base.tolist() == [0, 1, 2, 3, 4, 5]
    before = base_copy._version
    view_copy.add_(1)
    assert base_copy._version == before + 1


def test_separate_deepcopies_share_nothing():
    base = minitorch.arange(6.0)
    first, second = copy.deepcopy(base), copy.deepcopy(base[2:4])
    second.fill_(-1)
    assert first.tolist() == [0, 1, 2, 3, 4, 5]


def test_copy_shares_memory():
    x = minitorch.arange(3.0, requires_grad=True)
    y = copy.copy(x)
    assert y is not x
    assert y.requires_grad
    with minitorch.no_grad():
        y.mul_(2)
    assert x.tolist() == [0, 2, 4]


@DUPLICATES
def test_requires_grad(duplicate):
    x = minitorch.ones(2, requires_grad=True)
    y = duplicate(x)
    assert y.requires_grad
    assert y.is_leaf
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3, 3]
    assert x.grad is None
    assert not duplicate(minitorch.ones(2)).requires_grad


def test_deepcopy_takes_the_gradient_and_pickle_does_not():
    x = minitorch.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    y = copy.deepcopy(x)
    assert y.grad.tolist() == [3, 3]
    assert y.grad is not x.grad
    assert repickled(x).grad is None


def test_deepcopy_refuses_history():
    x = minitorch.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x)


@DUPLICATES
def test_parameters(duplicate):
    parameter = nn.Parameter(minitorch.arange(3.0))
    first, second = duplicate([parameter, parameter])
    assert first is second
    assert type(first) is nn.Parameter
    assert first.requires_grad
    assert first.tolist() == [0, 1, 2]
    assert not duplicate(nn.Parameter(minitorch.ones(1), requires_grad=False)).requires_grad


@DUPLICATES
def test_meta(duplicate):
    x = minitorch.empty(2, 3, device="meta").t()
    y = duplicate(x)
    assert y.is_meta
    assert (y.shape, y.stride(), y.dtype) == (x.shape, x.stride(), x.dtype)


class Labelled(minitorch.Tensor):
    pass


@DUPLICATES
def test_subclasses_and_attributes(duplicate):
    x = minitorch.ones(2)
    x.label = ["a"]
    y = duplicate(x)
    assert y.label == ["a"]
    assert y.label is not x.label
    z = minitorch.ones(2).as_subclass(Labelled)
    z.label = "b"
    w = duplicate(z)
    assert type(w) is Labelled
    assert w.label == "b"
    assert w.tolist() == [1, 1]


def test_files_hold_no_more_than_the_memory():
    size = len(pickle.dumps(minitorch.zeros(1000), protocol=5))
    assert 4000 < size < 4600
    both = minitorch.zeros(1000)
    assert len(pickle.dumps([both, both[:10], both.t()], protocol=5)) < 5400
