"""Records of attention."""

from __future__ import annotations

import math

import numpy as np

from minitorch.testing.op_db.record import FLOATS
from minitorch.testing.op_db.samples import record


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if enable_gqa:
        times = query.shape[-3] // key.shape[-3]
        key, value = np.repeat(key, times, -3), np.repeat(value, times, -3)
    scores = query @ np.swapaxes(key, -1, -2) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    if attn_mask is not None:
        scores = np.where(attn_mask, scores, -np.inf) if attn_mask.dtype == np.bool_ else scores + attn_mask
    return _softmax(scores) @ value


def _samples(make):
    return [
        (make(1, 2, 3, 2), make(1, 2, 4, 2), make(1, 2, 4, 2)),
        (make(2, 3, 2), make(2, 3, 2), make(2, 3, 2), {"is_causal": True}),
        (make(1, 2, 3, 2), make(1, 2, 4, 2), make(1, 2, 4, 3), make(3, 4)),
        (make(1, 2, 3, 2, layout="columns"), make(1, 2, 4, 2), make(1, 2, 4, 2), {"scale": 0.5}),
        (make(1, 4, 3, 2), make(1, 2, 3, 2), make(1, 2, 3, 2), {"enable_gqa": True}),
    ]


def _wrong_sizes(make):
    return [(RuntimeError, "", make(1, 2, 3, 2), make(1, 2, 4, 3), make(1, 2, 4, 2))]


def _multi_head(make):
    weight, bias = make(12, 4) * 0.5, make(12)
    return [
        (make(3, 2, 4), make(2, 2, 4), make(2, 2, 4), 4, 2, weight, bias, None, None, False, 0.0, make(4, 4), make(4)),
        (
            make(3, 4),
            make(2, 4),
            make(2, 4),
            4,
            1,
            weight,
            None,
            None,
            None,
            True,
            0.0,
            make(4, 4),
            None,
            {"need_weights": False},
        ),
        (
            make(3, 2, 4),
            make(2, 2, 4),
            make(2, 2, 4),
            4,
            2,
            weight,
            bias,
            make(1, 1, 4),
            make(1, 1, 4),
            False,
            0.0,
            make(4, 4),
            make(4),
        ),
    ]


RECORDS = [
    record("nn.functional.scaled_dot_product_attention", _samples, _attention, errors=_wrong_sizes, dtypes=FLOATS),
    record(
        "_scaled_dot_product_attention_math",
        lambda make: [_samples(make)[0], _samples(make)[1], _samples(make)[2]],
        _attention,
        project=lambda result: result[0],
        dtypes=FLOATS,
    ),
    record(
        "_scaled_dot_product_flash_attention_for_cpu",
        lambda make: [
            (make(1, 2, 3, 2), make(1, 2, 4, 2), make(1, 2, 4, 2)),
            (make(2, 1, 3, 2), make(2, 1, 3, 2), make(2, 1, 3, 2), 0.0, True),
        ],
        lambda q, k, v, dropout_p=0.0, is_causal=False: _attention(q, k, v, is_causal=is_causal),
        project=lambda result: result[0],
        dtypes=FLOATS,
        no_gradgrad="its backward is a kernel without a derivative; the public function takes another road then",
    ),
    record(
        "_safe_softmax",
        lambda make: [(make(2, 3), 1), (make(3, 2, layout="columns"), 0)],
        lambda x, dim: np.exp(x) / np.exp(x).sum(dim, keepdims=True),
        dtypes=FLOATS,
    ),
    record(
        "nn.functional.multi_head_attention_forward",
        _multi_head,
        operators=(),
        dtypes=FLOATS,
        errors=lambda make: [
            (
                (RuntimeError, AssertionError),
                "",
                make(3, 2, 4),
                make(2, 2, 4),
                make(2, 2, 4),
                4,
                3,
                make(12, 4),
                None,
                None,
                None,
                False,
                0.0,
                make(4, 4),
                None,
            )
        ],
    ),
]
