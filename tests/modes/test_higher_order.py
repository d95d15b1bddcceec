"""Higher-order operators (spec D3), and the modes of the PreDispatch key (spec D4)."""

from __future__ import annotations

import copy
import pickle

import pytest

import minitorch
from minitorch._ops import HigherOrderOperator
from minitorch.dispatch.higher_order import FALLTHROUGH_BY_DEFAULT
from minitorch.dispatch.keys import DispatchKey
from minitorch.dispatch.local_state import below_autograd, current
from minitorch.dispatch.mode_stack import InfraSlot, mode_stack
from minitorch.dispatch.namespace import ops
from minitorch.dispatch.pre_dispatch import pre_dispatch_mode, pre_dispatch_modes
from minitorch.dispatch.scopes import enable_pre_dispatch, enable_python_dispatcher
from minitorch.dispatch.transforms import TransformType
from minitorch.func import functionalize, grad, vmap
from minitorch.functionalize import functionalization, unwrap, wrap
from minitorch.modes import TorchDispatchMode
from minitorch.ops.overriding import disabled_torch_function_impl


class Apply(HigherOrderOperator):
    def __init__(self):
        super().__init__("testing_apply")

    def __call__(self, fn, /, *args, **kwargs):
        return super().__call__(fn, *args, **kwargs)


@pytest.fixture
def apply():
    made = Apply()
    yield made
    del ops.higher_order.testing_apply


class Records(TorchDispatchMode):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


class Opted(Records):
    supports_higher_order_operators = True


def double(x):
    return x * 2


def test_names(apply):
    assert ops.higher_order.testing_apply is apply
    assert str(apply) == apply.name() == apply.__name__ == "testing_apply"
    assert apply.namespace == "higher_order"
    assert copy.deepcopy(apply) is apply
    assert pickle.loads(pickle.dumps(apply)) is apply
    with pytest.raises(TypeError, match="subclass it"):
        HigherOrderOperator("x")


def test_a_missing_rule_names_the_operator_and_the_key(apply):
    with pytest.raises(NotImplementedError, match=r"testing_apply at dispatch key DispatchKey.AutogradCPU.*py_impl"):
        apply(double, minitorch.ones(2))
    with pytest.raises(NotImplementedError, match="dispatch key DispatchKey.Undefined"):
        apply(double, 3)
    # No backend fallback stands in for a rule.
    apply.fallthrough("AutogradCPU")
    apply.py_impl("CompositeExplicitAutograd")(lambda fn, x: fn(x))
    with pytest.raises(NotImplementedError, match="dispatch key DispatchKey.Conjugate"):
        apply(double, minitorch.ones(2, dtype=minitorch.complex64).conj())


def test_levels_run_in_order(apply):
    seen = []

    @apply.py_autograd_impl
    def _(fn, x):
        seen.append("autograd")
        with below_autograd():
            return apply(fn, x)

    @apply.py_impl(DispatchKey.CompositeExplicitAutograd)
    def _(fn, x):
        seen.append("dense")
        return fn(x)

    x = minitorch.ones(2, requires_grad=True)
    assert not apply(double, x).requires_grad
    assert seen == ["autograd", "dense"]
    assert apply.dispatch("CPU", double, x).requires_grad
    assert apply.has_kernel_for_dispatch_key("Autograd")
    assert not apply.has_kernel_for_dispatch_key("CPU")


def test_tensors_are_found_at_any_depth(apply):
    apply.py_impl("AutogradCPU")(lambda fn, tree, **kwargs: ("autograd", kwargs))
    apply.py_impl("CompositeExplicitAutograd")(lambda fn, tree, **kwargs: ("none", kwargs))
    assert apply(double, {"a": [(1, minitorch.ones(2))]}, key=2) == ("autograd", {"key": 2})
    assert apply(double, {"a": [(1, 2)]}) == ("none", {})


def test_default_fallthroughs(apply):
    assert FALLTHROUGH_BY_DEFAULT == (
        "PythonDispatcher", "PythonTLSSnapshot", "ADInplaceOrView", "BackendSelect", "AutocastCPU", "AutocastCUDA", "AutocastXPU",
    )  # fmt: skip
    apply.fallthrough("AutogradCPU")
    apply.py_impl("CPU")(lambda fn, x: "cpu")
    with enable_python_dispatcher(), minitorch.autocast("cpu"):
        assert apply(double, minitorch.ones(2)) == "cpu"
        apply.py_impl("AutocastCPU")(lambda fn, x: "autocast")  # a rule brings the level back
        assert apply(double, minitorch.ones(2)) == "autocast"
    assert apply(double, minitorch.ones(2)) == "cpu"


def test_rules_are_registered_once(apply):
    apply.py_impl("CPU")(double)
    for key in ("CPU", DispatchKey.CPU):
        with pytest.raises(RuntimeError, match="override a python impl"):
            apply.py_impl(key)(double)
    apply.py_impl(Records)(double)
    with pytest.raises(RuntimeError, match="override a python impl"):
        apply.py_impl(Records)(double)
    with pytest.raises(RuntimeError, match="register one for the class"):
        apply.py_impl("Python")
    with pytest.raises(RuntimeError, match="could not parse"):
        apply.py_impl("Nothing")


def test_modes_must_opt_in(apply):
    apply.fallthrough("AutogradCPU")
    apply.py_impl("CompositeExplicitAutograd")(lambda fn, x: fn(x))
    x = minitorch.ones(2)
    with Records(), pytest.raises(NotImplementedError, match=r"mode Records.*supports_higher_order_operators"):
        apply(double, x)
    with Opted() as mode:
        apply(double, x)
    assert mode.seen == [apply]


