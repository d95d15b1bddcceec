"""The transform of `normal_fill`, one pair after the other, for where it runs compiled.

Every step is taken in float64, which is exact for a product of float32 and, for the other
steps, close enough that narrowing the result rounds as float32 would have.  The same file
runs interpreted, slowly and with the same bits; `normal_fill` then prefers its array form.
"""

from __future__ import annotations

import math

import numpy as np

COMPILED = not __file__.endswith(".py")


def _f(value: float) -> float:
    return float(np.float32(value))


_SQRT_HALF = _f(0.707106781186547524)
_P0 = _f(7.0376836292e-2)
_P1 = _f(-1.1514610310e-1)
_P2 = _f(1.1676998740e-1)
_P3 = _f(-1.2420140846e-1)
_P4 = _f(1.4249322787e-1)
_P5 = _f(-1.6668057665e-1)
_P6 = _f(2.0000714765e-1)
_P7 = _f(-2.4999993993e-1)
_P8 = _f(3.3333331174e-1)
_LN2_LOW = _f(-2.12194440e-4)
_LN2_HIGH = _f(0.693359375)
_FOUR_OVER_PI = _f(1.27323954473516)
_QUARTER_PI_0 = _f(-0.78515625)
_QUARTER_PI_1 = _f(-2.4187564849853515625e-4)
_QUARTER_PI_2 = _f(-3.77489497744594108e-8)
_COS_0 = _f(2.443315711809948e-5)
_COS_1 = _f(-1.388731625493765e-3)
_COS_2 = _f(4.166664568298827e-2)
_SIN_0 = _f(-1.9515295891e-4)
_SIN_1 = _f(8.3321608736e-3)
_SIN_2 = _f(-1.6666654611e-1)
_TWO_PI = _f(2 * np.pi)


def narrow(x):
    """Return `x` rounded to float32."""
    if not COMPILED:
        x = float(np.float32(x))
    y = x  # a C float where this is compiled
    return y


def square_root(x):
    """Return the square root of `x`."""
    if COMPILED:
        return c_sqrt(x)  # noqa: F821 (declared in the .pxd)
    return math.sqrt(x)


def log_float32(x, e):
    """Return the logarithm of ``x * 2**e`` for `x` in [0.5, 1)."""
    if x < _SQRT_HALF:
        e = e - 1.0
        x = narrow(narrow(x - 1.0) + x)
    else:
        x = narrow(x - 1.0)
    z = narrow(x * x)
    y = narrow(_P0 * x + _P1)
    y = narrow(y * x + _P2)
    y = narrow(y * x + _P3)
    y = narrow(y * x + _P4)
    y = narrow(y * x + _P5)
    y = narrow(y * x + _P6)
    y = narrow(y * x + _P7)
    y = narrow(y * x + _P8)
    y = narrow(y * x)
    y = narrow(y * z + narrow(e * _LN2_LOW))
    y = narrow(y - 0.5 * z)
    x = narrow(x + y)
    return narrow(e * _LN2_HIGH + x)


def fill_blocks(blocks, mantissas, exponents, mean, std):
    """Turn uniforms into normals, in place.

    Parameters
    ----------
    blocks : float32, shape (rows, 16)
        Uniforms in [0, 1).
    mantissas, exponents : float32 and int32, shape (rows, 8)
        ``numpy.frexp(1 - blocks[:, :8])``.
    mean, std : float
        Representable in float32.
    """
    plain = mean == 0.0 and std == 1.0
    for row in range(blocks.shape[0]):
        for column in range(8):
            radius = log_float32(mantissas[row, column], exponents[row, column])
            radius = narrow(square_root(narrow(-2.0 * radius)))
            x = narrow(blocks[row, column + 8] * _TWO_PI)
            octant = int(narrow(x * _FOUR_OVER_PI))
            octant = (octant + 1) & ~1
            turns = octant
            x = narrow(turns * _QUARTER_PI_0 + x)
            x = narrow(turns * _QUARTER_PI_1 + x)
            x = narrow(turns * _QUARTER_PI_2 + x)
            z = narrow(x * x)
            c = narrow(_COS_0 * z + _COS_1)
            c = narrow(c * z + _COS_2)
            c = narrow(c * z)
            c = narrow(c * z - narrow(0.5 * z))
            c = narrow(c + 1.0)
            s = narrow(_SIN_0 * z + _SIN_1)
            s = narrow(s * z + _SIN_2)
            s = narrow(s * z)
            s = narrow(s * x + x)
            if octant & 2:
                c, s = s, c
            if octant & 4:
                s = -s
            if not (octant - 2) & 4:
                c = -c
            c = narrow(radius * c)
            s = narrow(radius * s)
            if not plain:
                c = narrow(c * std + mean)
                s = narrow(s * std + mean)
            blocks[row, column] = c
            blocks[row, column + 8] = s
