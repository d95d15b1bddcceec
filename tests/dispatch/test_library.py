"""Library objects, module-level helpers, tags (spec 5.3)."""

from __future__ import annotations

import gc
import weakref

import pytest

from minitorch.dispatch import library_functions
from minitorch.dispatch.fake_impl import get_ctx, run_fake_impl
from minitorch.dispatch.keys import parse_key
from minitorch.dispatch.library import Library, fallthrough_kernel
from minitorch.dispatch.library_functions import (
    define,
    impl,
    register_fake,
    register_kernel,
    register_torch_dispatch,
)
from minitorch.dispatch.namespace import ops
from minitorch.dispatch.operator import BACKEND_FALLBACKS, OPERATORS
from minitorch.dispatch.tags import Tag


@pytest.fixture
def kept():
    """Destroy what helpers keep in libraries of their own."""
    count = len(library_functions._KEPT)
    yield
    for lib in reversed(library_functions._KEPT[count:]):
        lib._destroy()
    del library_functions._KEPT[count:]


# -- kinds and lifetimes ---------------------------------------------------------------


def test_kinds():
    with pytest.raises(ValueError, match="Unsupported kind: FOO"):
        Library("testing", "FOO")
    for kind in ("DEF", "FRAGMENT"):
        with pytest.raises(ValueError, match="prim is a reserved namespace"):
            Library("prim", kind)
        with pytest.raises(RuntimeError, match="stands for all"):
            Library("_", kind)
    Library("prim", "IMPL")
    with pytest.raises(RuntimeError, match="could not parse dispatch key"):
        Library("testing", "IMPL", "Nope")
    assert repr(Library("testing", "IMPL", "CPU")) == (
        "Library(kind=IMPL, ns=testing, dispatch_key=CPU)>"
    )


def test_one_def_library_per_namespace(library):
    first = library("unique", "DEF")
    with pytest.raises(RuntimeError, match=r"Only a single DEF library.*unique") as caught:
        Library("unique", "DEF")
    assert __file__ in str(caught.value) or "conftest" in str(caught.value)
    library("unique", "FRAGMENT")
    first._destroy()
    library("unique", "DEF")


def test_built_in_namespaces_have_a_def_library():
    with pytest.raises(RuntimeError, match=r"Only a single DEF library.*aten"):
        Library("aten", "DEF")


def test_impl_libraries_may_not_define(library):
    with pytest.raises(RuntimeError, match="may not define"):
        library(kind="IMPL").define("f(Tensor x) -> Tensor")


def test_everything_goes_with_the_last_reference(bare):
    def scope():
        lib = Library("testing", "FRAGMENT")
        lib.define("f(Tensor x) -> int")
        lib.impl("f", lambda x: 3, "CPU")
        wild = Library("_", "IMPL")
        wild.fallback(lambda op, *args: None, "VE")
        assert ops.testing.f(bare("CPU")) == 3
        assert parse_key("VE").slot in BACKEND_FALLBACKS
        return weakref.ref(lib)

    dead = scope()
    gc.collect()
    assert dead() is None
    assert not hasattr(ops.testing, "f")
    assert "testing::f" not in OPERATORS
    assert parse_key("VE").slot not in BACKEND_FALLBACKS


def test_destroying_twice_does_nothing(library):
    lib = library()
    lib.define("f(Tensor x) -> int")
    lib._destroy()
    lib._destroy()
    assert "testing::f" not in OPERATORS


def test_cached_operators_are_evicted(library):
    lib = library()
    lib.define("f(Tensor x) -> int")
    old = ops.testing.f
    assert ops.testing.f is old
    lib._destroy()
    with pytest.raises(AttributeError, match="'testing' object has no attribute 'f'"):
        _ = ops.testing.f
    library().define("f(Tensor x) -> int")
    assert ops.testing.f is not old


# -- define ----------------------------------------------------------------------------


def test_define_returns_the_name_and_takes_its_own_prefix(library):
    lib = library()
    assert lib.define("f(Tensor x) -> Tensor") == "f"
    assert lib.define("f.a(Tensor x) -> Tensor") == "f"
    assert lib.define("testing::g(Tensor x) -> Tensor") == "testing::g"
    assert str(ops.testing.g.default._schema) == "testing::g(Tensor x) -> Tensor"
    with pytest.raises(RuntimeError, match=r"namespace \(other\) in schema string"):
        lib.define("other::h(Tensor x) -> Tensor")


def test_a_failed_define_leaves_nothing(library):
    lib = library()
    for schema in ("f", "f(Foo x) -> ()", "f(t x) -> ()"):
        with pytest.raises(RuntimeError):
            lib.define(schema)
    assert not hasattr(ops.testing, "f")


