"""Computing the dispatch table, missing kernels, overriding and removing (spec section 3)."""

from __future__ import annotations

import warnings

import pytest

from minitorch.dispatch import dispatcher
from minitorch.dispatch.keys import BACKENDS, KEY_OF_SLOT, parse_key
from minitorch.dispatch.library import fallthrough_kernel
from minitorch.dispatch.namespace import ops
from minitorch.dispatch.operator import BACKEND_FALLBACKS, OPERATORS, renamed_backends

_ALIASES = {
    "CIA": "CompositeImplicitAutograd",
    "CEA": "CompositeExplicitAutograd",
    "CEA-NF": "CompositeExplicitAutogradNonFunctional",
    "CIA-Nested": "CompositeImplicitAutogradNestedTensor",
    "BatchedDecomp": "FuncTorchBatchedDecomposition",
}
_SHORT = {name: short for short, name in _ALIASES.items()}


@pytest.fixture
def entry_at(library, autograd_fallbacks):
    """Define an operator with kernels at the given keys; return what it has at a runtime key.

    That is ``"kernel"`` for a direct kernel, the alias it came from, ``"fallback"``,
    ``"ambiguous"`` or ``"missing"``.
    """

    def make(registered: str):
        lib = library()
        lib.define("f(Tensor x) -> Tensor")
        for name in registered.split(" + "):
            lib.impl("f", lambda x: x, _ALIASES.get(name, name))
        op = OPERATORS["testing::f"]

        def entry(key_name: str) -> str:
            kernel, reason = op.resolve(parse_key(key_name).slot)
            if reason in ("kernel", "missing"):
                return reason
            if reason == "backend fallback":
                return "fallback"
            if reason == "ambiguous autogradother":
                return "ambiguous"
            return _SHORT.get(kernel.key_name, kernel.key_name)

        return entry

    return make


_COLUMNS = (
    "Undefined",
    "CPU",
    "CUDA",
    "AutogradCPU",
    "AutogradCUDA",
    "AutogradOther",
    "SparseCPU",
    "NestedTensorCPU",
)
_CONSEQUENCES = {
    "CPU": "missing kernel missing fallback fallback fallback missing missing",
    "Autograd": "missing missing missing Autograd Autograd Autograd missing missing",
    "CIA": "CIA CIA CIA CIA CIA CIA CIA CIA",
    "CIA + Autograd": "CIA CIA CIA CIA CIA CIA CIA CIA",
    "CIA + CPU": "CIA kernel CIA fallback CIA CIA CIA CIA",
    "CIA + CPU + Autograd": "CIA kernel CIA Autograd CIA CIA CIA CIA",
    "CIA + SparseCPU": "CIA CIA CIA CIA CIA ambiguous kernel CIA",
    "CIA + SparseCPU + Autograd": "CIA CIA CIA CIA CIA ambiguous kernel CIA",
    "CIA + FPGA": "CIA CIA CIA CIA CIA ambiguous CIA CIA",
    "CIA + SparseCPU + AutogradOther": "CIA CIA CIA CIA CIA kernel kernel CIA",
    "CEA": "CEA CEA CEA fallback fallback fallback CEA missing",
    "CEA + CIA": "CEA CEA CEA fallback fallback fallback CEA missing",
    "CEA + CIA + Autograd": "CEA CEA CEA Autograd Autograd Autograd CEA missing",
    "CEA-NF + CIA": "CEA-NF CEA-NF CEA-NF CIA CIA CIA CIA CIA",
    "CEA-NF + CIA + Autograd": "CEA-NF CEA-NF CEA-NF CIA CIA CIA CIA CIA",
    "CEA-NF": "CEA-NF CEA-NF CEA-NF fallback fallback fallback missing missing",
    "CIA + CIA-Nested": "CIA CIA CIA CIA CIA CIA CIA CIA-Nested",
    "CIA + NestedTensorCPU": "CIA CIA CIA CIA CIA CIA CIA kernel",
}


@pytest.mark.parametrize("registered", _CONSEQUENCES)
def test_consequences(entry_at, registered):
    entry = entry_at(registered)
    assert [entry(column) for column in _COLUMNS] == _CONSEQUENCES[registered].split()


def test_a_nested_kernel_takes_the_composite_away_from_autograd_nested(entry_at):
    assert entry_at("CIA + NestedTensorCPU")("AutogradNestedTensor") == "missing"


