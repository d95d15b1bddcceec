"""The CPU's random streams: MT19937, and each distribution as PyTorch draws it.

`docs/random.md` has the rules.  Two things recur below.

- A 64-bit draw is two outputs of MT19937, the first one the high half.
- PyTorch's loops are compiled with fused multiply-adds, so that ``u * scale + shift`` is
  rounded once.  A float32 product is exact in float64; for float64 see `fused_float64`.

For float64 results the logarithms come from the C library, element by element: NumPy's
vectorized ones differ from it in the last bit.  For narrower results that bit is rounded
away, and NumPy's are used.
"""

from __future__ import annotations

import math
import os
import threading
from itertools import chain

import numpy as np

from minitorch.backends.array.common import fused_float64
from minitorch.backends.cpu.rejection import (
    DoubleSource,
    binomial,
    binomial_float32,
    gamma,
    gamma_float32,
    normal_pair,
    poisson,
)
from minitorch.core.device import device as Device
from minitorch.core.generator import (
    DEFAULT_GENERATORS,
    DEFAULT_SEED,
    GENERATOR_TYPES,
    Generator,
    check_seed,
)

_f32 = np.float32
_WORDS = 624  # of MT19937's state
_STATE_BYTES = 5056
_MASK24 = np.uint32((1 << 24) - 1)
_MASK53 = np.uint64((1 << 53) - 1)
_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)

# PyTorch's layout of a saved CPU generator, so that states travel between the two.
_STATE_FIELDS = [
    ("seed", "<u8"),
    ("left", "<i4"),
    ("seeded", "<i4"),
    ("next", "<u8"),
    ("words", "<u8", (_WORDS,)),
    ("unused_x", "<f8"),
    ("normal", "<f8"),
    ("unused_rho", "<f8"),
    ("has_normal", "<i8"),
    ("unused_float", "<u8"),
]


def _prod(shape) -> int:
    count = 1
    for n in shape:
        count *= n
    return count


