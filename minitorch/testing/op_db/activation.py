"""Records of activations."""

from __future__ import annotations

import math

import numpy as np

from minitorch.testing.op_db.record import FLOATS, FLOATS_AND_COMPLEX, REAL_FLOATS, REAL_NUMBERS
from minitorch.testing.op_db.samples import elementwise, record, unary

REAL: dict = dict(dtypes=REAL_FLOATS)
_erf = elementwise(math.erf)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + _erf(x / math.sqrt(2)))


def _softplus(x, beta=1, threshold=20):
    return np.where(x * beta > threshold, x, np.log1p(np.exp(beta * x)) / beta)


def _elu(x, alpha=1.0, scale=1.0, input_scale=1.0):
    return scale * np.where(x > 0, x, alpha * (np.exp(x * input_scale) - 1))


def _celu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * (np.exp(x / alpha) - 1))


def _selu(x):
    return _elu(x, 1.6732632423543772, 1.0507009873554805)


def _softmax(x, dim, dtype=None):
    e = np.exp(x)
    return e / e.sum(dim if x.ndim else None, keepdims=True)


def _glu(x, dim=-1):
    a, b = np.split(x, 2, dim)
    return a * _sigmoid(b)


def _prelu(x, weight):
    if weight.size > 1:
        weight = weight.reshape([-1 if d == 1 else 1 for d in range(x.ndim)])
    return np.where(x > 0, x, weight * x)


def _softmax_samples(make):
    return [
        (make(2, 3), 1),
        (make(3, 2, layout="columns"), 0),
        (make(2, 3, 2), -2),
        (make(), 0),
        (make(2, 3), 1, {"dtype": make.dtype}),
    ]


def _dim_out_of_range(make):
    return [(IndexError, "out of range", make(2, 3), 2)]


def _samples(*extra, avoid=()):
    """Return a generator of ordinary samples, and of one for each tuple of further arguments."""

    def samples(make):
        plain = [
            (make(2, 3, avoid=avoid),),
            (make(3, 2, layout="columns", avoid=avoid),),
            (make(avoid=avoid),),
            (make(0, 3),),
            (make(5, layout="gaps", avoid=avoid),),
        ]
        return plain + [(make(2, 3, avoid=avoid), *more) for more in extra]

    return samples


RELU = [
    unary("relu", lambda x: np.maximum(x, 0), avoid=(0.0,), dtypes=REAL_NUMBERS),
    record("nn.functional.relu", _samples(avoid=(0.0,)), lambda x: np.maximum(x, 0), **REAL),
    record("nn.functional.relu6", _samples(avoid=(0.0,)), lambda x: np.clip(x, 0, 6), **REAL),
    record(
        "nn.functional.threshold",
        lambda make: [(make(2, 3, avoid=(0.5,)), 0.5, -1.0), (make(avoid=(0.5,)), 0.5, 2.0)],
        lambda x, threshold, value: np.where(x > threshold, x, value),
        errors=lambda make: [(TypeError, "", make(2))],
        **REAL,
    ),
    record(
        "nn.functional.leaky_relu",
        _samples(({"negative_slope": 0.3},), avoid=(0.0,)),
        lambda x, negative_slope=0.01: np.where(x > 0, x, negative_slope * x),
        **REAL,
    ),
    record(
        "nn.functional.prelu",
        lambda make: [
            (make(2, 3, avoid=(0.0,)), make(3)),
            (make(2, 3, avoid=(0.0,)), make(1)),
            (make(4, avoid=(0.0,)), make(1)),
            (make(2, 3, 2, avoid=(0.0,), layout="columns"), make(3)),
        ],
        _prelu,
        operators=("prelu", "_prelu_kernel"),
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(2))],
        **REAL,
    ),
    record(
        "nn.functional.rrelu",
        _samples(({"lower": 0.2, "upper": 0.4},), ({"training": True},), avoid=(0.0,)),
        random=True,
        no_meta="draws one number for each negative element",
        **REAL,
    ),
]

SMOOTH = [
    record(
        "nn.functional.gelu",
        _samples(({"approximate": "tanh"},)),
        _gelu,
        tolerance=2,
        errors=lambda make: [(RuntimeError, "approximate", make(2), {"approximate": "no"})],
        **REAL,
    ),
    record("nn.functional.silu", _samples(), lambda x: x * _sigmoid(x), dtypes=FLOATS_AND_COMPLEX),
    record("nn.functional.mish", _samples(), lambda x: x * np.tanh(np.log1p(np.exp(x))), **REAL),
    record("nn.functional.logsigmoid", _samples(), lambda x: -np.log1p(np.exp(-x)), operators=("log_sigmoid",), **REAL),
    record("nn.functional.softplus", _samples((2, 1.0), ({"beta": 3},)), _softplus, tolerance=2, **REAL),
    record("nn.functional.elu", _samples((0.5,), avoid=(0.0,)), _elu, tolerance=2, **REAL),
    record("nn.functional.celu", _samples((0.5,), avoid=(0.0,)), _celu, tolerance=2, **REAL),
    record("nn.functional.selu", _samples(avoid=(0.0,)), _selu, tolerance=2, **REAL),
    record(
        "nn.functional.glu",
        lambda make: [(make(2, 4),), (make(4, 3, layout="columns"), 0), (make(2, 4, 2), 1)],
        _glu,
        errors=lambda make: [(RuntimeError, "even|halving", make(3)), (RuntimeError, "", make())],
        tolerance=2,
        **REAL,
    ),
    record("nn.functional.softsign", _samples(avoid=(0.0,)), lambda x: x / (1 + np.abs(x)), operators=(), **REAL),
    record("nn.functional.tanhshrink", _samples(), lambda x: x - np.tanh(x), operators=(), tolerance=2, dtypes=FLOATS),
]

