"""`grad`, `vjp`, `jvp` and what is made of them; levels that nest (spec G1 to G9)."""

from __future__ import annotations

import re

import pytest

import minitorch as mt
from minitorch.autograd import forward_ad
from minitorch.autograd.dual import level_count
from minitorch.dispatch.local_state import current
from minitorch.dispatch.trace import show_dispatch_trace
from minitorch.dispatch.transforms import TransformType, current_interpreter, interpreter_stack
from minitorch.func import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)
from minitorch.functorch.wrappers import is_grad_tracking, level_of
from minitorch.library import Library
from minitorch.modes import TorchDispatchMode
from minitorch.testing import assert_close


def vector(*values):
    return mt.tensor(list(map(float, values)))


class Names(TorchDispatchMode):
    """Notes what reaches the Python key."""

    def __init__(self):
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.name().removeprefix("aten::"))
        return func(*args, **(kwargs or {}))


# -- G1 to G6: the stack


def test_the_stack_and_its_levels():
    seen = []

    def look(x):
        seen.append([(i.transform, i.level) for i in interpreter_stack()])
        return (x**2).sum()

    vmap(grad(lambda x: jvp(look, (x,), (x,))[1]))(mt.ones(3, 2))
    assert seen == [[(TransformType.Vmap, 1), (TransformType.Grad, 2), (TransformType.Jvp, 3)]]
    assert interpreter_stack() == ()
    with pytest.raises(RuntimeError, match="no transform"):
        current_interpreter()


def test_keys_are_included_while_the_stack_is_not_empty():
    before = current().included
    inside = []
    grad(lambda x: (inside.append(current().included), x.sum())[1])(mt.ones(2))
    from minitorch.dispatch.keys import FUNCTORCH_LAYERS

    assert inside[0] & FUNCTORCH_LAYERS == FUNCTORCH_LAYERS
    assert not before & FUNCTORCH_LAYERS
    assert current().included == before


def test_the_way_of_one_call():
    """vmap(grad(f)): front, Autograd of level 2, back, front, Batched of level 1, back, Autograd, CPU (spec G5)."""
    lines = []

    def f(x):
        with show_dispatch_trace(write=lines.append):
            return x.sin()

    vmap(grad(f))(mt.ones(3))
    assert all("op=[aten::sin]" in line for line in lines)
    assert [re.search(r"key=\[(\w+)\]", line)[1] for line in lines] == [
        "FuncTorchDynamicLayerFrontMode",
        "AutogradCPU",
        "FuncTorchDynamicLayerBackMode",
        "FuncTorchDynamicLayerFrontMode",
        "FuncTorchBatched",
        "AutogradCPU",
        "CPU",
    ]


def test_modes_see_calls_after_all_transforms():
    mode = Names()
    with mode:
        vmap(grad(lambda x: x.sin().sum()))(mt.ones(3, 2))
    assert "sin" in mode.names
    assert "cos" in mode.names
    assert not any("alias" in name for name in mode.names)


# -- G7: wrappers


def test_what_an_argument_looks_like():
    seen = []

    def look(x):
        seen.append(x)
        assert is_grad_tracking(x)
        assert level_of(x) == 1
        assert repr(x) == "GradTrackingTensor(lvl=1, value=\n    tensor([1., 1.])\n)"
        assert x.requires_grad
        assert x.is_leaf
        return x.sum()

    grad(look)(mt.ones(2))
    (dead,) = seen
    assert level_of(dead) == -2
    assert "lvl=-2" in repr(dead)
    fresh = dead + 1  # taken off at the next use
    assert not is_grad_tracking(fresh)
    assert not fresh.requires_grad
    assert_close(fresh, vector(2, 2))


def test_a_live_wrapper_in_another_thread_is_refused():
    import threading

    errors = []

    def f(x):
        def work():
            try:
                x + 1
            except RuntimeError as error:
                errors.append(str(error))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return x.sum()

    grad(f)(mt.ones(2))
    assert "not active here" in errors[0]


