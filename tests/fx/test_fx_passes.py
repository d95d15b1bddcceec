"""Passes: shapes, patterns, splitting, partitions."""

from __future__ import annotations

import operator

import pytest

import minitorch
from minitorch import fx, nn
from minitorch.fx import subgraph_rewriter
from minitorch.fx.experimental.optimization import fuse, remove_dropout
from minitorch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from minitorch.fx.passes.operator_support import (
    OperatorSupport,
    OpSupports,
    any_chain,
    chain,
    create_op_support,
)
from minitorch.fx.passes.shape_prop import ShapeProp, TensorMetadata
from minitorch.fx.passes.split_module import split_module
from minitorch.fx.passes.tools_common import lift_subgraph_as_module, stable_topological_sort, topo_sort
from minitorch.fx.passes.utils.fuser_utils import fuse_by_partitions, validate_partition
from minitorch.fx.passes.utils.matcher_utils import SubgraphMatcher


def body(module):
    """Return the statements of a module's code, without what lets values go."""
    return [line.split(";  ")[0].strip() for line in module.code.strip().splitlines()[1:]]


# ---------------------------------------------------------------- shapes


def test_shape_prop():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU())
    module = fx.symbolic_trace(model)
    image = minitorch.randn(4, 1, 5, 5)
    minitorch.testing.assert_close(ShapeProp(module).propagate(image), model(image))
    metas = [n.meta["tensor_meta"] for n in module.graph.nodes]
    assert [m.shape for m in metas] == [(4, 1, 5, 5), (4, 2, 3, 3), (4, 2, 3, 3), (4, 2, 3, 3)]
    assert metas[1] == TensorMetadata(
        minitorch.Size([4, 2, 3, 3]), minitorch.float32, True, (18, 9, 3, 1), minitorch.contiguous_format, False, {}
    )
    assert '_0: "f32[4, 2, 3, 3]"' in module.print_readable(False)


def test_shape_prop_of_several_results_and_layouts():
    def f(x):
        values, indices = minitorch.sort(x.to(memory_format=minitorch.channels_last).double())
        return {"values": values, "number": 3}

    module = fx.symbolic_trace(f)
    ShapeProp(module).propagate(minitorch.randn(2, 3, 4, 5))
    found = {n.name: n.meta.get("tensor_meta") for n in module.graph.nodes}
    assert found["to"].memory_format is minitorch.channels_last
    assert [m.dtype for m in found["sort"]] == [minitorch.float64, minitorch.int64]
    assert found["output"]["number"] == 3


def test_shape_prop_names_the_node_that_fails():
    module = fx.symbolic_trace(lambda x: x @ x)
    with pytest.raises(RuntimeError, match="ShapeProp error for: node=%matmul"):
        ShapeProp(module).propagate(minitorch.ones(2, 3))


# ---------------------------------------------------------------- patterns


def test_replace_pattern():
    def f(x, w1, w2):
        m1 = minitorch.cat([w1, w2]).sum()
        m2 = minitorch.cat([w1, w2]).sum()
        return x + minitorch.max(m1) + minitorch.max(m2)

    module = fx.symbolic_trace(f)
    matches = fx.replace_pattern(
        module, lambda a, b: minitorch.cat([a, b]).sum(), lambda a, b: minitorch.stack([a, b]).mean() * 2
    )
    assert [match.anchor.name for match in matches] == ["sum_1", "sum_1"]
    assert body(module) == [
        "stack = torch.stack([w1, w2])",
        "mean = stack.mean()",
        "mul = mean * 2",
        "max_1 = torch.max(mul)",
        "add = x + max_1",
        "stack_1 = torch.stack([w1, w2])",
        "mean_1 = stack_1.mean()",
        "mul_1 = mean_1 * 2",
        "max_2 = torch.max(mul_1)",
        "add_1 = add + max_2",
        "return add_1",
    ]


