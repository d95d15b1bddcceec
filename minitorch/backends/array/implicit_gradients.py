"""Gradients of gamma and Dirichlet draws in their parameters, by implicit reparametrisation.

A draw `z` with the distribution function F(z; a) moves with `a` so that F(z; a), the uniform number behind it, stays: dz/da =
-(dF/da) / (dF/dz) (Figurnov, Mohamed & Mnih, 2018).  Both factors have the same normalising constant, which cancels: the
functions here need no logarithm of the gamma function.  All arrays are float64.
"""

from __future__ import annotations

import math

from minitorch.backends.array.special_math import digamma

_PRECISION = 1e-17
_MOST_TERMS = 20000
_LARGE_SHAPE = 1000.0


def gamma_gradient(xp, shape, draw):
    """Return dz/da of draws `z` from gamma distributions of shapes `a`; NaN where there is no such draw."""
    shape, draw = xp.broadcast_arrays(shape, draw)
    valid = (shape > 0) & (draw > 0) & xp.isfinite(shape) & xp.isfinite(draw)
    a, z = xp.where(valid, shape, 1.0), xp.where(valid, draw, 1.0)
    result = xp.empty_like(a)
    large = a > _LARGE_SHAPE
    tail = ~large & (z > a + 4.0 * xp.sqrt(a) + 4.0)
    body = ~large & ~tail
    for part, function in ((large, _gamma_of_large_shape), (tail, _gamma_upper_tail), (body, _gamma_by_series)):
        if part.any():
            result[part] = function(xp, a[part], z[part])
    result = xp.where((draw == 0) & (shape > 0), 0.0, result)
    return xp.where(valid | ((draw == 0) & (shape > 0)), result, xp.nan)


def _gamma_by_series(xp, a, z):
    """Differentiate P(a, z) = z^a e^-z / gamma(a + 1) * sum of z^n / ((a + 1) ... (a + n)) term by term."""
    term, harmonic = xp.ones_like(z), xp.zeros_like(z)
    total, slope = xp.ones_like(z), xp.zeros_like(z)
    for n in range(1, _MOST_TERMS):
        term = term * (z / (a + n))
        harmonic = harmonic + 1.0 / (a + n)
        total = total + term
        slope = slope - term * harmonic
        if not (term * (1.0 + harmonic) > _PRECISION * total).any():
            break
    return -(z / a) * (total * (xp.log(z) - digamma(xp, a + 1.0)) + slope)


def _double_exponential_nodes():
    """Return abscissas and weights of the rule of Takahasi & Mori (1974) for integrals over (0, inf) with a factor exp(-t)."""
    step = 1.0 / 16
    nodes = []
    for k in range(-64, 113):
        s = k * step
        t = math.exp(s - math.exp(-s))
        nodes.append((t, step * t * (1.0 + math.exp(-s))))
    return [(t, weight) for t, weight in nodes if weight * math.exp(-0.05 * t) > 1e-18]


_NODES = _double_exponential_nodes()


def _gamma_upper_tail(xp, a, z):
    """Integrate dQ/da far above the mean, where 1 - P(a, z) has lost its digits.

    Q(a, z) over the density at z is the integral of (1 + t / z)^(a - 1) e^-t; nothing here cancels.
    """
    middle = digamma(xp, a)
    total = xp.zeros_like(z)
    for t, weight in _NODES:
        total = total + weight * xp.exp((a - 1.0) * xp.log1p(t / z) - t) * (xp.log(z + t) - middle)
    return total


def _gamma_of_large_shape(xp, a, z):
    """Differentiate the expansion of Cornish & Fisher (1938) of the quantile, at the normal quantile `w` that belongs to `z`."""
    root = xp.sqrt(a)
    goal = (z - a) / root
    w = goal
    for _ in range(8):
        w = w - (_cornish_fisher(w, root)[0] - goal) / (1.0 + 2.0 * w / (3.0 * root))
    return 1.0 + _cornish_fisher(w, root)[1]


