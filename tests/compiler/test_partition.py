"""Joint graphs cut in two, minimum cuts, and the clean-ups of functional graphs."""

from __future__ import annotations

import random

import numpy as np
import pytest

import minitorch as mt
import minitorch.nn.functional as F
from minitorch.compiler import (
    aot_export_joint_simple,
    capture_graphs,
    default_partition,
    merge_common_subexpressions,
    min_cut_rematerialization_partition,
    remove_dead_code,
)
from minitorch.compiler.max_flow import FlowNetwork
from minitorch.compiler.operators import is_cheap
from minitorch.fx.experimental.proxy_tensor import make_fx

aten = mt.ops.aten
X = mt.arange(12.0).sin().reshape(3, 4)


def names(module):
    return [n.target.basename for n in module.graph.nodes if hasattr(n.target, "basename")]


def placeholders(module):
    return [n.name for n in module.graph.find_nodes(op="placeholder")]


def leaf(tensor=X):
    return tensor.detach().clone().requires_grad_()


# -- partitions ----------------------------------------------------------------------------------------


def chain(x):
    return x.sin().sin().sin().sum()


def test_default_saves_what_eager_mode_saves():
    graphs = capture_graphs(chain, leaf())
    assert placeholders(graphs.backward) == ["primals_1", "sin", "sin_1", "tangents_1"]
    assert graphs.saved == ["primals_1", "sin", "sin_1"]
    assert graphs.saved_bytes == 2 * 48
    assert "sin" not in names(graphs.backward)


def test_min_cut_computes_cheap_operators_again():
    graphs = capture_graphs(chain, leaf(), partition_fn=min_cut_rematerialization_partition)
    assert placeholders(graphs.backward) == ["primals_1", "tangents_1"]
    assert graphs.saved_bytes == 0
    assert names(graphs.backward).count("sin") == 2


def test_min_cut_saves_the_smaller_value():
    graphs = capture_graphs(
        lambda x: (x.exp().sum(1, keepdim=True).tanh() * 2).sin(),
        leaf(),
        partition_fn=min_cut_rematerialization_partition,
    )
    assert "sum_1" in graphs.saved
    assert not {"exp", "tanh"} & set(graphs.saved) - {"exp"}
    assert graphs.saved_bytes < 48


def test_min_cut_never_repeats_what_is_random_or_expensive():
    w = mt.ones(4, 4)

    def f(x):
        y = F.dropout(x @ w, 0.5)
        return (y.exp() * mt.rand_like(y)).sin()

    graphs = capture_graphs(f, leaf(), partition_fn=min_cut_rematerialization_partition)
    again = names(graphs.backward)
    assert not {"bernoulli", "rand_like", "native_dropout"} & set(again)
    assert again.count("mm") == 1  # that of the gradient
    assert {"bernoulli", "rand_like"} <= set(names(graphs.forward))


def test_what_is_cheap_can_be_said():
    def only_views(node):
        return is_cheap(node) and node.target.is_view

    def partition(joint, inputs, **options):
        return min_cut_rematerialization_partition(joint, inputs, is_cheap=only_views, **options)

    graphs = capture_graphs(chain, leaf(), partition_fn=partition)
    assert graphs.saved == ["primals_1", "sin", "sin_1"]


def test_recomputed_values_come_just_before_their_use():
    graphs = capture_graphs(chain, leaf(), partition_fn=min_cut_rematerialization_partition)
    order = [n.name for n in graphs.backward.graph.nodes]
    assert order.index("expand") < order.index("sin_1") < order.index("cos")


