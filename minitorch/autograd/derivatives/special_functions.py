"""Derivatives of the special functions."""

from __future__ import annotations

import math

from minitorch.autograd.derivatives.registry import derivative
from minitorch.ops import functions as F

_TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)
_HALF_SQRT_PI = 0.5 * math.sqrt(math.pi)


def not_implemented(operator: str, argument: str):
    """Return a formula that says that there is none."""

    def formula(grad):
        raise NotImplementedError(
            f"the derivative for '{operator}: {argument}' is not implemented."
        )

    return formula


# ---------------------------------------------------------------- error functions

derivative(
    "erf",
    self=lambda grad, self: grad * (F.exp(-self * self) * _TWO_OVER_SQRT_PI),
    result="elementwise",
)
derivative(
    "erfc",
    self=lambda grad, self: grad * (F.exp(-self * self) * -_TWO_OVER_SQRT_PI),
    result="elementwise",
)
derivative(
    "erfinv",
    self=lambda grad, result: grad * (F.exp(result * result) * _HALF_SQRT_PI),
    result="elementwise",
)
derivative(
    "special_erfcx",
    self=lambda grad, self, result: grad * (2.0 * self * result - _TWO_OVER_SQRT_PI),
    result="elementwise",
)
derivative(
    "special_log_ndtr",
    self=lambda grad, self: grad
    / F.special_erfcx(self * -math.sqrt(0.5))
    * math.sqrt(2.0 / math.pi),
    result="elementwise",
)
derivative(
    "special_ndtri",
    self=lambda grad, result: grad * (F.exp(result * result * 0.5) * math.sqrt(2.0 * math.pi)),
    result="elementwise",
)


# ---------------------------------------------------------------- the gamma family


def igamma_slope(self, other):
    """Return the derivative of igamma in its second argument."""
    return F.exp((self - 1.0) * F.log(other) - other - F.lgamma(self))


derivative("lgamma", self=lambda grad, self: grad * F.digamma(self), result="elementwise")
derivative("digamma", self=lambda grad, self: grad * F.polygamma(1, self), result="elementwise")
derivative(
    "polygamma",
    self=lambda grad, n, self: grad * F.polygamma(n + 1, self),
    result="elementwise",
)
derivative(
    "igamma",
    self=not_implemented("igamma", "input"),
    other=lambda grad, self, other: grad * igamma_slope(self, other),
)
derivative(
    "igammac",
    self=not_implemented("igammac", "input"),
    other=lambda grad, self, other: grad * -igamma_slope(self, other),
)
derivative(
    "special_zeta",
    self=not_implemented("zeta", "self"),
    other=lambda grad, self, other: grad * -self * F.special_zeta(self + 1.0, other),
)
derivative(
    "special_zeta.self_scalar",
    other=lambda grad, self, other: grad * -self * F.special_zeta(self + 1.0, other),
    result="elementwise",
)
derivative("special_zeta.other_scalar", self=not_implemented("zeta", "self"))


# ---------------------------------------------------------------- logarithms

derivative(
    "special_entr", self=lambda grad, self: grad * (-F.log(self) - 1.0), result="elementwise"
)
derivative(
    "special_xlog1py",
    self=lambda grad, self, other: F.where(
        F.logical_and(self == 0, other <= -1), 0, F.special_xlog1py(grad, other)
    ),
    other=lambda grad, self, other: grad * self / (other + 1),
    result="elementwise",
)
derivative(
    "special_xlog1py.self_scalar",
    other=lambda grad, self, other: grad * self / (other + 1),
    result="elementwise",
)
derivative(
    "special_xlog1py.other_scalar",
    self=lambda grad, self, other: (
        F.special_xlog1py(grad, other)
        if other > -1
        else F.where(self == 0, 0, F.special_xlog1py(grad, other))
    ),
    result="elementwise",
)


# ---------------------------------------------------------------- Bessel functions


def i1_self(grad, self, result):
    at_zero = self == 0
    safe = F.where(at_zero, 1, self)
    return F.where(at_zero, grad * 0.5, grad * (F.i0(self) - result / safe))


def i1e_self(grad, self, result):
    at_zero = self == 0
    safe = F.where(at_zero, 1, self)
    slope = F.special_i0e(self) - result * (F.sgn(self) + 1.0 / safe)
    return F.where(at_zero, grad * 0.5, grad * slope)


derivative("i0", self=lambda grad, self: grad * F.special_i1(self), result="elementwise")
derivative(
    "special_i0e",
    self=lambda grad, self, result: grad * (F.special_i1e(self) - F.sgn(self) * result),
    result="elementwise",
)
derivative("special_i1", self=i1_self, result="elementwise")
derivative("special_i1e", self=i1e_self, result="elementwise")
derivative("special_modified_bessel_i0")
derivative("special_modified_bessel_i1")
derivative("special_modified_bessel_k0")
derivative("special_modified_bessel_k1")
derivative("special_scaled_modified_bessel_k0")
derivative("special_scaled_modified_bessel_k1")
derivative("special_bessel_j0")
derivative("special_bessel_j1")
derivative("special_bessel_y0")
derivative("special_bessel_y1")
derivative("special_spherical_bessel_j0")
derivative("special_airy_ai")


# ---------------------------------------------------------------- orthogonal polynomials

derivative("special_chebyshev_polynomial_t")
derivative("special_chebyshev_polynomial_t.x_scalar")
derivative("special_chebyshev_polynomial_t.n_scalar")
derivative("special_chebyshev_polynomial_u")
derivative("special_chebyshev_polynomial_u.x_scalar")
derivative("special_chebyshev_polynomial_u.n_scalar")
derivative("special_chebyshev_polynomial_v")
derivative("special_chebyshev_polynomial_v.x_scalar")
derivative("special_chebyshev_polynomial_v.n_scalar")
derivative("special_chebyshev_polynomial_w")
derivative("special_chebyshev_polynomial_w.x_scalar")
derivative("special_chebyshev_polynomial_w.n_scalar")
derivative("special_shifted_chebyshev_polynomial_t")
derivative("special_shifted_chebyshev_polynomial_t.x_scalar")
derivative("special_shifted_chebyshev_polynomial_t.n_scalar")
derivative("special_shifted_chebyshev_polynomial_u")
derivative("special_shifted_chebyshev_polynomial_u.x_scalar")
derivative("special_shifted_chebyshev_polynomial_u.n_scalar")
derivative("special_shifted_chebyshev_polynomial_v")
derivative("special_shifted_chebyshev_polynomial_v.x_scalar")
derivative("special_shifted_chebyshev_polynomial_v.n_scalar")
derivative("special_shifted_chebyshev_polynomial_w")
derivative("special_shifted_chebyshev_polynomial_w.x_scalar")
derivative("special_shifted_chebyshev_polynomial_w.n_scalar")
derivative("special_hermite_polynomial_h")
derivative("special_hermite_polynomial_h.x_scalar")
derivative("special_hermite_polynomial_h.n_scalar")
derivative("special_hermite_polynomial_he")
derivative("special_hermite_polynomial_he.x_scalar")
derivative("special_hermite_polynomial_he.n_scalar")
derivative("special_laguerre_polynomial_l")
derivative("special_laguerre_polynomial_l.x_scalar")
derivative("special_laguerre_polynomial_l.n_scalar")
derivative("special_legendre_polynomial_p")
derivative("special_legendre_polynomial_p.x_scalar")
derivative("special_legendre_polynomial_p.n_scalar")
