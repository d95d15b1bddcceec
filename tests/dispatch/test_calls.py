"""The key set of a call, ambient sets and guards, kernels and redispatch (spec 2 and 4)."""

from __future__ import annotations

import threading

import pytest

from minitorch.core.generator import Generator
from minitorch.dispatch import introspect
from minitorch.dispatch.key_set import (
    DispatchKeySet,
    after_ADInplaceOrView,
    after_autograd,
    autograd_keys,
)
from minitorch.dispatch.keys import parse_key
from minitorch.dispatch.library import fallthrough_kernel, get_kernel
from minitorch.dispatch.local_state import (
    ExcludeKeysGuard,
    ForceKeysGuard,
    IncludeKeysGuard,
    PreserveKeysGuard,
    SetExcludedGuard,
    below_ad_inplace_or_view,
    below_autograd,
    current,
)
from minitorch.dispatch.namespace import ops

# -- R1 to R10: what decides -----------------------------------------------------------


def test_probe_of_mixed_tensors(recorder, bare):
    """Key sets are read below autograd and without the ambient ADInplaceOrView."""
    record = recorder("f(Tensor x, Tensor y) -> ()")
    for key in ("Meta", "CPU", "SparseCPU", "QuantizedCPU"):
        record.kernel(key)
    cpu, sparse, quantized, meta = (
        bare("CPU"),
        bare("SparseCPU"),
        bare("QuantizedCPU"),
        bare("Meta"),
    )

    def run(x, y):
        with below_ad_inplace_or_view():
            (seen,) = record.call(x, y)
        return seen, record.key_sets[0]

    assert run(cpu, sparse) == ("SparseCPU", DispatchKeySet("CPU", "SparseCPU"))
    assert run(sparse, cpu) == ("SparseCPU", DispatchKeySet("CPU", "SparseCPU"))
    assert run(quantized, cpu) == ("QuantizedCPU", DispatchKeySet("CPU", "QuantizedCPU"))
    assert run(quantized, sparse) == ("SparseCPU", DispatchKeySet("QuantizedCPU", "SparseCPU"))
    assert run(cpu, meta) == ("Meta", DispatchKeySet("CPU", "Meta"))
    with pytest.raises(NotImplementedError, match="'SparseMeta'"):
        run(bare("SparseCPU"), meta)


@pytest.mark.parametrize(
    ("schema", "make_args", "expected"),
    [
        ("f(Tensor[] x) -> ()", lambda d, s: ([d, s],), "SparseCPU"),
        ("f(Tensor? x, Tensor y) -> ()", lambda d, s: (None, d), "CPU"),
        ("f(Tensor? x, Tensor y) -> ()", lambda d, s: (s, d), "SparseCPU"),
        ("f(Tensor?[] x, Tensor y) -> ()", lambda d, s: ([None, s], d), "SparseCPU"),
        ("f(Tensor[]? x, Tensor y) -> ()", lambda d, s: ([s], d), "CPU"),
        ("f(Any x, Tensor y) -> ()", lambda d, s: (s, d), "CPU"),
        ("f(int n, Tensor y) -> ()", lambda d, s: (1, s), "SparseCPU"),
        ("f(Generator? g, Tensor y) -> ()", lambda d, s: (Generator(), d), "CPU"),
    ],
)
def test_which_arguments_count(recorder, bare, schema, make_args, expected):
    record = recorder(schema)
    for key in ("CPU", "SparseCPU"):
        record.kernel(key)
    assert record.call(*make_args(bare("cpu"), bare("sparse"))) == [expected]


def test_keyword_only_tensors_count(recorder, bare):
    record = recorder("f(Tensor x, *, Tensor? w=None, Tensor[] ws=[]) -> ()")
    for key in ("CPU", "SparseCPU"):
        record.kernel(key)
    assert record.call(bare("cpu"), w=bare("sparse")) == ["SparseCPU"]
    assert record.call(bare("cpu"), ws=[bare("sparse")]) == ["SparseCPU"]
    assert record.call(bare("cpu")) == ["CPU"]


