"""The type stubs say what the operator table says."""

from __future__ import annotations

import ast

import pytest

from minitorch.tools import stubs


def test_stubs_are_not_stale():
    outdated = [path.name for path in stubs.stale()]
    assert not outdated, f"{outdated} differ from the operator table: run python -m minitorch.tools.stubs"


@pytest.mark.parametrize("path", stubs.stubs(), ids=lambda p: p.name)
def test_stubs_are_python(path):
    ast.parse(path.read_text(encoding="utf-8"))


def test_out_overload_is_folded_into_the_functional_one():
    assert stubs.operator_lines("maximum", stubs.FUNCTION) == [
        "def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ..."
    ]


def test_method_takes_sizes_one_by_one():
    assert "def permute(self, *dims: _int) -> Tensor: ..." in stubs.operator_lines("permute", stubs.METHOD)


def test_named_results_are_named_tuples():
    lines = stubs.operator_lines("sort", stubs.METHOD)
    assert all(line.endswith("-> _values_indices: ...") for line in lines)
    assert "class _values_indices(NamedTuple):" in stubs.named_classes()


def test_unknown_annotations_become_any():
    assert stubs.annotation("Tensor | None") == "Tensor | None"
    assert stubs.annotation("dict[str, device_class]") == "_dict[_str, _device]"
    assert stubs.annotation("Elsewhere | None") == "Any"
