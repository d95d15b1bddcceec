"""Records of the operators below `embedding_bag`."""

from __future__ import annotations

import numpy as np

import minitorch
from minitorch.testing.op_db.record import FLOATS
from minitorch.testing.op_db.samples import record


def _renormed(weight, indices, max_norm, norm_type):
    norms = (np.abs(weight) ** norm_type).sum(1, keepdims=True) ** (1 / norm_type)
    used = np.isin(np.arange(len(weight)), indices)[:, None]
    return np.where(used & (norms > max_norm), weight * (max_norm / (norms + 1e-7)), weight)


def _bags(weight, indices, offsets, by_freq=False, mode=0):
    bags = np.split(weight[indices], offsets[1:])
    return np.stack([(np.sum, np.mean, np.max)[mode](bag, 0) for bag in bags])


def _samples(make):
    offsets = minitorch.tensor([0, 2])
    return [
        (make(4, 3), make.indices(5, high=4), offsets),
        (make(4, 2), make.indices(4, high=4), offsets, False, 1),
        (make(4, 2), make.indices(4, high=4), offsets, False, 2),
    ]


RECORDS = [
    record(
        "embedding_renorm_",
        lambda make: [(make(4, 3, grad=False), make.indices(3, high=4), 1.0, 2.0)],
        _renormed,
        dtypes=FLOATS,
        autograd=False,
        no_inplace="it is one",
        no_meta="looks at the indices",
    ),
    *(
        record(
            name,
            _samples,
            _bags,
            dtypes=FLOATS,
            project=lambda result: result[0],
            no_meta="looks at the offsets",
            no_out="gives what only backward needs besides",
        )
        for name in ("embedding_bag", "_embedding_bag")
    ),
]
