"""What all tests share: a guard against state left behind, and the oracle."""

from __future__ import annotations

import warnings

import pytest

import minitorch
from minitorch.autograd.dual import level_count
from minitorch.dispatch.local_state import current


def state_of_thread() -> dict:
    """Return what a test must leave as it found it."""
    state = current()
    return {
        "included": state.included,
        "excluded": state.excluded,
        "grad mode": state.grad_enabled,
        "inference mode": state.inference_mode,
        "trace": state.trace,
        "anomaly": state.anomaly,
        "saved tensor hooks": state.saved_tensor_hooks,
        "function modes": state.function_modes or None,
        "dispatch modes": state.dispatch_modes or None,
        "forward grad mode": state.forward_grad_enabled,
        "forward levels": level_count(),
        "default dtype": minitorch.get_default_dtype(),
    }


@pytest.fixture(autouse=True)
def thread_state_is_left_alone():
    before = state_of_thread()
    yield
    after = state_of_thread()
    changed = {k: (before[k], after[k]) for k in before if before[k] != after[k]}
    assert not changed, f"the test left thread-local state changed: {changed}"


@pytest.fixture(scope="session")
def torch():
    """PyTorch, the oracle; tests that use it are skipped where it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("torch", reason="torch, the oracle, is not installed")
