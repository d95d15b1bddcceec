"""Special functions that NumPy lacks, as plain functions of arrays."""

from __future__ import annotations

import math

BLOCK = 32768
"""Elements per pass of a chain of ufuncs: the operands stay in the L2 cache."""

# Note [erf by tanh]
# erf(x) = tanh(x * p(x * x)), where p is smooth, so that a short polynomial and one fast tanh
# do.  An error of p matters less the larger x is, because tanh saturates; the coefficients are
# a minimax fit under that weight.  The relative error of erf is below 1e-7.
ERF_TANH = (
    1.41847365e-07,
    -5.66838534e-06,
    8.76367380e-05,
    -6.19782981e-04,
    -1.91832905e-04,
    1.02769057e-01,
    1.12837927e00,
)

_GRID = 512  # points of the float64 table per unit
_LIMIT = 6  # erf(x) is 1 in float64 beyond 5.93
_tables: dict = {}


_coefficient_arrays: dict = {}


def horner(xp, coefficients, x, out):
    """Write the polynomial with `coefficients`, highest degree first, at `x` to `out`."""
    key = (xp, coefficients, out.dtype)
    arrays = _coefficient_arrays.get(key)
    if arrays is None:
        # A ufunc takes an array of its own type faster than a Python number.
        arrays = [xp.asarray(c, out.dtype) for c in coefficients]
        _coefficient_arrays[key] = arrays
    multiply = xp.multiply
    add = xp.add
    multiply(x, arrays[0], out=out)
    for c in arrays[1:-1]:
        add(out, c, out=out)
        multiply(out, x, out=out)
    return add(out, arrays[-1], out=out)


def erf(xp, x):
    """Return the error function of `x`, a float32 or float64 array, as a new array.

    The relative error is below 3e-7 in float32 and 1e-15 in float64.
    """
    x = xp.asarray(x)
    result = xp.empty_like(x)
    part = _erf_float64 if x.dtype.itemsize == 8 else _erf_float32
    if x.size <= BLOCK or not (x.flags.c_contiguous and result.flags.c_contiguous):
        part(xp, x, result)
        return result
    flat, out = x.reshape(-1), result.reshape(-1)
    for start in range(0, x.size, BLOCK):
        part(xp, flat[start : start + BLOCK], out[start : start + BLOCK])
    return result


def _erf_float32(xp, x, out):
    square = xp.multiply(x, x)
    horner(xp, ERF_TANH, square, out)
    xp.multiply(out, x, out=out)
    xp.tanh(out, out=out)


def _erf_float64(xp, x, out):
    """Taylor's series of fifth order in the distance to the nearest point of a table.

    The distance is at most 1/1024, so that the first omitted term is below 1e-17.
    """
    values, slopes = _erf_table(xp)
    clipped = xp.clip(x, -_LIMIT, _LIMIT)
    missing = xp.isnan(clipped)
    if missing.any():
        clipped = xp.where(missing, 0.0, clipped)
    index = xp.rint(clipped * _GRID)
    c = index / _GRID
    h = clipped - c
    index = index.astype(xp.intp) + _LIMIT * _GRID
    ch = c * h
    # h (1 - c h + (2 c^2 - 1) h^2 / 3 - (2 c^3 - 3 c) h^3 / 6 + (4 c^4 - 12 c^2 + 3) h^4 / 30)
    h2 = h * h
    series = ((4.0 * ch * ch - 12.0 * h2) * ch * ch + 3.0 * h2 * h2) / 30.0
    series -= (2.0 * ch * ch - 3.0 * h2) * ch / 6.0
    series += (2.0 * ch * ch - h2) / 3.0
    series -= ch
    series += 1.0
    series *= h
    series *= slopes[index]
    series += values[index]
    if missing.any():
        series = xp.where(missing, xp.nan, series)
    out[...] = series


def _erf_table(xp):
    """Return erf and its derivative at the points of the grid, made at the first call."""
    found = _tables.get(xp)
    if found is None:
        points = [i / _GRID for i in range(-_LIMIT * _GRID, _LIMIT * _GRID + 1)]
        values = xp.asarray([math.erf(p) for p in points])
        scale = 2.0 / math.sqrt(math.pi)
        slopes = xp.asarray([scale * math.exp(-p * p) for p in points])
        found = _tables[xp] = values, slopes
    return found
