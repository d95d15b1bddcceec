"""Forward mode: dual tensors, levels, views, in-place changes, and how it meets reverse mode."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch.autograd import Function, dual
from minitorch.autograd import forward_ad as fw
from minitorch.autograd.functional import hessian, jacobian


def values(*numbers):
    return mt.tensor(list(numbers), dtype=mt.float64)


def tangent(tensor):
    found = fw.unpack_dual(tensor).tangent
    return None if found is None else found.tolist()


@pytest.fixture
def level():
    with fw.dual_level() as number:
        yield number


@pytest.fixture
def x(level):
    return fw.make_dual(values(1.0, 2.0), values(1.0, 10.0))


def test_make_and_unpack(x):
    primal, t = fw.unpack_dual(x)
    assert primal.tolist() == [1.0, 2.0]
    assert t.tolist() == [1.0, 10.0]
    assert fw.unpack_dual(primal).tangent is None
    assert tangent(primal.view(2, 1)) is None
    assert tangent(primal * 2) is None


def test_tangents_end_with_their_level():
    with fw.dual_level():
        y = fw.make_dual(values(1.0), values(5.0)) * 2
        assert tangent(y) == [10.0]
    assert fw.unpack_dual(y) == (y, None)
    with fw.dual_level():
        assert tangent(y) is None
        assert tangent(y * 2) is None


def test_levels_do_not_nest_in_public(level):
    assert level == 0
    with pytest.raises(RuntimeError, match="Nested forward mode"):
        fw.enter_dual_level()
    with pytest.raises(RuntimeError, match="not the last one"):
        fw.exit_dual_level(level=3)


def test_levels_nest_inside():
    """The third derivative of a cube's derivative, by three levels one inside another."""
    y = values(2.0)
    for _ in range(3):
        dual.enter_level()
        y = fw.make_dual(y, values(1.0))
    result = y * y * y
    for _ in range(3):
        result = fw.unpack_dual(result).tangent
        dual.exit_level()
    assert result.tolist() == [6.0]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: fw.make_dual(values(1.0), values(1.0, 2.0)), RuntimeError, "different size"),
        (lambda: fw.make_dual(mt.tensor([1]), values(1.0)), ValueError, "Expected primal to be floating point"),
        (lambda: fw.make_dual(values(1.0), mt.tensor([1])), ValueError, "Expected tangent to be floating point"),
        (lambda: fw.make_dual(fw.make_dual(values(1.0), values(1.0)), values(1.0)), RuntimeError, "already has"),
    ],
)
def test_errors_of_make_dual(level, make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_make_dual_needs_a_level():
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.make_dual(values(1.0), values(1.0))
    with pytest.raises(RuntimeError, match="not the last one"):
        fw.exit_dual_level()


def test_modes(x):
    with mt.no_grad():
        assert tangent(x * 2) == [2.0, 20.0]
    with mt.inference_mode():
        assert tangent(x * 2) is None
    with fw._set_fwd_grad_enabled(False):
        y = x * 2
    assert tangent(y) is None
    assert tangent(x.detach()) is None
    assert tangent(x.clone().detach_()) is None


def test_what_has_no_tangent(x):
    assert tangent(x.argmax()) is None
    assert tangent(x > 0) is None
    assert tangent(x.to(mt.int64)) is None
    assert tangent(mt.zeros_like(x)) is None
    best, where = x.max(0)
    assert (tangent(best), tangent(where)) == (10.0, None)
    assert tangent(x.round()) == [0.0, 0.0]


def test_refused(x):
    with pytest.raises(NotImplementedError, match="forward AD with floor_divide"):
        x // 2
    with pytest.raises(NotImplementedError, match="out= function"):
        mt.add(x, 1, out=mt.empty(2, dtype=mt.float64))


def test_the_tangent_of_a_view_is_a_view_of_the_tangent(x):
    part = x[1:]
    fw.unpack_dual(part).tangent.fill_(7.0)
    assert tangent(x) == [1.0, 7.0]


def test_views_made_before_see_the_tangent_of_their_base(x):
    base = mt.zeros(2, 2, dtype=mt.float64)
    row, flat = base[1], base.view(-1)[2:]
    base.add_(x)
    assert tangent(row) == tangent(flat) == [1.0, 10.0]


def test_a_base_gets_the_tangent_of_its_view(x):
    base = mt.zeros(2, 2, dtype=mt.float64)
    other = base.t()
    base[1].copy_(x)
    assert tangent(base) == [[0.0, 0.0], [1.0, 10.0]]
    assert tangent(other) == [[0.0, 1.0], [0.0, 10.0]]
    base.mul_(2)
    assert tangent(other) == [[0.0, 2.0], [0.0, 20.0]]


def test_in_place(x):
    y = x.clone()
    y.mul_(y)
    assert tangent(y) == [2.0, 40.0]
    y.fill_(1.0)
    assert tangent(y) == [0.0, 0.0]
    y.add_(x)
    assert tangent(y) == [1.0, 10.0]
    y.unsqueeze_(0)
    assert tangent(y) == [[1.0, 10.0]]
    assert tangent(x) == [1.0, 10.0]


def test_the_layout_of_a_tangent_is_that_of_its_primal(level):
    y = fw.make_dual(mt.ones(2, 3), mt.ones(1).expand(2, 3))
    assert fw.unpack_dual(y).tangent.stride() == (3, 1)
    y.mul_(2)
    assert tangent(y) == [[2.0] * 3] * 2


def test_broadcasting_and_dtypes(x):
    y = x + mt.zeros(2, 2)
    assert (y.dtype, tangent(y)) == (mt.float64, [[1.0, 10.0]] * 2)
    z = fw.unpack_dual(x.float())
    assert z.tangent.dtype is mt.float32
    assert tangent(mt.cat([mt.zeros(1), x])) == [0.0, 1.0, 10.0]


def test_reverse_over_forward():
    x = values(1.0, 2.0).requires_grad_()
    with fw.dual_level():
        t = fw.unpack_dual((fw.make_dual(x, values(1.0, 10.0)) ** 3).sum()).tangent
    (grad,) = mt.autograd.grad(t, x)
    assert grad.tolist() == [6.0, 120.0]


@pytest.mark.parametrize(
    "f", [mt.exp, mt.tanh, lambda t: t.clone().mul_(t), lambda t: t.cumprod(0), lambda t: t.softmax(0)]
)
def test_forward_over_reverse_agrees_with_reverse_over_reverse(f):
    x, v = values(0.5, 1.5).requires_grad_(), values(1.0, -2.0)
    with fw.dual_level():
        d = fw.make_dual(x, v)
        (grad,) = mt.autograd.grad((f(d) ** 2).sum(), d, create_graph=True)
        found = fw.unpack_dual(grad).tangent
    mt.testing.assert_close(found, hessian(lambda t: (f(t) ** 2).sum(), x.detach()) @ v)


class Scaled(Function):
    """``x * y``, with a tangent of its own."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        return x * y, y.argmax()

    @staticmethod
    def backward(ctx, grad, _):
        x, y = ctx.saved_tensors
        return grad * y, grad * x

    @staticmethod
    def jvp(ctx, x_t, y_t):
        x, y = ctx.saved_tensors
        return x_t * y + x * y_t, None


def test_custom_function(x):
    product, where = Scaled.apply(x, values(3.0, 4.0))
    assert (tangent(product), tangent(where)) == ([3.0, 40.0], None)
    assert tangent(Scaled.apply(values(3.0, 4.0), x)[0]) == [3.0, 40.0]

    class WithoutJvp(Function):
        forward = staticmethod(lambda ctx, x: x.clone())
        backward = staticmethod(lambda ctx, grad: grad)

    with pytest.raises(NotImplementedError, match="jvp"):
        WithoutJvp.apply(x)
    assert WithoutJvp.apply(values(1.0)).tolist() == [1.0]

    class WrongCount(WithoutJvp):
        jvp = staticmethod(lambda ctx, t: (t, t))

    with pytest.raises(RuntimeError, match="2 tangents for 1 outputs"):
        WrongCount.apply(x)


def test_custom_function_in_place(x):
    class Doubled(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def jvp(ctx, t):
            return t * 2

    base = mt.zeros(2, 2, dtype=mt.float64)
    base[0].copy_(x)
    Doubled.apply(base)
    assert tangent(base) == [[2.0, 20.0], [0.0, 0.0]]


def test_jacobians_in_forward_mode():
    x = values(1.0, 2.0)

    def f(t, u):
        return t.outer(t) * u, t.sum()

    for one, other in zip(
        jacobian(f, (x, values(3.0))),
        jacobian(f, (x, values(3.0)), vectorize=True, strategy="forward-mode"),
        strict=True,
    ):
        mt.testing.assert_close(one, other)

    def g(t):
        return (t**3).sum()

    mt.testing.assert_close(hessian(g, x, outer_jacobian_strategy="forward-mode"), hessian(g, x))


def test_a_module_in_forward_mode():
    mt.manual_seed(0)
    net = mt.nn.Sequential(
        mt.nn.Conv1d(1, 2, 3), mt.nn.BatchNorm1d(2), mt.nn.GELU(), mt.nn.Flatten(), mt.nn.Linear(8, 3)
    ).double()
    x, v = mt.randn(4, 1, 6, dtype=mt.float64), mt.randn(4, 1, 6, dtype=mt.float64)
    with fw.dual_level():
        found = fw.unpack_dual(net(fw.make_dual(x, v))).tangent
    mt.testing.assert_close(found, mt.autograd.functional.jvp(net, x, v)[1])


def test_printing(x):
    assert repr(x.float()) == "tensor([1., 2.], tangent=tensor([ 1., 10.]))"


def test_nothing_is_kept_when_no_level_is_active():
    y = values(1.0) * 2
    assert y.autograd_meta is None
