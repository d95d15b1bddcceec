"""Tensors of zeros without memory (spec B5 to B7)."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import minitorch as mt
from minitorch.autograd import forward_ad
from minitorch.dispatch.key_set import DispatchKeySet


def zeros(*shape, **kwargs):
    return mt._efficientzerotensor(list(shape), **kwargs)


def test_what_it_is():
    z = zeros(2, 3, dtype=mt.float64)
    assert z._is_zerotensor()
    assert not mt.zeros(2)._is_zerotensor()
    assert (z.shape, z.stride(), z.dtype, z.device) == ((2, 3), (3, 1), mt.float64, mt.device("cpu"))
    assert DispatchKeySet.from_bits(z.key_set) == DispatchKeySet.from_bits(mt.ones(2).key_set) | DispatchKeySet("ZeroTensor")
    assert z.data_ptr() == 0
    assert zeros(2, device="meta")._is_zerotensor()
    with mt.inference_mode():
        assert zeros(2).is_inference()


WRITES = {
    "in place": lambda z, x: z.add_(1),
    "zero_": lambda z, x: z.zero_(),
    "copy_": lambda z, x: z.copy_(x),
    "out": lambda z, x: mt.add(x, x, out=z),
    "a view": lambda z, x: z.t().mul_(2),
    "an item": lambda z, x: z.__setitem__(0, 1),
    "resize_": lambda z, x: z.resize_(7),
    "fill_": lambda z, x: z.fill_(1),
}


@pytest.mark.parametrize("write", WRITES)
def test_it_is_immutable(write):
    with pytest.raises(RuntimeError, match="immutable"):
        WRITES[write](zeros(2, 3), mt.ones(2, 3))


ZERO = {
    "z + z": lambda z, x: z + z,
    "z - z": lambda z, x: z - z,
    "z * x": lambda z, x: z * x,
    "x * z": lambda z, x: x * z,
    "z * 5": lambda z, x: z * 5,
    "5 * z": lambda z, x: 5 * z,
    "z / x": lambda z, x: z / x,
    "z / 2": lambda z, x: z / 2,
    "broadcast": lambda z, x: z * mt.ones(4, 2, 3),
    "dot": lambda z, x: mt.dot(z[0], x[0]),
    "vdot": lambda z, x: mt.vdot(x[0], z[0]),
    "cross": lambda z, x: mt.linalg.cross(x, z),
    "t": lambda z, x: z.t(),
    "view": lambda z, x: z.view(3, 2),
    "expand": lambda z, x: z[0].expand(4, 3),
    "unbind": lambda z, x: z.unbind()[1],
    "detach": lambda z, x: z.detach(),
    "contiguous": lambda z, x: z.contiguous(),
    "t_": lambda z, x: z.detach().t_(),
    "dtypes": lambda z, x: z * mt.ones(2, 3, dtype=mt.float64),
    "complex": lambda z, x: (z * 1j).conj(),
    "real": lambda z, x: (z * 1j).conj().real,
}
ORDINARY = {
    "z + x": lambda z, x: z + x,
    "x - z": lambda z, x: x - z,
    "z + 1": lambda z, x: z + 1,
    "x / z": lambda z, x: x / z,
    "neg": lambda z, x: -z,
    "sin": lambda z, x: z.sin(),
    "sum": lambda z, x: z.sum(),
    "clone": lambda z, x: z.t().clone(),
    "zeros_like": lambda z, x: mt.zeros_like(z),
    "mm": lambda z, x: z.t() @ x,
    "to": lambda z, x: z.to(mt.float64),
    "contiguous": lambda z, x: z.t().contiguous(),
    "add_": lambda z, x: x.clone().add_(z),
    "copy_": lambda z, x: x.clone().copy_(z),
    "out": lambda z, x: mt.add(z, z, out=x.clone()),
    "cat": lambda z, x: mt.cat([z, x]),
    "conj clone": lambda z, x: (z * 1j).conj().clone(),
}


CASES = [(table, name) for table, functions in (("zero", ZERO), ("ordinary", ORDINARY)) for name in functions]


@pytest.mark.parametrize(("table", "name"), CASES)
def test_kinds_and_values_of_results(table, name):
    function = (ZERO if table == "zero" else ORDINARY)[name]
    x = mt.arange(1.0, 7.0).reshape(2, 3)
    result, expected = function(zeros(2, 3), x), function(mt.zeros(2, 3), x)
    assert result._is_zerotensor() == (table == "zero")
    assert result.dtype is expected.dtype
    assert result.shape == expected.shape
    assert result.tolist() == expected.tolist()


@pytest.mark.oracle
@pytest.mark.parametrize(("table", "name"), CASES)
def test_results_are_the_reference_s(torch, table, name):
    source = (ZERO if table == "zero" else ORDINARY)[name].__code__
    found = []
    for module in (mt, torch):
        function = type(zeros)(source, {"mt": module})
        result = function(module._efficientzerotensor((2, 3)), module.arange(1.0, 7.0).reshape(2, 3))
        found.append((result._is_zerotensor(), tuple(result.shape), result.stride(), str(result.dtype), result.is_conj()))
    assert found[0] == found[1]


def test_readers():
    z = zeros(2)
    assert z.tolist() == [0.0, 0.0]
    assert z[0].item() == 0
    assert repr(z) == repr(mt.zeros(2))
    assert z.numpy(force=True).tolist() == [0.0, 0.0]
    for read, error in (
        (z.numpy, RuntimeError),
        (z.__dlpack__, BufferError),
        (lambda: copy.deepcopy(z), RuntimeError),
        (lambda: pickle.dumps(z), RuntimeError),
        (lambda: mt.save(z, io.BytesIO()), RuntimeError),
        (lambda: mt.empty(0).set_(z), RuntimeError),
    ):
        with pytest.raises(error, match="ZeroTensor"):
            read()


def test_in_autograd():
    x = mt.ones(2, requires_grad=True)
    (x * zeros(2)).backward(mt.ones(2))
    (x * 3).backward(zeros(2))
    (x * 3).backward(mt.ones(2))
    assert not x.grad._is_zerotensor()
    assert x.grad.tolist() == [3.0, 3.0]
    z = zeros(2).requires_grad_()
    (z * 2).sum().backward()
    assert z.grad.tolist() == [2.0, 2.0]
    y = mt.ones(2, requires_grad=True)
    y.backward(zeros(2))
    y.backward(mt.ones(2))
    assert y.grad.tolist() == [1.0, 1.0]


def test_as_a_tangent():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(mt.ones(2), zeros(2))
        y = x * 2
        y.add_(forward_ad.make_dual(mt.ones(2), mt.ones(2)))
        assert forward_ad.unpack_dual(y).tangent.tolist() == [1.0, 1.0]


def test_under_transforms():
    z = zeros(2, 3)
    assert mt.func.vmap(lambda row: row + 1)(z).tolist() == mt.ones(2, 3).tolist()
    assert mt.func.grad(lambda x: (x * z).sum())(mt.ones(2, 3)).tolist() == mt.zeros(2, 3).tolist()
    assert mt.func.functionalize(lambda x: x.clone().add_(1))(z).tolist() == mt.ones(2, 3).tolist()
