"""The box-Muller transform of float32 blocks, with the roundings of PyTorch's kernel.

PyTorch computes logarithm, sine and cosine by the Cephes polynomials in single precision,
with fused multiply-adds.  To give the same bits, each step here is rounded to float32 where
that kernel rounds: the product of two float32 is exact in float64, so that a float64
multiply, add and one rounding is a fused multiply-add.
"""

from __future__ import annotations

import numpy as np

from minitorch.backends.cpu import normal_loop

_f32 = np.float32
_LOOP_IS_COMPILED = not str(normal_loop.__file__).endswith(".py")

_SQRT_HALF = _f32(0.707106781186547524)
_LOG_POLYNOMIAL = tuple(
    np.float64(_f32(c))
    for c in (
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
        -2.4999993993e-1,
        3.3333331174e-1,
    )
)
# ln 2 in two parts
_LN2_LOW = _f32(-2.12194440e-4)
_LN2_HIGH = np.float64(_f32(0.693359375))

_FOUR_OVER_PI = _f32(1.27323954473516)
# pi / 4 in three parts, negated
_QUARTER_PI = tuple(
    np.float64(_f32(c)) for c in (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)
)
_COS_POLYNOMIAL = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_SIN_POLYNOMIAL = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
# Sine and cosine are evaluated side by side: one column of coefficients a step.
_TRIG_POLYNOMIAL = tuple(
    np.array([[c], [s]], np.float64)
    for c, s in zip(map(_f32, _COS_POLYNOMIAL), map(_f32, _SIN_POLYNOMIAL), strict=True)
)
_TWO_PI = _f32(2 * np.pi)

_ROWS_FOR_LOOP = 256  # from here on the arrays' speed outweighs their calls
_CHUNK = 16384  # pairs at a time: scratch stays in the second-level cache


def _fused(product, addend, out) -> None:
    """Store ``round(product + addend)`` in the float32 array `out`; clobbers `product`."""
    np.add(product, addend, product)
    np.copyto(out, product, casting="unsafe")


def _log(x, exact) -> None:
    """Replace positive normal float32 `x` by its logarithm; `exact` is float64 scratch."""
    bits = x.view(np.int32)
    exponent = ((bits >> 23) - 126).astype(_f32)
    bits &= 0x7FFFFF
    bits |= 0x3F000000  # x is now in [0.5, 1)
    low = x < _SQRT_HALF
    exponent -= low
    low = np.where(low, x, _f32(0))
    x -= _f32(1)
    x += low
    wide = x.astype(np.float64)
    y = np.empty_like(x)
    np.multiply(wide, _LOG_POLYNOMIAL[0], exact)
    for coefficient in _LOG_POLYNOMIAL[1:-1]:
        _fused(exact, coefficient, y)
        np.multiply(y, wide, exact)
    _fused(exact, _LOG_POLYNOMIAL[-1], y)
    square = x * x
    y *= x
    np.multiply(y, square, exact, dtype=np.float64)
    _fused(exact, exponent * _LN2_LOW, y)
    np.multiply(square, -0.5, exact, dtype=np.float64)
    _fused(exact, y, y)
    x += y
    np.multiply(exponent, _LN2_HIGH, exact, dtype=np.float64)
    _fused(exact, x, x)


def _cos_sin(x, out) -> None:
    """Store cosine and sine of ``0 <= x`` in ``out[0]``, ``out[1]``; clobbers float32 `x`."""
    octant = (x * _FOUR_OVER_PI).astype(np.int32)
    octant += 1
    octant &= ~1
    turns = octant.astype(np.float64)
    exact = np.empty((2, x.size))
    scratch = exact[0]
    for part in _QUARTER_PI:
        np.multiply(turns, part, scratch)
        _fused(scratch, x, x)
    square = x * x
    wide = square.astype(np.float64)
    np.multiply(wide, _TRIG_POLYNOMIAL[0], exact)
    _fused(exact, _TRIG_POLYNOMIAL[1], out)
    np.multiply(out, wide, exact)
    _fused(exact, _TRIG_POLYNOMIAL[2], out)
    out *= square
    cos, sin = out
    half = square * _f32(0.5)
    np.multiply(cos, wide, scratch)
    _fused(scratch, np.negative(half, half), cos)
    cos += _f32(1)
    np.multiply(sin, x, scratch, dtype=np.float64)
    _fused(scratch, x, sin)
    swap = (octant & 2).astype(bool)
    swapped = np.where(swap, cos, sin)
    np.copyto(cos, sin, where=swap)
    sin[...] = swapped
    sin.view(np.int32)[...] ^= (octant & 4) << 29
    octant -= 2
    np.invert(octant, octant)
    octant &= 4
    octant <<= 29
    cos.view(np.int32)[...] ^= octant


def normal_fill_float32(uniforms, mean: float, std: float) -> None:
    """Turn uniforms into normals, in place.

    Parameters
    ----------
    uniforms : ndarray, shape (blocks, 16), float32, contiguous
        In [0, 1).
    mean, std : float
    """
    if _LOOP_IS_COMPILED and uniforms.shape[0] <= _ROWS_FOR_LOOP:
        mantissas, exponents = np.frexp(_f32(1) - uniforms[:, :8])
        normal_loop.fill_blocks(uniforms, mantissas, exponents, float(_f32(mean)), float(_f32(std)))
        return
    blocks_at_once = _CHUNK // 8
    for start in range(0, uniforms.shape[0], blocks_at_once):
        block = uniforms[start : start + blocks_at_once]
        size = block.shape[0] * 8
        radius = (_f32(1) - block[:, :8]).reshape(size)
        exact = np.empty(size)
        _log(radius, exact)
        radius *= _f32(-2)
        np.sqrt(radius, radius)
        pair = np.empty((2, size), _f32)
        _cos_sin((block[:, 8:] * _TWO_PI).reshape(size), pair)
        pair *= radius
        if mean != 0 or std != 1:
            _fused(pair.astype(np.float64) * np.float64(_f32(std)), np.float64(_f32(mean)), pair)
        block[:, :8] = pair[0].reshape(-1, 8)
        block[:, 8:] = pair[1].reshape(-1, 8)
