"""examples/gnn.py learns: the karate club on each device, and the grid where its package is installed."""

from __future__ import annotations

import importlib.util
from importlib.util import find_spec
from pathlib import Path

import pytest

import minitorch as mt

EXAMPLE = Path(__file__).parents[2] / "examples" / "gnn.py"


@pytest.fixture(scope="module")
def gnn():
    spec = importlib.util.spec_from_file_location("gnn_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_karate_club(gnn):
    pytest.importorskip("networkx")
    losses, accuracy = gnn.train(mt, "karate")
    assert losses[-1] < 0.01 * losses[0]
    assert accuracy >= gnn.ACCURACY["karate"]


@pytest.mark.skipif(find_spec("pandapower") is None, reason="the grid is a file of pandapower, which is not installed")
def test_the_european_grid(gnn, capsys):
    assert gnn.main(["--graph", "grid", "--epochs", "60"]) == 0
    assert "grid on cpu" in capsys.readouterr().out


def test_the_adjacency_matrix_is_normalized(gnn):
    """Of a cycle, where every node has degree 2 and itself, each row has three thirds; parallel edges count once."""
    edges = [(i, (i + 1) % 5) for i in range(5)] + [(0, 1)]
    adjacency = gnn.normalized_adjacency(mt, edges, 5)
    assert adjacency.layout is mt.sparse_csr
    assert adjacency._nnz() == 15
    mt.testing.assert_close(adjacency.values(), mt.full((15,), 1 / 3))
    mt.testing.assert_close(adjacency.to_dense(), adjacency.to_dense().t())
