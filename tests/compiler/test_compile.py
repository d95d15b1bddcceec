"""`compile`: backends by name and by function, modules, and what is left as it is."""

from __future__ import annotations

import pytest

import minitorch
from minitorch import nn
from minitorch.compiler import api


def recording(seen):
    def backend(graph, inputs):
        seen.append([str(node.target) for node in graph.graph.nodes if node.op == "call_function"])
        return graph

    return backend


def test_the_default_leaves_functions_as_they_are():
    @minitorch.compile
    def positive(x):
        """Return the positive part, if there is any."""
        return x.clamp(min=0) if x.max() > 0 else None  # looks at elements

    assert positive(minitorch.tensor([1.0, -1.0])).tolist() == [1.0, 0.0]
    assert positive(minitorch.tensor([-1.0])) is None
    assert positive.__doc__.startswith("Return the positive part")


def test_a_backend_gets_forward_and_backward_graphs():
    seen = []

    @minitorch.compile(backend=recording(seen), fullgraph=True)
    def f(x):
        return (x.sin() * 2).sum()

    x = minitorch.zeros(3, requires_grad=True)
    f(x).backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]
    assert seen[0] == ["aten.sin.default", "aten.mul.Tensor", "aten.sum.default"]
    assert "aten.cos.default" in seen[1]
    f(minitorch.ones(3, requires_grad=True))
    assert len(seen) == 2  # compiled once


@pytest.mark.parametrize("backend", ["inductor", "eager", "aot_eager"])
def test_modules_train_as_before(backend):
    losses = []
    for compiled in (False, True):
        minitorch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 2))
        call = minitorch.compile(model, backend=backend) if compiled else model
        optimizer = minitorch.optim.SGD(call.parameters(), lr=0.1)
        x, target = minitorch.randn(16, 4), minitorch.randint(0, 2, (16,))
        for _ in range(4):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(call(x), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        losses.append(nn.functional.cross_entropy(call.eval()(x), target).item())
        assert not model.training
    assert losses[:5] == pytest.approx(losses[5:], rel=1e-5)


def test_a_compiled_module_has_what_the_module_has():
    model = nn.Linear(2, 1)
    compiled = minitorch.compile(model, backend="aot_eager")
    assert isinstance(compiled, api.OptimizedModule)
    assert list(compiled.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    assert compiled.weight is model.weight
    assert compiled.in_features == 2
    with pytest.raises(AttributeError):
        compiled.nothing  # noqa: B018
    assert repr(compiled).startswith("OptimizedModule(\n  (_orig_mod): Linear")


def test_one_graph_for_several_sizes():
    pytest.importorskip("sympy")
    seen = []
    f = minitorch.compile(lambda x: (x * x.shape[0]).sum(1), backend=recording(seen), dynamic=True)
    for n in (3, 5, 8):
        assert f(minitorch.ones(n, 2)).tolist() == [2.0 * n] * n
    assert len(seen) == 1


def test_names_of_backends(monkeypatch):
    monkeypatch.setattr(api, "_BACKENDS", dict(api._BACKENDS))
    with pytest.raises(RuntimeError, match="'triton' is no known backend; there are aot_eager, eager, inductor"):
        minitorch.compile(lambda x: x, backend="triton")
    with pytest.raises(RuntimeError, match="expected a function or a module"):
        minitorch.compile(3)
    seen = []
    minitorch.compiler.register_backend(recording(seen), "mine")
    assert "mine" in minitorch.compiler.list_backends()
    minitorch.compile(lambda x: x + 1, backend="mine")(minitorch.ones(1))
    assert seen == [["aten.add.Tensor"]]


def test_scopes_that_change_nothing():
    f = abs
    assert minitorch.compile(f, disable=True) is f
    assert minitorch.compiler.disable(f) is f
    assert minitorch.compiler.disable(recursive=False)(f) is f
    assert minitorch.compiler.allow_in_graph(f) is f
    assert not minitorch.compiler.is_compiling()
    minitorch.compiler.reset()
