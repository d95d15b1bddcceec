"""First and second derivatives of every operator, by its record in `minitorch.testing.op_db`."""

from __future__ import annotations

import pytest
from op_db_gradients import cases, double_dtypes, explained, weights
from op_db_helpers import op_db, over

from minitorch.autograd import gradcheck, gradgradcheck


@over(dtypes=double_dtypes, only=lambda record: record.autograd and not record.no_gradcheck)
def test_gradients(record, dtype_name):
    tried = 0
    for sample, function, inputs in cases(record, dtype_name):
        explained(record, sample, lambda: gradcheck(function, inputs, atol=record.grad_atol, rtol=record.grad_rtol))
        tried += 1
    assert tried, f"{record.name} has no sample with a tensor that requires grad"


@over(dtypes=double_dtypes, only=lambda record: record.autograd and not record.no_gradcheck and not record.no_gradgrad)
def test_second_derivatives(record, dtype_name):
    for sample, function, inputs in cases(record, dtype_name):
        explained(
            record, sample,
            lambda: gradgradcheck(
                function, inputs, grad_outputs=weights(function, inputs), atol=record.grad_atol, rtol=record.grad_rtol,
                fast_mode=True,
            ),
        )  # fmt: skip


@pytest.mark.parametrize("name", ["float64", "complex128"])
def test_a_wrong_formula_would_be_seen(name):
    """The road of these tests, walked with an operator whose gradient is wrong."""
    record = next(r for r in op_db if r.name == "sin")

    class Wrong:
        name, prepare, project, random = "wrong sin", None, None, False
        samples = record.samples

        @staticmethod
        def function(x):
            return x.sin() + x - x.detach()

    sample, function, inputs = next(cases(Wrong, name))
    with pytest.raises(Exception, match="Jacobian mismatch"):
        explained(Wrong, sample, lambda: gradcheck(function, inputs))
