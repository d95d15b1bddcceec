"""Dumps, queries, explanations (spec U2 to U4)."""

from __future__ import annotations

import pytest

import minitorch
from minitorch.dispatch import introspect
from minitorch.dispatch.introspect import Registration, TableEntry
from minitorch.dispatch.key_set import DispatchKeySet
from minitorch.dispatch.keys import RUNTIME_KEYS
from minitorch.dispatch.library import fallthrough_kernel
from minitorch.dispatch.local_state import ExcludeKeysGuard
from minitorch.dispatch.namespace import ops
from minitorch.dispatch.operator import OPERATORS


def first(x):
    return x


def second(x):
    return x


def at(fn) -> str:
    """Return where `fn` stands, as kernels say it."""
    return f"{fn.__code__.co_filename}:{fn.__code__.co_firstlineno}"


@pytest.fixture
def op(library):
    lib = library()
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", first, "CompositeExplicitAutograd")
    lib.impl("f", first, "CPU")
    lib.impl("f", second, "CPU")
    lib.impl("f", fallthrough_kernel, "AutogradCPU")
    return ops.testing.f.default


def test_registrations(op):
    assert introspect.registrations(op) == [
        Registration("CPU", False, at(second), True, False),
        Registration("CPU", False, at(first), False, False),
        Registration("AutogradCPU", False, introspect.registrations(op)[2].origin, True, True),
        Registration("CompositeExplicitAutograd", True, at(first), True, False),
    ]


def test_dump(op):
    lines = introspect.dump("testing::f").splitlines()
    assert lines[0] == "name: testing::f"
    assert lines[1] == "schema: testing::f(Tensor x) -> Tensor"
    assert lines[2] == f"CPU: {at(second)}"
    assert lines[3] == f"CPU: {at(first)} (inactive)"
    assert lines[4].startswith("AutogradCPU: ")
    assert lines[4].endswith("[fallthrough]")
    assert lines[5] == f"CompositeExplicitAutograd[alias]: {at(first)}"


def test_dump_of_a_name_without_definition(library):
    library().impl("g", first, "CPU")
    assert "schema: (none)" in introspect.dump("testing::g")
    with pytest.raises(RuntimeError, match="testing::h does not exist"):
        introspect.dump("testing::h")


@pytest.mark.usefixtures("autograd_fallbacks")
def test_table(op):
    entries = introspect.table(op)
    keys = [entry.key for entry in entries]
    order = [key.name for key in RUNTIME_KEYS]
    assert keys == sorted(keys, key=order.index)
    assert keys[0] == "Undefined"
    by_key = {entry.key: entry for entry in entries}
    assert by_key["CPU"] == TableEntry("CPU", at(second), "kernel", False)
    assert by_key["CUDA"] == TableEntry("CUDA", at(first), "default backend kernel", False)
    assert by_key["AutogradCUDA"].reason == "backend fallback"
    assert by_key["AutogradCPU"].is_fallthrough
    assert "NestedTensorCPU" not in by_key  # missing


def test_dump_table(op):
    lines = introspect.dump_table(op).splitlines()
    assert f"Undefined: {at(first)} [default backend kernel]" in lines
    assert f"CPU: {at(second)} [kernel]" in lines
    assert any(line.startswith("BackendSelect: fallthrough ") for line in lines)


def test_reasons(library):
    lib = library()
    lib.define("f(Tensor x) -> Tensor")
    for key in (
        "CompositeImplicitAutograd",
        "CompositeImplicitAutogradNestedTensor",
        "FuncTorchBatchedDecomposition",
        "SparseCPU",
        "CUDA",
        "Autograd",
    ):
        lib.impl("f", first, key)
    reasons = {entry.key: entry.reason for entry in introspect.table("testing::f")}
    assert reasons["CPU"] == "math kernel"
    assert reasons["NestedTensorCPU"] == "nested kernel"
    assert reasons["FuncTorchBatched"] == "batched kernel"
    assert reasons["SparseCPU"] == "kernel"
    assert reasons["AutogradCUDA"] == "autograd kernel"
    assert reasons["AutogradOther"] == "ambiguous autogradother"


def test_queries(op, library):
    assert introspect.has_kernel("testing::f")
    assert not introspect.has_kernel("testing::g")
    assert introspect.has_kernel_for_dispatch_key(op, "CPU")
    assert introspect.has_kernel_for_dispatch_key(op, "CompositeExplicitAutograd")
    assert not introspect.has_kernel_for_dispatch_key(op, "CUDA")
    assert introspect.has_computed_kernel_for_dispatch_key(op, "CUDA")
    assert not introspect.has_computed_kernel_for_dispatch_key(op, "NestedTensorCPU")
    with pytest.raises(RuntimeError, match="is an alias"):
        introspect.has_computed_kernel_for_dispatch_key(op, "CompositeExplicitAutograd")
    with pytest.raises(RuntimeError, match="is a building block"):
        introspect.has_computed_kernel_for_dispatch_key(op, "Dense")
    assert introspect.kernel_is_fallthrough(op, "AutogradCPU")
    assert not introspect.kernel_is_fallthrough(op, "CPU")
    assert introspect.has_backend_fallback("BackendSelect")
    assert introspect.fallback_of("BackendSelect").is_fallthrough
    assert not introspect.has_backend_fallback("CPU")
    assert introspect.is_alias_key("Autograd")
    assert not introspect.is_alias_key("AutogradCPU")
    assert introspect.is_included_in_alias("AutogradCPU", "Autograd")
    assert not introspect.is_included_in_alias("CPU", "Autograd")
    assert not introspect.is_included_in_alias("CPU", "CUDA")


