"""Dispatch keys and key sets (spec section 1)."""

from __future__ import annotations

import copy
import pickle

import pytest

from minitorch.core.device import dispatch_key_name
from minitorch.dispatch.dispatcher import register_kernel
from minitorch.dispatch.key_set import (
    DispatchKeySet,
    after_ADInplaceOrView,
    after_autograd,
    autograd_keys,
    autogradother_backends,
)
from minitorch.dispatch.keys import (
    ALIAS_SLOTS,
    ALIASES,
    BACKENDS,
    FUNCTIONALITIES,
    KEY_OF_SLOT,
    PER_BACKEND,
    RUNTIME_KEYS,
    DispatchKey,
    parse_key,
)
from minitorch.dispatch.operator import BACKEND_FALLBACKS, OPERATORS, PythonKernel

# -- K1 to K8: the keys --------------------------------------------------------------


_FUNCTIONALITIES = """
Undefined Dense FPGA Vulkan Metal Quantized CustomRNGKeyId MkldnnCPU Sparse SparseCsr NestedTensor BackendSelect Fake
Python FuncTorchDynamicLayerBackMode Functionalize Conjugate Negative ZeroTensor ADInplaceOrView AutogradOther
AutogradFunctionality AutogradNestedTensor Tracer AutocastCPU AutocastMTIA AutocastMAIA AutocastXPU AutocastIPU
AutocastHPU AutocastXLA AutocastMPS AutocastCUDA AutocastPrivateUse1 FuncTorchBatched BatchedNestedTensor
FuncTorchVmapMode Batched VmapMode FuncTorchGradWrapper DeferredInit PythonTLSSnapshot FuncTorchDynamicLayerFrontMode
TESTING_ONLY_GenericWrapper TESTING_ONLY_GenericMode PreDispatch PythonDispatcher
"""


def test_functionalities_are_those_of_the_reference_in_its_order():
    assert list(FUNCTIONALITIES) == _FUNCTIONALITIES.split()
    assert [key.functionality for key in sorted(RUNTIME_KEYS)] == sorted(k.functionality for k in RUNTIME_KEYS)


def test_a_higher_functionality_runs_first():
    names = [name for name in FUNCTIONALITIES[1:] if name not in PER_BACKEND]
    for lower, higher in zip(names, names[1:], strict=False):
        assert DispatchKeySet(lower, higher).highest_priority().name == higher


def test_functionalities_are_ordered_as_in_the_reference():
    assert len(FUNCTIONALITIES) == 47
    order = [
        FUNCTIONALITIES.index(name)
        for name in (
            "Undefined",
            "Dense",
            "Quantized",
            "Sparse",
            "SparseCsr",
            "NestedTensor",
            "BackendSelect",
            "Fake",
            "Python",
            "FuncTorchDynamicLayerBackMode",
            "Functionalize",
            "Conjugate",
            "Negative",
            "ZeroTensor",
            "ADInplaceOrView",
            "AutogradOther",
            "AutogradFunctionality",
            "AutogradNestedTensor",
            "Tracer",
            "AutocastCPU",
            "AutocastCUDA",
            "AutocastPrivateUse1",
            "FuncTorchBatched",
            "FuncTorchVmapMode",
            "FuncTorchGradWrapper",
            "PythonTLSSnapshot",
            "FuncTorchDynamicLayerFrontMode",
            "PreDispatch",
            "PythonDispatcher",
        )
    ]
    assert order == sorted(order)
    assert order[0] == 0
    assert order[-1] == 46


def test_six_functionalities_are_per_backend_and_name_their_keys():
    assert PER_BACKEND == {
        "Dense": "",
        "Quantized": "Quantized",
        "Sparse": "Sparse",
        "SparseCsr": "SparseCsr",
        "NestedTensor": "NestedTensor",
        "AutogradFunctionality": "Autograd",
    }
    for prefix in PER_BACKEND.values():
        for backend in BACKENDS:
            assert parse_key(prefix + backend).name == prefix + backend


def test_autocast_keys_are_functionalities_of_their_own():
    assert not any(name.startswith("Autocast") for name in PER_BACKEND)
    both = DispatchKeySet("AutocastCPU", "AutocastCUDA")
    assert both.remove("AutocastCPU") == DispatchKeySet("AutocastCUDA")
    assert both.highest_priority() is parse_key("AutocastCUDA")


def test_backends_are_ordered():
    assert BACKENDS == (
        "CPU",
        "CUDA",
        "HIP",
        "XLA",
        "MPS",
        "IPU",
        "XPU",
        "HPU",
        "VE",
        "Lazy",
        "MTIA",
        "MAIA",
        "PrivateUse1",
        "PrivateUse2",
        "PrivateUse3",
        "Meta",
    )


