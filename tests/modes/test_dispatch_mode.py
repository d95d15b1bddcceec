"""Dispatch modes, ``__torch_dispatch__``, and the stack of modes (spec P1 to P11, L16, R19, U7)."""

from __future__ import annotations

import pytest

import minitorch
from minitorch.dispatch.key_set import DispatchKeySet
from minitorch.dispatch.keys import parse_key
from minitorch.dispatch.library import Library
from minitorch.dispatch.local_state import below_autograd, current
from minitorch.dispatch.mode_stack import InfraSlot, infra_mode, stack_with
from minitorch.dispatch.namespace import ops
from minitorch.dispatch.scopes import disable_torch_dispatch
from minitorch.library import register_torch_dispatch
from minitorch.modes import TorchDispatchMode, enable_reentrant_dispatch
from minitorch.ops.overriding import TorchFunctionMode, disabled_torch_function_impl
from minitorch.utils._python_dispatch import (
    _disable_current_modes,
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
    _pop_mode_temporarily,
    is_in_torch_dispatch_mode,
)


@pytest.fixture
def library():
    made = []

    def make(ns="testing", kind="FRAGMENT"):
        made.append(Library(ns, kind))
        return made[-1]

    yield make
    for lib in reversed(made):
        lib._destroy()


class Recording(TorchDispatchMode):
    """Notes the operators it sees, and runs them."""

    def __init__(self, seen=None, tag=None):
        self.seen = [] if seen is None else seen
        self.tag = tag

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append((self.tag, str(func)) if self.tag else str(func))
        return func(*args, **(kwargs or {}))


class Handler(TorchDispatchMode):
    """A mode made of a function."""

    def __init__(self, handler):
        self.handler = handler

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.handler(func, types, args, kwargs)


class Infra(Recording):
    """A mode in an infra slot."""

    def __init__(self, slot, seen=None):
        super().__init__(seen, slot.name)
        self._mode_key = slot


def seen_under(fn, **options):
    with Recording(**options) as mode:
        fn()
    return mode.seen


# -- what modes see --------------------------------------------------------------------


def test_probe_of_two_modes():
    """B inside A: B runs first, then A; both get the overload and stripped arguments."""
    seen = []

    def noting(tag):
        def handler(func, types, args, kwargs):
            seen.append((tag, func, types, args[1:], kwargs))
            return func(*args, **kwargs)

        return Handler(handler)

    x = minitorch.ones(2)
    with noting("A"), noting("B"):
        minitorch.add(x, 1, alpha=1)
    op = ops.aten.add.Tensor
    assert seen == [("B", op, (), (1,), {}), ("A", op, (), (1,), {})]


def test_modes_see_factories():
    """Python stands above BackendSelect (R19)."""
    assert seen_under(lambda: minitorch.ones(2)) == ["aten.ones.default"]


def test_tensors_made_of_values_appear_as_lift_fresh():
    with Recording() as mode:
        minitorch.tensor([1.0])
        minitorch.as_tensor([1])
    assert mode.seen == ["aten.lift_fresh.default"] * 2


def test_probe_of_a_user_mode_around_a_fake_one():
    from minitorch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    with Recording() as mode, FakeTensorMode():
        x = minitorch.ones(2)
    assert type(x) is FakeTensor
    assert mode.seen == ["aten.ones.default"]


def test_a_mode_is_off_in_its_own_handler():
    seen = []

    def handler(func, types, args, kwargs):
        seen.append((str(func), len(_get_current_dispatch_mode_stack())))
        args[0].mul(2)
        return func(*args, **kwargs)

    x = minitorch.ones(2)
    with Recording(tag="outer") as outer, Handler(handler):
        x.exp()
    assert seen == [("aten.exp.default", 1)]
    assert outer.seen == [("outer", "aten.mul.Tensor"), ("outer", "aten.exp.default")]


