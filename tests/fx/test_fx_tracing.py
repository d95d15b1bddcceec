"""Tracing: what proxies record, what tracers can change, and what cannot be traced."""

from __future__ import annotations

import math
import operator
import threading

import pytest
from fx_programs import PROGRAMS

import minitorch
from minitorch import fx, nn
from minitorch.fx.proxy import GraphAppendingTracer
from minitorch.nn import functional as F


@fx.wrap
def leaf(x, scale=2):
    if x.sum() > 0:  # no proxy could answer
        return x * scale
    return x


fx.wrap("len")


def uses_leaves(x):
    return leaf(x, scale=3) + len(x)


def targets(graph):
    return [node.target for node in graph.nodes if node.op.startswith("call")]


# ---------------------------------------------------------------- what is recorded


RUNNABLE = {
    "functions_and_operators": (minitorch.randn(3),),
    "unpacking": (minitorch.randn(6, 2),),
    "keyword_only": (minitorch.randn(2, 2, 2),),
    "annotated": (minitorch.randn(4),),
    "nested_results": (minitorch.randn(2),),
    "nested_arguments": (minitorch.randn(2, 2), minitorch.randn(0, 2)),
    "constant_tensors": (minitorch.randn(2),),
    "factories_of_shapes": (minitorch.randn(3),),
    "aten_operators": (minitorch.randn(2),),
    "parameters_and_buffers": (minitorch.randn(2, 2),),
    "nested_modules": (minitorch.randn(1, 2, 2),),
    "residual": (minitorch.randn(2, 1, 4, 4),),
    "attention": (minitorch.randn(2, 3, 4),),
    "branches_on_constants": (minitorch.randn(2),),
    "unused_and_repeated": (minitorch.randn(2), 1),
    "modules_as_arguments": (minitorch.randn(1, 2),),
    "math_functions": (minitorch.tensor([4.0]),),
}


@pytest.mark.parametrize("name", RUNNABLE)
def test_traced_programs_compute_the_same(name):
    program, args = PROGRAMS[name](minitorch), RUNNABLE[name]
    module = fx.symbolic_trace(program)
    module.graph.lint()
    expected = program(*args)
    minitorch.testing.assert_close(module(*args), expected)
    minitorch.testing.assert_close(fx.Interpreter(module).run(*args), expected)
    again = fx.symbolic_trace(module)  # what was generated can be traced anew
    minitorch.testing.assert_close(again(*args), expected)


def test_functions_of_nn_are_recorded_whole():
    def f(x):
        return F.dropout(F.relu(x), 0.3, training=False)

    module = fx.symbolic_trace(f)
    assert targets(module.graph) == [F.relu, F.dropout]
    dropout = module.graph.find_nodes(op="call_function", target=F.dropout)[0]
    assert dropout.kwargs == {"p": 0.3, "training": False, "inplace": False}
    assert F.relu(minitorch.tensor(-1.0)).item() == 0.0  # as before: tracing replaced it for its time only


def test_wrapped_functions():
    module = fx.symbolic_trace(uses_leaves)
    assert targets(module.graph) == [leaf, len, operator.add]
    assert 'wrap("len")' in module.code
    x = minitorch.tensor([1.0, 2.0])
    assert module(x).tolist() == [5.0, 8.0]
    assert uses_leaves(x).tolist() == [5.0, 8.0]
    again = fx.symbolic_trace(module)
    assert targets(again.graph) == [leaf, len, operator.add]


def test_wrap_says_where_it_may_be_called():
    with pytest.raises(NotImplementedError, match="top level of a module"):
        fx.wrap(leaf)
    with pytest.raises(RuntimeError, match="Must be either a callable or string name"):
        fx.wrap(3)


def test_functions_of_math_are_wrapped_by_default():
    def f(x):
        return math.sqrt(x) * math.pi

    module = fx.symbolic_trace(f)
    assert module(4.0) == 2 * math.pi
    assert math.sqrt(4.0) == 2.0
    assert not hasattr(math.sqrt, "_replaced_for_tracing")