def test_nested_alias_covers_the_nested_autograd_key(entry_at):
    assert entry_at("CIA + CIA-Nested")("AutogradNestedTensor") == "CIA-Nested"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_direct_kernel_of_any_backend_takes_the_composite_away_from_its_autograd(
    entry_at, backend
):
    entry = entry_at(f"{backend} + CIA")  # Meta is refused where a composite is
    assert entry(f"Autograd{backend}") in ("fallback", "missing")
    other = "CUDA" if backend == "CPU" else "CPU"
    assert entry(f"Autograd{other}") == "CIA"


def test_batched_takes_only_the_batched_alias(entry_at):
    entry = entry_at("CIA + CEA")
    assert entry("FuncTorchBatched") in ("missing", "fallback")
    assert entry("Functionalize") in ("missing", "fallback")


def test_batched_decomposition(entry_at):
    assert entry_at("CIA + BatchedDecomp")("FuncTorchBatched") == "BatchedDecomp"


def test_explicit_nonfunctional_beats_explicit(entry_at):
    entry = entry_at("CEA + CEA-NF")
    assert entry("CPU") == "CEA-NF"
    assert entry("SparseCPU") == "CEA"
    assert entry("XLA") == "CEA"


@pytest.mark.parametrize(
    ("registered", "key", "expected"),
    [
        ("SparseVE + CEA + CIA", "SparseVE", "kernel"),
        ("CEA-NF + CEA + CIA", "VE", "CEA-NF"),
        ("CEA + CIA", "SparseVE", "CEA"),
        ("CIA-Nested + CIA", "NestedTensorVE", "CIA-Nested"),
        ("CIA + Autograd", "AutogradHIP", "CIA"),
        ("Autograd", "AutogradHIP", "Autograd"),
        ("BatchedDecomp", "FuncTorchBatched", "BatchedDecomp"),
        ("CIA", "FuncTorchBatched", "fallback"),
        ("CPU", "AutogradHIP", "fallback"),
        ("CPU", "SparseVE", "fallback"),
        ("CPU", "SparseHIP", "missing"),
    ],
)
def test_each_rule_comes_before_the_next(entry_at, library, registered, key, expected):
    """T1: of two that could both fill a key the first in the order does; a fallback is there for each of these keys."""
    wild = library("_", "IMPL")
    for name in ("FuncTorchBatched", "AutogradHIP", "SparseVE", "NestedTensorVE"):
        wild.fallback(lambda op, *args: None, name)
    assert entry_at(registered)(key) == expected


def test_undefined_never_takes_autograd_nested_or_fallback_kernels(entry_at):
    assert entry_at("Autograd + CIA-Nested + BatchedDecomp")("Undefined") == "missing"


def test_a_direct_kernel_beats_all_aliases(entry_at):
    entry = entry_at("CPU + AutogradCPU + CIA + CEA + CEA-NF + Autograd")
    assert entry("CPU") == "kernel"
    assert entry("AutogradCPU") == "kernel"


def test_registering_and_removing_recompute_entries(library, autograd_fallbacks):
    lib, other = library(), library()
    lib.define("f(Tensor x) -> Tensor")
    op = OPERATORS["testing::f"]

    def reason(key):
        return op.resolve(parse_key(key).slot)[1]

    lib.impl("f", lambda x: x, "CompositeImplicitAutograd")
    assert reason("AutogradCPU") == "math kernel"
    other.impl("f", lambda x: x, "CPU")
    assert reason("AutogradCPU") == "backend fallback"
    other._destroy()
    assert reason("AutogradCPU") == "math kernel"


def test_fallbacks_registered_before_and_after_an_operator_affect_it(library, bare):
    wild = library("_", "IMPL")
    wild.fallback(lambda op, x: "before", "IPU")
    lib = library()
    lib.define("f(Tensor x) -> Any")
    op = ops.testing.f.default
    assert op(bare("IPU")) == "before"
    with pytest.raises(NotImplementedError):
        op(bare("VE"))
    wild.fallback(lambda op, x: "after", "VE")
    assert op(bare("VE")) == "after"
    wild._destroy()
    with pytest.raises(NotImplementedError):
        op(bare("VE"))


def test_sparse_kernel_beside_a_composite_is_shadowed_at_autograd(recorder, bare, inference):
    """Trap T8: a sparse CPU tensor carries AutogradCPU, where the composite runs."""
    record = recorder("f(Tensor x) -> ()")
    record.kernel("CompositeImplicitAutograd")
    record.kernel("SparseCPU")
    assert record.call(bare("sparse")) == ["CompositeImplicitAutograd"]
    with inference():
        assert record.call(bare("sparse")) == ["SparseCPU"]


