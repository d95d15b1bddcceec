"""Operator objects: namespaces, packets, overloads (spec 5.5, S11)."""

from __future__ import annotations

import copy
import pickle

import pytest

from minitorch.dispatch import namespace
from minitorch.dispatch.key_set import DispatchKeySet
from minitorch.dispatch.namespace import OpOverload, OpOverloadPacket, ops, overload_of
from minitorch.dispatch.tags import Tag


@pytest.fixture
def two(library):
    """``testing::f`` with a default overload and ``f.a``."""
    lib = library()
    lib.define("f(Tensor(a) x) -> Tensor(a)", tags=Tag.core)
    lib.define("f.a(Tensor x, int n) -> int")
    lib.impl("f", lambda x: x, "CPU")
    lib.impl("f.a", lambda x, n: n, "CPU")
    return lib


@pytest.mark.usefixtures("two")
def test_identity_is_stable():
    assert ops.testing is ops.testing
    assert ops.testing.f is ops.testing.f
    assert ops.testing.f.default is ops.testing.f.default
    assert isinstance(ops.testing.f, OpOverloadPacket)
    assert isinstance(ops.testing.f.a, OpOverload)


@pytest.mark.usefixtures("two")
def test_names():
    packet = ops.testing.f
    assert packet.overloads() == ["default", "a"]
    assert list(packet) == ["default", "a"]
    assert str(packet) == "testing.f"
    assert repr(packet) == "<OpOverloadPacket(op='testing.f')>"
    assert packet.__name__ == "f"
    assert str(packet.default) == "testing.f.default"
    assert str(packet.a) == "testing.f.a"
    assert repr(packet.a) == "<OpOverload(op='testing.f', overload='a')>"
    assert (packet.default.name(), packet.a.name()) == ("testing::f", "testing::f.a")
    assert (packet.default.__name__, packet.a.__name__) == ("f.default", "f.a")
    assert (packet.default._overloadname, packet.a._overloadname) == ("default", "a")
    assert packet.a.namespace == "testing"
    assert packet.a.overloadpacket is packet
    assert "f" in dir(ops.testing)


@pytest.mark.usefixtures("two")
def test_what_is_not_there():
    with pytest.raises(AttributeError, match="'testing' object has no attribute 'nope'"):
        _ = ops.testing.nope
    with pytest.raises(AttributeError, match=r"'testing\.f' has no overload name 'nope'"):
        _ = ops.testing.f.nope
    assert not hasattr(ops.no_such_namespace, "f")
    assert not hasattr(ops, "__wrapped__")


@pytest.mark.usefixtures("two")
def test_what_an_overload_tells():
    op = ops.testing.f.default
    assert op.is_view
    assert not ops.testing.f.a.is_view
    assert op.tags == (Tag.core,)
    assert str(op._schema) == "testing::f(Tensor(a) x) -> Tensor(a)"


@pytest.mark.usefixtures("two")
def test_overloads_are_values():
    op = ops.testing.f.a
    assert copy.copy(op) is op
    assert copy.deepcopy(op) is op
    assert pickle.loads(pickle.dumps(op)) is op
    assert {op: 1}[op] == 1
    packet = ops.testing.f
    assert copy.deepcopy(packet) is packet
    assert pickle.loads(pickle.dumps(packet)) is packet


@pytest.mark.usefixtures("two")
def test_overload_of():
    assert overload_of("testing::f") is ops.testing.f.default
    assert overload_of("testing::f.default") is ops.testing.f.default
    assert overload_of("testing::f.a") is ops.testing.f.a
    assert overload_of(ops.testing.f) is ops.testing.f.default
    assert overload_of(ops.testing.f.a) is ops.testing.f.a
    with pytest.raises(RuntimeError, match=r"operator testing::f\.b does not exist"):
        overload_of("testing::f.b")


def test_packets_try_overloads_in_order_of_definition(library, bare):
    lib = library()
    for name, schema in (("b", "Any x"), ("", "Tensor x"), ("a", "int x")):
        dot = f".{name}" if name else ""
        lib.define(f"g{dot}({schema}) -> str")
        lib.impl(f"g{dot}", lambda x, name=name: name or "default", "CompositeImplicitAutograd")
    assert ops.testing.g.overloads() == ["b", "default", "a"]
    assert ops.testing.g(bare("CPU")) == "b"


@pytest.mark.usefixtures("two")
def test_packets_run_the_first_overload_that_fits(bare):
    x = bare("CPU")
    assert ops.testing.f(x) is x
    assert ops.testing.f(x, 4) == 4
    assert ops.testing.f(x, n=4) == 4


@pytest.mark.usefixtures("two")
def test_packets_report_every_mismatch(bare):
    with pytest.raises(RuntimeError, match="failed to match any schema") as caught:
        ops.testing.f("s")
    text = str(caught.value)
    assert text.count("Expected a value of type 'Tensor' for argument 'x'") == 2
    assert "Declaration: testing::f(Tensor(a) x)" in text
    assert "Declaration: testing::f.a(Tensor x, int n)" in text


