"""Records of what gradient scaling does around an optimizer's step."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import minitorch
from minitorch.testing.op_db.record import FLOATS, HALVES, OpRecord
from minitorch.testing.op_db.samples import record

IN_PLACE = "the tensors that it writes to are copies"


def _library_of(tensor: Any) -> Any:
    """Return the library of a tensor: the tests compare with another one's operators of the same name."""
    return sys.modules[type(tensor).__module__.partition(".")[0]]


def _unscaled(grads: Any, found_inf: Any, inv_scale: Any) -> list:
    """Return what the operator leaves in the gradients and in `found_inf`."""
    grads, found_inf = [grad.clone() for grad in grads], found_inf.clone()
    _library_of(found_inf)._amp_foreach_non_finite_check_and_unscale_(grads, found_inf, inv_scale)
    return [*grads, found_inf]


def _updated(scale: Any, growth_tracker: Any, *rest: Any) -> list:
    """Return the scale and the number of good steps that the operator leaves."""
    scale, growth_tracker = scale.clone(), growth_tracker.clone()
    _library_of(scale)._amp_update_scale_(scale, growth_tracker, *rest)
    return [scale, growth_tracker]


def _single(value: float, dtype: Any = minitorch.float32) -> Any:
    return minitorch.tensor(value, dtype=dtype)


def _reference_of_unscaled(grads, found_inf, inv_scale):
    bad = any(not np.isfinite(grad).all() for grad in grads)
    return [*[grad * inv_scale for grad in grads], np.ones_like(found_inf) if bad else found_inf]


def _reference_of_updated(scale, tracker, found_inf, growth, backoff, interval):
    if found_inf:
        return [scale * backoff, np.zeros_like(tracker)]
    if tracker + 1 == interval:
        return [scale * growth, np.zeros_like(tracker)]
    return [scale, tracker + 1]


RECORDS: list[OpRecord] = [
    record(
        "_amp_foreach_non_finite_check_and_unscale_",
        lambda make: [
            ([make(2, 3, grad=False), make(4, grad=False)], _single(0.0), _single(0.25)),
            ([make(3, 2, grad=False, layout="columns")], _single(1.0), _single(2.0)),
            ([make(3, grad=False), make(2, grad=False) * float("inf")], _single(0.0), _single(0.5)),
        ],
        _reference_of_unscaled,
        call=_unscaled,
        autograd=False,
        no_inplace=IN_PLACE,
        errors=lambda make: [
            (RuntimeError, "", [make(2)], minitorch.zeros(2), _single(1.0)),
            (RuntimeError, "", [make(2)], _single(0.0), _single(1.0, minitorch.float64)),
            (NotImplementedError, "", [minitorch.ones(2, dtype=minitorch.int32)], _single(0.0), _single(1.0)),
        ],
        dtypes=FLOATS + HALVES,
    ),
    record(
        "_amp_update_scale_",
        lambda make: [
            (_single(8.0), _single(tracker, minitorch.int32), _single(found), 2.0, 0.5, 3)
            for tracker, found in ((0, 0.0), (2, 0.0), (1, 1.0), (2, 2.0))
        ],
        _reference_of_updated,
        call=_updated,
        autograd=False,
        no_inplace=IN_PLACE,
        errors=lambda make: [
            (RuntimeError, "", _single(1.0), _single(0, minitorch.int64), _single(0.0), 2.0, 0.5, 3),
            (RuntimeError, "", minitorch.ones(2), _single(0, minitorch.int32), _single(0.0), 2.0, 0.5, 3),
        ],
        dtypes=FLOATS[:1],
    ),
]
