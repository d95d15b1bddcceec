"""Sparse and quantized tensors in the dispatcher, with doubles of them: what runs for an operator (spec 6.9)."""

from __future__ import annotations

import pytest

import minitorch
from minitorch.backends import requantize_policy
from minitorch.dispatch.keys import parse_key
from minitorch.dispatch.local_state import below_autograd
from minitorch.dispatch.namespace import ops

LAYOUTS = ("sparse", "sparse_csr", "quantized")
KEYS = {"sparse": "SparseCPU", "sparse_csr": "SparseCsrCPU", "quantized": "QuantizedCPU"}


def _real(layout):
    x = minitorch.eye(2)
    if layout == "quantized":
        return minitorch.quantize_per_tensor(x, 0.1, 0, minitorch.qint8)
    return x.to_sparse_csr() if layout == "sparse_csr" else x.to_sparse()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["cos", "exp", "cumsum", "logcumsumexp"])
def test_nothing_becomes_dense_by_itself(layout, name):
    """An operator without a kernel for a layout is missing, and the error names operator and key (Q1)."""
    op = getattr(ops.aten, name).default
    with requantize_policy("error"), pytest.raises(NotImplementedError, match=KEYS[layout]) as error:
        op(_real(layout), *([0] if "cum" in name else []))
    assert f"aten::{name}" in str(error.value)


def test_layouts_in_the_order_of_their_priority(recorder, bare):
    """Sparse runs above quantized, quantized above dense (Q1)."""
    record = recorder("f(Tensor x, Tensor y) -> ()")
    for key in ("CPU", "QuantizedCPU", "SparseCPU"):
        record.kernel(key)
    with below_autograd():
        for pair, expected in (
            (("cpu", "quantized"), "QuantizedCPU"),
            (("sparse", "quantized"), "SparseCPU"),
            (("cpu", "sparse"), "SparseCPU"),
        ):
            assert record.call(*map(bare, pair)) == [expected]
            assert record.call(*map(bare, reversed(pair))) == [expected]


@pytest.mark.parametrize("layout", ["sparse"])
def test_which_composites_reach_a_layout(library, bare, layout):
    """CompositeExplicitAutogradNonFunctional leaves coordinate tensors out; the other composites do not (Q2)."""
    lib = library()
    for name, key in (
        ("explicit", "CompositeExplicitAutograd"),
        ("implicit", "CompositeImplicitAutograd"),
        ("non_functional", "CompositeExplicitAutogradNonFunctional"),
    ):
        lib.define(f"{name}(Tensor x) -> int")
        lib.impl(name, lambda x, name=name: len(name), key)
    x = bare(layout)
    with below_autograd():
        assert ops.testing.explicit(x) == len("explicit")
        assert ops.testing.implicit(x) == len("implicit")
        with pytest.raises(NotImplementedError, match=KEYS[layout]):
            ops.testing.non_functional(x)
        lib.impl("non_functional", lambda x: 7, KEYS[layout])
        assert ops.testing.non_functional(x) == 7


@pytest.mark.parametrize("layout", LAYOUTS)
def test_autograd_of_a_layout_is_that_of_the_backend(recorder, bare, layout):
    """Q3."""
    record = recorder("f(Tensor x) -> ()")
    record.kernel("AutogradCPU")
    record.kernel(KEYS[layout])
    assert record.call(bare(layout))[0] == "AutogradCPU"
    assert bare(layout).key_set & parse_key("AutogradCPU").bits
