"""Kernels of the special functions: computed in float64 by `special_math`, rounded once."""

from __future__ import annotations

from minitorch.backends.array import special_math as math64
from minitorch.backends.array.elementwise import elementwise, pointwise
from minitorch.backends.array.registry import array_kernel
from minitorch.backends.array.special import erf
from minitorch.ops.shapes.pointwise import RULES


def in_float64(*names: str):
    """Register a function of ``(xp, *arrays)``, float64 all, as the kernel of operators."""

    def register(fn):
        def in_float64_kernel(xp, *operands):
            return fn(xp, *[o.astype(xp.float64, copy=False) for o in operands])

        pointwise(*names)(in_float64_kernel)
        return fn

    return register


@pointwise("erf")
def erf_kernel(xp, x):
    return erf(xp, x)


in_float64("erfc")(math64.erfc)
in_float64("erfinv")(math64.erfinv)
in_float64("lgamma")(math64.lgamma)
in_float64("digamma")(math64.digamma)
in_float64("igamma")(math64.igamma)
in_float64("igammac")(math64.igammac)
in_float64("i0", "special_modified_bessel_i0")(math64.i0)
in_float64("special_i0e")(math64.i0e)
in_float64("special_i1", "special_modified_bessel_i1")(math64.i1)
in_float64("special_i1e")(math64.i1e)
in_float64("special_erfcx")(math64.erfcx)
in_float64("special_log_ndtr")(math64.log_ndtr)
in_float64("special_ndtri")(math64.ndtri)
in_float64("special_zeta", "special_zeta.other_scalar", "special_zeta.self_scalar")(math64.zeta)
in_float64("special_bessel_j0")(math64.j0)
in_float64("special_bessel_j1")(math64.j1)
in_float64("special_bessel_y0")(math64.y0)
in_float64("special_bessel_y1")(math64.y1)
in_float64("special_modified_bessel_k0")(math64.k0)
in_float64("special_modified_bessel_k1")(math64.k1)
in_float64("special_scaled_modified_bessel_k0")(lambda xp, x: math64.k0(xp, x, scaled=True))
in_float64("special_scaled_modified_bessel_k1")(lambda xp, x: math64.k1(xp, x, scaled=True))
in_float64("special_spherical_bessel_j0")(math64.spherical_j0)
in_float64("special_airy_ai")(math64.airy_ai)


@array_kernel("polygamma")
def polygamma_kernel(xp, n, self):
    if n < 0:
        raise ValueError("negative order")

    def polygamma(xp, x):
        return math64.polygamma(xp, n, x.astype(xp.float64, copy=False))

    return elementwise(xp, polygamma, (self,), RULES["polygamma"])


@pointwise("special_entr")
def entr_kernel(xp, x):
    result = -x * xp.log(x)
    return xp.where(x == 0, x.dtype.type(0), xp.where(x < 0, x.dtype.type(-xp.inf), result))


@pointwise("special_xlog1py", "special_xlog1py.other_scalar", "special_xlog1py.self_scalar")
def xlog1py_kernel(xp, x, y):
    result = xp.multiply(x, xp.log1p(y))
    return xp.where((x == 0) & ~xp.isnan(y), x.dtype.type(0), result)


# ---------------------------------------------------------------- orthogonal polynomials

# Note [Orthogonal polynomials]
# Each family starts with 1 and a linear function, and has p(k + 1) = (a x + b) p(k) - c p(k - 1)
# with coefficients that depend on k alone.  A degree below 0 gives 0.


def _by_recurrence(xp, x, n, first, step):
    """Return the polynomial of degree ``n[i]`` at ``x[i]``.

    Parameters
    ----------
    first : the polynomial of degree 1 at x.
    step : function of (k, x), which returns ``a x + b`` and c.
    """
    degree = xp.where(xp.isfinite(n), xp.trunc(n), -1.0)
    before = xp.ones_like(first)
    current = first
    result = xp.where(degree == 0, before, xp.where(degree == 1, current, 0.0))
    highest = int(degree.max()) if degree.size else 0
    for k in range(1, highest):
        factor, c = step(k, x)
        before, current = current, factor * current - c * before
        result = xp.where(degree == k + 1, current, result)
    return result


