"""Eight small models, written against the Tensor API alone, so that minitorch and torch train the same ones."""

from __future__ import annotations

import importlib
import math
import time

import numpy as np


def normal(mt, rng, *shape):
    return mt.from_numpy(rng.standard_normal(shape).astype(np.float32))


def labels(mt, rng, classes, count):
    return mt.from_numpy(rng.integers(0, classes, (count,)))


def mlp(mt, nn, rng):
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
    return model, mt.optim.SGD, {"lr": 0.1}, normal(mt, rng, 128, 784), labels(mt, rng, 10, 128)


def mlp_adam(mt, nn, rng):
    model, _, _, inputs, target = mlp(mt, nn, rng)
    return model, mt.optim.Adam, {"lr": 1e-3}, inputs, target


def deep_narrow(mt, nn, rng):
    layers = []
    for _ in range(30):
        layers += [nn.Linear(16, 16), nn.Tanh()]
    model = nn.Sequential(*layers, nn.Linear(16, 4))
    return model, mt.optim.SGD, {"lr": 0.01, "momentum": 0.9}, normal(mt, rng, 8, 16), labels(mt, rng, 4, 8)


def cnn(mt, nn, rng):
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 49, 10),
    )  # fmt: skip
    return model, mt.optim.SGD, {"lr": 0.05, "momentum": 0.9}, normal(mt, rng, 32, 1, 28, 28), labels(mt, rng, 10, 32)


def residual(mt, nn, rng):
    class Block(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.first, self.first_norm = (
                nn.Conv2d(channels, channels, 3, padding=1, bias=False),
                nn.BatchNorm2d(channels),
            )
            self.second, self.second_norm = (
                nn.Conv2d(channels, channels, 3, padding=1, bias=False),
                nn.BatchNorm2d(channels),
            )

        def forward(self, x):
            y = nn.functional.relu(self.first_norm(self.first(x)))
            return nn.functional.relu(x + self.second_norm(self.second(y)))

    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)]
    model = nn.Sequential(nn.Conv2d(3, 32, 3, stride=2, padding=1), Block(32), Block(32), *head)
    return model, mt.optim.SGD, {"lr": 0.05, "momentum": 0.9}, normal(mt, rng, 16, 3, 32, 32), labels(mt, rng, 10, 16)


def gpt(mt, nn, rng, width=64, heads=4, depth=2, batch=8, length=32, vocabulary=65):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.projections, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            b, t, c = x.shape
            parts = self.projections(self.before(x)).split(c, dim=2)
            q, k, v = (part.view(b, t, heads, c // heads).transpose(1, 2) for part in parts)
            a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(a.transpose(1, 2).reshape(b, t, c))
            return x + self.down(nn.functional.gelu(self.up(self.between(x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Parameter(mt.zeros(length, width))
            self.blocks = nn.Sequential(*[Block() for _ in range(depth)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

        def forward(self, ids):
            return self.head(self.norm(self.blocks(self.tokens(ids) + self.positions))).flatten(0, 1)

    ids = mt.from_numpy(rng.integers(0, vocabulary, (batch, length)))
    return Model(), mt.optim.AdamW, {"lr": 1e-3}, ids, labels(mt, rng, vocabulary, batch * length)


def gpt_wide(mt, nn, rng):
    return gpt(mt, nn, rng, width=256, heads=8, depth=2, batch=4, length=128, vocabulary=256)


def lstm(mt, nn, rng):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(16, 32, batch_first=True), nn.Linear(32, 5)

        def forward(self, x):
            return self.head(self.lstm(x)[0][:, -1])

    return Model(), mt.optim.Adam, {"lr": 1e-3}, normal(mt, rng, 16, 20, 16), labels(mt, rng, 5, 16)


WORKLOADS = {f.__name__: f for f in (mlp, mlp_adam, deep_narrow, cnn, residual, gpt, gpt_wide, lstm)}


class Run:
    """One of the models in one library on one device, with weights and data that are the same everywhere."""

    def __init__(self, library: str, name: str, device: str):
        mt = self.mt = importlib.import_module(library)
        self.nn = importlib.import_module(library + ".nn")
        importlib.import_module(library + ".optim")
        model, optimizer, options, inputs, target = WORKLOADS[name](mt, self.nn, np.random.default_rng(0))
        weights = np.random.default_rng(1)
        with mt.no_grad():
            for parameter in model.parameters():
                scale = 0.5 / math.sqrt(max(parameter.shape)) if parameter.dim() > 1 else 0.1
                values = weights.standard_normal(tuple(parameter.shape)) * scale
                parameter.copy_(mt.from_numpy(values.astype(np.float32)))
        self.model, self.inputs, self.target = model.to(device), inputs.to(device), target.to(device)
        self.optimizer = optimizer(self.model.parameters(), **options)

    def step(self):
        self.optimizer.zero_grad()
        loss = self.nn.functional.cross_entropy(self.model(self.inputs), self.target)
        loss.backward()
        self.optimizer.step()
        return loss

    def losses(self, count: int) -> list[float]:
        return [self.step().item() for _ in range(count)]

    def seconds(self, count: int) -> float:
        """Return the time of a step, the device's work included."""
        start = time.perf_counter()
        for _ in range(count):
            loss = self.step()
        loss.item()
        return (time.perf_counter() - start) / count
