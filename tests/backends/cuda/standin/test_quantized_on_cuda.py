"""Quantized operators on CUDA: integers are those of the CPU, bit for bit."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "quantized"))

from quantized_cases import CASES, Arguments, assert_alike, facts

import minitorch as mt
from minitorch.backends import requantize_policy

# Results of floating point arithmetic, in an order of the device's own.
OF_FLOATS = (
    "weight_int8pack_mm", "q_linear_fp16", "q_linear_relu_fp16", "q_lstm_cell", "q_gru_cell", "q_rnn_tanh_cell",
)  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cuda_is_the_cpu_bit_for_bit(name):
    with requantize_policy("error"):
        found = facts(CASES[name](Arguments(mt, 0, "cuda")))
        assert_alike(found, facts(CASES[name](Arguments(mt, 0))), 1 if name in OF_FLOATS else 0)


def test_tensors_are_on_the_device():
    q = mt.quantize_per_tensor(mt.ones(2, 3, device="cuda"), 0.1, 0, mt.qint8)
    assert q.device.type == q.int_repr().device.type == q.t().relu().device.type == "cuda"
    assert mt.equal(q.cpu(), mt.quantize_per_tensor(mt.ones(2, 3), 0.1, 0, mt.qint8))
