"""Special functions of float64 arrays that NumPy lacks; `special` has erf.

Each function takes the array namespace and a float64 array and returns a new one.  Where a
Chebyshev series is used its coefficients are in `chebyshev_tables`.  The relative error is
below 1e-13 but near zeros of the functions, where the absolute error is.
"""

from __future__ import annotations

import math

from minitorch.backends.array import chebyshev_tables as tables
from minitorch.backends.array.special import erf

_SQRT_PI = math.sqrt(math.pi)
_SQRT_HALF = math.sqrt(0.5)
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


def chebyshev(xp, coefficients, t):
    """Return the sum of ``coefficients[k] * T_k(t)`` by Clenshaw's recurrence."""
    twice = 2.0 * t
    b1 = xp.zeros_like(t)
    b2 = b1
    for c in coefficients[:0:-1]:
        b1, b2 = twice * b1 - b2 + c, b1
    return t * b1 - b2 + coefficients[0]


def polynomial(coefficients, x):
    """Return the polynomial with `coefficients`, highest degree first."""
    result = coefficients[0]
    for c in coefficients[1:]:
        result = result * x + c
    return result


# ---------------------------------------------------------------- error functions


def erfcx(xp, x):
    """Return ``exp(x^2) erfc(x)``; 1 + 2 |x| times it is a series in (|x| - K) / (|x| + K)."""
    k = 3.75
    size = xp.absolute(x)
    t = xp.where(xp.isinf(size), 1.0, (size - k) / (size + k))
    result = chebyshev(xp, tables.ERFCX, t) / (1.0 + 2.0 * size)
    return xp.where(x < 0, 2.0 * xp.exp(x * x) - result, result)


def erfc(xp, x):
    size = xp.absolute(x)
    result = xp.exp(-size * size) * erfcx(xp, size)
    return xp.where(x < 0, 2.0 - result, result)


def log_ndtr(xp, x):
    """Return the logarithm of the normal distribution function."""
    scaled = x * _SQRT_HALF
    low = xp.minimum(scaled, -_SQRT_HALF)
    tail = xp.log(0.5 * erfcx(xp, -low)) - low * low
    return xp.where(x < -1.0, tail, xp.log1p(-0.5 * erfc(xp, scaled)))


def _erfinv_start(xp, log_term):
    """Return a guess of erfinv(y), from log(1 - y^2), that is right to three digits."""
    a = 0.147
    half = 2.0 / (math.pi * a) + 0.5 * log_term
    return xp.sqrt(xp.sqrt(half * half - log_term / a) - half)


def erfcinv_tail(xp, q):
    """Return the x >= 0 with ``erfc(x) = q``, for q in (0, 1]; Newton's method on log erfc."""
    x = _erfinv_start(xp, xp.log(q * (2.0 - q)))
    log_q = xp.log(q)
    for _ in range(4):
        scaled = erfcx(xp, x)
        x = x + 0.5 * _SQRT_PI * scaled * (xp.log(scaled) - x * x - log_q)
    return x


def erfinv(xp, y):
    size = xp.absolute(y)
    inside = size < 1.0
    small = xp.where(size < 0.5, y, 0.0)
    x = xp.copysign(_erfinv_start(xp, xp.log1p(-small * small)), small)
    for _ in range(3):
        error = 0.5 * _SQRT_PI * xp.exp(x * x) * (erf(xp, x) - small)
        x = x - error / (1.0 + x * error)
    tail = erfcinv_tail(xp, xp.where(inside & (size >= 0.5), 1.0 - size, 0.5))
    result = xp.where(size < 0.5, x, xp.copysign(tail, y))
    edge = xp.where(size == 1.0, xp.copysign(xp.inf, y), xp.nan)
    return xp.where(inside, result, edge)


def ndtri(xp, p):
    """Return the quantile function of the normal distribution."""
    inside = (p > 0.0) & (p < 1.0)
    safe = xp.where(inside, p, 0.5)
    low = xp.minimum(safe, 1.0 - safe)
    tail = erfcinv_tail(xp, 2.0 * low) / _SQRT_HALF
    middle = erfinv(xp, xp.where(low > 0.25, 2.0 * safe - 1.0, 0.0)) / _SQRT_HALF
    result = xp.where(low > 0.25, middle, xp.where(safe < 0.5, -tail, tail))
    edge = xp.where(p == 0.0, -xp.inf, xp.where(p == 1.0, xp.inf, xp.nan))
    return xp.where(inside, result, edge)