def test_an_empty_list_ends_at_undefined(recorder):
    record = recorder("f(Tensor[] x) -> ()")
    record.kernel("CPU")
    with pytest.raises(NotImplementedError, match="no tensor arguments"):
        record.call([])
    record.kernel("CompositeImplicitAutograd")
    assert record.call([]) == ["CompositeImplicitAutograd"]


def test_arguments_that_do_not_match_are_refused_before_dispatch(recorder, bare):
    record = recorder("f(Tensor x) -> ()")
    record.kernel("CompositeImplicitAutograd")
    record.kernel("PythonDispatcher")
    with (
        IncludeKeysGuard(DispatchKeySet("PythonDispatcher")),
        pytest.raises(RuntimeError, match="Expected a value of type 'Tensor'"),
    ):
        record.call(3)
    assert record.seen == []


def test_the_mask_is_per_operator_and_per_backend(recorder, bare):
    record = recorder("f(Tensor x) -> ()")
    record.lib.impl("f", fallthrough_kernel, "AutogradCPU")
    for key in ("AutogradMeta", "Meta", "CPU"):
        record.kernel(key)
    assert record.call(bare("cpu")) == ["CPU"]
    assert record.call(bare("meta")) == ["AutogradMeta"]
    x = bare("cpu")
    x.key_set |= bare("meta").key_set
    assert record.call(x) == ["AutogradMeta"]
    # The highest backend bit of all that counts, that of the thread too.
    with IncludeKeysGuard(DispatchKeySet("Meta")):
        assert record.call(bare("cpu")) == ["AutogradMeta"]


def test_excluded_beats_included(recorder, bare):
    record = recorder("f(Tensor x) -> ()")
    for key in ("Python", "CPU"):
        record.kernel(key)
    with IncludeKeysGuard(DispatchKeySet("Python")):
        assert record.call(bare("cpu")) == ["Python"]
        with ExcludeKeysGuard(DispatchKeySet("Python")):
            assert record.call(bare("cpu")) == ["CPU"]


def test_redispatch_looks_at_neither_arguments_nor_ambient_sets(recorder, bare):
    record = recorder("f(Tensor x) -> ()")
    for key in ("AutogradCPU", "CPU", "SparseCPU"):
        record.kernel(key)
    with ExcludeKeysGuard(DispatchKeySet("AutogradCPU")):
        record.op.redispatch(DispatchKeySet("AutogradCPU"), bare("sparse"))
    assert record.seen == ["AutogradCPU"]
    record.op.redispatch(DispatchKeySet("CPU"), bare("sparse"))
    assert record.seen == ["AutogradCPU", "CPU"]
    with pytest.raises(NotImplementedError, match="no tensor arguments"):
        record.op.redispatch(DispatchKeySet(), bare("cpu"))


def test_redispatch_to_a_fallthrough_key_goes_on_below(recorder, bare):
    record = recorder("f(Tensor x) -> ()")
    record.lib.impl("f", fallthrough_kernel, "AutogradCPU")
    record.kernel("CPU")
    given = DispatchKeySet("AutogradCPU", "CPU")
    record.op.redispatch(given, bare("cpu"))
    assert record.seen == ["CPU"]
    assert record.key_sets == [given]


# -- R14 to R17: ambient sets ----------------------------------------------------------


def test_defaults():
    included, excluded = introspect.tls_included(), introspect.tls_excluded()
    assert included.functionalities() == ("BackendSelect", "ADInplaceOrView")
    assert len(excluded.functionalities()) == 10
    assert all(name.startswith("Autocast") for name in excluded.functionalities())


def test_a_new_thread_starts_from_the_defaults():
    seen = []

    def look():
        state = current()
        seen.append((introspect.tls_included(), introspect.tls_excluded(), state.grad_enabled))

    before = (introspect.tls_included(), introspect.tls_excluded(), True)
    with (
        ExcludeKeysGuard(autograd_keys),
        IncludeKeysGuard(DispatchKeySet("Python")),
    ):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [before]


def test_exclude_removes_on_exit_only_what_it_added():
    outer, inner = DispatchKeySet("Python"), DispatchKeySet("Python", "Conjugate")
    before = introspect.tls_excluded()
    with ExcludeKeysGuard(outer):
        with ExcludeKeysGuard(inner):
            assert introspect.tls_is_excluded("Conjugate")
        assert introspect.tls_is_excluded("Python")
        assert not introspect.tls_is_excluded("Conjugate")
    assert introspect.tls_excluded() == before


