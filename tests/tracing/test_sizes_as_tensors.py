"""Tensors made of symbolic sizes: by `tensor`, `as_tensor` and assignments."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch.compiler import aot_function, nop
from minitorch.fx.experimental.proxy_tensor import make_fx

pytest.importorskip("sympy")


def by_mask(x):
    y = x.clone()
    y[y > 0] = x.shape[0]
    return y


def by_row(x):
    y = x.clone()
    y[0] = x.shape[1]
    return y


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + mt.tensor(x.shape[0]),
        lambda x: mt.tensor(x.shape[0] * 1.5),
        lambda x: mt.tensor(x.shape[0], dtype=mt.float64),
        lambda x: mt.as_tensor(x.shape[0]),
        by_mask,
        by_row,
    ],
)
def test_one_size_stays_a_symbol(function):
    graph = make_fx(function, tracing_mode="symbolic")(mt.ones(3, 4))
    for x in (mt.ones(3, 4), mt.ones(5, 6)):
        ours, theirs = graph(x), function(x)
        assert mt.equal(ours, theirs)
        assert ours.dtype is theirs.dtype


def test_sizes_among_other_numbers_become_what_they_are_in_this_call():
    def function(x):
        return x[mt.tensor([x.shape[0] - 1, 0])] * mt.tensor([[x.shape[1]], [2.0]])

    graphs = []
    compiled = aot_function(function, lambda graph, inputs: graphs.append(graph) or nop(graph, inputs), dynamic=True)
    for rows in (3, 5, 3):
        x = mt.arange(4.0 * rows).reshape(rows, 4)
        assert mt.equal(compiled(x), function(x))
    assert len(graphs) == 2  # the number of rows is guarded
