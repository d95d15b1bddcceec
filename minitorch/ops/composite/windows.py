"""Windows for spectra written with other operators; by default one period, without the repeated last sample."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_explicit
from minitorch.ops.shapes.common import check


def _window(
    name: str, length: int, periodic: bool, keywords: dict[str, Any], formula: Callable[[Any, int], Any]
) -> Any:
    """Return ``formula(places, last)`` of the samples' numbers, the last of which is the period."""
    check(length >= 0, f"{name}(): requires non-negative window_length, got window_length={length}")
    dtype = keywords.get("dtype")
    check(
        dtype is None or dtype.is_floating_point or dtype.is_complex,
        f"{name}(): expects floating point dtypes, got: {dtype}",
    )
    keywords = {word: value for word, value in keywords.items() if value is not None}
    if length <= 1:
        return F.ones([length], **keywords)
    last = length if periodic else length - 1
    return formula(F.arange(0.0, float(length), **keywords), last)


@composite_explicit("bartlett_window", "bartlett_window.periodic")
def bartlett_window_composite(window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=None):
    keywords = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    return _window(
        "bartlett_window", window_length, periodic, keywords,
        lambda n, last: 1.0 - F.abs(n * (2.0 / last) - 1.0),
    )  # fmt: skip


@composite_explicit("blackman_window", "blackman_window.periodic")
def blackman_window_composite(window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=None):
    keywords = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    return _window(
        "blackman_window", window_length, periodic, keywords,
        lambda n, last: F.cos(n * (4 * pi / last)) * 0.08 - F.cos(n * (2 * pi / last)) * 0.5 + 0.42,
    )  # fmt: skip


@composite_explicit(
    "hamming_window", "hamming_window.periodic", "hamming_window.periodic_alpha", "hamming_window.periodic_alpha_beta"
)
def hamming_window_composite(
    window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, layout=None, device=None, pin_memory=None
):
    keywords = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    return _window(
        "hamming_window", window_length, periodic, keywords,
        lambda n, last: alpha - F.cos(n * (2 * pi / last)) * beta,
    )  # fmt: skip


@composite_explicit("hann_window", "hann_window.periodic")
def hann_window_composite(window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=None):
    keywords = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    return _window(
        "hann_window", window_length, periodic, keywords,
        lambda n, last: 0.5 - F.cos(n * (2 * pi / last)) * 0.5,
    )  # fmt: skip


@composite_explicit("kaiser_window", "kaiser_window.periodic", "kaiser_window.beta")
def kaiser_window_composite(
    window_length, periodic=True, beta=12.0, *, dtype=None, layout=None, device=None, pin_memory=None
):
    keywords = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}

    def height(n, last):
        place = n * (2.0 / last) - 1.0
        argument = beta * F.sqrt(F.clamp_min(1.0 - place * place, 0.0))
        # I0 scaled by exp(-x) does not overflow.
        return F.special_i0e(argument) * F.exp(argument - beta) / F.special_i0e(F.full_like(place, beta))

    return _window("kaiser_window", window_length, periodic, keywords, height)