def test_a_rule_for_the_class_of_a_mode(apply):
    got = []

    @apply.py_impl(Records)
    def _(mode, fn, x):
        got.append((mode, mode_stack()))
        return fn(x)

    apply.fallthrough("AutogradCPU")
    with Opted() as outer, Records() as mode:
        assert apply(double, minitorch.ones(2)).tolist() == [2.0, 2.0]
    assert got == [(mode, (outer,))]
    assert ops.aten.mul.Tensor not in mode.seen  # the rule's calls went to the mode around
    assert ops.aten.mul.Tensor in outer.seen


class Declines(minitorch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return NotImplemented

    __torch_function__ = disabled_torch_function_impl


class Handles(Declines):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return (func, types)


def test_rules_of_the_classes_of_tensors(apply):
    apply.fallthrough("AutogradCPU")
    base, derived = Declines([1.0]), Handles([1.0])
    assert apply(double, [base, derived]) == (apply, (Handles, Declines))
    with pytest.raises(NotImplementedError, match="Declines"):
        apply(double, base)
    apply.py_impl(Declines)(lambda fn, x: "rule")
    assert apply(double, base) == "rule"


def test_the_function_protocol_sees_the_call(apply):
    class Sees(minitorch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, types

    assert apply(double, [[Sees([1.0])]]) == (apply, (Sees,))


def test_rules_of_transforms(apply):
    apply.fallthrough("AutogradCPU")
    apply.py_impl("CompositeExplicitAutograd")(lambda fn, x: fn(x))

    @apply.py_impl(TransformType.Vmap)
    def _(interpreter, fn, x):
        value, dim = interpreter.unwrap(x)
        assert dim == 0
        with interpreter.lower():
            return interpreter.wrap(apply(vmap(fn), value), 0)

    x = minitorch.arange(3.0)
    assert vmap(lambda row: apply(double, row))(x).tolist() == [0.0, 2.0, 4.0]
    with pytest.raises(NotImplementedError, match=r"testing_apply for the transform Grad.*TransformType.Grad"):
        grad(lambda x: apply(double, x).sum())(x)


def test_one_rule_functionalizes_in_the_mode_and_in_the_transform(apply):
    @apply.py_functionalize_impl
    def _(context, fn, tree):
        values = context.unwrap_tensors(tree)
        with context.redispatch_to_next():
            return context.wrap_tensors(apply(context.functionalize(fn), values))

    apply.fallthrough("AutogradCPU")
    apply.py_impl("CompositeExplicitAutograd")(lambda fn, tree: fn(tree))

    def f(tree):
        y = tree["x"].clone()
        y[0].mul_(3)
        return y

    with Opted() as mode:
        result = functionalize(lambda x: apply(f, {"x": x}))(minitorch.ones(2))
    assert result.tolist() == [3.0, 1.0]
    assert [func for func in mode.seen if func is apply]
    assert ops.aten.mul_.Tensor not in mode.seen
    wrapped = wrap(minitorch.ones(2))
    with functionalization():
        result = apply(f, {"x": wrapped})
    assert unwrap(result).tolist() == [3.0, 1.0]


# -- PreDispatch -----------------------------------------------------------------------------------

PRE_DISPATCH = DispatchKey.by_name["PreDispatch"]


class Proxy(Opted):
    _mode_key = InfraSlot.PROXY


class Functional(Opted):
    _mode_key = InfraSlot.FUNCTIONAL


def test_pre_dispatch_modes_stand_above_autograd():
    x = minitorch.ones(2, 2, requires_grad=True)
    mode = Records(_dispatch_key=PRE_DISPATCH)
    with mode:
        y = minitorch.nn.functional.linear(x, x)
    assert mode.seen == [ops.aten.linear.default]  # whole
    assert y.requires_grad
    assert not pre_dispatch_modes()
    assert not current().included & PRE_DISPATCH.bits
    with enable_pre_dispatch():  # without a mode, calls pass on
        assert (x * 2).requires_grad
    assert mode.seen == [ops.aten.linear.default]


def test_pre_dispatch_slots():
    x = minitorch.ones(2)
    with Functional(_dispatch_key=PRE_DISPATCH) as functional, Proxy(_dispatch_key=PRE_DISPATCH) as proxy:
        assert pre_dispatch_modes() == (proxy, functional)
        assert pre_dispatch_mode(InfraSlot.PROXY) is proxy
        minitorch.neg(x)
        with pytest.raises(RuntimeError, match="alone"), Records(_dispatch_key=PRE_DISPATCH):
            pass
        with Proxy(_dispatch_key=PRE_DISPATCH) as other:
            assert pre_dispatch_modes() == (other, functional)
        minitorch.neg(x)
    assert functional.seen == proxy.seen == [ops.aten.neg.default] * 2
    with pytest.raises(RuntimeError, match="not at CPU"):
        Records(_dispatch_key=DispatchKey.by_name["CPU"])


def test_pre_dispatch_modes_and_higher_order_operators(apply):
    apply.py_autograd_impl(lambda fn, x: fn(x))
    x = minitorch.ones(2, requires_grad=True)
    with Opted(_dispatch_key=PRE_DISPATCH) as mode:
        assert apply(double, x).requires_grad
    assert mode.seen == [apply]
    with Records(_dispatch_key=PRE_DISPATCH), pytest.raises(NotImplementedError, match="mode Records"):
        apply(double, x)
    with enable_pre_dispatch():
        apply(double, x)