def test_autowrapped_functions_of_a_tracer():
    def helper(x):
        return x + 1

    globals()["helper_of_test"] = helper
    try:
        graph = fx.Tracer(autowrap_functions=(helper,)).trace(_calls_helper)
        assert targets(graph) == [helper]
        assert targets(fx.Tracer().trace(_calls_helper)) == [operator.add]
    finally:
        del globals()["helper_of_test"]


def _calls_helper(x):
    return helper_of_test(x)  # noqa: F821


def test_methods_of_tensors_and_operators_on_the_right():
    def f(x):
        return minitorch.Tensor.view(x, -1), minitorch.ones(2) + x, 2 - x, minitorch.ones(2) @ x

    graph = fx.symbolic_trace(f).graph
    assert targets(graph) == ["view", minitorch.add, operator.sub, minitorch.matmul]


def test_calls_after_plain_calls_are_recorded():
    """Plans that were kept for lists of plain tensors do not stand in the way."""
    x = minitorch.ones(2)
    minitorch.cat([x, x], dim=-1)
    minitorch.stack([x, x])
    graph = fx.symbolic_trace(lambda x: (minitorch.cat([x, x], dim=-1), minitorch.stack([x, minitorch.ones(2)]))).graph
    assert targets(graph) == [minitorch.cat, minitorch.stack]


def test_higher_numbers_of_arguments():
    def f(a, b, /, c, *rest, d, e=5, **more):
        return a + b + c + rest[0] + d + e + more["k"]

    module = fx.symbolic_trace(f)
    assert module.code.splitlines()[3] == "def forward(self, a, b, c, d, e = 5, *rest, **more):"
    assert module(1, 2, 3, 4, 5, 6, k=7) == f(1, 2, 3, 6, d=4, e=5, k=7)


# ---------------------------------------------------------------- what cannot be traced


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda x: x if x.sum() > 0 else -x, fx.TraceError, "cannot be used as inputs to control flow"),
        (lambda x: bool(x), fx.TraceError, "control flow"),
        (lambda x: not x, fx.TraceError, "control flow"),
        (lambda x: x and 1, fx.TraceError, "control flow"),
        (lambda x: [i for i in x], fx.TraceError, "Proxy object cannot be iterated"),
        (lambda x: minitorch.relu(*x), fx.TraceError, "cannot be iterated"),
        (lambda x: minitorch.relu(**x), fx.TraceError, "cannot be iterated"),
        (lambda x: 3 in x, fx.TraceError, "cannot be iterated"),
        (lambda x: [1, 2][x], TypeError, "Proxy"),
        (lambda x: range(x), TypeError, "Proxy"),
        (lambda x: int(x), TypeError, "Proxy"),
        (lambda x: float(x), TypeError, "Proxy"),
        (lambda x: x.__len__(), RuntimeError, r"please call torch.fx.wrap\('len'\) at module scope"),
        (lambda x: x.f(object()), NotImplementedError, "argument of type: <class 'object'>"),
        (lambda x: x.f({x: 1}), RuntimeError, "Keys for dictionaries used as an argument cannot contain a Node"),
        (lambda x: setattr(x, "a", 1) or x.__setitem__, AttributeError, None),
    ],
)
def test_what_cannot_be_traced(function, error, message):
    if message is None:
        assert isinstance(fx.symbolic_trace(function), fx.GraphModule)
        return
    with pytest.raises(error, match=message):
        fx.symbolic_trace(function)
    assert nn.Module.__call__.__name__ == "__call__"
    assert not hasattr(F.relu, "_replaced_for_tracing")


def test_item_assignment_is_refused():
    def f(x):
        x[0] = 1
        return x

    with pytest.raises(TypeError, match="'Proxy' object does not support item assignment"):
        fx.symbolic_trace(f)


def test_only_python_functions_are_traced():
    with pytest.raises(AssertionError, match="needs a Module or a Python function"):
        fx.symbolic_trace(minitorch.relu)


def test_proxies_of_two_graphs():
    x, y = (fx.Proxy(fx.Graph().placeholder(name)) for name in "xy")
    with pytest.raises(RuntimeError, match="multiple different tracers"):
        minitorch.add(x, y)


# ---------------------------------------------------------------- proxies without a tracer