# ---------------------------------------------------------------- the gamma family

# Note [Bernoulli numbers]
# The asymptotic series of the gamma family have the coefficients B(2k) / (2k)!, .../(2k (2k-1))
# and so on, where B(2k) are Bernoulli's numbers.
BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798,
    -174611 / 330, 854513 / 138, -236364091 / 2730,
)
_STIRLING = tuple(
    [b / ((2 * k + 2) * (2 * k + 1)) for k, b in enumerate(BERNOULLI[:8])][::-1]
)
_DIGAMMA = tuple([b / (2 * k + 2) for k, b in enumerate(BERNOULLI[:8])][::-1])
_SHIFT = 8


def _sin_pi(xp, x):
    """Return sin(pi x), exactly 0 at integers."""
    return xp.sin(math.pi * (x - xp.rint(x))) * xp.where(xp.rint(x) % 2 == 0, 1.0, -1.0)


def lgamma(xp, x):
    """Return log |gamma(x)|: Stirling's series beyond 8, the recurrence below, reflection."""
    mirrored = x < 0.5
    z = xp.where(mirrored, 1.0 - x, x)
    product = xp.ones_like(z)
    for _ in range(_SHIFT):
        low = z < _SHIFT
        product = xp.where(low, product * z, product)
        z = xp.where(low, z + 1.0, z)
    inverse = 1.0 / z
    series = polynomial(_STIRLING, inverse * inverse) * inverse
    result = (z - 0.5) * xp.log(z) - z + _HALF_LOG_2PI + series - xp.log(product)
    reflected = xp.log(math.pi / xp.absolute(_sin_pi(xp, x))) - result
    result = xp.where(mirrored, reflected, result)
    result = xp.where((x == 1.0) | (x == 2.0), 0.0, result)
    return xp.where(xp.isinf(x), xp.inf, result)


def digamma(xp, x):
    mirrored = x < 0
    z = xp.where(mirrored, 1.0 - x, x)
    total = xp.zeros_like(z)
    for _ in range(_SHIFT):
        low = z < _SHIFT
        total = xp.where(low, total - 1.0 / z, total)
        z = xp.where(low, z + 1.0, z)
    inverse = 1.0 / z
    square = inverse * inverse
    result = total + xp.log(z) - 0.5 * inverse - polynomial(_DIGAMMA, square) * square
    remainder = x - xp.rint(x)
    result = xp.where(mirrored, result - math.pi / xp.tan(math.pi * remainder), result)
    result = xp.where(mirrored & (remainder == 0), xp.nan, result)
    return xp.where(x == 0, xp.copysign(xp.inf, -x), result)


def trigamma(xp, x):
    mirrored = x < 0.5
    z = xp.where(mirrored, 1.0 - x, x)
    result = zeta(xp, xp.full_like(z, 2.0), z)
    sine = _sin_pi(xp, x)
    return xp.where(mirrored, (math.pi / sine) ** 2 - result, result)


def zeta(xp, s, q):
    """Return Hurwitz' zeta function by Euler's and Maclaurin's summation."""
    s, q = xp.broadcast_arrays(s, q)
    endless = xp.isinf(s) & (s > 0.0) & (q > 0.0)
    valid = (s > 1.0) & ((q > 0.0) | (s == xp.floor(s))) & ~((q <= 0.0) & (q == xp.floor(q)))
    valid = valid & ~endless
    exponent = xp.where(valid, s, 2.0)
    w = xp.where(valid, q, 1.0)
    total = xp.zeros_like(w)
    enough = xp.clip(exponent, 10.0, 60.0)
    low = w < enough
    while low.any():
        total = xp.where(low, total + w**-exponent, total)
        w = xp.where(low, w + 1.0, w)
        low = w < enough
    power = w**-exponent
    total = total + power * w / (exponent - 1.0) + 0.5 * power
    factor = exponent * power / w
    factorial = 2.0
    for k, b in enumerate(BERNOULLI):
        total = total + b / factorial * factor
        factor = factor * (exponent + 2 * k + 1) * (exponent + 2 * k + 2) / (w * w)
        factorial *= (2 * k + 3) * (2 * k + 4)
    pole = (s == 1.0) | ((s > 1.0) & (q <= 0.0) & (q == xp.floor(q)))
    edge = xp.where(endless, q**-s, xp.where(pole, xp.inf, xp.nan))
    return xp.where(valid, total, edge)


