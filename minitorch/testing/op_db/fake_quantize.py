"""Records of fake quantization."""

from __future__ import annotations

import numpy as np

import minitorch
from minitorch.testing.op_db.record import REAL_FLOATS
from minitorch.testing.op_db.samples import record

STRAIGHT = "the gradient passes straight through a function of steps"


def _on_grid(x, scale, zero_point, quant_min, quant_max):
    narrow = np.float32(scale)
    steps = np.clip(np.round(x * (np.float32(1) / narrow)) + zero_point, quant_min, quant_max)
    return (steps - zero_point) * narrow


def _per_tensor(x, scale, zero_point, quant_min, quant_max):
    scale, zero_point = np.asarray(scale).reshape(()), np.asarray(zero_point).reshape(())
    return _on_grid(x, scale, zero_point, quant_min, quant_max)


def _per_channel(x, scale, zero_point, axis, quant_min, quant_max):
    shape = [1] * x.ndim
    shape[axis] = -1
    return _on_grid(x, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max)


def _scales(*values):
    return minitorch.tensor(values, dtype=minitorch.float32)


def _points(*values):
    return minitorch.tensor(values, dtype=minitorch.int32)


RECORDS = [
    record(
        "fake_quantize_per_tensor_affine",
        lambda make: [
            (make(3, 4), 0.25, 1, -4, 3),
            (make(4, 3, layout="columns"), 0.5, 0, -8, 7),
            (make(5, layout="gaps"), 0.25, 128, 0, 255),
            (make(), 0.5, 0, -128, 127),
            (make(0, 2), 0.5, 0, -128, 127),
            (make(3, 2), _scales(0.25), _points(2), -4, 3),
        ],
        _per_tensor,
        dtypes=REAL_FLOATS,
        errors=lambda make: [
            (RuntimeError, "zero_point", make(2), 0.1, 9, 0, 8),
            (RuntimeError, "quant_min", make(2), 0.1, 0, 8, 0),
            (NotImplementedError, "floating|Long", minitorch.tensor([1, 2]), 0.1, 0, 0, 8),
        ],
        no_gradcheck=STRAIGHT,
        no_forward=STRAIGHT,
    ),
    record(
        "fake_quantize_per_channel_affine",
        lambda make: [
            (make(3, 4), _scales(0.25, 0.5, 0.125), _points(0, -1, 2), 0, -4, 3),
            (make(4, 2, layout="columns"), _scales(0.25, 0.5), _points(128, 0), 1, 0, 255),
            (make(2, 3, 2), _scales(0.25, 0.5, 2.0), _points(0, 0, 0), 1, -128, 127),
        ],
        _per_channel,
        dtypes=REAL_FLOATS,
        errors=lambda make: [
            (RuntimeError, "zero_point", make(2), _scales(0.1, 0.1), _points(0, 9), 0, 0, 8),
            (RuntimeError, "1-D", make(2), _scales(0.1, 0.1).reshape(1, 2), _points(0, 0), 0, 0, 8),
            (RuntimeError, "consistent", make(3), _scales(0.1, 0.1), _points(0, 0), 0, 0, 8),
            (RuntimeError, "axis", make(2), _scales(0.1, 0.1), _points(0, 0), -1, 0, 8),
            (IndexError, "range", make(2), _scales(0.1, 0.1), _points(0, 0), 3, 0, 8),
        ],
        no_gradcheck=STRAIGHT,
        no_forward=STRAIGHT,
    ),
]
