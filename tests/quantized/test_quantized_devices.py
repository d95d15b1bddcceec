"""Quantized operators on OpenCL: bit for bit those of the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from quantized_cases import CASES, Arguments, assert_alike, facts

import minitorch as mt
from minitorch.backends import fallback_policy, requantize_policy

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 3.4e38, -3.4e38, 1e-45], np.float32)
# Results of floating point arithmetic: each device adds in an order of its own, and has an exp of its own.
OF_FLOATS = (
    "weight_int8pack_mm", "q_linear_fp16", "q_linear_relu_fp16", "q_lstm_cell", "q_gru_cell", "q_rnn_tanh_cell",
)  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_opencl_is_the_cpu_bit_for_bit(opencl, name):
    with fallback_policy("allow"), requantize_policy("error"):
        for seed in range(2):
            found = facts(CASES[name](Arguments(mt, seed, opencl)))
            assert_alike(found, facts(CASES[name](Arguments(mt, seed))), 1 if name in OF_FLOATS else 0)


def test_opencl_rounds_as_the_cpu(opencl):
    rng = np.random.default_rng(0)
    for round_number in range(30):
        scale = float(10 ** rng.uniform(-6, 3))
        x = (rng.standard_normal(5000) * scale * 10 ** rng.uniform(0, 4)).astype(np.float32)
        x[:200] = np.float32(scale) * (np.arange(-100, 100) + 0.5).astype(np.float32)
        x = np.concatenate([x, SPECIAL])
        name = ("qint8", "quint8", "qint32")[round_number % 3]
        zero_point = int(rng.integers(0, 100))
        here = mt.quantize_per_tensor(mt.tensor(x), scale, zero_point, getattr(mt, name))
        there = mt.quantize_per_tensor(mt.tensor(x).to(opencl), scale, zero_point, getattr(mt, name))
        assert there.device.type == "opencl"
        assert_alike(facts(there), facts(here))
        np.testing.assert_array_equal(there.dequantize().cpu().numpy(), here.dequantize().numpy())
