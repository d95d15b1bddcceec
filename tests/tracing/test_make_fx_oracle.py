"""`make_fx` and PyTorch's: the same operators in the same order."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import minitorch as mt
from minitorch.fx.experimental.proxy_tensor import make_fx

# Nodes that PyTorch has besides: it saves outputs by detaching them.
ONLY_THERE = {"aten.detach.default"}
# Where a Python number divides, PyTorch has the overload for numbers; and a view without checks of what a product returned.
SAME = {
    "aten.div.Scalar": "aten.div.Tensor",
    "aten.div_.Scalar": "aten.div_.Tensor",
    "aten._unsafe_view.default": "aten.view.default",
}


def inputs(torch, shapes):
    rng = np.random.default_rng(0)
    return [torch.tensor(rng.normal(size=shape).astype(np.float32)) for shape in shapes]


def backward(torch, F, x, w):
    x.requires_grad_()
    return torch.autograd.grad(torch.tanh(x * w[:3]).sigmoid().sum(), x)


def attention(torch, F, q, k):
    scores = (q @ k.transpose(-2, -1)) / 2.0
    return torch.softmax(scores.masked_fill(scores < 0, float("-inf")), -1) @ q


def cnn(torch, F, x, w):
    return F.max_pool2d(F.relu(F.conv2d(x, w, padding=1)), 2).flatten(1)


def layers(torch, F, x, w):
    y = F.layer_norm(x, x.shape[-1:])
    y = F.gelu(F.linear(y, w, w.sum(1)))
    return F.log_softmax(y, dim=-1)


def inplace(torch, F, x):
    y = x.clone()
    y[0].mul_(2)
    y[:, 1:3] += 1
    y.t().sub_(0.5)
    y.copy_(x)
    return y


def no_grad(torch, F, x):
    with torch.no_grad():
        y = x * 2
    return y + x


def nested(torch, F, x):
    a, b = x.split(2, dim=1)
    return {"a": a, "bc": (b, [x])}


FUNCTIONS = {
    "linear": (lambda torch, F, x, w: F.linear(x, w), [(3, 4), (5, 4)]),
    "linear_bias": (lambda torch, F, x, w, b: F.linear(x, w, b), [(3, 4), (5, 4), (5,)]),
    "linear_3d": (lambda torch, F, x, w: F.linear(x, w), [(2, 3, 4), (5, 4)]),
    "matmul": (lambda torch, F, x, w: x @ w.t(), [(2, 3, 4), (5, 4)]),
    "constant": (lambda torch, F, x: x + torch.tensor([1.0, 2.0, 3.0, 4.0]), [(3, 4)]),
    "dead": (lambda torch, F, x: (x + 1, x)[1], [(3, 4)]),
    "vmap": (lambda torch, F, x: torch.vmap(lambda r: r.sum(0))(x), [(3, 4)]),
    "vmap_softmax": (lambda torch, F, x: torch.vmap(lambda r: torch.softmax(r, 0).exp())(x), [(3, 4)]),
    "grad": (lambda torch, F, x: torch.func.grad(lambda y: (y.sin() * 2).sum())(x), [(3, 4)]),
    "functionalize": (lambda torch, F, x: torch.func.functionalize(lambda x: (x.add_(1), x * 2)[1])(x), [(3, 4)]),
    "inplace": (inplace, [(3, 4)]),
    "backward": (backward, [(3, 4), (5, 4)]),
    "attention": (attention, [(2, 3, 4), (2, 3, 4)]),
    "sdpa": (lambda torch, F, q: F.scaled_dot_product_attention(q, q, q), [(1, 2, 3, 4)]),
    "cnn": (cnn, [(2, 3, 8, 8), (4, 3, 3, 3)]),
    "layers": (layers, [(3, 4), (5, 4)]),
    "batch_norm": (lambda torch, F, x, m, v: F.batch_norm(x, m, v.abs()), [(3, 4), (4,), (4,)]),
    "group_norm": (lambda torch, F, x: F.group_norm(x, 2), [(3, 4)]),
    "cross_entropy": (lambda torch, F, x: F.cross_entropy(x, torch.tensor([0, 1, 2])), [(3, 4)]),
    "mse": (lambda torch, F, x: F.mse_loss(x, x + 1), [(3, 4)]),
    "dropout_eval": (lambda torch, F, x: F.dropout(x, training=False) * 2, [(3, 4)]),
    "dropout": (lambda torch, F, x: F.dropout(x), [(3, 4)]),
    "embedding": (lambda torch, F, w: F.embedding(torch.tensor([[0, 2]]), w), [(3, 4)]),
    "shapes": (lambda torch, F, x: x.view(2, 6).unsqueeze(0).permute(2, 0, 1).reshape(-1).expand(2, 12), [(3, 4)]),
    "cat": (lambda torch, F, x: torch.stack([torch.cat([x, x]), torch.cat([x, -x])]).chunk(2, 1), [(3, 4)]),
    "where": (lambda torch, F, x: torch.where(x > 0, x, 0.0).clamp(max=1), [(3, 4)]),
    "reductions": (lambda torch, F, x: (x.mean(), x.sum(0), x.amax(1), x.var(0), x.argmax(), x.norm()), [(3, 4)]),
    "max": (lambda torch, F, x: x.max(1), [(3, 4)]),
    "sort": (lambda torch, F, x: (x.sort(1), x.topk(2)), [(3, 4)]),
    "casts": (lambda torch, F, x: x.to(torch.float64)[1:, 0].float().half(), [(3, 4)]),
    "factories": (lambda torch, F, x: torch.zeros(3, 1) + torch.arange(4) + torch.ones_like(x), [(3, 4)]),
    "indexing": (lambda torch, F, x: x[torch.tensor([0, 2])] + x[0, None], [(3, 3)]),
    "nested": (nested, [(3, 4)]),
    "out": (lambda torch, F, x: torch.add(x, 1, out=torch.empty(3, 4)), [(3, 4)]),
    "triangular": (lambda torch, F, x: torch.tril(x) - torch.triu(x, 1), [(4, 4)]),
}
PRE_DISPATCH = ("linear", "linear_bias", "layers", "no_grad", "shapes", "matmul", "attention", "cnn")
FUNCTIONS["no_grad"] = (no_grad, [(3, 4)])


def nodes(graph):
    """Return kind and target of each node."""
    found = []
    for node in graph.graph.nodes:
        target = str(node.target) if node.op != "call_function" or not callable(node.target) else _name(node.target)
        # Batch norm in PyTorch has a fourth result: what a GPU's library keeps.
        reserved = target == "aten.empty.memory_format" and str(node.kwargs.get("dtype")) == "torch.uint8"
        if target not in ONLY_THERE and not reserved:
            found.append((node.op, SAME.get(target, target)))
    return found


def _name(target):
    return str(target) if "." in str(target) and not str(target).startswith("<") else target.__name__


def traced(module, name, **options):
    torch = importlib.import_module(module)
    importlib.import_module(f"{module}.func")
    f, shapes = FUNCTIONS[name]
    tensors = inputs(torch, shapes)
    maker = make_fx if torch is mt else importlib.import_module("torch.fx.experimental.proxy_tensor").make_fx
    calls = {
        1: lambda a: f(torch, torch.nn.functional, a),
        2: lambda a, b: f(torch, torch.nn.functional, a, b),
        3: lambda a, b, c: f(torch, torch.nn.functional, a, b, c),
    }
    return maker(calls[len(shapes)], **options)(*tensors)


@pytest.mark.oracle
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_nodes(name):
    assert nodes(traced("minitorch", name)) == nodes(traced("torch", name))


@pytest.mark.oracle
@pytest.mark.parametrize("name", PRE_DISPATCH)
def test_the_same_nodes_above_autograd(name):
    ours, theirs = (nodes(traced(module, name, pre_dispatch=True)) for module in ("minitorch", "torch"))
    assert ours == theirs


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["linear", "shapes", "cat", "layers", "attention", "cnn", "indexing", "backward"])
def test_the_same_nodes_with_symbolic_sizes(name):
    """Of operators; sizes are computed in another order."""
    pytest.importorskip("sympy")
    found = []
    for module in ("minitorch", "torch"):
        listed = nodes(traced(module, name, tracing_mode="symbolic"))
        found.append([n for n in listed if n[1].startswith("aten.") and "sym_" not in n[1]])
    assert found[0] == found[1]