def test_a_mode_may_enter_itself_again():
    seen = []

    class Again(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            if func is ops.aten.exp.default:
                with self:
                    args[0].mul(2)
            return func(*args, **(kwargs or {}))

    x = minitorch.ones(2)
    with Again():
        x.exp()
        x.neg()
    assert seen == ["aten.exp.default", "aten.mul.Tensor", "aten.neg.default"]


def test_modes_run_below_autograd():
    """Results get their history after the handler; backward is seen too (A11)."""
    inside = []

    def handler(func, types, args, kwargs):
        result = func(*args, **kwargs)
        inside.append((args[0].requires_grad, result.requires_grad, minitorch.is_grad_enabled()))
        return result

    x = minitorch.ones(2, requires_grad=True)
    with Handler(handler):
        y = x.exp()
    assert inside == [(True, False, True)]
    assert y.grad_fn.name() == "ExpBackward0"
    assert "aten.mul.Tensor" in seen_under(lambda: y.sum().backward())


def test_in_place_handlers_return_the_argument_whatever_they_return():
    """A12."""
    x = minitorch.ones(2)
    with Handler(lambda func, types, args, kwargs: minitorch.zeros(2)):
        assert x.add_(1) is x
    assert x.tolist() == [1.0, 1.0]
    assert x._version == 1


def test_composites_are_seen_in_pieces_while_autograd_keys_live(library):
    """P9 and its probe: a CIA and a CEA operator that call sin."""
    lib = library()
    for name, key in (("implicit", "CompositeImplicitAutograd"), ("explicit", "CompositeExplicitAutograd")):
        lib.define(f"{name}(Tensor x) -> Tensor")
        lib.impl(name, lambda x: x.sin(), key)
    x = minitorch.ones(2)
    with minitorch.inference_mode():
        inference = minitorch.ones(2)
    pieces, whole = ["aten.sin.default"], ["testing.implicit.default"]
    implicit = ops.testing.implicit
    assert seen_under(lambda: implicit(x)) == pieces
    assert seen_under(lambda: ops.testing.explicit(x)) == ["testing.explicit.default"]
    with minitorch.no_grad():
        assert seen_under(lambda: implicit(x)) == pieces
    with minitorch.inference_mode():
        assert seen_under(lambda: implicit(x)) == whole
    assert seen_under(lambda: implicit(inference)) == whole
    with below_autograd():
        assert seen_under(lambda: implicit(x)) == whole
    lib.impl("implicit", lambda x: x.sin(), "CPU")
    assert seen_under(lambda: implicit(x)) == whole


def test_operators_with_a_kernel_of_their_own_are_seen_in_pytorch_s_pieces():
    x, w, b = minitorch.ones(2, 3), minitorch.ones(4, 3), minitorch.ones(4)
    linear = minitorch.nn.functional.linear
    assert seen_under(lambda: linear(x, w)) == ["aten.t.default", "aten.mm.default"]
    assert seen_under(lambda: linear(x, w, b)) == ["aten.t.default", "aten.addmm.default"]
    flat = ["aten.view.default", "aten.t.default", "aten.addmm.default", "aten.view.default"]
    for shape in ((2, 5, 3), (3,)):
        assert seen_under(lambda shape=shape: linear(minitorch.ones(shape), w, b))[1:] == flat
    assert seen_under(lambda: x.square()) == ["aten.pow.Tensor_Scalar"]
    image = minitorch.ones(1, 1, 4, 4)
    assert seen_under(lambda: minitorch.nn.functional.max_pool2d(image, 2)) == ["aten.max_pool2d_with_indices.default"]
    with minitorch.inference_mode():
        assert seen_under(lambda: linear(x, w)) == ["aten.linear.default"]
    # The results and gradients are those of the operator as a whole.
    for shape in ((2, 3), (2, 5, 3), (3,)):
        x, w = (minitorch.rand(shape, requires_grad=True), minitorch.rand(4, 3, requires_grad=True))
        whole = linear(x, w, b)
        with Recording():
            parts = linear(x, w, b)
        assert minitorch.allclose(whole, parts)
        whole = minitorch.autograd.grad(whole.exp().sum(), (x, w))
        parts = minitorch.autograd.grad(parts.exp().sum(), (x, w))
        assert all(minitorch.allclose(a, p) for a, p in zip(whole, parts, strict=True))


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [(3, RuntimeError, "aten::exp"), ([], RuntimeError, "aten::exp"), (NotImplemented, TypeError, "Multiple dispatch")],
)
def test_results_of_handlers_are_checked(value, error, message):
    """P8, and a mode that declines with nobody after it."""
    x = minitorch.ones(2)
    with Handler(lambda *args: value), pytest.raises(error, match=message):
        x.exp()


def test_a_handler_may_return_none_for_a_tensor():
    x = minitorch.ones(2)
    with below_autograd(), Handler(lambda *args: None):
        assert x.exp() is None


def test_errors_restore_modes_and_keys():
    def fail(*args):
        raise KeyError

    x = minitorch.ones(2)
    included, excluded = current().included, current().excluded
    with pytest.raises(KeyError), Recording(), Handler(fail):
        x.exp()
    assert (current().included, current().excluded) == (included, excluded)
    assert _get_current_dispatch_mode_stack() == []
    with Handler(fail) as mode:
        with pytest.raises(KeyError):
            x.exp()
        assert _get_current_dispatch_mode() is mode