def test_captured_tensors_are_constants():
    outer = mt.ones(2, requires_grad=True)
    assert_close(grad(lambda x: (x * outer).sum())(vector(3, 4)), vector(1, 1))
    value, gradient = None, None

    def f(x):
        y = x * 2
        assert_close(grad(lambda z: (z * y).sum())(x).detach(), mt.full((2,), 2.0) * vector(1, 2))
        return (y * y).sum()

    gradient, value = grad_and_value(f)(vector(1, 2))
    assert_close(gradient, vector(8, 16))
    assert value.item() == 20.0


# -- G8: grad modes and refusals


def test_no_grad_inside():
    def f(x):
        with mt.no_grad():
            s = x.sum()
        return (x * s).sum()

    assert_close(grad(f)(mt.ones(2)), vector(2, 2))


def test_no_grad_outside():
    x = mt.ones(2)
    with mt.no_grad():
        assert_close(grad(lambda x: (x**2).sum())(x), vector(2, 2))
        assert not mt.is_grad_enabled()
    x = mt.ones(2, requires_grad=True)
    recorded = grad(lambda x: (x**3).sum())(x)
    assert recorded.requires_grad
    with mt.no_grad():
        assert not grad(lambda x: (x**3).sum())(x).requires_grad
    recorded.sum().backward()
    assert_close(x.grad, vector(6, 6))


def test_inference_mode_outside():
    outside = vector(1, 2)
    with mt.inference_mode():
        for x in (outside, vector(1, 2)):
            assert grad(lambda x: (x**3).sum())(x).tolist() == [3.0, 12.0]
            assert grad(lambda x: grad(lambda y: (y**3).sum())(x).sum())(x).tolist() == [6.0, 12.0]
            assert grad(lambda x: x.clone().mul_(x.view(2)).sum())(x).tolist() == [2.0, 4.0]
            assert jvp(lambda x: x**2, (x,), (x,))[1].tolist() == [2.0, 8.0]
            assert jacrev(lambda x: x**2)(x).tolist() == jacfwd(lambda x: x**2)(x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
            assert vmap(grad(lambda x: x**2))(x).tolist() == [2.0, 4.0]
        assert mt.is_inference_mode_enabled()
        assert (outside + 1).is_inference()
    with mt.inference_mode():
        assert not grad(lambda w: (w**2).sum())(outside.clone().requires_grad_()).requires_grad
    assert not mt.is_inference_mode_enabled()
    assert not (outside + 1).is_inference()


def test_outputs_that_have_no_gradient():
    x = vector(1, 2)
    for f in (lambda x: x > 0, lambda x: (x, x.argmax())):
        for transform in (lambda f: vjp(f, x), lambda f: jacrev(f)(x)):
            with pytest.raises(RuntimeError, match="must be floating-point or complex.*(bool|int64)"):
                transform(f)
    assert vjp(lambda x: (x, x > 0), x, has_aux=True)[2].tolist() == [True, True]
    with pytest.raises(RuntimeError, match="only for real scalar outputs but got .*complex64"):
        grad(lambda z: (z * z).sum())(mt.tensor([1 + 2j]))
    assert grad(lambda z: (z * z.conj()).real.sum())(mt.tensor([1 + 2j])).tolist() == [2 + 4j]


def test_nested_gradients():
    assert_close(grad(lambda x: grad(lambda y: (y**3).sum())(x).sum())(mt.ones(2)), vector(6, 6))
    f = grad(grad(grad(lambda x: x**4)))
    assert f(mt.tensor(2.0)).item() == 48.0


def test_no_grad_outside_of_the_inner_level_cuts_the_outer_one():
    def f(x):
        with mt.no_grad():
            inner = grad(lambda y: (y**3).sum())(x)
        return (inner * x).sum()

    assert_close(grad(f)(vector(1, 2)), vector(3, 12))


def test_changes_in_place():
    captured = mt.ones(2)
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        grad(lambda x: captured.add_(x).sum())(mt.ones(2))
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        jvp(lambda x: captured.mul_(x), (mt.ones(2),), (mt.ones(2),))
    assert captured.tolist() == [1.0, 1.0]
    assert_close(grad(lambda x: x.clone().mul_(3).sum())(mt.ones(2)), vector(3, 3))
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        grad(lambda x: x.mul_(3).sum())(mt.ones(2))
    with pytest.raises(RuntimeError, match="a view of a leaf"):
        grad(lambda x: x[0].mul_(3).sum())(mt.ones(2))


def test_changes_of_views_in_place():
    def f(x):
        y = x.clone()
        first, rest = y[0], y[1:]
        first.mul_(x[1])
        rest.mul_(first.clone())
        return (y * x).sum()

    def same(x):
        first = x[0] * x[1]
        return first * x[0] + (x[1:] * first * x[1:]).sum()

    x, v = vector(2, 3, 5), vector(1, -1, 2)
    assert_close(grad(f)(x), grad(same)(x))
    assert_close(jvp(f, (x,), (v,))[1], jvp(same, (x,), (v,))[1])
    assert_close(vmap(grad(f))(mt.stack([x, v])), mt.stack([grad(same)(x), grad(same)(v)]))
    assert_close(hessian(f)(x), hessian(same)(x))


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: x.requires_grad_().sum(), r"requires_grad_\(\)"),
        (lambda x: (x.sum().backward(), x.sum())[1], r"backward\(\)"),
        (lambda x: (mt.autograd.backward(x.sum()), x.sum())[1], r"backward\(\)"),
        (lambda x: ((x * 2).retain_grad(), x.sum())[1], r"retain_grad\(\)"),
        (lambda x: x, r"Expected f\(\*args\) to return a scalar Tensor"),
        (lambda x: 1.0, r"Expected f\(\*args\) to return a Tensor"),
        (lambda x: (x.sum(), x), r"Expected f\(\*args\) to return a Tensor"),
    ],
)
def test_what_is_refused(f, text):
    with pytest.raises(RuntimeError, match=text):
        grad(f)(mt.ones(2))
    assert interpreter_stack() == ()


