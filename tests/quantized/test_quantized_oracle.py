"""Quantized operators against PyTorch: integers equal, or within one unit where its arithmetic is another."""

from __future__ import annotations

import io

import numpy as np
import pytest
from quantized_cases import CASES, UNITS, Arguments, assert_alike, facts

import minitorch as mt
from minitorch.backends import requantize_policy

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore:.*:UserWarning")]


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_torch(name):
    for seed in range(4):
        expected = facts(CASES[name](Arguments(torch, seed)))
        with requantize_policy("error"):
            found = facts(CASES[name](Arguments(mt, seed)))
        assert_alike(found, expected, UNITS[name])


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 3.4e38, -3.4e38, 1e-45], np.float32)
LIMITS = {"qint8": (-128, 127), "quint8": (0, 255), "qint32": (-(2**31), 2**31 - 1)}


@pytest.mark.parametrize("name", LIMITS)
def test_rounding_is_that_of_torch_bit_for_bit(name):
    """Ties, extremes, negative zeros, subnormal scales, NaN: with one scale and with one for each channel."""
    rng = np.random.default_rng(0)
    low, high = LIMITS[name]
    for i in range(120):
        scale = float(10 ** rng.uniform(-6, 3)) if i % 10 else float(rng.choice([1e-40, 1e-45, 1e38, 1e-38, 1e-60, 1.0, 0.5]))
        bound = 10**9 if i % 2 else 100
        zero_point = int(rng.integers(max(low, -bound), min(high, bound) + 1))
        count = int(rng.choice([1, 3, 67]))
        x = (rng.standard_normal(count) * scale * 10 ** rng.uniform(0, 9 if i % 3 else 2)).astype(np.float32)
        k = min(count, 10)
        x[:k] = np.float32(scale) * (rng.integers(-200, 200, k) + 0.5).astype(np.float32)
        x = np.concatenate([x, SPECIAL])
        made = [m.quantize_per_tensor(m.tensor(x), scale, zero_point, getattr(m, name)) for m in (torch, mt)]
        # PyTorch's kernels for other processors do not fuse the product and the zero point: ties go elsewhere.
        _same_bits(*made, units=0 if torch.backends.cpu.get_cpu_capability() == "AVX2" else 1)
        scales, zero_points = np.array([scale, scale * 3]), np.array([zero_point, min(zero_point + 1, high)])
        made = [
            m.quantize_per_channel(m.tensor(np.stack([x, x])), m.tensor(scales), m.tensor(zero_points), 0, getattr(m, name))
            for m in (torch, mt)
        ]
        _same_bits(*made)


def _same_bits(expected, found, units=0):
    ints = found.int_repr().numpy()
    if units:
        return np.testing.assert_allclose(ints.astype(np.int64), expected.int_repr().numpy().astype(np.int64), rtol=0, atol=units)
    np.testing.assert_array_equal(ints, expected.int_repr().numpy())
    np.testing.assert_array_equal(found.dequantize().numpy().view(np.int32), expected.dequantize().numpy().view(np.int32))


@pytest.mark.parametrize("reduce_range", [False, True])
def test_parameters_are_chosen_as_torch_does(reduce_range):
    rng = np.random.default_rng(0)
    for i in range(100):
        x = (rng.standard_normal(5) * 10 ** rng.uniform(-9, 9) + (i % 3 - 1) * 10 ** rng.uniform(-9, 9)).astype(np.float32)
        for name in ("qint8", "quint8"):
            found, expected = (
                m.quantize_per_tensor_dynamic(m.tensor(x), getattr(m, name), reduce_range) for m in (mt, torch)
            )
            assert (found.q_scale(), found.q_zero_point()) == (expected.q_scale(), expected.q_zero_point())
        assert mt._choose_qparams_per_tensor(mt.tensor(x), reduce_range) == torch._choose_qparams_per_tensor(
            torch.tensor(x), reduce_range
        )


def _tensors(m):
    x = m.tensor(np.random.default_rng(0).standard_normal((3, 6)).astype(np.float32))
    scales, zero_points = m.tensor(np.array([0.1, 0.2, 0.3])), m.tensor(np.array([0, 1, 2]))
    q = m.quantize_per_tensor(x, 0.1, 3, m.qint8)
    return {
        "one scale": q,
        "view": q.t()[1:],
        "qint32": m.quantize_per_tensor(x, 0.1, 3, m.qint32),
        "channels": m.quantize_per_channel(x, scales, zero_points, 0, m.quint8),
        "packed": m.quantize_per_channel(x, scales.float(), zero_points.float(), 0, m.quint4x2),
        "parameter": m.nn.Parameter(q, requires_grad=False),
        "shared": [q, q[0]],
        "names": [m.per_tensor_affine, m.qint8, m.quint4x2],
    }


@pytest.mark.parametrize("kind", _tensors(mt))
def test_files_both_ways(kind):
    for source, target in ((mt, torch), (torch, mt)):
        file = io.BytesIO()
        source.save(_tensors(source)[kind], file)
        found, expected = target.load(io.BytesIO(file.getvalue())), _tensors(target)[kind]
        assert repr(found) == repr(expected)
        if kind == "shared":
            found[1].copy_(target.zeros(6))
            assert found[0].dequantize()[0].abs().max() == 0


def test_texts_are_those_of_torch():
    for name, found in _tensors(mt).items():
        assert repr(found) == repr(_tensors(torch)[name])
