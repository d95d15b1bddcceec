"""Records of window functions."""

from __future__ import annotations

import numpy as np

from minitorch.testing.op_db.record import FLOATS
from minitorch.testing.op_db.samples import record


def _window(function):
    """Return the reference of a window: a periodic one is one longer, without its last value."""

    def reference(length, periodic=True, *parameters, dtype=None):
        if length <= 1:
            return np.ones(length)
        return function(length + 1, *parameters)[:-1] if periodic else function(length, *parameters)

    return reference


def _kaiser(length, beta=12.0):
    return np.kaiser(length, beta)


def _samples(*more):
    return lambda make: [(n, *rest, {"dtype": make.dtype}) for n, *rest in ((5,), (4, False), (1,), (0,), *more)]


RECORDS = [
    record(
        f"{name}_window",
        _samples(*more),
        _window(function),
        dtypes=FLOATS,
        autograd=False,
        errors=lambda make: [(RuntimeError, "negative", -1)],
    )
    for name, function, more in (
        ("bartlett", np.bartlett, ()),
        ("blackman", np.blackman, ()),
        ("hann", np.hanning, ()),
        ("hamming", np.hamming, ()),
        ("kaiser", _kaiser, ((4, True, 8.0),)),
    )
]
