"""Jacobians, Hessians, and their products with vectors."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp


def double(*values):
    return mt.tensor(list(values), dtype=mt.float64)


def two(x, y):
    return x * y, (x * x).sum()


def test_jacobian():
    assert jacobian(lambda x: x * x, double(1.0, 2.0)).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert jacobian(lambda x: x.sum(), double(1.0, 2.0)).tolist() == [1.0, 1.0]
    (a, b), (c, d) = jacobian(two, (double(1.0, 2.0), double(3.0, 4.0)))
    assert a.tolist() == [[3.0, 0.0], [0.0, 4.0]]
    assert b.tolist() == [[1.0, 0.0], [0.0, 2.0]]
    assert (c.tolist(), d.tolist()) == ([2.0, 4.0], [0.0, 0.0])
    assert jacobian(lambda x: x.reshape(2, 1) * x, double(1.0, 2.0)).shape == (2, 2, 2)
    assert jacobian(lambda x: x[:0], double(1.0, 2.0)).shape == (0, 2)


def test_jacobian_of_one_of_several_inputs():
    result = jacobian(lambda x, y: x * y, (double(1.0), double(3.0)))
    assert isinstance(result, tuple)
    assert [r.tolist() for r in result] == [[[3.0]], [[1.0]]]
    assert isinstance(jacobian(lambda x: (x,), double(1.0)), tuple)


def test_hessian():
    h = hessian(lambda x: (x**3).sum(), double(1.0, 2.0))
    assert h.tolist() == [[6.0, 0.0], [0.0, 12.0]]
    (a, b), (c, d) = hessian(lambda x, y: (x * x * y).sum(), (double(3.0), double(5.0)))
    assert [t.item() for t in (a, b, c, d)] == [10.0, 6.0, 6.0, 0.0]
    with pytest.raises(RuntimeError, match="given to hessian should contain a single element"):
        hessian(lambda x: x * 2, double(1.0, 2.0))


def test_products_agree_with_matrices():
    mt.manual_seed(0)
    x, v, u = mt.randn(3, dtype=mt.float64), mt.randn(3, dtype=mt.float64), mt.randn(2, dtype=mt.float64)
    w = mt.randn(2, 3, dtype=mt.float64)
    f = lambda t: (w @ t).sin() * t.sum()  # noqa: E731
    g = lambda t: f(t).exp().sum()  # noqa: E731
    j, h = jacobian(f, x), hessian(g, x)
    mt.testing.assert_close(jvp(f, x, v)[1], j @ v)
    mt.testing.assert_close(vjp(f, x, u)[1], u @ j)
    mt.testing.assert_close(hvp(g, x, v)[1], h @ v)
    mt.testing.assert_close(vhp(g, x, v)[1], v @ h)
    for result in (jvp(f, x, v), vjp(f, x, u)):
        mt.testing.assert_close(result[0], f(x))


def test_results_have_a_history_only_if_asked_for():
    x = double(1.0, 2.0).requires_grad_()
    v = mt.ones(2, dtype=mt.float64)
    for function in (
        lambda **k: jacobian(lambda t: t.exp(), x, **k),
        lambda **k: jvp(lambda t: t.exp(), x, v, **k)[1],
        lambda **k: vjp(lambda t: t.exp(), x, v, **k)[1],
        lambda **k: hvp(lambda t: t.exp().sum(), x, v, **k)[1],
        lambda **k: vhp(lambda t: t.exp().sum(), x, v, **k)[1],
        lambda **k: hessian(lambda t: t.exp().sum(), x, **k),
    ):
        assert not function().requires_grad
        (found,) = mt.autograd.grad(function(create_graph=True).sum(), x)
        mt.testing.assert_close(found, x.detach().exp())
    assert x.grad is None


def test_vectors_are_checked():
    x = double(1.0, 2.0)
    with pytest.raises(RuntimeError, match="can only be None if the user-provided function returns a single Tensor"):
        vjp(lambda t: t * 2, x)
    with pytest.raises(RuntimeError, match="can only be None if the input to the user-provided function is"):
        jvp(lambda t: t * 2, x)
    with pytest.raises(RuntimeError, match="v has invalid size"):
        vjp(lambda t: t * 2, x, mt.ones(3))
    with pytest.raises(RuntimeError, match="invalid length: should be 2 but got 1"):
        vjp(lambda t: (t, t), x, x)
    with pytest.raises(TypeError, match="inputs given to jacobian must be either a Tensor or a tuple"):
        jacobian(lambda t: t, 3)
    with pytest.raises(TypeError, match="outputs of the user-provided function given to vjp"):
        vjp(lambda t: 3, x)


def test_independent_outputs():
    x = double(1.0, 2.0)
    constant = lambda t: mt.ones((), dtype=mt.float64)  # noqa: E731
    assert vjp(constant, x)[1].tolist() == [0.0, 0.0]
    assert jacobian(constant, x).tolist() == [0.0, 0.0]
    assert hessian(lambda t: t.sum(), x).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(RuntimeError, match="does not require gradients"):
        vjp(constant, x, strict=True)
    with pytest.raises(RuntimeError, match="independent of input 1"):
        jacobian(lambda a, b: a.sum(), (x, x), strict=True)
    with pytest.raises(RuntimeError, match="with respect to input 0 is independent"):
        hvp(lambda t: t.sum(), x, x, strict=True)


def test_options_of_jacobian():
    x = double(1.0, 2.0)
    expected = jacobian(mt.exp, x).tolist()
    assert jacobian(mt.exp, x, vectorize=True).tolist() == expected
    assert jacobian(mt.exp, x, vectorize=True, strategy="forward-mode").tolist() == expected
    with pytest.raises(ValueError, match="strategy"):
        jacobian(mt.exp, x, strategy="sideways")
    with pytest.raises(RuntimeError, match="not supported together"):
        jacobian(mt.exp, x, strict=True, vectorize=True)
    with pytest.raises(NotImplementedError):
        jacobian(mt.exp, x, create_graph=True, strategy="forward-mode")
