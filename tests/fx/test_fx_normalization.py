"""Arguments of calls in one form, and the manager of passes."""

from __future__ import annotations

import pytest

import minitorch
from minitorch import fx, nn
from minitorch.fx.operator_schemas import normalize_function, normalize_module
from minitorch.fx.passes.infra.pass_base import PassBase, PassResult
from minitorch.fx.passes.infra.pass_manager import (
    PassManager,
    pass_result_wrapper,
    this_before_that_pass_constraint,
)

T = minitorch.Tensor
aten = minitorch.ops.aten


@pytest.mark.parametrize(
    ("target", "args", "kwargs", "expected"),
    [
        (nn.functional.relu, ("x",), {}, (("x",), {"inplace": False})),
        (nn.functional.dropout, (), {"p": 0.1, "input": "x"}, ((), {"input": "x", "p": 0.1, "training": True, "inplace": False})),
        (minitorch.cat, (["x"],), {}, ((["x"],), {"dim": 0})),
        (aten.add.Tensor, ("x", 1), {}, (("x", 1), {"alpha": 1})),
        (aten.add.Tensor, (), {"other": 1, "self": "x"}, ((), {"self": "x", "other": 1, "alpha": 1})),
        (aten.softmax.int, ("x",), {"dim": 1}, (("x",), {"dim": 1, "dtype": None})),
        (minitorch.sin, (), {"input": "x"}, ((), {"input": "x"})),
        (minitorch.exp, ("x", "y"), {}, None),
        (aten.uniform_.default, ("x", 0.0, 1.0), {}, None),  # it has an argument called `from`
        (max, ("x",), {}, ValueError),
    ],
)
def test_functions(target, args, kwargs, expected):
    if expected is ValueError:
        with pytest.raises(ValueError, match="signature"):
            normalize_function(target, args, kwargs)
        return
    found = normalize_function(target, args, kwargs)
    assert found == expected
    if found is not None:
        by_name = normalize_function(target, args, kwargs, normalize_to_only_use_kwargs=True)
        assert by_name.args == ()
        assert normalize_function(target, *by_name) == by_name


@pytest.mark.parametrize(
    ("types", "names"),
    [
        ((T, int), {"input": "x", "dim": 1}),
        ((T,), {"input": "x"}),
    ],
)
def test_types_choose_the_overload(types, names):
    args = ("x", 1)[: len(types)]
    with pytest.raises(RuntimeError, match="the schema match was ambiguous"):
        normalize_function(minitorch.max, ("x", 1), {})
    found = normalize_function(minitorch.max, args, {}, types, normalize_to_only_use_kwargs=True)
    assert names.items() <= found.kwargs.items()


def test_types_that_no_overload_takes():
    assert normalize_function(aten.add, ("x", "y"), {}, (T, T)).kwargs == {"alpha": 1}
    assert normalize_function(aten.mul, ("x", "y"), {}, (T, str)) is None
    assert normalize_function(aten.sum, ("x", [1]), {}, (T, list[int])).kwargs["keepdim"] is False


def test_normalized_calls_compute_the_same():
    """Every call of an operator in a traced model can be written by name."""
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
    from minitorch.fx.experimental.proxy_tensor import make_fx

    x = minitorch.randn(2, 1, 4, 4)
    module = make_fx(model.eval())(x)
    expected = module(x)
    for node in module.graph.nodes:
        if node.op == "call_function" and isinstance(node.target, type(aten.add.Tensor)):
            node.args, node.kwargs = node.normalized_arguments(module, normalize_to_only_use_kwargs=True)
            assert node.args == ()
    module.recompile()
    minitorch.testing.assert_close(module(x), expected)


def test_modules():
    root = nn.Sequential(nn.Linear(2, 2))
    assert normalize_module(root, "0", ("x",)) == (("x",), {})
    assert normalize_module(root, "0", ("x",), normalize_to_only_use_kwargs=True) == ((), {"input": "x"})
    with pytest.raises(RuntimeError, match="node with target missing but root did not have that target"):
        normalize_module(root, "missing", ())

    class Own(nn.Module):
        def forward(self, x):
            return x

    assert normalize_module(nn.Sequential(Own()), "0", ("x",)) is None
    graph = fx.symbolic_trace(root).graph
    (call,) = graph.find_nodes(op="call_module")
    assert call.normalized_arguments(root, normalize_to_only_use_kwargs=True).kwargs == {"input": call.args[0]}
    assert next(iter(graph.nodes)).normalized_arguments(root) is None


# ---------------------------------------------------------------- passes in order


def replace_relu(module):
    for node in module.graph.find_nodes(op="call_function", target=minitorch.relu):
        node.target = minitorch.exp


class ExpToSin(PassBase):
    """Checks that there is something to do, and that it was done."""

    def call(self, graph_module):
        (node,) = graph_module.graph.find_nodes(op="call_function", target=minitorch.exp)
        node.target = minitorch.sin
        return PassResult(graph_module, True)

    def requires(self, graph_module):
        if not graph_module.graph.find_nodes(op="call_function", target=minitorch.exp):
            raise ValueError("nothing to replace")

    def ensures(self, graph_module):
        assert not graph_module.graph.find_nodes(op="call_function", target=minitorch.exp)


def test_passes_run_in_the_order_of_their_constraints():
    first, second = pass_result_wrapper(replace_relu), ExpToSin()
    manager = PassManager([second, first], [this_before_that_pass_constraint(first, second)])
    with pytest.raises(RuntimeError, match="Expected replace_relu before ExpToSin"):
        manager.validate_constraints()
    seen = []
    manager.add_checks(lambda module: seen.append(len(module.graph.nodes)))
    result = manager(fx.symbolic_trace(lambda x: minitorch.relu(x)))
    assert result.modified
    assert result.graph_module(minitorch.zeros(1)).tolist() == [0.0]
    assert manager.passes == [first, second]
    assert seen == [3, 3]
    manager.add_constraint(this_before_that_pass_constraint(second, first))
    with pytest.raises(RuntimeError, match="Circular dependency detected within the passes"):
        manager.solve_constraints()


def test_a_pass_that_fails_is_named():
    manager = PassManager([pass_result_wrapper(lambda module: None)])
    manager.add_pass(ExpToSin())
    with pytest.raises(RuntimeError, match=r"running the pass ExpToSin after \[<lambda>\]: nothing to replace"):
        manager(fx.symbolic_trace(lambda x: x))
    with pytest.raises(RuntimeError, match="must return a PassResult or None, got int"):
        PassManager([lambda module: 3])(fx.symbolic_trace(lambda x: x))

    def refuse(module):
        raise ValueError("not like this")

    checked = PassManager([lambda module: None], run_checks_after_each_pass=True)
    checked.add_checks(lambda module: None)
    assert checked(fx.symbolic_trace(lambda x: x)).modified is False
    checked.add_checks(refuse)
    with pytest.raises(ValueError, match="not like this"):
        checked(fx.symbolic_trace(lambda x: x))


def test_steps_end_when_nothing_changes():
    counts = []

    def count(module):
        counts.append(1)
        return PassResult(module, len(counts) < 3)

    assert PassManager([count], steps=10)(fx.symbolic_trace(lambda x: x)).modified
    assert len(counts) == 3
