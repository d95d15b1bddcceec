"""What quantized operators refuse, and with which words: nothing becomes numbers that stand for nothing."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch.backends import requantize_policy

NAN, INF = float("nan"), float("inf")
ops = mt.ops.quantized


@pytest.fixture
def q():
    with requantize_policy("allow"):
        yield mt.quantize_per_tensor(mt.tensor([[0.0, 0.1, -0.2], [1.0, -1.3, 12.0]]), 0.1, 3, mt.qint8)


def layer(**changes):
    return ops.linear_prepack(mt.quantize_per_tensor(mt.ones(2, 3), 0.1, 0, mt.qint8), changes.get("bias"))


@pytest.mark.parametrize("name", ["log", "rsqrt", "reciprocal"])
def test_results_that_no_scale_covers(q, name):
    with pytest.raises(RuntimeError, match=f"aten::{name}: no scale covers"):
        getattr(q, name)()
    assert not getattr(q.dequantize(), name)().is_quantized


@pytest.mark.parametrize("values", [[NAN, 1.0], [INF, 1.0], [-INF, INF]])
def test_parameters_of_values_that_are_not_finite(values):
    x = mt.tensor(values)
    calls = (
        lambda: mt.quantize_per_tensor_dynamic(x, mt.qint8, False),
        lambda: mt._choose_qparams_per_tensor(x),
        lambda: ops.linear_dynamic(mt.cat([x, x[:1]])[None], layer()),
    )
    for call in calls:
        with pytest.raises(RuntimeError, match=r"less than or equal to the greatest"):
            call()


def test_parameters_without_values():
    for call in (lambda x: mt.quantize_per_tensor_dynamic(x, mt.qint8, False), mt._choose_qparams_per_tensor):
        with pytest.raises(RuntimeError, match=r"shape \(0, 3\) has none"):
            call(mt.ones(0, 3))
    with pytest.raises(RuntimeError, match="QInt32 not supported"):
        mt.quantize_per_tensor_dynamic(mt.ones(3), mt.qint32, False)


def test_dimensions(q):
    for dim in (2, -3, (0, 5)):
        with pytest.raises(IndexError, match="Dimension out of range"):
            q.mean(dim)
    with pytest.raises(RuntimeError, match="At least one of"):
        q.clamp()
    assert q[0, 0].mean(0).shape == ()


def test_memory_is_not_read_as_something_else(q):
    for view in (lambda: q.view(mt.int8), lambda: q.view(mt.float32), lambda: mt.view_as_real(q)):
        with pytest.raises(RuntimeError, match="no such view|are not read as"):
            view()
    assert mt.ops.aten.lift_fresh(q).untyped_storage() == q.untyped_storage()


def test_packed_parameters(q):
    x = mt.quantize_per_tensor(mt.ones(4, 3), 0.1, 0, mt.quint8)
    with pytest.raises(RuntimeError, match="type LinearPackedParams for argument 'W_prepack' but instead found type Tensor"):
        ops.linear(x, q, 0.1, 0)
    with pytest.raises(RuntimeError, match="ConvPackedParams"):
        ops.conv2d(x, packed_weight=layer(), output_scale=0.1, output_zero_point=0)
    with pytest.raises(RuntimeError, match="EmbeddingPackedParams"):
        ops.embedding_byte(layer(), mt.tensor([0]))
    with pytest.raises(RuntimeError, match="bias should have 2 elements"):
        layer(bias=mt.ones(5))
    weight = mt.quantize_per_tensor(mt.ones(2, 1, 3, 3), 0.1, 0, mt.qint8)
    with pytest.raises(RuntimeError, match="bias should have 2 elements"):
        ops.conv2d_prepack(weight, mt.ones(1), [1, 1], [0, 0], [1, 1], 1)
    for scale in (0.0, NAN, INF, 1e-60):
        with pytest.raises(RuntimeError, match="must be finite, and not 0"):
            ops.linear(x, layer(), scale, 0)


def test_mixed_tensors_are_not_equal(q):
    assert not mt.equal(q, q.dequantize())
    assert not mt.equal(q.dequantize(), q)


def test_places_of_the_same_kind(q):
    with requantize_policy("error"):
        for made, value in ((mt.ones_like(q), 13), (mt.full_like(q, 2.0), 23), (mt.zeros_like(q), 3)):
            assert (made.q_scale(), made.int_repr().tolist()) == (0.1, [[value] * 3] * 2)
        assert mt.full_like(q, 2.0, dtype=mt.float32).tolist() == [[2.0] * 3] * 2


def test_sigmoid_of_32_bits_covers_its_range():
    x = mt.tensor([-20.0, -1.0, 0.0, 1.0, 3.0])
    q = mt.quantize_per_tensor(x, 0.5, 0, mt.qint32)
    for made, expected in ((q.sigmoid(), x.sigmoid()), (mt.nn.functional.hardsigmoid(q), mt.nn.functional.hardsigmoid(x))):
        assert made.q_zero_point() == 0
        mt.testing.assert_close(made.dequantize(), expected, atol=1e-6, rtol=0.0)
