"""Every rule of the dispatcher's specification has a test that runs it (`probe_index`)."""

from __future__ import annotations

import ast
import importlib.util
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("probe_index", Path(__file__).with_name("probe_index.py"))
probe_index = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(probe_index)


def _numbered(letter: str, count: int) -> set[str]:
    return {f"{letter}{n}" for n in range(1, count + 1)}


# What the specification numbers in its sections 1 to 5 and 8, its tables of probes, and the rules of section 6 that
# the dispatcher keeps already.
RULES = (
    _numbered("K", 17)
    | _numbered("R", 20)
    | _numbered("T", 18)
    | _numbered("X", 14)
    | _numbered("S", 11)
    | _numbered("L", 17)
    | _numbered("O", 3)
    | _numbered("U", 7)
    | _numbered("A", 12)
    | _numbered("C", 10)
    | _numbered("D", 4)
    | _numbered("P", 14)
    | _numbered("V", 8)
    | _numbered("G", 9)
    | _numbered("F", 7)
    | _numbered("B", 7)
    | _numbered("M", 9)
    | _numbered("J", 5)
    | _numbered("Q", 3)
    | {"Q5"}
    | {"6.10 probe", "6.12 probe", "6.2 probe", "6.4 probe", "6.5 probe", "6.6 probe"}
    | {"K17 probe", "R10 probe", "R19 probe", "T7 table", "T18 probe", "X3 probe", "S8 probe"}
) - {"T7"}


@cache
def names_in(path: str) -> frozenset[str]:
    """Return the names of the test functions in a file."""
    tree = ast.parse((TESTS / path).read_text())
    return frozenset(
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


def test_every_rule_is_in_the_index():
    assert set(probe_index.INDEX) == RULES
    assert set(probe_index.LATER) <= RULES


@pytest.mark.parametrize("rule", sorted(RULES))
def test_the_tests_of_a_rule_exist(rule):
    tests = probe_index.INDEX[rule]
    assert tests, f"no test runs {rule}"
    for test in tests:
        path, _, name = test.partition("::")
        assert name in names_in(path), f"{rule}: there is no {test}"