def test_include_removes_on_exit_only_what_it_added():
    with IncludeKeysGuard(DispatchKeySet("Python")):
        with IncludeKeysGuard(DispatchKeySet("Python", "BackendSelect")):
            pass
        assert introspect.tls_is_included("Python")
        assert introspect.tls_is_included("BackendSelect")


def test_set_excluded_forces_membership_and_restores():
    key = DispatchKeySet("AutocastCPU")
    with SetExcludedGuard(key, False):
        assert not introspect.tls_is_excluded("AutocastCPU")
        with SetExcludedGuard(key, True):
            assert introspect.tls_is_excluded("AutocastCPU")
        assert not introspect.tls_is_excluded("AutocastCPU")
    assert introspect.tls_is_excluded("AutocastCPU")


def test_force_and_preserve():
    before = (introspect.tls_included(), introspect.tls_excluded())
    with ForceKeysGuard(DispatchKeySet("Python"), DispatchKeySet()):
        assert introspect.tls_included() == DispatchKeySet("Python")
        assert introspect.tls_excluded() == DispatchKeySet()
    assert (introspect.tls_included(), introspect.tls_excluded()) == before
    with PreserveKeysGuard():
        introspect.tls_set_included("Python", True)
        introspect.tls_set_excluded("Conjugate", True)
    assert (introspect.tls_included(), introspect.tls_excluded()) == before


@pytest.mark.parametrize(
    "guard",
    [
        lambda: ExcludeKeysGuard(autograd_keys),
        lambda: IncludeKeysGuard(DispatchKeySet("Python")),
        lambda: SetExcludedGuard(DispatchKeySet("Python"), True),
        lambda: ForceKeysGuard(DispatchKeySet(), DispatchKeySet()),
        PreserveKeysGuard,
        below_autograd,
        below_ad_inplace_or_view,
    ],
)
def test_guards_restore_on_exceptions(guard):
    before = (introspect.tls_included(), introspect.tls_excluded())
    with pytest.raises(KeyError), guard():
        raise KeyError
    assert (introspect.tls_included(), introspect.tls_excluded()) == before


def test_query_of_a_per_backend_key_compares_both_bits():
    with ExcludeKeysGuard(DispatchKeySet("AutogradCPU")):
        assert introspect.tls_is_excluded("AutogradCPU")
        assert not introspect.tls_is_excluded("AutogradCUDA")  # although it is
        assert introspect.tls_is_excluded("AutogradFunctionality")


@pytest.fixture
def walk(recorder):
    """An operator with Autograd, ADInplaceOrView and CPU kernels of the standard shapes."""
    record = recorder("f(Tensor x) -> ()")
    record.level("Autograd", below_autograd, after_autograd)
    record.level("ADInplaceOrView", below_ad_inplace_or_view, after_ADInplaceOrView)
    record.kernel("CPU")
    return record


@pytest.fixture
def inference_keys():
    """The ambient sets of inference mode (spec R15)."""

    def scope():
        included = introspect.tls_included() - DispatchKeySet("ADInplaceOrView")
        return ForceKeysGuard(included, introspect.tls_excluded() | autograd_keys)

    return scope


def test_levels_of_a_normal_call(walk, bare):
    assert walk.call(bare("cpu")) == ["Autograd", "ADInplaceOrView", "CPU"]


def test_grad_mode_changes_no_keys(walk, bare):
    state = current()
    state.grad_enabled = False
    try:
        assert walk.call(bare("cpu")) == ["Autograd", "ADInplaceOrView", "CPU"]
    finally:
        state.grad_enabled = True


def test_levels_in_inference_mode(walk, bare, inference_keys):
    with inference_keys():
        assert walk.call(bare("cpu")) == ["ADInplaceOrView", "CPU"]
        assert walk.call(bare("inference")) == ["CPU"]


def test_an_inference_tensor_outside_meets_ad_inplace_or_view(walk, bare):
    assert walk.call(bare("inference")) == ["ADInplaceOrView", "CPU"]