def test_random_operators_of_the_backward_pass_stay_there():
    class Noise(mt.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad + mt.rand(3, 4)

    for partition in (default_partition, min_cut_rematerialization_partition):
        graphs = capture_graphs(lambda x: Noise.apply(x), leaf(), partition_fn=partition)
        assert "rand" not in names(graphs.forward)
        assert "rand" in names(graphs.backward)


def test_several_results_of_an_operator_are_saved_one_by_one():
    for partition in (default_partition, min_cut_rematerialization_partition):
        graphs = capture_graphs(lambda x: F.layer_norm(x, [4]).sin(), leaf(), partition_fn=partition)
        assert all(isinstance(n.meta["val"], mt.Tensor) for n in graphs.backward.graph.find_nodes(op="placeholder"))


def test_sizes_are_saved_in_the_place_of_tensors():
    pytest.importorskip("sympy")
    from minitorch.compiler import aot_function

    seen = []

    def compiler(module, examples):
        seen.append(module)
        return module

    for partition in (default_partition, min_cut_rematerialization_partition):
        seen.clear()
        f = aot_function(lambda x, w: (x.shape[0] * w).sum(), compiler, partition_fn=partition, dynamic=True)
        f(mt.ones(5, 7), leaf())
        assert "primals_1" not in placeholders(seen[1])


# -- minimum cuts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_cuts_are_minimal(seed):
    """As SciPy's maximum flow."""
    sparse = pytest.importorskip("scipy.sparse")
    from scipy.sparse.csgraph import maximum_flow

    rng = random.Random(seed)
    count = 12
    capacities = np.zeros((count, count), dtype=np.int32)
    network = FlowNetwork()
    for a in range(count):
        for b in range(count):
            if a != b and rng.random() < 0.3:
                capacities[a, b] = rng.randint(1, 20)
                network.add_edge(a, b, int(capacities[a, b]))
    value, near = network.minimum_cut(0, count - 1)
    assert value == maximum_flow(sparse.csr_matrix(capacities), 0, count - 1).flow_value
    far = set(range(count)) - near
    assert 0 in near
    assert count - 1 in far
    assert value == sum(capacities[a, b] for a in near for b in far)


def test_unbounded_flows_are_refused():
    network = FlowNetwork()
    network.add_edge("s", "a")
    network.add_edge("a", "t")
    with pytest.raises(ValueError, match="no cut is finite"):
        network.minimum_cut("s", "t")


# -- clean-ups -----------------------------------------------------------------------------------------------


def test_dead_code_goes_and_random_operators_stay():
    def f(x):
        x.exp()
        mt.rand(2)
        x.clone().add_(1)
        return x.sin()

    graph = make_fx(f)(X).graph
    assert remove_dead_code(graph)
    assert [n.target.basename for n in graph.nodes if n.op == "call_function"] == ["rand", "clone", "add_", "sin"]
    assert not remove_dead_code(graph)


def merged(f, *args):
    graph = make_fx(f)(*args)
    count = merge_common_subexpressions(graph.graph)
    graph.graph.lint()
    graph.recompile()
    mt.testing.assert_close(graph(*args), f(*args))
    return count


def test_what_is_computed_twice_is_merged():
    assert merged(lambda x: x.sin() * (x.sin() + 1), X) == 1
    assert merged(lambda x: (x.t().exp() * x.t().exp()).sum() + x.t().exp().sum(), X) == 4


def test_what_only_looks_equal_is_not_merged():
    assert merged(lambda x: (x + 1) * (x + 1.0), mt.arange(3)) == 0
    assert merged(lambda x: mt.copysign(x, 0.0) + mt.copysign(x, -0.0), X) == 0
    assert merged(lambda x: x.sum(0) + x.sum([0, 1]), X) == 0

    def random_numbers(x):
        return x + mt.rand(3, 4) * mt.rand(3, 4)

    graph = make_fx(random_numbers)(X)
    assert merge_common_subexpressions(graph.graph) == 0

    def uninitialised(x):
        return mt.empty(3).fill_(1) + mt.empty(3).fill_(2)

    assert merge_common_subexpressions(make_fx(uninitialised)(X).graph) == 0


def test_results_keep_memory_of_their_own():
    assert merged(lambda x: (x + 1, x + 1), X) == 0
    assert merged(lambda x: ((x + 1).t(), x + 1, (x + 1).exp().sum() + (x + 1).exp().sum()), X) == 3


# -- joint graphs by themselves ---------------------------------------------------------------------------------


def test_joint_graphs():
    joint = aot_export_joint_simple(lambda x: x.exp() * 2, (leaf(),), trace_joint=True)
    (values, gradients) = joint([X], [mt.ones(3, 4)])
    mt.testing.assert_close(values, [X.exp() * 2])
    mt.testing.assert_close(gradients, [X.exp() * 2])
    forward = aot_export_joint_simple(lambda x: x.exp() * 2, (leaf(),), trace_joint=False)
    assert placeholders(forward) == ["arg0_1"]
    with pytest.raises(RuntimeError, match="changes an argument"):
        aot_export_joint_simple(lambda x: x.add_(1), (X.clone(),), trace_joint=False)
    with pytest.raises(RuntimeError, match="must require a gradient"):
        aot_export_joint_simple(lambda x: x.exp(), (X,), trace_joint=True)
