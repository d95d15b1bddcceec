"""Which levels real calls pass, and what keys real tensors carry (spec R11, R12, R19, R20, O3)."""

from __future__ import annotations

import re

import pytest

import minitorch
from minitorch import dispatch
from minitorch.dispatch.key_set import DispatchKeySet
from minitorch.dispatch.keys import AUTOCAST_KEYS, FUNCTIONALITY_MASK, full_after_bits, parse_key
from minitorch.dispatch.local_state import (
    ExcludeKeysGuard,
    ForceKeysGuard,
    IncludeKeysGuard,
    below_autograd,
    current,
)
from minitorch.dispatch.namespace import ops
from minitorch.dispatch.operator import KeyedObject
from minitorch.dispatch.trace import show_dispatch_trace
from minitorch.dispatch.transforms import Interpreter, TransformType, current_interpreter
from minitorch.modes import TorchDispatchMode
from minitorch.ops.overriding import DisableTorchFunction, TorchFunctionMode

NORMAL = DispatchKeySet("CPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU")


def keys_of(tensor) -> DispatchKeySet:
    return DispatchKeySet.from_bits(tensor.key_set)


def test_keys_of_dense_tensors():
    x = minitorch.ones(2, requires_grad=True)
    for tensor in (minitorch.ones(2), x, x.detach(), x * 2, x.view(2), minitorch.tensor([1])):
        assert keys_of(tensor) == NORMAL


def test_keys_of_inference_tensors():
    x = minitorch.ones(2)
    with minitorch.inference_mode():
        assert keys_of(minitorch.ones(2)) == DispatchKeySet("CPU", "AutocastCPU")
        assert keys_of(x * 2) == DispatchKeySet("CPU", "AutocastCPU")
        assert keys_of(x.view(2)) == NORMAL
    assert keys_of(x * 2) == NORMAL


def test_keys_of_meta_tensors():
    x = minitorch.ones(2, device="meta")
    assert keys_of(x) == DispatchKeySet("Meta", "ADInplaceOrView", "AutogradMeta")


@pytest.fixture
def hops():
    """Run a function; return its fresh calls as ``"op: key -> key"``.

    The outermost ones; or all, each with one space for each level that it is inside of.
    """

    def run(fn, nested=False) -> list[str]:
        lines: list[str] = []
        with show_dispatch_trace(write=lines.append):
            fn()
        calls: list[list] = []  # depth, depth of the last hop, text
        for line in lines:
            found = re.fullmatch(r"( +)\[(\w+)\] op=\[(.*)\], key=\[(.*)\]\n", line)
            assert found is not None
            indent, label, op, key = found.groups()
            depth = len(indent)
            if label == "call":
                calls.append([depth, depth, f"{op}: {key}"])
            else:
                # Of the call whose last hop was one level above.
                passed_on = next(call for call in reversed(calls) if call[1] == depth - 1)
                passed_on[1] = depth
                passed_on[2] += f" -> {key}"
        if nested:
            return [" " * (depth - 1) + text for depth, _, text in calls]
        return [text for depth, _, text in calls if depth == 1]

    return run


def test_an_ordinary_operator(hops):
    x = minitorch.ones(2)
    expected = ["aten::add.Tensor: AutogradCPU -> CPU"]
    assert hops(lambda: x + 1) == expected
    with minitorch.no_grad():
        assert hops(lambda: x + 1) == expected


def test_in_place_and_view_operators(hops):
    x = minitorch.ones(2)
    (add_,) = hops(lambda: x.add_(1))
    assert add_.startswith("aten::add_.Tensor: AutogradCPU -> ADInplaceOrView -> CPU")
    assert hops(lambda: x.view(-1)) == ["aten::view: AutogradCPU -> ADInplaceOrView -> CPU"]


def test_inference_mode_leaves_the_backend(hops):
    with minitorch.inference_mode():
        x = minitorch.ones(2)
        assert hops(lambda: x * 2) == ["aten::mul.Tensor: CPU"]


def test_below_autograd(hops):
    x = minitorch.ones(2)
    with below_autograd():
        assert hops(lambda: x * 2) == ["aten::mul.Tensor: CPU"]


