"""Autograd formulas of custom and raw operators (spec L13)."""

from __future__ import annotations

import pytest

import minitorch
from minitorch import Tensor
from minitorch.dispatch.local_state import current
from minitorch.dispatch.namespace import ops
from minitorch.library import register_autograd


def leaf(*values: float) -> Tensor:
    return minitorch.tensor(values, requires_grad=True)


@pytest.fixture
def scale(make_op):
    @make_op("scale")
    def scale(x: Tensor, factor: float = 3.0) -> Tensor:
        return x * factor

    return scale


def test_without_a_formula_backward_says_so(scale):
    y = scale(leaf(1.0, 2.0))
    assert y.requires_grad
    assert y.grad_fn.name() == "GeneratedBackwardFor_testing_scale_defaultBackward"
    with pytest.raises(RuntimeError, match=r"testing\.scale\.default but no autograd formula"):
        y.backward(minitorch.ones(2))


def test_nothing_is_recorded_without_need(scale):
    assert not scale(minitorch.ones(2)).requires_grad
    with minitorch.no_grad():
        assert not scale(leaf(1.0)).requires_grad


def test_integer_outputs_require_no_gradient(make_op):
    op = make_op("f", lambda x: x.to(minitorch.int64), schema="(Tensor x) -> Tensor")
    assert not op(leaf(1.0)).requires_grad


def test_a_formula(scale):
    seen = []

    def setup_context(ctx, inputs, output):
        seen.append((inputs[1], ctx.needs_input_grad, values(output)))
        ctx.factor = inputs[1]

    def backward(ctx, grad):
        seen.append(ctx.needs_input_grad)
        return grad * ctx.factor, None  # the None of a dropped default is tolerated

    scale.register_autograd(backward, setup_context=setup_context)
    x = leaf(1.0, 2.0)
    y = scale(x)  # the default comes back for setup_context
    y.backward(minitorch.ones(2))
    assert values(x.grad) == [3.0, 3.0]
    assert seen == [(3.0, (True,), [3.0, 6.0]), (True,)]


def values(tensor) -> list:
    return tensor.tolist()


def test_a_bare_gradient_is_one(make_op):
    op = make_op("f", lambda x: x * 2, schema="(Tensor x) -> Tensor")
    op.register_autograd(lambda ctx, grad: grad * 2)
    x = leaf(1.0)
    op(x).backward(minitorch.ones(1))
    assert values(x.grad) == [2.0]


def test_saved_tensors(make_op):
    op = make_op("f", lambda x, y: x * y, schema="(Tensor x, Tensor y) -> Tensor")

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x

    op.register_autograd(backward, setup_context=setup_context)
    x, y = leaf(2.0), leaf(5.0)
    op(x, y).backward(minitorch.ones(1))
    assert (values(x.grad), values(y.grad)) == ([5.0], [2.0])


def test_the_newest_formula_counts(scale):
    scale.register_autograd(lambda ctx, grad: grad)
    scale.register_autograd(lambda ctx, grad: grad * 7)
    x = leaf(1.0)
    scale(x).backward(minitorch.ones(1))
    assert values(x.grad) == [7.0]


def test_the_forward_kernel_runs_below_autograd(make_op):
    seen = []

    def f(x: Tensor) -> Tensor:
        y = x * 2
        seen.append((y.requires_grad, current().grad_enabled))
        return y

    op = make_op("f", f)
    op(leaf(1.0))
    assert seen == [(False, False)]


def test_keyword_only_arguments(make_op):
    op = make_op("f", lambda x, *, k=2: x * k, schema="(Tensor x, *, int k=2) -> Tensor")
    seen = []

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        seen.append((len(inputs), keyword_only_inputs))
        ctx.k = keyword_only_inputs["k"]

    op.register_autograd(lambda ctx, grad: grad * ctx.k, setup_context=setup_context)
    x = leaf(1.0)
    op(x).backward(minitorch.ones(1))
    op(x, k=5).backward(minitorch.ones(1))
    assert seen == [(1, {"k": 2}), (1, {"k": 5})]
    assert values(x.grad) == [7.0]


