"""What the tests of quantized models share: the same thing in minitorch and in PyTorch, and how they are compared."""

from __future__ import annotations

import warnings

import numpy as np

import minitorch as mt
import minitorch.ao.quantization as mq
from minitorch.ao.nn import quantized as nnq


def torch_quantization(torch):
    """Return ``torch.ao.quantization``, which warns that it will move."""
    import torch.ao.nn.quantized
    import torch.ao.quantization

    return torch.ao.quantization


def quiet(function, *args, **kwargs):
    """Call a function of PyTorch without its deprecation warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def take_state(torch, target, source):
    """Load a float minitorch module's state into a PyTorch module."""
    target.load_state_dict({k: torch.from_numpy(v.detach().numpy().copy()) for k, v in source.state_dict().items()})


def batches(*shape, count=4, seed=0, scale=1.0):
    """Return arrays of normal numbers, float32."""
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=shape) * scale).astype(np.float32) for _ in range(count)]


def same(found, expected):
    """Assert that a minitorch tensor has the dtype, shape and bits of a PyTorch one."""
    assert str(found.dtype) == str(expected.dtype)
    assert tuple(found.shape) == tuple(expected.shape)
    np.testing.assert_array_equal(found.detach().numpy(), expected.detach().numpy())


def units(found, expected, scale):
    """Return by how many units of its scale a float result differs at most."""
    return np.abs((found.detach().numpy() - expected.detach().numpy()) / scale).max()


def cnn(library, quantization):
    """Return a small network with stubs, in a library."""
    nn = library.nn
    functional = library.ao.nn.quantized.FloatFunctional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
            self.c1, self.b1, self.r1 = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()
            self.c2, self.r2 = nn.Conv2d(4, 4, 3, padding=1, stride=2), nn.ReLU()
            self.pool, self.flat, self.sums = nn.MaxPool2d(2), nn.Flatten(), functional()
            self.l1, self.r3, self.l2 = nn.Linear(4 * 2 * 2, 12), nn.ReLU(), nn.Linear(12, 5)

        def forward(self, x):
            x = self.r2(self.c2(self.r1(self.b1(self.c1(self.quant(x))))))
            x = self.flat(self.pool(self.sums.add(x, x)))
            return self.dequant(self.l2(self.r3(self.l1(x))))

    return Net()


FUSED = [["c1", "b1", "r1"], ["c2", "r2"], ["l1", "r3"]]


def interesting_statistics(model):
    """Give a network's batch norm running statistics as after training."""
    model.b1.running_mean.copy_(mt.tensor([0.5, -0.5, 0.25, 0.0]))
    model.b1.running_var.copy_(mt.tensor([0.5, 2.0, 1.0, 1.5]))
    return model


__all__ = [
    "FUSED", "batches", "cnn", "interesting_statistics", "mq", "mt", "nnq", "quiet", "same", "take_state",
    "torch_quantization", "units",
]  # fmt: skip
