"""What the tests over `op_db` share."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch as mt
from minitorch.testing import assert_close
from minitorch.testing.op_db import op_db

DOUBLE = {"float16": np.float64, "bfloat16": np.float64, "float32": np.float64, "complex64": np.complex128}
# Of values that were computed by another road; of half formats one rounding of the inputs counts too.
TOLERANCES = {
    "float64": (1e-7, 1e-9), "float32": (2e-5, 2e-5), "float16": (4e-3, 4e-3), "bfloat16": (3e-2, 3e-2),
    "complex128": (1e-7, 1e-9), "complex64": (2e-5, 2e-5),
}  # fmt: skip


def over(records=op_db, dtypes=None, only=lambda record: True):
    """Return the mark that runs a test over records, and over dtypes if `dtypes(record)` gives some."""
    cases = []
    for record in records:
        if not only(record):
            continue
        if dtypes is None:
            cases.append(pytest.param(record, id=record.name))
        else:
            cases += [pytest.param(record, name, id=f"{record.name}-{name}") for name in dtypes(record)]
    names = "record" if dtypes is None else ("record", "dtype_name")

    def mark(test):
        return pytest.mark.op_db(pytest.mark.parametrize(names, cases)(test))

    return mark


def first_dtype(record):
    """Return the dtype for tests that need only one."""
    return getattr(mt, record.dtypes[0])


def call(record, sample, function=None):
    """Call an operator on a sample, seeded if it draws random numbers."""
    function = record.function if function is None else function
    if not record.random:
        return function(*sample.args, **sample.kwargs)
    with mt.random.fork_rng():
        mt.manual_seed(0)
        return function(*sample.args, **sample.kwargs)


def outputs(result) -> list:
    """Return the results of a call as a flat list."""
    if isinstance(result, (tuple, list)):
        return [item for part in result for item in outputs(part)]
    return [result]


def projected(record, result):
    """Return what of a result can be compared."""
    return result if record.project is None else record.project(result)


def array(value):
    """Return a tensor as an array; other values as they are."""
    return value.numpy(force=True) if isinstance(value, mt.Tensor) else value


def assert_same(record, actual, expected, what, exact=False):
    """Assert that two results of an operator agree: to the bit, or within twice the tolerance of their dtype."""
    __tracebackhide__ = True
    actual, expected = outputs(projected(record, actual)), outputs(projected(record, expected))
    assert len(actual) == len(expected), f"{record.name}: {what}: {len(actual)} results, expected {len(expected)}"
    for i, (one, other) in enumerate(zip(actual, expected, strict=True)):
        if not isinstance(other, mt.Tensor):
            assert one == other or (one != one and other != other), f"{record.name}: {what}: result {i}"
            continue
        assert one.shape == other.shape, f"{record.name}: {what}: result {i} has shape {one.shape}, not {other.shape}"
        if record.random:
            assert one.dtype is other.dtype
            continue
        rtol, atol = TOLERANCES.get(other.dtype.name, (0, 0))
        scale = 0 if exact else record.tolerance
        assert_close(
            one,
            other,
            rtol=rtol * scale,
            atol=atol * scale,
            equal_nan=True,
            msg=lambda text, i=i: f"{record.name}: {what}: result {i}: {text}",
        )