@pytest.fixture
def inference():
    from minitorch.dispatch.local_state import below_ad_inplace_or_view

    return below_ad_inplace_or_view


def test_a_backend_fallback_does_not_see_composites(library, recorder, bare):
    """Trap T10: of a functional operator it sees the ``out`` overload that the composite calls."""
    wild = library("_", "IMPL")
    seen = []

    def fallback(op, *args, **kwargs):
        seen.append((str(op), list(kwargs)))
        return kwargs["out"]

    wild.fallback(fallback, "PrivateUse1")
    lib = library()
    lib.define("mul.Tensor(Tensor self, Tensor other) -> Tensor")
    lib.define("mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)")
    result = bare("PrivateUse1")
    lib.impl(
        "mul.Tensor",
        lambda self, other: ops.testing.mul.out(self, other, out=result),
        "CompositeExplicitAutogradNonFunctional",
    )
    x = bare("PrivateUse1")
    assert ops.testing.mul.Tensor(x, x) is result
    assert seen == [("testing.mul.out", ["out"])]


# -- missing kernels -----------------------------------------------------------------


@pytest.fixture
def cpu_only(library):
    lib = library()
    lib.define("f.a(Tensor x) -> Tensor")
    lib.impl("f.a", lambda x: x, "CPU")
    return OPERATORS["testing::f.a"]


def test_missing_key_names_operator_key_and_available_keys(cpu_only, bare, autograd_fallbacks):
    with pytest.raises(NotImplementedError) as caught:
        cpu_only(bare("CUDA"))
    text = str(caught.value)
    assert "Could not run 'testing::f.a' with arguments from the 'CUDA' backend" in text
    assert "'testing::f.a' is only available for these backends: [CPU, " in text
    assert "AutogradCUDA" in text  # a fallback counts
    assert f"CPU: {__file__}:" in text
    assert 'Library("testing", "IMPL", "CUDA").impl("f.a", fn)' in text


def test_missing_meta_kernel(cpu_only, bare):
    with pytest.raises(NotImplementedError, match=r"testing::f\.a.*Meta tensors.*fake impl"):
        cpu_only(bare("Meta"))


def test_missing_without_tensor_arguments(library):
    lib = library()
    lib.define("g(Tensor[] xs) -> Tensor")
    lib.impl("g", lambda xs: xs, "CPU")
    with pytest.raises(NotImplementedError, match=r"no tensor arguments.*testing::g") as caught:
        ops.testing.g([])
    assert "no fallback function is registered" in str(caught.value)


def test_missing_kernel_of_a_renamed_backend(cpu_only, bare, monkeypatch):
    monkeypatch.setitem(renamed_backends, "PrivateUse1", "npu")
    with pytest.raises(NotImplementedError, match="from the 'npu' backend"):
        cpu_only(bare("PrivateUse1"))
    with pytest.raises(NotImplementedError, match="from the 'Sparsenpu' backend"):
        cpu_only(bare("SparsePrivateUse1"))


def test_ambiguous_kernel_raises_when_called(recorder, bare):
    record = recorder("f(Tensor x) -> ()")
    record.kernel("CompositeImplicitAutograd")
    record.kernel("SparseCPU")
    with pytest.raises(RuntimeError, match=r"CompositeImplicitAutograd.*AutogradOther") as caught:
        record.call(bare("mkldnn"))
    assert "inference mode" in str(caught.value)
    assert "testing::f" in str(caught.value)
    record.kernel("AutogradOther")
    assert record.call(bare("mkldnn")) == ["AutogradOther"]


# -- registering, overriding, removing -----------------------------------------------


def test_kernels_of_one_key_form_a_stack(library, bare):
    definer, a, b = library(), library(kind="IMPL"), library(kind="IMPL")
    definer.define("f(Tensor x) -> int")
    definer.impl("f", lambda x: 1, "CPU")
    a.impl("f", lambda x: 2, "CPU")
    b.impl("f", lambda x: 3, "CPU")
    op, x = ops.testing.f, bare("CPU")
    assert op(x) == 3
    a._destroy()
    assert op(x) == 3  # one underneath changes nothing
    b._destroy()
    assert op(x) == 1


def test_removing_the_newest_reveals_the_previous(library, bare):
    definer, a = library(), library(kind="IMPL")
    definer.define("f(Tensor x) -> int")
    definer.impl("f", lambda x: 1, "CPU")
    a.impl("f", lambda x: 2, "CPU")
    assert ops.testing.f(bare("CPU")) == 2
    a._destroy()
    assert ops.testing.f(bare("CPU")) == 1