def _libm(fn, x):
    """Return the C library's `fn` of each element of float64 `x`."""
    return np.fromiter(map(fn, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


def _narrowed(x, np_dtype):
    """Return float64 `x` as `np_dtype`, over float32 where that is narrower still."""
    if np_dtype.itemsize < 4:
        x = x.astype(_f32)
    return x.astype(np_dtype, copy=False)


class CPUGenerator(Generator):
    """MT19937 seeded the classic way, and what PyTorch's CPU distributions make of it."""

    __slots__ = ("_bits", "_fast", "_normal", "_seed")

    def __init__(self, device: Device | str = "cpu"):
        super().__init__(device)
        self._seed = DEFAULT_SEED
        self._bits = None  # made at the first draw: importing numpy.random takes a while
        self._fast = None
        self._normal: float | None = None  # second of a pair of normals, not yet given out

    # ------------------------------------------------------------ seed and state

    def _engine(self):
        bits = self._bits
        if bits is None:
            self._bits = bits = np.random.MT19937(0)
            self._fast = np.random.Generator(bits)
            bits._legacy_seeding(self._seed & 0xFFFFFFFF)
        return bits

    def manual_seed(self, seed: int) -> CPUGenerator:
        self._seed = seed = check_seed(seed)
        self._normal = None
        if self._bits is not None:
            self._bits._legacy_seeding(seed & 0xFFFFFFFF)
        return self

    def initial_seed(self) -> int:
        return self._seed

    def seed(self) -> int:
        value = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(value)
        return value

    def get_offset(self) -> int:
        """Raise: the position of this generator is no number."""
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> None:
        """Raise: the position of this generator is no number."""
        raise RuntimeError("CPU Generator does not use offset")

    def state_array(self):
        state = self._engine().state["state"]
        record = np.zeros((), _STATE_FIELDS)
        position = state["pos"]
        record["seed"] = self._seed
        record["seeded"] = 1
        record["words"] = state["key"]
        record["next"] = position % _WORDS
        record["left"] = _WORDS + 1 - position
        if self._normal is not None:
            record["normal"] = self._normal
            record["has_normal"] = 1
        return np.frombuffer(record.tobytes(), np.uint8).copy()

    def set_state_array(self, state) -> None:
        state = np.ascontiguousarray(state)
        if state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.size != _STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_STATE_BYTES} but found the input "
                f"RNG state size to be {state.size}"
            )
        record = np.frombuffer(state.tobytes(), _STATE_FIELDS)[0]
        left = int(record["left"])
        if not 1 <= left <= _WORDS:
            raise RuntimeError(f"RNG state is damaged: {left} outputs left of {_WORDS}")
        self._seed = int(record["seed"])
        self._normal = float(record["normal"]) if record["has_normal"] & 0xFF else None
        bits = self._engine()
        words = record["words"].astype(np.uint32)
        bits.state = {
            "bit_generator": "MT19937",
            "state": {"key": words, "pos": _WORDS + 1 - left},
        }

    # ------------------------------------------------------------ raw draws

    def words(self, count: int):
        """Return `count` 32-bit draws: uint64 for few, uint32 for many."""
        bits = self._bits or self._engine()
        if count < 256:
            return bits.random_raw(count)
        return self._fast.integers(0, 1 << 32, count, np.uint32)

    def long_words(self, count: int):
        """Return `count` 64-bit draws, uint64."""
        bits = self._bits or self._engine()
        if count >= 256 and _integers_draw_high_half_first():
            return self._fast.integers(0, 1 << 64, count, np.uint64)
        words = bits.random_raw(2 * count)
        return (words[0::2] << np.uint64(32)) | words[1::2]

    def _uniform_float32(self, count: int):
        words = self.words(count)
        words &= _MASK24
        kind = np.int32 if words.itemsize == 4 else np.int64
        result = words.view(kind).astype(_f32)
        result *= _f32(2.0**-24)
        return result

    def _uniform_float64(self, count: int):
        words = self.long_words(count)
        words &= _MASK53
        result = words.view(np.int64).astype(np.float64)
        result *= 2.0**-53
        return result

    # ------------------------------------------------------------ uniform

    def uniform(self, shape, np_dtype, low: float = 0.0, high: float = 1.0):
        """Return uniforms of a floating type in ``[low, high)``."""
        count = _prod(shape)
        unit = low == 0 and high == 1
        if np_dtype == _FLOAT64:
            result = self._uniform_float64(count)
            if not unit:
                result = fused_float64(result, high - low, low)
        elif np_dtype.kind == "c":
            real = np.dtype(f"f{np_dtype.itemsize // 2}")
            return self.uniform((*shape, 2), real, low, high).view(np_dtype).reshape(shape)
        else:
            result = self._uniform_float32(count)
            if not unit:
                # Python floats would leave the sum in float32: two roundings.
                width = np.float64(_f32(high) - _f32(low))
                result = (result * width + np.float64(_f32(low))).astype(_f32)
            if np_dtype != _FLOAT32:
                result = result.astype(np_dtype)
                unit = False
        if not unit:  # the rounding may have reached `high`, which does not belong
            np.copyto(result, low, where=result == np_dtype.type(high), casting="unsafe")
        return result.reshape(shape)

    # ------------------------------------------------------------ normal

    def _normal_pairs(self, count: int, exact: bool):
        """Return `count` float64 standard normals, drawn pair by pair."""
        result = np.empty(count)
        start = 0
        if count and self._normal is not None:
            result[0] = self._normal
            self._normal = None
            start = 1
        pairs = (count - start + 1) // 2
        if pairs:
            uniforms = self._uniform_float64(2 * pairs)
            if pairs <= 16:
                drawn = list(chain.from_iterable(map(normal_pair, *[iter(uniforms.tolist())] * 2)))
            else:
                drawn = np.empty((pairs, 2))
                tail = -uniforms[1::2]
                tail = _libm(math.log1p, tail) if exact else np.log1p(tail)
                radius = np.sqrt(-2 * tail)
                angle = 2 * np.pi * uniforms[0::2]
                np.multiply(radius, np.cos(angle), drawn[:, 0])
                np.multiply(radius, np.sin(angle), drawn[:, 1])
                drawn = drawn.reshape(-1)
            result[start:] = drawn[: count - start]
            if count - start < 2 * pairs:
                self._normal = normal_pair(*uniforms[-2:].tolist())[1]
        return result

    def normal(self, shape, np_dtype, mean: float = 0.0, std: float = 1.0, *, blocks: bool = True):
        """Return normals of a floating or complex type.

        Parameters
        ----------
        blocks : bool
            Draw 16 or more elements in blocks, as into contiguous memory; else pairs.
        """
        if np_dtype.kind == "c":
            real = np.dtype(f"f{np_dtype.itemsize // 2}")
            parts = self.normal((*shape, 2), real, mean, std / math.sqrt(2), blocks=blocks)
            return parts.view(np_dtype).reshape(shape)
        count = _prod(shape)
        if count >= 16 and blocks:
            return self._normal_blocks(count, np_dtype, mean, std).reshape(shape)
        result = self._normal_pairs(count, np_dtype == _FLOAT64)
        if mean != 0 or std != 1:
            result = fused_float64(result, std, mean)
        return _narrowed(result, np_dtype).reshape(shape)

    def _normal_blocks(self, count: int, np_dtype, mean: float, std: float):
        if np_dtype == _FLOAT64:
            uniforms, transform = self._uniform_float64, _normal_fill_float64
        else:
            from minitorch.backends.cpu.normal_fill import normal_fill_float32

            uniforms, transform = self._uniform_float32, normal_fill_float32
        whole = count - count % 16
        wide = np_dtype.itemsize >= 4
        # float32 and float64 draw the incomplete block and then drop it; 16-bit types do not.
        drawn = uniforms(count if wide else whole)
        transform(drawn[:whole].reshape(-1, 16), mean, std)
        result = drawn.astype(np_dtype, copy=False)
        if whole != count:
            last = uniforms(16)
            transform(last.reshape(1, 16), mean, std)
            if not wide:
                result = np.empty(count, np_dtype)
                result[:whole] = drawn
            result[-16:] = last
        return result

    def log_normal(self, shape, np_dtype, mean: float, std: float):
        """Return ``exp`` of normals."""
        exact = np_dtype == _FLOAT64
        result = fused_float64(self._normal_pairs(_prod(shape), exact), std, mean)
        result = _libm(math.exp, result) if exact else np.exp(result)
        return _narrowed(result, np_dtype).reshape(shape)

    # ------------------------------------------------------------ integers

    def integers(self, shape, np_dtype, low: int, high: int):
        """Return integers in ``[low, high)``, as any type."""
        count = _prod(shape)
        span = high - low
        if span >= 1 << 28:  # below, PyTorch accepts the bias of a 32-bit draw
            draws = self.long_words(count)
            if span < 1 << 64:
                draws %= np.uint64(span)
        else:
            draws = self.words(count)
            draws %= draws.dtype.type(span)
        if low == 0:
            return draws.astype(np_dtype).reshape(shape)
        draws = draws.astype(np.int64)
        draws += np.int64(low)
        return draws.astype(np_dtype, copy=False).reshape(shape)

    def integers_of_type(self, shape, np_dtype, digits: int):
        """Return integers in ``[0, 2**digits]``, for a floating type, or below, for an integer one.

        Parameters
        ----------
        digits : int
            Bits of the type's mantissa, or of its largest integer.
        """
        count = _prod(shape)
        span = (1 << digits) + (np_dtype.kind not in "iub")
        draws = self.long_words(count) if np_dtype.itemsize == 8 else self.words(count)
        draws %= draws.dtype.type(span)
        return draws.astype(np_dtype).reshape(shape)

    def all_long_words(self, shape):
        """Return int64 drawn from their whole range."""
        return self.long_words(_prod(shape)).view(np.int64).reshape(shape)

    def randperm(self, n: int, np_dtype):
        """Return a permutation of ``range(n)``."""
        if n < 2:
            return np.arange(n).astype(np_dtype)
        steps = np.arange(n - 1, dtype=np.uint64)
        targets = self.words(n - 1) % (np.uint64(n) - steps)
        targets += steps
        if n >= 10_000:
            return _shuffled(targets.astype(np.int64), n).astype(np_dtype, copy=False)
        order = list(range(n))
        for i, j in enumerate(targets.tolist()):
            order[i], order[j] = order[j], order[i]
        return np.array(order, np_dtype)

    # ------------------------------------------------------------ yes or no

    def bernoulli(self, probability):
        """Return a bool array, true with the probabilities of a floating array."""
        if probability.dtype == _FLOAT64:
            draws = self._uniform_float64(probability.size)
        else:
            draws = self._uniform_float32(probability.size)
            probability = probability.astype(_f32, copy=False)
        return draws.reshape(probability.shape) < probability

    def bernoulli_scalar(self, shape, p: float):
        """Return a bool array, true with probability `p`."""
        draws = self.long_words(_prod(shape))
        draws &= _MASK53
        # u < p for u = draw / 2**53: compared as integers, exactly
        return (draws < np.uint64(math.ceil(p * 2.0**53))).reshape(shape)

    # ------------------------------------------------------------ other distributions

    def exponential(self, shape, np_dtype, rate: float = 1.0):
        """Return exponentials with the given rate."""
        draws = self._uniform_float64(_prod(shape))
        np.negative(draws, draws)
        draws = _libm(math.log1p, draws) if np_dtype == _FLOAT64 else np.log1p(draws, draws)
        draws *= -1.0 / rate
        return _narrowed(draws, np_dtype).reshape(shape)

    def cauchy(self, shape, np_dtype, median: float, sigma: float):
        """Return Cauchy draws."""
        draws = np.pi * (self._uniform_float64(_prod(shape)) - 0.5)
        draws = _libm(math.tan, draws) if np_dtype == _FLOAT64 else np.tan(draws)
        draws = fused_float64(draws, sigma, median)
        return _narrowed(draws, np_dtype).reshape(shape)

    def geometric(self, shape, np_dtype, p: float):
        """Return how many trials of probability `p` the first success takes."""
        draws = np.log(self._uniform_float64(_prod(shape)))
        if p < 1:
            draws /= math.log1p(-p)
        else:
            draws[...] = 0  # log1p(-1) is -inf
        return np.ceil(draws, draws).astype(np_dtype).reshape(shape)

    def poisson(self, rates):
        """Return Poisson draws with the rates of a floating array, in its type."""
        return _narrowed(self._one_by_one(poisson, rates), rates.dtype)

    def binomial(self, counts, probabilities):
        """Return binomial draws, in the type of two floating arrays of one shape."""
        sampler = binomial_float32 if counts.dtype == _FLOAT32 else binomial
        return _narrowed(self._one_by_one(sampler, counts, probabilities), counts.dtype)

    def standard_gamma(self, shapes):
        """Return gamma draws of scale 1 with the shape parameters of a floating array, at least its tiniest number."""
        sampler = gamma_float32 if shapes.dtype == _FLOAT32 else gamma
        draws = _narrowed(self._one_by_one(sampler, shapes), shapes.dtype)
        return np.fmax(draws, np.finfo(shapes.dtype).tiny)  # a NaN becomes that too, as in PyTorch

    def dirichlet(self, concentrations):
        """Return Dirichlet draws along the last dimension of a floating array, strictly between 0 and 1."""
        draws = self._one_by_one(gamma, concentrations)
        draws /= np.add.reduce(draws, -1, keepdims=True)
        limits = np.finfo(concentrations.dtype)
        return np.clip(_narrowed(draws, concentrations.dtype), limits.tiny, 1 - limits.epsneg)

    def _one_by_one(self, sampler, *parameters):
        """Return ``sampler(*numbers, source)`` for the elements of floating arrays, in float64."""
        source = DoubleSource(self)
        columns = [p.astype(np.float64).ravel().tolist() for p in parameters]
        draws = [sampler(*numbers, source) for numbers in zip(*columns, strict=True)]
        source.give_back()
        return np.array(draws, np.float64).reshape(parameters[0].shape)

    def multinomial(self, weights, count: int, replacement: bool):
        """Return indices drawn with the weights of each row of a matrix.

        Parameters
        ----------
        weights : ndarray, shape (rows, categories), floating
        count : int
            Draws per row.
        replacement : bool
            Whether an index may be drawn again.
        """
        rows = weights.shape[0]
        if replacement and count > 1:
            if weights.dtype.itemsize < 4:
                weights = weights.astype(_f32)
            cumulated = np.add.accumulate(weights, axis=1)
            total = cumulated[:, -1:]
            cumulated = np.where(total > 0, cumulated / total, cumulated).astype(np.float64)
            cumulated[:, -1] = 1
            draws = self._uniform_float64(rows * count).reshape(rows, count)
            result = np.empty((rows, count), np.int64)
            for row in range(rows):
                result[row] = cumulated[row].searchsorted(draws[row])
            return result
        arrivals = self.exponential(weights.shape, weights.dtype)
        score = weights / arrivals  # the largest belongs to the first to arrive
        if count == 1:
            return score.argmax(1).reshape(rows, 1)
        return np.ascontiguousarray((-score).argsort(1, kind="stable")[:, :count])


