"""Modules on several devices (here the same one several times), and parametrizations that move to another module."""

from __future__ import annotations

from collections import namedtuple

import pytest

import minitorch as mt
from minitorch.nn.parallel import data_parallel, gather, parallel_apply, replicate, scatter
from minitorch.nn.utils import parametrize

Pair = namedtuple("Pair", "a b")


def test_scatter_and_gather_are_inverse():
    x = mt.arange(10.0).reshape(5, 2)
    parts = scatter({"x": x, "pair": Pair(x, 3), "name": "n"}, ["cpu", "cpu"])
    assert [p["x"].shape[0] for p in parts] == [3, 2]
    assert parts[1]["pair"].b == 3
    assert parts[0]["name"] == "n"
    assert isinstance(parts[0]["pair"], Pair)
    assert mt.equal(gather([p["x"] for p in parts], "cpu"), x)
    whole = gather([{"x": p["x"], "pair": Pair(p["x"], p["x"])} for p in parts], "cpu")
    assert mt.equal(whole["pair"].b, x)
    assert gather([mt.tensor(1.0), mt.tensor(2.0)], "cpu").tolist() == [1, 2]
    assert scatter(7, ["cpu", "meta"]) == [7, 7]


def test_replicas_send_gradients_home():
    net = mt.nn.Sequential(mt.nn.Linear(2, 3), mt.nn.ReLU(), mt.nn.Linear(3, 1))
    x = mt.randn(6, 2)
    out = data_parallel(net, x, ["cpu", "cpu", "cpu"])
    assert mt.allclose(out, net(x))
    out.sum().backward()
    found = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    net(x).sum().backward()
    for a, p in zip(found, net.parameters(), strict=True):
        mt.testing.assert_close(a, p.grad)
    assert not any(t.requires_grad for m in replicate(net, ["cpu"], detach=True) for t in m[0]._parameters.values())
    with mt.no_grad():
        assert not data_parallel(net, x, ["cpu", "cpu"]).requires_grad


def test_errors_of_threads_arrive():
    net = mt.nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="shape"):
        parallel_apply([net, net], [mt.ones(1, 2), mt.ones(1, 5)])
    with pytest.raises(AssertionError, match="not equal to the number of inputs"):
        parallel_apply([net], [])


class Doubled(mt.nn.Module):
    def forward(self, x):
        return 2 * x


def test_parametrizations_are_transferred():
    source, target = mt.nn.Linear(2, 2), mt.nn.Linear(2, 2)
    parametrize.register_parametrization(source, "weight", Doubled())
    assert parametrize.type_before_parametrizations(source) is mt.nn.Linear
    assert parametrize.type_before_parametrizations(target) is mt.nn.Linear
    assert parametrize.transfer_parametrizations_and_params(source, target) is target
    assert parametrize.is_parametrized(target, "weight")
    assert mt.equal(source.weight, target.weight)
    assert target.parametrizations.weight.original is source.parametrizations.weight.original
    with pytest.raises(ValueError, match="does not have a parametrization on bias"):
        parametrize.transfer_parametrizations_and_params(source, target, "bias")


def test_assert_allclose_is_old():
    with pytest.warns(FutureWarning, match="use assert_close"):
        mt.testing.assert_allclose(mt.ones(2), [1.0, 1.00009])
    with pytest.warns(FutureWarning), pytest.raises(AssertionError):
        mt.testing.assert_allclose(mt.ones(2), [1.0, 1.01])


def test_set_module():
    def function():
        pass

    mt.utils.set_module(function, "elsewhere")
    assert function.__module__ == "elsewhere"
    with pytest.raises(TypeError):
        mt.utils.set_module(function, 3)
