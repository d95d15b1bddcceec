"""Small programs, compiled and in eager mode: views, changes and histories in combination."""

from __future__ import annotations

import pytest
from aot_helpers import PARTITIONS, check, computed, leaf, leaves, plain

import minitorch as mt

X = mt.arange(12.0).sin().reshape(3, 4)
W = mt.arange(20.0).cos().reshape(5, 4)


def a_view():
    """Return a leaf, and a view of what was computed from it."""
    x = leaf(X)
    return [x], ((x * 1)[1:],)


def two_views(x):
    y = x * 2
    return y[0], y[0].detach(), y[1:]


def without_grad_mode(x):
    with mt.no_grad():
        return x.view(-1), x * 2


def gradient_inside(x):
    y = x * 2
    y.retain_grad()
    z = (y * y).sum()
    (g,) = mt.autograd.grad(z, y, retain_graph=True)
    return z, g


def assignment(x, w):
    x[0:1] = w[0, :1]
    return x.sum()


def swap(a, b):
    old = a.clone()
    a.copy_(b)
    b.copy_(old)


def put(a):
    return a.index_put_((mt.tensor([0, 1]),), mt.ones(4))


PROGRAMS = {
    "changed and returned": (lambda x, w: x.mul_(2), computed(X, W)),
    "views of what was changed": (lambda x, w: (x.mul_(2)[0], x.t()), computed(X, W)),
    "a view is changed": (lambda v: v.mul_(3).sum(), a_view),
    "a view without history": (lambda x: x.detach().view(-1), leaves(X)),
    "no_grad": (without_grad_mode, leaves(X)),
    "assignment": (assignment, computed(X, W)),
    "complex": (lambda x: mt.view_as_complex(x.view(3, 2, 2)).conj().abs(), leaves(X)),
    "conjugate results": (lambda x: (mt.complex(x, x).conj(), mt.complex(x, x).conj().imag), leaves(X)),
    "chunks are changed": (lambda x: [c.clone().add_(1) for c in x.chunk(2)], leaves(X)),
    "nan": (lambda x: mt.where(x > 0, x, float("nan")).nansum(), leaves(X)),
    "named results": (lambda x: x.cumsum(0).sort(1), leaves(X)),
    "a view of something new": (lambda x: (x * 2)[0], leaves(X)),
    "views without their base": (two_views, leaves(X)),
    "views of several": (lambda x: (x * 2).unbind(0), leaves(X)),
    "dtypes": (lambda x: (x.double(), x.int(), x.bool()), leaves(X)),
    "nothing": (lambda x: x[:0].sum() + x.sum(), leaves(X)),
    "a scalar": (lambda x, s: (x * s).sum(), leaves(X, mt.tensor(2.0))),
    "no gradient": (lambda x, w: (x.sum(), w > 0), leaves(X, W)),
    "gradient inside": (gradient_inside, leaves(X)),
    "detach_": (lambda x: (x * 2).detach_() + x, leaves(X)),
    "data": (lambda x: x.data * 2 + x, leaves(X)),
    "a leaf inside": (lambda x: (x.detach().requires_grad_() * 2).detach(), leaves(X)),
    "changed twice": (lambda b, x: (b.add_(x), b.mul_(2), b[0]), plain(X, X)),
    "swap": (swap, plain(X, X + 1)),
    "zero": (lambda a: a.zero_(), plain(X)),
    "put": (put, plain(X)),
    "random": (lambda a: (a.uniform_(), a.normal_(), a.random_(0, 5)), plain(X)),
    "as_strided": (lambda x: x.as_strided((2, 2), (4, 1), 1) * 2, leaves(X)),
    "as_strided is changed": (lambda x: x.as_strided((2, 2), (4, 1), 1).mul_(2), plain(X)),
}


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, partition):
    check(*PROGRAMS[name], partition)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_symbolic_sizes(name):
    pytest.importorskip("sympy")
    check(*PROGRAMS[name], dynamic=True)