def test_a_single_overload_reports_its_own_mismatch(library):
    library().define("g(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match=r"^testing::g\(\) Expected a value"):
        ops.testing.g("s")


def test_errors_of_kernels_are_no_mismatches(library, bare):
    lib = library()
    lib.define("g(Tensor x) -> Tensor")
    lib.define("g.a(Tensor x) -> Tensor")

    def fail(x):
        raise RuntimeError("mine")

    lib.impl("g", fail, "CPU")
    lib.impl("g.a", lambda x: x, "CPU")
    with pytest.raises(RuntimeError, match=r"^mine$"):
        ops.testing.g(bare("CPU"))


def test_numbers_for_tensors(library, bare):
    """R10: only the operators that allow it take a Python number for a tensor."""
    lib = library()
    lib.define("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Any")
    lib.define("maximum(Tensor self, Tensor other) -> Any")
    for name in ("add.Tensor", "maximum"):
        lib.impl(name, lambda self, other, **kwargs: other, "CPU")
    ops.testing.add.Tensor.allow_numbers = True
    x = bare("CPU")
    assert ops.testing.add(x, 2.5) == 2.5
    assert ops.testing.add.Tensor(x, 2) == 2
    with pytest.raises(RuntimeError, match="type 'Tensor' for argument 'other'"):
        ops.testing.maximum(x, 2)
    with pytest.raises(RuntimeError, match="type 'Tensor' for argument 'other'"):
        ops.testing.add(x, "2")


# -- kernels of an overload ------------------------------------------------------------


@pytest.mark.usefixtures("two")
def test_redispatch(bare):
    assert ops.testing.f.a.redispatch(DispatchKeySet("CPU"), bare("cpu"), n=3) == 3


def test_has_kernel_for_dispatch_key(library):
    lib = library()
    lib.define("g(Tensor x) -> Tensor")
    lib.impl("g", lambda x: x, "CompositeImplicitAutograd")
    op = ops.testing.g.default
    op.py_impl("Meta")(lambda x: x)
    assert op.has_kernel_for_dispatch_key("CompositeImplicitAutograd")
    assert op.has_kernel_for_dispatch_key("Meta")
    assert not op.has_kernel_for_dispatch_key("CPU")  # computed, not direct


def test_decompose(library, bare):
    lib = library()
    lib.define("g(Tensor x, int n=1) -> int")
    lib.define("h(Tensor x) -> int")
    lib.impl("g", lambda x, n=1: n, "CompositeImplicitAutograd")
    x = bare("CPU")
    assert ops.testing.g.default._can_decompose()
    assert ops.testing.g.default.decompose(x, n=4) == 4
    assert not ops.testing.h.default._can_decompose()
    assert ops.testing.h.default.decompose(x) is NotImplemented
    ops.testing.h.default.py_impl("CompositeImplicitAutograd")(lambda x: 7)
    assert ops.testing.h.default.decompose(x) == 7


def test_op_dk(library, bare):
    lib = library()
    lib.define("g(Tensor x, int n=1) -> int")
    lib.impl("g", lambda x, n=1: n, "CPU")
    lib.impl("g", lambda x, n=1: -n, "CompositeExplicitAutograd")
    op, x = ops.testing.g.default, bare("sparse")
    assert op._op_dk("CPU", x, 3) == 3
    assert op._op_dk("CUDA", x, 3) == -3  # what the table has
    assert op._op_dk("CompositeExplicitAutograd", x, n=3) == -3
    with pytest.raises(NotImplementedError, match="no kernel for CompositeImplicitAutograd"):
        op._op_dk("CompositeImplicitAutograd", x)
    with pytest.raises(NotImplementedError, match="no kernel for BackendSelect"):
        op._op_dk("BackendSelect", x)


def test_py_impl_rules(library):
    class Mode:
        pass

    library().define("g(Tensor x) -> int")
    op = ops.testing.g.default

    @op.py_impl("CPU")
    def cpu(x):
        return 1

    op.py_impl(Mode)(lambda mode, x: 2)
    assert op.py_kernels["CPU"] is cpu
    assert Mode in op.py_kernels
    with pytest.raises(RuntimeError, match="override a python impl for CPU"):
        op.py_impl("CPU")(lambda x: 3)
    with pytest.raises(RuntimeError, match="no function for the Python key"):
        op.py_impl("Python")
    with pytest.raises(RuntimeError, match="could not parse dispatch key"):
        op.py_impl("Nope")


# -- __torch_function__ ----------------------------------------------------------------


@pytest.mark.usefixtures("two")
def test_the_function_protocol_sees_overloads_and_packets(bare, monkeypatch):
    seen = []

    def handler(func, args, kwargs):
        seen.append((func, args[1:], kwargs))
        return NotImplemented if kwargs else "handled"

    monkeypatch.setattr(namespace, "function_handler", handler)
    x = bare("CPU")
    assert ops.testing.f(x) == "handled"
    assert ops.testing.f.a(x, 2) == "handled"
    assert ops.testing.f.a(x, n=2) == 2
    assert [func for func, _, _ in seen] == [ops.testing.f, ops.testing.f.a, ops.testing.f.a]
    assert seen[1][1] == (2,)
    assert seen[2][2] == {"n": 2}
