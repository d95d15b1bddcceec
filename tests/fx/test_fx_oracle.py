"""Programs traced by torch.fx give the same code and the same graphs as ours."""

from __future__ import annotations

import random
import re

import pytest
from fx_programs import PROGRAMS

import minitorch
from minitorch import fx

# Where torch's functions say the C++ module that they are from, ours say the public one.
PUBLIC = {
    r"torch\._C\._nn\.": "torch.nn.functional.",
    r"torch\._C\._(fft|linalg|special)\.\1_": r"torch.\1.",
    r"torch\.functional\.": "torch.",
    r"torch\.fx\._symbolic_trace\.wrap": "torch.fx.wrap",
    r"torch\.nn\.functional\.(conv2d|one_hot|scaled_dot_product_attention)": r"torch.nn.functional.\1",
}


def public(text: str) -> str:
    for pattern, name in PUBLIC.items():
        text = re.sub(pattern, name, text)
    return text


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_code_and_graph(name):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.fx")
    theirs = torch.fx.symbolic_trace(PROGRAMS[name](torch))
    ours = fx.symbolic_trace(PROGRAMS[name](minitorch))
    assert ours.code == public(theirs.code)
    assert str(ours.graph) == public(str(theirs.graph))
    assert [name for name, _ in ours.named_modules()] == [name for name, _ in theirs.named_modules()]
    assert list(ours.state_dict()) == list(theirs.state_dict())


@pytest.mark.oracle
@pytest.mark.parametrize("options", [{}, {"keep_original_order": True}, {"keep_original_input_name": False}], ids=str)
@pytest.mark.parametrize("name", ["nested_modules", "attention", "unpacking", "all_operators", "parameters_and_buffers"])
def test_split_modules(name, options):
    torch = pytest.importorskip("torch")
    their_split = pytest.importorskip("torch.fx.passes.split_module").split_module
    from minitorch.fx.passes.split_module import split_module

    codes = []
    for library, graphs, split in (
        (torch, torch.fx, their_split),
        (minitorch, fx, split_module),
    ):
        module = graphs.symbolic_trace(PROGRAMS[name](library))
        place = {node: i for i, node in enumerate(module.graph.nodes)}
        names: dict = {}
        parts = split(module, module, lambda node, place=place: place[node] // 5, names, **options)
        codes.append([public(parts.code), names, {n: public(c.code) for n, c in parts.named_children() if hasattr(c, "code")}])
    assert codes[1] == codes[0]


PATTERNS = {
    "functions_and_operators": (lambda t: lambda x: t.relu(x), lambda t: lambda x: t.sigmoid(x) * x),
    "unpacking": (lambda t: lambda x, y: x + y, lambda t: lambda x, y: t.sub(x, -y)),
    "all_operators": (lambda t: lambda x, y, z: x / y // z, lambda t: lambda x, y, z: t.fmod(x, y) + z),
    "nested_arguments": (lambda t: lambda x, y: t.stack([x, y]), lambda t: lambda x, y: t.cat([x[None], y[None]])),
    "attention": (lambda t: lambda x: x.transpose(1, 2), lambda t: lambda x: x.permute(0, 2, 1, 3).clone()),
    "residual": (lambda t: lambda x: t.relu(x), lambda t: lambda x: t.nn.functional.gelu(x)),
    "nn_functional": (lambda t: lambda x: t.nn.functional.relu(x), lambda t: lambda x: t.nn.functional.silu(x)),
    "unused_and_repeated": (lambda t: lambda x: x + x, lambda t: lambda x: x * 2),
}


@pytest.mark.oracle
@pytest.mark.parametrize("name", PATTERNS)
def test_replaced_patterns(name):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.fx")
    results = []
    for library, graphs in ((torch, torch.fx), (minitorch, fx)):
        module = graphs.symbolic_trace(PROGRAMS[name](library))
        pattern, replacement = (make(library) for make in PATTERNS[name])
        matches = graphs.replace_pattern(module, pattern, replacement)
        results.append((public(module.code), [str(match) for match in matches]))
    assert results[1] == results[0]
    assert results[1][1]


@pytest.mark.oracle
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x else 1,
        lambda x: [i for i in x],
        lambda x: f"{x:>3}",
        lambda x: int(x),
        lambda x: [1, 2][x],
        lambda x: x.f(object()),
        lambda x: x.f({x: 1}),
        lambda x: x.__len__(),
        lambda x: 1 in x,
        lambda x: x.__setitem__(0, 1),
        lambda x: hash(x) and x,
    ],
)
def test_what_cannot_be_traced(function):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.fx")
    outcomes = []
    for graphs in (torch.fx, fx):
        try:
            outcomes.append(graphs.symbolic_trace(function).code)
        except Exception as error:
            outcomes.append((type(error).__name__, str(error)[:30]))
    assert outcomes[1] == outcomes[0]