def test_replaced_results_are_inputs_of_other_places():
    def f(x):
        return minitorch.neg(minitorch.relu(minitorch.neg(minitorch.relu(x))))

    module = fx.symbolic_trace(f)
    done = fx.replace_pattern(module, lambda x: minitorch.neg(minitorch.relu(x)), lambda x: minitorch.exp(x))
    assert len(done) == 2
    assert body(module) == ["exp = torch.exp(x)", "exp_1 = torch.exp(exp)", "return exp_1"]


def test_places_that_overlap():
    module = fx.symbolic_trace(lambda x: minitorch.relu(minitorch.relu(minitorch.relu(x))))
    assert len(fx.replace_pattern(module, lambda x: minitorch.relu(minitorch.relu(x)), lambda x: minitorch.exp(x))) == 1
    assert body(module) == ["exp = torch.exp(x)", "relu_2 = torch.relu(exp)", "return relu_2"]


def test_inner_values_that_others_use_keep_a_place_from_matching():
    def f(x):
        y = minitorch.relu(x)
        return minitorch.neg(y), y

    module = fx.symbolic_trace(f)
    assert fx.replace_pattern(module, lambda x: minitorch.neg(minitorch.relu(x)), lambda x: minitorch.exp(x)) == []
    both = fx.replace_pattern(
        module, lambda x: (minitorch.neg(minitorch.relu(x)), minitorch.relu(x)), lambda x: (x, minitorch.exp(x))
    )
    assert both == []

    def pattern(x):
        y = minitorch.relu(x)
        return minitorch.neg(y), y

    assert len(fx.replace_pattern(module, pattern, lambda x: (minitorch.sin(x), minitorch.exp(x)))) == 1
    assert body(module) == ["sin = torch.sin(x)", "exp = torch.exp(x)", "return (sin, exp)"]


def test_constants_in_patterns():
    module = fx.symbolic_trace(lambda x: (x * 2, x * 3, x * 2.0, x.sum(dim=1)))
    assert len(fx.replace_pattern(module, lambda x: x * 2, lambda x: x + x)) == 1
    done = subgraph_rewriter.replace_pattern_with_filters(
        module, lambda x: x * 0, lambda x: minitorch.neg(x), ignore_literals=True
    )
    assert len(done) == 2
    assert fx.replace_pattern(module, lambda x: x.sum(dim=0), lambda x: x) == []
    assert fx.replace_pattern(module, lambda x: x.sum(1), lambda x: x) == []
    assert len(fx.replace_pattern(module, lambda x, d: x.sum(dim=d), lambda x, d: x.mean(dim=d))) == 1
    assert body(module)[-2:] == ["mean = x.mean(dim = 1)", "return (add, neg, neg_1, mean)"]


def test_the_same_input_twice():
    module = fx.symbolic_trace(lambda x, y: (x * x, x * y))
    assert len(fx.replace_pattern(module, lambda a: a * a, lambda a: minitorch.square(a))) == 1
    assert body(module) == ["mul_1 = x * y", "square = torch.square(x)", "return (square, mul_1)"]


def test_arguments_of_operators_match_by_schema():
    aten = minitorch.ops.aten
    module = fx.symbolic_trace(lambda x: aten.softmax.int(x, 1))
    done = fx.replace_pattern(module, lambda x: aten.softmax.int(x, dim=1), lambda x: aten.log_softmax.int(x, 1))
    assert len(done) == 1
    assert body(module)[0] == "log_softmax_int = torch.ops.aten.log_softmax.int(x, 1)"


def test_filters_and_callbacks():
    def larger(match, graph, pattern):
        factor = match.placeholder_nodes[1]
        return isinstance(factor, int) and factor > 2

    def repeated(match, graph, pattern):
        count = match.placeholder_nodes[1]
        replacement = fx.Graph()
        x = value = replacement.placeholder("x")
        replacement.placeholder("n")
        for _ in range(count - 1):
            value = replacement.call_function(operator.add, (value, x))
        replacement.output(value)
        return replacement

    module = fx.symbolic_trace(lambda x: x * 2 + x * 3)
    done = subgraph_rewriter.replace_pattern_with_filters(
        module, lambda x, n: x * n, match_filters=[larger], replacement_callback=repeated
    )
    assert len(done) == 1
    assert [n.name for n in done[0].replacements] == ["add_1", "add_2"]
    assert module(5) == 25


