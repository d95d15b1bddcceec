"""Optimizers that take whole steps on OpenCL devices give what they give on the CPU."""

from __future__ import annotations

import pytest

pytest.importorskip("pyopencl")

import minitorch as torch
from minitorch.backends import fallback_report


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9}), ("Adam", {"lr": 0.01}),
        ("AdamW", {"lr": 0.01, "amsgrad": True}),
    ],
)
def test_training_is_the_same_on_both_devices(kind, options):
    losses = {}
    for device in ("cpu", "opencl"):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3)).to(device)
        x, y = torch.randn(32, 6).to(device), torch.arange(32).to(device) % 3
        optimizer = getattr(torch.optim, kind)(model.parameters(), **options)
        row = []
        for step in range(6):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            row.append(loss.item())
            if step == 2:  # the state goes through the CPU and back
                optimizer.load_state_dict(optimizer.state_dict())
        losses[device] = row
    assert losses["opencl"] == pytest.approx(losses["cpu"], rel=1e-4)
    assert not [row for row in fallback_report().rows if "fused" in row.operator]