def test_what_is_refused_of_arguments():
    with pytest.raises(RuntimeError, match="floating point and complex"):
        grad(lambda x: x.sum())(mt.ones(2, dtype=mt.int64))
    with pytest.raises(ValueError, match="must be Tensor"):
        grad(lambda x: x)(1.0)
    for argnums, text in ((3, "argnum=3"), ((), "non-empty"), ((0, 0), "unique"), ("a", "argnum type"), (True, "argnum")):
        with pytest.raises(RuntimeError, match=text):
            grad(lambda x: x.sum(), argnums)(mt.ones(2))


# -- G9: formulas of custom operators


def test_a_custom_operator_uses_its_formula():
    lib = Library("transformed", "FRAGMENT")
    try:
        lib.define("triple(Tensor x) -> Tensor")
        lib.impl("triple", lambda x: x * 3, "CompositeExplicitAutograd")
        calls = []

        def backward(ctx, g):
            calls.append(g.shape)
            return g * 30

        mt.library.register_autograd("transformed::triple", backward, lib=lib)
        op = mt.ops.transformed.triple
        mt.library.register_vmap("transformed::triple", lambda info, in_dims, x: (op(x), in_dims[0]), lib=lib)
        assert_close(grad(lambda x: op(x).sum())(mt.ones(2)), vector(30, 30))
        assert_close(vmap(grad(lambda x: op(x).sum()))(mt.ones(3, 2)), mt.full((3, 2), 30.0))
        assert_close(grad(lambda x: vmap(op)(x).sum())(mt.ones(3, 2)), mt.full((3, 2), 30.0))
        assert calls
    finally:
        lib._destroy()


# -- the functions


