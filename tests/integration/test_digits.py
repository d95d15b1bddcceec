"""The demo: it learns the digits, and its losses are PyTorch's from the same seed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import minitorch

pytest.importorskip("sklearn", reason="scikit-learn carries the digits")

SCRIPT = Path(__file__).parents[2] / "examples" / "digits.py"


@pytest.fixture(scope="module")
def digits():
    spec = importlib.util.spec_from_file_location("digits_example", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_few_epochs_learn_the_digits(digits):
    _, losses, accuracies = digits.train(minitorch, epochs=3)
    assert losses[-1] < 0.3 * losses[0]
    assert accuracies[-1] > 0.95


@pytest.mark.oracle
def test_the_first_fifty_losses_are_those_of_torch(digits, torch):
    _, ours, _ = digits.train(minitorch, max_steps=50)
    _, theirs, _ = digits.train(torch, max_steps=50)
    assert len(ours) == 50
    worst = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))
    assert worst < 1e-3, worst
