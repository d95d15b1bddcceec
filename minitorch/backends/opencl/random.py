"""Random numbers: Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").

The counter is the number of the element, counted from the generator's offset; the key is the seed.
So the numbers do not depend on the device, its size, or how a launch is cut up, and equal those of
`words_on_host`, the same rule in NumPy.  An element takes as many of its counter's four words as it
needs; what the words become is written with pointwise functions, and documented in ``docs/random.md``.
"""

from __future__ import annotations

import math
import secrets

import numpy as np

from minitorch import Generator
from minitorch.backends import NoKernel
from minitorch.backends.opencl import runtime
from minitorch.backends.opencl.array import CLArray, empty
from minitorch.backends.opencl.ctypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT64
from minitorch.backends.opencl.pointwise import cast
from minitorch.backends.opencl.ufuncs import UFUNCS, where

_UINT32 = np.dtype(np.uint32)
_UINT64 = np.dtype(np.uint64)
_CHUNK = 1024

_SOURCE = """
#define ROUND(k0, k1) { uint16 h0 = mul_hi(c0, (uint16)(0xD2511F53u)), l0 = c0 * 0xD2511F53u; \\
  uint16 h1 = mul_hi(c2, (uint16)(0xCD9E8D57u)), l1 = c2 * 0xCD9E8D57u; \\
  c0 = h1 ^ c1 ^ (k0); c1 = l1; c2 = h0 ^ c3 ^ (k1); c3 = l0; }
__kernel void run(__global uint *out, long first, long n, uint seed0, uint seed1, int planes) {
  long i = (long)get_global_id(0) * CHUNK; const long e = min(i + CHUNK, n);
  for (; i < e; i += 16) {
    ulong16 c = (ulong16)(first + i) + (ulong16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    uint16 c0 = convert_uint16(c & 0xffffffffUL), c1 = convert_uint16(c >> 32), c2 = 0, c3 = 0;
    uint k0 = seed0, k1 = seed1;
    for (int r = 0; r < 10; r++) { ROUND(k0, k1) k0 += 0x9E3779B9u; k1 += 0xBB67AE85u; }
    if (i + 16 <= e) {
      vstore16(c0, 0, out + i);
      if (planes > 1) vstore16(c1, 0, out + n + i);
      if (planes > 2) { vstore16(c2, 0, out + 2 * n + i); vstore16(c3, 0, out + 3 * n + i); }
    } else {
      uint t[64]; vstore16(c0, 0, t); vstore16(c1, 1, t); vstore16(c2, 2, t); vstore16(c3, 3, t);
      for (int p = 0; p < planes; p++) for (int j = 0; j < e - i; j++) out[p * n + i + j] = t[p * 16 + j];
    }
  }
}
""".replace("CHUNK", str(_CHUNK))


def words_on_host(first: int, count: int, seed: int) -> np.ndarray:
    """Return the four words of `count` counters from `first` on, by NumPy: an array (4, count) of uint32."""
    counter = np.arange(first, first + count, dtype=np.uint64)
    c0, c1 = (counter & 0xFFFFFFFF).astype(np.uint64), counter >> np.uint64(32)
    c2 = c3 = np.zeros(count, np.uint64)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        p0, p1 = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (
            (p1 >> np.uint64(32)) ^ c1 ^ np.uint64(k0), p1 & low, (p0 >> np.uint64(32)) ^ c3 ^ np.uint64(k1), p0 & low
        )  # fmt: skip
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3]).astype(np.uint32)


