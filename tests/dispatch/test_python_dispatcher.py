"""The Python dispatcher (spec D1, D2)."""

from __future__ import annotations

import pytest

import minitorch
from minitorch.dispatch.key_set import DispatchKeySet, after_autograd
from minitorch.dispatch.local_state import below_autograd
from minitorch.dispatch.mode_stack import mode_stack
from minitorch.dispatch.namespace import ops
from minitorch.dispatch.scopes import disable_python_dispatcher, enable_python_dispatcher
from minitorch.dispatch.transforms import Interpreter, TransformType, interpreter_stack
from minitorch.library import register_torch_dispatch
from minitorch.modes import TorchDispatchMode


@pytest.fixture
def op(library):
    lib = library()
    lib.define("f(Tensor x) -> str")
    lib.impl("f", lambda x: "native", "CPU")
    lib.impl("f", lambda x: "composite", "CompositeExplicitAutograd")
    return ops.testing.f.default


def test_py_impls_count_only_while_it_is_on(op, bare):
    op.py_impl("CPU")(lambda x: "python")
    assert op(bare("CPU")) == "native"
    with enable_python_dispatcher():
        assert op(bare("CPU")) == "python"
        assert op(bare("CUDA")) == "composite"
    assert op(bare("CPU")) == "native"


def test_aliases_resolve_by_the_rules_of_the_table(op, bare):
    op.py_impl("CompositeExplicitAutograd")(lambda x: "python")
    with enable_python_dispatcher():
        assert op(bare("CPU")) == "native"  # a direct kernel is above an alias
        assert op(bare("CUDA")) == "python"


def test_registrations_are_noticed(op, library, bare):
    with enable_python_dispatcher():
        assert op(bare("CPU")) == "native"
        op.py_impl("CPU")(lambda x: "python")
        assert op(bare("CPU")) == "python"
        library(kind="IMPL").impl("f", lambda x: "new", "CUDA")
        assert op(bare("CUDA")) == "new"


def test_lower_levels_are_resolved_in_python_too(recorder, bare):
    record = recorder("f(Tensor x) -> ()")
    record.level("Autograd", below_autograd, after_autograd)
    record.kernel("CPU")
    record.op.py_impl("CPU")(lambda x: record.seen.append("python"))
    with enable_python_dispatcher():
        assert record.call(bare("cpu")) == ["Autograd", "python"]
    assert record.key_sets[0].has("PythonDispatcher")
    assert record.call(bare("cpu")) == ["Autograd", "CPU"]


def test_it_survives_masking(recorder, bare):
    record = recorder("f(Tensor x) -> ()")
    record.level("Autograd", below_autograd, DispatchKeySet.full_after("AutogradOther"))
    record.kernel("CPU")
    with enable_python_dispatcher():
        assert record.call(bare("cpu")) == ["Autograd", "CPU"]
    assert all(key_set.has("PythonDispatcher") for key_set in record.key_sets)


def test_it_can_be_switched_off_inside(op, bare):
    op.py_impl("CPU")(lambda x: "python")
    with enable_python_dispatcher():
        with disable_python_dispatcher():
            assert op(bare("CPU")) == "native"
        assert op(bare("CPU")) == "python"


# -- functions for modes, tensors and transforms -----------------------------------------


@pytest.fixture
def plus(library):
    """``testing::plus`` on real tensors."""
    lib = library()
    lib.define("plus(Tensor x, int n=1) -> Tensor")
    lib.impl("plus", lambda x, n=1: x + n, "CPU")
    return ops.testing.plus.default


class Mode(TorchDispatchMode):
    def __init__(self):
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


class OtherMode(Mode):
    pass


def test_a_function_for_a_mode_stands_for_its_handler(plus):
    got = []

    @plus.py_impl(Mode)
    def rule(mode, x, n=1):
        got.append((mode, n, mode_stack()))
        return minitorch.zeros(1)

    x = minitorch.ones(1)
    with OtherMode() as outer, Mode() as mode:
        plus(x)  # the Python dispatcher is off
        assert got == []
        assert mode.seen == outer.seen == [plus]
        with enable_python_dispatcher():
            results = [plus(x, 5), plus(x)]
    assert [r.tolist() for r in results] == [[0.0], [0.0]]
    # The mode was off meanwhile, and the one around it saw what the function called.
    assert got == [(mode, 5, (outer,)), (mode, 1, (outer,))]
    assert mode.seen == [plus]
    assert outer.seen == [plus, ops.aten.zeros.default, ops.aten.zeros.default]


def test_a_function_for_a_mode_is_for_that_very_class(plus):
    plus.py_impl(Mode)(lambda mode, x, n=1: pytest.fail("another class's function"))
    x = minitorch.ones(1)
    with enable_python_dispatcher(), OtherMode() as mode:
        plus(x)
    assert mode.seen == [plus]


def test_a_function_comes_before_a_torch_dispatch_rule(plus, library):
    register_torch_dispatch(plus, Mode, lambda mode, func, types, args, kwargs: minitorch.ones(3), lib=library(kind="IMPL"))
    plus.py_impl(Mode)(lambda mode, x, n=1: minitorch.ones(4))
    with Mode():
        assert plus(minitorch.ones(1)).shape == (3,)
        with enable_python_dispatcher():
            assert plus(minitorch.ones(1)).shape == (4,)


def test_a_function_for_the_class_of_a_tensor(plus):
    class Special(minitorch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return minitorch.zeros(2)

    plus.py_impl(Special)(lambda x, n=1: minitorch.ones(5))
    x = Special([1.0])
    assert plus(x).shape == (2,)
    with enable_python_dispatcher():
        assert plus(x).shape == (5,)


class Vmap(Interpreter):
    transform = TransformType.Vmap


class Grad(Interpreter):
    transform = TransformType.Grad


def test_a_function_for_a_transform(library, bare):
    lib = library()
    lib.define("f(Tensor x, int n=1) -> str")
    lib.impl("f", lambda x, n=1: "native", "CPU")
    lib.impl("f", lambda x, n=1: "front", "FuncTorchDynamicLayerFrontMode")
    op = ops.testing.f.default
    got = []

    @op.py_impl(TransformType.Vmap)
    def rule(interpreter, x, n=1):
        got.append((interpreter, n))
        with interpreter.lower():
            assert interpreter_stack() == ()
            return "vmap around " + op(x, n)

    x = bare("CPU")
    with pytest.raises(RuntimeError, match="override a python impl"):
        op.py_impl(TransformType.Vmap)(rule)
    with Vmap() as level:
        assert op(x) == "front"
        with enable_python_dispatcher():
            assert op(x, 2) == "vmap around native"
    assert got == [(level, 2)]
    with enable_python_dispatcher(), Grad():
        assert op(x) == "front"  # a transform without a function
    with enable_python_dispatcher():
        assert op(x) == "native"