@pytest.mark.parametrize(
    ("device_type", "key_name"),
    [
        ("cpu", "CPU"),
        ("cuda", "CUDA"),
        ("hip", "HIP"),
        ("meta", "Meta"),
        ("mps", "MPS"),
        ("xla", "XLA"),
        ("xpu", "XPU"),
        ("opencl", "XPU"),
        ("hpu", "HPU"),
        ("mtia", "MTIA"),
        ("maia", "MAIA"),
        ("ipu", "IPU"),
        ("ve", "VE"),
        ("lazy", "Lazy"),
        ("vulkan", "Vulkan"),
        ("fpga", "FPGA"),
        ("privateuseone", "PrivateUse1"),
    ],
)
def test_device_types_have_keys(device_type, key_name):
    assert dispatch_key_name(device_type) == key_name
    assert key_name in DispatchKey.by_name


_AUTOGRAD_FALLBACKS = ("CPU", "CUDA", "XLA", "MPS", "XPU", "HPU", "Lazy", "MTIA", "MAIA", "PrivateUse1", "Meta")


@pytest.mark.parametrize("backend", BACKENDS)
def test_autograd_keys_that_have_a_fallback(backend):
    """K1: those of the known backends; the others' operators have none until somebody registers one."""
    kernel = BACKEND_FALLBACKS.get(parse_key(f"Autograd{backend}").slot)
    assert (kernel is not None) == (backend in _AUTOGRAD_FALLBACKS)
    assert kernel is None or not kernel.is_fallthrough


@pytest.mark.parametrize(
    "name",
    ["Conjugate", "Negative", "ZeroTensor", "Python", "PythonTLSSnapshot", "PythonDispatcher", "AutogradOther"],
)
def test_keys_with_a_fallback_that_works(name):
    assert not BACKEND_FALLBACKS[parse_key(name).slot].is_fallthrough


@pytest.mark.parametrize("device_type", ["opengl", "ideep", "mkldnn"])
def test_device_types_without_a_key(device_type):
    with pytest.raises(RuntimeError, match="no backend"):
        dispatch_key_name(device_type)


def test_alias_keys():
    assert ALIASES == (
        "Autograd",
        "CompositeImplicitAutograd",
        "FuncTorchBatchedDecomposition",
        "CompositeImplicitAutogradNestedTensor",
        "CompositeExplicitAutograd",
        "CompositeExplicitAutogradNonFunctional",
    )
    for name in ALIASES:
        assert parse_key(name).is_alias
        assert not parse_key(name).bits


_XLA_LIKE = ("XLA", "Lazy")
_MEMBERSHIP = {
    # key: the aliases that cover it, of (Autograd, CIA, CEA, CEA-NF, nested, batched)
    **{b: "CIA CEA CEA-NF" if b not in _XLA_LIKE else "CIA CEA" for b in BACKENDS},
    **{
        p + b: "CIA CEA CEA-NF" if b not in _XLA_LIKE else "CIA CEA"
        for p in ("Quantized", "SparseCsr")
        for b in BACKENDS
    },
    **{"Sparse" + b: "CIA CEA" for b in BACKENDS},
    **dict.fromkeys(("FPGA", "Vulkan", "Metal", "CustomRNGKeyId", "MkldnnCPU"), "CIA CEA CEA-NF"),
    **{"NestedTensor" + b: "CIA Nested" for b in BACKENDS},
    **{"Autograd" + b: "Autograd CIA" for b in (*BACKENDS, "Other")},
    "AutogradNestedTensor": "Autograd CIA Nested",
    "FuncTorchBatched": "Batched",
}
_ALIAS_OF = {
    "Autograd": "Autograd",
    "CIA": "CompositeImplicitAutograd",
    "CEA": "CompositeExplicitAutograd",
    "CEA-NF": "CompositeExplicitAutogradNonFunctional",
    "Nested": "CompositeImplicitAutogradNestedTensor",
    "Batched": "FuncTorchBatchedDecomposition",
}


@pytest.mark.parametrize(
    "key", [k for k in RUNTIME_KEYS if k.name != "Undefined"], ids=lambda k: k.name
)
def test_alias_membership(key):
    covered_by = {alias for alias, slots in ALIAS_SLOTS.items() if key.slot in slots}
    assert covered_by == {_ALIAS_OF[short] for short in _MEMBERSHIP.get(key.name, "").split()}


@pytest.mark.parametrize(
    ("alias", "count"),
    [("Autograd", 18), ("CIA", 104), ("CEA", 70), ("CEA-NF", 48), ("Nested", 17), ("Batched", 1)],
)
def test_slots_filled_by_one_alias(alias, count):
    """Counted through an operator's table, Undefined included (spec K7)."""
    name = "test_keys::counted"
    op = register_kernel(name, _ALIAS_OF[alias], kernel := PythonKernel(lambda: None))
    try:
        assert sum(op.resolve(slot)[0] is kernel for slot in KEY_OF_SLOT) == count
    finally:
        op.unregister(_ALIAS_OF[alias], kernel)
        del OPERATORS[name]