def test_lists_of_operators(op, library):
    lib = library()
    lib.impl("dangling.a", first, "VE")
    assert introspect.registrations_for_dispatch_key("VE") == ["testing::dangling.a"]
    assert "testing::f" in introspect.registrations_for_dispatch_key("CompositeExplicitAutograd")
    assert {"testing::f", "testing::dangling.a"} <= set(introspect.registrations_for_dispatch_key())
    assert introspect.find_dangling_impls() == ["testing::dangling.a"]
    assert "testing::f" in introspect.all_op_names()
    assert "testing::dangling.a" not in introspect.all_op_names()


def test_invariants(op, bare):
    introspect.check_invariants()
    op(bare("cpu"))
    introspect.check_invariants()
    OPERATORS["testing::wrong name"] = op
    try:
        with pytest.raises(AssertionError, match="is filed under"):
            introspect.check_invariants()
    finally:
        del OPERATORS["testing::wrong name"]


def test_ambient_sets_can_be_set():
    assert not introspect.tls_is_included("Python")
    introspect.tls_set_included("Python", True)
    assert introspect.tls_is_included("Python")
    introspect.tls_set_included("Python", False)
    introspect.tls_set_excluded("AutocastCPU", False)
    assert not introspect.tls_is_excluded("AutocastCPU")
    introspect.tls_set_excluded("AutocastCPU", True)
    assert introspect.tls_is_excluded("AutocastCPU")


# -- explain ---------------------------------------------------------------------------


@pytest.mark.usefixtures("autograd_fallbacks")
def test_explain(library, bare):
    lib = library()
    lib.define("f(Tensor x, Tensor[] ys=[], *, int n=0) -> Tensor")
    lib.impl("f", first, "CPU")
    lib.impl("f", second, "SparseCPU")
    x, y = bare("cpu"), bare("sparse")
    found = introspect.explain(ops.testing.f, x, [y], n=3)
    assert found.op == "testing::f"
    assert found.arguments["x"] == ["CPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU"]
    assert found.arguments["ys"] == ["SparseCPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU"]
    assert found.included == ["BackendSelect", "ADInplaceOrView"]
    assert len(found.excluded) == 10
    assert found.key_set == ["CPU", "SparseCPU", "AutogradCPU"]
    assert found.fallthrough == ["BackendSelect", "ADInplaceOrView"]
    assert [hop.key for hop in found.hops] == ["AutogradCPU", "SparseCPU"]
    assert [hop.reason for hop in found.hops] == ["backend fallback", "kernel"]
    assert found.hops[1].kernel == at(second)
    assert found.hops[1].key_set == ("CPU", "SparseCPU")
    text = str(found)
    assert f"-> SparseCPU: {at(second)} [kernel]" in text
    assert "skipped: BackendSelect, ADInplaceOrView" in text


def test_explain_runs_nothing_and_ends_at_composites_and_missing_kernels(library, bare):
    lib = library()
    lib.define("f(Tensor x) -> Tensor")
    lib.define("f.a(int n) -> Tensor")

    def never(*args):
        raise AssertionError

    lib.impl("f", never, "CompositeImplicitAutograd")
    (hop,) = introspect.explain(ops.testing.f, bare("cpu")).hops
    assert (hop.key, hop.reason) == ("AutogradCPU", "math kernel")
    (hop,) = introspect.explain("testing::f", 3).hops
    assert (hop.key, hop.kernel, hop.reason) == ("Undefined", "none", "missing")
    assert introspect.explain("testing::f.a", 3).op == "testing::f.a"
    with pytest.raises(RuntimeError, match="no overload fits"):
        introspect.explain(ops.testing.f, "s")
    with pytest.raises(RuntimeError, match="Expected a value of type"):
        introspect.explain(ops.testing.f.a, "s")


def test_explain_heeds_ambient_sets(library, bare):
    lib = library()
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", first, "CompositeImplicitAutograd")
    lib.impl("f", second, "SparseCPU")
    with ExcludeKeysGuard(DispatchKeySet("AutogradCPU")):
        (hop,) = introspect.explain("testing::f", bare("sparse")).hops
    assert hop.key == "SparseCPU"


def test_explain_takes_what_custom_op_returns():
    @minitorch.library.custom_op("testing::double", mutates_args=())
    def double(x: minitorch.Tensor) -> minitorch.Tensor:
        return x * 2

    try:
        assert introspect.explain(double, minitorch.ones(2)).op == "testing::double"
    finally:
        double._lib._destroy()


def test_explain_refuses_what_is_no_operator():
    with pytest.raises(TypeError, match=r"explain\(\): expected an operator, got <.*mul.*minitorch\.ops\.aten\.mul"):
        introspect.explain(minitorch.mul, minitorch.ones(2), 2)