def polygamma(xp, n, x):
    if n == 0:
        return digamma(xp, x)
    if n == 1:
        return trigamma(xp, x)
    sign = 1.0 if n % 2 else -1.0
    return sign * math.gamma(n + 1.0) * zeta(xp, xp.full_like(x, n + 1.0), x)


_MANY = 2000
_EPSILON = 1e-16
_TINY = 1e-300
_LARGE_A = 1e5


def igamma(xp, a, x):
    """Return the regularized lower incomplete gamma function P(a, x)."""
    return _incomplete_gamma(xp, a, x, upper=False)


def igammac(xp, a, x):
    """Return the regularized upper incomplete gamma function Q(a, x)."""
    return _incomplete_gamma(xp, a, x, upper=True)


def _incomplete_gamma(xp, a, x, upper):
    """Sum the series where x < a + 1, evaluate the continued fraction elsewhere."""
    a, x = xp.broadcast_arrays(a, x)
    valid = (a > 0.0) & (x > 0.0) & xp.isfinite(a) & xp.isfinite(x)
    safe_a = xp.where(valid, a, 1.0)
    safe_x = xp.where(valid, x, 1.0)
    factor = xp.exp(safe_a * xp.log(safe_x) - safe_x - lgamma(xp, safe_a))
    by_series = safe_x < safe_a + 1.0
    lower = factor * _gamma_series(xp, safe_a, xp.where(by_series, safe_x, 0.0))
    fraction = factor * _gamma_fraction(xp, safe_a, xp.where(by_series, safe_a + 2.0, safe_x))
    if upper:
        result = xp.where(by_series, 1.0 - lower, fraction)
    else:
        result = xp.where(by_series, lower, 1.0 - fraction)
    large = safe_a > _LARGE_A
    if large.any():
        result = xp.where(large, _gamma_of_large(xp, safe_a, safe_x, upper), result)
    at_zero, at_infinity = (1.0, 0.0) if upper else (0.0, 1.0)
    # The limits: x at an end with a > 0, a at an end with x > 0.
    edge = xp.where(x == 0.0, at_zero, xp.where(xp.isinf(x), at_infinity, xp.nan))
    edge = xp.where((a == 0.0) & (x > 0.0), at_infinity, edge)
    edge = xp.where(xp.isinf(a) & xp.isfinite(x), at_zero, edge)
    bad = (a < 0.0) | (x < 0.0) | ((a == 0.0) & (x == 0.0)) | (xp.isinf(a) & xp.isinf(x))
    edge = xp.where(bad | xp.isnan(a) | xp.isnan(x), xp.nan, edge)
    return xp.where(valid, result, edge)


def _gamma_of_large(xp, a, x, upper):
    """Evaluate the first two terms of Temme's uniform expansion (1979), which is exact enough beyond `_LARGE_A`."""
    a = xp.maximum(a, _LARGE_A)
    u = (x - a) / a
    near = xp.absolute(u) < 1e-3
    small = xp.where(near, u, 0.0)
    half_square = xp.where(
        near, small * small * (0.5 - small * (1 / 3 - small * (0.25 - small * 0.2))), u - xp.log1p(u)
    )
    eta = xp.copysign(xp.sqrt(2.0 * half_square), u)
    e = xp.clip(eta, -0.25, 0.25)  # further out the exponential leaves nothing
    first = -1 / 3 + e * (1 / 12 + e * (-2 / 135 + e * (1 / 864 + e * (1 / 2835))))
    second = -1 / 540 + e * (-1 / 288 + e * (1 / 378))
    rest = xp.exp(-a * half_square) / xp.sqrt(2.0 * math.pi * a) * (first + second / a)
    scaled = eta * xp.sqrt(0.5 * a)
    return 0.5 * erfc(xp, scaled) + rest if upper else 0.5 * erfc(xp, -scaled) - rest