def test_factories_choose_their_backend_and_redispatch(hops):
    (text,) = hops(lambda: minitorch.ones(2))
    assert text.startswith("aten::ones: BackendSelect -> CPU")
    with IncludeKeysGuard(DispatchKeySet("Meta")):
        assert minitorch.ones(2).device.type == "cpu"


@pytest.mark.parametrize(
    ("layout", "key"),
    [("sparse_coo", "SparseCPU"), ("sparse_csr", "SparseCsrCPU"), ("sparse_bsc", "SparseCsrCPU")],
)
def test_factories_choose_by_layout_too(library, layout, key):
    """R19: what is not strided goes to a backend functionality of its own, or fails there."""
    layout = getattr(minitorch, layout)
    with pytest.raises(NotImplementedError, match=f"from the '{key}' backend"):
        minitorch.ones(2, layout=layout)
    seen = []

    def kernel(key_set, size, **kwargs):
        seen.append((key_set, kwargs["layout"]))
        return minitorch.ones(size)

    for name in ("zeros", "zeros_like"):
        lib = library("aten", "IMPL")
        lib.impl(name, kernel if name == "zeros" else lambda ks, x, **kw: kernel(ks, x.shape, **kw), key, with_keyset=True)
    assert minitorch.zeros(2, layout=layout).tolist() == [1.0, 1.0]
    minitorch.zeros_like(minitorch.ones(2), layout=layout)
    assert seen == [(DispatchKeySet(key), layout)] * 2
    assert minitorch.zeros(2, layout=minitorch.strided).tolist() == [0.0, 0.0]


def test_nothing_between_backend_select_and_the_backend_runs(library):
    lib = library("aten", "IMPL")
    lib.impl("ones", lambda *args: pytest.fail("a level below BackendSelect ran"), "CustomRNGKeyId")
    with IncludeKeysGuard(DispatchKeySet("CustomRNGKeyId")):
        x = minitorch.ones(2)
    assert x.tolist() == [1.0, 1.0]


# -- R20: the walks where other levels take part ------------------------------------------


def test_an_implicit_composite_stands_at_the_autograd_key(hops):
    x = minitorch.ones(2, 2)
    assert hops(lambda: minitorch.matmul(x, x), nested=True) == [
        "aten::matmul: AutogradCPU",
        " aten::mm: AutogradCPU -> CPU",
    ]


def test_under_autocast_arguments_are_cast_and_the_call_made_again(hops):
    x, w = minitorch.ones(2, 2), minitorch.ones(2, 2).to(minitorch.bfloat16)
    with minitorch.autocast("cpu"):
        assert hops(lambda: minitorch.mm(x, w), nested=True) == [
            "aten::mm: AutocastCPU",
            " aten::_to_copy: AutogradCPU -> BackendSelect -> CPU",
            " aten::mm: AutogradCPU -> CPU",
        ]
        with minitorch.autocast("cpu", enabled=False):
            assert hops(lambda: minitorch.mm(x, x)) == ["aten::mm: AutogradCPU -> CPU"]


def test_under_a_dispatch_mode(hops):
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    x = minitorch.ones(2)
    with Mode():
        assert hops(lambda: x + 1, nested=True) == [
            "aten::add.Tensor: PythonTLSSnapshot -> AutogradCPU -> Python",
            "   aten::add.Tensor: CPU",
        ]
        assert hops(lambda: minitorch.ones(2))[0].startswith("aten::ones: PythonTLSSnapshot -> Python")


def test_a_lazy_bit_is_met_below_autograd(hops):
    """``c.conj() + 1``: the Conjugate level gets a copy without the bit (B2)."""
    c = minitorch.ones(2, dtype=minitorch.complex64).conj()
    found = hops(lambda: c + 1, nested=True)
    assert found[0] == "aten::add.Tensor: AutogradCPU -> Conjugate -> CPU"
    assert found[1] == "  aten::clone: Conjugate"


class _Batched(KeyedObject):
    """A tensor that one level of vmap wrapped."""

    def __init__(self, value):
        self.value = value
        self.key_set = value.key_set | DispatchKeySet("FuncTorchBatched").bits