def test_proxies_append_to_the_graph_of_their_node():
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    assert isinstance(x.tracer, GraphAppendingTracer)
    y = (minitorch.relu(x) + x.shape[0]).view(-1)
    graph.output(y.node)
    module = fx.GraphModule({}, graph)
    assert module(minitorch.tensor([-1.0, 1.0])).tolist() == [2.0, 3.0]
    assert repr(y) == "Proxy(view)"


def test_attributes_become_nodes_only_when_used():
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    attribute = x.missing
    assert len(graph.nodes) == 1
    attribute(1)
    assert [n.op for n in graph.nodes] == ["placeholder", "call_method"]
    assert attribute.node is attribute.node
    assert [n.op for n in graph.nodes] == ["placeholder", "call_method", "call_function"]


def test_proxies_at_an_insert_point():
    module = fx.symbolic_trace(lambda x: minitorch.relu(x))
    (relu,) = module.graph.find_nodes(op="call_function", target=minitorch.relu)
    with module.graph.inserting_after(relu):
        new = minitorch.exp(fx.Proxy(relu)) * 2
    relu.replace_all_uses_with(new.node, delete_user_cb=lambda user: user.op == "output")
    module.graph.lint()
    module.recompile()
    assert module(minitorch.zeros(1)).tolist() == [2.0]


# ---------------------------------------------------------------- modules


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        self.again = self.block

    def forward(self, x):
        return self.again(self.block(x))


