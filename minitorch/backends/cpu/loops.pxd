cimport cython

cdef extern from *:
    """
    #include <math.h>
    #include <stddef.h>

    /* Polynomials of Cephes; fma keeps the parts of ln 2 apart where sums may be reordered. */
    #if defined(__GNUC__)
    #define MT_INLINE static inline __attribute__((always_inline))
    #else
    #define MT_INLINE static inline
    #endif
    MT_INLINE float mt_bits(int i) { union { int i; float f; } u; u.i = i; return u.f; }
    MT_INLINE int mt_int(float f) { union { int i; float f; } u; u.f = f; return u.i; }
    MT_INLINE float mt_exp32(float x) {
        x = x < -104.0f ? -104.0f : x;
        x = x > 89.0f ? 89.0f : x;
        float k = floorf(fmaf(x, 1.44269504f, 0.5f));
        float r = fmaf(-k, 0.693359375f, x);
        r = fmaf(-k, -2.12194440e-4f, r);
        float p = 1.9875691500e-4f;
        p = fmaf(p, r, 1.3981999507e-3f);
        p = fmaf(p, r, 8.3334519073e-3f);
        p = fmaf(p, r, 4.1665795894e-2f);
        p = fmaf(p, r, 1.6666665459e-1f);
        p = fmaf(p, r, 5.0000001201e-1f);
        p = fmaf(p, r * r, r) + 1.0f;
        int n = (int)k;
        int half = n >> 1;
        return p * mt_bits((int)((unsigned)(half + 127) << 23)) * mt_bits((int)((unsigned)(n - half + 127) << 23));
    }
    MT_INLINE float mt_log32(float x) {
        int tiny = x < 1.17549435e-38f;
        float scaled = tiny ? x * 33554432.0f : x;
        int bits = mt_int(scaled);
        float e = (float)(((bits >> 23) & 255) - 126);
        e = tiny ? e - 25.0f : e;
        float m = mt_bits((bits & 0x7fffff) | 0x3f000000);
        int low = m < 0.707106781186547524f;
        e = low ? e - 1.0f : e;
        m = low ? (m - 1.0f) + m : m - 1.0f;
        float z = m * m, p = 7.0376836292e-2f;
        p = fmaf(p, m, -1.1514610310e-1f);
        p = fmaf(p, m, 1.1676998740e-1f);
        p = fmaf(p, m, -1.2420140846e-1f);
        p = fmaf(p, m, 1.4249322787e-1f);
        p = fmaf(p, m, -1.6668057665e-1f);
        p = fmaf(p, m, 2.0000714765e-1f);
        p = fmaf(p, m, -2.4999993993e-1f);
        p = fmaf(p, m, 3.3333331174e-1f);
        float y = fmaf(e, -2.12194440e-4f, p * m * z);
        y = fmaf(z, -0.5f, y);
        y = fmaf(e, 0.693359375f, m + y);
        y = x == 0.0f ? -INFINITY : y;
        y = x == INFINITY ? INFINITY : y;
        return x >= 0.0f ? y : NAN;
    }
    MT_INLINE float mt_sqrt32(float x) { return sqrtf(x); }
    MT_INLINE float mt_narrow32(double x) { return (float)x; }
    """
    float exp32 "mt_exp32"(float) noexcept nogil
    float log32 "mt_log32"(float) noexcept nogil
    float sqrt32 "mt_sqrt32"(float) noexcept nogil
    float narrow32 "mt_narrow32"(double) noexcept nogil

cdef Py_ssize_t BLOCK
cdef float ZERO, ONE, MINUS_HALF, LOWEST, INFINITE
cdef float G0, G1, G2, G3, G4, G5, G6
cdef float CUBIC, LINEAR, SLOPE_CUBIC, SLOPE_LINEAR, INV_SQRT_2PI

