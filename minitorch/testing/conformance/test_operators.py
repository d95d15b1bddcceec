"""Every operator of `op_db`, in every dtype and layout: values, gradients, in-place and out= forms, errors."""

import pytest

from minitorch.testing.conformance.operators import check_operator


def test_operator(record, options, note_outcome):
    outcome = check_operator(record, options)
    note_outcome(outcome)
    if outcome.failures:
        pytest.fail(outcome.text(), pytrace=False)
