"""Gradients straight through quantization, operators without kernels, and arithmetic with floats."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch as mt
from minitorch.backends import FallbackWarning, clear_fallbacks, fallback_report, requantize_policy


@pytest.fixture
def x():
    mt.manual_seed(0)
    return mt.randn(4, 6, requires_grad=True)


def quantized(x, scale=0.02, zero_point=3, dtype=mt.qint8):
    return mt.quantize_per_tensor(x, scale, zero_point, dtype)


def test_what_saturates_gets_no_gradient(x):
    mt.quantize_per_tensor(x, 0.01, 3, mt.qint8).dequantize().sum().backward()
    reached = (x.detach() > -1.31) & (x.detach() < 1.24)
    assert not reached.all()
    np.testing.assert_array_equal(x.grad.numpy(), reached.numpy().astype(np.float32))


def test_through_channels(x):
    scales = mt.tensor([0.01, 0.02, 0.03, 0.04])
    q = mt.quantize_per_channel(x, scales, mt.zeros(4, dtype=mt.int64), 0, mt.qint8)
    q.dequantize().sum().backward()
    reached = (x.detach() / scales[:, None]).round().clamp(-128, 127) == (x.detach() / scales[:, None]).round()
    np.testing.assert_array_equal(x.grad.numpy(), reached.numpy().astype(np.float32))


# A call of quantized tensors, and the same of floats.
CALLS = {
    "relu": (mt.relu, mt.relu),
    "views": (lambda q: q.t()[1:].reshape(-1), lambda q: q.t()[1:].reshape(-1)),
    "cat": (lambda q: mt.cat([q, q], 1), lambda q: mt.cat([q, q], 1)),
    "clamp": (lambda q: q.clamp(-0.5, 0.7), lambda q: q.clamp(-0.5, 0.7)),
    "sigmoid": (mt.sigmoid, mt.sigmoid),
    "max_dim": (lambda q: q.max(1).values, lambda q: q.max(1).values),
    "mean": (lambda q: q.mean(1), lambda q: q.mean(1)),
    "max_pool2d": (
        lambda q: mt.nn.functional.max_pool2d(q[None], 2), lambda q: mt.nn.functional.max_pool2d(q[None], 2)
    ),
    "fallback": (lambda q: mt.cos(q) * q, lambda q: mt.cos(q) * q),
    "q_add": (lambda q: mt.ops.quantized.add(q, q, 0.05, 0), lambda q: q + q),
    "q_mul": (lambda q: mt.ops.quantized.mul(q, q, 0.05, 0), lambda q: q * q),
    "q_add_scalar": (lambda q: mt.ops.quantized.add_scalar(q, 0.5), lambda q: q + 0.5),
    "q_hardswish": (lambda q: mt.ops.quantized.hardswish(q, 0.02, 0), mt.nn.functional.hardswish),
    "q_matmul": (lambda q: mt.ops.quantized.matmul(q, q.t(), 0.1, 0), lambda q: q @ q.t()),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_those_of_floats(name, x):
    call, plain = CALLS[name]
    q = quantized(x)
    values = q.dequantize().detach()
    with requantize_policy("allow"):
        result = call(q)
        assert result.is_quantized
        (result.dequantize() * 1.5).sum().backward()
    # Where the integers are on the edge of their range nothing passes; the samples stay inside.
    other = values.requires_grad_()
    (plain(other) * 1.5).sum().backward()
    inside = (x.detach() > 0.02 * -131.5) & (x.detach() < 0.02 * 124.5)
    # Their formulas take the results, which are rounded.
    atol = 0.02 if name in ("sigmoid", "fallback") else 1e-6
    np.testing.assert_allclose(x.grad.numpy(), (other.grad * inside).numpy(), rtol=1e-5, atol=atol)


def test_gradients_of_layers(x):
    mt.manual_seed(1)
    weight, bias = mt.randn(3, 6) * 0.3, mt.randn(3, requires_grad=True)
    packed = mt.ops.quantized.linear_prepack(mt.quantize_per_tensor(weight, 0.01, 0, mt.qint8), bias)
    q = quantized(x, scale=0.05, dtype=mt.quint8, zero_point=100)
    y = mt.ops.quantized.linear(q, packed, 0.05, 100)
    assert mt.equal(y.detach(), mt.ops.quantized.linear(q.detach(), packed, 0.05, 100).detach())
    y.dequantize().sum().backward()
    np.testing.assert_allclose(bias.grad.numpy(), [4.0] * 3)
    dequantized = mt.quantize_per_tensor(weight, 0.01, 0, mt.qint8).dequantize()
    np.testing.assert_allclose(x.grad.numpy(), dequantized.sum(0).expand(4, 6).numpy(), rtol=1e-5)
    x.grad = None
    dynamic = mt.ops.quantized.linear_dynamic(x, packed)
    assert dynamic.requires_grad
    with mt.no_grad():
        np.testing.assert_array_equal(dynamic.detach().numpy(), mt.ops.quantized.linear_dynamic(x, packed).numpy())
    dynamic.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), dequantized.sum(0).expand(4, 6).numpy(), rtol=1e-5)


def test_a_small_net_trains_through_quantization():
    mt.manual_seed(0)
    x, wanted = mt.randn(16, 4), mt.randn(16, 1) * 0.1
    layer = mt.nn.Linear(4, 1)
    optimizer = mt.optim.SGD(layer.parameters(), lr=0.1)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        y = mt.quantize_per_tensor(layer(x), 0.02, 0, mt.qint8).relu().dequantize()
        loss = ((y - wanted.relu()) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def test_writing_in_place_is_recorded(x):
    q = quantized(x)
    q[0] = 0.0
    q.relu_()
    q.dequantize().sum().backward()
    expected = ((x.detach() > 0.01) & (x.detach() < 2.49)).float()
    expected[0] = 0.0
    np.testing.assert_array_equal(x.grad.numpy(), expected.numpy())


def test_out_is_refused_where_a_gradient_would_be_lost(x):
    q = quantized(x)
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        mt.ops.quantized.add_out(q, q, quantized(x.detach()))


def test_dropout_is_recorded(x):
    dropped = mt.ops.quantized.dropout(quantized(x), 0.05, 0, 0.5, True)
    dropped.dequantize().sum().backward()
    assert set(x.grad.unique().tolist()) <= {0.0, 2.0}
    kept = mt.ops.quantized.dropout(quantized(x.detach()), 0.05, 0)
    assert kept.q_scale() == 0.05


# ---------------------------------------------------------------- operators without kernels


def test_arithmetic_dequantizes_and_quantizes_again():
    q = mt.quantize_per_tensor(mt.tensor([0.5, 1.0, -2.0]), 0.1, 0, mt.qint8)
    clear_fallbacks()
    with requantize_policy("warn"), pytest.warns(FallbackWarning, match="aten::mul.Tensor dequantized its arguments"):
        double = q * 2
    assert [row.operator for row in fallback_report()] == ["aten::mul.Tensor"]
    clear_fallbacks()
    with requantize_policy("allow"):
        assert (double.q_scale(), double.int_repr().tolist()) == (0.1, [10, 20, -40])
        far = q * 100  # leaves the range: its parameters are chosen from the result
        assert far.dtype is mt.qint8
        assert far.q_scale() == pytest.approx(300 / 255)
        mixed = q + mt.ones(3)
        assert (mixed.dtype, mixed.tolist()) == (mt.float32, [1.5, 2.0, -1.0])
        places = q.nonzero()
        assert places.dtype is mt.int64
        q.add_(1)
        np.testing.assert_allclose(q.dequantize().numpy(), [1.5, 2.0, -1.0])
    clear_fallbacks()


def test_arithmetic_is_refused_on_demand():
    q = mt.quantize_per_tensor(mt.ones(2, 2), 0.1, 0, mt.qint8)
    with requantize_policy("error"):
        for call in (lambda: q + q, lambda: q * 2, q.cos, lambda: q @ q, lambda: q + mt.ones(2, 2)):
            with pytest.raises(NotImplementedError, match=r"Could not run 'aten::.*'QuantizedCPU' backend"):
                call()


def test_what_keeps_the_key_and_what_is_refused():
    """Views, clone, cat and relu stay quantized; arithmetic raises under the strict policy; requires_grad is refused (Q5)."""
    key = "QuantizedCPU"
    q = mt.quantize_per_tensor(mt.tensor([[1.0, -1.0]]), 0.1, 0, mt.qint8)
    for made in (q, q.t(), q[0], q.view(2), q.clone(), mt.cat([q, q]), q.relu()):
        assert mt._C._dispatch_keys(made).has(getattr(mt._C.DispatchKey, key))
    with requantize_policy("error"), pytest.raises(NotImplementedError, match=key):
        q + q
    with pytest.raises(RuntimeError, match="floating point"):
        q.requires_grad_()
    dense = q.dequantize()
    assert not dense.is_quantized
    assert not mt._C._dispatch_keys(dense).has(getattr(mt._C.DispatchKey, key))


@pytest.mark.parametrize("dtype", ["qint8", "quint8", "qint32"])
def test_constructors_give_the_key_set(dtype):
    """`quantize_per_tensor` and its kind make tensors with the keys of R12."""
    q = mt.quantize_per_tensor(mt.ones(2), 0.1, 0, getattr(mt, dtype))
    keys = str(mt._C._dispatch_keys(q))
    for name in ("QuantizedCPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU"):
        assert name in keys
    with mt.inference_mode():
        inside = str(mt._C._dispatch_keys(mt.quantize_per_tensor(mt.ones(2), 0.1, 0, getattr(mt, dtype))))
    assert "ADInplaceOrView" not in inside


def test_writing_into_views_is_recorded(x):
    q = quantized(x)
    row = q[2]
    with requantize_policy("allow"):
        q.t()[1].mul_(2.0)
    q.t()[0].fill_(0.0)
    q.dequantize().sum().backward(retain_graph=True)
    inside = ((x.detach() > 0.02 * -131.5) & (x.detach() < 0.02 * 124.5)).float()
    expected = inside.clone()
    expected[:, 1] *= 2
    expected[:, 0] = 0
    np.testing.assert_array_equal(x.grad.numpy(), expected.numpy())
    x.grad = None
    row.dequantize().sum().backward()
    expected[[0, 1, 3]] = 0
    np.testing.assert_array_equal(x.grad.numpy(), expected.numpy())


def test_gradients_that_arrive_at_quantized_tensors_are_floats(x):
    q = quantized(x)
    q.retain_grad()
    (q.dequantize() * 3.0).sum().backward()
    assert q.grad.dtype is mt.float32
    assert q.grad.unique().tolist() == [3.0]
    (grad,) = mt.autograd.grad(quantized(x).dequantize().sum(), x)
    assert grad.dtype is mt.float32
