"""Which levels real calls pass, and what keys real tensors carry (spec R11, R12, R19, R20, O3)."""

from __future__ import annotations

import re

import pytest

import minitorch
from minitorch import dispatch
from minitorch.dispatch.key_set import DispatchKeySet
from minitorch.dispatch.local_state import IncludeKeysGuard, below_autograd
from minitorch.dispatch.namespace import ops
from minitorch.dispatch.trace import show_dispatch_trace
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
    """Run a function; return the outermost hops as ``"op: key -> key"``, one a fresh call."""

    def run(fn) -> list[str]:
        lines: list[str] = []
        with show_dispatch_trace(write=lines.append):
            fn()
        calls: list[list[str]] = []
        for line in lines:
            found = re.fullmatch(r"( +)\[(\w+)\] op=\[(.*)\], key=\[(.*)\]\n", line)
            assert found is not None
            indent, label, op, key = found.groups()
            if label == "call":
                calls.append([len(indent), f"{op}: {key}"])
            else:
                calls[-1][1] += f" -> {key}"
        return [text for depth, text in calls if depth == 1]

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
