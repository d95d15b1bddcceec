"""`SchemaCheckMode`: operators are held to what their schemas say of writes and aliases."""

from __future__ import annotations

import pytest

import minitorch
from minitorch import nn
from minitorch._subclasses.schema_check_mode import SchemaCheckMode
from minitorch.dispatch.library import Library
from minitorch.dispatch.namespace import ops


@pytest.fixture
def define():
    made = []

    def define(schema, fn):
        if not made:
            made.append(Library("testing", "FRAGMENT"))
        name = made[0].define(schema)
        made[0].impl(name, fn, "CPU")
        made[0].impl(name, lambda *args, **kwargs: fn(*args, **kwargs), "Meta")
        return getattr(ops.testing, name.partition(".")[0])

    yield define
    for lib in made:
        lib._destroy()


def test_what_is_announced_is_noted():
    x = minitorch.zeros(2, 2)
    with SchemaCheckMode() as mode:
        x.add_(1).t()
        minitorch.add(x, 1, out=minitorch.empty(2, 2))
        x.split(1)
    assert "aten::add_.Tensor" in mode.ops
    assert ("aten::add_.Tensor", "self") in mode.mutated
    assert ("aten::add.out", "out") in mode.mutated
    assert ("aten::t", "self", "output_0") in mode.aliasing
    assert ("aten::split.Tensor", "self", "output_0") in mode.aliasing
    mode.reset_cache()
    assert mode.ops == mode.mutated == mode.aliasing == []


def test_an_undeclared_write(define):
    op = define("writes(Tensor x) -> Tensor", lambda x: x.add_(1).clone())
    with SchemaCheckMode(), pytest.raises(RuntimeError, match="Argument x is not defined as mutable but was mutated"):
        op(minitorch.ones(2))


def test_an_undeclared_write_into_a_list(define):
    op = define("writes(Tensor[] xs) -> ()", lambda xs: (xs[1].zero_(), None)[1])
    with SchemaCheckMode(), pytest.raises(RuntimeError, match="Argument xs is not defined as mutable"):
        op([minitorch.ones(2), minitorch.ones(2)])


def test_a_change_of_geometry(define):
    op = define("turns(Tensor x) -> ()", lambda x: (x.t_(), None)[1])
    with SchemaCheckMode(), pytest.raises(RuntimeError, match="Argument x is not defined as mutable"):
        op(minitorch.ones(2, 3, device="meta"))


def test_undeclared_aliases(define):
    same = define("same(Tensor x) -> Tensor", lambda x: x.view(-1))
    declared = define("viewed(Tensor(a) x) -> Tensor(a)", lambda x: x.view(-1))
    twice = define("twice(Tensor x) -> (Tensor, Tensor)", lambda x: (lambda y: (y, y.view(-1)))(x.clone()))
    x = minitorch.ones(2)
    with SchemaCheckMode() as mode:
        declared(x)
        assert mode.aliasing[-1] == ("testing::viewed", "x", "output_0")
        with pytest.raises(RuntimeError, match="Argument x is not defined to alias output but was aliasing"):
            same(x)
        with pytest.raises(RuntimeError, match="Outputs 0 and 1 alias unexpectedly"):
            twice(x)


def test_training_with_it():
    net = nn.Sequential(nn.Conv1d(2, 3, 2), nn.BatchNorm1d(3), nn.Dropout(), nn.ReLU())
    optimizer = minitorch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    with SchemaCheckMode() as mode:
        net(minitorch.randn(4, 2, 5)).sum().backward()
        optimizer.step()
    assert any(name.startswith("aten::_fused_sgd_") for name in mode.ops)


def test_display(capsys):
    with SchemaCheckMode() as mode:
        minitorch.ones(1).neg()
    mode.display_ops()
    assert capsys.readouterr().out == "aten::ones,aten::neg\n"
