"""Quantized tensors in transforms, traces and without elements."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch as mt
from minitorch._subclasses import FakeTensorMode
from minitorch.backends import requantize_policy
from minitorch.fx.experimental.proxy_tensor import make_fx


def through(x):
    return mt.quantize_per_tensor(x, 0.1, 3, mt.qint8).relu().t().dequantize()


@pytest.fixture
def x():
    mt.manual_seed(0)
    return mt.randn(2, 3)


@pytest.fixture(autouse=True)
def _refuse_fallbacks():
    with requantize_policy("error"):
        yield


def test_fake(x):
    mode = FakeTensorMode()
    fake = mode.from_tensor(x)
    weight = mt.quantize_per_tensor(mt.randn(4, 3), 0.1, 0, mt.qint8)
    outside = mode.from_tensor(weight)
    assert outside.shape == (4, 3)
    assert "..." in repr(outside)
    with mode:
        q = mt.quantize_per_tensor(fake, 0.1, 3, mt.qint8)
        assert (q.q_scale(), q.q_zero_point(), q.device.type, q.is_quantized) == (0.1, 3, "cpu", True)
        assert q.relu().t().dequantize().shape == (3, 2)
        assert mt.ops.quantized.add(q, q, 0.2, 0).q_scale() == 0.2
        packed = mt.ops.quantized.linear_prepack(outside)
        assert mt.ops.quantized.linear(mt.quantize_per_tensor(fake, 0.1, 3, mt.quint8), packed, 0.1, 0).shape == (2, 4)
        assert mt.ops.quantized.linear_dynamic(fake, packed).shape == (2, 4)
        with pytest.raises(AssertionError, match="from_tensor"):
            mt.cat([weight, weight])
        with pytest.raises(RuntimeError, match="elements"):
            mt.quantize_per_tensor_dynamic(fake, mt.qint8, False)


def test_vmap(x):
    np.testing.assert_array_equal(mt.vmap(lambda v: through(v[None]))(x).numpy(), through(x).t()[..., None].numpy())
    q = mt.quantize_per_tensor(x, 0.1, 3, mt.qint8)
    assert mt.equal(mt.vmap(lambda row: row.relu())(q), q.relu())
    assert mt.equal(mt.vmap(lambda row: row.relu(), in_dims=1, out_dims=1)(q), q.relu())
    scaled = mt.vmap(lambda row: row.dequantize() * row.q_scale())(q)
    np.testing.assert_array_equal(scaled.numpy(), (q.dequantize() * 0.1).numpy())
    scales, zero_points = mt.tensor([0.1, 0.2, 0.3]), mt.tensor([0, 1, 2])
    mapped = mt.vmap(lambda row: mt.quantize_per_channel(row, scales, zero_points, 0, mt.qint8).dequantize())(x)
    whole = mt.quantize_per_channel(x, scales, zero_points, 1, mt.qint8)
    np.testing.assert_array_equal(mapped.numpy(), whole.dequantize().numpy())


def test_gradients_of_functions(x):
    slope = mt.func.grad(lambda v: through(v).sum())(x)
    np.testing.assert_array_equal(slope.numpy(), (x > 0.05).numpy().astype(np.float32))
    primal, tangent = mt.func.jvp(lambda v: through(v).sum(), (x,), (mt.ones(2, 3),))
    assert primal == through(x).sum()
    assert tangent == slope.sum()
    each = mt.vmap(mt.func.grad(lambda v: through(v[None]).sum()))(x)
    np.testing.assert_array_equal(each.numpy(), slope.numpy())


def test_functionalize(x):
    def writes(v):
        q = mt.quantize_per_tensor(v, 0.1, 3, mt.qint8)
        q[0] = 1.0
        q.t()[1].fill_(2.0)
        q[q > 1.5] = -1.0
        return q.dequantize()

    np.testing.assert_array_equal(mt.func.functionalize(writes)(x).numpy(), writes(x).numpy())


def test_traces(x):
    traced = make_fx(through)(x)
    names = [str(node.target) for node in traced.graph.nodes if node.op == "call_function"]
    assert names == ["aten.quantize_per_tensor.default", "aten.relu.default", "aten.t.default", "aten.dequantize.self"]
    np.testing.assert_array_equal(traced(x).numpy(), through(x).numpy())
    assert next(n for n in traced.graph.nodes if n.name == "relu").meta["val"].is_quantized


def test_autocast_changes_nothing(x):
    packed = mt.ops.quantized.linear_prepack(mt.quantize_per_tensor(mt.randn(4, 3), 0.011, 0, mt.qint8), mt.randn(4))
    q = mt.quantize_per_tensor(x, 0.013, 100, mt.quint8)
    calls = (
        lambda: mt.ops.quantized.linear(q, packed, 0.01, 100).int_repr(),
        lambda: mt.ops.quantized.linear_dynamic(x, packed),
        lambda: mt.ops.quantized.matmul(q, q.t(), 0.01, 100).int_repr(),
        lambda: mt._int_mm(mt.full((1, 99), 127, dtype=mt.int8), mt.full((99, 1), 127, dtype=mt.int8)),
    )
    for call in calls:
        plain = call()
        with mt.autocast("cpu"):
            np.testing.assert_array_equal(call().numpy(), plain.numpy())
            assert call().dtype is plain.dtype
    leaf = x.clone().requires_grad_()
    with mt.autocast("cpu"):
        y = mt.ops.quantized.linear(mt.quantize_per_tensor(leaf, 0.03, 100, mt.quint8), packed, 0.05, 100)
    y.dequantize().sum().backward()
    np.testing.assert_allclose(leaf.grad.numpy(), packed.weight.dequantize().sum(0).expand(2, 3).numpy(), rtol=1e-5)


def test_inference_mode(x):
    with mt.inference_mode():
        q = mt.quantize_per_tensor(x, 0.1, 3, mt.qint8)
        assert q.is_inference()
        assert q.t().clone().relu().is_inference()