def words(first: int, count: int, seed: int, planes: int, device: runtime.Device) -> list[CLArray]:
    """Return the first `planes` (1, 2 or 4) words of `count` counters, each a row of uint32."""
    out = empty((planes, count), _UINT32, device)
    out.settle()
    if count:
        types = (None, INT64, INT64, _UINT32, _UINT32, np.dtype(np.int32))
        kernel = device.kernel("philox", lambda: _SOURCE, "run", types)
        args = (out.block.buffer, first, count, seed & 0xFFFFFFFF, seed >> 32, planes)
        device.launch(kernel, (-(-count // _CHUNK),), args)
    return [out[p] for p in range(planes)]


class PhiloxGenerator(Generator):
    """The stream of random numbers of an OpenCL device: a seed, and how many elements were drawn."""

    __slots__ = ("_offset", "_seed")

    def __init__(self, device="opencl"):
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

    def set_state_array(self, state) -> None:
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

    def _words(self, shape, planes: int) -> list[CLArray]:
        count = math.prod(shape)
        device = runtime.device(self.device.index)
        first, self._offset = self._offset, self._offset + count
        return [w.reshape(shape) for w in words(first, count, self._seed, planes, device)]

    def _long_words(self, shape) -> CLArray:
        low, high = self._words(shape, 2)
        return cast(low, _UINT64) | (cast(high, _UINT64) << np.uint64(32))

    def _standard_uniform(self, shape, np_dtype) -> CLArray:
        """Return numbers in [0, 1), in float32 or float64, with as many bits as `np_dtype` has."""
        if np_dtype == FLOAT64:
            return cast(self._long_words(shape) >> np.uint64(11), FLOAT64) * np.float64(2.0**-53)
        bits = 11 if np_dtype == FLOAT16 else 8 if np_dtype == BFLOAT16 else 24
        (word,) = self._words(shape, 1)
        return cast(word >> np.uint32(32 - bits), FLOAT32) * np.float32(2.0**-bits)

    def uniform(self, shape, np_dtype, low: float = 0.0, high: float = 1.0) -> CLArray:
        """Return numbers in [low, high)."""
        if np_dtype.kind == "c":
            part = FLOAT32 if np_dtype == np.complex64 else FLOAT64
            return _complex(self.uniform((*shape, 2), part, low, high), np_dtype)
        u = self._standard_uniform(shape, np_dtype)
        if low != 0.0 or high != 1.0:
            u = u * (high - low) + low
            u = where(u < high, u, low)
        return cast(u, np_dtype)

    def _standard_normal(self, shape, wide: bool) -> CLArray:
        """Return normal numbers by Box and Muller's method."""
        if wide:
            w = self._words(shape, 4)
            first = cast(w[0], _UINT64) | (cast(w[1], _UINT64) << np.uint64(32))
            second = cast(w[2], _UINT64) | (cast(w[3], _UINT64) << np.uint64(32))
            u1 = (cast(first >> np.uint64(11), FLOAT64) + np.float64(1.0)) * np.float64(2.0**-53)
            u2 = cast(second >> np.uint64(11), FLOAT64) * np.float64(2.0**-53)
            factor = np.float64(2 * math.pi)
        else:
            first, second = self._words(shape, 2)
            # 24 bits alone would end the tail at 5.8 deviations
            u1 = (cast(first, FLOAT32) + np.float32(1.0)) * np.float32(2.0**-32)
            u2 = cast(second >> np.uint32(8), FLOAT32) * np.float32(2.0**-24)
            factor = np.float32(2 * math.pi)
        return UFUNCS["sqrt"](UFUNCS["log"](u1) * -2.0) * UFUNCS["cos"](u2 * factor)

    def normal(self, shape, np_dtype, mean: float = 0.0, std: float = 1.0, *, blocks: bool = True) -> CLArray:
        """Return normal numbers."""
        if np_dtype.kind == "c":
            part = FLOAT32 if np_dtype == np.complex64 else FLOAT64
            return _complex(self.normal((*shape, 2), part, 0.0, std * math.sqrt(0.5)), np_dtype) + mean
        z = self._standard_normal(shape, np_dtype == FLOAT64)
        if std != 1.0 or mean != 0.0:
            z = z * std + mean
        return cast(z, np_dtype)

    def log_normal(self, shape, np_dtype, mean: float, std: float) -> CLArray:
        """Return numbers whose logarithm is normal."""
        z = self._standard_normal(shape, np_dtype == FLOAT64)
        return cast(UFUNCS["exp"](z * std + mean), np_dtype)

    def integers(self, shape, np_dtype, low: int, high: int) -> CLArray:
        """Return integers in [low, high), of equal probability up to 2**-32."""
        span = high - low
        word = self._long_words(shape)
        if span < 1 << 64:
            word = word % np.uint64(span)
        return self._shifted(word, low, np_dtype)

    @staticmethod
    def _shifted(word, low, np_dtype):
        if np_dtype.kind in "fV":
            return cast(cast(word, INT64) + np.int64(low), np_dtype)
        return cast(word + np.uint64(low % (1 << 64)), np_dtype)

    def integers_of_type(self, shape, np_dtype, digits: int) -> CLArray:
        """Return integers in [0, 2**digits)."""
        return cast(self._long_words(shape) >> np.uint64(64 - digits), np_dtype)

    def all_long_words(self, shape) -> CLArray:
        """Return integers of all 64 bits."""
        return cast(self._long_words(shape), INT64)

    def randperm(self, n: int, np_dtype) -> CLArray:
        """Return a permutation: the order of n words."""
        from minitorch.backends.opencl import sorting

        return cast(sorting.argsort(cast(self._long_words((n,)), INT64).settle(), kind="stable"), np_dtype)

    def bernoulli(self, probability: CLArray) -> CLArray:
        """Return whether a uniform number lies below each probability."""
        return self._standard_uniform(probability.shape, FLOAT64) < cast(probability, FLOAT64)

    def bernoulli_scalar(self, shape, p: float) -> CLArray:
        """Return True with probability `p`."""
        return self._standard_uniform(shape, FLOAT64) < p

    def exponential(self, shape, np_dtype, rate: float = 1.0) -> CLArray:
        """Return exponential numbers: ``-log1p(-u) / rate``."""
        u = self._standard_uniform(shape, FLOAT64)
        return cast(UFUNCS["log1p"](-u) * (-1.0 / rate), np_dtype)

    def cauchy(self, shape, np_dtype, median: float, sigma: float) -> CLArray:
        """Return numbers of Cauchy's distribution."""
        u = self._standard_uniform(shape, FLOAT64)
        return cast(UFUNCS["tan"]((u - 0.5) * math.pi) * sigma + median, np_dtype)

    def geometric(self, shape, np_dtype, p: float) -> CLArray:
        """Return how many trials it takes until one succeeds."""
        u = self._standard_uniform(shape, FLOAT64)
        if p == 1:
            return cast(u * 0.0 + 1.0, np_dtype)
        trials = UFUNCS["ceil"](UFUNCS["log1p"](-u) / math.log1p(-p))
        return cast(UFUNCS["maximum"](trials, 1.0), np_dtype)

    def multinomial(self, weights: CLArray, count: int, replacement: bool) -> CLArray:
        """Return `count` column numbers for each row of weights."""
        from minitorch.backends.opencl import reductions, sorting

        rows, columns = weights.shape
        weights = cast(weights, FLOAT64)
        if not replacement:
            # the order of w / e, e exponential, is that of draws without replacement (Efraimidis and Spirakis 2006)
            keys = UFUNCS["log1p"](-self._standard_uniform((rows, columns), FLOAT64)) / weights
            keys = where(weights > 0, keys, -np.inf)
            return sorting.argsort(-keys, axis=1)[:, :count].copy()
        limits = reductions.cumsum(weights, axis=1)
        u = self._standard_uniform((rows, count), FLOAT64) * limits[:, -1:]
        below = cast((limits[:, None, :] <= u[:, :, None]), INT64)
        last = cast(weights[:, None, :] > 0, INT64)  # never a weight of 0, were u rounded up
        chosen = reductions.sum(below, axis=2)
        top = reductions.sum(cast(reductions.cumsum(last[:, :, ::-1], axis=2) == 0, INT64), axis=2)
        return UFUNCS["minimum"](chosen, (columns - 1) - top)

    def __getattr__(self, name):
        if name in ("poisson", "binomial", "standard_gamma", "dirichlet"):
            raise NoKernel(f"{name}: numbers by rejection are drawn on the CPU")
        raise AttributeError(name)


def _complex(pairs: CLArray, np_dtype) -> CLArray:
    pairs = pairs.settle()
    return pairs.view(np_dtype).reshape(pairs.shape[:-1])
