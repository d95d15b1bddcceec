"""Recurrent layers on the device against the CPU's, forward and backward."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch.backends import fallback_policy


@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}, {"batch_first": True, "bias": False}], ids=str)
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_layers(kind, options):
    mt.manual_seed(0)
    layer = getattr(mt.nn, kind)(5, 7, **options)
    x = mt.randn(4, 3, 5)
    found = []
    for device in ("cpu", "opencl"):
        layer = layer.to(device)
        layer.zero_grad()
        given = x.detach().clone().to(device).requires_grad_()
        with fallback_policy("error"):
            out, state = layer(given)
            (out.square().sum() + sum(s.sum() for s in (state if isinstance(state, tuple) else (state,)))).backward()
        found.append([t.detach().cpu() for t in (out, given.grad, *(p.grad for p in layer.parameters()))])
    for expected, got in zip(*found, strict=True):
        assert mt.allclose(got, expected, rtol=1e-4, atol=1e-5)
