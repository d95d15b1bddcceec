"""Samplers that reject, or otherwise cannot know how many uniforms they need: Poisson, binomial, gamma.

Each takes Python numbers and a `DoubleSource`, computes in float64, and draws as PyTorch does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def normal_pair(u1: float, u2: float) -> tuple[float, float]:
    """Return two normals from two uniforms (Box & Muller, 1958)."""
    radius = math.sqrt(-2 * math.log1p(-u2))
    angle = 2 * math.pi * u1
    return radius * math.cos(angle), radius * math.sin(angle)


class DoubleSource:
    """Float64 uniforms and normals one at a time, for loops that cannot know how many they need.

    Parameters
    ----------
    generator : CPUGenerator
        What it is from `__init__` to `give_back` only this source may draw from.
    """

    __slots__ = ("_buffer", "_generator", "_position", "_used", "_words")

    def __init__(self, generator: Any):
        self._generator = generator
        engine = generator._engine()
        self._words = engine.state
        self._used = 0
        self._buffer: list[float] = []
        self._position = 0

    def __call__(self) -> float:
        if self._position == len(self._buffer):
            self._buffer = self._generator._uniform_float64(512).tolist()
            self._position = 0
        value = self._buffer[self._position]
        self._position += 1
        self._used += 1
        return value

    def normal(self) -> float:
        """Return a standard normal: the second of a pair that the generator has kept, or a new one."""
        generator = self._generator
        kept = generator._normal
        if kept is not None:
            generator._normal = None
            return kept
        u1, u2 = self(), self()
        first, generator._normal = normal_pair(u1, u2)
        return first

    def give_back(self) -> None:
        """Put the generator to just behind the draws that were used."""
        engine = self._generator._engine()
        engine.state = self._words
        if self._used:
            self._generator.long_words(self._used)


def poisson(rate: float, source: DoubleSource) -> float:
    """Return one Poisson draw: by rejection (Hoermann 1993) above 10, else by products."""
    if rate >= 10:
        log_rate = math.log(rate)
        b = 0.931 + 2.53 * math.sqrt(rate)
        a = -0.059 + 0.02483 * b
        inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
        quick = 0.9277 - 3.6224 / (b - 2)
        while True:
            u = source() - 0.5
            v = source()
            edge = 0.5 - abs(u)
            if rate == math.inf:  # PyTorch makes an integer of infinity
                if edge >= 0.07 and v <= quick:
                    return -(2.0**63)
                continue
            k = math.floor((2 * a / edge + b) * u + rate + 0.43)
            if edge >= 0.07 and v <= quick:
                return k
            if k < 0 or (edge < 0.013 and v > edge):
                continue
            density = math.log(v) + math.log(inverse_alpha) - math.log(a / (edge * edge) + b)
            if density <= -rate + k * log_rate - math.lgamma(k + 1):
                return k
    if rate == 0:
        return 0
    bound = math.exp(-rate)
    product = source()
    k = 0
    while product > bound:
        k += 1
        product *= source()
    return k


def single(value: float) -> float:
    """Return `value` rounded to float32."""
    return float(np.float32(value))


def binomial(
    count: float, probability: float, source: DoubleSource, rounded: Callable[[float], float] = float
) -> float:
    """Return one binomial draw: by rejection from 10 expected successes on, else by waiting times.

    Parameters
    ----------
    rounded : callable
        Rounds what PyTorch computes in the type of the parameters: `single` for float32.
    """
    if count <= 0 or probability <= 0:
        return 0.0
    if probability >= 1:
        return count
    if probability <= 0.5:
        return _rarer(count, probability, source, rounded)
    if probability > 0.5:
        return count - _rarer(count, rounded(1.0 - probability), source, rounded)
    return math.nan


def binomial_float32(count: float, probability: float, source: DoubleSource) -> float:
    """Return one binomial draw for float32 parameters."""
    return binomial(count, probability, source, single)


def _rarer(count: float, probability: float, source: DoubleSource, rounded: Callable[[float], float]) -> float:
    """Return one binomial draw with a probability of up to a half."""
    if rounded(count * probability) >= 10.0:
        return _binomial_by_rejection(count, probability, source, rounded)
    # The waiting times between successes are geometric; NaN ends it.
    log_failure = rounded(math.log1p(-probability))
    successes, trials = 0, 0.0
    while True:
        u = source()
        trials += math.ceil(math.log(u) / log_failure) if u > 0.0 else math.inf
        if not trials <= count:
            return float(successes)
        successes += 1


def _floor(x: float) -> float:
    return math.floor(x) if math.isfinite(x) else x


_STIRLING_TAILS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
    0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
    0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _stirling_tail(k: float) -> float:
    """Return ``log(k!)`` less Stirling's formula for it."""
    if k <= 9:
        return _STIRLING_TAILS[int(k)]
    square = (k + 1.0) * (k + 1.0)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1.0)


def _binomial_by_rejection(
    count: float, probability: float, source: DoubleSource, rounded: Callable[[float], float]
) -> float:
    """Return one binomial draw by transformed rejection, algorithm BTRS (Hoermann 1993)."""
    expected = rounded(count * probability)
    failure = rounded(1 - probability)
    deviation = rounded(math.sqrt(rounded(expected * failure)))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * probability
    c = expected + 0.5
    quick = 0.92 - 4.2 / b
    odds = rounded(probability / failure)
    alpha = (2.83 + 5.1 / b) * deviation
    trials = rounded(count + 1)
    mode = _floor(rounded(trials * probability))
    while True:
        u = source() - 0.5
        v = source()
        edge = 0.5 - abs(u)
        k = rounded(_floor((2 * a / edge + b) * u + c))
        if edge >= 0.07 and v <= quick:
            return float(k)
        if k < 0 or k > count:
            continue
        v = math.log(v * alpha / (a / (edge * edge) + b))
        misses = rounded(rounded(count - k) + 1)
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            + trials * math.log((count - mode + 1) / misses)
            + (k + 0.5) * math.log(odds * misses / rounded(k + 1))
            + _stirling_tail(mode)
            + _stirling_tail(count - mode)
            - _stirling_tail(k)
            - _stirling_tail(count - k)
        )
        if v <= bound:
            return float(k)


_THIRD = 0.3333333432674408  # float32's third, as in PyTorch


def gamma(shape: float, source: DoubleSource, rounded: Callable[[float], float] = float) -> float:
    """Return one gamma draw of scale 1 (Marsaglia & Tsang 2000); NaN for a `shape` that has none.

    Parameters
    ----------
    rounded : callable
        Rounds what PyTorch computes in the type of the parameter: `single` for float32.
    """
    if shape == 0:
        return 0.0
    scale = 1.0
    if shape < 1.0:  # a draw for shape + 1, times a power of a uniform
        scale *= math.pow(1 - source(), rounded(1.0 / shape))
        shape = rounded(shape + 1.0)
    d = rounded(shape - _THIRD)
    c = 1.0 / math.sqrt(9.0 * d) if d > 0 else math.nan  # a wrong parameter: NaN, after as many draws as in PyTorch
    while True:
        x = y = 0.0
        while y <= 0:
            x = source.normal()
            y = 1.0 + c * x
        v = y * y * y
        u = 1 - source()
        square = x * x
        if u < 1.0 - 0.0331 * square * square:
            return scale * d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v


def gamma_float32(shape: float, source: DoubleSource) -> float:
    """Return one gamma draw for a float32 parameter."""
    return gamma(shape, source, single)
