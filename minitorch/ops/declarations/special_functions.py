"""Special functions: what exists, at the top level and in ``minitorch.special``."""

from minitorch.ops.registry import FUNCTION, POINTWISE, operator

# ---------------------------------------------------------------- special functions

operator("erf(Tensor self) -> Tensor", inplace="erf_", out="erf.out", tags=POINTWISE)
operator("erfc(Tensor self) -> Tensor", inplace="erfc_", out="erfc.out", tags=POINTWISE)
operator("erfinv(Tensor self) -> Tensor", inplace="erfinv_", out="erfinv.out", tags=POINTWISE)
operator("lgamma(Tensor self) -> Tensor", inplace="lgamma_", out="lgamma.out", tags=POINTWISE)
operator(
    "mvlgamma(Tensor self, int p) -> Tensor",
    inplace="mvlgamma_", out="mvlgamma.out", tags=POINTWISE,
)
operator("digamma(Tensor self) -> Tensor", inplace="digamma_", out="digamma.out", tags=POINTWISE)
operator("polygamma(int n, Tensor self) -> Tensor", out="polygamma.out", tags=POINTWISE)
operator("polygamma_(Tensor(a!) self, int n) -> Tensor(a!)", tags=POINTWISE)
operator(
    "igamma(Tensor self, Tensor other) -> Tensor",
    inplace="igamma_", out="igamma.out", tags=POINTWISE,
)
operator(
    "igammac(Tensor self, Tensor other) -> Tensor",
    inplace="igammac_", out="igammac.out", tags=POINTWISE,
)
operator("i0(Tensor self) -> Tensor", inplace="i0_", out="i0.out", tags=POINTWISE)

# ---------------------------------------------------------------- the special module

