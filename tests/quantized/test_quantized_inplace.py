"""Writing into quantized tensors: the parameters stay, whoever shares the integers, and changes are counted."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch as mt
from minitorch.backends import requantize_policy

VALUES = [[0.0, 0.1, -0.2], [1.0, -1.3, 12.0]]


@pytest.fixture(autouse=True)
def quiet():
    with requantize_policy("allow"):
        yield


def per_tensor():
    return mt.quantize_per_tensor(mt.tensor(VALUES), 0.1, 3, mt.qint8)


def per_channel():
    return mt.quantize_per_channel(mt.tensor(VALUES), mt.tensor([0.1, 0.2]), mt.tensor([0, 1]), 0, mt.qint8)


def facts(q):
    return q.qscheme(), q.q_scale() if q.qscheme() is mt.per_tensor_affine else q.q_per_channel_scales().tolist()


def leaves_range(q):
    q.add_(100.0)


def has_own_parameters(q):
    q.sigmoid_()


def has_a_kernel(q):
    q.relu_()


def adds_itself(q):
    q += q


def meets_a_float(q):
    q.mul_(mt.full((2, 3), 1.5))


def is_random(q):
    q.uniform_(0.0, 1.0)


@pytest.mark.parametrize("make", [per_tensor, per_channel])
@pytest.mark.parametrize("write", [leaves_range, has_own_parameters, has_a_kernel, adds_itself, meets_a_float, is_random])
def test_inplace_operators_keep_the_parameters(make, write):
    q = make()
    row, before = q[1], facts(q)
    mt.manual_seed(0)
    write(q)
    assert facts(q) == before
    assert row.dequantize().tolist() == q.dequantize()[1].tolist()
    # The integers are those nearest to the result of the same with floats; sigmoid() has been rounded with its own before.
    values = make().dequantize()
    mt.manual_seed(0)
    write(values)
    expected = make()
    expected.copy_(values)
    units = int(write is has_own_parameters)
    np.testing.assert_allclose(q.int_repr().numpy(), expected.int_repr().numpy(), rtol=0, atol=units)


@pytest.mark.parametrize("scope", [mt.no_grad, mt.inference_mode, mt.enable_grad])
def test_views_keep_their_parameters_wherever_they_were_made(scope):
    with scope():
        q = per_tensor()
        q[0:2].copy_(mt.quantize_per_tensor(mt.ones(2, 3), 0.5, 0, mt.qint8))
        assert q.q_scale() == 0.1
        assert q.int_repr().tolist() == [[13] * 3] * 2


def test_aliases_take_parameters_over_together():
    for alias in (per_tensor().detach(), per_tensor().data, mt.nn.Parameter(per_tensor(), requires_grad=False)):
        other = alias.detach()
        alias.copy_(mt.quantize_per_tensor(mt.ones(2, 3), 0.5, 0, mt.qint8))
        for tensor in (alias, other):
            assert tensor.q_scale() == 0.5
            assert tensor.int_repr().tolist() == [[2] * 3] * 2
    q = per_tensor()
    alias = q.detach()
    alias.resize_(6)
    assert (q.shape, alias.shape) == ((2, 3), (6,))


def test_aliases_count_changes_together():
    q = per_tensor()
    q.detach().fill_(1.0)
    assert q._version == 1
    x = mt.tensor([1.0, 2.0], requires_grad=True)
    q = mt.quantize_per_tensor(x, 0.1, 0, mt.qint8)
    squares = q * q.dequantize()
    q.detach().fill_(0.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        squares.sum().backward()


def test_what_does_not_fit_is_refused():
    q = per_tensor()
    with pytest.raises(RuntimeError, match="broadcast"):
        q.mul_(mt.ones(4, 2, 3))
    with pytest.raises(RuntimeError, match="can't be cast"):
        q.eq_(1.0)
    with requantize_policy("error"), pytest.raises(NotImplementedError, match="add_"):
        q.add_(1.0)


def test_gradients_go_through_inplace_operators():
    x = mt.tensor([-1.0, 0.5, 2.0], requires_grad=True)
    q = mt.quantize_per_tensor(x, 0.1, 0, mt.qint8)
    q[1:].mul_(3.0)
    q.relu_()
    q.dequantize().sum().backward()
    assert x.grad.tolist() == [0.0, 3.0, 3.0]