def test_modules_in_patterns():
    class WithLayer(nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return self.layer(x)

    module = fx.symbolic_trace(WithLayer(nn.ReLU()))

    class Replacement(nn.Module):
        def __init__(self):
            super().__init__()
            self.other = nn.Tanh()
            self.weight = nn.Parameter(minitorch.ones(2))

        def forward(self, x):
            return self.other(x) * self.weight

    assert len(fx.replace_pattern(module, WithLayer(nn.ReLU()), Replacement())) == 1
    assert body(module) == ["other = self.other(x)", "weight = self.weight", "mul = other * weight", "return mul"]
    assert list(module.state_dict()) == ["weight"]
    minitorch.testing.assert_close(module(minitorch.ones(2)), minitorch.tanh(minitorch.ones(2)))


def test_wrong_replacements():
    module = fx.symbolic_trace(lambda x: minitorch.relu(x))
    with pytest.raises(AssertionError, match="the pattern has 1 inputs, its replacement 2"):
        fx.replace_pattern(module, lambda x: minitorch.relu(x), lambda x, y: x + y)
    with pytest.raises(AssertionError, match="the pattern returns 1 values, its replacement 2"):
        fx.replace_pattern(fx.symbolic_trace(lambda x: minitorch.relu(x)), lambda x: minitorch.relu(x), lambda x: (x, x))
    with pytest.raises(AssertionError, match="needs a replacement"):
        subgraph_rewriter.replace_pattern_with_filters(module, lambda x: x + 1)
    with pytest.raises(ValueError, match="empty pattern"):
        SubgraphMatcher(fx.Graph())
    with pytest.raises(AssertionError, match="dead code: add"):
        SubgraphMatcher(fx.symbolic_trace(lambda x: (x + 1, x)[1]).graph)


def test_matches_of_whole_graphs():
    pattern = fx.symbolic_trace(lambda x: minitorch.neg(minitorch.relu(x))).graph
    graph = fx.symbolic_trace(lambda x: minitorch.neg(minitorch.relu(minitorch.exp(x)))).graph
    assert len(SubgraphMatcher(pattern, match_output=True).match(graph)) == 1
    assert SubgraphMatcher(pattern, match_placeholder=True).match(graph) == []
    longer = fx.symbolic_trace(lambda x: minitorch.neg(minitorch.relu(x)) + 1).graph
    assert SubgraphMatcher(pattern, match_output=True).match(longer) == []


def test_places_through_which_a_way_leads_do_not_match():
    def f(x):
        a = minitorch.relu(x)
        b = minitorch.sin(a)
        return a, minitorch.neg(b)

    def pattern(x, y):
        return minitorch.relu(x), minitorch.neg(y)

    module = fx.symbolic_trace(f)
    assert fx.replace_pattern(module, pattern, lambda x, y: (x, y)) == []


# ---------------------------------------------------------------- splitting


class Split(nn.Module):
    def __init__(self):
        super().__init__()
        self.param = nn.Parameter(minitorch.ones(3, 4))
        self.linear = nn.Linear(4, 5)
        self.tail = nn.Sequential(nn.ReLU())

    def forward(self, x, y=None):
        z = self.linear(x + self.param).clamp(min=0.0, max=1.0)
        w = self.linear(y).clamp(min=0.0, max=1.0)
        return self.tail(z + w), z


def parts(node):
    return {"add": 0, "linear": 0, "clamp": 0, "linear_1": 1, "clamp_1": 1}.get(node.name, 2)


def test_split_module():
    model = Split()
    module = fx.symbolic_trace(model)
    names: dict = {}
    split = split_module(module, model, parts, names)
    assert body(split) == [
        "param = self.param",
        "submod_1 = self.submod_1(y)",
        "submod_0 = self.submod_0(x, param)",
        "submod_2 = self.submod_2(submod_0, submod_1)",
        "return (submod_2, submod_0)",
    ]
    assert split.code.splitlines()[3] == "def forward(self, x, y = None):"
    assert body(split.submod_2) == ["add = clamp + clamp_1", 'tail_0 = self.tail_0(add)', "return tail_0"]
    assert names == {"submod_0.linear": "linear", "submod_1.linear": "linear", "submod_2.tail_0": "tail.0"}
    assert split.submod_0.linear is model.linear
    x = minitorch.randn(3, 4)
    minitorch.testing.assert_close(split(x, x), model(x, x))
    assert split.meta["partition_names"] == {"submod_0", "submod_1", "submod_2"}


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"keep_original_order": True}, ["submod_0", "submod_1", "submod_2"]),
        ({"keep_original_node_name": True}, ["submod_0", "submod_1", "submod_2"]),
        ({"keep_original_input_name": False}, ["submod_0", "submod_1", "submod_2"]),
        ({"partition_affix": "pp"}, ["submod_pp_0", "submod_pp_1", "submod_pp_2"]),
        ({"tuple_return": True}, ["submod_0", "submod_1", "submod_2"]),
    ],
)
def test_ways_to_split(options, names):
    model = Split()
    module = fx.symbolic_trace(model)
    split = split_module(module, model, parts, **options)
    called = [name for name, _ in split.named_children()]
    assert sorted(called) == names
    assert (called == names) == ("keep_original_order" in options)
    x = minitorch.randn(3, 4)
    minitorch.testing.assert_close(split(x, x), model(x, x))
    last = getattr(split, names[2])
    if "keep_original_input_name" in options:
        assert last.code.splitlines()[3] == "def forward(self, arg_0, arg_1):"
    if "tuple_return" in options:
        assert body(last)[-1] == "return (tail_0,)"