def _chebyshev_step(k, x):
    return 2.0 * x, 1.0


def _chebyshev(slope: float, offset: float, shifted: bool):
    """Return a Chebyshev family, named by its polynomial of degree 1."""

    def chebyshev(xp, x, n):
        if shifted:
            x = 2.0 * x - 1.0
        return _by_recurrence(xp, x, n, slope * x + offset, _chebyshev_step)

    return chebyshev


def _hermite_h(xp, x, n):
    return _by_recurrence(xp, x, n, 2.0 * x, lambda k, x: (2.0 * x, 2.0 * k))


def _hermite_he(xp, x, n):
    return _by_recurrence(xp, x, n, x, lambda k, x: (x, 1.0 * k))


def _laguerre(xp, x, n):
    return _by_recurrence(
        xp, x, n, 1.0 - x, lambda k, x: ((2.0 * k + 1.0 - x) / (k + 1.0), k / (k + 1.0))
    )


def _legendre(xp, x, n):
    return _by_recurrence(
        xp, x, n, x, lambda k, x: ((2.0 * k + 1.0) / (k + 1.0) * x, k / (k + 1.0))
    )


in_float64(
    "special_chebyshev_polynomial_t", "special_chebyshev_polynomial_t.x_scalar",
    "special_chebyshev_polynomial_t.n_scalar",
)(_chebyshev(1.0, 0.0, shifted=False))
in_float64(
    "special_chebyshev_polynomial_u", "special_chebyshev_polynomial_u.x_scalar",
    "special_chebyshev_polynomial_u.n_scalar",
)(_chebyshev(2.0, 0.0, shifted=False))
in_float64(
    "special_chebyshev_polynomial_v", "special_chebyshev_polynomial_v.x_scalar",
    "special_chebyshev_polynomial_v.n_scalar",
)(_chebyshev(2.0, -1.0, shifted=False))
in_float64(
    "special_chebyshev_polynomial_w", "special_chebyshev_polynomial_w.x_scalar",
    "special_chebyshev_polynomial_w.n_scalar",
)(_chebyshev(2.0, 1.0, shifted=False))
in_float64(
    "special_shifted_chebyshev_polynomial_t", "special_shifted_chebyshev_polynomial_t.x_scalar",
    "special_shifted_chebyshev_polynomial_t.n_scalar",
)(_chebyshev(1.0, 0.0, shifted=True))
in_float64(
    "special_shifted_chebyshev_polynomial_u", "special_shifted_chebyshev_polynomial_u.x_scalar",
    "special_shifted_chebyshev_polynomial_u.n_scalar",
)(_chebyshev(2.0, 0.0, shifted=True))
in_float64(
    "special_shifted_chebyshev_polynomial_v", "special_shifted_chebyshev_polynomial_v.x_scalar",
    "special_shifted_chebyshev_polynomial_v.n_scalar",
)(_chebyshev(2.0, -1.0, shifted=True))
in_float64(
    "special_shifted_chebyshev_polynomial_w", "special_shifted_chebyshev_polynomial_w.x_scalar",
    "special_shifted_chebyshev_polynomial_w.n_scalar",
)(_chebyshev(2.0, 1.0, shifted=True))
in_float64(
    "special_hermite_polynomial_h", "special_hermite_polynomial_h.x_scalar",
    "special_hermite_polynomial_h.n_scalar",
)(_hermite_h)
in_float64(
    "special_hermite_polynomial_he", "special_hermite_polynomial_he.x_scalar",
    "special_hermite_polynomial_he.n_scalar",
)(_hermite_he)
in_float64(
    "special_laguerre_polynomial_l", "special_laguerre_polynomial_l.x_scalar",
    "special_laguerre_polynomial_l.n_scalar",
)(_laguerre)
in_float64(
    "special_legendre_polynomial_p", "special_legendre_polynomial_p.x_scalar",
    "special_legendre_polynomial_p.n_scalar",
)(_legendre)