def test_alias_analysis(library):
    lib = library()
    lib.define("f(Tensor x) -> Tensor", "CONSERVATIVE")
    lib.define("g(Tensor x) -> Tensor", "FROM_SCHEMA")
    with pytest.raises(RuntimeError, match="Invalid alias_analysis type FOO"):
        lib.define("h(Tensor x) -> Tensor", "FOO")


def test_adding_and_removing_an_overload_refreshes_the_packet(library):
    lib, more = library(), library()
    lib.define("f(Tensor x) -> Tensor")
    packet = ops.testing.f
    assert packet.overloads() == ["default"]
    more.define("f.a(Tensor x, int n) -> Tensor")
    assert packet.overloads() == ["default", "a"]
    assert packet.a.name() == "testing::f.a"
    more._destroy()
    assert packet.overloads() == ["default"]
    assert not hasattr(packet, "a")
    assert ops.testing.f is packet


# -- impl ------------------------------------------------------------------------------


def test_impl_keys(library):
    lib = library()
    lib.define("f(Tensor x) -> int")
    lib.impl("f", lambda x: 1)
    assert list(OPERATORS["testing::f"].kernels) == ["CompositeImplicitAutograd"]
    keyed = library(kind="IMPL", dispatch_key="CUDA")
    keyed.impl("f", lambda x: 1)
    keyed.impl("f", lambda x: 1, "CUDA")
    assert "CUDA" in OPERATORS["testing::f"].kernels
    with pytest.raises(RuntimeError, match=r"dispatch key \(CPU\) is inconsistent"):
        keyed.impl("f", lambda x: 1, "CPU")
    with pytest.raises(RuntimeError, match="could not parse dispatch key"):
        lib.impl("f", lambda x: 1, "Nope")


def test_impl_names(library, bare):
    lib = library()
    lib.define("f(Tensor x) -> int")
    lib.define("f.a(Tensor x, int n) -> int")
    lib.impl("f", lambda x: 1, "CPU")  # the default overload
    lib.impl(ops.testing.f.a, lambda x, n: n, "CPU")
    lib.impl("testing::f", lambda x: 2, "CUDA")
    lib.impl("f.default", lambda x: 3, "VE")
    assert ops.testing.f.a(bare("CPU"), 7) == 7
    assert [ops.testing.f(bare(key)) for key in ("CPU", "CUDA", "VE")] == [1, 2, 3]
    with pytest.raises(RuntimeError, match=r"namespace \(aten\) in operator name"):
        lib.impl("aten::f", lambda x: 1, "CPU")
    with pytest.raises(RuntimeError, match="either a name or an OpOverload"):
        lib.impl(3, lambda x: 1, "CPU")


def test_impl_wants_a_callable(library):
    with pytest.raises(TypeError, match="required to be a callable but found type"):
        library().impl("f", 3, "CPU")


def test_allow_override(library):
    lib, other = library(), library(kind="IMPL")
    lib.define("f(Tensor x) -> int")
    lib.impl("f", lambda x: 1, "CPU")
    with pytest.raises(RuntimeError, match="already a kernel registered from python"):
        other.impl("f", lambda x: 2, "CPU", allow_override=False)
    other.impl("f", lambda x: 2, "CUDA", allow_override=False)
    other.impl("f", lambda x: 2, "CPU")
    lib._destroy()
    other._destroy()
    third = library()
    third.define("f(Tensor x) -> int")
    third.impl("f", lambda x: 3, "CPU", allow_override=False)


def test_meta_kernels_of_composites_are_refused(library):
    lib = library()
    lib.define("f.a(Tensor x) -> int")
    lib.impl("f.a", lambda x: 1, "CompositeImplicitAutograd")
    with pytest.raises(RuntimeError, match=r"meta kernel directly to the operator 'f\.a'"):
        lib.impl("f.a", lambda x: 1, "Meta")


def test_the_fallthrough_marker_is_never_called():
    with pytest.raises(NotImplementedError, match="should never be called"):
        fallthrough_kernel()


# -- fallback --------------------------------------------------------------------------


def test_fallback_rules(library):
    with pytest.raises(RuntimeError, match='global namespace "_" but it is testing'):
        library().fallback(lambda op: None, "VE")
    wild = library("_", "IMPL")
    with pytest.raises(AssertionError, match="must not be empty"):
        wild.fallback(lambda op: None)
    with pytest.raises(TypeError):
        wild.fallback(3, "VE")
    wild.fallback(lambda op: None, "VE")
    with pytest.raises(RuntimeError, match="has a backend fallback already") as caught:
        wild.fallback(lambda op: None, "VE")
    assert __file__ in str(caught.value)
    library("_", "IMPL", "IPU").fallback(lambda op: None)
    assert parse_key("IPU").slot in BACKEND_FALLBACKS


