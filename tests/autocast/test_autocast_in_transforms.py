"""Autocast around and inside of `grad`, `jvp`, `vmap` and `functionalize`: the dtypes are PyTorch's."""

from __future__ import annotations

import warnings

import pytest

import minitorch as mt
from minitorch.autocast_mode import autocast_state


def cases(m):
    """Return programs by name; each returns its tensors.  Written for both libraries."""
    func, F = m.func, m.nn.functional
    x, w, batch = m.ones(3, 3), m.ones(3, 3), m.ones(5, 3, 3)

    def product(a, b):
        return m.mm(a, b)

    def loss(a, b):
        return m.mm(a, b).float().sum()

    def cast_inside(a, b):
        with m.autocast("cpu"):
            y = m.mm(a, b)
        return y.float().sum(), y

    def cast_loss(a, b):
        with m.autocast("cpu"):
            return F.mse_loss(m.mm(a, b), b)

    def around(run):
        with m.autocast("cpu"):
            return run()

    def linear(a, b):
        return F.linear(a, b)

    leaf = m.ones(3, 3, requires_grad=True)
    programs = {
        "grad under autocast": lambda: around(lambda: func.grad(loss, (0, 1))(x, w)),
        "grad of a function that autocasts": lambda: func.grad(cast_inside, (0, 1), has_aux=True)(x, w),
        "grad of a loss that autocasts": lambda: func.grad_and_value(cast_loss)(x, w),
        "grad of grad": lambda: around(lambda: func.grad(lambda a: func.grad(loss)(a, w).sum())(x)),
        "vjp": lambda: around(lambda: (lambda out, f: (out, *f(m.ones_like(out))))(*func.vjp(product, x, w))),
        "vjp used outside": lambda: (lambda out, f: (out, *f(m.ones_like(out))))(*around(lambda: func.vjp(product, x, w))),
        "jvp": lambda: around(lambda: func.jvp(product, (x, w), (x, w))),
        "jacrev": lambda: around(lambda: (func.jacrev(product)(x, w),)),
        "vmap": lambda: around(lambda: (func.vmap(product, (0, None))(batch, w),)),
        "vmap of both": lambda: around(lambda: (func.vmap(product)(batch, batch),)),
        "vmap of a function that autocasts": lambda: func.vmap(cast_inside, (0, None))(batch, w),
        "vmap of a loss that autocasts": lambda: (func.vmap(cast_loss)(batch, batch),),
        "vmap of linear": lambda: around(lambda: (func.vmap(linear, (0, None))(batch, w),)),
        "vmap of cat": lambda: around(lambda: (func.vmap(lambda a: m.cat([a, a.bfloat16()]))(batch),)),
        "vmap of prod": lambda: around(lambda: (func.vmap(lambda a: a.bfloat16().prod(0))(batch),)),
        "vmap of softmax": lambda: around(lambda: (func.vmap(lambda a: a.bfloat16().softmax(0))(batch),)),
        "vmap of conv2d": lambda: around(
            lambda: (func.vmap(lambda a: F.conv2d(a[None, None], m.ones(2, 1, 2, 2)))(batch),)
        ),
        "vmap of cross_entropy": lambda: around(
            lambda: (func.vmap(lambda a: F.cross_entropy(a.bfloat16(), m.tensor([0, 1, 2])))(batch),)
        ),
        "per-sample gradients": lambda: around(lambda: func.vmap(func.grad(loss, (0, 1)), (0, None))(batch, w)),
        "grad of vmap": lambda: around(lambda: (func.grad(lambda a: func.vmap(loss, (0, None))(a, w).sum())(batch),)),
        "a leaf of outside": lambda: around(lambda: (func.vmap(lambda a: m.mm(a, leaf))(batch), m.mm(x, leaf))),
        "functionalize": lambda: around(lambda: (func.functionalize(lambda a: m.mm(a, a).add_(1))(x),)),
        "functionalize a function that autocasts": lambda: func.functionalize(cast_inside)(x, w),
    }
    return programs


NAMES = list(cases(mt))


def flat(value):
    return [item for part in value for item in flat(part)] if isinstance(value, (tuple, list)) else [value]


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_dtypes_and_values_are_those_of_torch(name, torch):
    actual = flat(cases(mt)[name]())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own deprecations
        expected = flat(cases(torch)[name]())
    assert [t.dtype.name for t in actual] == [str(t.dtype).removeprefix("torch.") for t in expected]
    assert [t.detach().float().tolist() for t in actual] == [t.detach().float().tolist() for t in expected]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_behind(name):
    assert flat(cases(mt)[name]())
    state = autocast_state()
    assert (state.nesting, state.casts, state.dtypes) == (0, {}, {})
    assert not mt.is_autocast_enabled("cpu")


def test_gradients_have_the_dtype_of_the_arguments():
    x, w = mt.ones(3, 3), mt.ones(3, 3)

    def f(a, b):
        with mt.autocast("cpu"):
            y = mt.mm(a, b)
        assert y.dtype is mt.bfloat16
        return y.float().sum()

    a, b = mt.func.grad(f, (0, 1))(x, w)
    assert a.dtype is b.dtype is mt.float32
    assert a.tolist() == [[3.0] * 3] * 3


def test_casts_of_a_transform_are_not_kept_for_another():
    """What is cast inside of a level is a wrapper of that level; a leaf from outside is cast outside."""
    leaf = mt.ones(3, 3, requires_grad=True)
    with mt.autocast("cpu"):
        mt.func.grad(lambda a: mt.mm(a, leaf).float().sum())(mt.ones(3, 3))
        mt.func.grad(lambda a: mt.mm(a, a).float().sum())(mt.ones(3, 3))
        for entry in autocast_state().casts.values():
            assert entry.source() is leaf
        y = mt.mm(mt.ones(3, 3), leaf)
    y.float().sum().backward()
    assert leaf.grad.tolist() == [[3.0] * 3] * 3