def test_parts_in_a_circle():
    module = fx.symbolic_trace(lambda x: minitorch.neg(minitorch.relu(minitorch.neg(x))))
    with pytest.raises(RuntimeError, match="cycle exists between partitions"):
        split_module(module, module, lambda node: node.target is minitorch.neg)


def test_parts_that_share_values():
    module = fx.symbolic_trace(lambda x: (minitorch.neg(x), minitorch.sin(minitorch.neg(x)), minitorch.cos(x)))
    split = split_module(module, module, lambda node: int(node.target is not minitorch.neg))
    x = minitorch.randn(2)
    minitorch.testing.assert_close(split(x), module(x))
    assert "getitem_1 = submod_0[1]" in body(split)


# ---------------------------------------------------------------- partitions


def chain_of_steps(x, y):
    a = minitorch.relu(x)
    b = minitorch.exp(a)
    c = minitorch.sin(b)
    d = minitorch.add(c, a)
    e = minitorch.mul(d, y)
    return minitorch.exp(e), b


SUPPORTED = OperatorSupport(dict.fromkeys(("torch.relu", "torch.exp", "torch.add", "torch.mul", "_operator.getitem")))


def test_partitions():
    module = fx.symbolic_trace(chain_of_steps)
    partitioner = CapabilityBasedPartitioner(module, SUPPORTED)
    partitions = partitioner.propose_partitions()
    assert [[n.name for n in p.nodes] for p in partitions] == [["add", "mul", "exp_1"], ["relu", "exp"]]
    assert (partitions[0].size(), repr(partitions[1])) == (3, "Partition(1, [relu, exp])")
    fused = partitioner.fuse_partitions(partitions)
    assert body(fused) == [
        "fused_1 = self.fused_1(x)",
        "getitem = fused_1[0]",
        "getitem_1 = fused_1[1]",
        "sin = torch.sin(getitem_1)",
        "fused_0 = self.fused_0(sin, getitem, y)",
        "return (fused_0, getitem_1)",
    ]
    x = minitorch.randn(3)
    minitorch.testing.assert_close(fused(x, x), chain_of_steps(x, x))