def test_leaf_modules():
    class Everything(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return False

    class Blocks(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return isinstance(m, nn.Sequential)

    model = Nested()
    x = minitorch.randn(3, 2)
    for tracer, expected in (
        (fx.Tracer(), ["block.0", "block.1", "block.0", "block.1"]),
        (Blocks(), ["block", "block"]),
        (Everything(), [F.linear, minitorch.relu, F.linear, minitorch.relu]),
    ):
        graph = tracer.trace(model)
        assert targets(graph) == expected
        minitorch.testing.assert_close(fx.GraphModule(model, graph)(x), model(x))


@pytest.mark.parametrize(
    "make",
    [
        lambda: (nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (2, 3, 8)),
        lambda: (nn.LSTM(4, 5), (3, 2, 4)),
        lambda: (nn.MultiheadAttention(8, 2), None),
        lambda: (nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.MaxPool2d(2), nn.Flatten()), (2, 1, 8, 8)),
        lambda: (nn.Sequential(nn.LayerNorm(4), nn.GELU(), nn.Dropout(0.5), nn.Linear(4, 2), nn.Softmax(-1)), (2, 4)),
        lambda: (nn.Sequential(nn.Conv1d(2, 4, 3), nn.GroupNorm(2, 4), nn.SiLU(), nn.AdaptiveAvgPool1d(1)), (2, 2, 8)),
    ],
)
def test_modules_of_nn_in_a_model(make):
    layer, shape = make()

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return self.layer(x) if shape is not None else self.layer(x, x, x)[0]

    model = Model()
    module = fx.symbolic_trace(model)
    x = minitorch.randn(*(shape or (3, 2, 8)))
    for training in (True, False):
        model.train(training)
        module.train(training)
        minitorch.manual_seed(0)
        expected = model(x)
        minitorch.manual_seed(0)
        minitorch.testing.assert_close(module(x), expected, rtol=0, atol=0)


def test_parameters_with_known_shapes():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(minitorch.ones(3, 2))

        def forward(self, x):
            weight = self.weight
            if weight.shape[0] > 2 and weight.dim() == weight.ndim == 2 and weight.numel() == weight.size()[0] * 2:
                return x @ weight
            return x

    module = Model()
    with pytest.raises(fx.TraceError):
        fx.Tracer().trace(module)
    graph = fx.Tracer(param_shapes_constant=True).trace(module)
    assert [n.op for n in graph.nodes] == ["placeholder", "get_attr", "call_function", "output"]


def test_buffers_as_proxies():
    class Tracer(fx.Tracer):
        proxy_buffer_attributes = True

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", minitorch.ones(2))

        def forward(self, x):
            return x + self.b.exp()

    assert [n.op for n in fx.Tracer().trace(Model()).nodes] == ["placeholder", "get_attr", "call_function", "output"]
    graph = Tracer().trace(Model())
    assert [n.target for n in graph.nodes] == ["x", "b", "exp", operator.add, "output"]


def test_modules_that_are_not_in_the_root():
    outside = nn.Linear(2, 2)

    class Model(nn.Module):
        def forward(self, x):
            return outside(x)

    with pytest.raises(NameError, match="not installed as a submodule of the traced Model"):
        fx.symbolic_trace(Model())
    stranger = nn.Parameter(minitorch.ones(2))
    with pytest.raises(NameError, match="parameter is not a member of this module"):
        fx.symbolic_trace(lambda x: x + stranger)


def test_meta_says_the_modules_that_a_step_is_in():
    module = fx.symbolic_trace(PROGRAMS["nested_modules"](minitorch))
    linear = next(n for n in module.graph.nodes if n.target == "inner.layers.0")
    assert [path for path, _ in linear.meta["nn_module_stack"].values()] == ["inner", "inner.layers.0"]
    second = [n for n in module.graph.nodes if n.target == "inner.layers.0"][1]
    assert list(second.meta["nn_module_stack"]) == ["inner@1", "inner.layers.0@1"]


def test_stack_traces():
    class Tracer(fx.Tracer):
        record_stack_traces = True

    class Model(nn.Module):
        def forward(self, x):
            return minitorch.relu(x) + 1

    relu = next(n for n in Tracer().trace(Model()).nodes if n.target is minitorch.relu)
    lines = relu.stack_trace.splitlines()
    assert lines[-1].strip() == "return minitorch.relu(x) + 1"
    assert "test_fx_tracing.py" in lines[-2]
    assert "minitorch/fx" not in relu.stack_trace


def test_asserts_can_be_traced():
    class Tracer(fx.Tracer):
        trace_asserts = True

    namespace: dict = {}
    exec("def f(x):\n    assert x.sum() > 0, 'not positive'\n    return x", namespace)  # pytest rewrites those of its files
    graph = Tracer().trace(namespace["f"])
    module = fx.GraphModule({}, graph)
    assert module(minitorch.ones(1)).item() == 1
    with pytest.raises(AssertionError):
        module(-minitorch.ones(1))
    with pytest.raises(fx.TraceError):
        Tracer().trace(lambda x: 1 if x else 2)


def test_other_threads_see_no_tracing():
    model = nn.Linear(2, 2)
    seen = []

    class Model(nn.Module):
        def forward(self, x):
            thread = threading.Thread(target=lambda: seen.append(model(minitorch.ones(1, 2)).shape))
            thread.start()
            thread.join()
            return x

    fx.symbolic_trace(Model())
    assert seen == [(1, 2)]


def test_threads_trace_at_the_same_time():
    call = nn.Module.__call__
    barrier = threading.Barrier(4)
    codes = []

    def work():
        barrier.wait()
        for _ in range(5):
            codes.append(fx.symbolic_trace(PROGRAMS["nested_modules"](minitorch)).code)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(codes) == 20
    assert len(set(codes)) == 1
    assert nn.Module.__call__ is call


def test_a_trace_inside_of_a_trace():
    relu = F.relu

    def inner(x):
        return F.relu(x)

    def outer(x):
        assert targets(fx.symbolic_trace(inner).graph) == [relu]
        return F.elu(x)

    assert targets(fx.symbolic_trace(outer).graph) == [F.elu]
    assert not hasattr(F.relu, "_replaced_for_tracing")


# ---------------------------------------------------------------- concrete arguments


def branches(x, flag, data):
    return (x + data["a"], data["b"]) if flag else x


def test_concrete_arguments():
    module = fx.symbolic_trace(branches, {"flag": True, "data": {"a": fx.PH, "b": fx.PH}})
    assert module.code.strip().splitlines() == [
        "def forward(self, x, flag, data):",
        "    x, flag_1, data_1, data_2, = fx_pytree.tree_flatten_spec([x, flag, data], self._in_spec)",
        "    eq = flag_1 == True;  flag_1 = None",
        "    _assert = torch._assert(eq, 'flag has been specialized to have value True but got another value');  "
        "eq = _assert = None",
        "    add = x + data_1;  x = data_1 = None",
        "    return pytree.tree_unflatten([add, data_2], self._out_spec)",
    ]
    x = minitorch.ones(2)
    assert module(1, True, {"a": 2, "b": x}) == (3, x)
    assert fx.Interpreter(module).run(1, True, {"a": 2, "b": x}) == (3, x)
    with pytest.raises(AssertionError, match="specialized to have value True but got another value"):
        module(1, False, {"a": 2, "b": x})
    with pytest.raises(ValueError, match="nested otherwise than when this was traced"):
        module(1, True, {"a": 2})
    transformed = fx.Transformer(module).transform()
    assert transformed(1, True, {"a": 2, "b": x}) == (3, x)


def test_none_as_concrete_argument():
    module = fx.symbolic_trace(branches, {"flag": None})
    assert "_assert_is_none(flag_1, 'flag has been specialized to have value None but got another value')" in module.code
    assert module(3, None, {}) == 3
    with pytest.raises(AssertionError, match="specialized to have value None"):
        module(3, 1, {})


def test_concrete_arguments_by_place():
    module = fx.symbolic_trace(branches, (fx.PH, False, fx.PH))
    assert module(3, False, 4) == 3
    with pytest.raises(RuntimeError, match="Tracing expected 3 arguments but got 1 concrete arguments"):
        fx.symbolic_trace(branches, (1,))


def test_placeholders_with_meta():
    marked = fx.PHWithMeta("first")
    graph = fx.Tracer().trace(branches, {"flag": False, "x": marked})
    assert next(iter(graph.nodes)).ph_key == "first"


def test_values_that_cannot_be_compared():
    with pytest.warns(UserWarning, match="Was not able to add assertion to guarantee correct input flag"):
        fx.symbolic_trace(branches, {"flag": object(), "data": {"a": fx.PH, "b": fx.PH}})


def test_star_arguments_of_a_module():
    class Model(nn.Module):
        def forward(self, *args):
            return args[0] + args[1]

    module = fx.GraphModule({}, fx.Tracer().trace(Model(), (fx.PH, fx.PH)))
    assert module(1, 2) == 3


# ---------------------------------------------------------------- classes and types


class Pair(metaclass=fx.ProxyableClassMeta):
    def __init__(self, left, right):
        self.left, self.right = left, right

    def mul(self, other):
        return Pair(self.left * other.left, self.right * other.right)


def test_construction_of_a_class_is_recorded():
    constant = Pair(2, 3)

    def f(x: Pair, y):
        return x.mul(Pair(y, y)).mul(constant)

    module = fx.symbolic_trace(f)
    assert targets(module.graph) == [Pair, "mul", "mul"]
    assert "pair = " in module.code
    result = module(Pair(5, 7), 10)
    assert (result.left, result.right) == (100, 210)


def test_annotated_values():
    from minitorch.fx.annotate import annotate

    module = fx.symbolic_trace(lambda x: annotate(minitorch.relu(x), minitorch.Tensor) + 1)
    assert "relu : torch.Tensor = torch.relu(x)" in module.code
    assert annotate(3, int) == 3
    with pytest.raises(RuntimeError, match="already had a type"):
        fx.symbolic_trace(lambda x: annotate(annotate(x, int), int))


def test_dataclasses_and_ranges_as_arguments():
    import dataclasses

    @dataclasses.dataclass
    class Options:
        size: object
        flag: bool = True

    graph = fx.symbolic_trace(lambda x: x.f(Options(x.size()), range(3), slice(x, None))).graph
    (made,) = graph.find_nodes(op="call_function", target=Options)
    assert list(made.kwargs) == ["size", "flag"]
    (call,) = graph.find_nodes(op="call_method", target="f")
    assert call.args[2] == range(3)


def test_generated_code_is_typed_by_what_the_function_says():
    def f(x: minitorch.Tensor, y: Unknown = 1, z: list[int] = None) -> minitorch.Tensor:  # noqa: F821, RUF013
        return x

    assert "def forward(self, x : torch.Tensor, y = 1, z : list[int] = None) -> torch.Tensor:" in fx.symbolic_trace(f).code