def random_graph(library, graphs, numbers):
    """Return a module of a graph of unary and binary steps, each of whose inputs is any value before it."""
    graph = graphs.Graph()
    values = [graph.placeholder("x"), graph.placeholder("y")]
    for _ in range(numbers.randint(3, 14)):
        if numbers.random() < 0.5:
            function = numbers.choice([library.relu, library.sin, library.exp, library.neg])
            values.append(graph.call_function(function, (numbers.choice(values),)))
        else:
            values.append(graph.call_function(library.sub, (numbers.choice(values), numbers.choice(values))))
    graph.output([values[-1], values[-2]])
    return graphs.GraphModule({}, graph)


@pytest.mark.oracle
def test_partitions_of_random_graphs():
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("torch.fx.passes.infra.partitioner"), torch.fx.passes.operator_support
    from minitorch.fx.passes import operator_support
    from minitorch.fx.passes.infra import partitioner

    for seed in range(100):
        found = []
        for library, graphs, (divide, support) in (
            (torch, torch.fx, theirs),
            (minitorch, fx, (partitioner, operator_support)),
        ):
            numbers = random.Random(seed)
            module = random_graph(library, graphs, numbers)
            names = numbers.sample([n.name for n in module.graph.nodes], len(module.graph.nodes) * 2 // 3)
            known = support.create_op_support(lambda _, n, names=names: n.name in names and n.op == "call_function")
            partitions = divide.CapabilityBasedPartitioner(module, known, numbers.random() < 0.5).propose_partitions()
            found.append([sorted(n.name for n in partition.nodes) for partition in partitions])
        assert found[1] == found[0], seed


@pytest.mark.oracle
def test_patterns_in_random_graphs():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.fx")
    pairs = [
        (lambda t: lambda x: t.relu(t.sin(x)), lambda t: lambda x: t.cos(x)),
        (lambda t: lambda x, y: t.sub(t.exp(x), y), lambda t: lambda x, y: t.add(x, y)),
        (lambda t: lambda x: t.sub(x, x), lambda t: lambda x: t.zeros_like(x)),
        (lambda t: lambda x: (t.neg(x), t.exp(x)), lambda t: lambda x: (t.cos(x), t.tan(x))),
        (lambda t: lambda x, y: t.sub(t.relu(x), t.relu(y)), lambda t: lambda x, y: t.relu(x - y)),
    ]
    matches = 0
    for seed in range(200):
        make_pattern, make_replacement = pairs[seed % len(pairs)]
        codes = []
        for library, graphs in ((torch, torch.fx), (minitorch, fx)):
            module = random_graph(library, graphs, random.Random(seed))
            try:
                done = graphs.replace_pattern(module, make_pattern(library), make_replacement(library))
            except KeyError:  # torch's, where one of a pattern's results is nowhere
                assert library is torch
                done = []
            module.graph.lint()
            codes.append((len(done), public(module.code)))
        assert codes[1] == codes[0], seed
        matches += codes[1][0]
    assert matches > 20
