"""A fake (and a meta) run of whole training steps looks like the real run, operator by operator, and allocates nothing."""

from __future__ import annotations

import tracemalloc

import pytest

import minitorch as mt
from minitorch import nn
from minitorch._subclasses import FakeTensor, FakeTensorMode
from minitorch.modes import TorchDispatchMode


class Geometries(TorchDispatchMode):
    """Notes of each operator what its results look like."""

    def __init__(self, device=None):
        super().__init__()
        self.lines = []
        self.device = device  # named in place of the tensors' own

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.lines.append(
            (str(func), [self.of(t) for t in (result if isinstance(result, (list, tuple)) else (result,))])
        )
        return result

    def of(self, value):
        if not isinstance(value, mt.Tensor):
            return type(value).__name__
        return (
            tuple(value.shape), value.dtype, value.stride(), value.storage_offset(), self.device or value.device,
            value.untyped_storage().nbytes(),
        )  # fmt: skip


def labels(classes, count):
    return mt.randint(0, classes, (count,))


def mlp():
    model = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 10))
    return model, mt.optim.SGD, {"lr": 0.1}, mt.randn(8, 20), labels(10, 8)


def mlp_adam():
    model, _, _, inputs, target = mlp()
    return model, mt.optim.Adam, {"lr": 1e-3}, inputs, target


def deep_narrow():
    layers = []
    for _ in range(6):
        layers += [nn.Linear(8, 8), nn.Tanh()]
    return (
        nn.Sequential(*layers, nn.Linear(8, 4)),
        mt.optim.SGD,
        {"lr": 0.01, "momentum": 0.9},
        mt.randn(4, 8),
        labels(4, 4),
    )


def cnn():
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 9, 10),
    )  # fmt: skip
    return model, mt.optim.SGD, {"lr": 0.05, "momentum": 0.9}, mt.randn(4, 1, 12, 12), labels(10, 4)


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        self.c2, self.b2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)

    def forward(self, x):
        y = nn.functional.relu(self.b1(self.c1(x)))
        return nn.functional.relu(x + self.b2(self.c2(y)))


def resnet_block():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1), ResidualBlock(8), ResidualBlock(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(8, 10),
    )  # fmt: skip
    return model, mt.optim.SGD, {"lr": 0.05, "momentum": 0.9}, mt.randn(2, 3, 16, 16), labels(10, 2)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (
            s.view(b, t, self.heads, c // self.heads).transpose(1, 2) for s in self.qkv(self.n1(x)).split(c, dim=2)
        )
        a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, c))
        return x + self.down(nn.functional.gelu(self.up(self.n2(x))))


class GPT(nn.Module):
    def __init__(self, width, heads, depth, length, vocab):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, width), nn.Parameter(mt.zeros(length, width))
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab)

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.tok(ids) + self.pos))).flatten(0, 1)


def gpt(width=16, heads=4, batch=2, length=8, vocab=20):
    model = GPT(width, heads, 2, length, vocab)
    return model, mt.optim.AdamW, {"lr": 1e-3}, mt.randint(0, vocab, (batch, length)), labels(vocab, batch * length)


def gpt_wide():
    return gpt(width=64, heads=8, length=16, vocab=64)


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 5)

    def forward(self, x):
        y, _ = self.lstm(x)
        return self.head(y[:, -1])


def lstm():
    return LSTM(), mt.optim.Adam, {"lr": 1e-3}, mt.randn(4, 6, 8), labels(5, 4)


MODELS = (mlp, mlp_adam, deep_narrow, cnn, resnet_block, gpt, gpt_wide, lstm)


def steps(made, count=2):
    """Run training steps, and return the model."""
    model, optimizer, options, inputs, target = made()
    trained = optimizer(model.parameters(), **options)
    for _ in range(count):
        trained.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), target)
        loss.backward()
        trained.step()
    return model


@pytest.mark.parametrize("made", MODELS, ids=lambda made: made.__name__)
def test_fake_training_looks_like_real_training(made):
    with Geometries() as real:
        expected = steps(made)
    with FakeTensorMode(), Geometries() as fake:
        found = steps(made)
    for number, (one, other) in enumerate(zip(fake.lines, real.lines, strict=True)):
        assert one == other, f"operator {number}"
    assert len(real.lines) > 50
    for one, other in zip(found.parameters(), expected.parameters(), strict=True):
        assert type(one) is FakeTensor
        assert type(one.grad) is FakeTensor
        assert isinstance(one, nn.Parameter)
        assert (one.shape, one.stride(), one.grad.stride()) == (other.shape, other.stride(), other.grad.stride())


@pytest.mark.parametrize("made", MODELS, ids=lambda made: made.__name__)
def test_meta_training_looks_like_real_training(made):
    def forward_and_backward(device):
        model, _, _, inputs, target = made()
        model, inputs, target = model.to(device), inputs.to(device), target.to(device)
        with Geometries(device="any") as mode:
            nn.functional.cross_entropy(model(inputs), target).backward()
        return mode.lines, model

    expected, _ = forward_and_backward("cpu")
    found, model = forward_and_backward("meta")
    assert found == expected
    assert all(p.is_meta and p.grad.is_meta for p in model.parameters())


@pytest.mark.parametrize("device", ["cuda", "opencl"])
def test_fake_training_on_a_device_that_is_not_there(device):
    def on_device():
        model, optimizer, options, inputs, target = gpt()
        return model.to(device), optimizer, options, inputs.to(device), target.to(device)

    with FakeTensorMode():
        model = steps(on_device)
    for parameter in model.parameters():
        assert str(parameter.device) == str(parameter.grad.device) == f"{device}:0"


def test_a_model_larger_than_memory():
    """Seven billion parameters, their gradients and the activations, in less memory than one of their rows."""
    tracemalloc.start()
    try:
        with FakeTensorMode():
            model = GPT(4096, 32, 32, 2048, 50_000)
            loss = nn.functional.cross_entropy(model(mt.randint(0, 50_000, (1, 2048))), labels(50_000, 2048))
            loss.backward()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    parameters = list(model.parameters())
    assert sum(p.numel() for p in parameters) > 6.5e9
    assert all(p.grad.shape == p.shape for p in parameters)
    assert peak < 20e6