def test_overriding_warns_once_per_process(library, monkeypatch):
    monkeypatch.setattr(dispatcher, "_override_warned", False)
    lib = library()
    lib.define("f(Tensor x) -> int")
    lib.impl("f", lambda x: 1, "CPU")
    with pytest.warns(UserWarning, match="Warning only once for all operators") as caught:
        lib.impl("f", lambda x: 2, "CPU")
    text = str(caught[0].message)
    assert "testing::f" in text
    assert "dispatch key: CPU" in text
    assert text.count(__file__) == 2  # previous and new
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lib.impl("f", lambda x: 3, "CPU")


@pytest.mark.parametrize("key", ["Meta", "MTIA"])
def test_overriding_meta_and_mtia_never_warns(library, monkeypatch, key):
    monkeypatch.setattr(dispatcher, "_override_warned", False)
    lib = library()
    lib.define("f(Tensor x) -> int")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lib.impl("f", lambda x: 1, key)
        lib.impl("f", lambda x: 2, key)


def test_kernels_may_come_before_the_definition(library, bare):
    lib = library()
    lib.impl("f", lambda x: 9, "CPU")
    assert not hasattr(ops.testing, "f")
    lib.define("f(Tensor x) -> int")
    assert ops.testing.f(bare("CPU")) == 9


def test_kernels_outlive_the_definition(library, bare):
    definer, a = library(), library(kind="IMPL")
    definer.define("f(Tensor x) -> int")
    a.impl("f", lambda x: 9, "CPU")
    packet = ops.testing.f
    assert packet(bare("CPU")) == 9
    definer._destroy()
    assert not hasattr(ops.testing, "f")
    library().define("f(Tensor x, int y=1) -> int")
    assert ops.testing.f(bare("CPU")) == 9
    assert str(ops.testing.f.default._schema) == "testing::f(Tensor x, int y=1) -> int"


def test_an_entry_disappears_with_its_last_registration(library):
    definer, a = library(), library(kind="IMPL")
    definer.define("f(Tensor x) -> int")
    a.impl("f", lambda x: 9, "CPU")
    definer._destroy()
    assert "testing::f" in OPERATORS
    a._destroy()
    assert "testing::f" not in OPERATORS


def test_defining_twice_names_both_places(library):
    lib = library()
    lib.define("f(Tensor x) -> int")
    with pytest.raises(RuntimeError, match="multiple times") as caught:
        library().define("f(Tensor y) -> int")
    assert str(caught.value).count(__file__) == 2
    lib.define("f.other(Tensor x) -> int")  # another overload is another operator


@pytest.mark.parametrize("key", ["Undefined", "CatchAll"])
def test_undefined_and_catch_all_mean_composite_implicit(library, key):
    lib = library()
    lib.define("f(Tensor x) -> int")
    lib.impl("f", lambda x: 9, key)
    assert list(OPERATORS["testing::f"].kernels) == ["CompositeImplicitAutograd"]


@pytest.mark.parametrize("key", ["Dense", "AutogradFunctionality", "Sparse"])
def test_building_blocks_take_no_kernels(library, key):
    lib = library()
    lib.define("f(Tensor x) -> int")
    with pytest.raises(RuntimeError, match="building block"):
        lib.impl("f", lambda x: 9, key)


def test_alias_fallbacks_are_refused_whole(library):
    wild = library("_", "IMPL")
    before = dict(BACKEND_FALLBACKS)
    with pytest.raises(RuntimeError, match="Autograd is none"):
        wild.fallback(lambda op, *args: None, "Autograd")
    assert before == BACKEND_FALLBACKS


def test_direct_fallthrough_expands_over_an_alias(library, recorder, bare):
    record = recorder("f(Tensor x) -> ()")
    record.lib.impl("f", fallthrough_kernel, "Autograd")
    record.kernel("CPU")
    assert record.call(bare("cpu")) == ["CPU"]
    assert record.key_sets[0].functionalities() == ("Dense",)


def test_every_runtime_key_resolves_like_the_reference_rules(library):
    """The table has an entry for each alias's keys and for nothing else."""
    lib = library()
    lib.define("f(Tensor x) -> int")
    lib.impl("f", lambda x: 1, "CompositeExplicitAutograd")
    op = OPERATORS["testing::f"]
    reasons = {key.name: op.resolve(slot)[1] for slot, key in KEY_OF_SLOT.items()}
    assert sum(r == "default backend kernel" for r in reasons.values()) == 70
