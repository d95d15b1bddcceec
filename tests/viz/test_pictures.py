"""Pictures: what is in them, and what is written."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ElementTree

import pytest

import minitorch
from minitorch import fx, nn, viz
from minitorch.fx.experimental.proxy_tensor import make_fx
from minitorch.fx.passes.shape_prop import ShapeProp
from minitorch.utils.memory_tracker import CATEGORIES, MemoryTracker
from minitorch.viz import Chart, Picture
from minitorch.viz.layout import layers_of, ordered

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.fixture
def diamond():
    """Source, two ways, one end."""
    picture = Picture("a title")
    for name in ("start", "left", "right", "end"):
        picture.node(name, name, f'<{name}> & "co"')
    for a, b in (("start", "left"), ("start", "right"), ("left", "end"), ("right", "end"), ("start", "end")):
        picture.edge(a, b, f"{a[0]}{b[0]}")
    return picture


def test_text_shows_what_leads_to_a_node_once(diamond):
    lines = [line.split(",")[0] for line in diamond.text().splitlines()]
    assert lines == ["a title", "end", "  <- left", "    <- start", "  <- right", "    <- start", "  <- start"]
    diamond.node("before")
    diamond.edge("before", "start")
    lines = diamond.text().splitlines()
    assert sum("<- before" in line for line in lines) == 1
    assert sum(line.endswith("(above)") for line in lines) == 2


def test_dot(diamond):
    text = diamond.dot()
    assert text.startswith("digraph {")
    assert text.rstrip().endswith("}")
    assert 'n1 [label="left\\n<left> & \\"co\\"", fillcolor="#e8e8e8"];' in text
    assert 'n0 -> n3 [label="se"];' in text


def test_svg_is_an_image_without_overlaps(diamond):
    root = ElementTree.fromstring(diamond.svg())
    boxes = [
        tuple(float(rect.get(side)) for side in ("x", "y", "width", "height"))
        for rect in root.iter(f"{SVG}rect")
        if rect.get("rx")
    ]
    assert len(boxes) == 4
    for i, (x, y, w, h) in enumerate(boxes):
        assert 0 <= x <= x + w <= float(root.get("width"))
        assert 0 <= y <= y + h <= float(root.get("height"))
        for a, b, c, d in boxes[:i]:
            assert x >= a + c or a >= x + w or y >= b + d or b >= y + h
    assert '<left> & "co"' in texts(diamond.svg())
    assert len(list(root.iter(f"{SVG}path"))) == 5 + 1  # and the arrow's head


def test_layers(diamond):
    assert layers_of(list(diamond.nodes), diamond.edges) == [["start"], ["left", "right"], ["end"]]
    crossed = Picture()
    for name in "abxy":
        crossed.node(name)
    crossed.edge("a", "y")
    crossed.edge("b", "x")
    layers = ordered(layers_of(list(crossed.nodes), crossed.edges), crossed.edges)
    assert layers in ([["a", "b"], ["y", "x"]], [["b", "a"], ["x", "y"]])
    crossed.edge("y", "a")
    with pytest.raises(ValueError, match="circle"):
        crossed.svg()


def test_a_late_source_stands_above_what_it_leads_to():
    picture = Picture()
    for name in ("x", "one", "two", "weight"):
        picture.node(name)
    for edge in (("x", "one"), ("one", "two"), ("weight", "two")):
        picture.edge(*edge)
    assert layers_of(list(picture.nodes), picture.edges) == [["x"], ["one", "weight"], ["two"]]


def test_saving(diamond, tmp_path, monkeypatch):
    for name, text in (
        ("a.svg", diamond.svg()),
        ("a.dot", diamond.dot()),
        ("a.gv", diamond.dot()),
        ("a.txt", diamond.text()),
    ):
        diamond.save(tmp_path / name)
        assert (tmp_path / name).read_text() == text
    with pytest.raises(ValueError, match=r"\.jpg"):
        diamond.save(tmp_path / "a.jpg")
    monkeypatch.setattr(shutil, "which", lambda program: None)
    with pytest.raises(RuntimeError, match="Graphviz"):
        diamond.save(tmp_path / "a.png")
    with pytest.raises(KeyError, match="nobody"):
        diamond.edge("start", "nobody")


def test_the_graph_of_a_loss():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    other = minitorch.ones(4, requires_grad=True)
    picture = viz.autograd_graph((model(minitorch.ones(2, 3)) * other).sum(), model)
    labels = {name: node.lines for name, node in picture.nodes.items()}
    kinds = {node.lines[0]: node.kind for node in picture.nodes.values()}
    edges = {(labels[e.source][0], labels[e.target][0], e.label) for e in picture.edges}
    assert edges == {
        ("SumBackward0", "output", "()"), ("MulBackward0", "SumBackward0", "(2, 4)"), ("ReluBackward0", "MulBackward0", "(2, 4)"),
        ("leaf", "MulBackward0", "(4,)"), ("LinearBackward0", "ReluBackward0", "(2, 4)"),
        ("0.weight", "LinearBackward0", "(4, 3)"), ("0.bias", "LinearBackward0", "(4,)"),
    }  # fmt: skip
    assert kinds["0.weight"] == "parameter"
    assert kinds["leaf"] == "input"
    assert ("0.weight", "(4, 3)") in labels.values()


def test_graphs_of_several_outputs_share_their_nodes():
    x = minitorch.ones(2, requires_grad=True)
    y = x.exp()
    picture = viz.autograd_graph({"sum": y.sum(), "twice": y * 2}, {"x": x})
    assert sorted(node.lines[0] for node in picture.nodes.values()) == [
        "ExpBackward0", "MulBackward0", "SumBackward0", "sum", "twice", "x",
    ]  # fmt: skip
    leaf = viz.autograd_graph([x], [("x", x)])
    assert leaf.text() == "output 0, (2,)\n  <- x, (2,)  (2,)"
    with pytest.raises(RuntimeError, match="does not require"):
        viz.autograd_graph(minitorch.ones(2))


def test_a_deep_graph():
    y = minitorch.ones(1, requires_grad=True)
    for _ in range(3000):
        y = y + 1
    picture = viz.autograd_graph(y)
    assert len(picture.nodes) == 3002
    assert picture.text().count("\n") == 3001
    assert picture.svg().count("AddBackward0") == 3000


def test_the_route_of_a_call():
    x, w = minitorch.ones(2), minitorch.ones(2, requires_grad=True)
    picture = viz.dispatch_route("aten::add.Tensor", x, w)
    hops = [node.lines for name, node in picture.nodes.items() if name.startswith("hop")]
    assert [hop[0] for hop in hops] == ["AutogradCPU", "CPU"]
    assert hops[1][-1].startswith("minitorch/backends/")
    assert picture.nodes["argument self"].lines[0] == "self"
    assert "AutogradCPU" in " ".join(picture.nodes["argument other"].lines)
    with minitorch.inference_mode():
        hops = [n for n in viz.dispatch_route(minitorch.ops.aten.exp, minitorch.ones(2)).nodes if n.startswith("hop")]
    assert hops == ["hop 0"]


def test_the_route_to_a_missing_kernel():
    library = minitorch.library.Library("viz_test", "DEF")
    try:
        library.define("nothing(Tensor x) -> Tensor")
        picture = viz.dispatch_route("viz_test::nothing", minitorch.ones(1))
        assert [n.kind for name, n in picture.nodes.items() if name.startswith("hop")][-1] == "missing"
    finally:
        library._destroy()


def test_an_fx_graph():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    traced = fx.symbolic_trace(model)
    picture = viz.fx_graph(traced)
    assert [node.lines for node in picture.nodes.values()] == [
        ("input_1", "placeholder"), ("_0", "call_module", "0"), ("_1", "call_module", "1"), ("output",),
    ]  # fmt: skip
    assert [edge.label for edge in picture.edges] == ["", "", ""]
    ShapeProp(traced).propagate(minitorch.ones(2, 3))
    assert [edge.label for edge in viz.fx_graph(traced.graph).edges] == ["(2, 3)", "(2, 4)", "(2, 4)"]
    with pytest.raises(TypeError, match="Linear"):
        viz.fx_graph(model[0])


def test_memory_over_time(tmp_path):
    model = nn.Linear(64, 64)
    with MemoryTracker() as tracker:
        model(minitorch.ones(8, 64)).sum().backward()
    chart = viz.memory_timeline(tracker)
    assert chart.totals == [event.live for event in tracker.timeline]
    assert set(chart.series) <= set(CATEGORIES)
    assert max(chart.totals) == tracker.peak_bytes
    ((step, text),) = chart.marks
    assert chart.totals[step] == tracker.peak_bytes
    assert f"{tracker.peak_bytes:,}" in text
    svg = chart.svg()
    assert {"parameters", "gradients", text} <= set(texts(svg))
    assert len(list(ElementTree.fromstring(svg).iter(f"{SVG}polygon"))) == len(chart.series)
    chart.save(tmp_path / "m.svg")
    assert (tmp_path / "m.svg").read_text() == svg
    assert text in str(chart)
    with pytest.raises(ValueError, match=r"\.gif"):
        chart.save(tmp_path / "m.gif")


def test_charts_of_many_steps_keep_their_peak():
    values = [1] * 50_000
    values[31_417] = 1000
    chart = Chart("long", {"a": values})
    assert 31_417 in chart._shown_steps()
    assert len(chart._shown_steps()) < 2100
    longest = max(chart.text(rows=10).splitlines()[1:], key=lambda line: line.count("#"))
    assert int(longest.split()[0]) == 30_000
    with pytest.raises(ValueError, match="lengths"):
        Chart("", {"a": [1], "b": [1, 2]})
    assert Chart("", {}).svg()


def test_matplotlib_draws_the_same():
    pytest.importorskip("matplotlib", reason="draws the chart")
    chart = Chart("title", {"a": [1, 2], "b": [0, 3]}, marks=[(1, "peak")])
    axes = chart.figure()
    assert axes.get_title() == "title"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    given = chart.figure(axes)
    assert given is axes


def test_an_operator_named_by_an_overload_is_shown_by_its_name():
    traced = make_fx(lambda x: x.sin())(minitorch.ones(2))
    assert any("aten.sin.default" in n.lines for n in viz.fx_graph(traced).nodes.values())
