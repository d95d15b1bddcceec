"""Random numbers: Philox4x32-10, the same numbers as every accelerator's here (``docs/random.md``).

The counter is the number of the element, counted from the generator's offset; the key is the seed.  What an element's
words become is the rule of `minitorch.backends.opencl.random`, written with CuPy's functions.
"""

from __future__ import annotations

import math
import secrets
from typing import Any

import numpy as np

from minitorch import Generator
from minitorch.backends import NoKernel
from minitorch.backends.cuda import programs
from minitorch.backends.cuda.library import library

_U32, _U64 = np.dtype(np.uint32), np.dtype(np.uint64)
_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


def words(first: int, count: int, seed: int, planes: int) -> Any:
    """Return the first `planes` words of `count` counters from `first` on: an array (planes, count) of uint32."""
    out = programs.empty((planes, count), _U32)
    keys = np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32)
    programs.over(programs.kernel("philox", "philox_words"), count, out, count, first, *keys, planes)
    return out


class PhiloxGenerator(Generator):
    """The stream of random numbers of a CUDA device: a seed, and how many elements were drawn."""

    __slots__ = ("_offset", "_seed")

    def __init__(self, device: Any = "cuda"):
        Generator.__init__(self, device)
        self._seed = 67280421310721
        self._offset = 0

    def manual_seed(self, seed: int) -> PhiloxGenerator:
        """Start the stream of `seed`; return this generator."""
        seed = int(seed)
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError(f"Overflow when unpacking long long: the seed {seed} needs over 64 bits")
        self._seed = seed % (1 << 64)  # negative seeds count from the end
        self._offset = 0
        return self

    def initial_seed(self) -> int:
        """Return the seed that the stream was started with."""
        return self._seed

    def seed(self) -> int:
        """Start a stream nobody can foresee; return its seed."""
        seed = secrets.randbits(64)
        self.manual_seed(seed)
        return seed

    def get_offset(self) -> int:
        """Return how many elements were drawn."""
        return self._offset

    def set_offset(self, offset: int) -> None:
        """Continue from element `offset` of the stream."""
        self._offset = int(offset)

    def state_array(self) -> np.ndarray:
        """Return seed and position as 16 bytes."""
        return np.array([self._seed, self._offset], np.uint64).view(np.uint8)

    def set_state_array(self, state: Any) -> None:
        """Continue from what `state_array` returned.

        Raises
        ------
        RuntimeError
            If `state` is no state of such a generator.
        """
        state = np.asarray(state)
        if state.dtype != np.uint8 or state.size != 16:
            raise RuntimeError(f"RNG state must be 16 bytes of type uint8, but is {state.size} of {state.dtype}")
        self._seed, self._offset = (int(v) for v in np.ascontiguousarray(state).reshape(-1).view(np.uint64))

    # ------------------------------------------------------------ draws

    def take(self, count: int) -> tuple[int, int]:
        """Return the seed and the first of the next `count` elements, which are drawn by a kernel."""
        first, self._offset = self._offset, self._offset + count
        return self._seed, first

    def _words(self, shape: Any, planes: int) -> list:
        count = math.prod(shape)
        seed, first = self.take(count)
        index = self.device.index
        cuda = library().cuda
        with cuda.Device(cuda.runtime.getDevice() if index is None else index):
            drawn = words(first, count, seed, planes)
        return [drawn[p].reshape(shape) for p in range(planes)]

    def _long_words(self, shape: Any) -> Any:
        low, high = self._words(shape, 2)
        return low.astype(_U64) | (high.astype(_U64) << np.uint64(32))

    def _standard_uniform(self, shape: Any, np_dtype: Any) -> Any:
        """Return numbers in [0, 1), in float32 or float64, with as many bits as `np_dtype` has."""
        if np_dtype == _F64:
            return (self._long_words(shape) >> np.uint64(11)).astype(_F64) * np.float64(2.0**-53)
        bits = {"float16": 11, "bfloat16": 8}.get(np_dtype.name, 24)
        (word,) = self._words(shape, 1)
        return (word >> np.uint32(32 - bits)).astype(_F32) * np.float32(2.0**-bits)

    def uniform(self, shape: Any, np_dtype: Any, low: float = 0.0, high: float = 1.0) -> Any:
        """Return numbers in [low, high)."""
        if np_dtype.kind == "c":
            return _complex(self.uniform((*shape, 2), _part(np_dtype), low, high), np_dtype)
        u = self._standard_uniform(shape, np_dtype)
        if low != 0.0 or high != 1.0:
            u = u * u.dtype.type(high - low) + u.dtype.type(low)
            u = library().where(u < high, u, u.dtype.type(low))
        return u.astype(np_dtype, copy=False)

    def _standard_normal(self, shape: Any, wide: bool) -> Any:
        """Return normal numbers by Box and Muller's method."""
        cupy = library()
        if wide:
            w = [plane.astype(_U64) for plane in self._words(shape, 4)]
            first, second = w[0] | (w[1] << np.uint64(32)), w[2] | (w[3] << np.uint64(32))
            u1 = ((first >> np.uint64(11)).astype(_F64) + np.float64(1.0)) * np.float64(2.0**-53)
            u2 = (second >> np.uint64(11)).astype(_F64) * np.float64(2.0**-53)
            factor, two = np.float64(2 * math.pi), np.float64(-2.0)
        else:
            first, second = self._words(shape, 2)
            # 24 bits alone would end the tail at 5.8 deviations
            u1 = (first.astype(_F32) + np.float32(1.0)) * np.float32(2.0**-32)
            u2 = (second >> np.uint32(8)).astype(_F32) * np.float32(2.0**-24)
            factor, two = np.float32(2 * math.pi), np.float32(-2.0)
        return cupy.sqrt(cupy.log(u1) * two) * cupy.cos(u2 * factor)

    def normal(self, shape: Any, np_dtype: Any, mean: Any = 0.0, std: float = 1.0, *, blocks: bool = True) -> Any:
        """Return normal numbers."""
        if np_dtype.kind == "c":
            z = _complex(self.normal((*shape, 2), _part(np_dtype), 0.0, std * math.sqrt(0.5)), np_dtype)
            return z if mean == 0 else z + np_dtype.type(mean)
        z = self._standard_normal(shape, np_dtype == _F64)
        if std != 1.0 or mean != 0.0:
            z = z * z.dtype.type(std) + z.dtype.type(mean)
        return z.astype(np_dtype, copy=False)

    def log_normal(self, shape: Any, np_dtype: Any, mean: float, std: float) -> Any:
        """Return numbers whose logarithm is normal."""
        z = self._standard_normal(shape, np_dtype == _F64)
        return library().exp(z * z.dtype.type(std) + z.dtype.type(mean)).astype(np_dtype, copy=False)

    def integers(self, shape: Any, np_dtype: Any, low: int, high: int) -> Any:
        """Return integers in [low, high), of equal probability up to 2**-32."""
        span = high - low
        word = self._long_words(shape)
        if span < 1 << 64:
            word = word % np.uint64(span)
        if np_dtype.kind in "fV":
            return (word.astype(np.int64) + np.int64(low)).astype(np_dtype)
        return (word + np.uint64(low % (1 << 64))).astype(np_dtype)

    def integers_of_type(self, shape: Any, np_dtype: Any, digits: int) -> Any:
        """Return integers in [0, 2**digits)."""
        return (self._long_words(shape) >> np.uint64(64 - digits)).astype(np_dtype)

    def all_long_words(self, shape: Any) -> Any:
        """Return integers of all 64 bits."""
        return self._long_words(shape).astype(np.int64)

    def randperm(self, n: int, np_dtype: Any) -> Any:
        """Return a permutation: the order of n words."""
        return library().argsort(self._long_words((n,)).astype(np.int64), kind="stable").astype(np_dtype)

    def bernoulli(self, probability: Any) -> Any:
        """Return whether a uniform number lies below each probability."""
        return self._standard_uniform(probability.shape, _F64) < probability.astype(_F64)

    def bernoulli_scalar(self, shape: Any, p: float) -> Any:
        """Return True with probability `p`."""
        return self._standard_uniform(shape, _F64) < p

    def exponential(self, shape: Any, np_dtype: Any, rate: float = 1.0) -> Any:
        """Return exponential numbers: ``-log1p(-u) / rate``."""
        u = self._standard_uniform(shape, _F64)
        return (library().log1p(-u) * (-1.0 / rate)).astype(np_dtype)

    def cauchy(self, shape: Any, np_dtype: Any, median: float, sigma: float) -> Any:
        """Return numbers of Cauchy's distribution."""
        u = self._standard_uniform(shape, _F64)
        return (library().tan((u - 0.5) * math.pi) * sigma + median).astype(np_dtype)

    def geometric(self, shape: Any, np_dtype: Any, p: float) -> Any:
        """Return how many trials it takes until one succeeds."""
        u = self._standard_uniform(shape, _F64)
        if p == 1:
            return library().ones(shape, np_dtype)
        trials = library().ceil(library().log1p(-u) / math.log1p(-p))
        return library().maximum(trials, 1.0).astype(np_dtype)

    def multinomial(self, weights: Any, count: int, replacement: bool) -> Any:
        """Return `count` column numbers for each row of weights."""
        cupy = library()
        rows, columns = weights.shape
        weights = weights.astype(_F64)
        if not replacement:
            # the order of w / e, e exponential, is that of draws without replacement (Efraimidis and Spirakis 2006)
            positive = weights > 0
            keys = cupy.log1p(-self._standard_uniform((rows, columns), _F64)) / cupy.where(positive, weights, 1.0)
            keys = cupy.where(positive, keys, -np.inf)
            return cupy.ascontiguousarray(cupy.argsort(-keys, axis=1, kind="stable")[:, :count])
        limits = cupy.cumsum(weights, axis=1)
        u = self._standard_uniform((rows, count), _F64) * limits[:, -1:]
        chosen = cupy.sum(limits[:, None, :] <= u[:, :, None], axis=2)
        # never a weight of 0, were u rounded up
        top = cupy.sum(cupy.cumsum((weights[:, ::-1] > 0).astype(np.int64), axis=1) == 0, axis=1)[:, None]
        return cupy.minimum(chosen, (columns - 1) - top)

    def __getattr__(self, name: str) -> Any:
        if name in ("poisson", "binomial", "standard_gamma", "dirichlet"):
            raise NoKernel(f"{name}: numbers by rejection are drawn on the CPU")
        raise AttributeError(name)


def _part(np_dtype: Any) -> np.dtype:
    return _F32 if np_dtype == np.complex64 else _F64


def _complex(pairs: Any, np_dtype: Any) -> Any:
    return pairs.view(np_dtype).reshape(pairs.shape[:-1])
