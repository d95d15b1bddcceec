"""The mode: whose turn it is, what it converts, composites, fake impls, transforms (spec M6, M9, P5, L12)."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch as mt
from minitorch import func, nn
from minitorch._subclasses import FakeTensor, FakeTensorMode
from minitorch._subclasses.fake_tensor import (
    DynamicOutputShapeException,
    UnsupportedOperatorException,
    active_fake_mode,
    unset_fake_temporarily,
)
from minitorch.dispatch.library import Library
from minitorch.dispatch.mode_stack import mode_stack
from minitorch.library import custom_op, get_ctx, register_fake
from minitorch.modes import TorchDispatchMode

ops = mt.ops


class Recording(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.seen.append((str(func), type(result)))
        return result


@pytest.fixture
def mode():
    return FakeTensorMode()


@pytest.fixture
def x(mode):
    with mode:
        return mt.randn(3, 4)


@pytest.fixture
def library():
    made = Library("fake_tests", "DEF")
    yield made
    made._destroy()


# -- which mode, and what is let in ------------------------------------------------------------


@pytest.mark.parametrize("fake_first", [True, False])
def test_the_fake_mode_is_below_modes_of_the_user(mode, fake_first):
    first, second = (mode, Recording()) if fake_first else (Recording(), mode)
    with first, second:
        made = mt.ones(2)
    recording = second if fake_first else first
    assert recording.seen == [("aten.ones.default", FakeTensor)]
    assert isinstance(made, FakeTensor)


def test_one_mode_at_a_time(mode):
    other = FakeTensorMode()
    with mode:
        with other:
            assert active_fake_mode() is other
            assert mt.ones(1).fake_mode is other
        with mode:
            assert mode_stack() == (mode,)
        assert mt.ones(1).fake_mode is mode
    assert active_fake_mode() is None


def test_unset_temporarily(mode):
    with mode, Recording():
        with unset_fake_temporarily() as found:
            assert found is mode
            assert type(mt.ones(2)) is mt.Tensor
        assert type(mt.ones(2)) is FakeTensor
    with unset_fake_temporarily() as found:
        assert found is None


def test_used_outside_a_tensor_enters_its_mode_again(mode, x):
    result = (x @ x.t()).softmax(-1)
    assert isinstance(result, FakeTensor)
    assert result.fake_mode is mode
    assert mode_stack() == ()


def test_modes_do_not_mix(mode, x):
    other = FakeTensorMode()
    y = other.from_tensor(mt.ones(3, 4))
    for call in (lambda: x + y, lambda: mt.cat([x, y])):
        with pytest.raises(AssertionError, match="Mixing fake modes NYI"):
            call()
    with other, pytest.raises(AssertionError, match="Mixing fake modes NYI"):
        x + 1
    with pytest.raises(AssertionError, match="Mixing fake modes NYI"):
        other.from_tensor(x)


def test_real_tensors_are_refused_unless_allowed(mode, x):
    real = mt.ones(3, 4)
    text = r"Please convert all Tensors to FakeTensors first.*allow_non_fake_inputs.*aten\.add\.Tensor"
    with pytest.raises(AssertionError, match=text):
        real + x
    with mode, pytest.raises(AssertionError, match=text):
        real + 1
    lenient = FakeTensorMode(allow_non_fake_inputs=True)
    layer = nn.Linear(4, 2)
    with lenient:
        assert isinstance(real + 1, FakeTensor)
        layer(mt.ones(3, 4)).sum().backward()
    assert type(layer.weight) is nn.Parameter
    assert isinstance(layer.weight.grad, FakeTensor)


def test_tensors_of_python_data_are_lifted(mode):
    with mode, Recording() as recording:
        made = [mt.tensor([1.0, 2.0]), mt.as_tensor([1]), mt.from_numpy(np.ones(3)), mt.tensor(1, device="cuda")]
    assert all(isinstance(t, FakeTensor) for t in made)
    assert recording.seen == [("aten.lift_fresh.default", FakeTensor)] * 4 + [("aten._to_copy.default", FakeTensor)]


def test_other_classes_are_asked_first(mode, x):
    class Other(mt.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return "asked"

    other = mt.ones(3, 4).as_subclass(Other)
    with pytest.raises(RuntimeError, match="Unable to cast|asked"):  # its handler was asked, and returned no tensor
        x + other


# -- operators from outside ---------------------------------------------------------------------


def test_composites_are_taken_apart(mode, x, library):
    library.define("twice_sine(Tensor x) -> Tensor")
    library.impl("twice_sine", lambda x: (x.sin() * 2).sum(1), "CompositeImplicitAutograd")
    with mt.inference_mode():  # where the composite reaches the handler whole
        assert ops.fake_tests.twice_sine(x).shape == (3,)
    assert ops.fake_tests.twice_sine(x.clone().requires_grad_()).requires_grad


def test_operators_that_say_nothing(mode, x, library):
    library.define("mystery(Tensor x) -> Tensor")
    library.impl("mystery", lambda x: x.clone(), "CPU")
    with pytest.raises(
        UnsupportedOperatorException, match=r"fake_tests\.mystery\.default.*register_fake\('fake_tests::mystery'"
    ):
        ops.fake_tests.mystery(x)
    assert issubclass(UnsupportedOperatorException, RuntimeError)


def test_fake_impls_run_under_the_mode_on_fake_tensors(mode, x, library):
    library.define("pairs(Tensor x) -> (Tensor, Tensor)")
    seen = []

    @register_fake("fake_tests::pairs", lib=library)
    def pairs_fake(x):
        seen.append((type(x), x.device, get_ctx() is not None, active_fake_mode()))
        return x.new_empty(2, x.shape[0]), mt.empty(3, dtype=mt.int64, device=x.device)

    far = x.cuda()
    one, other = ops.fake_tests.pairs(far)
    assert seen == [(FakeTensor, far.device, True, mode)]
    assert (one.shape, one.device, other.dtype, other.device) == ((2, 3), far.device, mt.int64, far.device)
    assert get_ctx() is None


def test_the_newest_fake_impl_counts(mode, x, library):
    library.define("wide(Tensor x) -> Tensor")
    register_fake("fake_tests::wide", lambda x: x.new_empty(1), lib=library)
    newer = Library("fake_tests", "FRAGMENT")
    register_fake("fake_tests::wide", lambda x: x.new_empty(2), lib=newer, allow_override=True)
    assert ops.fake_tests.wide(x).shape == (2,)
    newer._destroy()
    assert ops.fake_tests.wide(x).shape == (1,)


def test_a_size_that_depends_on_data(mode, x, library):
    library.define("positive(Tensor x) -> Tensor")

    @register_fake("fake_tests::positive", lib=library)
    def positive_fake(x):
        return x.new_empty(get_ctx().new_dynamic_size(min=1), x.shape[1])

    with pytest.raises(DynamicOutputShapeException, match=r"fake_tests\.positive\.default"):
        ops.fake_tests.positive(x)
    with pytest.raises(RuntimeError, match="meta"):
        ops.fake_tests.positive(mt.empty(3, 4, device="meta"))


def test_custom_operators(mode, x):
    @custom_op("fake_tests_custom::scaled", mutates_args=())
    def scaled(x: mt.Tensor, factor: float) -> mt.Tensor:
        raise AssertionError("it must not run")

    with pytest.raises(RuntimeError, match="no fake impl registered.*register_fake"):
        scaled(x, 2.0)

    @scaled.register_fake
    def _(x, factor):
        return mt.empty_like(x)

    scaled.register_autograd(lambda ctx, grad: (grad * 2, None))
    y = x.clone().requires_grad_()
    result = scaled(y, 2.0)
    assert isinstance(result, FakeTensor)
    result.sum().backward()
    assert y.grad.shape == (3, 4)

    @custom_op("fake_tests_custom::filled", mutates_args={"x"})
    def filled(x: mt.Tensor) -> None:
        raise AssertionError("it must not run")

    known = mode.from_tensor(mt.ones(1))
    version = known._version
    assert filled(known) is None
    assert known._version == version + 1


def test_rules_for_the_mode_class(mode, x):
    made = Library("fake_tests_rule", "DEF")
    try:
        made.define("op(Tensor x) -> Tensor")
        mt.library.register_torch_dispatch(
            "fake_tests_rule::op",
            FakeTensorMode,
            lambda mode, func, types, args, kwargs: args[0].new_empty(9),
            lib=made,
        )
        with mode:
            assert ops.fake_tests_rule.op(x).shape == (9,)
    finally:
        made._destroy()


def test_errors_are_those_of_real_tensors(mode, x):
    for call in (
        lambda: x @ x,
        lambda: mt.cat([x, x[:, :2]]),
        lambda: x.view(5),
        lambda: x.sum(7),
        lambda: nn.functional.conv2d(x, x),
        lambda: mt.nn.functional.linear(x, x.t()),
    ):
        with pytest.raises(Exception) as fake:
            call()
        assert not isinstance(fake.value, AssertionError)
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(3x4 and 3x4\)"):
        x @ x
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        nn.functional.gelu(x.long())


# -- with the levels above -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("transformed", "shape"),
    [
        (lambda x: func.vmap(lambda a: a.sin().sum(-1))(x), (3,)),
        (lambda x: func.vmap(lambda a: x @ a, out_dims=1)(x), (3, 3)),
        (lambda x: func.vmap(func.grad(lambda a: (a**3).sum()))(x), (3, 4)),
        (lambda x: func.jacrev(lambda a: a.sin())(x[0]), (4, 4)),
        (lambda x: func.jacfwd(lambda a: a.sin())(x[0]), (4, 4)),
        (lambda x: func.hessian(lambda a: (a**3).sum())(x[0]), (4, 4)),
        (lambda x: func.jvp(lambda a: a.exp(), (x,), (x,))[1], (3, 4)),
        (lambda x: func.vjp(lambda a: a.exp(), x)[1](x)[0], (3, 4)),
        (lambda x: func.functionalize(lambda a: a.clone().add_(1).view(-1))(x), (12,)),
    ],
)
@pytest.mark.parametrize("inside", [True, False])
def test_transforms(mode, x, transformed, shape, inside):
    if inside:
        with mode:
            result = transformed(x)
    else:
        result = transformed(x)
    assert isinstance(result, FakeTensor)
    assert result.shape == shape


def test_transforms_with_new_tensors(mode, x):
    with mode:
        mapped = func.vmap(lambda a: a * mt.tensor(3.0) + mt.ones(4) + mt.rand(4), randomness="different")(x)
        model = nn.Linear(4, 2)
        stateless = func.functional_call(model, dict(model.named_parameters()), (x,))
        ensemble, _ = func.stack_module_state([nn.Linear(4, 2), nn.Linear(4, 2)])
    assert isinstance(mapped, FakeTensor)
    assert stateless.shape == (3, 2)
    assert ensemble["weight"].shape == (2, 2, 4)


def test_autocast(mode, x):
    with mt.autocast("cpu", dtype=mt.bfloat16):
        assert (x @ x.t()).dtype is mt.bfloat16
        assert nn.functional.mse_loss(x @ x.t(), x @ x.t()).dtype is mt.float32
        with mode:
            assert nn.Linear(4, 2)(x).dtype is mt.bfloat16
    assert (x @ x.t()).dtype is mt.float32


def test_inference_mode(mode, x):
    with mt.inference_mode():
        y = nn.functional.layer_norm(nn.functional.linear(x, x), (3,))
        with mode:
            made = mt.ones(2)
    assert y.is_inference()
    assert made.is_inference()
    assert (y + 1).fake_mode is mode
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        y.add_(1)


def test_second_derivatives_hooks_and_checkpoints(mode, x):
    from minitorch.utils.checkpoint import checkpoint

    y = x.clone().requires_grad_()
    seen = []
    y.register_hook(seen.append)
    (first,) = mt.autograd.grad((y**3).sum(), y, create_graph=True)
    first.sum().backward()
    checkpoint(lambda a: a.sin().cos(), y, use_reentrant=False).sum().backward()
    assert all(isinstance(g, FakeTensor) for g in (first, y.grad, *seen))
    assert len(seen) == 3


def test_autograd_functions(mode, x):
    class Exponential(mt.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            result = a.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad):
            assert isinstance(ctx.saved_tensors[0], FakeTensor)
            return grad * ctx.saved_tensors[0]

    y = x.clone().requires_grad_()
    Exponential.apply(y).sum().backward()
    assert isinstance(y.grad, FakeTensor)


def test_saved_outputs_keep_their_class(mode, x):
    y = x.clone().requires_grad_()
    z = y.exp()
    saved = z.grad_fn._saved_result
    assert isinstance(saved, FakeTensor)
    assert saved.is_set_to(z)


def test_exceptions_leave_the_mode_as_it_was(mode):
    with mode:
        with pytest.raises(RuntimeError):
            mt.ones(2, 3) @ mt.ones(2, 3)
        assert active_fake_mode() is mode
        assert isinstance(mt.ones(1), FakeTensor)