def _gamma_series(xp, a, x):
    term = 1.0 / a
    total = term
    at = a
    for _ in range(_MANY):
        at = at + 1.0
        term = term * x / at
        total = total + term
        if not (term > _EPSILON * total).any():
            break
    return total


def _gamma_fraction(xp, a, x):
    """Evaluate Legendre's continued fraction by Lentz' method."""
    b = x + 1.0 - a
    c = xp.full_like(x, 1.0 / _TINY)
    d = 1.0 / b
    h = d
    for i in range(1, _MANY):
        numerator = -i * (i - a)
        b = b + 2.0
        d = numerator * d + b
        d = 1.0 / xp.where(xp.absolute(d) < _TINY, _TINY, d)
        c = b + numerator / c
        c = xp.where(xp.absolute(c) < _TINY, _TINY, c)
        change = c * d
        h = h * change
        if not (xp.absolute(change - 1.0) > _EPSILON * 10).any():
            break
    return h


# ---------------------------------------------------------------- modified Bessel functions


def i0e(xp, x):
    """Return ``exp(-|x|) I0(x)``."""
    size = xp.absolute(x)
    small = chebyshev(xp, tables.I0E_SMALL, xp.minimum(size, 8.0) / 4.0 - 1.0)
    far = xp.maximum(size, 8.0)
    large = chebyshev(xp, tables.I0E_LARGE, 16.0 / far - 1.0) / xp.sqrt(far)
    return xp.where(size <= 8.0, small, large)


def i1e(xp, x):
    """Return ``exp(-|x|) I1(x)``."""
    size = xp.absolute(x)
    small = chebyshev(xp, tables.I1E_SMALL, xp.minimum(size, 8.0) / 4.0 - 1.0) * size
    far = xp.maximum(size, 8.0)
    large = chebyshev(xp, tables.I1E_LARGE, 16.0 / far - 1.0) / xp.sqrt(far)
    return xp.copysign(xp.where(size <= 8.0, small, large), x)


def i0(xp, x):
    return xp.exp(xp.absolute(x)) * i0e(xp, x)


def i1(xp, x):
    return xp.exp(xp.absolute(x)) * i1e(xp, x)


def _modified_k(xp, x, small_table, large_table, order, scaled):
    near = xp.where((x > 0.0) & (x <= 2.0), x, 1.0)
    far = xp.maximum(x, 2.0)
    small = chebyshev(xp, small_table, near * near / 2.0 - 1.0)
    if order == 0:
        small = small - xp.log(0.5 * near) * i0(xp, near)
    else:
        small = small / near + xp.log(0.5 * near) * i1(xp, near)
    large = chebyshev(xp, large_table, 4.0 / far - 1.0) / xp.sqrt(far)
    if scaled:
        small = small * xp.exp(near)
    else:
        large = large * xp.exp(-far)
    result = xp.where(x <= 2.0, small, large)
    return xp.where(x > 0.0, result, xp.where(x == 0.0, xp.inf, xp.nan))


def k0(xp, x, scaled=False):
    return _modified_k(xp, x, tables.K0_SMALL, tables.K0_LARGE, 0, scaled)


def k1(xp, x, scaled=False):
    return _modified_k(xp, x, tables.K1_SMALL, tables.K1_LARGE, 1, scaled)


# ---------------------------------------------------------------- Bessel functions


def _wave(xp, x, order):
    """Return J and Y beyond 8: amplitudes that are series in 1/x^2, times cosine and sine."""
    p_table, q_table = (tables.P0, tables.Q0) if order == 0 else (tables.P1, tables.Q1)
    t = 128.0 / (x * x) - 1.0
    p = chebyshev(xp, p_table, t)
    q = chebyshev(xp, q_table, t) / x
    angle = x - (2 * order + 1) * (math.pi / 4.0)
    scale = xp.sqrt(2.0 / (math.pi * x))
    c, s = xp.cos(angle), xp.sin(angle)
    return scale * (p * c - q * s), scale * (p * s + q * c)


