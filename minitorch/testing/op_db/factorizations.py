"""Records of further factorizations."""

from __future__ import annotations

import minitorch
from minitorch.testing.op_db.record import FLOATS
from minitorch.testing.op_db.samples import record


def _symmetric(make):
    return [(make.positive_definite(3, 3),), (make.positive_definite(2, 2, 2),)]


def _solved(make):
    factors, pivots = minitorch.linalg.ldl_factor(make.positive_definite(3, 3).detach())
    return [(factors, pivots, make(3, 2, grad=False))]


RECORDS = [
    record("linalg.ldl_factor", _symmetric, dtypes=FLOATS, autograd=False),
    record("linalg.ldl_factor_ex", _symmetric, dtypes=FLOATS, autograd=False),
    record("linalg.ldl_solve", _solved, dtypes=FLOATS, autograd=False),
]