GENERATOR_TYPES["cpu"] = CPUGenerator


# ---------------------------------------------------------------- helpers


_high_half_first: bool | None = None


def _integers_draw_high_half_first() -> bool:
    """Return whether NumPy's own 64-bit draws put the first output into the high half.

    It leaves the order to the C compiler; asked once.
    """
    global _high_half_first
    if _high_half_first is None:
        bits = np.random.MT19937(0)
        bits._legacy_seeding(0)
        first, second = bits.random_raw(2).tolist()
        bits._legacy_seeding(0)
        drawn = int(np.random.Generator(bits).integers(0, 1 << 64, 1, np.uint64)[0])
        _high_half_first = drawn == first << 32 | second
    return _high_half_first


def _normal_fill_float64(uniforms, mean: float, std: float) -> None:
    """Turn float64 uniforms, shape (blocks, 16), into normals, in place."""
    radius = np.sqrt(-2 * _libm(math.log, 1 - uniforms[:, :8]))
    angle = 2 * np.pi * uniforms[:, 8:]
    uniforms[:, :8] = fused_float64(radius * np.cos(angle), std, mean)
    uniforms[:, 8:] = fused_float64(radius * np.sin(angle), std, mean)


def _shuffled(targets, n: int):
    """Return ``range(n)`` after swapping element i with element ``targets[i]``, for each i.

    The swaps depend on one another, so they are followed by value instead: step i puts into
    place i what lay at ``targets[i]``.  Either no earlier step has touched that place, or the
    latest that did, k, left there what had lain at place k when its turn came; and that, by
    the same argument, came from the latest step before which had targeted k.
    """
    kind = np.int32 if n < 1 << 31 else np.int64
    steps = np.arange(n, dtype=kind)
    targets = np.append(targets, n - 1).astype(kind)
    # origin[k]: what lies at place k when its turn comes.
    moved = targets != steps
    origin = steps.copy()
    origin[targets[moved]] = steps[moved]  # of repeated targets the last one stays
    while True:
        further = origin[origin]
        if np.array_equal(further, origin):
            break
        origin = further
    result = targets.copy()
    latest = np.empty(n, kind)
    remaining, places = steps, targets
    while remaining.size:
        latest[places] = remaining
        is_latest = latest[places] == remaining
        current, place = remaining[is_latest], places[is_latest]
        remaining, places = remaining[~is_latest], places[~is_latest]
        latest[place] = -1
        latest[places] = remaining
        before = latest[place]
        found = before >= 0
        result[current[found]] = origin[before[found]]
    return result


# ---------------------------------------------------------------- the default generator

_lock = threading.Lock()
_default: list[CPUGenerator] = []


def default_generator() -> CPUGenerator:
    """Return the generator of draws that name none; its first seed is nobody's choice."""
    if not _default:
        with _lock:
            if not _default:
                generator = CPUGenerator()
                generator.seed()
                _default.append(generator)
    return _default[0]


DEFAULT_GENERATORS["cpu"] = default_generator