def test_argnums_structures_and_aux():
    def f(a, d, *, scale):
        return (a * d["w"][0]).sum() * scale, {"seen": a * 2}

    a, d = vector(1, 2), {"w": (vector(3, 4), vector(0, 0))}
    gradients, aux = grad(f, argnums=1, has_aux=True)(a, d, scale=mt.tensor(2.0))
    assert_close(gradients["w"][0], vector(2, 4))
    assert_close(gradients["w"][1], vector(0, 0))
    assert_close(aux["seen"], vector(2, 4))
    assert not is_grad_tracking(aux["seen"])
    (first, second), (value, aux) = grad_and_value(f, argnums=(-1, 0), has_aux=True)(a, d, scale=1.0)
    assert_close(second, vector(3, 4))
    assert_close(first["w"][0], vector(1, 2))
    assert value.item() == 11.0


def test_vjp():
    y, pull = vjp(lambda a, b: {"p": a * b, "s": a.sum()}, vector(1, 2), vector(3, 4))
    assert_close(y["p"], vector(3, 8))
    for _ in range(2):
        ga, gb = pull({"p": vector(1, 10), "s": mt.tensor(100.0)})
        assert_close(ga, vector(103, 140))
        assert_close(gb, vector(1, 20))
    _, pull = vjp(lambda a: (a, a * 2), vector(1))
    assert_close(pull(vector(1), vector(1))[0], vector(3))
    _, pull, aux = vjp(lambda a: (a * 2, a), vector(5), has_aux=True)
    assert_close(aux, vector(5))
    for wrong in ((vector(1, 2),), ({"a": vector(1)},), (mt.ones(1, dtype=mt.complex64),), (3.0,)):
        with pytest.raises(RuntimeError):
            pull(*wrong)
    with pytest.raises(RuntimeError, match="only tensors"):
        vjp(lambda a: (a, 3), vector(1))
    with pytest.raises(RuntimeError, match="non-empty output"):
        vjp(lambda a: (), vector(1))


def test_vjp_of_what_does_not_depend():
    _, pull = vjp(lambda a, b: a * 1, vector(1, 2), vector(3, 4))
    assert_close(pull(vector(1, 1))[1], vector(0, 0))
    _, pull = vjp(lambda a: mt.ones(2), vector(1, 2))
    assert_close(pull(vector(1, 1))[0], vector(0, 0))


def test_vjp_of_an_input_and_its_views():
    _, pull = vjp(lambda a: a, vector(1, 2))
    assert_close(pull(vector(3, 4))[0], vector(3, 4))

    def f(a):
        b = a.clone()
        view = b[0]
        b.mul_(3)
        return view

    _, pull = vjp(f, vector(1, 2))
    assert_close(pull(mt.tensor(1.0))[0], vector(3, 0))


def test_jvp():
    primals, tangents = (vector(1, 2), {"k": vector(3, 4)}), (vector(1, 0), {"k": vector(0, 1)})
    y, t = jvp(lambda a, d: (a * d["k"], {"n": a.sum()}), primals, tangents)
    assert_close(y[0], vector(3, 8))
    assert_close(t[0], vector(3, 2))
    assert t[1]["n"].item() == 1.0
    y, t, aux = jvp(lambda a: (a.sin(), a), (vector(0),), (vector(2),), has_aux=True)
    assert_close(t, vector(2))
    assert_close(aux, vector(0))
    assert level_count() == 0


def test_jvp_of_what_does_not_depend():
    assert_close(jvp(lambda a: mt.ones(2), (vector(1),), (vector(1),))[1], vector(0, 0))
    with pytest.raises(RuntimeError, match="independent of the inputs"):
        jvp(lambda a: mt.ones(2), (vector(1),), (vector(1),), strict=True)