@pytest.fixture
def weighted(library):
    """``testing::weighted``: the sum of a list, times a tensor."""
    lib = library()
    lib.define("weighted(Tensor[] xs, Tensor w) -> Tensor")
    lib.impl("weighted", lambda xs, w: (xs[0] + xs[1]) * w, "CompositeExplicitAutograd")
    return lib


def test_tensor_lists(weighted):
    needs = []

    def backward(ctx, grad):
        needs.append(ctx.needs_input_grad)
        return [grad * 2, None], None

    register_autograd("testing::weighted", backward, lib=weighted)
    x, constant = leaf(1.0), minitorch.ones(1)
    y = ops.testing.weighted([x, constant], constant)
    assert y.grad_fn.name().startswith("GeneratedBackwardFor_testing_weighted_default")
    y.backward(minitorch.ones(1))
    assert values(x.grad) == [2.0]
    assert needs == [([True, False], False)]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda grad: (grad, None), "same structure as the inputs"),
        (lambda grad: ([grad], None), "same structure as the inputs"),
        (lambda grad: [grad, None], "returned 1 gradients for the 2 arguments"),
        (lambda grad: ([grad, None], None, grad), "returned 3 gradients for the 2 arguments"),
    ],
)
def test_gradients_of_the_wrong_structure(weighted, result, message):
    register_autograd("testing::weighted", lambda ctx, grad: result(grad), lib=weighted)
    y = ops.testing.weighted([leaf(1.0), minitorch.ones(1)], minitorch.ones(1))
    with pytest.raises(RuntimeError, match=message):
        y.backward(minitorch.ones(1))


def test_outputs_of_several_kinds(make_op):
    @make_op("f")
    def f(x: Tensor) -> tuple[Tensor, int, list[Tensor]]:
        return x * 2, 3, [x * 5, x * 7]

    seen = []

    def backward(ctx, first, number, rest):
        seen.append((number, rest[0] is None or values(rest[0])))
        return first * 2 + rest[1] * 7

    f.register_autograd(backward)
    x = leaf(1.0)
    first, number, (_, last) = f(x)
    assert number == 3
    (first + last).backward(minitorch.ones(1))
    assert values(x.grad) == [9.0]
    assert seen[0][0] is None


def test_formulas_are_refused(make_op, library):
    def backward(ctx, grad):
        return grad

    writes = make_op("f", lambda x: None, mutates_args={"x"}, schema="(Tensor(a!) x) -> ()")
    with pytest.raises(RuntimeError, match=r"non-functional operator.*testing::f"):
        writes.register_autograd(backward)
    view = make_op("g", lambda x: x.view(-1), schema="(Tensor(a) x) -> Tensor(a)")
    view.register_autograd(backward)  # one tensor in, one out
    views = make_op("h", lambda x: [x.view(-1)], schema="(Tensor(a) x) -> Tensor(a)[]")
    with pytest.raises(RuntimeError, match="non-functional operator"):
        views.register_autograd(backward)
    lib = library()
    lib.define("raw(Tensor(a) x) -> Tensor(a)")
    with pytest.raises(RuntimeError, match="non-functional operator"):
        register_autograd("testing::raw", backward, lib=lib)
    lib.define("keyword(Tensor x, *, Tensor y) -> Tensor")
    with pytest.raises(NotImplementedError, match="kwarg-only Tensor args"):
        register_autograd("testing::keyword", backward, lib=lib)
    with pytest.raises(RuntimeError, match="testing::nope does not exist"):
        register_autograd("testing::nope", backward, lib=lib)


def test_a_formula_goes_with_its_library(weighted, library):
    rules = library("IMPL")
    register_autograd("testing::weighted", lambda ctx, grad: ([grad, grad], None), lib=rules)
    assert ops.testing.weighted.default.has_kernel_for_dispatch_key("Autograd")
    rules._destroy()
    assert not ops.testing.weighted.default.has_kernel_for_dispatch_key("Autograd")
