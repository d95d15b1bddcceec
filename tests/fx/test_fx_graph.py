"""Graphs: built, changed, checked, and the names of their nodes."""

from __future__ import annotations

import copy
import operator

import pytest

import minitorch
from minitorch import fx
from minitorch.core.pytree import tree_map
from minitorch.fx.node import map_aggregate
from minitorch.nn import functional as F


def small_graph():
    """Return a graph of ``relu(x) + y``, and its nodes."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.placeholder("y", default_value=1)
    relu = graph.call_function(minitorch.relu, (x,))
    add = graph.call_function(operator.add, (relu, y))
    return graph, (x, y, relu, add, graph.output(add))


def names(graph):
    return [node.name for node in graph.nodes]


def test_text_of_a_graph():
    graph, _ = small_graph()
    assert str(graph) == "\n".join(
        [
            "graph():",
            "    %x : [num_users=1] = placeholder[target=x]",
            "    %y : [num_users=1] = placeholder[target=y](default=1)",
            "    %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})",
            "    %add : [num_users=1] = call_function[target=operator.add](args = (%relu, %y), kwargs = {})",
            "    return add",
        ]
    )


def test_table_of_a_graph(capsys):
    small_graph()[0].print_tabular()
    assert capsys.readouterr().out == "\n".join(
        [
            "opcode         name    target        args       kwargs",
            "-------------  ------  ------------  ---------  ------",
            "placeholder    x       x             ()         {}",
            "placeholder    y       y             (1,)       {}",
            "call_function  relu    torch.relu    (x,)       {}",
            "call_function  add     operator.add  (relu, y)  {}",
            "output         output  output        (add,)     {}",
            "",
        ]
    )


@pytest.mark.parametrize(
    ("op", "target", "name"),
    [
        ("placeholder", "arg0_1", "arg0_1"),
        ("placeholder", "x_1", "x_1"),
        ("placeholder", "max", "max_1"),
        ("placeholder", "*args", "_args"),
        ("placeholder", "lambda", "lambda_1"),
        ("get_attr", "layer.0.weight", "layer_0_weight"),
        ("call_method", "__add__", "add"),
        ("call_function", minitorch.ops.aten.add.Tensor, "add_tensor"),
        ("call_function", minitorch.ops.aten.relu.default, "relu_default"),
        ("call_function", minitorch.ops.aten.relu, "relu"),
        ("call_function", operator.getitem, "getitem"),
        ("call_function", getattr, "getattr_1"),
        ("call_function", F.max_pool2d, "max_pool2d"),
        ("call_module", "0.conv-1", "_0_conv_1"),
        ("call_method", "batchNorm", "batch_norm"),
    ],
)
def test_names_are_made_of_targets(op, target, name):
    assert fx.Graph().create_node(op, target).name == name


def test_names_are_unique():
    graph = fx.Graph()
    made = [graph.call_function(minitorch.relu, (), name=name).name for name in ("a", "a", "a_1", "a", "a_7", "a")]
    assert made == ["a", "a_1", "a_2", "a_3", "a_7", "a_8"]


def test_users_follow_the_arguments():
    _, (x, y, relu, add, output) = small_graph()
    assert list(x.users) == [relu]
    assert relu.all_input_nodes == [x]
    add.args = (x, [y, {"a": (relu, x)}], slice(None, y))
    assert add.all_input_nodes == [x, y, relu]
    assert list(x.users) == [relu, add]
    add.kwargs = {"out": output}
    add.args = ()
    assert add.all_input_nodes == [output]
    assert list(relu.users) == []
    add.kwargs = {}
    add.args = (x,)
    add.update_arg(0, y)
    add.insert_arg(0, relu)
    add.update_kwarg("alpha", 2)
    assert (add.args, add.kwargs) == ((relu, y), {"alpha": 2})
    assert list(x.users) == [relu]
    with pytest.raises(AssertionError, match=r"idx 5 is not in \[0, 2\]"):
        add.insert_arg(5, x)


def test_arguments_are_immutable():
    _, (x, _, _, add, _) = small_graph()
    add.args = ([x], {"a": [1]})
    add.kwargs = {"b": 1}
    for change in (
        lambda: add.args[0].append(1),
        lambda: add.args[1].update(a=2),
        lambda: add.args[1]["a"].clear(),
        lambda: add.kwargs.pop("b"),
        lambda: add.kwargs.__setitem__("b", 2),
    ):
        with pytest.raises(TypeError, match="does not support mutation"):
            change()
    assert hash(add.args[1]) == hash(fx.immutable_dict({"a": fx.immutable_list([1])}))
    assert tree_map(lambda v: 0, add.args[1]) == {"a": [0]}


def test_map_aggregate_keeps_named_tuples():
    from collections import namedtuple

    Pair = namedtuple("Pair", "a b")
    result = map_aggregate((Pair(1, [2]), {"k": slice(3, 4)}), lambda v: v if v is None else v + 10)
    assert result == (Pair(11, [12]), {"k": slice(13, 14)})
    assert isinstance(result[0], Pair)


def test_replacing():
    graph, (x, y, relu, add, output) = small_graph()
    relu.meta["val"] = 3
    with graph.inserting_before(add):
        gelu = graph.call_function(F.gelu, (x,))
    assert names(graph) == ["x", "y", "relu", "gelu", "add", "output"]
    assert relu.replace_all_uses_with(gelu, propagate_meta=True) == [add]
    assert gelu.meta == {"val": 3}
    assert add.args == (gelu, y)
    assert relu.replace_all_uses_with(x) == []
    with pytest.raises(AssertionError, match="'gelu' has meta already: val"):
        x.replace_all_uses_with(gelu, propagate_meta=True)
    assert x.replace_all_uses_with(y, delete_user_cb=lambda user: user is gelu) == [gelu]
    assert list(x.users) == [relu]
    output.replace_input_with(add, gelu)
    assert output.args == (gelu,)
    graph.erase_node(add)
    graph.erase_node(relu)
    graph.lint()
    assert len(graph.nodes) == len(list(graph.nodes)) == 4


def test_erasing_refuses_what_is_used():
    graph, (x, *_) = small_graph()
    with pytest.raises(RuntimeError, match=r"Tried to erase Node x but it still had 1 users in the graph: relu"):
        graph.erase_node(x)
    other = fx.Graph().placeholder("x")
    with pytest.raises(RuntimeError, match="from wrong graph"):
        graph.erase_node(other)


def test_insert_points():
    graph, (x, _, relu, _, _) = small_graph()
    with graph.inserting_after(x):
        graph.call_method("a", (x,))
        graph.call_method("b", (x,))
    with graph.inserting_before():
        graph.placeholder("first")
    with graph.inserting_before(relu), graph.inserting_after():
        graph.call_method("last", (x,))
    assert names(graph) == ["first", "x", "a", "b", "y", "relu", "add", "output", "last"]
    relu.append(x)
    x.prepend(next(iter(graph.nodes)))
    assert names(graph) == ["a", "b", "y", "relu", "first", "x", "add", "output", "last"]
    assert [n.name for n in reversed(graph.nodes)] == names(graph)[::-1]
    assert graph.nodes.__iter__().__next__().next.name == "b"
    with pytest.raises(AssertionError, match="another graph"):
        graph.inserting_before(fx.Graph().placeholder("x"))


def test_nodes_compare_by_place():
    import random

    numbers = random.Random(0)
    graph = fx.Graph()
    nodes = [graph.placeholder("x")]
    for _ in range(300):  # inserted anywhere, some moved and some erased
        place = numbers.choice(nodes)
        with graph.inserting_after(place) if numbers.random() < 0.5 else graph.inserting_before(place):
            nodes.append(graph.call_method("m"))
        if numbers.random() < 0.3:
            numbers.choice(nodes).append(numbers.choice(nodes))
        if numbers.random() < 0.2:
            graph.erase_node(nodes.pop(numbers.randrange(len(nodes))))
    order = list(graph.nodes)
    assert sorted(nodes) == order
    assert all(a < b and b > a and a <= b and not b <= a for a, b in zip(order, order[1:], strict=False))
    assert graph.find_nodes(op="call_method") == [n for n in order if n.op == "call_method"]


def test_finding_nodes():
    graph, (x, y, relu, add, output) = small_graph()
    assert graph.find_nodes(op="placeholder") == [x, y]
    assert graph.find_nodes(op="placeholder", target="y") == [y]
    assert graph.find_nodes(op="call_function", target=minitorch.relu) == [relu]
    assert graph.find_nodes(op="call_function", target=minitorch.exp) == []
    relu.target = minitorch.exp
    assert graph.find_nodes(op="call_function", target=minitorch.exp) == [relu]
    assert graph.find_nodes(op="call_function", target=minitorch.relu) == []
    graph.erase_node(output)
    graph.erase_node(add)
    assert graph.find_nodes(op="call_function", target=operator.add) == []
    with pytest.raises(AssertionError, match="needs a target"):
        graph.find_nodes(op="call_function")
    with pytest.raises(AssertionError, match="must be an output, got 'exp'|must be an output, got 'relu'"):
        graph.output_node()


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda g, n: n[2].append(n[0]), r"Argument 'x' of Node 'relu' was used before it has been defined"),
        (lambda g, n: setattr(n[3], "args", (fx.Graph().placeholder("z"),)), "'z' of Node 'add' does not belong"),
        (lambda g, n: setattr(n[3], "name", "relu"), "Node redefined name relu!"),
        (lambda g, n: setattr(n[3], "op", "jump"), "unknown opcode jump"),
    ],
)
def test_lint_finds(break_it, message):
    graph, nodes = small_graph()
    graph.lint()
    break_it(graph, nodes)
    with pytest.raises(RuntimeError, match=message):
        graph.lint()


def test_lint_asks_the_owning_module():
    graph = fx.Graph()
    graph.output(graph.call_module("layer", (graph.placeholder("x"),)))
    module = fx.GraphModule({"layer": minitorch.nn.ReLU()}, graph)
    graph.lint()
    del module.layer
    with pytest.raises(RuntimeError, match="Node layer target layer references nonexistent attribute layer"):
        graph.lint()
    module.layer = 3
    with pytest.raises(RuntimeError, match="does not reference an nn.Module"):
        graph.lint()


def test_dead_code():
    aten = minitorch.ops.aten
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(minitorch.exp, (graph.call_function(minitorch.relu, (x,)),))
    graph.call_function(aten.add_.Tensor, (x, 1))
    graph.call_function(aten.rand.default, ([2],))
    graph.call_function(minitorch.rand, (2,))
    graph.call_function(operator.setitem, (x, 0, 1))
    graph.call_function(minitorch._assert, (x, "message"))
    graph.call_function(aten.add.Tensor, (x, 1))
    graph.output(x)
    kept = ["x", "add__tensor", "rand_default", "rand", "setitem", "_assert", "output"]
    assert graph.eliminate_dead_code()
    assert names(graph) == kept
    assert not graph.eliminate_dead_code()
    assert graph.eliminate_dead_code(lambda node: node.op in ("placeholder", "output"))
    assert names(graph) == ["x", "output"]


def test_dead_code_with_marked_functions_and_modules():
    def log(x):
        return None

    assert fx.has_side_effect(log) is log
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(log, (x,))
    graph.call_module("pure", (x,))
    graph.call_module("impure", (x,))
    graph.output(x)
    with pytest.raises(AssertionError, match="no owning module"):
        graph.eliminate_dead_code()
    impure = minitorch.nn.ReLU()
    impure._is_impure = True
    fx.GraphModule({"pure": minitorch.nn.ReLU(), "impure": impure}, graph)
    graph.eliminate_dead_code()
    assert names(graph) == ["x", "log", "impure", "output"]


def test_copies():
    graph, (x, y, relu, _, _) = small_graph()
    relu.meta["val"] = 1
    copied = copy.deepcopy(graph)
    assert str(copied) == str(graph)
    assert not set(copied.nodes) & set(graph.nodes)
    assert [n.meta for n in copied.nodes] == [n.meta for n in graph.nodes]
    other = fx.Graph()
    a = other.placeholder("a")
    result = other.graph_copy(graph, {x: a, y: a})
    other.output(result)
    assert str(other).splitlines()[-2:] == [
        "    %add : [num_users=1] = call_function[target=operator.add](args = (%relu, %a), kwargs = {})",
        "    return add",
    ]
    value, node = fx.Graph().graph_copy(graph, {}, return_output_node=True)
    assert (str(value), node.op) == ("add", "output")


def test_long_graphs_are_copied_without_recursion():
    graph = fx.Graph()
    x = graph.placeholder("x")
    for _ in range(3000):
        x = graph.call_function(operator.add, (x, 1))
    graph.output(x)
    module = copy.deepcopy(fx.GraphModule({}, graph))
    assert module(1) == 3001


def test_wrong_nodes():
    graph = fx.Graph()
    with pytest.raises(AssertionError, match="unknown op 'call'"):
        graph.create_node("call", "f")
    with pytest.raises(ValueError, match="the target of a call_function must be callable, got 'f' of type str"):
        graph.call_function("f")
    with pytest.raises(ValueError, match="the target of a call_method must be a str"):
        graph.create_node("call_method", minitorch.relu)
    with pytest.raises(AssertionError, match="args must be a tuple, got list"):
        graph.create_node("call_method", "f", [1])


def test_hooks_of_the_owning_module():
    graph, (x, y, relu, add, _) = small_graph()
    module = fx.GraphModule({}, graph)
    seen = []
    module._create_node_hooks.append(lambda node: seen.append(("create", node.name)))
    module._erase_node_hooks.append(lambda node: seen.append(("erase", node.name)))
    module._replace_hooks.append(lambda old, new, user: seen.append((old.name, new, user.name)))
    with graph.inserting_before(add):
        exp = graph.call_function(minitorch.exp, (x,))
    relu.replace_all_uses_with(exp)
    graph.erase_node(relu)
    exp._rename("other")
    assert seen == [("create", "exp"), ("relu", "exp", "add"), ("erase", "relu"), ("exp", "other", "add")]
    assert (exp.name, list(y.users)) == ("other", [add])


def test_names_where_pytorch_has_them():
    from minitorch.fx import graph, graph_module, interpreter, node
    from minitorch.fx.codegen import PyTreeCodeGen, PyTreeInfo

    assert node._get_qualified_name(minitorch.relu) == "torch.relu"
    assert (graph._PyTreeCodeGen, graph._PyTreeInfo) == (PyTreeCodeGen, PyTreeInfo)
    assert graph_module._get_attr(minitorch.nn.Linear(1, 1), "weight").shape == (1, 1)
    assert interpreter.Transformer is fx.Transformer
    assert not hasattr(interpreter, "Nothing")