def test_implicit_composites_do_not_cover_functionalize_or_batched():
    slots = ALIAS_SLOTS["CompositeImplicitAutograd"]
    assert parse_key("Functionalize").slot not in slots
    assert parse_key("FuncTorchBatched").slot not in slots


@pytest.mark.parametrize(
    "name",
    [
        "BackendSelect",
        "ADInplaceOrView",
        "AutocastCPU",
        "AutocastMTIA",
        "AutocastMAIA",
        "AutocastXPU",
        "AutocastMPS",
        "AutocastCUDA",
        "FuncTorchVmapMode",
        "VmapMode",
    ],
)
def test_keys_that_fall_through_by_default(name):
    assert BACKEND_FALLBACKS[parse_key(name).slot].is_fallthrough


@pytest.mark.parametrize(
    "name",
    [
        "CPU", "SparseCPU", "QuantizedCPU", "NestedTensorCPU", "FPGA", "MkldnnCPU", "Fake", "AutogradNestedTensor",
        "AutocastIPU", "AutocastHPU", "AutocastXLA", "AutocastPrivateUse1", "DeferredInit",
        "TESTING_ONLY_GenericWrapper", "TESTING_ONLY_GenericMode",
    ],
)
def test_keys_without_a_fallback(name):
    fallback = BACKEND_FALLBACKS.get(parse_key(name).slot)
    # The first quantized tensor brings the one of its package, which a policy governs (`requantize_policy`).
    assert fallback is None or (name == "QuantizedCPU" and fallback.fn.__module__ == "minitorch.quantized.fallback")


def test_unknown_key_names_are_errors():
    with pytest.raises(RuntimeError, match="could not parse dispatch key"):
        parse_key("NoSuchKey")


def test_keys_are_singletons():
    key = parse_key("AutogradCPU")
    assert DispatchKey.AutogradCPU is key
    assert pickle.loads(pickle.dumps(key)) is key
    assert repr(key) == "DispatchKey.AutogradCPU"


# -- K9 to K17: key sets -------------------------------------------------------------


def test_a_set_does_not_know_which_backend_a_functionality_came_with():
    mixed = DispatchKeySet("CPU", "AutogradCUDA")
    assert mixed == DispatchKeySet("CPU", "CUDA", "AutogradCPU", "AutogradCUDA")
    assert str(mixed) == "DispatchKeySet(CPU, CUDA, AutogradCPU, AutogradCUDA)"
    assert mixed.highest_priority() is parse_key("AutogradCUDA")
    assert mixed.has("CUDA")
    assert mixed.has("AutogradCPU")
    assert mixed.backends() == ("CPU", "CUDA")
    assert mixed.functionalities() == ("Dense", "AutogradFunctionality")


def test_removing_a_key_removes_the_functionality_of_every_backend():
    mixed = DispatchKeySet("CPU", "AutogradCUDA")
    assert str(mixed.remove("AutogradCUDA")) == "DispatchKeySet(CPU, CUDA)"
    assert mixed - DispatchKeySet("AutogradCPU") == mixed.remove("AutogradCUDA")


def test_backend_bits_survive_removal():
    two = DispatchKeySet("CPU", "CUDA").remove("CUDA")
    assert str(two) == "DispatchKeySet()"
    assert two.backends() == ("CPU", "CUDA")
    assert two.highest_priority() is parse_key("Undefined")
    assert two  # not empty
    assert two != DispatchKeySet()
    assert two.remove_backend("CUDA").backends() == ("CPU",)
    with pytest.raises(ValueError, match="no backend 'AutogradCPU'"):
        two.remove_backend("AutogradCPU")


def test_building_blocks_undefined_and_aliases():
    assert str(DispatchKeySet("Dense")) == "DispatchKeySet()"
    assert DispatchKeySet("Dense").functionalities() == ("Dense",)
    assert DispatchKeySet("Dense").highest_priority() is parse_key("Dense")
    assert DispatchKeySet("Undefined") == DispatchKeySet()
    assert DispatchKeySet("CompositeImplicitAutograd") == DispatchKeySet()
    assert str(DispatchKeySet("Dense", "CUDA")) == "DispatchKeySet(CUDA)"


def test_has_compares_all_bits_of_the_key():
    cpu = DispatchKeySet("CPU")
    assert cpu.has("CPU")
    assert cpu.has("Dense")
    assert "CUDA" not in cpu
    assert "AutogradCPU" not in cpu
    for name in ("Undefined", "Autograd"):
        with pytest.raises(ValueError, match="no key set has"):
            cpu.has(name)


