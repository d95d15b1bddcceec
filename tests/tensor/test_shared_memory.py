"""Writing to memory that overlaps itself, and growing memory that belongs to others."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import minitorch


def expanded():
    return minitorch.ones(1).expand(3)


_REFUSED = {
    "add_": lambda x: x.add_(1),
    "add_ tensor": lambda x: x.add_(minitorch.ones(3)),
    "mul_": lambda x: x.mul_(2),
    "exp_": lambda x: x.exp_(),
    "relu_": lambda x: x.relu_(),
    "clamp_": lambda x: x.clamp_(0),
    "pow_": lambda x: x.pow_(2),
    "sigmoid_": lambda x: x.sigmoid_(),
    "cumsum_": lambda x: x.cumsum_(0),
    "lerp_": lambda x: x.lerp_(minitorch.ones(3), 0.5),
    "addcmul_": lambda x: x.addcmul_(minitorch.ones(3), minitorch.ones(3)),
    "copy_": lambda x: x.copy_(minitorch.ones(3)),
    "normal_": lambda x: x.normal_(),
    "uniform_": lambda x: x.uniform_(),
    "bernoulli_": lambda x: x.bernoulli_(),
    "index_add_": lambda x: x.index_add_(0, minitorch.tensor([0]), minitorch.ones(1)),
    "index_copy_": lambda x: x.index_copy_(0, minitorch.tensor([0]), minitorch.ones(1)),
    "scatter_": lambda x: x.scatter_(0, minitorch.tensor([0]), 1.0),
    "scatter_add_": lambda x: x.scatter_add_(0, minitorch.tensor([0]), minitorch.ones(1)),
    "put_": lambda x: x.put_(minitorch.tensor([0]), minitorch.ones(1)),
    "masked_scatter_": lambda x: x.masked_scatter_(x > 0, minitorch.ones(3)),
    "setitem": lambda x: x.__setitem__(slice(None), minitorch.ones(3)),
}
_ALLOWED = {
    "zero_": (lambda x: x.zero_(), 0.0),
    "fill_": (lambda x: x.fill_(2), 2.0),
    "masked_fill_": (lambda x: x.masked_fill_(x > 0, 4.0), 4.0),
    "index_fill_": (lambda x: x.index_fill_(0, minitorch.tensor([0]), 5.0), 5.0),
    "index_put_": (lambda x: x.index_put_((minitorch.tensor([0]),), minitorch.tensor([6.0])), 6.0),
    "setitem of one": (lambda x: x.__setitem__(0, 7.0), 7.0),
    "view": (lambda x: x[1].mul_(8), 8.0),
    "view twice": (lambda x: x[1].mul_(3).mul_(3), 9.0),
}


@pytest.mark.parametrize("name", _REFUSED)
def test_in_place_operators_refuse_memory_that_overlaps_itself(name):
    x = expanded()
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory"):
        _REFUSED[name](x)
    assert x.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("name", _ALLOWED)
def test_what_writes_one_value_may(name):
    write, value = _ALLOWED[name]
    x = expanded()
    write(x)
    assert x.tolist() == [value] * 3
    assert x._base.tolist() == [value]
    with pytest.raises(RuntimeError, match="single memory"):
        x.add_(1)  # it is still refused


@pytest.mark.parametrize(
    "make",
    [
        lambda: minitorch.ones(1).broadcast_to(3),
        lambda: minitorch.ones(3, 1).expand(3, 2).t(),
        lambda: minitorch.ones(4).as_strided((2, 2), (0, 1)),
        lambda: minitorch.ones(1).expand(3).detach(),
        lambda: (minitorch.ones(1, requires_grad=True) * 1).expand(3),
        lambda: minitorch.ones(1).expand(2, 3)[0],
        lambda: minitorch.ones(1).t().expand(4).view(4),
    ],
)
def test_however_it_was_made(make):
    x = make()
    with pytest.raises(RuntimeError, match="single memory"):
        x.add_(1)
    with minitorch.inference_mode(), pytest.raises(RuntimeError, match="single memory"):
        make().mul_(2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: minitorch.ones(3).expand(3),
        lambda: minitorch.ones(2, 1).expand(2, 1),
        lambda: minitorch.ones(1).expand(1),
        lambda: minitorch.ones(1).expand(0),
        lambda: minitorch.ones(1, 2).expand(3, 2)[1],
        lambda: minitorch.ones(1, 2).expand(3, 2)[0:1],
        lambda: minitorch.ones(1).expand(3).clone(),
        lambda: minitorch.ones(1).expand(3).contiguous(),
    ],
)
def test_what_does_not_overlap_is_written(make):
    x = make()
    shape = x.shape
    x.add_(1)
    assert x.tolist() == minitorch.full(tuple(shape), 2.0).tolist()


def test_results_of_expanded_operands_are_ordinary():
    x = expanded()
    for result in (x + 1, x.exp(), x * x, x.sum(), x.clone(), x.to(minitorch.float64)):
        result.add_(1)


def test_numpy_may_write_to_an_expanded_tensor_s_memory():
    x = expanded()
    x.numpy()[0] = 5
    assert x.tolist() == [5.0] * 3


def test_gradients_of_expanded_tensors():
    x = minitorch.ones(1, requires_grad=True)
    x.expand(3).sum().backward()
    x.expand(3).sum().backward()  # adds in place to what the first made
    assert x.grad.tolist() == [6.0]
    y = minitorch.ones(3, requires_grad=True)
    y.sum().backward()  # the gradient is an expanded one
    y.grad.add_(1)
    assert y.grad.tolist() == [2.0] * 3


def test_a_read_only_array_is_not_written():
    array = np.ones(3, dtype=np.float32)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        x = minitorch.from_numpy(array)
    with pytest.raises(ValueError, match="read-only"):
        x.add_(1)


# -- memory that belongs to others -------------------------------------------------------


_LENT = {
    "from_numpy": lambda: minitorch.from_numpy(np.ones(3, dtype=np.float32)),
    "as_tensor": lambda: minitorch.as_tensor(np.ones(3, dtype=np.float32)),
    "asarray": lambda: minitorch.asarray(np.ones(3, dtype=np.float32)),
    "frombuffer": lambda: minitorch.frombuffer(bytearray(12), dtype=minitorch.float32),
    "from_dlpack": lambda: minitorch.from_dlpack(np.ones(3, dtype=np.float32)),
    "a view": lambda: minitorch.from_numpy(np.ones(3, dtype=np.float32)).view(3, 1),
}


@pytest.mark.parametrize("name", _LENT)
def test_lent_memory_does_not_grow(name):
    x = _LENT[name]()
    assert not x.untyped_storage().resizable()
    with pytest.raises(RuntimeError, match="storage that is not resizable"):
        x.resize_(5)
    assert x.numel() == 3
    assert x.resize_(2).shape == (2,)  # there is room for less
    assert x.resize_(3).shape == (3,)


def test_out_does_not_grow_lent_memory():
    # Memory without a byte shares nothing, so that it may.
    assert minitorch.exp(minitorch.zeros(3), out=minitorch.from_numpy(np.ones(0, dtype=np.float32))).tolist() == [1, 1, 1]
    out = minitorch.from_numpy(np.ones(1, dtype=np.float32))
    with pytest.warns(UserWarning, match="was resized"), pytest.raises(RuntimeError, match="not resizable"):
        minitorch.add(minitorch.ones(5), 1, out=out)


@pytest.mark.parametrize(
    "make",
    [
        lambda: minitorch.ones(3),
        lambda: minitorch.tensor(np.ones(3)),
        lambda: minitorch.from_numpy(np.ones(3)).clone(),
        lambda: minitorch.as_tensor(np.ones(3), dtype=minitorch.float32),
        lambda: minitorch.asarray(np.ones(3), copy=True),
        lambda: pickle.loads(pickle.dumps(minitorch.from_numpy(np.ones(3)))),
    ],
)
def test_own_memory_grows(make):
    x = make()
    assert x.untyped_storage().resizable()
    assert x.resize_(5).shape == (5,)
    assert x[:3].tolist() == [1.0, 1.0, 1.0]


# -- copy_ -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "source"), [((2,), (1, 2)), ((2,), (1, 1, 2)), ((2,), (2, 2)), ((), (1,)), ((), (1, 1)), ((2,), (3,))]
)
def test_copy_refuses_what_does_not_broadcast(target, source):
    for device in ("cpu", "meta"):
        x = minitorch.zeros(target, device=device)
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape|must match the size"):
            x.copy_(minitorch.ones(source, device=device))


def test_copy_broadcasts_and_takes_numbers():
    assert minitorch.zeros(2, 2).copy_(minitorch.ones(2)).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert minitorch.zeros(2).copy_(3).tolist() == [3.0, 3.0]
    x = minitorch.zeros(2)
    x[:] = minitorch.ones(1, 1, 2)  # an assignment drops leading dimensions of one
    assert x.tolist() == [1.0, 1.0]


def test_movedim_of_a_number():
    x = minitorch.tensor(3.0)
    for moved in (
        x.movedim(0, 0),
        x.movedim(-1, 0),
        minitorch.movedim(x, [0], [-1]),
        x.moveaxis(0, 0),
        x.movedim([], []),
    ):
        assert moved.shape == ()
        assert moved._base is x
    with pytest.raises(IndexError, match="out of range"):
        x.movedim(1, 0)
