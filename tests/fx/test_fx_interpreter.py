"""Interpreters, transformers, and meta that stays with what is made of a node."""

from __future__ import annotations

import weakref

import pytest

import minitorch
from minitorch import fx, nn
from minitorch.fx import traceback as fx_traceback


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.scale = nn.Parameter(minitorch.ones(2))

    def forward(self, x, power=2):
        return minitorch.relu(self.linear(x)).pow(power) * self.scale


def test_runs_every_kind_of_node():
    model = Model()
    module = fx.symbolic_trace(model)
    x = minitorch.randn(3, 2)
    seen = []

    class Record(fx.Interpreter):
        def run_node(self, n):
            seen.append(n.op)
            return super().run_node(n)

    minitorch.testing.assert_close(Record(module).run(x), model(x))
    assert seen == [
        "placeholder", "placeholder", "call_module", "call_function", "call_method", "get_attr", "call_function", "output",
    ]  # fmt: skip
    minitorch.testing.assert_close(fx.Interpreter(module).run(x, 3), model(x, 3))


def test_values_go_after_their_last_use():
    module = fx.symbolic_trace(lambda x: minitorch.relu(minitorch.exp(x)) + 1)
    alive = []

    class Watch(fx.Interpreter):
        def call_function(self, target, args, kwargs):
            alive.append([n.name for n in self.env])
            return super().call_function(target, args, kwargs)

    Watch(module).run(minitorch.ones(1))
    assert alive == [["x"], ["exp"], ["relu"]]
    keeps = fx.Interpreter(module, garbage_collect_values=False)
    keeps.run(minitorch.ones(1))
    assert [n.name for n in keeps.env] == ["x", "exp", "relu", "add", "output"]


def test_boxed_run_lets_inputs_go():
    module = fx.symbolic_trace(lambda x, y: minitorch.exp(minitorch.relu(x)) + y)
    x = minitorch.ones(1)
    watched, seen = weakref.ref(x), []

    class Watch(fx.Interpreter):
        def run_node(self, n):
            seen.append((n.name, watched() is not None))
            return super().run_node(n)

    args = [x, 1]
    del x
    Watch(module).boxed_run(args)
    assert args == []
    assert seen == [("relu", True), ("exp", False), ("add", False), ("output", False)]
    with pytest.raises(RuntimeError, match=r"expected 2 arguments for placeholders but received 1 \(missing arguments\)"):
        fx.Interpreter(module).boxed_run([1])


def test_some_values_are_given():
    module = fx.symbolic_trace(lambda x: minitorch.relu(x) + 1)
    x, relu, *_ = module.graph.nodes
    assert fx.Interpreter(module).run(initial_env={relu: 5, x: None}) == 6


def test_another_graph():
    model = Model()
    graph = fx.Graph()
    graph.output(graph.get_attr("linear.weight"))
    assert fx.Interpreter(model, graph=graph).run() is model.linear.weight


def test_star_arguments():
    module = fx.symbolic_trace(PROGRAM)
    assert fx.Interpreter(module).run(1, 2, 3) == 3


def PROGRAM(x, *rest):
    return x + rest[0]


def test_errors_name_the_node():
    module = fx.symbolic_trace(lambda x: minitorch.cat([x, x.missing]))
    next(n for n in module.graph.nodes if n.op == "call_function").meta["stack_trace"] = "model.py, line 3"
    with pytest.raises(AttributeError, match="missing") as raised:
        fx.Interpreter(module).run(minitorch.ones(1))
    text = str(raised.value)
    assert "While executing %getattr_1 : [num_users=1] = call_function[target=builtins.getattr]" in text
    assert text.endswith("Original traceback:\nmodel.py, line 3")
    module = fx.symbolic_trace(lambda x: x["a"])
    with pytest.raises(RuntimeError, match="While executing %getitem"):
        fx.Interpreter(module).run({})
    quiet = fx.Interpreter(module)
    quiet.extra_traceback = False
    with pytest.raises(KeyError):
        quiet.run({})
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter x"):
        fx.Interpreter(module).run()


def test_broken_graphs():
    graph = fx.Graph()
    graph.output(graph.get_attr("no.where"))
    with pytest.raises(RuntimeError, match="Node referenced nonexistent target no.where"):
        fx.Interpreter(nn.Module(), graph=graph).run()
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_method("exp", (x,))
    graph.output(y)
    y.append(x)
    with pytest.raises(RuntimeError, match="Node exp referenced nonexistent value x! Run Graph.lint"):
        fx.Interpreter(nn.Module(), graph=graph).run(1)


class Swap(fx.Transformer):
    """Sigmoid where neg was, and neg where sigmoid was."""

    def call_function(self, target, args, kwargs):
        if target is minitorch.sigmoid:
            return minitorch.neg(*args, **kwargs)
        return super().call_function(target, args, kwargs)

    def call_method(self, target, args, kwargs):
        if target == "neg":
            this, *rest = args
            return this.sigmoid(*rest, **kwargs)
        return super().call_method(target, args, kwargs)


def test_transformer():
    module = fx.symbolic_trace(lambda x: minitorch.sigmoid(x).neg())
    module.graph.output_node().meta["note"] = 1
    swapped = Swap(module).transform()
    x = minitorch.randn(3)
    minitorch.testing.assert_close(swapped(x), minitorch.neg(x).sigmoid())
    assert swapped.graph.output_node().meta["note"] == 1


def test_transformer_keeps_modules_and_defaults():
    model = Model()
    module = fx.symbolic_trace(model)
    same = fx.Transformer(module).transform()
    assert same.code == module.code
    assert same.linear is model.linear

    class NoLinear(fx.Transformer):
        def call_module(self, target, args, kwargs):
            return args[0] * 2

    changed = NoLinear(module).transform()
    assert [name for name, _ in changed.named_children()] == []
    assert changed(minitorch.ones(1, 2)).tolist() == [[4.0, 4.0]]


def test_meta_stays_with_what_is_made_of_a_node():
    module = fx.symbolic_trace(lambda x: minitorch.neg(x) + 1)
    for node in module.graph.nodes:
        node.meta.update(stack_trace=f"line of {node.name}", val=3, custom={"a": node.name})

    class NegAsMul(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return args[0] * -1 if target is minitorch.neg else super().call_function(target, args, kwargs)

    new = {n.name: n for n in NegAsMul(module).transform().graph.nodes}
    assert new["mul"].meta["stack_trace"] == "line of neg"
    assert new["add"].meta["custom"] == {"a": "add"}
    assert "val" not in new["mul"].meta
    assert new["mul"].meta["from_node"] == [("neg", minitorch.neg)]
    assert not fx_traceback.has_preserved_node_meta()
    assert fx_traceback.get_current_meta() == {}


def test_scopes_of_meta():
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    with fx_traceback.annotate({"stage": 0}):
        assert x.exp().node.meta == {}
    with fx_traceback.preserve_node_meta():
        fx_traceback.set_stack_trace(["File a\n", "File b\n"])
        assert fx_traceback.format_stack() == ["File a\nFile b\n"]
        with fx_traceback.annotate({"stage": 1}), fx_traceback.annotate({"part": 2}):
            node = x.exp().node
        with fx_traceback.preserve_node_meta(False):
            assert not fx_traceback.has_preserved_node_meta()
    assert node.meta == {"stack_trace": "File a\nFile b\n", "custom": {"stage": 1, "part": 2}}
    assert "test_scopes_of_meta" in "".join(fx_traceback.format_stack())
    with fx_traceback.set_current_replay_node(node):
        assert fx_traceback.get_current_replay_node() is node
    assert fx_traceback.get_current_replay_node() is None
