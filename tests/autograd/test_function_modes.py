"""What ``__torch_function__`` handlers see of a backward pass: the call of it, and not what formulas do."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch.autograd import Function
from minitorch.ops.overriding import TorchFunctionMode


class Mode(TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


def program():
    """A pass with formulas, sums over broadcast dimensions, casts, accumulation, and what users add to one."""

    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad.mul(2)

    x, w = mt.ones(3, 1, requires_grad=True), mt.ones(4, dtype=mt.float64, requires_grad=True)
    x.grad = mt.ones(3, 1)
    y = (x * w).exp()
    y.register_hook(lambda grad: grad.neg().neg())
    return (Double.apply(y) + x).sum(), x, w


def test_a_mode_sees_the_call_alone():
    loss, x, w = program()
    expected = [g.tolist() for g in mt.autograd.grad(loss, [x, w], retain_graph=True)]
    with Mode() as mode:
        loss.backward(retain_graph=True)
        mt.autograd.backward(loss, retain_graph=True)
        mt.autograd.backward([loss], inputs=[w], retain_graph=True)
        found = mt.autograd.grad(loss, [x, w])
    assert mode.seen == [mt.Tensor.backward, mt.autograd.backward, mt.autograd.backward, mt.autograd.grad]
    assert mt.Tensor.backward.__name__ == "backward"
    assert [g.tolist() for g in found] == expected
    assert (x.grad - 1).tolist() == (2 * found[0]).tolist()
    assert w.grad.tolist() == (3 * found[1]).tolist()


def test_a_mode_may_answer_for_the_pass():
    class Refuses(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return () if func is mt.autograd.grad else None

    loss, x, _ = program()
    with Refuses():
        assert loss.backward() is None
        assert mt.autograd.grad(loss, x) == ()
    assert x.grad.tolist() == [[1.0]] * 3


def test_a_mode_entered_in_a_hook_sees_what_the_hook_calls():
    modes = []

    def hook(grad):
        with Mode() as mode:
            modes.append(mode)
            return grad.neg()

    x = mt.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(hook)
    y.sum().backward()
    assert [[f.__name__ for f in mode.seen] for mode in modes] == [["neg"]]
    assert x.grad.tolist() == [-2.0, -2.0]


def test_a_subclass_sees_its_backward_method():
    seen = []

    class Watching(mt.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    x = mt.ones(2, requires_grad=True)
    y = (x * 2).sum().as_subclass(Watching)
    seen.clear()
    y.backward()
    assert seen[0] == "backward"
    assert x.grad.tolist() == [2.0, 2.0]


@pytest.mark.oracle
def test_modes_see_what_the_reference_shows(torch):
    from torch.overrides import TorchFunctionMode as Reference

    def names(lib, base):
        seen = []

        class Watching(base):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append(func.__name__)
                return func(*args, **(kwargs or {}))

        x = lib.ones(2, requires_grad=True)
        with Watching():
            y = (x * x).sum()
            y.backward(retain_graph=True)
            lib.autograd.grad(y, x)
        return seen

    assert names(mt, TorchFunctionMode) == names(torch, Reference)
