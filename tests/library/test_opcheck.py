"""`opcheck` (spec L17)."""

from __future__ import annotations

import pytest

import minitorch
from minitorch.dispatch.namespace import ops
from minitorch.library import opcheck
from minitorch.testing.opcheck import DEFAULT_TEST_UTILS, OpCheckError


@pytest.fixture
def raw(library):
    """Define ``testing::f`` with a kernel for all backends; return the overload."""

    def make(schema, fn, fake=None):
        lib = library()
        lib.define(f"f{schema}")
        lib.impl("f", fn, "CPU")
        if fake is not None:
            lib.impl("f", fake, "Meta")
        return ops.testing.f.default

    return make


def failure(op, args, test, kwargs=None):
    """Return the text of the one check's failure."""
    with pytest.raises(OpCheckError, match=rf"opcheck\(op, \.\.\.\): {test} failed with") as caught:
        opcheck(op, args, kwargs, test_utils=test)
    return str(caught.value)


def test_a_good_operator(make_op):
    op = make_op("good", lambda x, n=2: x * n, schema="(Tensor x, int n=2) -> Tensor")
    op.register_fake(lambda x, n=2: minitorch.empty_like(x))
    op.register_autograd(
        lambda ctx, grad: (grad * ctx.n, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "n", inputs[1]),
    )
    x = minitorch.ones(3, requires_grad=True)
    expected = dict.fromkeys(DEFAULT_TEST_UTILS, "SUCCESS")
    assert opcheck(op, (x,)) == expected
    assert opcheck(op._opoverload, (x,), {"n": 3}) == expected
    assert opcheck(ops.testing.good, (minitorch.ones(3),)) == expected
    assert x.grad is None


def test_undeclared_mutation(raw):
    op = raw("(Tensor x) -> Tensor", lambda x: (x.add_(1), x.clone())[1])
    x = minitorch.ones(3)
    assert "Argument x is not defined as mutable but was mutated" in failure(
        op, (x,), "test_schema"
    )
    assert x.tolist() == [1.0, 1.0, 1.0]  # samples stay as they are


def test_declared_mutation(raw):
    op = raw("(Tensor(a!) x) -> Tensor(a!)", lambda x: x.add_(1))
    assert opcheck(op, (minitorch.ones(3),), test_utils="test_schema") == {"test_schema": "SUCCESS"}


@pytest.mark.parametrize(
    ("schema", "fn", "text"),
    [
        ("(Tensor x) -> Tensor", lambda x: x, "Argument x is not defined to alias output"),
        ("(Tensor x) -> Tensor", lambda x: x.view(-1), "Argument x is not defined to alias"),
        ("(Tensor[] xs) -> Tensor", lambda xs: xs[0], "Argument xs is not defined to alias"),
        (
            "(Tensor x) -> (Tensor, Tensor)",
            lambda x: (y := x.clone(), y),
            "Outputs 0 and 1 alias unexpectedly",
        ),
    ],
)
def test_undeclared_aliasing(raw, schema, fn, text):
    op = raw(schema, fn)
    x = minitorch.ones(3)
    assert text in failure(op, ([x],) if "[]" in schema else (x,), "test_schema")


@pytest.mark.parametrize(
    ("schema", "fn"),
    [
        ("(Tensor(a) x) -> Tensor(a)", lambda x: x.view(-1)),
        ("(Tensor(a -> *) x) -> Tensor(a)[]", lambda x: [x.view(-1), x.view(3)]),
    ],
)
def test_declared_aliasing(raw, schema, fn):
    op = raw(schema, fn)
    assert opcheck(op, (minitorch.ones(3),), test_utils="test_schema")


def test_autograd_hidden_in_a_backend_kernel(raw):
    op = raw("(Tensor x) -> Tensor", lambda x: x * 2)
    x = minitorch.ones(3, requires_grad=True)
    text = failure(op, (x,), "test_autograd_registration")
    assert "does not have an autograd kernel" in text
    assert opcheck(op, (x.detach(),), test_utils="test_autograd_registration")


def test_autograd_at_the_right_places(library):
    x = minitorch.ones(3, requires_grad=True)
    for name, key in (("f", "CompositeImplicitAutograd"), ("g", "Autograd"), ("h", "AutogradCPU")):
        lib = library()
        lib.define(f"{name}(Tensor x) -> Tensor")
        lib.impl(name, lambda x: x * 2, key)
        op = getattr(ops.testing, name).default
        assert opcheck(op, (x,), test_utils="test_autograd_registration")


def test_missing_and_wrong_fake_impls(raw, library):
    op = raw("(Tensor x) -> Tensor", lambda x: x.clone())
    assert "Meta tensors" in failure(op, (minitorch.ones(3),), "test_faketensor")
    lib = library()
    wrong = lib.impl("f", lambda x: x.new_empty(7), "Meta")
    assert wrong is None
    text = failure(op, (minitorch.ones(3),), "test_faketensor")
    assert "has shape (3,) on concrete and (7,) on meta" in text


def test_gradients_are_compared(make_op):
    op = make_op("f", lambda x: x * 2, schema="(Tensor x) -> Tensor")
    op.register_fake(minitorch.empty_like)
    x = minitorch.ones(3, requires_grad=True)
    assert "no autograd formula" in failure(op, (x,), "test_aot_dispatch_dynamic")
    op.register_autograd(lambda ctx, grad: grad * 2)
    assert opcheck(op, (x,), test_utils="test_aot_dispatch_dynamic")


def test_failures_as_data(raw):
    op = raw("(Tensor x) -> Tensor", lambda x: (x.add_(1), x.clone())[1])
    results = opcheck(op, (minitorch.ones(3),), raise_exception=False)
    assert list(results) == list(DEFAULT_TEST_UTILS)
    assert isinstance(results["test_schema"], RuntimeError)
    assert results["test_autograd_registration"] == "SUCCESS"
    assert isinstance(results["test_faketensor"], NotImplementedError)


def test_what_can_be_checked():
    x = minitorch.ones(3)
    with pytest.raises(ValueError, match="op must be an operator"):
        opcheck("aten::sin", (x,))
    with pytest.raises(RuntimeError, match=r"without overloads\. aten\.add has"):
        opcheck(ops.aten.add, (x, x))
    with pytest.raises(ValueError, match="there is no test_nope"):
        opcheck(ops.aten.sin.default, (x,), test_utils=("test_schema", "test_nope"))
