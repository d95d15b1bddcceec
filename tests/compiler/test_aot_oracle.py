"""The graphs that PyTorch's `aot_function` gives a compiler are those that ours gives."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import minitorch as mt


def residual(torch, F, x, w):
    y = F.conv2d(x, w, padding=1)
    y += x
    return F.max_pool2d(F.relu(y), 2)


def inplace(torch, F, x):
    y = x.sin()
    y.mul_(2)
    return y


FUNCTIONS = {
    "chain": (lambda torch, F, x: x.sin().cos().exp(), [(3, 4)]),
    "softmax": (lambda torch, F, x: x.softmax(-1), [(3, 4)]),
    "layer_norm": (lambda torch, F, x: F.layer_norm(x, [4]), [(3, 4)]),
    "log_softmax": (lambda torch, F, x: F.log_softmax(x, 1).sum(), [(3, 4)]),
    "mse": (lambda torch, F, x, y: F.mse_loss(x, y), [(3, 4), (3, 4)]),
    "bmm": (lambda torch, F, x, y: torch.tanh(x @ y), [(2, 3, 4), (2, 4, 5)]),
    "cat": (lambda torch, F, x, y: torch.cat([x, y], 1).sigmoid(), [(3, 4), (3, 2)]),
    "slice": (lambda torch, F, x: x[1:, 0] * 2, [(3, 4)]),
    "views": (lambda torch, F, x: x.view(2, 6).t().exp(), [(3, 4)]),
    "indexing": (lambda torch, F, x: x[:, [0, 2]].relu(), [(3, 4)]),
    "inplace": (inplace, [(3, 4)]),
    "residual": (residual, [(2, 3, 8, 8), (3, 3, 3, 3)]),
    "embedding": (lambda torch, F, w: F.embedding(torch.tensor([[0, 2], [1, 0]]), w), [(3, 4)]),
}


def graphs(module, name):
    """Return the operators of the forward and of the backward graph."""
    torch = importlib.import_module(module)
    compiler = importlib.import_module(f"{module}._functorch.aot_autograd")
    partitioners = importlib.import_module(f"{module}._functorch.partitioners")
    f, shapes = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    inputs = [torch.tensor(rng.normal(size=shape).astype(np.float32)).requires_grad_() for shape in shapes]
    found = []

    def keep(graph, examples):
        calls = [str(n.target) for n in graph.graph.nodes if n.op == "call_function"]
        # PyTorch saves outputs by detaching them.
        found.append([target for target in calls if target != "aten.detach.default"])
        return compiler.make_boxed_func(graph)

    def call(*args):
        return f(torch, torch.nn.functional, *args)

    compiled = compiler.aot_function(call, keep, keep, partition_fn=partitioners.default_partition)
    compiled(*inputs).sum().backward()
    return found


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_graphs(name):
    ours = graphs(mt.__name__, name)
    assert len(ours) == 2
    assert ours == graphs("torch", name)
