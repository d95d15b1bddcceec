"""Products of 8-bit integers on OpenCL: the kernel, and quantized linear layers, which take it."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch as mt
from minitorch.backends import fallback_policy

SHAPES = [(3, 5, 7), (64, 128, 256), (1, 1, 1), (4, 33, 3), (17, 100, 50), (2, 0, 3), (0, 4, 3)]


def integers(*shape):
    return mt.randint(-128, 128, shape, dtype=mt.int8)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("transposed", [True, False])
def test_products(shape, transposed):
    rows, k, columns = shape
    a, b = integers(rows, k), integers(columns, k)
    expected = a.numpy().astype(np.int32) @ b.numpy().astype(np.int32).T
    other = b.to("opencl").t() if transposed else b.t().contiguous().to("opencl")
    with fallback_policy("error"):
        found = mt._int_mm(a.to("opencl"), other)
    assert found.dtype is mt.int32
    assert np.array_equal(found.cpu().numpy(), expected)


def test_parts_of_memory():
    a, b = integers(9, 40), integers(12, 40)
    found = mt._int_mm(a.to("opencl")[2:7, 3:30], b.to("opencl")[::2, 3:30].t())
    assert mt.equal(found.cpu(), mt._int_mm(a[2:7, 3:30], b[::2, 3:30].t()))


def test_extreme_integers():
    a = mt.full((2, 4096), -128, dtype=mt.int8)
    assert mt._int_mm(a.to("opencl"), a.t().to("opencl")).unique().tolist() == [4096 * 128 * 128]


def test_bad_operands():
    with pytest.raises(RuntimeError, match="_int_mm"):
        mt._int_mm(mt.ones(2, 2, device="opencl"), mt.ones(2, 2, device="opencl"))
    with pytest.raises(RuntimeError, match="must be equal"):
        mt._int_mm(integers(2, 3).to("opencl"), integers(2, 3).to("opencl"))


@pytest.mark.parametrize("dtype", [mt.quint8, mt.qint8], ids=str)
@pytest.mark.parametrize("zero_point", [0, 5, 77])
@pytest.mark.parametrize("of_weight", [0, 9, "channels"])
def test_linear_layers_are_those_of_the_cpu(dtype, zero_point, of_weight):
    ops = mt.ops.quantized
    x = mt.quantize_per_tensor(mt.randn(4, 6, 95), 0.03, zero_point, dtype)
    if of_weight == "channels":
        weight = mt.quantize_per_channel(mt.randn(31, 95), mt.rand(31) * 0.05 + 0.01, mt.randint(-5, 5, (31,)), 0, mt.qint8)
    else:
        weight = mt.quantize_per_tensor(mt.randn(31, 95), 0.02, of_weight, mt.qint8)
    bias = mt.randn(31)
    expected = ops.linear(x, ops.linear_prepack(weight, bias), 0.1, 3)
    packed = ops.linear_prepack(weight.to("opencl"), bias.to("opencl"))
    with fallback_policy("error"):
        found = ops.linear(x.to("opencl"), packed, 0.1, 3)
        floats = ops.linear_dynamic(x.dequantize().to("opencl"), packed)
    assert mt.equal(found.cpu().int_repr(), expected.int_repr())
    mt.testing.assert_close(floats.cpu(), ops.linear_dynamic(x.dequantize(), ops.linear_prepack(weight, bias)))
