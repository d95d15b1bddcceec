"""What has no kernel runs on the CPU, and is written down; what may not, says so."""

import warnings

import pytest

import minitorch
from minitorch.backends import FallbackWarning, clear_fallbacks, fallback_policy, fallback_report
from minitorch.testing.conformance.helpers import check_equal, numbers, only_for_backends


@pytest.fixture(scope="module")
def unknown_operator():
    """An operator of the CPU that no backend can know."""
    library = minitorch.library.Library("conformance", "DEF")
    library.define("plus_one(Tensor x) -> Tensor")
    library.define("add_one_(Tensor(a!) x) -> Tensor(a!)")
    library.impl("plus_one", lambda x: x + 1, "CPU")
    library.impl("add_one_", lambda x: x.add_(1), "CPU")
    yield minitorch.ops.conformance
    library._destroy()


@pytest.fixture(autouse=True)
def empty_ledger(device):
    only_for_backends(device)
    clear_fallbacks()
    yield
    clear_fallbacks()


def test_allowed(device, unknown_operator):
    x = numbers(2, 3).to(device)
    with fallback_policy("allow"), warnings.catch_warnings():
        warnings.simplefilter("error")
        check_equal(unknown_operator.plus_one(x), numbers(2, 3) + 1, device)
        check_equal(unknown_operator.plus_one(x.t()), numbers(2, 3).t() + 1, device)
    rows = [row for row in fallback_report() if row.operator == "conformance::plus_one"]
    assert sum(row.count for row in rows) == 2
    assert {row.device for row in rows} == {str(device)}


def test_what_is_written_goes_back(device, unknown_operator):
    x, host = numbers(2, 3).to(device), numbers(2, 3)
    with fallback_policy("allow"):
        for part in (x, x[1], x[:, ::2]):
            assert unknown_operator.add_one_(part) is part
        for part in (host, host[1], host[:, ::2]):
            part.add_(1)
    check_equal(x, host, device)


def test_warned_of_once(device, unknown_operator):
    x = numbers(2).to(device)
    with fallback_policy("warn"):
        with pytest.warns(FallbackWarning, match="conformance::plus_one"):
            unknown_operator.plus_one(x)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            unknown_operator.plus_one(x)


def test_refused(device, unknown_operator):
    x = numbers(2).to(device)
    with fallback_policy("error"):
        with pytest.raises(NotImplementedError, match="plus_one.*fallback policy is 'error'"):
            unknown_operator.plus_one(x)
        # What is made of memory and copies alone needs no kernel.
        y = minitorch.zeros(3, device=device)
        y[1:].copy_(numbers(2))
        assert y.view(1, 3).t()[2].item() == numbers(2)[1].item()
    assert len(fallback_report()) == 0