@pytest.mark.parametrize(
    ("primals", "tangents", "error", "text"),
    [
        (mt.ones(2), (mt.ones(2),), RuntimeError, "Expected primals to be a tuple"),
        ((mt.ones(2),), mt.ones(2), RuntimeError, "Expected tangents to be a tuple"),
        ((mt.ones(2),), (mt.ones(2), mt.ones(2)), RuntimeError, "same python structure"),
        ((mt.ones(2),), (mt.ones(3),), RuntimeError, "shape"),
        ((1.0,), (1.0,), ValueError, "must be Tensor"),
        ((mt.ones(2, dtype=mt.int64),), (mt.ones(2, dtype=mt.int64),), ValueError, "floating point or complex"),
        ((), (), RuntimeError, "non-empty"),
    ],
)
def test_jvp_refuses(primals, tangents, error, text):
    with pytest.raises(error, match=text):
        jvp(lambda *a: a[0], primals, tangents)
    assert level_count() == 0
    assert interpreter_stack() == ()


def test_levels_of_forward_mode_are_told_apart():
    """d/da of the derivative of b**3 * a along b, at b = a."""

    def f(a):
        return jvp(lambda b: b**3 * a, (a,), (mt.ones(()),))[1]

    value, slope = jvp(f, (mt.tensor(2.0),), (mt.ones(()),))
    assert value.item() == 24.0  # 3 a^3
    assert slope.item() == 36.0  # 9 a^2
    # The classical confusion of perturbations: d/dx (x * d/dy (x + y)) = 1.
    one = mt.ones(())
    assert jvp(lambda x: x * jvp(lambda y: x + y, (one,), (one,))[1], (one,), (one,))[1].item() == 1.0


def test_forward_over_reverse_and_reverse_over_forward():
    def f(x):
        return (x.sin() * x.roll(1) ** 2).sum()

    x, v = vector(0.3, 0.7, -1.1), vector(1, 2, 3)
    forward_over_reverse = jvp(grad(f), (x,), (v,))[1]
    reverse_over_forward = grad(lambda x: jvp(f, (x,), (v,))[1])(x)
    reverse_over_reverse = grad(lambda x: (grad(f)(x) * v).sum())(x)
    forward_over_forward = mt.stack([jvp(lambda x, e=e: jvp(f, (x,), (e,))[1], (x,), (v,))[1] for e in mt.eye(3)])
    for found in (reverse_over_forward, reverse_over_reverse, forward_over_forward):
        assert_close(found, forward_over_reverse)


def test_jacobians():
    def f(a, b):
        return a.sin() * b.sum(), {"o": (a[:2] * b[:2, 0]).sum()}

    a, b = vector(1, 2, 3), mt.arange(6.0).reshape(3, 2)
    for jac in (jacrev, jacfwd):
        (by_a, by_b), rest = jac(f, argnums=(0, 1))(a, b)
        assert_close(by_a, mt.diag(a.cos() * 15))
        assert_close(by_b, a.sin().reshape(3, 1, 1).expand(3, 3, 2))
        assert rest["o"][0].shape == (3,)
        assert rest["o"][1].shape == (3, 2)
        result, aux = jac(lambda a: (a**2, a * 3), has_aux=True)(a)
        assert_close(result, mt.diag(2 * a))
        assert_close(aux, a * 3)
        for chunk_size in (1, 2, 5):
            assert_close(jac(lambda a: a**2, chunk_size=chunk_size)(a), mt.diag(2 * a))
    with pytest.raises(ValueError, match="chunk_size"):
        jacrev(lambda a: a, chunk_size=0)


def test_hessian():
    x = vector(1, 2, 3)
    expected = mt.diag(6 * x)
    for f in (hessian, lambda g: jacrev(jacrev(g)), lambda g: jacfwd(jacfwd(g)), lambda g: jacrev(jacfwd(g))):
        assert_close(f(lambda x: (x**3).sum())(x), expected)
    assert_close(vmap(hessian(lambda x: (x**3).sum()))(mt.stack([x, 2 * x])), mt.stack([expected, 2 * expected]))


