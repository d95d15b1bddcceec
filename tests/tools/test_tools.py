"""``python -m minitorch.tools``."""

from __future__ import annotations

import pytest

from minitorch.tools.__main__ import coverage, main, missing, where


def test_where_shows_kernels_with_their_files():
    text = where("mul.Tensor")
    assert text.startswith("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor\n")
    keys = {line.split()[0]: line.split()[-1] for line in text.splitlines()[1:]}
    assert {"CPU", "Meta", "Autograd"} <= keys.keys()
    assert "autograd/derivatives/pointwise.py:" in keys["Autograd"]


def test_where_shows_all_overloads_of_a_name():
    assert {"aten::sum(", "aten::sum.dim_IntList("} <= {
        line.partition("Tensor self")[0] for line in where("sum").splitlines()
    }


def test_where_of_an_unknown_operator(capsys):
    assert main(["where", "mul.Nothing"]) == 1
    assert "there is no operator 'mul.Nothing'; similar names: aten::" in capsys.readouterr().err


def test_coverage_counts_every_operator_once():
    lines = coverage().splitlines()
    total = int(lines[0].split()[0])
    rows = {parts[0]: list(map(int, parts[1:])) for parts in map(str.split, lines[3:8])}
    assert all(sum(counts) == total for counts in rows.values())
    assert rows["CPU"][2] == len(missing("CPU"))


def test_coverage_of_an_unknown_key(capsys):
    with pytest.raises(SystemExit):
        main(["nothing"])
    assert main(["coverage", "Nothing"]) == 1
    assert "Nothing" in capsys.readouterr().err