def j0(xp, x):
    size = xp.absolute(x)
    near = xp.minimum(size, 8.0)
    small = chebyshev(xp, tables.J0_SMALL, near * near / 32.0 - 1.0)
    large, _ = _wave(xp, xp.maximum(size, 8.0), 0)
    return xp.where(size <= 8.0, small, large)


def j1(xp, x):
    size = xp.absolute(x)
    near = xp.minimum(size, 8.0)
    small = chebyshev(xp, tables.J1_SMALL, near * near / 32.0 - 1.0) * near
    large, _ = _wave(xp, xp.maximum(size, 8.0), 1)
    result = xp.where(size <= 8.0, small, large)
    return xp.where(x < 0.0, -result, result)


def _second_kind(xp, x, small, order):
    _, large = _wave(xp, xp.maximum(x, 8.0), order)
    result = xp.where(x <= 8.0, small, large)
    return xp.where(x > 0.0, result, xp.where(x == 0.0, -xp.inf, xp.nan))


def y0(xp, x):
    near = xp.where((x > 0.0) & (x <= 8.0), x, 1.0)
    small = chebyshev(xp, tables.Y0_SMALL, near * near / 32.0 - 1.0)
    small = small + 2.0 / math.pi * xp.log(near) * j0(xp, near)
    return _second_kind(xp, x, small, 0)


def y1(xp, x):
    near = xp.where((x > 0.0) & (x <= 8.0), x, 1.0)
    small = chebyshev(xp, tables.Y1_SMALL, near * near / 32.0 - 1.0) * near
    small = small + 2.0 / math.pi * (xp.log(near) * j1(xp, near) - 1.0 / near)
    return _second_kind(xp, x, small, 1)


def spherical_j0(xp, x):
    """Return sin(x) / x."""
    zero = x == 0.0
    ratio = xp.where(zero, 1.0, xp.sin(x) / xp.where(zero, 1.0, x))
    return xp.where(xp.isinf(x), 0.0, ratio)


_AIRY_AT_0 = 0.355028053887817239
_AIRY_SLOPE_AT_0 = -0.258819403792806798
_AIRY_POSITIVE_FROM = 3.0 ** (2.0 / 3.0)  # where zeta is 2
_AIRY_NEGATIVE_FROM = -(6.0 ** (2.0 / 3.0))  # where zeta is 4


def airy_ai(xp, x):
    """Return Airy's function: its Taylor series about 0, and asymptotic forms in 2/3 |x|^1.5."""
    middle = (x > _AIRY_NEGATIVE_FROM) & (x < _AIRY_POSITIVE_FROM)
    z = xp.where(middle, x, 0.0)
    cube = z * z * z
    f_term, g_term = xp.ones_like(z), z
    f, g = f_term, g_term
    for k in range(1, 24):
        f_term = f_term * cube / ((3 * k - 1) * (3 * k))
        g_term = g_term * cube / ((3 * k) * (3 * k + 1))
        f, g = f + f_term, g + g_term
    series = _AIRY_AT_0 * f + _AIRY_SLOPE_AT_0 * g
    above = xp.maximum(x, _AIRY_POSITIVE_FROM)
    zeta_ = 2.0 / 3.0 * above * xp.sqrt(above)
    decay = xp.exp(-zeta_) / (2.0 * _SQRT_PI * xp.sqrt(xp.sqrt(above)))
    decay = decay * chebyshev(xp, tables.AI_POSITIVE, 4.0 / zeta_ - 1.0)
    below = xp.maximum(-x, -_AIRY_NEGATIVE_FROM)
    zeta_ = 2.0 / 3.0 * below * xp.sqrt(below)
    t = 32.0 / (zeta_ * zeta_) - 1.0
    angle = zeta_ - math.pi / 4.0
    wave = xp.cos(angle) * chebyshev(xp, tables.AI_P, t)
    wave = wave + xp.sin(angle) * chebyshev(xp, tables.AI_Q, t) / zeta_
    wave = wave / (_SQRT_PI * xp.sqrt(xp.sqrt(below)))
    result = xp.where(middle, series, xp.where(x > 0, decay, wave))
    return xp.where(xp.isinf(x), xp.nan, result)