def test_levels_below_the_guards(walk, bare):
    with below_autograd():
        assert walk.call(bare("cpu")) == ["ADInplaceOrView", "CPU"]
    with below_ad_inplace_or_view():
        assert walk.call(bare("cpu")) == ["CPU"]


@pytest.fixture
def two_backends(recorder):
    record = recorder("f(Tensor x) -> ()")
    for key in ("Meta", "CPU", "AutogradCPU", "AutogradMeta"):
        record.kernel(key)
    return record


def test_excluding_one_autograd_key_excludes_all(two_backends, bare):
    with ExcludeKeysGuard(DispatchKeySet("AutogradMeta")):
        assert two_backends.call(bare("cpu")) == ["CPU"]


def test_excluding_cpu_removes_dense_for_meta_too(recorder, bare):
    record = recorder("f(Tensor x) -> ()")
    record.kernel("Meta")
    record.level("AutogradMeta", below_autograd, after_autograd)
    with (
        ExcludeKeysGuard(DispatchKeySet("CPU")),
        pytest.raises(NotImplementedError, match="no tensor arguments"),
    ):
        record.call(bare("meta"))
    assert record.seen == ["AutogradMeta"]


def test_including_meta_redirects(two_backends, bare):
    with IncludeKeysGuard(DispatchKeySet("Meta")):
        assert two_backends.call(bare("CPU", "AutogradCPU")) == ["AutogradMeta"]
    assert str(two_backends.key_sets[0]) == ("DispatchKeySet(CPU, Meta, AutogradCPU, AutogradMeta)")


def test_operators_without_tensors(recorder):
    """R19: BackendSelect is skipped, and the call ends at Undefined, unless it has a kernel."""
    record = recorder("f(int n) -> ()")
    record.kernel("CPU")
    with pytest.raises(NotImplementedError, match="no tensor arguments"):
        record.call(1)
    with IncludeKeysGuard(DispatchKeySet("CPU")):
        assert record.call(1) == ["CPU"]

    def select(key_set, n):
        record.seen.append("select")
        return record.op.redispatch(DispatchKeySet("CPU"), n)

    record.lib.impl("f", select, "BackendSelect", with_keyset=True)
    with IncludeKeysGuard(DispatchKeySet("Meta")):
        assert record.call(1) == ["select", "CPU"]


# -- X1 to X13: kernels ----------------------------------------------------------------


@pytest.fixture
def arguments(library, bare):
    """Call an operator of the given schema; return what its kernel got."""

    def run(schema, *args, **kwargs):
        lib = library()
        got = []
        name = lib.define(schema)
        lib.impl(name, lambda *a, **k: got.append((a, k)), "CPU")
        getattr(ops.testing, name)(*args, **kwargs)
        lib._destroy()
        return got[0]

    return run


def test_arguments_arrive_in_schema_order_however_they_were_written(arguments, bare):
    x, y = bare("CPU"), bare("CPU")
    schema = "f(Tensor x, Tensor y, int n, *, int k, float s=1.0) -> ()"
    expected = ((x, y, 3), {"k": 4})
    assert [id(v) for v in arguments(schema, y=y, n=3, k=4, x=x)[0][:2]] == [id(x), id(y)]
    for args, kwargs in (((x, y, 3), {"k": 4}), ((x,), {"n": 3, "k": 4, "y": y, "s": 1.0})):
        got = arguments(schema, *args, **kwargs)
        assert got[0][0] is x
        assert got[0][1] is y
        assert got[0][2:] == expected[0][2:]
        assert got[1] == expected[1]


def test_arguments_called_self(arguments, bare):
    x = bare("CPU")
    assert arguments("f(Tensor self, int n) -> ()", self=x, n=1)[0][0] is x


def test_probe_of_stripped_defaults(arguments, bare):
    schema = "f(Tensor x, int n=3, float s=1.0, *, int[2] d=1, Tensor? w=None) -> ()"
    x, four = bare("CPU"), bare("CPU", value=4)

    def run(*args, **kwargs):
        positional, keywords = arguments(schema, *args, **kwargs)
        return positional[1:], keywords

    assert run(x) == run(x, 3) == run(x, s=1.0, d=[1, 1]) == ((), {})
    assert run(x, 3, 2.0) == ((3, 2.0), {})
    assert run(x, n=5) == ((5,), {})
    assert run(x, d=7) == ((), {"d": [7, 7]})
    assert run(x=x, n=True) == ((1,), {})
    assert run(x, four) == ((4,), {})


