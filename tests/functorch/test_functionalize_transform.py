"""`func.functionalize`: what reaches the levels below, and that it nests (spec F5 and the probes of 6.5)."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch.dispatch.transforms import interpreter_stack
from minitorch.func import functionalize, grad, jvp, vmap
from minitorch.modes import TorchDispatchMode
from minitorch.testing import assert_close


class Names(TorchDispatchMode):
    def __init__(self):
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.name().removeprefix("aten::"))
        return func(*args, **(kwargs or {}))


def names_below(f, *args, **options):
    mode = Names()
    with mode:
        functionalize(f, **options)(*args)
    return mode.names


def through_a_view(x):
    y = x.clone()
    y.view(4).add_(1)
    return y


def on_the_input(x):
    x.add_(1)
    return x * 2


def through_unbind(x):
    y = x.clone()
    a, _ = y.unbind(0)
    a.mul_(2)
    return y


def with_out(x):
    o = mt.empty(4)
    mt.add(x, 1, out=o)
    return o


PROBES = [
    (through_a_view, (4,), "mutations", ["clone", "view", "add.Tensor", "view", "view"]),
    (through_a_view, (4,), "mutations_and_views", ["clone", "view_copy", "add.Tensor", "view_copy", "view_copy"]),
    (on_the_input, (4,), "mutations", ["add.Tensor", "mul.Tensor", "copy_"]),
    (through_unbind, (2, 2), "mutations", ["clone", "unbind.int", "mul.Tensor", "select_scatter", "unbind.int"]),
    (lambda x: x.clone().transpose_(0, 1), (2, 3), "mutations", ["clone", "transpose.int"]),
    (with_out, (4,), "mutations", ["empty.memory_format", "add.Tensor"]),
]


@pytest.mark.parametrize(("f", "shape", "remove", "expected"), PROBES)
def test_the_operators_below(f, shape, remove, expected):
    assert names_below(f, mt.ones(shape), remove=remove) == expected


@pytest.mark.parametrize(("f", "shape", "remove", "expected"), PROBES)
def test_results_and_inputs_are_those_of_the_function(f, shape, remove, expected):
    x, y = mt.arange(float(mt.Size(shape).numel())).reshape(shape), None
    y = x.clone()
    assert_close(functionalize(f, remove=remove)(x), f(y))
    assert_close(x, y)


def test_what_is_returned_as_it_is():
    x = mt.ones(3)
    assert functionalize(lambda x: x)(x) is x
    assert functionalize(lambda x: x.view(3))(x)._base is x
    assert functionalize(lambda x: (3, {"a": None}))(x) == (3, {"a": None})
    a, three, rest = functionalize(lambda x: (x, 3, {"a": x.add_(1)}))(x)
    assert three == 3
    assert a.tolist() == rest["a"].tolist() == x.tolist() == [2.0, 2.0, 2.0]


def test_one_tensor_given_twice_stays_one():
    x = mt.ones(2)

    def f(x, y):
        x.mul_(3)
        return y + 1

    assert functionalize(f)(x, x).tolist() == [4.0, 4.0]
    assert x.tolist() == [3.0, 3.0]


def test_a_captured_tensor_may_not_be_changed():
    captured = mt.zeros(2)
    with pytest.raises(RuntimeError, match="mutating a non-functional tensor"):
        functionalize(lambda x: captured.add_(x))(mt.ones(2))
    assert captured.tolist() == [0.0, 0.0]
    assert interpreter_stack() == ()


def test_wrong_options():
    with pytest.raises(RuntimeError, match="invalid argument for remove=views"):
        functionalize(lambda x: x, remove="views")


def test_with_the_other_transforms():
    def f(x):
        y = x.clone()
        y[0].mul_(x[1])
        return y.sum() * y[1]

    x = mt.tensor([2.0, 3.0])
    slope = grad(f)(x)
    assert_close(grad(functionalize(f))(x), slope)
    assert_close(functionalize(grad(f))(x), slope)
    pair = mt.stack([x, 2 * x])
    for found in (vmap(functionalize(grad(f)))(pair), functionalize(vmap(grad(f)))(pair), vmap(grad(functionalize(f)))(pair)):
        assert_close(found, mt.stack([slope, grad(f)(2 * x)]))
    v = mt.tensor([1.0, -1.0])
    assert_close(jvp(functionalize(f), (x,), (v,))[1], (slope * v).sum())
    assert_close(functionalize(lambda x, v: jvp(f, (x,), (v,))[1])(x, v), (slope * v).sum())
    assert_close(functionalize(functionalize(f))(x), f(x))


def test_the_backward_pass_is_functional_too():
    def f(x):
        y = x.clone()
        y[0].mul_(x[1])
        y[1:].add_(y[0])
        return (y * x).sum()

    mode = Names()
    with mode:
        functionalize(grad(f))(mt.ones(3))
    assert not [name for name in mode.names if name.partition(".")[0].endswith("_") and not name.startswith("_")]


def test_autograd_records_through_it():
    x = mt.ones(2, requires_grad=True)
    y = functionalize(lambda x: x.clone().mul_(3))(x)
    y.sum().backward()
    assert_close(x.grad, mt.full((2,), 3.0))