def test_single_steps_are_left_alone():
    module = fx.symbolic_trace(lambda x: minitorch.sin(minitorch.relu(minitorch.sin(x))))
    assert CapabilityBasedPartitioner(module, SUPPORTED).propose_partitions() == []
    (single,) = CapabilityBasedPartitioner(module, SUPPORTED, True).propose_partitions()
    assert [n.name for n in single.nodes] == ["relu"]
    worth = CapabilityBasedPartitioner(module, SUPPORTED, allowed_single_node_partition_ops=["torch.relu"])
    assert len(worth.propose_partitions()) == 1
    idle = CapabilityBasedPartitioner(
        fx.symbolic_trace(lambda x: minitorch.relu(minitorch.exp(x))), SUPPORTED, non_compute_ops=["torch.relu"]
    )
    assert idle.propose_partitions() == []


def test_items_belong_to_what_makes_the_tuple():
    def f(x):
        values, indices = minitorch.sort(minitorch.relu(x))
        return minitorch.sin(values), indices

    support = OperatorSupport(dict.fromkeys(("torch.relu", "torch.sort")))
    module = fx.symbolic_trace(f)
    partitioner = CapabilityBasedPartitioner(module, support)
    (partition,) = partitioner.propose_partitions()
    assert [n.name for n in partition.nodes] == ["relu", "sort", "getitem", "getitem_1"]
    x = minitorch.randn(4)
    minitorch.testing.assert_close(partitioner.fuse_partitions([partition])(x), f(x))