def test_linearize():
    calls = []

    def f(a, b):
        calls.append(1)
        return {"o": a.sin() * b}

    a, b = vector(0.5, 1), vector(2, 3)
    y, push = linearize(f, a, b)
    assert_close(y["o"], a.sin() * b)
    for v in (vector(1, 0), vector(0, 1), vector(2, 3)):
        assert_close(push(v, v)["o"], jvp(f, (a, b), (v, v))[1]["o"])
        calls.pop()
    assert calls == [1]
    assert_close(vmap(lambda v: push(v, v)["o"])(mt.eye(2)), mt.diag(a.cos() * b + a.sin()))
    with pytest.raises(RuntimeError, match="structure"):
        push(a)
    with pytest.raises(RuntimeError, match="shape"):
        push(mt.ones(3), b)


def test_complex_numbers():
    z = mt.tensor([1 + 2j, -1 + 0.5j])
    v = mt.tensor([1 - 1j, 2 + 1j])
    y, pull = vjp(lambda z: z * z * (1 + 1j), z)
    assert_close(pull(v)[0], v * (2 * z * (1 + 1j)).conj())
    assert_close(jvp(lambda z: z * z * (1 + 1j), (z,), (v,))[1], v * 2 * z * (1 + 1j))
    assert_close(linearize(lambda z: z * z * (1 + 1j), z)[1](v), v * 2 * z * (1 + 1j))
    assert_close(grad(lambda z: (z * z.conj()).real.sum())(z), 2 * z)


def test_jacobians_of_complex_numbers_are_refused():
    x, z = vector(1, 2), mt.tensor([1 + 2j, 3.0])
    for transform in (jacrev, jacfwd, hessian):
        with pytest.raises(RuntimeError, match="Expected all inputs to be real .* idx: 0"):
            transform(lambda z: (z * z).abs().sum())(z)
    for transform in (jacrev, jacfwd):
        with pytest.raises(RuntimeError, match="Expected all inputs to be real .* idx: 1"):
            transform(lambda x, z: x * z.real)(x, z)
        with pytest.raises(RuntimeError, match="Expected all outputs to be real .* idx: 0"):
            transform(lambda x: x * z)(x)
        parts = transform(lambda x: mt.view_as_real(x * z))(x)
        assert parts.tolist() == [[[1.0, 0.0], [2.0, 0.0]], [[0.0, 3.0], [0.0, 0.0]]]


def test_a_tensor_of_tensors_inside():
    x = vector(1, 2)
    assert grad(lambda x: (x * mt.tensor([x[1], x[0]])).sum())(x).tolist() == [2.0, 1.0]  # values, and no history
    with pytest.raises(RuntimeError, match="item"):
        vmap(lambda x: mt.tensor([x, x]))(x)


def test_checkpoint_inside_is_refused():
    x = vector(1, 2)

    def f(x):
        return mt.utils.checkpoint.checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False).sum()

    for transform in (lambda: grad(f)(x), lambda: vjp(f, x), lambda: vmap(grad(f))(mt.ones(2, 2))):
        with pytest.raises(RuntimeError, match="checkpoint"):
            transform()
    assert_close(jvp(f, (x,), (x,))[1], (x * x.cos() * x.sin().exp()).sum())
    w = x.clone().requires_grad_()
    f(w).backward()
    assert_close(w.grad, x.cos() * x.sin().exp())