operator(
    "special_entr(Tensor self) -> Tensor",
    out="special_entr.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_ndtr(Tensor self) -> Tensor",
    out="special_ndtr.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_log_ndtr(Tensor self) -> Tensor",
    out="special_log_ndtr.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_ndtri(Tensor self) -> Tensor",
    out="special_ndtri.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_i0(Tensor self) -> Tensor",
    out="special_i0.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_i0e(Tensor self) -> Tensor",
    out="special_i0e.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_i1(Tensor self) -> Tensor",
    out="special_i1.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_i1e(Tensor self) -> Tensor",
    out="special_i1e.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_erfcx(Tensor self) -> Tensor",
    out="special_erfcx.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_erf(Tensor self) -> Tensor",
    out="special_erf.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_erfc(Tensor self) -> Tensor",
    out="special_erfc.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_erfinv(Tensor self) -> Tensor",
    out="special_erfinv.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_xlog1py(Tensor self, Tensor other) -> Tensor",
    out="special_xlog1py.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor",
    out="special_xlog1py.other_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor",
    out="special_xlog1py.self_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_xlogy(Tensor self, Tensor other) -> Tensor",
    out="special_xlogy.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor",
    out="special_xlogy.other_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor",
    out="special_xlogy.self_scalar_out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_zeta(Tensor self, Tensor other) -> Tensor",
    out="special_zeta.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor",
    out="special_zeta.other_scalar_out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor",
    out="special_zeta.self_scalar_out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_polygamma(int n, Tensor self) -> Tensor",
    out="special_polygamma.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_psi(Tensor self) -> Tensor",
    out="special_psi.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_digamma(Tensor self) -> Tensor",
    out="special_digamma.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_gammaln(Tensor self) -> Tensor",
    out="special_gammaln.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_multigammaln(Tensor self, int p) -> Tensor",
    out="special_multigammaln.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_exp2(Tensor self) -> Tensor",
    out="special_exp2.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_expm1(Tensor self) -> Tensor",
    out="special_expm1.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_expit(Tensor self) -> Tensor",
    out="special_expit.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_logit(Tensor self, float? eps=None) -> Tensor",
    out="special_logit.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_log1p(Tensor self) -> Tensor",
    out="special_log1p.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_sinc(Tensor self) -> Tensor",
    out="special_sinc.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_round(Tensor self, *, int decimals=0) -> Tensor",
    out="special_round.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_gammainc(Tensor self, Tensor other) -> Tensor",
    out="special_gammainc.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_gammaincc(Tensor self, Tensor other) -> Tensor",
    out="special_gammaincc.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    variants=FUNCTION, python_module="special",
)
operator(
    "special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    variants=FUNCTION, python_module="special",
)
operator(
    "special_bessel_j0(Tensor self) -> Tensor",
    out="special_bessel_j0.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_bessel_j1(Tensor self) -> Tensor",
    out="special_bessel_j1.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_bessel_y0(Tensor self) -> Tensor",
    out="special_bessel_y0.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_bessel_y1(Tensor self) -> Tensor",
    out="special_bessel_y1.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_modified_bessel_i0(Tensor self) -> Tensor",
    out="special_modified_bessel_i0.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_modified_bessel_i1(Tensor self) -> Tensor",
    out="special_modified_bessel_i1.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_modified_bessel_k0(Tensor self) -> Tensor",
    out="special_modified_bessel_k0.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_modified_bessel_k1(Tensor self) -> Tensor",
    out="special_modified_bessel_k1.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_scaled_modified_bessel_k0(Tensor x) -> Tensor",
    out="special_scaled_modified_bessel_k0.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_scaled_modified_bessel_k1(Tensor x) -> Tensor",
    out="special_scaled_modified_bessel_k1.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_spherical_bessel_j0(Tensor x) -> Tensor",
    out="special_spherical_bessel_j0.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_airy_ai(Tensor x) -> Tensor",
    out="special_airy_ai.out", variants=FUNCTION, python_module="special", tags=POINTWISE,
)
operator(
    "special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor",
    out="special_chebyshev_polynomial_t.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor",
    out="special_chebyshev_polynomial_t.x_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor",
    out="special_chebyshev_polynomial_t.n_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor",
    out="special_chebyshev_polynomial_u.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor",
    out="special_chebyshev_polynomial_u.x_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor",
    out="special_chebyshev_polynomial_u.n_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor",
    out="special_chebyshev_polynomial_v.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor",
    out="special_chebyshev_polynomial_v.x_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor",
    out="special_chebyshev_polynomial_v.n_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor",
    out="special_chebyshev_polynomial_w.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor",
    out="special_chebyshev_polynomial_w.x_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor",
    out="special_chebyshev_polynomial_w.n_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor",
    out="special_hermite_polynomial_h.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_hermite_polynomial_h.x_scalar(Scalar x, Tensor n) -> Tensor",
    out="special_hermite_polynomial_h.x_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_hermite_polynomial_h.n_scalar(Tensor x, Scalar n) -> Tensor",
    out="special_hermite_polynomial_h.n_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor",
    out="special_hermite_polynomial_he.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_hermite_polynomial_he.x_scalar(Scalar x, Tensor n) -> Tensor",
    out="special_hermite_polynomial_he.x_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_hermite_polynomial_he.n_scalar(Tensor x, Scalar n) -> Tensor",
    out="special_hermite_polynomial_he.n_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor",
    out="special_laguerre_polynomial_l.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_laguerre_polynomial_l.x_scalar(Scalar x, Tensor n) -> Tensor",
    out="special_laguerre_polynomial_l.x_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_laguerre_polynomial_l.n_scalar(Tensor x, Scalar n) -> Tensor",
    out="special_laguerre_polynomial_l.n_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor",
    out="special_legendre_polynomial_p.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_legendre_polynomial_p.x_scalar(Scalar x, Tensor n) -> Tensor",
    out="special_legendre_polynomial_p.x_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_legendre_polynomial_p.n_scalar(Tensor x, Scalar n) -> Tensor",
    out="special_legendre_polynomial_p.n_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor",
    out="special_shifted_chebyshev_polynomial_t.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_shifted_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor",
    out="special_shifted_chebyshev_polynomial_t.x_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_shifted_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor",
    out="special_shifted_chebyshev_polynomial_t.n_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor",
    out="special_shifted_chebyshev_polynomial_u.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_shifted_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor",
    out="special_shifted_chebyshev_polynomial_u.x_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_shifted_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor",
    out="special_shifted_chebyshev_polynomial_u.n_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor",
    out="special_shifted_chebyshev_polynomial_v.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_shifted_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor",
    out="special_shifted_chebyshev_polynomial_v.x_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_shifted_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor",
    out="special_shifted_chebyshev_polynomial_v.n_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor",
    out="special_shifted_chebyshev_polynomial_w.out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_shifted_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor",
    out="special_shifted_chebyshev_polynomial_w.x_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
operator(
    "special_shifted_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor",
    out="special_shifted_chebyshev_polynomial_w.n_scalar_out",
    variants=FUNCTION,
    python_module="special",
    tags=POINTWISE,
)