def test_fallbacks_get_stripped_arguments_too(library, bare):
    got = []
    library("_", "IMPL").fallback(lambda op, *a, **k: got.append((op, a[1:], k)), "VE")
    lib = library()
    lib.define("f(Tensor x, int n=3, *, int k=4) -> ()")
    op = ops.testing.f.default
    op(bare("VE"), 3, k=4)
    op(bare("VE"), 5, k=6)
    assert got == [(op, (), {}), (op, (5,), {"k": 6})]


def test_a_fallback_with_key_set(library, bare):
    got = []
    library("_", "IMPL").fallback(lambda ks, op, x: got.append((ks, op)), "VE", with_keyset=True)
    library().define("f(Tensor x) -> ()")
    with below_ad_inplace_or_view():
        ops.testing.f(bare("VE"))
    assert got == [(DispatchKeySet("VE"), ops.testing.f.default)]


@pytest.mark.parametrize(
    ("returns", "value", "expected"),
    [
        ("int", True, 1),
        ("int", 3, 3),
        ("float", 1, 1.0),
        ("int[]", (1, 2), [1, 2]),
        ("Tensor", None, None),
        ("Tensor?", None, None),
        ("()", None, None),
        ("(int, int)", [1, 2], (1, 2)),
        ("(Tensor, int)", (None, 2), (None, 2)),
        ("Tensor[]", (), []),
        ("Any", "x", "x"),
    ],
)
def test_returns_are_converted(library, bare, returns, value, expected):
    lib = library()
    lib.define(f"f(Tensor x) -> {returns}")
    lib.impl("f", lambda x: value, "CPU")
    result = ops.testing.f(bare("CPU"))
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("returns", "value"),
    [
        ("int", 1.5),
        ("Tensor", 1),
        ("Tensor", ()),
        ("Tensor[]", None),
        ("Tensor[]", [None]),
        ("()", 1),
        ("(int, int)", 1),
        ("(int, int)", (1,)),
        ("(int, int)", (1, 2, 3)),
        ("(int, int)", None),
        ("str", 1),
    ],
)
def test_wrong_returns_raise(library, bare, returns, value):
    lib = library()
    lib.define(f"f(Tensor x) -> {returns}")
    lib.impl("f", lambda x: value, "CPU")
    with pytest.raises(RuntimeError, match=r"testing::f"):
        ops.testing.f(bare("CPU"))


def test_returned_tensors_keep_their_identity(library, bare):
    lib = library()
    lib.define("f(Tensor x) -> Tensor")
    lib.define("g(Tensor x) -> (Tensor, Tensor[])")
    lib.impl("f", lambda x: x, "CPU")
    lib.impl("g", lambda x: [x, (x,)], "CPU")
    x = bare("CPU")
    assert ops.testing.f(x) is x
    first, rest = ops.testing.g(x)
    assert first is x
    assert rest[0] is x
    assert type(rest) is list


def test_an_int_return_takes_a_number_out_of_a_tensor(library, bare):
    lib = library()
    lib.define("f(Tensor x) -> int")
    lib.impl("f", lambda x: x, "CPU")
    assert ops.testing.f(bare("CPU", value=7)) == 7


def test_exceptions_of_kernels_arrive_unchanged(library, bare):
    class StrangeError(Exception):
        pass

    lib = library()
    lib.define("f(Tensor x) -> Tensor")
    error = StrangeError("as it was")

    def fail(x):
        raise error

    lib.impl("f", fail, "CPU")
    with pytest.raises(StrangeError) as caught:
        ops.testing.f(bare("CPU"))
    assert caught.value is error


def test_with_keyset_gets_the_masked_set_of_a_call(recorder, bare):
    record = recorder("f(Tensor x) -> ()")
    record.lib.impl("f", fallthrough_kernel, "AutogradCPU")
    record.kernel("CPU")
    record.call(bare("cpu"))
    assert record.key_sets == [DispatchKeySet("CPU")]  # BackendSelect and the rest fall through