def _cornish_fisher(w, root):
    """Return (z - a) / sqrt(a) for the normal quantile `w`, and dz/da - 1."""
    square = w * w
    second = (square - 1.0) / 3.0
    third = w * (square - 7.0) / 36.0
    fourth = -(3.0 * square * square + 7.0 * square - 16.0) / 810.0
    fifth = w * (9.0 * square * square + 256.0 * square - 433.0) / 38880.0
    value = w + (second + (third + (fourth + fifth / root) / root) / root) / root
    slope = w / (2.0 * root) - (third / 2.0 + (fourth + 1.5 * fifth / root) / root) / root**3
    return value, slope


def dirichlet_gradient(xp, draw, alpha, total):
    """Return what is left of dx/da of Dirichlet draws, a component `x` with concentration `a` of a sum `total`.

    With `u` this result, component i moves by ``u_i (1 - x_i)`` with its own concentration, and the others by ``-u_i x_j``:
    they share what is left in their old proportions.
    """
    draw, alpha, total = xp.broadcast_arrays(draw, alpha, total)
    beta = total - alpha
    valid = (draw > 0) & (draw < 1) & (alpha > 0) & (beta > 0) & xp.isfinite(total)
    x, a, b = xp.where(valid, draw, 0.5), xp.where(valid, alpha, 1.0), xp.where(valid, beta, 1.0)
    # The series of the nearer tail; but where that one takes very many terms the other one, whose digits suffice there.
    mean = x * (a + b)
    lower = ((mean <= a) & ((x < 0.95) | (mean < 0.5 * a))) | ((x < 0.5) & (mean < a + 4.0 * xp.sqrt(a) + 20.0))
    result = xp.empty_like(x)
    for part, function in ((lower, _beta_lower), (~lower, _beta_upper)):
        if part.any():
            result[part] = function(xp, x[part], a[part], b[part])
    # A component that is rounded to 0 stays there; one that is alone, or rounded to 1, likewise.
    edge = ((draw == 0) | (draw == 1)) & (alpha > 0) | ((beta == 0) & (alpha > 0))
    return xp.where(valid, result, xp.where(edge, 0.0, xp.nan))


def _beta_series(xp, x, a, b, in_first):
    """Return sum of (a + b)_n / (a + 1)_n x^n, and its derivative in `a` or in `b`."""
    term, logarithm = xp.ones_like(x), xp.zeros_like(x)
    total, slope = xp.ones_like(x), xp.zeros_like(x)
    both = a + b
    for n in range(1, _MOST_TERMS):
        term = term * (x * (both + (n - 1)) / (a + n))
        logarithm = logarithm + 1.0 / (both + (n - 1))
        if in_first:
            logarithm = logarithm - 1.0 / (a + n)
        total = total + term
        slope = slope + term * logarithm
        growing = x * (both + n) > 0.999 * (a + n + 1)
        # what is left is about the term over one minus their ratio
        if not (growing | (term * (1.0 + abs(logarithm)) > _PRECISION * (1.0 - x) * total)).any():
            break
    return total, slope


def _beta_lower(xp, x, a, b):
    """-dI/da over the density and 1 - x, with I = x^a (1 - x)^b / (a B(a, b)) times the series."""
    total, slope = _beta_series(xp, x, a, b, True)
    logarithm = xp.log(x) - 1.0 / a - digamma(xp, a) + digamma(xp, a + b)
    return -(x / a) * (total * logarithm + slope)


def _beta_upper(xp, x, a, b):
    """dJ/da over the density and 1 - x, with J = 1 - I = (1 - x)^b x^a / (b B(a, b)) times the series in 1 - x."""
    total, slope = _beta_series(xp, 1.0 - x, b, a, False)
    logarithm = xp.log(x) - digamma(xp, a) + digamma(xp, a + b)
    return (x / b) * (total * logarithm + slope)