def test_function_modes_and_handlers_run_before_dispatch():
    """P7."""
    seen = []

    class Functions(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append("function")
            return func(*args, **(kwargs or {}))

    x = minitorch.ones(2)
    with Handler(lambda func, types, args, kwargs: (seen.append("dispatch"), func(*args, **kwargs))[1]), Functions():
        x.exp()
    assert seen == ["function", "dispatch"]


# -- the stack (P4, P5, U7) ------------------------------------------------------------


def test_queries():
    assert _get_current_dispatch_mode() is None
    assert not is_in_torch_dispatch_mode()
    with Recording() as outer, Recording() as inner:
        assert _get_current_dispatch_mode() is inner
        assert _get_current_dispatch_mode_stack() == [outer, inner]  # the last is the next to run
        assert is_in_torch_dispatch_mode()
        assert is_in_torch_dispatch_mode(include_infra_modes=False)
        with _pop_mode_temporarily() as popped:
            assert popped is inner
            assert _get_current_dispatch_mode_stack() == [outer]
        with _disable_current_modes() as off:
            assert off == (outer, inner)
            assert not is_in_torch_dispatch_mode()
            minitorch.ones(2)
            assert not current().included & parse_key("Python").bits
        assert _get_current_dispatch_mode_stack() == [outer, inner]
    assert outer.seen == inner.seen == []
    with pytest.raises(RuntimeError, match="no dispatch mode"), _pop_mode_temporarily():
        pass
    with Infra(InfraSlot.FAKE):
        assert is_in_torch_dispatch_mode()
        assert not is_in_torch_dispatch_mode(include_infra_modes=False)


def test_infra_modes_run_after_all_of_the_user_s():
    """Whatever the order of entry; among themselves the functional one first, then the proxy's, then the fake one."""
    seen = []
    x = minitorch.ones(2)
    with Infra(InfraSlot.FUNCTIONAL, seen), Recording(seen, "user"), Infra(InfraSlot.FAKE, seen):
        with Infra(InfraSlot.PROXY, seen):
            x.exp()
    assert [tag for tag, _ in seen] == ["user", "FUNCTIONAL", "PROXY", "FAKE"]


def test_an_infra_slot_holds_one_mode():
    first, second = Infra(InfraSlot.FAKE), Infra(InfraSlot.FAKE)
    with first, Recording() as user:
        with second:
            assert infra_mode(InfraSlot.FAKE) is second
            assert _get_current_dispatch_mode_stack() == [second, user]
        assert infra_mode(InfraSlot.FAKE) is first
        assert _get_current_dispatch_mode_stack() == [first, user]
    assert infra_mode(InfraSlot.FAKE) is None


def test_stacks_are_values():
    a, b = Recording(), Infra(InfraSlot.PROXY)
    assert stack_with((a,), b) == (b, a)
    assert stack_with((), a) == (a,)


# -- subclasses ------------------------------------------------------------------------


def make_class(name, base=None, answer=None, seen=None):
    """Make a class whose handler notes its name and types, and runs the operator unless `answer` is given."""

    def handler(cls, func, types, args=(), kwargs=None):
        seen.append((cls.__name__, [t.__name__ for t in types], str(func)))
        if answer is not None:
            return answer
        with disable_torch_dispatch():
            return func(*args, **(kwargs or {}))

    return type(
        name,
        (base or minitorch.Tensor,),
        {"__torch_dispatch__": classmethod(handler), "__torch_function__": disabled_torch_function_impl},
    )


def test_probe_of_subclasses():
    """``S + T``, T a subclass of S that declines: T first, then S; both get both types."""
    seen = []
    s = make_class("S", seen=seen)
    t = make_class("T", s, NotImplemented, seen)
    result = s([1.0]) + t([2.0])
    assert result.tolist() == [3.0]
    assert seen == [("T", ["T", "S"], "aten.add.Tensor"), ("S", ["T", "S"], "aten.add.Tensor")]


def test_each_class_is_asked_once_from_the_left():
    seen = []
    s, t = (make_class(name, answer=NotImplemented, seen=seen) for name in "ST")
    with pytest.raises(TypeError, match="Multiple dispatch failed.*: S, T"):
        minitorch.stack([s([1.0]), t([1.0]), s([1.0])])
    assert [name for name, _, _ in seen] == ["S", "T"]


def test_modes_come_before_subclasses():
    seen = []
    s = make_class("S", seen=seen)
    x = s([1.0])
    with Handler(lambda func, types, args, kwargs: (seen.append(types), NotImplemented)[1]):
        x.exp()
    assert seen == [(s,), ("S", ["S"], "aten.exp.default")]


def test_subclasses_in_backward():
    seen = []
    s = make_class("S", seen=seen)
    x = s([1.0, 2.0]).requires_grad_()
    y = (x * x).view(2, 1)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert ("S", ["S"], "aten.mul.Tensor") in seen


def test_disable_torch_dispatch():
    """P11."""
    seen = []
    x = make_class("S", seen=seen)([1.0])
    with Recording() as mode, disable_torch_dispatch():
        x.exp()
    assert seen == mode.seen == []


def test_the_python_key_without_a_handler_is_an_internal_error():
    op = ops.aten.exp.default
    with pytest.raises(AssertionError, match="reached the Python key"):
        op.redispatch(DispatchKeySet("Python", "CPU"), minitorch.ones(2))


# -- re-entering (P1, P10) -------------------------------------------------------------


def test_reentrant_dispatch():
    x = minitorch.ones(2, requires_grad=True)
    inside = []

    def handler(func, types, args, kwargs):
        inside.append((args[0] * 2).requires_grad)
        with enable_reentrant_dispatch():
            inside.append((args[0] * 2).requires_grad)
            with pytest.raises(RuntimeError, match="no __torch_dispatch__ handler"), enable_reentrant_dispatch():
                pass
        inside.append((args[0] * 2).requires_grad)
        return func(*args, **kwargs)

    with Handler(handler):
        x.exp()
    assert inside == [False, True, False]
    with pytest.raises(RuntimeError, match="no __torch_dispatch__ handler"), enable_reentrant_dispatch():
        pass


def test_lazy_bits_stay_on_in_handlers():
    """P14: what the reference gets wrong."""
    kept = []

    def handler(func, types, args, kwargs):
        excluded = DispatchKeySet.from_bits(current().excluded)
        kept.append([name for name in ("Conjugate", "Negative", "ZeroTensor") if name in excluded])
        assert excluded.has("AutogradFunctionality")
        assert excluded.has("Functionalize")
        assert excluded.has("FuncTorchDynamicLayerBackMode")
        assert not excluded.has("PythonDispatcher")
        assert not excluded.has("Python")
        assert not excluded.has("BackendSelect")
        return func(*args, **kwargs)

    x = minitorch.ones(2)
    with Handler(handler):
        x.exp()
    assert kept == [[]]


# -- rules for classes (L16) -----------------------------------------------------------


def test_torch_dispatch_rules_come_before_the_handler_of_a_mode(library):
    class Other(Recording):
        pass

    got = []
    x = minitorch.ones(2)
    lib = library("aten", "IMPL")

    @register_torch_dispatch("aten::exp", Recording, lib=lib)
    def rule(mode, func, types, args, kwargs):
        got.append((type(mode), func, types, args[0] is x, kwargs, _get_current_dispatch_mode()))
        return func(*args, **kwargs)

    with Recording() as mode:
        x.exp()
        x.neg()
    assert got == [(Recording, ops.aten.exp.default, (), True, {}, None)]
    assert mode.seen == ["aten.neg.default"]
    assert seen_under(lambda: x.neg()) == ["aten.neg.default"]
    with Other() as other:  # the rule is for that very class
        x.exp()
    assert other.seen == ["aten.exp.default"]
    with pytest.raises(RuntimeError, match="already has a torch_dispatch rule"):
        register_torch_dispatch("aten::exp", Recording, rule, lib=lib)
    lib._destroy()
    assert seen_under(lambda: x.exp()) == ["aten.exp.default"]


def test_torch_dispatch_rules_of_a_subclass(library):
    seen = []
    s = make_class("S", seen=seen)
    x = s([1.0])

    def rule(cls, func, types, args, kwargs):
        seen.append((cls, func, types, kwargs))
        with disable_torch_dispatch():
            return func(*args, **kwargs)

    register_torch_dispatch("aten::exp", s, rule, lib=library("aten", "IMPL"))
    x.exp()
    x.neg()
    assert seen == [(s, ops.aten.exp.default, (s,), {}), ("S", ["S"], "aten.neg.default")]


# -- scopes that end in another order ----------------------------------------------------------------


def test_generators_end_their_scopes_in_any_order():
    def scope(mode):
        with mode:
            yield

    first, second = Recording(), Recording()
    scopes = scope(first), scope(second)
    for s in scopes:
        next(s)
    scopes[0].close()
    minitorch.zeros(1)
    scopes[1].close()
    assert not first.seen
    assert len(second.seen) == 1
    assert _get_current_dispatch_mode_stack() == []


def test_a_mode_is_exited_as_often_as_entered():
    with pytest.raises(RuntimeError, match="Recording: the mode was exited more often than it was entered"):
        Recording().__exit__(None, None, None)
