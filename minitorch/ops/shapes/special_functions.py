"""Types and shapes of the special functions."""

from __future__ import annotations

from minitorch.ops.shapes.common import check
from minitorch.ops.shapes.pointwise import FLOAT, SAME, elementwise_shape, rules
from minitorch.ops.shapes.registry import shape

rules(
    FLOAT, "bif",
    "erf", "erfc", "erfinv", "lgamma", "digamma", "i0",
    "special_entr", "special_log_ndtr", "special_ndtri", "special_i0e", "special_i1",
    "special_i1e", "special_erfcx",
    "special_bessel_j0", "special_bessel_j1", "special_bessel_y0", "special_bessel_y1",
    "special_modified_bessel_i0", "special_modified_bessel_i1",
    "special_modified_bessel_k0", "special_modified_bessel_k1",
    "special_scaled_modified_bessel_k0", "special_scaled_modified_bessel_k1",
    "special_spherical_bessel_j0", "special_airy_ai",
    "special_xlog1py", "special_xlog1py.other_scalar", "special_xlog1py.self_scalar",
    "special_zeta", "special_zeta.other_scalar", "special_zeta.self_scalar",
    "special_chebyshev_polynomial_t", "special_chebyshev_polynomial_t.x_scalar",
    "special_chebyshev_polynomial_t.n_scalar",
    "special_chebyshev_polynomial_u", "special_chebyshev_polynomial_u.x_scalar",
    "special_chebyshev_polynomial_u.n_scalar",
    "special_chebyshev_polynomial_v", "special_chebyshev_polynomial_v.x_scalar",
    "special_chebyshev_polynomial_v.n_scalar",
    "special_chebyshev_polynomial_w", "special_chebyshev_polynomial_w.x_scalar",
    "special_chebyshev_polynomial_w.n_scalar",
    "special_shifted_chebyshev_polynomial_t", "special_shifted_chebyshev_polynomial_t.x_scalar",
    "special_shifted_chebyshev_polynomial_t.n_scalar",
    "special_shifted_chebyshev_polynomial_u", "special_shifted_chebyshev_polynomial_u.x_scalar",
    "special_shifted_chebyshev_polynomial_u.n_scalar",
    "special_shifted_chebyshev_polynomial_v", "special_shifted_chebyshev_polynomial_v.x_scalar",
    "special_shifted_chebyshev_polynomial_v.n_scalar",
    "special_shifted_chebyshev_polynomial_w", "special_shifted_chebyshev_polynomial_w.x_scalar",
    "special_shifted_chebyshev_polynomial_w.n_scalar",
    "special_hermite_polynomial_h", "special_hermite_polynomial_h.x_scalar",
    "special_hermite_polynomial_h.n_scalar",
    "special_hermite_polynomial_he", "special_hermite_polynomial_he.x_scalar",
    "special_hermite_polynomial_he.n_scalar",
    "special_laguerre_polynomial_l", "special_laguerre_polynomial_l.x_scalar",
    "special_laguerre_polynomial_l.n_scalar",
    "special_legendre_polynomial_p", "special_legendre_polynomial_p.x_scalar",
    "special_legendre_polynomial_p.n_scalar",
)
rules(SAME, "f", "igamma", "igammac")
rules(FLOAT, "bif", "polygamma", generic=False)


@shape("polygamma")
def polygamma_shape(n, self):
    check(n >= 0, f"polygamma(n, x) does not support negative n, but n is {n}.")
    return elementwise_shape("polygamma", (self,))