def test_with_keyset_gets_the_given_set_of_a_redispatch(recorder, bare):
    record = recorder("f(Tensor x) -> ()")
    record.kernel("CPU")
    given = DispatchKeySet("CPU", "BackendSelect")
    record.op.redispatch(given, bare("cpu"))
    assert record.key_sets == [given]


def test_direct_fallthrough_overrides_a_fallback_and_the_other_way(library, recorder, bare):
    wild = library("_", "IMPL")
    wild.fallback(lambda op, *args: None, "AutocastPrivateUse1")
    record = recorder("f(Tensor x) -> ()")
    record.kernel("PrivateUse1")
    record.lib.impl("f", fallthrough_kernel, "AutocastPrivateUse1")
    x = bare("PrivateUse1", "AutocastPrivateUse1")
    with SetExcludedGuard(DispatchKeySet("AutocastPrivateUse1"), False):
        assert record.call(x) == ["PrivateUse1"]
    assert introspect.kernel_is_fallthrough(record.op, "AutocastCPU")
    record.kernel("AutocastCPU")
    with SetExcludedGuard(DispatchKeySet("AutocastCPU"), False):
        assert record.call(bare("CPU", "AutocastCPU")) == ["AutocastCPU"]


def test_fallthrough_on_a_dense_key_ends_at_undefined(recorder, bare):
    record = recorder("f(Tensor x) -> ()")
    record.lib.impl("f", fallthrough_kernel, "CPU")
    with pytest.raises(NotImplementedError, match="no tensor arguments"):
        record.call(bare("CPU"))


def test_a_call_inside_a_kernel_starts_from_the_top(recorder, bare):
    record = recorder("f(Tensor x, int n) -> ()")

    def autograd(key_set, x, n):
        record.seen.append(f"Autograd{n}")
        with below_autograd():
            record.op.redispatch(key_set & after_autograd, x, n)

    def cpu(x, n):
        record.seen.append(f"CPU{n}")
        if n:
            record.op(x, n - 1)

    record.lib.impl("f", autograd, "AutogradCPU", with_keyset=True)
    record.lib.impl("f", cpu, "CPU")
    assert record.call(bare("cpu"), 2) == ["Autograd2", "CPU2", "CPU1", "CPU0"]


def test_an_autograd_kernel_that_calls_itself_recurses(recorder, bare):
    record = recorder("f(Tensor x) -> ()")
    record.lib.impl("f", lambda x: record.op(x), "AutogradCPU")
    with pytest.raises(RecursionError):
        record.call(bare("cpu"))


# -- kernels as objects ----------------------------------------------------------------


@pytest.fixture
def doubled(library, bare):
    lib = library()
    lib.define("f(Tensor x, int n=1) -> int")
    lib.impl("f", lambda x, n=1: 2 * n, "CPU")
    lib.impl("f", lambda x, n=1: 100 * n, "CompositeExplicitAutograd")
    return lib


def test_a_fetched_kernel_can_be_called_and_outlives_its_override(doubled, library, bare):
    handle = get_kernel("testing::f", "CPU")
    override = library(kind="IMPL")
    override.impl("f", lambda ks, x, n=1: handle(ks, x, n) + 1, "CPU", with_keyset=True)
    assert ops.testing.f(bare("CPU"), 5) == 11
    assert handle.call_boxed(DispatchKeySet("CPU"), bare("CPU")) == 2


def test_fetching_returns_what_the_table_computes(doubled, bare):
    assert get_kernel(ops.testing.f, "CUDA")(DispatchKeySet("CUDA"), bare("CUDA")) == 100
    assert get_kernel(ops.testing.f.default, parse_key("CPU"))(DispatchKeySet(), bare("CPU")) == 2
    assert get_kernel("testing::f", "CompositeExplicitAutograd")(DispatchKeySet(), bare("CPU")) == (
        100
    )


def test_fetching_what_is_not_there(doubled):
    with pytest.raises(RuntimeError, match="testing::g does not exist"):
        get_kernel("testing::g", "CPU")
    with pytest.raises(ValueError, match="Invalid dispatch key: Nope"):
        get_kernel("testing::f", "Nope")
    with pytest.raises(RuntimeError, match="no kernel for Fake"):
        get_kernel("testing::f", "Fake")
