"""Operators that work element by element, in place: what they change, and what they refuse."""

from __future__ import annotations

import pytest
from loop_oracle import check, random

import minitorch as mt
from minitorch.func import grad, vmap

CHANGES = {
    "add": lambda a, b: a.add_(b, alpha=2), "mul": lambda a, b: a.mul_(b), "div": lambda a, b: a.div_(b, rounding_mode="floor"),
    "addcmul": lambda a, b: a.addcmul_(b, b, value=3), "lerp": lambda a, b: a.lerp_(b, 0.25), "gt": lambda a, b: a.gt_(b),
    "pow": lambda a, b: a.abs_().pow_(b), "clamp": lambda a, b: a.clamp_(max=b), "relu": lambda a, b: a.relu_().add_(b),
    "number": lambda a, b: a.sub_(1).mul_(b),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_mapped_is_changed(name):
    change = CHANGES[name]
    for shapes in (((2, 4), (2, 4)), ((2, 4), (4,)), ((2, 4), ()), ((), ()), ((2, 4), (2, 1))):
        for dims in ((0, 0), (-1, 0), (1, None), (0, -1)):
            if len(shapes[0]) == 0 and dims[0] == 1:
                continue
            given = []
            for shape, dim in zip(shapes, dims, strict=True):
                shape = list(shape)
                if dim is not None:
                    shape.insert(len(shape) if dim == -1 else dim, 3)
                given.append(random(*shape))
            check(lambda a, b: change(a.clone(), b), given, dims)
            mapped = given[0].clone()
            result = vmap(change, in_dims=dims)(mapped, given[1])
            assert (mapped.movedim(dims[0], 0) == result).all()
            whole = given[0].clone()
            view = whole.unsqueeze(0)[0]
            vmap(change, in_dims=dims)(view, given[1])
            assert (whole == mapped).all()


def test_what_cannot_be_changed():
    cases = [
        (lambda a, b: a.add_(b), mt.zeros(3, 2), mt.ones(3, 1, 2), "doesn't match the broadcast shape"),
        (lambda a, b: a.add_(b), mt.zeros(3), mt.ones(3, 2), "doesn't match the broadcast shape"),
        (lambda a, b: a.add_(b), mt.zeros(3, 1), mt.ones(3, 2), "doesn't match the broadcast shape|shape"),
        (lambda a, b: a.add_(b), mt.zeros(3, dtype=mt.int64), mt.ones(3), "can't be cast"),
        (lambda a, b: a.div_(b), mt.zeros(3, 2, dtype=mt.int64), mt.ones(3, dtype=mt.int64), "can't be cast"),
    ]
    for change, a, b, text in cases:
        with pytest.raises(RuntimeError):
            change(a[0].clone(), b[0])
        before = a.clone()
        with pytest.raises(RuntimeError, match=text):
            vmap(change)(a, b)
        assert (a == before).all()


def test_dtypes_of_examples_without_dimensions():
    for first, second in (
        (mt.float32, mt.float64), (mt.int64, mt.bool), (mt.float64, mt.int64), (mt.complex64, mt.float64), (mt.int32, mt.int64)
    ):  # fmt: skip
        a, b = (random(3, 2) * 4).to(first), (random(3) * 4).to(second)
        check(lambda a, b: a.clone().add_(b), [a, b], (0, 0), tolerance=1e-6)
        check(lambda a, b: a + b, [a, b], (0, 0), tolerance=1e-6)
        for function in (lambda a, b: a + b, lambda a, b: b * a):
            assert vmap(function)(a, b).dtype is function(a[0], b[0]).dtype
            assert vmap(function, in_dims=(0, None))(a, b[0]).dtype is function(a[0], b[0]).dtype
            assert vmap(function, in_dims=(None, 0))(a[0, 0], b).dtype is function(a[0, 0], b[0]).dtype


def test_gradients_through_changes():
    def loss(x):
        y = x * 2
        y.mul_(x).add_(1)
        return y.sum()

    x = random(3, 4)
    assert mt.allclose(vmap(grad(loss))(x), 4 * x)
    check(lambda x: vmap(grad(loss))(x), [random(2, 3, 4)], [0], 2)
