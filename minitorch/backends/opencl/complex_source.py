"""Complex arithmetic and functions in OpenCL C; ``C_`` stands for float2 or double2, ``R_`` for its part."""

COMPLEX_SOURCE = """
inline C_ cmul_C_(C_ a, C_ b) { return (C_)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
inline C_ cdiv_C_(C_ a, C_ b) {
  /* Smith's method: no overflow of the squares */
  if (fabs(b.x) >= fabs(b.y)) {
    if (b.x == 0 && b.y == 0) return (C_)(a.x / fabs(b.x), a.y / fabs(b.x));
    R_ r = b.y / b.x, d = 1 / (b.x + b.y * r);
    return (C_)((a.x + a.y * r) * d, (a.y - a.x * r) * d);
  }
  R_ r = b.x / b.y, d = 1 / (b.x * r + b.y);
  return (C_)((a.x * r + a.y) * d, (a.y * r - a.x) * d);
}
inline C_ csgn_C_(C_ a) { R_ h = hypot(a.x, a.y); return h == 0 ? (C_)(0, 0) : a / h; }
inline C_ cmaximum_C_(C_ a, C_ b) {
  if (isnan(a.x) || isnan(a.y)) return a;
  if (isnan(b.x) || isnan(b.y)) return b;
  return (a.x > b.x || (a.x == b.x && a.y >= b.y)) ? a : b; }
inline C_ cminimum_C_(C_ a, C_ b) {
  if (isnan(a.x) || isnan(a.y)) return a;
  if (isnan(b.x) || isnan(b.y)) return b;
  return (a.x < b.x || (a.x == b.x && a.y <= b.y)) ? a : b; }
inline C_ cexp_C_(C_ a) {
  if (a.y == 0) return (C_)(exp(a.x), a.y);
  if (isinf(a.x) && !isfinite(a.y)) return a.x < 0 ? (C_)(0, 0) : (C_)(a.x, NAN);
  R_ e = exp(a.x); return (C_)(e * cos(a.y), e * sin(a.y)); }
inline C_ cexp2_C_(C_ a) { return cexp_C_(a * (R_)0.6931471805599453); }
inline C_ cexpm1_C_(C_ a) { R_ s = sin(a.y / 2); return (C_)(expm1(a.x) * cos(a.y) - 2 * s * s, exp(a.x) * sin(a.y)); }
inline C_ clog_C_(C_ a) {
  R_ h = hypot(a.x, a.y), x = fabs(a.x), y = fabs(a.y), big = fmax(x, y), small = fmin(x, y);
  R_ l = (h > (R_)0.5 && h < 2) ? log1p((big - 1) * (big + 1) + small * small) / 2 : log(h);
  return (C_)(l, atan2(a.y, a.x)); }
inline C_ clog2_C_(C_ a) { return clog_C_(a) * (R_)1.4426950408889634; }
inline C_ clog10_C_(C_ a) { return clog_C_(a) * (R_)0.4342944819032518; }
inline C_ clog1p_C_(C_ a) { return (C_)(log1p(a.x * (2 + a.x) + a.y * a.y) / 2, atan2(a.y, 1 + a.x)); }
inline C_ clogaddexp_C_(C_ a, C_ b) {
  C_ big = a.x >= b.x ? a : b, rest = a.x >= b.x ? b : a; return big + clog1p_C_(cexp_C_(rest - big)); }
inline C_ csqrt_C_(C_ a) {
  if (a.x == 0 && a.y == 0) return (C_)(0, a.y);
  if (isinf(a.y)) return (C_)(INFINITY, a.y);
  R_ h = hypot(a.x, a.y), t = sqrt((h + fabs(a.x)) / 2), u = a.y / (2 * t);
  return a.x >= 0 ? (C_)(t, u) : (C_)(fabs(u), copysign(t, a.y)); }
inline C_ crsqrt_C_(C_ a) { return cdiv_C_((C_)(1, 0), csqrt_C_(a)); }
inline C_ cpow_C_(C_ a, C_ b) {
  if (b.x == 0 && b.y == 0) return (C_)(1, 0);
  if (a.x == 0 && a.y == 0) return b.x > 0 ? (C_)(0, 0) : (C_)(NAN, NAN);
  if (b.y == 0 && b.x == rint(b.x) && fabs(b.x) <= 32) {
    int n = (int)fabs(b.x); C_ r = (C_)(1, 0), p = a;
    while (n) { if (n & 1) r = cmul_C_(r, p); p = cmul_C_(p, p); n >>= 1; }
    return b.x < 0 ? cdiv_C_((C_)(1, 0), r) : r; }
  return cexp_C_(cmul_C_(b, clog_C_(a))); }
inline C_ csinh_C_(C_ a) { return (C_)(sinh(a.x) * cos(a.y), cosh(a.x) * sin(a.y)); }
inline C_ ccosh_C_(C_ a) { return (C_)(cosh(a.x) * cos(a.y), sinh(a.x) * sin(a.y)); }
inline C_ ctanh_C_(C_ a) {
  if (fabs(a.x) > 20) return (C_)(copysign((R_)1, a.x), 4 * sin(a.y) * cos(a.y) * exp(-2 * fabs(a.x)));
  R_ t = tan(a.y), s = sinh(a.x), b = 1 + t * t, r = sqrt(1 + s * s), d = 1 + b * s * s;
  return isinf(t) ? (C_)(r / s, 1 / t) : (C_)(b * r * s / d, t / d); }
inline C_ csin_C_(C_ a) { return (C_)(sin(a.x) * cosh(a.y), cos(a.x) * sinh(a.y)); }
inline C_ ccos_C_(C_ a) { return (C_)(cos(a.x) * cosh(a.y), -sin(a.x) * sinh(a.y)); }
inline C_ ctan_C_(C_ a) { C_ t = ctanh_C_((C_)(-a.y, a.x)); return (C_)(t.y, -t.x); }
inline C_ casin_C_(C_ a) {
  /* Kahan's formulas */
  C_ p = csqrt_C_((C_)(1 - a.x, -a.y)), q = csqrt_C_((C_)(1 + a.x, a.y));
  return (C_)(atan2(a.x, p.x * q.x - p.y * q.y), asinh(p.x * q.y - p.y * q.x)); }
inline C_ cacos_C_(C_ a) {
  C_ p = csqrt_C_((C_)(1 - a.x, -a.y)), q = csqrt_C_((C_)(1 + a.x, a.y));
  return (C_)(2 * atan2(p.x, q.x), asinh(q.x * p.y - q.y * p.x)); }
inline C_ casinh_C_(C_ a) { C_ t = casin_C_((C_)(-a.y, a.x)); return (C_)(t.y, -t.x); }
inline C_ cacosh_C_(C_ a) {
  C_ p = csqrt_C_((C_)(a.x - 1, a.y)), q = csqrt_C_((C_)(a.x + 1, a.y));
  return (C_)(asinh(p.x * q.x + p.y * q.y), 2 * atan2(p.y, q.x)); }
inline C_ catanh_C_(C_ a) {
  R_ y2 = a.y * a.y, u = 1 - a.x;
  return (C_)(log1p(4 * a.x / (u * u + y2)) / 4, atan2(2 * a.y, (1 - a.x) * (1 + a.x) - y2) / 2); }
inline C_ catan_C_(C_ a) { C_ t = catanh_C_((C_)(-a.y, a.x)); return (C_)(t.y, -t.x); }
"""
