"""Quantized operators against PyTorch: integers equal, or within one unit where its arithmetic is another."""

from __future__ import annotations

import warnings

import pytest
from quantized_cases import CASES, UNITS, Arguments, assert_alike, facts

import minitorch as mt



torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore:.*:UserWarning")]


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_torch(name):
    for seed in range(4):
        expected = facts(CASES[name](Arguments(torch, seed)))
        found = facts(CASES[name](Arguments(mt, seed)))
        assert_alike(found, expected, UNITS[name])
