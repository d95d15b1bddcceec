"""Operators without an autograd kernel (A2 to A4), and the autograd level as such (A1, A12)."""

from __future__ import annotations

import warnings

import pytest

import minitorch as mt
from minitorch.autograd.fallback import fallback_mode, set_fallback_mode
from minitorch.dispatch import dispatcher
from minitorch.dispatch.keys import AUTOGRAD_KEYS
from minitorch.dispatch.library import Library
from minitorch.dispatch.local_state import current


@pytest.fixture
def define():
    """Define an operator with a CPU kernel only; return its overload."""
    libs = []

    def make(schema, kernel):
        lib = Library("testing", "FRAGMENT")
        libs.append(lib)
        name = lib.define(schema)
        lib.impl(name, kernel, "CPU")
        return getattr(mt.ops.testing, name).default

    yield make
    for lib in libs:
        lib._destroy()


@pytest.fixture(params=["warn", "nothing"])
def mode(request):
    old = fallback_mode()
    set_fallback_mode(request.param)
    yield request.param
    set_fallback_mode(old)


def copied(x):
    return mt.from_numpy(x.detach().numpy() * 2)


def test_mode_is_checked():
    assert fallback_mode() == "warn"
    for wrong in ("error", "other"):
        with pytest.raises(RuntimeError, match="must be 'warn' or 'nothing'"):
            set_fallback_mode(wrong)


def test_autograd_keys_are_not_excluded(define, mode):
    seen = []

    def kernel(x):
        seen.append(current().excluded & AUTOGRAD_KEYS)
        return copied(x)

    define("f1(Tensor x) -> Tensor", kernel)(mt.ones(2, requires_grad=True))
    assert seen == [0]


def test_an_output_without_history(define, mode):
    op = define("f2(Tensor x) -> Tensor", copied)
    x = mt.ones(2, requires_grad=True)
    y = op(x)
    assert y.requires_grad == (mode == "warn")
    if mode == "warn":
        assert y.grad_fn.name() == "WarnNotImplemented"
        with pytest.warns(UserWarning, match=r"testing::f2: an autograd kernel was not registered"):
            (y * 3).sum().backward()
        assert x.grad is None


def test_an_output_whose_history_was_recorded_inside(define, mode):
    op = define("f3(Tensor x) -> Tensor", lambda x: x.clone())
    x = mt.ones(2, requires_grad=True)
    y = op(x)
    assert y.grad_fn.name() == "CloneBackward0"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (y * 3).sum().backward()
    assert len(caught) == (mode == "warn")
    assert x.grad.tolist() == [3.0, 3.0]


def test_outputs_that_have_no_gradient(define, mode):
    op = define("f4(Tensor x) -> (Tensor, Tensor)", lambda x: (copied(x).long(), copied(x)))
    integers, floats = op(mt.ones(2, requires_grad=True))
    assert not integers.requires_grad
    assert floats.requires_grad == (mode == "warn")


def test_mutable_outputs_get_no_node(define, mode):
    def kernel(x):
        x.detach().numpy().__imul__(2)
        return x

    op = define("f5(Tensor(a!) x) -> Tensor(a!)", kernel)
    x = mt.ones(2, requires_grad=True)
    assert op(x) is x
    assert (x.tolist(), x._version, x.is_leaf) == ([2.0, 2.0], 0, True)


def test_a_real_inplace_operator_inside_checks_for_itself(define, mode):
    op = define("f6(Tensor(a!) x) -> Tensor(a!)", lambda x: x.mul_(2))
    with pytest.raises(RuntimeError, match="leaf Variable"):
        op(mt.ones(2, requires_grad=True))
    x = mt.ones(2)
    op(x)
    assert x._version == 1


def test_nothing_to_do_without_gradients(define, mode):
    op = define("f7(Tensor x) -> Tensor", copied)
    assert not op(mt.ones(2)).requires_grad
    with mt.no_grad():
        assert not op(mt.ones(2, requires_grad=True)).requires_grad


def test_lists_of_tensors(define, mode):
    op = define("f8(Tensor[] xs) -> Tensor[]", lambda xs: [copied(x) for x in xs])
    a, b = op([mt.ones(2), mt.ones(2, requires_grad=True)])
    assert a.requires_grad == b.requires_grad == (mode == "warn")


# -- the level itself ------------------------------------------------------------------


@pytest.fixture
def override(monkeypatch):
    """Put a CPU kernel over an operator's own, for one test."""
    monkeypatch.setattr(dispatcher, "_override_warned", True)
    libs = []

    def put(name, kernel):
        lib = Library("aten", "IMPL", "CPU")
        libs.append(lib)
        lib.impl(name, kernel)

    yield put
    for lib in libs:
        lib._destroy()


def test_backends_never_see_autograd(override):
    seen = []

    def kernel(x):
        seen.append((current().excluded & AUTOGRAD_KEYS == AUTOGRAD_KEYS, mt.is_grad_enabled()))
        result = mt.from_numpy(x.detach().numpy() + 1)
        seen.append((result * 2).requires_grad)
        return result

    override("exp", kernel)
    y = mt.ones(2, requires_grad=True).exp()
    assert seen == [(True, True), False]
    assert y.grad_fn.name() == "ExpBackward0"


def test_what_an_inplace_kernel_returns_does_not_matter(override):
    override("sigmoid_", lambda x: mt.zeros(2))
    x = mt.ones(2)
    assert x.sigmoid_() is x
    assert x._version == 1


def test_an_operator_whose_derivative_is_missing_says_so_in_backward():
    from minitorch.autograd.kernel import AutogradKernel
    from minitorch.dispatch.operator import OPERATORS

    lib = Library("testing", "FRAGMENT")
    lib.define("underivable(Tensor x) -> Tensor")
    lib.impl("underivable", copied, "CPU")
    op = OPERATORS["testing::underivable"]
    kernel = AutogradKernel(None)
    op.register("Autograd", kernel)
    try:
        y = mt.ops.testing.underivable(mt.ones(2, requires_grad=True))
        with pytest.raises(RuntimeError, match="derivative for testing::underivable is not implemented"):
            y.sum().backward()
    finally:
        op.unregister("Autograd", kernel)
        lib._destroy()
