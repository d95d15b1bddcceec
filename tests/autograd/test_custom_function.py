"""`Function`: gradients written by hand."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch.autograd import Function, gradcheck, gradgradcheck
from minitorch.autograd.function import InplaceFunction, once_differentiable


def double(*values):
    return mt.tensor(list(values), dtype=mt.float64, requires_grad=True)


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad


class NewCube(Function):
    @staticmethod
    def forward(x, power=3):
        return x**power, power

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.power = inputs[1]

    @staticmethod
    def backward(ctx, grad, _):
        (x,) = ctx.saved_tensors
        return ctx.power * x ** (ctx.power - 1) * grad, None


@pytest.mark.parametrize("cube", [Cube.apply, lambda x: NewCube.apply(x)[0], lambda x: NewCube.apply(x, power=2)[0]])
def test_first_and_second_derivatives(cube):
    x = double(0.5, -1.5)
    assert gradcheck(cube, (x,))
    assert gradgradcheck(cube, (x,))


def test_forward_runs_without_grad_mode_and_gets_the_tensors_themselves():
    seen = []

    class Look(Function):
        @staticmethod
        def forward(ctx, x, n):
            seen.append((mt.is_grad_enabled(), x, n, ctx.needs_input_grad))
            return x + n

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    x = mt.ones(2, requires_grad=True)
    Look.apply(x, 5)
    assert seen[0][0] is False
    assert seen[0][1] is x
    assert seen[0][2:] == (5, (True, False))


def test_the_context_is_the_node():
    contexts = []

    class Keep(Function):
        @staticmethod
        def forward(ctx, x):
            contexts.append(ctx)
            ctx.note = "here"
            ctx.save_for_backward(x, None)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = mt.ones(2, requires_grad=True)
    y = Keep.apply(x)
    assert y.grad_fn is contexts[0]
    assert y.grad_fn.name() == type(y.grad_fn).__name__ == "KeepBackward"
    assert y.grad_fn.note == "here"
    assert y.grad_fn.saved_tensors[0] is x
    assert y.grad_fn.saved_tensors[1] is None
    assert y.grad_fn.next_functions[0][0].variable is x
    y.sum().backward()
    with pytest.raises(RuntimeError, match="already been freed"):
        _ = y.grad_fn.saved_tensors


def test_nothing_is_recorded_where_nothing_needs_a_gradient():
    assert Cube.apply(mt.ones(2)).grad_fn is None
    with mt.no_grad():
        assert not Cube.apply(mt.ones(2, requires_grad=True)).requires_grad


class Two(Function):
    """Two outputs; notes the gradients that come."""

    seen = None

    @staticmethod
    def forward(ctx, x, materialize):
        ctx.set_materialize_grads(materialize)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, first, second):
        Two.seen = (first, second)
        return first * 2 if second is None else first * 2 + second * 3, None


def test_missing_gradients_are_zeros():
    x = mt.ones(2, requires_grad=True)
    Two.apply(x, True)[0].sum().backward()
    assert Two.seen[1].tolist() == [0.0, 0.0]
    assert x.grad.tolist() == [2.0, 2.0]


def test_missing_gradients_are_none_if_asked_for():
    x = mt.ones(2, requires_grad=True)
    Two.apply(x, False)[0].sum().backward()
    assert Two.seen[1] is None


def test_all_outputs():
    assert gradcheck(lambda x: Two.apply(x, True), (double(1.0, 2.0),))


def test_backward_runs_even_if_no_gradient_comes():
    ran = []

    class Nothing(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return None

    class Watch(Nothing):
        @staticmethod
        def backward(ctx, grad):
            ran.append(grad.tolist())
            return grad

    x = mt.ones(2, requires_grad=True)
    Nothing.apply(Watch.apply(x)).sum().backward()
    assert ran == [[0.0, 0.0]]


def make(returns):
    """Return a Function of two arguments whose backward returns what `returns` says."""

    class Made(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return returns(grad)

    return Made


@pytest.mark.parametrize(
    ("returns", "second", "text"),
    [
        (lambda g: g, 3.0, r"MadeBackward returned an incorrect number of gradients \(expected 2, got 1\)"),
        (lambda g: (g, None, g), 3.0, r"incorrect number of gradients \(expected 2, got 3\)"),
        (lambda g: (g, g), 3.0, "gradient different than None at position 2"),
        (lambda g: (g, 1.0), None, r"expected Variable or None \(got float\)"),
        (lambda g: (mt.ones(3), None), None, r"invalid gradient at index 0 - got \[3\] but expected shape"),
    ],
)
def test_wrong_gradients_are_refused(returns, second, text):
    x = mt.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=text):
        make(returns).apply(x, x if second is None else second).sum().backward()


def test_trailing_nones_do_no_harm():
    x = mt.ones(2, requires_grad=True)
    make(lambda g: (g, None, None, None)).apply(x, 3.0).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_broadcast_gradients_are_summed_and_cast():
    x = mt.ones(2, requires_grad=True)
    make(lambda g: (mt.ones(3, 2, dtype=mt.float64), None)).apply(x, 3.0).sum().backward()
    assert (x.grad.tolist(), x.grad.dtype) == ([3.0, 3.0], mt.float32)


def test_what_is_missing_says_so():
    class Empty(Function):
        pass

    class NoBackward(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class Both(NoBackward):
        @staticmethod
        def backward(ctx, grad):
            return grad

        @staticmethod
        def vjp(ctx, grad):
            return grad

    class Vjp(NoBackward):
        @staticmethod
        def vjp(ctx, grad):
            return grad * 2

    x = mt.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="must implement the forward function"):
        Empty.apply(x)
    with pytest.raises(NotImplementedError, match="either the backward or vjp method"):
        NoBackward.apply(x).sum().backward()
    with pytest.raises(RuntimeError, match="Implementing both"):
        Both.apply(x).sum().backward()
    Vjp.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = Vjp()
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        instance(x)
    with pytest.warns(DeprecationWarning):
        assert InplaceFunction(True).inplace


def test_only_tensors_can_be_saved():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, 3)
            return x * 2

    with pytest.raises(TypeError, match="argument 1 is of type int"):
        Wrong.apply(mt.ones(2, requires_grad=True))
    with mt.inference_mode():
        inference = mt.ones(2)

    class SavesOther(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(inference)
            return x * 2

    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        SavesOther.apply(mt.ones(2, requires_grad=True))


def test_a_saved_tensor_that_changed_is_noticed():
    x = mt.ones(2, requires_grad=True)
    z = x * 1
    y = Cube.apply(z)
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_saved_output_that_changed_is_noticed():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    assert gradgradcheck(Exp.apply, (double(0.1, 0.2),))
    y = Exp.apply(mt.ones(2, requires_grad=True))
    assert y.grad_fn.saved_tensors[0].grad_fn is y.grad_fn
    y.add_(1)
    with pytest.raises(RuntimeError, match="output 0 of Exp, is at version 1; expected version 0"):
        y.sum().backward()


def test_saved_tensor_hooks_see_them():
    packed, unpacked = [], []

    def pack(tensor):
        packed.append(tensor.requires_grad)
        return tensor.numpy().copy()

    def unpack(array):
        unpacked.append(1)
        return mt.from_numpy(array)

    x = double(2.0)
    with mt.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = Cube.apply(x)
    assert packed == [False]
    assert unpacked == []
    (first,) = mt.autograd.grad(y, x, mt.ones(1, dtype=mt.float64), create_graph=True)
    (second,) = mt.autograd.grad(first.sum(), x)
    assert (first.item(), second.item()) == (12.0, 12.0)
    assert unpacked == [1]


# -- outputs that are inputs -----------------------------------------------------------


class Dirty(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def test_an_input_changed_in_place():
    x = mt.ones(2, requires_grad=True)
    z = x * 1
    before = z.grad_fn
    y = Dirty.apply(z)
    assert y is z
    assert z.grad_fn.name() == "DirtyBackward"
    assert z.grad_fn.next_functions[0][0] is before
    assert z._version > 0
    (y * 3).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_a_view_changed_in_place():
    x = mt.ones(3, requires_grad=True)
    z = x * 1
    v = z[:2]
    assert Dirty.apply(v) is v
    assert "CopySlices" in z.grad_fn.name()
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 1.0]


def test_a_view_that_is_the_second_argument_changed_in_place():
    class Second(Function):
        @staticmethod
        def forward(ctx, factor, x):
            ctx.mark_dirty(x)
            ctx.save_for_backward(factor, x.clone())
            x.mul_(factor)
            return x

        @staticmethod
        def backward(ctx, grad):
            factor, x = ctx.saved_tensors
            return (grad * x).sum(), grad * factor

    factor, x = double(3.0), double(1.0, 2.0, 4.0)
    z = x * 1
    Second.apply(factor, z[1:])
    (z * z).sum().backward()
    assert x.grad.tolist() == [2.0, 36.0, 72.0]
    assert factor.grad.tolist() == [2 * 3 * 4 + 2 * 3 * 16]


def test_what_may_not_be_marked_dirty():
    class NotReturned(Dirty):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x * 1

    class NotInput(Dirty):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.mark_dirty(y)
            return y

    class ViewAndMore(Dirty):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x, x * 2

    x = mt.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        Dirty.apply(x)
    with pytest.raises(RuntimeError, match="were not returned as output"):
        NotReturned.apply(x * 1)
    with pytest.warns(UserWarning, match="was not an input"):
        NotInput.apply(x)
    with pytest.raises(RuntimeError, match="cannot return more than one Tensor"):
        ViewAndMore.apply((x * 1)[:1])


class AsIs(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 5


def test_an_input_returned_as_it_is_becomes_a_view():
    x = mt.ones(2, requires_grad=True)
    y = AsIs.apply(x)
    assert y is not x
    assert y._base is x
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]
    with pytest.raises(RuntimeError, match="Output 0 of AsIs is a view and is being modified inplace"):
        y.add_(1)


def test_the_base_of_an_output_changed():
    z = mt.ones(2, requires_grad=True) * 1
    y = AsIs.apply(z)
    z.mul_(2)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        (y * 2).sum()


def test_inputs_returned_without_recording():
    x, constant = mt.ones(2, requires_grad=True), mt.ones(2)
    with mt.no_grad():
        y = AsIs.apply(x)
    assert y is not x
    assert not y.requires_grad
    assert x.requires_grad
    assert AsIs.apply(constant) is not constant


def test_an_input_returned_and_saved_needs_the_context_in_forward():
    class Saves(Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)

    with pytest.raises(RuntimeError, match="returned as-is as output is being saved"):
        Saves.apply(mt.ones(2, requires_grad=True))


def test_views_of_inputs_may_not_be_changed():
    class First(Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1]

        @staticmethod
        def backward(ctx, grad):
            return mt.cat([grad, grad * 0])

    class Halves(Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1], x[1:]

        @staticmethod
        def backward(ctx, a, b):
            return mt.cat([a, b])

    z = mt.ones(2, requires_grad=True) * 1
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        First.apply(z).mul_(2)
    with pytest.raises(RuntimeError, match="returns multiple views"):
        Halves.apply(z)[0].mul_(2)


# -- outputs without a gradient --------------------------------------------------------


def test_outputs_marked_non_differentiable():
    class SortWithIndex(Function):
        @staticmethod
        def forward(ctx, x):
            values, index = x.sort()
            half = values / 2
            ctx.mark_non_differentiable(half)
            ctx.save_for_backward(index)
            return values, index, half, "text"

        @staticmethod
        def backward(ctx, grad, grad_index, grad_half, grad_text):
            assert grad_text is None
            assert grad_index.dtype is mt.int64
            assert grad_half.tolist() == [0.0, 0.0]
            (index,) = ctx.saved_tensors
            return mt.zeros(2).scatter(0, index, grad)

    x = mt.tensor([2.0, 1.0], requires_grad=True)
    values, index, half, text = SortWithIndex.apply(x)
    assert (values.requires_grad, index.requires_grad, half.requires_grad, text) == (True, False, False, "text")
    (values * mt.tensor([1.0, 10.0])).sum().backward()
    assert x.grad.tolist() == [10.0, 1.0]


def test_an_input_marked_non_differentiable_keeps_its_own_flag():
    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_non_differentiable(x)
            return x * 2, x

        @staticmethod
        def backward(ctx, grad, _):
            return grad * 2

    x = mt.ones(2, requires_grad=True)
    _, same = Both.apply(x)
    assert not same.requires_grad
    assert x.requires_grad


def test_lists_are_no_tensors():
    class Listed(Function):
        @staticmethod
        def forward(ctx, xs):
            return [xs[0] * 2]

    (y,) = Listed.apply([mt.ones(2, requires_grad=True)])
    assert not y.requires_grad


# -- once differentiable ---------------------------------------------------------------


class Once(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        assert not mt.is_grad_enabled()
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad


def test_once_differentiable():
    x = double(2.0)
    Once.apply(x).backward(mt.ones(1, dtype=mt.float64))
    assert x.grad.tolist() == [12.0]


def test_once_differentiable_twice():
    x = double(2.0)
    scale = double(1.0)
    (first,) = mt.autograd.grad((Once.apply(x) * scale).sum(), x, create_graph=True)
    assert first.requires_grad
    with pytest.raises(RuntimeError, match="trying to differentiate twice"):
        first.sum().backward()


def test_arguments_by_name():
    class Named(Function):
        @staticmethod
        def forward(ctx, x, y=None):
            ctx.with_y = y is not None
            return x * 2 if y is None else x * 2 + y

        @staticmethod
        def backward(ctx, grad):
            return (grad * 2, grad) if ctx.with_y else grad * 2

    x, y = mt.ones(2, requires_grad=True), mt.ones(2, requires_grad=True)
    Named.apply(x, y=y).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([2.0, 2.0], [1.0, 1.0])
    Named.apply(x).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_static_methods_of_other_transforms_are_attributes():
    class All(Cube):
        generate_vmap_rule = True

        @staticmethod
        def jvp(ctx, tangent):
            return tangent

    assert All.generate_vmap_rule
    assert not Cube.generate_vmap_rule
    with pytest.raises(NotImplementedError, match="vmap"):
        Cube.vmap(None, (0,), mt.ones(2))
    with pytest.raises(NotImplementedError, match="jvp"):
        Cube.jvp(None, mt.ones(2))


def test_anomaly_mode_names_the_call():
    class Nan(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad * float("nan")

    x = mt.ones(2, requires_grad=True)
    with mt.autograd.set_detect_anomaly(True):
        y = Nan.apply(x)
        with pytest.warns(UserWarning, match="test_anomaly_mode_names_the_call"):
            with pytest.raises(RuntimeError, match="'NanBackward' returned nan values in its 0th output"):
                y.sum().backward()