HARD = [
    record("nn.functional.hardsigmoid", _samples(), lambda x: np.clip(x / 6 + 0.5, 0, 1), **REAL),
    record("nn.functional.hardswish", _samples(), lambda x: x * np.clip(x + 3, 0, 6) / 6, **REAL),
    record(
        "nn.functional.hardtanh",
        _samples((-0.5, 0.5), avoid=(-1.0, 1.0, -0.5, 0.5)),
        lambda x, low=-1, high=1: np.clip(x, low, high),
        **REAL,
    ),
    record(
        "nn.functional.hardshrink",
        _samples((1.0,), avoid=(-0.5, 0.5, 1.0, -1.0)),
        lambda x, lambd=0.5: np.where(np.abs(x) > lambd, x, 0),
        operators=("hardshrink",),
        **REAL,
    ),
    record(
        "nn.functional.softshrink",
        _samples((1.0,), avoid=(-0.5, 0.5, 1.0, -1.0)),
        lambda x, lambd=0.5: np.sign(x) * np.maximum(np.abs(x) - lambd, 0),
        errors=lambda make: [(RuntimeError, "lambda", make(2), -1.0)],
        **REAL,
    ),
]

SOFTMAX = [
    record("softmax", _softmax_samples, _softmax, errors=_dim_out_of_range, operators=("softmax", "_softmax"), **REAL),
    record(
        "log_softmax",
        _softmax_samples,
        lambda x, dim, dtype=None: np.log(_softmax(x, dim)),
        errors=_dim_out_of_range,
        operators=("log_softmax", "_log_softmax"),
        **REAL,
    ),
    record(
        "nn.functional.softmax", _softmax_samples, _softmax, errors=_dim_out_of_range, operators=("softmax",), **REAL
    ),
    record(
        "nn.functional.log_softmax",
        _softmax_samples,
        lambda x, dim, dtype=None: np.log(_softmax(x, dim)),
        errors=_dim_out_of_range,
        operators=("log_softmax",),
        **REAL,
    ),
    record(
        "nn.functional.softmin",
        _softmax_samples,
        lambda x, dim, dtype=None: _softmax(-x, dim),
        errors=_dim_out_of_range,
        operators=(),
        **REAL,
    ),
    record(
        "nn.functional.gumbel_softmax",
        lambda make: [(make(2, 3),), (make(2, 3), 0.5, False, 1e-10, 0)],
        operators=(),
        random=True,
        dtypes=FLOATS,
    ),
]

BACKWARDS = [
    record(
        "_softmax_backward_data",
        lambda make: [(make(2, 3), make(2, 3, low=0.1, high=0.9), 1, make.dtype)],
        lambda grad, out, dim, dtype: out * (grad - (grad * out).sum(dim, keepdims=True)),
        dtypes=FLOATS,
    ),
    record(
        "_log_softmax_backward_data",
        lambda make: [(make(2, 3), make(2, 3, low=-2, high=-0.1), 1, make.dtype)],
        lambda grad, out, dim, dtype: grad - np.exp(out) * grad.sum(dim, keepdims=True),
        dtypes=FLOATS,
    ),
]

TOP_LEVEL = [  # the operators under their own names, with the schemas' arguments
    record(
        "threshold",
        lambda make: [(make(2, 3, avoid=(0.5,)), 0.5, -1.0)],
        lambda x, threshold, value: np.where(x > threshold, x, value),
        **REAL,
    ),
    record("celu", _samples((0.5,), avoid=(0.0,)), _celu, tolerance=2, **REAL),
    record("selu", _samples(avoid=(0.0,)), _selu, tolerance=2, **REAL),
    record("prelu", lambda make: [(make(2, 3, avoid=(0.0,)), make(3))], _prelu, **REAL),
    record("rrelu", _samples(avoid=(0.0,)), random=True, **REAL),
    record(
        "hardshrink",
        _samples((1.0,), avoid=(-0.5, 0.5, 1.0, -1.0)),
        lambda x, lambd=0.5: np.where(np.abs(x) > lambd, x, 0),
        **REAL,
    ),
]

RECORDS = [*RELU, *SMOOTH, *HARD, *SOFTMAX, *BACKWARDS, *TOP_LEVEL]
