"""`MemoryTracker`: live and peak bytes, by category and module."""

from __future__ import annotations

import gc

import pytest

import minitorch
from minitorch import nn
from minitorch.utils.memory_tracker import CATEGORIES, MemoryTracker


def test_live_and_peak():
    with MemoryTracker() as tracker:
        x = minitorch.ones(1000)
        assert tracker.live_bytes == 4000
        y = x.view(10, 100)[0]  # shares
        assert tracker.live_bytes == 4000
        z = x * 2
        assert tracker.live_bytes == tracker.peak_bytes == 8000
        del x
        assert tracker.live_bytes == 8000  # y shows it
        del y
        assert tracker.live_bytes == 4000
        z.add_(1)
    assert tracker.peak_bytes == 8000
    assert tracker.peak.op == "aten.mul.Tensor"
    del z
    assert tracker.live_bytes == 0
    assert [event.live for event in tracker.timeline] == [4000, 4000, 4000, 8000, 4000]


def test_what_autograd_saves_counts():
    x = minitorch.ones(1000, requires_grad=True)
    with MemoryTracker() as tracker:
        y = x.exp().sum()
        assert tracker.by_category()["activations"] == 4004  # the result of exp, and the sum
        y.backward()
    assert tracker.by_category()["activations"] == 4
    assert tracker.by_category()["temporary"] == 4000  # the gradient: no module told that x is a parameter


def test_categories():
    model = nn.Sequential(nn.Linear(100, 50, bias=False), nn.BatchNorm1d(50, affine=False), nn.Linear(50, 1, bias=False))
    optimizer = minitorch.optim.Adam(model.parameters())
    x = minitorch.ones(8, 100)
    size = 4 * (100 * 50 + 50)
    with MemoryTracker() as tracker:
        for _ in range(2):
            loss = model(x).sum()
            assert tracker.by_category()["activations"] > 0
            loss.backward()
            assert tracker.by_category()["gradients"] == size
            optimizer.step()
            assert tracker.by_category()["optimizer state"] == 2 * size + 2 * 4
            optimizer.zero_grad()
            assert tracker.by_category()["gradients"] == 0
            del loss
    found = tracker.by_category()
    assert found["parameters"] == size
    assert found["buffers"] == 2 * 4 * 50 + 8
    assert found["other"] == x.nbytes
    assert found["activations"] == found["temporary"] == 0
    assert sum(found.values()) == tracker.live_bytes
    assert max(tracker.series()["temporary"]) > 0
    assert all(len(values) == len(tracker.timeline) for values in tracker.series().values())


def test_modules():
    class Wide(nn.Module):
        def forward(self, x):
            return x.expand(1000, 4).clone().sum(0)

    model = nn.Sequential(nn.Linear(4, 4), Wide())
    x = minitorch.ones(1, 4)
    with MemoryTracker() as tracker, minitorch.no_grad():
        model(x)
    assert tracker.allocated_by_module["Sequential.1"] == 16000 + 16
    assert tracker.allocated_by_op["aten.clone.default"] == 16000
    assert tracker.peak.module == "Sequential.1"
    assert tracker.peak_by_module["Sequential.1"] == tracker.peak_by_module["Sequential"] == tracker.peak_bytes
    assert tracker.peak_by_module["Sequential.0"] < 1000
    text = tracker.summary()
    assert "peak at aten.sum.dim_IntList in Sequential.1" in text
    assert "activations" in text


def test_tensors_without_memory():
    with MemoryTracker() as tracker:
        minitorch.ones(5, device="meta") + 1
        minitorch.func.vmap(lambda row: row * 2)(minitorch.ones(2, 3))
    assert max(event.live for event in tracker.timeline) == 48
    assert len(CATEGORIES) == len(tracker.timeline[0].by_category)


def test_on_opencl():
    pytest.importorskip("pyopencl", reason="follows the memory of a device of OpenCL")
    if not minitorch.opencl.is_available():
        pytest.skip("there is no driver of OpenCL")
    with MemoryTracker() as tracker:
        x = minitorch.ones(1000, device="opencl")
        y = x.view(10, 100)
        assert tracker.live_bytes == 4000
        del x, y
        gc.collect()
        assert tracker.live_bytes == 0