def test_a_fallthrough_fallback(library, recorder, bare):
    library("_", "IMPL").fallback(fallthrough_kernel, "AutocastPrivateUse1")
    assert BACKEND_FALLBACKS[parse_key("AutocastPrivateUse1").slot].is_fallthrough


# -- module-level helpers --------------------------------------------------------------


def test_module_define(library):
    lib = library()
    define("testing::f", "(Tensor x) -> int", lib=lib)
    define("testing::f.a", "(Tensor x, int n) -> int", lib=lib, tags=Tag.core)
    assert ops.testing.f.overloads() == ["default", "a"]
    assert ops.testing.f.a.tags == (Tag.core,)
    for name in ("f", "a::b::f", "::f", "a::"):
        with pytest.raises(ValueError, match=r'of the form "namespace::name"'):
            define(name, "(Tensor x) -> int", lib=lib)
    with pytest.raises(ValueError, match="expected schema to look like"):
        define("testing::g", "g(Tensor x) -> int", lib=lib)


@pytest.mark.usefixtures("kept")
def test_helpers_without_a_library_live_on(bare):
    define("testing::kept", "(Tensor x) -> int")
    impl("testing::kept", "cpu", lambda x: 1)
    gc.collect()
    assert ops.testing.kept(bare("CPU")) == 1


def test_module_impl(library, bare):
    lib = library()
    lib.define("f(Tensor x) -> int")
    impl("testing::f", ("cpu", "CUDA"), lambda x: 1, lib=lib)

    @impl("testing::f", "default", lib=lib)
    def explicit(x):
        return 2

    assert explicit(None) == 2
    assert set(OPERATORS["testing::f"].kernels) == {"CPU", "CUDA", "CompositeExplicitAutograd"}
    with pytest.raises(RuntimeError, match="zork"):
        impl("testing::f", "zork", lambda x: 1, lib=lib)


def test_decorators_of_the_older_form(library, bare):
    lib = library()

    @define(lib, "f.a(Tensor x) -> int")
    def composite(x):
        return 1

    @impl(lib, "f.a", "CPU")
    def cpu(x):
        return 2

    assert (composite(None), cpu(None)) == (1, 2)
    assert ops.testing.f.a(bare("CPU")) == 2
    assert ops.testing.f.a(bare("CUDA")) == 1
    with pytest.raises(TypeError, match="cannot be a str"):
        impl("testing::f", "cpu", "CPU", lib=lib)


def test_module_register_kernel(library, bare):
    lib = library()
    lib.define("f(Tensor x) -> int")
    register_kernel("testing::f", "cuda", lambda x: 1, lib=lib)
    register_kernel(ops.testing.f, None, lib=lib)(lambda x: 2)
    register_kernel(ops.testing.f.default, ["cpu", "xpu"], lambda x: 3, lib=lib)
    assert set(OPERATORS["testing::f"].kernels) == {
        "CUDA",
        "CompositeExplicitAutograd",
        "CPU",
        "XPU",
    }


# -- fake impls ------------------------------------------------------------------------


@pytest.fixture
def with_fake(library):
    lib = library()
    lib.define("f(Tensor x) -> Any")
    return lib


def test_a_fake_impl_is_the_meta_kernel(with_fake, bare):
    register_fake("testing::f", lambda x: "old", lib=with_fake)

    @register_fake("testing::f", lib=with_fake)
    def newest(x):
        return "new"

    assert ops.testing.f(bare("Meta")) == "new"
    assert ops.testing.f.default.fake_impls[-1] is newest
    with pytest.raises(RuntimeError, match="already has a fake impl") as caught:
        register_fake("testing::f", lambda x: 1, lib=with_fake, allow_override=False)
    assert __file__ in str(caught.value)


def test_fake_impls_go_with_their_library(with_fake, library, bare):
    extra = library(kind="IMPL")
    register_fake("testing::f", lambda x: "base", lib=with_fake)
    register_fake("testing::f", lambda x: "extra", lib=extra)
    assert ops.testing.f(bare("Meta")) == "extra"
    extra._destroy()
    assert ops.testing.f(bare("Meta")) == "base"
    assert len(ops.testing.f.default.fake_impls) == 1


def test_fake_impls_are_refused(with_fake):
    with pytest.raises(RuntimeError, match="testing::nope does not exist"):
        register_fake("testing::nope", lambda x: x, lib=with_fake)
    with_fake.impl("f", lambda x: 1, "CompositeImplicitAutograd")
    with pytest.raises(RuntimeError, match="should not register a meta kernel"):
        register_fake("testing::f", lambda x: x, lib=with_fake)