def test_union_and_intersection_act_on_both_kinds_of_bits():
    a, b = DispatchKeySet("CPU", "AutogradCPU"), DispatchKeySet("CUDA", "Python")
    assert a | b == DispatchKeySet("CPU", "CUDA", "AutogradCPU", "Python")
    assert a & DispatchKeySet("CUDA") == DispatchKeySet("Dense")
    assert a.add("Python").has("Python")
    assert a.has_any(DispatchKeySet("SparseCPU"))  # the backend
    assert not a.has_all(DispatchKeySet("SparseCPU"))
    assert a.has_backend("CPU")
    with pytest.raises(TypeError):
        a | 3


@pytest.mark.parametrize(
    ("names", "highest"),
    [
        ((), "Undefined"),
        (("CPU",), "CPU"),
        (("CPU", "Meta"), "Meta"),
        (("CUDA", "PrivateUse1"), "PrivateUse1"),
        (("QuantizedCPU", "SparseCPU", "CPU"), "SparseCPU"),
        (("SparseCPU", "Meta"), "SparseMeta"),
        (("CPU", "AutogradCPU", "Python"), "AutogradCPU"),
        (("AutogradCPU", "AutogradOther"), "AutogradCPU"),
        (("AutogradCPU", "AutocastCPU", "PythonDispatcher"), "PythonDispatcher"),
    ],
)
def test_highest_priority(names, highest):
    assert DispatchKeySet(*names).highest_priority().name == highest


def test_iteration_goes_from_the_lowest_functionality_and_backend_up():
    mixed = DispatchKeySet("AutogradCUDA", "PythonDispatcher", "CPU", "BackendSelect")
    names = [key.name for key in mixed]
    assert names == [
        "CPU",
        "CUDA",
        "BackendSelect",
        "AutogradCPU",
        "AutogradCUDA",
        "PythonDispatcher",
    ]
    assert len(mixed) == 6
    assert all(key.slot >= 0 for key in mixed)


def test_full_after():
    every_backend = DispatchKeySet.full().backends()
    cpu = DispatchKeySet.full_after("CPU")
    assert str(cpu) == "DispatchKeySet(PythonDispatcher)"
    assert cpu.backends() == every_backend
    autograd = DispatchKeySet.full_after("AutogradCPU")
    assert autograd.has("AutogradOther")
    assert autograd.has("ADInplaceOrView")
    assert not autograd.has("AutogradNestedTensor")
    assert not autograd.has("AutogradCUDA")
    assert DispatchKeySet.full_after("AutogradCUDA") == autograd
    for name in ("Undefined", "Autograd", "CompositeExplicitAutograd"):
        with pytest.raises(ValueError, match="full_after"):
            DispatchKeySet.full_after(name)


@pytest.mark.parametrize("name", [k.name for k in RUNTIME_KEYS if k.name != "Undefined"])
def test_full_after_keeps_the_python_dispatcher(name):
    assert DispatchKeySet.full_after(name).has("PythonDispatcher")


def test_full_has_every_runtime_key():
    assert len(DispatchKeySet.full()) == 136
    assert len(RUNTIME_KEYS) == 137
    assert len({key.slot for key in RUNTIME_KEYS}) == 137


def test_named_sets():
    assert autograd_keys.functionalities() == (
        "AutogradOther",
        "AutogradFunctionality",
        "AutogradNestedTensor",
    )
    assert autograd_keys.backends() == ()
    assert after_autograd == DispatchKeySet.full_after("AutogradOther")
    assert after_autograd.has("ADInplaceOrView")
    assert not after_autograd.has_any(autograd_keys)
    assert after_ADInplaceOrView == DispatchKeySet.full_after("ADInplaceOrView")
    assert not after_ADInplaceOrView.has("ADInplaceOrView")
    assert len(autogradother_backends) == 53


def test_key_sets_are_values():
    ks = DispatchKeySet("CPU")
    assert len({ks, DispatchKeySet("CPU"), ks.add("Python")}) == 2
    assert pickle.loads(pickle.dumps(ks)) == ks
    assert copy.deepcopy(ks) == ks
    with pytest.raises(AttributeError, match="does not change"):
        ks.bits = 3


@pytest.mark.oracle
def test_order_of_runtime_keys_agrees_with_the_reference():
    torch = pytest.importorskip("torch")
    theirs = str(torch._C._dispatch_keyset_full())
    assert theirs == str(DispatchKeySet.full())


@pytest.mark.oracle
def test_full_after_agrees_with_the_reference():
    torch = pytest.importorskip("torch")
    theirs = torch._C.DispatchKey.__members__
    names = [key.name for key in RUNTIME_KEYS if key.name in theirs and key.name != "Undefined"]
    assert len(names) > 100
    for name in names:
        expected = torch._C._dispatch_keyset_full_after(theirs[name])
        assert str(DispatchKeySet.full_after(name)) == str(expected), name
