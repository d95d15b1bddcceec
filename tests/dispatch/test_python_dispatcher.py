"""The Python dispatcher (spec D1, D2)."""

from __future__ import annotations

import pytest

from minitorch.dispatch.key_set import DispatchKeySet, after_autograd
from minitorch.dispatch.local_state import below_autograd
from minitorch.dispatch.namespace import ops
from minitorch.dispatch.python_dispatcher import enable_python_dispatcher


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
