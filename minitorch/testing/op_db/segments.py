"""Records of reductions of segments."""

from __future__ import annotations

import numpy as np

import minitorch
from minitorch.testing.op_db.record import FLOATS
from minitorch.testing.op_db.samples import record


def _segments(x, reduce, lengths=None):
    parts = np.split(x, np.cumsum(lengths)[:-1])
    return np.stack(
        [{"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}[reduce](p, 0) for p in parts]
    )


RECORDS = [
    record(
        "segment_reduce",
        lambda make: [
            (make(5, 2), reduce, {"lengths": minitorch.tensor([2, 3])})
            for reduce in ("sum", "mean", "max", "min", "prod")
        ],
        _segments,
        dtypes=FLOATS,
        no_meta="looks at the lengths",
        no_out="its out= form is not public",
        no_gradgrad="its backward is a kernel without a derivative",
        no_forward="its backward is a kernel without a derivative",
    ),
]
