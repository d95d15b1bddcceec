"""What all tests share: a guard against state left behind, the oracle, and which tests over `op_db` run.

Note [Slices of op_db]
    Each test over the records has the mark ``op_db``.  Of these a slice runs, unless pytest is told which
    tests are wanted (``-k``, or a test's address) or MINITORCH_OP_DB is ``all``.  The slice is the same each
    time; another MINITORCH_OP_DB_SEED turns to another one, and 0 to SLICES - 1 cover all.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
import zlib

import pytest

import minitorch
from minitorch.autograd.dual import level_count
from minitorch.dispatch.local_state import current
from minitorch.dispatch.transforms import interpreter_stack

SLICES = 4  # Note [Slices of op_db]


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
        "transforms": interpreter_stack(),
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


def pytest_runtest_setup(item):
    if item.get_closest_marker("oracle") and importlib.util.find_spec("torch") is None:
        pytest.skip("torch, the oracle, is not installed")


def wanted(item, seed: int) -> bool:
    """Return whether a test belongs to the slice of this run."""
    return zlib.crc32(item.name.encode()) % SLICES == seed % SLICES


def pytest_collection_modifyitems(config, items):
    chosen = bool(config.option.keyword) or any("::" in argument for argument in config.args)
    if chosen or os.environ.get("MINITORCH_OP_DB") == "all":
        return
    seed = int(os.environ.get("MINITORCH_OP_DB_SEED", "0"))
    left_out = [item for item in items if item.get_closest_marker("op_db") and not wanted(item, seed)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        left = set(left_out)
        items[:] = [item for item in items if item not in left]
