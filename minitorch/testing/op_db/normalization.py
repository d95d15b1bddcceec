"""Records of normalizations."""

from __future__ import annotations

import numpy as np

from minitorch.testing.op_db.record import FLOATS, REAL_FLOATS
from minitorch.testing.op_db.samples import record

REAL: dict = dict(dtypes=REAL_FLOATS)
SINGLE_OR_DOUBLE: dict = dict(dtypes=FLOATS)


def _channels(values, x):
    return values.reshape([-1 if d == 1 else 1 for d in range(x.ndim)])


def _normalized(x, dims, eps):
    return (x - x.mean(dims, keepdims=True)) / np.sqrt(x.var(dims, keepdims=True) + eps)


def _scaled(x, weight, bias):
    x = x if weight is None else x * _channels(weight, x)
    return x if bias is None else x + _channels(bias, x)


def _batch_norm(x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if training:
        return _scaled(_normalized(x, tuple(d for d in range(x.ndim) if d != 1), eps), weight, bias)
    return _scaled((x - _channels(mean, x)) / np.sqrt(_channels(var, x) + eps), weight, bias)


def _layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    x = _normalized(x, tuple(range(x.ndim - len(shape), x.ndim)), eps)
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _group_norm(x, groups, weight=None, bias=None, eps=1e-5):
    grouped = x.reshape(x.shape[0], groups, -1)
    return _scaled(_normalized(grouped, (2,), eps).reshape(x.shape), weight, bias)


def _instance_norm(x, mean=None, var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    if not use_input_stats:
        return _batch_norm(x, mean, var, weight, bias, eps=eps)
    return _scaled(_normalized(x, tuple(range(2, x.ndim)), eps), weight, bias)


def _rms_norm(x, shape, weight=None, eps=None):
    eps = np.finfo(np.float64).eps if eps is None else eps
    dims = tuple(range(x.ndim - len(shape), x.ndim))
    x = x / np.sqrt((x * x).mean(dims, keepdims=True) + eps)
    return x if weight is None else x * weight


def _local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0):
    before = size // 2
    squares = np.pad(x * x, [(0, 0), (before, size - 1 - before)] + [(0, 0)] * (x.ndim - 2))
    means = np.stack([squares[:, c : c + size].sum(1) for c in range(x.shape[1])], 1) / size
    return x / (k + alpha * means) ** beta


def _normalize(x, p=2.0, dim=1, eps=1e-12):
    return x / np.maximum((np.abs(x) ** p).sum(dim, keepdims=True) ** (1 / p), eps)


def _positive(make, n):
    return make(n, low=0.5, high=2, grad=False)


def _batch_samples(make):
    return [
        (make(3, 2), _positive(make, 2), _positive(make, 2), make(2), make(2)),
        (make(2, 3, 2), None, None, make(3), make(3), True),
        (make(2, 2, 2, 2, layout="columns"), None, None, None, None, True, 0.1, 1e-3),
        (make(2, 2, 3), _positive(make, 2), _positive(make, 2), None, None),
        (make(4, 2), None, None, make(2), None, True),
    ]


def _raw_batch_samples(make):
    return [
        (make(3, 2), make(2), make(2), None, None, True, 0.1, 1e-5),
        (make(2, 2, 3), make(2), make(2), _positive(make, 2), _positive(make, 2), False, 0.1, 1e-5),
    ]


def _too_few(make):
    return [(ValueError, "more than 1", make(1, 2), None, None, {"training": True})]


PUBLIC = [
    # Two examples for a mean leave values of almost no spread to half precision.
    record("nn.functional.batch_norm", _batch_samples, _batch_norm, errors=_too_few, **SINGLE_OR_DOUBLE),
    record(
        "nn.functional.layer_norm",
        lambda make: [
            (make(2, 4), [4], make(4), make(4)),
            (make(2, 2, 3), [2, 3]),
            (make(4, 3, layout="columns"), (3,), make(3), None, 1e-3),
        ],
        _layer_norm,
        operators=("layer_norm",),
        errors=lambda make: [(RuntimeError, "normalized_shape", make(2, 3), [2])],
        tolerance=3,
        **REAL,
    ),
    record(
        "nn.functional.group_norm",
        lambda make: [
            (make(2, 4, 3), 2, make(4), make(4)),
            (make(2, 2, 2, 2), 1),
            (make(3, 4, layout="columns"), 2, None, None, 1e-3),
        ],
        _group_norm,
        operators=("group_norm",),
        errors=lambda make: [(RuntimeError, "divisible", make(2, 3, 2), 2)],
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.instance_norm",
        lambda make: [
            (make(2, 2, 3),),
            (make(2, 2, 3), None, None, make(2), make(2)),
            (make(2, 2, 3), _positive(make, 2), _positive(make, 2), None, None, False),
        ],
        _instance_norm,
        operators=("instance_norm",),
        errors=lambda make: [(ValueError, "1", make(2, 2, 1))],
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.rms_norm",
        lambda make: [
            (make(2, 4), [4], make(4), 1e-5),
            (make(2, 2, 3), [2, 3]),
            (make(4, 3, layout="columns"), (3,), None, 1e-3),
        ],
        _rms_norm,
        operators=("rms_norm",),
        errors=lambda make: [(RuntimeError, "normalized_shape", make(2, 3), [2])],
        tolerance=2,
        **REAL,
    ),
    record(
        "nn.functional.local_response_norm",
        lambda make: [(make(2, 4, 2), 3), (make(1, 3, 2, 2), 2, 0.5, 0.5, 2.0)],
        _local_response_norm,
        operators=(),
        errors=lambda make: [(ValueError, "3D", make(2, 3), 2)],
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.normalize",
        lambda make: [(make(2, 3),), (make(3, 2, layout="columns"), 1, 0), (make(2, 3, 2), {"p": 3.0, "dim": -1})],
        _normalize,
        operators=(),
        errors=lambda make: [(IndexError, "out of range", make(3))],
        **SINGLE_OR_DOUBLE,
    ),
]

OPERATORS = [
    record(
        "batch_norm",
        lambda make: [(*a, True) for a in _raw_batch_samples(make)],
        lambda x, w, b, mean, var, training, momentum, eps, cudnn: _batch_norm(
            x, mean, var, w, b, training, momentum, eps
        ),
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "native_batch_norm",
        _raw_batch_samples,
        project=lambda result: result[0],
        reference=lambda x, w, b, mean, var, training, momentum, eps: _batch_norm(
            x, mean, var, w, b, training, momentum, eps
        ),
        **SINGLE_OR_DOUBLE,
    ),
    record("layer_norm", lambda make: [(make(2, 4), [4], make(4), make(4))], _layer_norm, **SINGLE_OR_DOUBLE),
    record(
        "native_layer_norm",
        lambda make: [(make(2, 4), [4], make(4), make(4), 1e-5), (make(2, 2, 3), [2, 3], None, None, 1e-3)],
        project=lambda result: result[0],
        reference=_layer_norm,
        **SINGLE_OR_DOUBLE,
    ),
    record("group_norm", lambda make: [(make(2, 4, 3), 2, make(4), make(4))], _group_norm, **SINGLE_OR_DOUBLE),
    record(
        "native_group_norm",
        lambda make: [(make(2, 4, 3), make(4), make(4), 2, 4, 3, 2, 1e-5)],
        project=lambda result: result[0],
        reference=lambda x, w, b, n, c, size, groups, eps: _group_norm(x, groups, w, b, eps),
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "instance_norm",
        lambda make: [(make(2, 2, 3), make(2), make(2), None, None, True, 0.1, 1e-5, True)],
        lambda x, w, b, mean, var, stats, momentum, eps, cudnn: _instance_norm(
            x, mean, var, w, b, stats, momentum, eps
        ),
        **SINGLE_OR_DOUBLE,
    ),
    record("rms_norm", lambda make: [(make(2, 4), [4], make(4), 1e-5)], _rms_norm, **SINGLE_OR_DOUBLE),
    record(
        "_fused_rms_norm",
        lambda make: [(make(2, 4), [4], make(4), 1e-5), (make(2, 4), [4], None, 1e-3)],
        project=lambda result: result[0],
        reference=_rms_norm,
        **SINGLE_OR_DOUBLE,
    ),
]

OPERATORS += [
    record(
        "_native_batch_norm_legit",
        lambda make: [(make(3, 2), make(2), make(2), True, 0.1, 1e-5)],
        project=lambda result: result[0],
        reference=lambda x, w, b, training, momentum, eps: _batch_norm(x, None, None, w, b, training, momentum, eps),
        no_out="tested as native_batch_norm",
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "_batch_norm_with_update",
        lambda make: [(make(3, 2), make(2), make(2), _positive(make, 2), _positive(make, 2), 0.1, 1e-5)],
        project=lambda result: result[0],
        reference=lambda x, w, b, m, v, momentum, eps: _batch_norm(x, None, None, w, b, True, momentum, eps),
        no_out="tested as native_batch_norm",
        **SINGLE_OR_DOUBLE,
    ),
]

RECORDS = [*PUBLIC, *OPERATORS]