class Doubled(mt.autograd.Function):
    """Changes its input in place."""

    @staticmethod
    def forward(x):
        return x.mul_(2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

    @staticmethod
    def vmap(info, in_dims, x):
        return Doubled.apply(x), in_dims[0]


def test_a_function_that_changes_its_input():
    x = mt.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    def f(x):
        y = x * 1
        z = Doubled.apply(y)
        assert z is y
        return (z * z).sum()

    assert_close(grad(f)(x), 8 * x)
    assert_close(vmap(f)(x), (4 * x * x).sum(1))
    assert_close(vmap(grad(f))(x), 8 * x)
    assert_close(vmap(grad(f), in_dims=1, out_dims=1)(x), 8 * x)
    assert_close(grad(lambda x: vmap(f)(x).sum())(x), 8 * x)


@pytest.mark.parametrize("order", ["vgj", "vjg", "gvj", "gjv", "jvg", "jgv"])
def test_three_transforms_in_any_order(order):
    """What v, g and j do commutes here: a sum over examples, a gradient, a derivative along ones."""
    x = mt.arange(6.0, dtype=mt.float64).reshape(3, 2) / 4 + 0.3

    def f(x):
        return (x.sin() * x**2).sum()

    def mapped(f):
        return lambda x: vmap(f)(x) if x.ndim == 2 else f(x)

    def derived(f):
        return lambda x: jvp(f, (x,), (mt.ones_like(x),))[1]

    def gradient(f):
        return lambda x: grad(lambda x: f(x).sum())(x)

    steps = {"v": mapped, "g": gradient, "j": derived}
    function = f
    for step in reversed(order):
        function = steps[step](function)
    found = function(x)
    # Reverse mode of the derivative along ones, example by example.
    expected = mt.stack([gradient(derived(f))(row) for row in x])
    if order.index("g") < order.index("j"):
        assert_close(found, expected)
    else:
        assert_close(found, mt.stack([derived(gradient(f))(row) for row in x]))


def test_dual_levels_inside_and_outside():
    """`forward_ad` under `grad` and `vmap`, and transforms under a dual level."""

    def f(x):
        with forward_ad.dual_level():
            y = forward_ad.make_dual(x, mt.ones_like(x)) ** 3
            return forward_ad.unpack_dual(y).tangent.sum()

    assert_close(grad(f)(vector(1, 2)), vector(6, 12))
    assert_close(vmap(f)(mt.ones(3, 2)), mt.full((3,), 6.0))
    with forward_ad.dual_level():
        x = forward_ad.make_dual(vector(1, 2), vector(1, 0))
        y = grad(lambda x: (x**3).sum())(x)
        assert_close(forward_ad.unpack_dual(y).tangent, vector(6, 0))
        z = vmap(lambda v: v**2)(x)
        assert_close(forward_ad.unpack_dual(z).tangent, vector(2, 0))


def test_hooks_of_saved_tensors_are_refused():
    # A pack hook gets a detached tensor, without the history of the levels around: the outer gradient would be wrong.
    hooks = mt.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)

    def hooked(x):
        with hooks:
            return (x**2).sum()

    with hooks, pytest.raises(RuntimeError, match="saved tensor hooks"):
        grad(lambda x: (x**2).sum())(vector(1, 2))
    with pytest.raises(RuntimeError, match="saved tensor hooks"):
        grad(hooked)(vector(1, 2))
    with pytest.raises(RuntimeError, match="checkpoint"):
        grad(lambda x: mt.utils.checkpoint.checkpoint(mt.sin, x, use_reentrant=False).sum())(vector(1, 2))
    # Neither is left behind.
    assert hooked(vector(1, 2).requires_grad_()).requires_grad


def test_gradients_of_gradients_reach_the_outside():
    x = vector(1, 2).requires_grad_()
    y = jvp(grad(lambda x: (x**3).sum()), (x,), (mt.ones(2),))[1]  # 6 x
    y.sum().backward()
    assert_close(x.grad, vector(6, 6))


def test_a_pullback_is_recorded_if_asked():
    x = vector(1, 2).requires_grad_()
    _, pull = vjp(lambda x: x**3, x)
    assert pull(vector(1, 1))[0].requires_grad
    assert not pull(vector(1, 1), create_graph=False)[0].requires_grad
    with mt.no_grad():
        assert not pull(vector(1, 1))[0].requires_grad
        assert pull(vector(1, 1), create_graph=True)[0].requires_grad