class _Vmap(Interpreter):
    transform = TransformType.Vmap


def _enter_stack(key_set, op, *args, **kwargs):
    """Double of the level that enters the stack of transforms (G2, G3)."""
    state = current()
    interpreter = current_interpreter()
    interpreter.ambient = (state.included, state.excluded)
    back, front = (parse_key(f"FuncTorchDynamicLayer{end}Mode") for end in ("Back", "Front"))
    between = full_after_bits(front) & ~full_after_bits(back) & FUNCTIONALITY_MASK | front.bits
    owned = DispatchKeySet("FuncTorchBatched", "BatchedNestedTensor", "PythonDispatcher").bits
    excluded = between & ~back.bits & ~owned & ~AUTOCAST_KEYS
    with ForceKeysGuard(state.included, state.excluded | excluded):
        return op(*args, **kwargs)


def _leave_stack(key_set, op, *args, **kwargs):
    """Double of the level that hands a call to what is around the transform (G4)."""
    with current_interpreter().lower():
        return op(*args, **kwargs)


def test_inside_vmap(hops, library):
    """An operator with a batch rule goes through the stack, then to the levels outside."""
    wild, lib = library("_", "IMPL"), library("aten", "IMPL")
    wild.fallback(_enter_stack, "FuncTorchDynamicLayerFrontMode", with_keyset=True)
    wild.fallback(_leave_stack, "FuncTorchDynamicLayerBackMode", with_keyset=True)

    def batch_rule(x):
        with ExcludeKeysGuard(DispatchKeySet("FuncTorchBatched")):
            return ops.aten.sin(x.value)

    lib.impl("sin", batch_rule, "FuncTorchBatched")
    x = minitorch.ones(3, 2)
    with _Vmap():
        assert hops(lambda: ops.aten.sin(_Batched(x)), nested=True) == [
            "aten::sin: FuncTorchDynamicLayerFrontMode",
            " aten::sin: FuncTorchBatched",
            "  aten::sin: FuncTorchDynamicLayerBackMode",
            "   aten::sin: AutogradCPU -> CPU",
        ]
    assert hops(lambda: ops.aten.sin(x)) == ["aten::sin: AutogradCPU -> CPU"]


def test_public_names_of_the_package():
    assert dispatch.DispatchKeySet is DispatchKeySet
    assert dispatch.ops is ops
    x = minitorch.ones(2)
    assert [hop.key for hop in dispatch.explain(ops.aten.add, x, x).hops] == ["AutogradCPU", "CPU"]
    assert "CPU: " in dispatch.dump_table(ops.aten.add.Tensor)
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = dispatch.nope


def test_operators_are_attributes_of_the_public_module():
    x = minitorch.ones(2)
    assert minitorch.ops.aten.add is ops.aten.add
    assert minitorch.ops.aten.add.Tensor(x, x).tolist() == [2.0, 2.0]
    assert minitorch.ops.aten.add.Tensor(self=x, other=x, alpha=2).tolist() == [3.0, 3.0]
    assert minitorch.ops.aten.add(x, 2).tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="type 'Tensor' for argument 'other'"):
        minitorch.ops.aten.maximum(x, 2)


# -- __torch_function__ on operator objects ---------------------------------------------


@pytest.fixture
def recording():
    """A tensor whose class notes the operators that are called with it."""
    seen = []

    class Recording(minitorch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func, types))
            with DisableTorchFunction():
                return func(*args, **(kwargs or {}))

    return Recording([1.0, 2.0]), Recording, seen


def test_subclasses_see_overloads_and_packets(recording):
    x, cls, seen = recording
    assert ops.aten.mul.Tensor(x, x).tolist() == [1.0, 4.0]
    assert ops.aten.mul(x, other=x).tolist() == [1.0, 4.0]
    assert seen == [(ops.aten.mul.Tensor, (cls,)), (ops.aten.mul, (cls,))]


def test_modes_see_overloads_and_packets():
    seen = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x = minitorch.ones(2)
    with Mode():
        ops.aten.mul.Tensor(x, x)
        ops.aten.mul(x, x)
    ops.aten.mul(x, x)
    assert seen == [ops.aten.mul.Tensor, ops.aten.mul]