@cython.locals(block=cython.Py_ssize_t, i=cython.Py_ssize_t, n=cython.Py_ssize_t)
cpdef void exp_loop(float[::1] x, float[::1] out) noexcept
@cython.locals(block=cython.Py_ssize_t, i=cython.Py_ssize_t, n=cython.Py_ssize_t)
cpdef void log_loop(float[::1] x, float[::1] out) noexcept
@cython.locals(block=cython.Py_ssize_t, i=cython.Py_ssize_t, n=cython.Py_ssize_t)
cpdef void relu_loop(float[::1] x, float[::1] out) noexcept
@cython.locals(block=cython.Py_ssize_t, i=cython.Py_ssize_t, n=cython.Py_ssize_t)
cpdef void sigmoid_loop(float[::1] x, float[::1] out) noexcept
@cython.locals(block=cython.Py_ssize_t, i=cython.Py_ssize_t, n=cython.Py_ssize_t)
cpdef void silu_loop(float[::1] x, float[::1] out) noexcept
@cython.locals(block=cython.Py_ssize_t, i=cython.Py_ssize_t, n=cython.Py_ssize_t, p=cython.float, s=cython.float, v=cython.float)
cpdef void gelu_loop(float[::1] x, float[::1] out) noexcept
@cython.locals(block=cython.Py_ssize_t, i=cython.Py_ssize_t, n=cython.Py_ssize_t, v=cython.float)
cpdef void gelu_tanh_loop(float[::1] x, float[::1] out) noexcept
@cython.locals(block=cython.Py_ssize_t, i=cython.Py_ssize_t, n=cython.Py_ssize_t)
cpdef void sigmoid_backward_loop(float[::1] grad, float[::1] y, float[::1] out) noexcept
@cython.locals(block=cython.Py_ssize_t, i=cython.Py_ssize_t, n=cython.Py_ssize_t)
cpdef void tanh_backward_loop(float[::1] grad, float[::1] y, float[::1] out) noexcept
@cython.locals(block=cython.Py_ssize_t, i=cython.Py_ssize_t, n=cython.Py_ssize_t, s=cython.float)
cpdef void silu_backward_loop(float[::1] grad, float[::1] x, float[::1] out) noexcept
@cython.locals(block=cython.Py_ssize_t, i=cython.Py_ssize_t, n=cython.Py_ssize_t, p=cython.float, s=cython.float, v=cython.float)
cpdef void gelu_backward_loop(float[::1] grad, float[::1] x, float[::1] out) noexcept
@cython.locals(block=cython.Py_ssize_t, i=cython.Py_ssize_t, n=cython.Py_ssize_t, q=cython.float, s=cython.float, v=cython.float)
cpdef void gelu_tanh_backward_loop(float[::1] grad, float[::1] x, float[::1] out) noexcept
@cython.locals(block=cython.Py_ssize_t, i=cython.Py_ssize_t, n=cython.Py_ssize_t, g=cython.float)
cpdef void threshold_backward_loop(float[::1] grad, float[::1] x, float threshold, float[::1] out) noexcept
@cython.locals(a=cython.float[::1], b=cython.float[::1], e=cython.float, j=cython.Py_ssize_t, r=cython.Py_ssize_t, scale=cython.float, top=cython.float, total=cython.float)
cpdef void softmax_loop(float[:, ::1] x, float[:, ::1] out) noexcept
@cython.locals(a=cython.float[::1], b=cython.float[::1], j=cython.Py_ssize_t, r=cython.Py_ssize_t, shift=cython.float, top=cython.float, total=cython.float)
cpdef void log_softmax_loop(float[:, ::1] x, float[:, ::1] out) noexcept
@cython.locals(a=cython.float[::1], b=cython.float[::1], dot=cython.float, g=cython.float[::1], j=cython.Py_ssize_t, r=cython.Py_ssize_t)
cpdef void softmax_backward_loop(float[:, ::1] grad, float[:, ::1] y, float[:, ::1] out) noexcept
@cython.locals(a=cython.float[::1], b=cython.float[::1], g=cython.float[::1], j=cython.Py_ssize_t, r=cython.Py_ssize_t, total=cython.float)
cpdef void log_softmax_backward_loop(float[:, ::1] grad, float[:, ::1] y, float[:, ::1] out) noexcept
@cython.locals(a=cython.float[::1], b=cython.float[::1], d=cython.float, j=cython.Py_ssize_t, k=cython.float, m=cython.float, n=cython.Py_ssize_t, r=cython.Py_ssize_t, square=cython.float, total=cython.float)
cpdef void layer_norm_loop(float[:, ::1] x, float[::1] weight, float[::1] bias, float share, float eps, float[:, ::1] out, float[::1] mean, float[::1] rstd) noexcept
@cython.locals(a=cython.float[::1], b=cython.float[::1], centre=cython.float, dot=cython.float, g=cython.float[::1], j=cython.Py_ssize_t, k=cython.float, m=cython.float, n=cython.Py_ssize_t, r=cython.Py_ssize_t, slope=cython.float, total=cython.float, v=cython.float)
cpdef void layer_norm_input_loop(float[:, ::1] grad, float[:, ::1] x, float[::1] mean, float[::1] rstd, float[::1] weight, float share, float[:, ::1] out) noexcept
@cython.locals(a=cython.float[::1], g=cython.float[::1], j=cython.Py_ssize_t, k=cython.float, m=cython.float, n=cython.Py_ssize_t, part=cython.Py_ssize_t, parts=cython.Py_ssize_t, r=cython.Py_ssize_t, rows=cython.Py_ssize_t, v=cython.float[::1], w=cython.float[::1])
cpdef void layer_norm_parameters_loop(float[:, ::1] grad, float[:, ::1] x, float[::1] mean, float[::1] rstd, float[:, ::1] weight_parts, float[:, ::1] bias_parts) noexcept
@cython.locals(a=cython.float[::1], b=cython.Py_ssize_t, batch=cython.Py_ssize_t, c=cython.Py_ssize_t, channels=cython.Py_ssize_t, d=cython.float, j=cython.Py_ssize_t, m=cython.float, n=cython.Py_ssize_t, part=cython.float, share=cython.double, squares=cython.double, total=cython.double)
cpdef void batch_norm_statistics_loop(float[:, :, ::1] x, float[::1] mean, float[::1] square) noexcept
@cython.locals(b=cython.Py_ssize_t, batch=cython.Py_ssize_t, c=cython.Py_ssize_t, channels=cython.Py_ssize_t, j=cython.Py_ssize_t, k=cython.float, n=cython.Py_ssize_t, p=cython.Py_ssize_t, s=cython.float, source=cython.float[::1], target=cython.float[::1])
cpdef void affine_loop(float[:, :, ::1] x, float[::1] scale, float[::1] shift, float[:, :, ::1] out) noexcept
@cython.locals(b=cython.Py_ssize_t, batch=cython.Py_ssize_t, c=cython.Py_ssize_t, channels=cython.Py_ssize_t, j=cython.Py_ssize_t, k=cython.float, m=cython.float, n=cython.Py_ssize_t, p=cython.Py_ssize_t, s=cython.float, source=cython.float[::1], target=cython.float[::1])
cpdef void normalize_loop(float[:, :, ::1] x, float[::1] mean, float[::1] scale, float[::1] bias, float[:, :, ::1] out) noexcept
@cython.locals(a=cython.float[::1], b=cython.Py_ssize_t, batch=cython.Py_ssize_t, c=cython.Py_ssize_t, channels=cython.Py_ssize_t, dots=cython.double, g=cython.float[::1], j=cython.Py_ssize_t, m=cython.float, n=cython.Py_ssize_t, other=cython.float, part=cython.float, sums=cython.double)
cpdef void batch_norm_sums_loop(float[:, :, ::1] grad, float[:, :, ::1] x, float[::1] mean, float[::1] total, float[::1] dot) noexcept
@cython.locals(a=cython.float[::1], b=cython.Py_ssize_t, batch=cython.Py_ssize_t, c=cython.Py_ssize_t, channels=cython.Py_ssize_t, g=cython.float[::1], j=cython.Py_ssize_t, k=cython.float, m=cython.float, n=cython.Py_ssize_t, p=cython.Py_ssize_t, q=cython.float, s=cython.float, target=cython.float[::1])
cpdef void batch_norm_input_loop(float[:, :, ::1] grad, float[:, :, ::1] x, float[::1] mean, float[::1] scale, float[::1] slope, float[::1] centre, float[:, :, ::1] out) noexcept
@cython.locals(a=cython.float[::1], columns=cython.Py_ssize_t, e=cython.float, j=cython.Py_ssize_t, k=cython.float, n=cython.Py_ssize_t, r=cython.Py_ssize_t, top=cython.float, total=cython.float)
cpdef void attend_loop(float[:, ::1] scores, Py_ssize_t length, float scale, bint is_causal, float[::1] logsumexp) noexcept
@cython.locals(a=cython.float[::1], columns=cython.Py_ssize_t, dot=cython.float, e=cython.float, g=cython.float[::1], j=cython.Py_ssize_t, n=cython.Py_ssize_t, r=cython.Py_ssize_t, shift=cython.float)
cpdef void attend_backward_loop(float[:, ::1] scores, float[:, ::1] grad, Py_ssize_t length, float scale, bint is_causal, float[::1] logsumexp, float[::1] dots) noexcept
@cython.locals(j=cython.Py_ssize_t, top=cython.float)
cdef float row_max(float[::1] a, Py_ssize_t n) noexcept
