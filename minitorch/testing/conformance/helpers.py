"""What the tests of the kit that are no operator's share."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch
from minitorch.testing.conformance.compare import differing
from minitorch.testing.conformance.operators import holds

DTYPES = (
    "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64",
)  # fmt: skip


def numbers(*shape: int, dtype: Any = None, seed: int = 0) -> Any:
    """Return a CPU tensor of small numbers, the same ones each time; whole ones, which every dtype holds."""
    count = 1
    for n in shape:
        count *= n
    values = (minitorch.arange(count) * 7 + 3 + seed) % 23
    return values.reshape(shape).to(minitorch.float32 if dtype is None else dtype)


def dtypes_of(device: Any) -> list:
    """Return the dtypes that a device has tensors of."""
    return [getattr(minitorch, name) for name in DTYPES if holds(device, name)]


def check_equal(found: Any, wanted: Any, device: Any = None, scale: float = 0.0) -> None:
    """Assert that a tensor holds what a CPU tensor does, in its dtype, and is on a device.

    Parameters
    ----------
    scale : float
        Multiplies the tolerances; 0: equal to the bit.
    """
    __tracebackhide__ = True
    if device is not None:
        assert found.device == device
    assert found.dtype is wanted.dtype
    assert found.shape == wanted.shape
    text = differing(found.detach().cpu(), wanted.detach(), scale)
    assert not text, text


def only_for_backends(device: Any) -> None:
    """Skip a test that the CPU has no part in."""
    if device.type == "cpu":
        pytest.skip("nothing of the CPU's")


def backend_module(device: Any) -> Any:
    """Return ``minitorch.<device type>``."""
    return getattr(minitorch, device.type)


def net() -> Any:
    """Return a small network on the CPU, with the same weights each time."""
    minitorch.manual_seed(7)
    nn = minitorch.nn
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 12), nn.LayerNorm(12), nn.GELU(),
        nn.Linear(12, 3),
    )  # fmt: skip
