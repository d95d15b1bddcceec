"""`gradcheck` and `gradgradcheck` find wrong gradients, and only those."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch.autograd import Function, gradcheck, gradgradcheck
from minitorch.testing.gradcheck import GradcheckError

MODES = pytest.mark.parametrize("fast", [False, True])


def function(forward, backward):
    """Return the `apply` of a Function made of two plain functions."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Made", (Function,), methods).apply


def double(*values):
    return mt.tensor(list(values), dtype=mt.float64, requires_grad=True)


def complex_input():
    return mt.tensor([1.0 + 2.0j, -0.5 + 0.3j], dtype=mt.complex128, requires_grad=True)


@MODES
@pytest.mark.parametrize(
    "good",
    [
        lambda x: x.sin() * x,
        lambda x: (x.exp(), x.sum()),
        lambda x: [x * 2, x.argmax(), "text"],
        lambda x: x.view(1, 2).t(),
        lambda x: x.double().float().double() * 0 + x * 3,
        lambda x: mt.stack([x, x]).prod(0),
    ],
)
def test_right_gradients_pass(good, fast):
    assert gradcheck(good, (double(0.5, 1.5),), fast_mode=fast)
    assert gradgradcheck(good, (double(0.5, 1.5),), fast_mode=fast)


@MODES
@pytest.mark.parametrize("good", [lambda z: z * z, mt.abs, mt.angle, lambda z: z.real * z.imag, mt.conj_physical, mt.exp])
def test_complex_numbers(good, fast):
    assert gradcheck(good, (complex_input(),), fast_mode=fast)
    assert gradgradcheck(good, (complex_input(),), fast_mode=fast)


@MODES
def test_a_wrong_gradient_is_found(fast):
    wrong = function(lambda ctx, x: x * 2, lambda ctx, g: g * 3)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0") as error:
        gradcheck(wrong, (double(0.5, 1.5),), fast_mode=fast)
    assert "[[3. 0.]\n [0. 3.]]" in str(error.value)
    assert not gradcheck(wrong, (double(0.5, 1.5),), fast_mode=fast, raise_exception=False)


@MODES
def test_a_wrong_complex_gradient_is_found(fast):
    wrong = function(lambda ctx, z: z.conj().clone(), lambda ctx, g: g)
    with pytest.raises(GradcheckError, match="While considering the imaginary part of complex outputs only"):
        gradcheck(wrong, (complex_input(),), fast_mode=fast)


def test_a_wrong_second_derivative_is_found():
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * (x * x).detach()

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    wrong = function(forward, backward)
    assert gradcheck(wrong, (double(0.5, 1.5),))
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradgradcheck(wrong, (double(0.5, 1.5),))


def test_the_second_input_is_checked_too():
    wrong = function(lambda ctx, x, y: x * 2 + y, lambda ctx, g: (g * 2, g * 2))
    with pytest.raises(GradcheckError, match="with respect to input 1"):
        gradcheck(wrong, (double(0.5), double(1.5)))
    assert gradcheck(wrong, (double(0.5), double(1.5).detach()))


def test_a_gradient_that_ignores_what_comes_is_found():
    wrong = function(lambda ctx, x: x * 2, lambda ctx, g: mt.full_like(g, 2.0))
    with pytest.raises(GradcheckError):
        gradcheck(wrong, (double(0.5),))


def test_a_gradient_that_is_missing_is_found():
    with pytest.raises(GradcheckError, match="expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, (double(0.5),))
    assert gradcheck(lambda x: mt.ones(2), (double(0.5),))


def test_backward_passes_that_differ_are_found():
    calls = []

    def backward(ctx, g):
        calls.append(1)
        return g * (2 + 1e-9 * len(calls))

    wavering = function(lambda ctx, x: x * 2, backward)
    with pytest.raises(GradcheckError, match="not reentrant"):
        gradcheck(wavering, (double(0.5),))
    assert gradcheck(wavering, (double(0.5),), nondet_tol=1e-6)


def test_undefined_gradients():
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    careless = function(forward, lambda ctx, g, h: g * 2 + h * 3)
    with pytest.raises((GradcheckError, TypeError)):
        gradcheck(careless, (double(0.5),))

    def invents(ctx, g):
        return mt.ones(1, dtype=mt.float64) if g is None else g * 2

    def keeps_none(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    inventive = function(keeps_none, invents)
    with pytest.raises(GradcheckError, match="undefined or zero"):
        gradcheck(inventive, (double(0.5),))
    assert gradcheck(inventive, (double(0.5),), check_undefined_grad=False)


def test_inputs_are_checked():
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(mt.sin, (mt.ones(2),))
    with pytest.raises(RuntimeError, match="dimension with stride 0"):
        gradcheck(mt.sin, (mt.ones(1, dtype=mt.float64).expand(2).requires_grad_(),))
    with pytest.warns(UserWarning, match="not a double precision"):
        assert gradcheck(mt.sin, (mt.ones(2, requires_grad=True),), eps=1e-2, atol=1e-2)


def test_inputs_are_as_before():
    x = double(0.5, 1.5)
    gradcheck(lambda t: t.exp(), (x,))
    gradcheck(lambda t: t.exp(), (x,), fast_mode=True)
    assert x.tolist() == [0.5, 1.5]
    assert (x._version, x.grad) == (0, None)


def test_what_a_function_closes_over_is_perturbed_too():
    x = double(0.5, 1.5)
    assert gradcheck(lambda _: x * x, (x,))


def test_batched_gradients_and_dtypes():
    assert gradcheck(lambda x: (x * x, x.sum()), (double(0.5, 1.5),), check_batched_grad=True, check_grad_dtypes=True)


def test_noncontiguous_gradients_and_given_ones():
    x = double(0.5, 1.5)
    assert gradgradcheck(lambda t: t * t, (x,), gen_non_contig_grad_outputs=True)
    assert gradgradcheck(lambda t: t * t, (x,), double(2.0, 3.0))


@MODES
def test_right_tangents_pass(fast):
    def several(x):
        return x.exp() * x, x.sum(), x.argmax()

    assert gradcheck(several, (double(0.5, 1.5),), check_forward_ad=True, fast_mode=fast)
    assert gradcheck(mt.abs, (complex_input(),), check_forward_ad=True, check_backward_ad=False, fast_mode=fast)
    assert gradgradcheck(mt.sin, (double(1.0),), check_fwd_over_rev=True, fast_mode=fast)


@MODES
def test_a_wrong_tangent_is_found(fast):
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, t):
            return t * 3

    assert gradcheck(Wrong.apply, (double(0.5, 1.5),), fast_mode=fast)
    with pytest.raises(GradcheckError, match="Forward mode: Jacobian mismatch"):
        gradcheck(Wrong.apply, (double(0.5, 1.5),), check_forward_ad=True, fast_mode=fast)


def test_what_cannot_be_checked():
    with pytest.raises(NotImplementedError, match="batched"):
        gradcheck(mt.sin, (double(1.0),), check_forward_ad=True, check_batched_forward_grad=True)
    with pytest.raises(ValueError, match="nothing to check"):
        gradcheck(mt.sin, (double(1.0),), check_backward_ad=False)
    with pytest.raises(ValueError, match="nothing to check"):
        gradgradcheck(mt.sin, (double(1.0),), check_rev_over_rev=False)