def test_the_context_of_a_fake_impl(with_fake, bare):
    assert get_ctx() is None
    register_fake("testing::f", lambda x: get_ctx(), lib=with_fake)
    with pytest.raises(RuntimeError, match="data-dependent shape"):
        ops.testing.f(bare("Meta"))
    context = object()
    assert run_fake_impl(ops.testing.f.default.fake_impls[-1], context, (None,), None) is context
    assert get_ctx() is None


# -- torch_dispatch rules --------------------------------------------------------------


def test_torch_dispatch_rules(library):
    class Mode:
        pass

    lib, other = library(), library(kind="IMPL")
    lib.define("f(Tensor x) -> Tensor")
    op = ops.testing.f.default
    register_torch_dispatch("testing::f", Mode, lambda *args: 1, lib=other)
    assert list(op.torch_dispatch_rules) == [Mode]
    with pytest.raises(RuntimeError, match="already has a torch_dispatch rule for Mode"):
        register_torch_dispatch("testing::f", Mode, lib=lib)(lambda *args: 2)
    other._destroy()
    assert op.torch_dispatch_rules == {}


# -- tags ------------------------------------------------------------------------------


def test_tags_are_metadata(library):
    lib = library()
    lib.define("f(Tensor x) -> Tensor", tags=(Tag.core, "pointwise"))
    lib.define("g(Tensor x) -> Tensor", tags=Tag.reduction)
    assert ops.testing.f.default.tags == (Tag.core, Tag.pointwise)
    assert Tag.core in ops.testing.f.default.tags
    assert "core" in ops.testing.f.default.tags
    assert ops.testing.g.default.tags == (Tag.reduction,)
    with pytest.raises(ValueError, match="'zork' is not a valid Tag"):
        lib.define("h(Tensor x) -> Tensor", tags=("zork",))


_TAGS = """
core pointwise reduction inplace inplace_view out out_variant view_copy generated
data_dependent_output dynamic_output_shape nondeterministic_seeded nondeterministic_bitwise
maybe_aliasing_or_mutating pt2_compliant_tag needs_exact_strides needs_fixed_stride_order
needs_contiguous_strides flexible_layout cudagraph_unsafe
"""


def test_all_tags_of_the_specification_exist():
    for name in _TAGS.split():
        assert getattr(Tag, name) == name


@pytest.mark.parametrize(
    ("schema", "tag", "message"),
    [
        ("f(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "out", None),
        (
            "f(Tensor x, *, Tensor(a!) o, Tensor(b!) p) -> (Tensor(a!), Tensor(b!))",
            "out",
            None,
        ),
        ("f(Tensor x) -> Tensor", "out", "at least one mutable argument"),
        ("f(Tensor(a!) x) -> Tensor(a!)", "out", "keyword-only"),
        ("f(Tensor x, *, Tensor(a!) out) -> Tensor", "out", "return 0 must alias"),
        ("f(Tensor x, *, Tensor(a!) out) -> ()", "out", "must return its 1 mutable"),
        (
            "f(Tensor x, *, Tensor(a!) o, Tensor(b!) p) -> (Tensor(b!), Tensor(a!))",
            "out",
            "return 0 must alias",
        ),
        ("f(Tensor x, *, Tensor(a!)[] out) -> ()", "out", "only Tensors"),
        ("f(Tensor(a!) x, int n) -> Tensor(a!)", "inplace", None),
        ("f(Tensor x) -> Tensor", "inplace", "first positional argument"),
        ("f(Tensor(a!) x) -> ()", "inplace", "exactly one value"),
        ("f(Tensor(a!) x) -> Tensor", "inplace", "must alias 'x'"),
        ("f(Tensor(a!) x, Tensor(b!) y) -> Tensor(a!)", "inplace", "only mutate the first"),
        ("f(Tensor y, Tensor(a!) x) -> Tensor(a!)", "inplace", "first positional argument"),
        ("f(*, Tensor(a!) x) -> Tensor(a!)", "inplace", "first positional argument"),
    ],
)
def test_promises_of_tags(library, schema, tag, message):
    lib = library()
    if message is None:
        lib.define(schema, tags=(tag,))
        assert hasattr(ops.testing, "f")
    else:
        with pytest.raises(ValueError, match=message):
            lib.define(schema, tags=(tag,))
        assert not hasattr(ops.testing, "f")


def test_a_library_made_by_code_without_a_module_name():
    scope = {"Library": Library}
    exec("lib = Library('nameless', 'FRAGMENT'); lib.define('f(Tensor x) -> Tensor')", scope)
    exec("lib.impl('f', lambda x: x, 'CPU')", scope)
    scope["lib"]._destroy()