def test_random_graphs_compute_the_same_when_fused_and_split():
    import random

    numbers = random.Random(0)
    functions = [minitorch.relu, minitorch.sin, minitorch.exp, minitorch.neg]
    for _ in range(30):
        graph = fx.Graph()
        values = [graph.placeholder("x"), graph.placeholder("y")]
        for _ in range(12):
            if numbers.random() < 0.5:
                values.append(graph.call_function(numbers.choice(functions), (numbers.choice(values),)))
            else:
                values.append(graph.call_function(minitorch.sub, (numbers.choice(values), numbers.choice(values))))
        graph.output([values[-1], values[-2], numbers.choice(values)])
        graph.eliminate_dead_code()
        module = fx.GraphModule({}, graph)
        args = [minitorch.randn(2), minitorch.randn(2)]
        expected = module(*args)
        names = numbers.sample([n.name for n in graph.nodes], len(graph.nodes) // 2)
        support = create_op_support(lambda _, node, names=names: node.name in names)
        order = {n: i for i, n in enumerate(graph.nodes)}
        split = split_module(module, module, lambda n, order=order: order[n] // 4)
        minitorch.testing.assert_close(split(*args), expected, equal_nan=True)
        fused = CapabilityBasedPartitioner(module, support, True).partition_and_fuse()
        assert not {n.name for n in fused.graph.nodes if n.op == "call_function"} & set(names)
        minitorch.testing.assert_close(fused(*args), expected, equal_nan=True)


def test_operator_support():
    module = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    ShapeProp(module).propagate(minitorch.ones(1, 2))
    x, linear, relu, _ = module.graph.nodes
    modules = dict(module.named_modules())
    linear_only = OperatorSupport({"minitorch.nn.modules.linear.Linear": (([minitorch.float32],), {})})
    assert linear_only.is_node_supported(modules, linear)
    assert linear_only.is_node_supported(modules, x)
    assert not linear_only.is_node_supported(modules, relu)
    double = OperatorSupport({"minitorch.nn.modules.linear.Linear": (([minitorch.float64],), {})})
    assert not double.is_node_supported(modules, linear)
    unasked = OperatorSupport({"minitorch.nn.modules.linear.Linear": ((None,), {"input": [minitorch.float64]})})
    assert unasked.is_node_supported(modules, linear)
    no_floats = OpSupports.decline_if_input_dtype(minitorch.float32)
    not_named = OpSupports.decline_if_node_in_names({linear.name})
    assert not no_floats.is_node_supported(modules, linear)
    assert not chain(linear_only, not_named).is_node_supported(modules, linear)
    assert any_chain(linear_only, not_named).is_node_supported(modules, linear)


def test_nodes_that_can_become_one():
    module = fx.symbolic_trace(chain_of_steps)
    nodes = {n.name: n for n in module.graph.nodes}
    assert validate_partition([nodes["relu"], nodes["exp"]])
    assert not validate_partition([nodes["exp"], nodes["add"]])
    with pytest.raises(AssertionError, match="dependency cycles"):
        fuse_by_partitions(module, [[nodes["exp"], nodes["add"]]])
    other = fx.symbolic_trace(chain_of_steps)
    with pytest.raises(AssertionError, match="doesn't belong to passed in graph module"):
        fuse_by_partitions(other, [[nodes["relu"], nodes["exp"]]])


def test_order_of_nodes():
    graph = fx.Graph()
    x = graph.placeholder("x")
    a, b = graph.call_method("a", (x,)), graph.call_method("b", (x,))
    c = graph.call_method("c", (b,))
    graph.output((a, c))
    assert topo_sort([c, b, a, x]) == [x, b, c, a]
    a.prepend(c)
    module = fx.GraphModule({}, graph)
    stable_topological_sort(module)
    graph.lint()
    assert [n.name for n in graph.nodes] == ["x", "a", "b", "c", "output"]
    b.args = (c,)
    with pytest.raises(AssertionError, match="in a circle: b, c, output"):
        topo_sort(graph.nodes)


def test_lifting_a_graph():
    model = Split()
    graph = fx.Graph()
    graph.output(graph.call_module("tail.0", (graph.get_attr("linear.weight"),)))
    module, paths = lift_subgraph_as_module(fx.symbolic_trace(model), graph, "part", "Part")
    assert (type(module).__name__, paths) == ("Part", {"part.tail.0": "tail.0"})
    minitorch.testing.assert_close(module(), minitorch.relu(model.linear.weight))


# ---------------------------------------------------------------- inference


def test_fusing_normalization():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)
            self.head = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Dropout(), nn.Linear(3, 3))
            self.last = nn.BatchNorm1d(3)

        def forward(self, x):
            x = minitorch.relu(self.norm(self.conv(x))).mean((2, 3))
            x = self.head(x)
            return x + self.last(x)  # used twice: stays as it is

    net = Net()
    for _ in range(3):
        net(minitorch.randn(8, 1, 6, 6))
    net.eval()
    x = minitorch.randn(4, 1, 6, 6)
    fused = fuse(net)
    minitorch.testing.assert_close(fused(x), net(x))
    assert [n.target for n in fused.graph.nodes if n.op == "call_module"] == ["conv", "head.0", "head.2", "head.3", "last"]
    assert not any(name.startswith("norm") for name, _ in fused.named_modules())
    assert isinstance(net.norm, nn.BatchNorm2d)
    without = remove_dropout(fused)
    assert "head.2" not in [n.target for n in without.graph.nodes]
    minitorch.testing.assert_close(without(x), net(x))


def test_layers_that_are_called_twice_are_not_fused():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.norm = nn.Linear(3, 3), nn.BatchNorm1d(3)

        def forward(self, x):
            return self.norm(self.layer(x)) + self.layer(x)

    net = Net().eval()
    x = minitorch.randn(4, 3)
    minitorch.testing.assert_close(fuse(net)(x), net(x))


# ---------------------------------------------------------------- fake tensors


def test_shapes_without_computing():
    from minitorch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
    from minitorch.fx.passes.fake_tensor_prop import FakeTensorProp

    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU())
    before = net[1].running_mean.clone()
    module = fx.symbolic_trace(net)
    for prop in (FakeTensorProp(module), ShapeProp(module, FakeTensorMode())):
        result = prop.propagate(minitorch.randn(2, 3))
        assert isinstance(result, FakeTensor)
        assert all(isinstance(n.meta["val"], FakeTensor) for n in module.graph.nodes)
        assert [tuple(n.meta["tensor_meta"].shape) for n in module.graph.nodes] == [(2, 3)] + [(2, 4)] * 4
    minitorch.testing.assert_close(net[1].running_mean, before)
    assert type(net[0].weight) is nn.Parameter
    assert "minitorch.fake" not in module.print_readable(False)
